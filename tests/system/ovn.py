# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds ovn-trace against "bulkhead trace".

usage: ovn.py SEED INTENTS PACKETS LEAST [INTENT...]

The private OVN of ovn-lib.sh runs; each of the intents, and so many random
ones, is loaded into it, and so many random packets are judged by both, in
each state that they can be in.  Fewer than LEAST judgments are a failure.
"""

import collections
import json
import os
import random
import re
import signal
import subprocess
import sys

from ovn_world import Senders, make_intent
from switch import SwitchError, Unixctl, await_true, run

BULKHEAD = os.environ["BULKHEAD"]
RUNDIR = os.environ["OVS_RUNDIR"]

# What connection tracking says, and how ovn-trace is told so.  It takes one
# word for each look at a packet, at most two of them a trace.
STATES = {"new": "new", "forward": "est", "reply": "est,rpl",
          "invalid": "inv"}


MUST = [f"{state} {what}" for state in ("new", "forward") for what in (
    "allow by rule", "allow by peering", "deny by rule", "deny by guardrail",
    "deny by default", "deny by spoof", "deny by forbidden-reply",
    "deny by unreachable", "deny by ttl")] + [
        "new allow by dhcp", "reply allow by rule", "reply allow by peering",
        "invalid allow by rule", "invalid deny by ct-invalid"]


def kind_of(decided):
    """Of the name of a rule, which kind; a reason is its own."""
    if ":" in decided:
        return decided.split(":")[0]
    return "rule" if "/" in decided else decided


class Tracer:
    """An ovn-trace that stays, and reads the database once."""

    def __init__(self, state, n_packets):
        self.control = f"{RUNDIR}/trace-{state}.ctl"
        pidfile = f"{RUNDIR}/trace-{state}.pid"
        run("ovn-trace", "--detach", "--no-chdir", f"--unixctl={self.control}",
            f"--pidfile={pidfile}", f"--log-file={RUNDIR}/trace-{state}.log",
            "-vconsole:off", "-vsyslog:off",
            *[f"--ct={STATES[state]}"] * (2 * n_packets + 2))
        with open(pidfile, encoding="ascii") as stream:
            self.pid = int(stream.read())
        self.unixctl = Unixctl(RUNDIR, self.control)

    def __call__(self, packet):
        return self.unixctl("trace", "--minimal", packet.ovn())

    def close(self):
        self.unixctl.close()
        os.kill(self.pid, signal.SIGTERM)
        await_true(lambda: not os.path.exists(self.control), 10,
                   "ovn-trace to end")


def judge(path, packet, state):
    """(receiver, DSCP, rule) by the reference meaning; (None, None, rule or
    reason) if nobody gets it; (address given, 0, "dhcp")."""
    done = subprocess.run(
        [BULKHEAD, "trace", *path, f"--from={packet.sender}",
         f"--state={state}", "-f", "json", packet.ours()],
        capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise SwitchError(f"trace {packet.ours()}: {done.stderr.strip()}")
    verdict = json.loads(done.stdout)
    decided = verdict["rule"] or verdict["reason"]
    if verdict["answered_for"]:
        return packet.lease, 0, "dhcp"
    if verdict["verdict"] == "allow":
        return verdict["destination"], verdict["dscp"], decided
    return None, None, decided


def outcome(text, sender):
    """(receiver, DSCP) by ovn-trace; (None, None); (address given, 0)."""
    receivers = re.findall(r'output\("([^"]*)"\)', text)
    marks = re.findall(r"ip\.dscp = (\d+);", text)
    # Of an answer to one address ovn-trace does not write the destination, and
    # then lets port_security drop it.
    offer = re.search(r"put_dhcp\w*\((?:offerip|ia_addr) = ([^,)]*)", text)
    if offer and receivers in ([], [sender]):
        return offer[1], int(marks[-1]) if marks else None
    if not receivers:
        return None, None
    return ", ".join(receivers), int(marks[-1]) if marks else None


def load(path):
    """Compiles the intent and puts it into the database."""
    plan = f"{RUNDIR}/plan"
    run(BULKHEAD, "compile", *path, "--target=ovn", "-o", plan)
    run("sh", f"{plan}/ovn-nbctl.sh", "--timeout=30")
    run("ovn-nbctl", "--timeout=60", "--wait=sb", "sync")


class Comparison:
    """Counts what came out, and what differs."""

    def __init__(self):
        self.tally = collections.Counter()
        self.failures = 0
        self.flows = set()      # Each with an intent, whatever its states.

    def compare(self, tracer, path, packet, state):
        if state != "reply":
            self.flows.add((*path, packet.sender, packet.ours()))
        *wanted, decided = judge(path, packet, state)
        got = outcome(tracer(packet), packet.sender)
        self.tally[f"{state} {'allow' if wanted[0] else 'deny'} by "
                   f"{kind_of(decided)}"] += 1
        if list(got) != wanted:
            self.failures += 1
            print(f"# {' '.join(path)} --from={packet.sender} "
                  f"--state={state} '{packet.ours()}'\n"
                  f"# bulkhead trace: {wanted}, {decided}; "
                  f"ovn-trace: {got}\n# ovn-trace '{packet.ovn()}'")
        return None if decided == "dhcp" else wanted[0]

    def total(self):
        return sum(self.tally.values())

    def missing(self, least):
        """What must come out in a run that has tested anything."""
        replies = sum(n for what, n in self.tally.items()
                      if what.startswith("reply"))
        few = [f"{n} {what}" for n, what, got in (
            (least, "flows", len(self.flows)),
            (least // 10, "replies", replies)) if got < n]
        return few + [what for what in MUST if not self.tally[what]]


def is_dhcp6(packet):
    """As northd has it, which sends it around conntrack (docs/ovn.md)."""
    return packet.f["kind"] == "udp" and (packet.f["a"],
                                          packet.f["b"]) == (546, 547)


def is_untracked(packet):
    """Or its answer?"""
    symmetric = (1000, 4791, 4793)
    return (packet.f["kind"] == "udp"
            and (packet.f["a"] in symmetric or packet.f["b"] in symmetric
                 or is_dhcp6(packet)))


def compare_all(source, comparison, path, intent, n_packets):
    senders = Senders(source, intent)
    tracers = {state: Tracer(state, n_packets) for state in STATES}
    try:
        for i in range(n_packets):
            packet = senders.packet()
            to = comparison.compare(tracers["new"], path, packet, "new")
            comparison.compare(tracers["forward"], path, packet, "forward")
            # Only what is never tracked passes.
            if not i % 10 and not is_dhcp6(packet):
                comparison.compare(tracers["invalid"], path, packet,
                                   "invalid")
            # Nothing answers what policy denies; of what is not tracked an
            # answer is no reply.
            if to and not is_untracked(packet):
                comparison.compare(tracers["reply"], path,
                                   senders.answer(packet, to), "reply")
    finally:
        for tracer in tracers.values():
            tracer.close()


def read_example(path):
    """The intent of a file, or of a folder, in one."""
    text = run(BULKHEAD, "compile", path, "--target=ovn", "--dump=intent")
    return json.loads(text)


def main():
    seed, n_intents, n_packets, least = map(int, sys.argv[1:5])
    source = random.Random(seed)
    comparison = Comparison()
    for path in sys.argv[5:]:
        load([path])
        compare_all(source, comparison, [path], read_example(path), n_packets)
    for i in range(n_intents):
        path = f"{RUNDIR}/intent-{i}.json"
        intent = make_intent(source, BULKHEAD, path)
        load([path])
        compare_all(source, comparison, [path], intent, n_packets)
    for what, n in sorted(comparison.tally.items()):
        print(f"# {n} {what}")
    missing = comparison.missing(least)
    print(f"# {len(comparison.flows)} flows, {comparison.total()} judgments, "
          f"{comparison.failures} differences; seed {seed}")
    for what in missing:
        print(f"# never: {what}")
    sys.exit(bool(comparison.failures or missing))


if __name__ == "__main__":
    main()
