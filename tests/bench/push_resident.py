# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""How long it takes bulkheadd to bring one change onto the switch, beside
ovs-ofctl, which is given the flows that differ and nothing else to do.

usage: push_resident.py DIRECTORY RUNS TENANTS ENDPOINTS RULES

A change is a tenant's file that is replaced.  It has arrived when the switch has
acknowledged the bundle, of which bulkheadd notes the time (last_push of its
status).  It is asked for that only after a rest, so that nobody takes CPU time
from it meanwhile.
"""
import calendar
import json
import os
import random
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../system")
from report import percentile  # noqa: E402
from split import replace, split, take_bindings, tenant_file  # noqa: E402

BRIDGE = "br0"
BULKHEAD = os.environ["BULKHEAD"]
RUNDIR = os.environ["OVS_RUNDIR"]
WAIT = 120      # Seconds, for the first load.
REST = 0.025    # Seconds after a change, longer than most take...
MORE_REST = 0.05    # ...and at most as many more, by lot.


def nanoseconds(text):
    """Since 1970, of 2026-11-22T04:05:01.123456789Z."""
    seconds, fraction = text.rstrip("Z").split(".")
    return (calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S"))
            * 10**9 + int(fraction))


class Peer:
    """JSON-RPC over a socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.id = 0

    def call(self, method, *params):
        self.id += 1
        self.socket.sendall(json.dumps(
            {"id": self.id, "method": method,
             "params": list(params)}).encode())
        text = b""
        while True:
            text += self.socket.recv(1 << 16)
            try:
                return json.loads(text)["result"]
            except ValueError:
                continue


class Agent:
    """bulkheadd, and a connection to its control socket."""

    def __init__(self, folder, *options):
        self.process = subprocess.Popen(
            [BULKHEAD + "d", folder, "--node", "node", "--bridge", BRIDGE,
             f"--log-file={RUNDIR}/bulkheadd.log", "-vconsole:off",
             "-vsyslog:off", "--timeout", "60", *options])
        path = f"{RUNDIR}/bulkheadd.{self.process.pid}.ctl"
        deadline = time.monotonic() + WAIT
        while not os.path.exists(path):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit("bulkheadd does not start")
            time.sleep(0.01)
        self.peer = Peer(path)
        self.pushes = 0

    def status(self):
        return json.loads(self.peer.call("status", "json"))

    def await_push(self):
        """Returns when the switch had it, in nanoseconds since 1970."""
        deadline = time.monotonic() + WAIT
        while True:
            time.sleep(REST)
            now = self.status()
            if (now["pushes"] > self.pushes
                    and now["summary"] == "as intended"):
                self.pushes = now["pushes"]
                return nanoseconds(now["last_push"])
            if time.monotonic() > deadline:
                raise SystemExit(f"bulkheadd does not push: {now}")

    def rest(self):
        """Until it has nothing more to do: what is put is kept, and proofs of
        changes to come are prepared.  Returns the seconds that takes."""
        begin = time.monotonic()
        self.peer.call("save")
        while not (self.status()["proofs"] or {"prepared": True})["prepared"]:
            if time.monotonic() > begin + WAIT:
                raise SystemExit("bulkheadd does not prepare its proofs")
            time.sleep(0.2)
        return time.monotonic() - begin

    def end(self):
        self.process.terminate()
        self.process.wait()

    def proved(self):
        proofs = self.status()["proofs"]
        return (f"the last proof, of {proofs['last_proved']} of "
                f"{proofs['last_tenants']} tenants, took "
                f"{proofs['last_ms']} ms" if proofs else "nothing is proved")


