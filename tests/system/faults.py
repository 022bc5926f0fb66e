#!/usr/bin/env python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Breaks an apply at a random point, again and again.

usage: faults.py NODE OLD NEW N SEED

Two policies are applied in turn to br0, each N times in all through a proxy
that does one of these to a random message of bulkhead's:
  kill     kills bulkhead with SIGKILL before the message goes on
  reset    closes both connections
  silence  passes nothing on any more
  refuse   answers with an error, and passes the others on
or bulkhead is killed at a random time.  Whatever happens, the flows must be
those of the old policy or of the new, each calling the meter that it should;
exit status 0 means the new ones, 3 the old ones; what is kept must not be
damaged, and must be trusted unless bulkhead came to the commit and did not
learn what became of it; and the next apply must repair the rest.
"""
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

BULKHEAD = os.environ["BULKHEAD"]
RUNDIR = os.environ["OVS_RUNDIR"]
BRIDGE = "br0"
HEADER = struct.Struct("!BBHI")
ERROR, BAD_REQUEST, PERMISSIONS = 1, 1, 5
BUNDLE_CONTROL, COMMIT_REQUEST = 33, b"\0\4"     # OpenFlow 1.4, 7.3.9.


class Proxy:
    """Stands between bulkhead and the switch for one connection."""

    def __init__(self, path, how, at):
        self.how, self.at, self.n = how, at, 0
        self.process = None
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.path = path
        self.silent = False
        self.commits = False    # Has bulkhead sent that?
        self.sockets = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        switch = socket.socket(socket.AF_UNIX)
        switch.connect(f"{RUNDIR}/{BRIDGE}.mgmt")
        self.sockets = [client, switch]
        threading.Thread(target=self.answers, daemon=True).start()
        try:
            self.requests(client, switch)
        except OSError:
            pass
        if not self.silent:
            self.drop()

    def answers(self):
        client, switch = self.sockets
        try:
            while data := switch.recv(65536):
                if not self.silent:
                    client.sendall(data)
        except OSError:
            pass

    def requests(self, client, switch):
        buffer = b""
        while data := client.recv(65536):
            buffer += data
            while len(buffer) >= HEADER.size:
                length = HEADER.unpack_from(buffer)[2]
                if len(buffer) < length:
                    break
                message, buffer = buffer[:length], buffer[length:]
                self.n += 1
                if (message[1] == BUNDLE_CONTROL and
                        message[12:14] == COMMIT_REQUEST):
                    self.commits = True
                if self.n != self.at:
                    if not self.silent:
                        switch.sendall(message)
                elif not self.fault(client, message):
                    return

    def fault(self, client, message):
        if self.how == "kill":
            os.kill(self.process.pid, signal.SIGKILL)
        elif self.how == "silence":
            self.silent = True
            return True
        elif self.how == "refuse":
            version, _, _, xid = HEADER.unpack_from(message)
            body = struct.pack("!HH", BAD_REQUEST, PERMISSIONS) + message[:64]
            client.sendall(HEADER.pack(version, ERROR,
                                       HEADER.size + len(body), xid) + body)
            return True
        return False

    def drop(self):
        for s in self.sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def close(self):
        self.listener.close()
        os.unlink(self.path)
        self.drop()


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True,
                          text=True).stdout


def meters():
    """Id -> what the meter does."""
    text = run("ovs-ofctl", "-O", "OpenFlow14", "dump-meters", BRIDGE)
    return {int(number): " ".join(rest.split()) for number, rest in
            re.findall(r"^meter=(\d+) (.*(?:\n(?!meter=).*)*)", text, re.M)}


def flows():
    """The flows, which name a meter by what it does."""
    does = meters()
    text = run("ovs-ofctl", "-O", "OpenFlow14", "--no-stats", "--no-names",
               "dump-flows", BRIDGE)
    return sorted(
        re.sub(r"meter:(\d+)",
               lambda m: f"meter({does.get(int(m.group(1)), 'missing')})",
               line.strip())
        for line in text.splitlines() if "cookie=" in line)


class Test:
    def __init__(self, node, policies, lot):
        self.node, self.policies, self.lot = node, policies, lot
        self.tally = {}
        self.failures = 0
        self.doubt = False
        self.side = f"{RUNDIR}/side"
        os.mkdir(self.side)
        os.symlink(f"{RUNDIR}/db.sock", f"{self.side}/db.sock")
        self.wanted = []
        for policy in policies:
            self.apply(policy)
            self.wanted.append(flows())
        self.now = len(policies) - 1
        self.time, self.n = self.measure()

    def start(self, policy, rundir, *options):
        return subprocess.Popen(
            [BULKHEAD, "apply", policy, "--node", self.node, "--bridge",
             BRIDGE, *options], env=dict(os.environ, OVS_RUNDIR=rundir),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def apply(self, policy):
        process = self.start(policy, RUNDIR)
        words = process.communicate()[0]
        assert process.returncode == 0, words

    def measure(self):
        """How long an apply takes, and how many messages it sends."""
        proxy = Proxy(f"{self.side}/{BRIDGE}.mgmt", "none", 0)
        begin = time.monotonic()
        process = self.start(self.policies[1 - self.now], self.side)
        process.communicate()
        seconds = time.monotonic() - begin
        proxy.close()
        self.apply(self.policies[self.now])
        return seconds, proxy.n

    def break_one(self, how):
        """Returns the exit status and what was said."""
        # Every other one is about the end, where what changes is decided.
        first = self.lot.choice([1, max(1, self.n - 8)])
        proxy = Proxy(f"{self.side}/{BRIDGE}.mgmt", how,
                      self.lot.randint(first, self.n))
        process = proxy.process = self.start(self.policies[1 - self.now],
                                             self.side, "-t", "1")
        if how == "time":
            proxy.at = 0
            time.sleep(self.lot.uniform(0, 1.2 * self.time))
            process.kill()
        words = process.communicate()[0]
        proxy.close()
        self.doubt = proxy.commits and (process.returncode == -signal.SIGKILL
                                        or "took effect or none" in words)
        return process.returncode, words, proxy.at

    def judge(self, how, status, words):
        """Returns what is wrong, or None."""
        held = flows()
        doubt = "took effect or none" in words
        is_old = held == self.wanted[self.now]
        is_new = held == self.wanted[1 - self.now]
        self.count(f"{how}: {'old' if is_old else 'new'}")
        if not is_old and not is_new:
            return "the flows are neither the old ones nor the new"
        if status == 0 and not is_new:
            return "exit status 0, and the flows are the old ones"
        if status == 3 and not is_old and not doubt:
            return "exit status 3, and the flows are the new ones"
        if status not in (0, 3, -signal.SIGKILL):
            return f"exit status {status}"
        if how == "refuse" and status == 3 and len(meters()) != len(
                self.meters_before):
            return "a meter is left over"
        return None

    def repair(self):
        """Returns what is wrong, or None."""
        kept = subprocess.run([BULKHEAD, "status", "--bridge", BRIDGE],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              check=False)
        if self.doubt and "has no journal any more" in kept.stdout:
            self.count("not trusted")
        elif kept.returncode not in (0, 4) or "not trusted" in kept.stdout:
            return f"what is kept is damaged: {kept.stdout}"
        self.now = self.lot.randint(0, 1)
        self.apply(self.policies[self.now])
        if flows() != self.wanted[self.now]:
            return "the next apply does not repair it"
        after = run(BULKHEAD, "status", "--bridge", BRIDGE)
        return None if "as intended" in after else after

    def count(self, what):
        self.tally[what] = self.tally.get(what, 0) + 1

    def event(self, how):
        self.meters_before = meters()
        status, words, at = self.break_one(how)
        wrong = self.judge(how, status, words) or self.repair()
        if wrong:
            self.failures += 1
            print(f"not ok - {how} at message {at} of {self.n}: {wrong}")
            print("\n".join("# " + line for line in words.splitlines()))


def main():
    node, old, new, n, seed = sys.argv[1:]
    test = Test(node, [old, new], random.Random(int(seed)))
    hows = ["kill", "kill", "time", "refuse", "reset", "silence"]
    print(f"# seed {seed}: {test.n} messages in {test.time:.2f} s")
    for i in range(int(n)):
        test.event(hows[i % len(hows)])
    for what in sorted(test.tally):
        print(f"# {what}: {test.tally[what]}")
    for what in ("kill: old", "kill: new"):
        if what not in test.tally:
            test.failures += 1
            print(f"not ok - {what} never occurred: nothing was tested")
    if not test.failures:
        print(f"ok - {n} broken applies")
    sys.exit(test.failures != 0)


main()
