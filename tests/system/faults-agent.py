#!/usr/bin/env python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Things that happen to a node that bulkheadd keeps, under traffic.

usage: faults-agent.py INTENT NODE N SEED

Whatever happens: no forbidden packet arrives, no allowed one is lost by what
does not concern it, and within seconds the bridge is as intended.
"""
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time

import intent as intents
import netlab
from stream import Traffic
from switch import SwitchError, Unixctl, await_true, dump_flows, run

BULKHEAD = os.environ["BULKHEAD"]
RUNDIR = os.environ["OVS_RUNDIR"]
BRIDGE = "br-int"
DAEMON = ("--no-chdir", "--pidfile", "--log-file", "-vconsole:off",
          "-vsyslog:off")
CONVERGE = 15.0
REPAIR = 1.0                    # What README says of changes by others.
OUTAGE = 3.0                    # After a switch or a database is killed.


def nobody(_):
    return False


def everybody(_):
    return True


class Node:
    """The daemons, the files, and how to break them."""

    def __init__(self, intent):
        self.intent = intent
        self.folder = f"{RUNDIR}/intent"
        self.state = f"{RUNDIR}/full"
        os.mkdir(self.folder)
        os.mkdir(self.state)
        run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", self.state)
        self.agent = None

    def write(self, policy, spoil=False):
        """The intent of 'policy', or half of it, in one step."""
        with open(self.intent.path, encoding="utf-8") as stream:
            data = json.load(stream)
        tenants = data["tenants"]
        if not policy["all-reduce"]:
            tenants["llm-training"]["rules"][0]["service"] = "ssh"
        if not policy["serve"]:
            tenants["inference"]["rules"][0]["service"] = "ssh"
        if not policy["dataset"]:
            data["peerings"]["dataset"]["service"] = "ssh"
        if not policy["batch"]:
            tenants["batch"]["default"] = "deny"
        for tenant, limit in policy["limits"].items():
            tenants[tenant]["bandwidth"]["limit"] = f"{limit}Gbps"
        text = json.dumps(data)
        path = f"{self.folder}/.new"
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text[:len(text) // 2] if spoil else text)
        os.rename(path, f"{self.folder}/policy.json")

    def start_agent(self):
        with open(f"{RUNDIR}/bulkheadd.out", "ab") as out:
            self.agent = subprocess.Popen(
                [BULKHEAD + "d", self.folder, "--node", self.intent.node,
                 "--bridge", BRIDGE, "--overwrite-pidfile", *DAEMON],
                stdout=out, stderr=out,
                env=dict(os.environ, BULKHEAD_STATEDIR=f"{self.state}/kept"))

    def kill_agent(self):
        self.agent.kill()
        self.agent.wait()
        self.start_agent()

    @staticmethod
    def pid(daemon):
        with open(f"{RUNDIR}/{daemon}.pid", encoding="ascii") as stream:
            return int(stream.read())

    def kill(self, daemon, *arguments):
        pid = self.pid(daemon)
        os.kill(pid, signal.SIGKILL)
        await_true(lambda: not running(pid), 5, f"{daemon} to end")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{RUNDIR}/{daemon}.pid")
        with open(f"{RUNDIR}/{daemon}.out", "ab") as out:
            subprocess.Popen([daemon, *arguments, *DAEMON], stdout=out,
                             stderr=out)
        await_true(lambda: os.path.exists(f"{RUNDIR}/{daemon}.pid"), 10,
                   f"{daemon} to start")

    def kill_switch(self):
        self.kill("ovs-vswitchd", f"unix:{RUNDIR}/db.sock",
                  "--disable-system")

    def kill_database(self):
        self.kill("ovsdb-server", f"{RUNDIR}/conf.db",
                  f"--remote=punix:{RUNDIR}/db.sock")

    def is_equal(self):
        done = subprocess.run(
            [BULKHEAD, "status", self.folder, "--node", self.intent.node,
             "--bridge", BRIDGE, "-t", "2"], capture_output=True, text=True,
            check=False)
        self.words = done.stdout + done.stderr
        return done.returncode == 0 and "on br-int: as intended" in self.words

    def converge(self):
        """Returns how long it took, or None."""
        begin = time.monotonic()
        while not self.is_equal():
            if time.monotonic() > begin + CONVERGE:
                return None
            time.sleep(0.02)
        with contextlib.suppress(SwitchError):
            Unixctl(RUNDIR)("revalidator/wait")
        return time.monotonic() - begin


def running(pid):
    """Is it a process that has not ended?"""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def has_flow(cookie):
    return any(c == cookie for c, _ in dump_flows(BRIDGE).values())


class Test:
    """Events: each returns after doing something, having said first whom it
    may concern, by self.expect()."""

    def __init__(self, node, traffic, lot):
        self.node, self.traffic, self.lot = node, traffic, lot
        self.policy = {"all-reduce": True, "serve": True, "dataset": True,
                       "batch": True, "limits": {}}
        self.before = self.policy       # What the switch had last.
        self.failures = 0
        self.tally, self.outages = {}, {}
        self.windows = []               # Of intruders' flows, in seconds.

    def expect(self, concerned):
        self.traffic.expect(self.before, self.policy, concerned)
        time.sleep(0.05)        # What was sent before is through.

    def choose(self):
        """Another policy.  Those who are allowed by one of the two only are
        concerned, and only they."""
        name = self.lot.choice(["all-reduce", "serve", "dataset", "batch"])
        self.policy = dict(self.policy)
        self.policy[name] = not self.policy[name]
        self.policy["limits"] = {
            self.lot.choice(["inference", "batch", "storage"]):
            self.lot.randint(5, 50)}

    def change(self):
        self.choose()
        self.expect(nobody)
        self.node.write(self.policy)

    def withdrawn(self):
        """A rule goes, and with it a connection that is in use."""
        name, one, other = self.lot.choice((
            ("serve", "frontend0", "model0"), ("dataset", "gpu0", "target0"),
            ("batch", "job0", "job1")))
        connection = next(c for c in self.traffic.connections
                          if (c.one.name, c.other.name) == (one, other))
        if not self.policy[name]:
            self.policy = dict(self.policy, **{name: True})
            self.expect(nobody)
            self.node.write(self.policy)
            self.node.converge()
            self.before = self.policy
            self.expect(nobody)
        self.traffic.reopen()
        if not self.traffic.passes(connection):
            self.fail("withdrawn", f"{connection.name} is not in use")
        self.policy = dict(self.policy, **{name: False})
        self.expect(nobody)
        self.node.write(self.policy)
        self.node.converge()
        time.sleep(0.05)
        if self.traffic.passes(connection):
            self.fail("withdrawn", f"{connection.name} goes on")

    def numbers(self):
        self.policy = dict(self.policy, limits={
            tenant: self.lot.randint(5, 50)
            for tenant in ("inference", "batch", "storage")})
        self.node.write(self.policy)

    def spoiled(self):
        self.node.write(self.policy, spoil=True)
        time.sleep(self.lot.uniform(0, 0.3))
        self.node.write(self.policy)

    def agent(self):
        self.node.kill_agent()

    def agent_changing(self):
        self.change()
        time.sleep(self.lot.uniform(0, 0.02))
        self.node.kill_agent()

    def outage(self, name, kill):
        self.expect(everybody)
        self.traffic.gap = 0
        kill()
        time.sleep(2)
        if self.traffic.gap:    # The policy may allow no datagrams at all.
            self.outages.setdefault(name, []).append(self.traffic.gap)

    def database(self):
        """ovs-vswitchd reads no port without a thread of its own, as those of
        this test are, until it has a database again."""
        self.outage("ovsdb-server", self.node.kill_database)

    def switch(self):
        self.outage("ovs-vswitchd", self.node.kill_switch)

    def slow(self):
        self.choose()
        self.expect(everybody)
        pid = self.node.pid("ovs-vswitchd")
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(self.lot.uniform(0, 0.3))
            self.node.write(self.policy)
            time.sleep(self.lot.uniform(0.05, 1.0))
        finally:
            os.kill(pid, signal.SIGCONT)

    def deleted(self):
        self.expect(everybody)
        flows = [key for key, (cookie, _) in dump_flows(BRIDGE).items()
                 if cookie >> 48 == 0xb17d and "actions=drop" not in key[1]]
        for table, rest in self.lot.sample(flows, 3):
            run("ovs-ofctl", "-O", "OpenFlow14", "--strict", "del-flows",
                BRIDGE, f"table={table},{rest.split(' actions=')[0]}")

    def inserted(self):
        self.expect(everybody)
        run("ovs-ofctl", "-O", "OpenFlow14", "add-flow", BRIDGE,
            f"cookie=0xb17d000000000bad,table={self.lot.randint(0, 24)},"
            "priority=60000,actions=drop")

    def foreign(self):
        run("ovs-ofctl", "-O", "OpenFlow14", "add-flow", BRIDGE,
            "cookie=0x77,table=200,priority=7,actions=drop")

    def intrude(self, cookie):
        """All that one endpoint sends goes to one of another tenant.  What
        arrives until close() is the intruder's doing."""
        one, other = self.lot.sample(self.node.intent.endpoints, 2)
        while one.tenant == other.tenant:
            one, other = self.lot.sample(self.node.intent.endpoints, 2)
        self.expect(lambda what: one in (what.one, what.other))
        self.traffic.intruder = one
        run("ovs-ofctl", "-O", "OpenFlow14", "add-flow", BRIDGE,
            f"cookie={cookie:#x},table=0,priority=60000,"
            f"in_port={one.interface},actions=output:{other.interface}")

    def close(self):
        with contextlib.suppress(SwitchError):
            Unixctl(RUNDIR)("revalidator/wait")
        time.sleep(0.05)
        self.traffic.intruder = None

    def intruder(self):
        """In Bulkhead's name: it is undone."""
        cookie, begin = 0xb17d000000000bad, time.monotonic()
        self.intrude(cookie)
        await_true(lambda: not has_flow(cookie), CONVERGE, "a repair")
        self.windows.append(time.monotonic() - begin)
        self.close()

    def stranger(self):
        """In another's name: it stays, and passes what it passes; status says
        so until it is deleted."""
        cookie, passed = 0x78, self.traffic.intruded
        self.intrude(cookie)
        await_true(lambda: self.traffic.intruded > passed, CONVERGE,
                   "a stranger's flow to open something")
        time.sleep(REPAIR)
        if (self.node.is_equal() or not has_flow(cookie)
                or "flows of others in Bulkhead's tables, 1 in all"
                not in self.node.words):
            self.fail("stranger", "status does not tell: " + self.node.words)
        run("ovs-ofctl", "-O", "OpenFlow14", "del-flows", BRIDGE,
            f"cookie={cookie:#x}/-1")
        self.close()

    def meters(self):
        self.expect(everybody)
        run("ovs-ofctl", "-O", "OpenFlow13", "del-meters", BRIDGE)

    def interface(self):
        endpoint = self.lot.choice(self.node.intent.endpoints)
        name = endpoint.interface
        self.expect(lambda what: endpoint in (what.one, what.other))
        run("ovs-vsctl", "--timeout=20", "del-port", BRIDGE, name)
        time.sleep(self.lot.uniform(0, 0.3))
        run("ovs-vsctl", "--timeout=20", "add-port", BRIDGE, name)

    def full(self):
        filler = f"{self.node.state}/filler"
        with contextlib.suppress(OSError), open(filler, "wb") as stream:
            stream.write(bytes(8 << 20))
        self.change()
        self.node.converge()
        os.unlink(filler)

    EVENTS = (change, change, withdrawn, numbers, spoiled, agent,
              agent_changing, database, switch, slow, deleted, inserted,
              foreign, intruder, stranger, meters, interface, full)

    def fail(self, name, why):
        self.failures += 1
        print(f"not ok - {name}: {why}")

    def happen(self, event):
        name = event.__name__
        event(self)
        took = self.node.converge()
        if took is None:
            self.fail(name, f"not as intended after {CONVERGE} s: "
                      + self.node.words)
        self.traffic.forget()
        self.before = self.policy
        self.expect(nobody)
        for who in self.traffic.reopen():
            self.fail(name, f"{who} cannot be opened")
        for who, n, of in self.traffic.judge():
            self.fail(name, f"{who}: {n} of {of} lost")
        for leak in sorted(set(self.traffic.leaks)):
            self.fail(name, f"forbidden, and arrived: {leak}")
        self.traffic.leaks.clear()
        times = self.tally.setdefault(name, [])
        times.append(took or CONVERGE)

    def report(self, n, seed):
        for name, times in sorted(self.tally.items()):
            print(f"# {name}: {len(times)}, as intended after "
                  f"{max(times):.2f} s at most")
        # A busy machine makes some of them late, not most.
        for name, gaps in self.outages.items():
            print(f"# {name} killed: nothing passed for {max(gaps):.2f} s at "
                  "most")
            if statistics.median(gaps) > OUTAGE:
                self.fail(name, "nothing passed for " + ", ".join(
                    f"{gap:.2f}" for gap in gaps) + " s")
        if self.windows and statistics.median(self.windows) > REPAIR:
            self.fail("intruder", "repaired after " + ", ".join(
                f"{took:.2f}" for took in self.windows) + " s")
        print("# intruders' flows: there for "
              f"{max(self.windows, default=0):.2f} s at most; "
              f"with strangers', {self.traffic.intruded} packets passed")
        sent, forbidden = self.traffic.sent()
        print(f"# {sent} packets, {forbidden} of them forbidden")
        if not self.failures:
            print(f"ok - {n} events under traffic, seed {seed}")


def main():
    path, name, n, seed = sys.argv[1:]
    intent = intents.load(path, name)
    world = netlab.World(intent, BRIDGE)
    world.build()
    world.taps.pop(BRIDGE).close()      # It goes and comes with the switch.
    node = Node(intent)
    test = Test(node, Traffic(world), random.Random(int(seed)))
    node.write(test.policy)
    node.start_agent()
    if node.converge() is None:
        raise SwitchError(f"no policy on the switch: {node.words}")
    test.traffic.prepare()
    print(f"# seed {seed}", flush=True)
    test.expect(nobody)
    test.traffic.start()
    test.traffic.reopen()
    time.sleep(0.5)
    lots = list(Test.EVENTS)
    for i in range(int(n)):
        if i % len(lots) == 0:
            test.lot.shuffle(lots)      # Each kind, in any order.
        test.happen(lots[i % len(lots)])
    test.traffic.stop()
    test.report(n, seed)
    node.agent.kill()
    sys.exit(test.failures != 0)


main()