class Bench:
    def __init__(self, folder, size):
        self.folder, self.size = folder, size
        self.intent = f"{folder}/resident"

    def part(self, tenant, *more):
        text = subprocess.run(
            [sys.executable, f"{HERE}/make-intent.py", *self.size, "--part",
             str(tenant), *more], stdout=subprocess.PIPE, check=True).stdout
        (name, content), = json.loads(text)["tenants"].items()
        take_bindings(name, content)
        return name, tenant_file(name, content)

    def changes(self, tenants, edit):
        """[path, its text, changed and as it was] of each tenant."""
        made = []
        for tenant in tenants:
            name, old = self.part(tenant)
            _, new = self.part(tenant, "--change", str(tenant), "--edit", edit)
            made.append((f"{self.intent}/tenants/{name}.json",
                         *(json.dumps(content, separators=(",", ":"))
                           for content in (new, old))))
        return made

    def unbind(self):
        """[endpoint, interface] of one endpoint of some tenants, which the
        files bind no more."""
        path = f"{self.intent}/bindings/all.json"
        with open(path, encoding="ascii") as f:
            content = json.load(f)
        taken = []
        for name, binding in content["bindings"].items():
            if not taken or name.split("/")[0] != taken[-1][0].split("/")[0]:
                taken.append((name, binding.pop("interface")))
                del binding["node"]
            if len(taken) == 10:
                break
        replace(path, content)
        return taken

    @staticmethod
    def run_attach(agent, taken, runs):
        """Seconds from the database to the switch, and away again."""
        database, times = Peer(f"{RUNDIR}/db.sock"), []
        for i in range(runs):
            endpoint, interface = taken[i // 2 % len(taken)]
            time.sleep(random.uniform(0, MORE_REST))
            begin = time.time_ns()
            attach(database, endpoint, interface, i % 2 == 0)
            times.append((agent.await_push() - begin) / 1e9)
            said = agent.peer.call("attached", endpoint)
            if said != ("no\n" if i % 2 else "yes\n"):
                raise SystemExit(f"{endpoint} attached: {said}")
        return times

    def run(self, agent, edit, runs):
        """Seconds of each change, one after the other at rest."""
        changes = self.changes(range(0, int(self.size[0]),
                                     max(1, int(self.size[0]) // 10)), edit)
        times = []
        for i in range(runs):
            path, new, old = changes[i // 2 % len(changes)]
            with open(f"{self.folder}/next", "w", encoding="ascii") as f:
                f.write(old if i % 2 else new)
            time.sleep(random.uniform(0, MORE_REST))
            begin = time.time_ns()
            os.rename(f"{self.folder}/next", path)
            times.append((agent.await_push() - begin) / 1e9)
        return times


def attach(database, endpoint, interface, there):
    """Lets the interface say whose it is, or say so no more."""
    keys = (["insert", ["map", [["bulkhead-endpoint", endpoint]]]] if there
            else ["delete", ["set", ["bulkhead-endpoint"]]])
    database.call("transact", "Open_vSwitch", {
        "op": "mutate", "table": "Interface",
        "where": [["name", "==", interface]],
        "mutations": [["external_ids", *keys]]})


def flows(folder):
    with open(f"{folder}/flows.txt", encoding="ascii") as f:
        return {line.strip() for line in f if line[0] != "#"}


def compile_plan(intent, folder):
    subprocess.run([BULKHEAD, "compile", intent, "--node", "node", "-o",
                    folder], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)


def stock(folder, runs):
    """The flows that one rule makes, there and back."""
    for name in "whole", "less":
        compile_plan(f"{folder}/{name}.json", f"{folder}/plan-{name}")
    whole, less = flows(f"{folder}/plan-whole"), flows(f"{folder}/plan-less")
    files = []
    for i, (new, old) in enumerate(((less, whole), (whole, less))):
        files.append(f"{folder}/diff{i}")
        with open(files[-1], "w", encoding="ascii") as f:
            for line in sorted(old - new):
                f.write("delete_strict " + line.split(" actions=")[0]
                        .split(",", 1)[1] + "\n")
            for line in sorted(new - old):
                f.write(f"add {line}\n")
    times = []
    for i in range(runs):
        begin = time.monotonic()
        subprocess.run(["ovs-ofctl", "-O", "OpenFlow14", "--bundle",
                        "add-flows", BRIDGE, files[i % 2]], check=True)
        times.append(time.monotonic() - begin)
    return times


def barriers(runs):
    """Seconds for one answer of the switch's main loop; a change waits for two
    of them at least."""
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(f"{RUNDIR}/{BRIDGE}.mgmt")
    header = struct.Struct("!BBHI")

    def read():
        _, kind, size, _ = header.unpack(peer.recv(8, socket.MSG_WAITALL))
        if size > header.size:
            peer.recv(size - header.size, socket.MSG_WAITALL)
        return kind

    peer.sendall(header.pack(5, 0, header.size, 1))     # Hello.
    times = []
    for i in range(runs):
        time.sleep(0.01)
        begin = time.monotonic()
        peer.sendall(header.pack(5, 20, header.size, i))
        while read() != 21:
            pass
        times.append(time.monotonic() - begin)
    return times


def cpu_ms(pid):
    """Of its main thread."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0]) / 1e6


def show(name, measure, agent=None):
    with open(f"{RUNDIR}/ovs-vswitchd.pid", encoding="ascii") as f:
        pids = [int(f.read())] + ([agent.process.pid] if agent else [])
    before = [cpu_ms(pid) for pid in pids]
    times = measure()
    cpu = [(cpu_ms(pid) - was) / len(times)
           for pid, was in zip(pids, before)]
    print(f"  {name:30} {1000 * percentile(times, 0.5):7.2f} "
          f"{1000 * percentile(times, 0.99):7.2f} {cpu[0]:9.2f}"
          + "".join(f" {ms:10.2f}" for ms in cpu[1:]), flush=True)


def measure(bench, taken, runs, *options):
    """A bulkheadd with these options, from an empty bridge."""
    subprocess.run([BULKHEAD, "clear", "--bridge", BRIDGE, "-t", "300"],
                   stdout=subprocess.DEVNULL, check=True)
    begin = time.monotonic()
    agent = Agent(bench.intent, *options)
    agent.await_push()
    print(f"{' '.join(('bulkheadd', *options))} holds it "
          f"{time.monotonic() - begin:.2f} s after its start "
          f"({agent.proved()}), is at rest after {agent.rest():.1f} s "
          f"more; then, {runs} times:")
    print(f"  {'':30} {'':7} {'':7}        CPU ms of\n"
          f"  {'one change':30} {'p50 ms':>7} {'p99 ms':>7} {'vswitchd':>9}"
          f" {'bulkheadd':>10}")
    for edit in "rule", "bandwidth":
        show(f"bulkheadd, {edit}",
             lambda edit=edit: bench.run(agent, edit, runs), agent)
    show("bulkheadd, attach or detach",
         lambda: bench.run_attach(agent, taken, runs), agent)
    print(f"  {agent.proved()}")
    agent.end()


def main():
    random.seed(1)
    folder, runs, size = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    bench = Bench(folder, size)
    split(f"{folder}/whole.json", bench.intent)
    taken = bench.unbind()
    measure(bench, taken, runs, "--no-verify")
    measure(bench, taken, runs)
    print(f"and {runs} times, without bulkheadd:")
    show("ovs-ofctl --bundle, rule", lambda: stock(folder, runs))
    show("one answer of the switch", lambda: barriers(runs))


main()
