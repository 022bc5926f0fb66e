# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Sends the packets of a probe table through a chassis of OVN.

usage: ovn_probes.py TABLE OTHERWISE INTENT NODE BRIDGE
       ovn_probes.py --intent INTENT

OTHERWISE is a table of what OVN does otherwise: its lines stand for those of
TABLE that have the same packet.  OVN's flows do not name rules, so "by" is not
looked at.  The second form prints the intent without what OVN refuses.
OVS_RUNDIR names the switch.
"""

import json
import os
import sys
import time

import intent as intents
import probes
from switch import Capture, SwitchError, Unixctl


class Lab(probes.Lab):
    """The switch of a chassis."""

    def __init__(self, intent, bridge):
        rundir = os.environ["OVS_RUNDIR"]
        self.bridge = bridge
        self.command = Unixctl(rundir)
        self.captures = {name: Capture(f"{rundir}/{name}.pcap")
                         for name in [*intent.interfaces(), bridge]}
        self.sentinel = Capture(f"{rundir}/sentinel1.pcap")

    def read(self):
        seen = {name: capture.read()
                for name, capture in self.captures.items()}
        return {name: out for name, out in seen.items() if out}

    def send(self, interface, frame, patience=0):
        """Returns {port: [frame]}.  What ovn-controller answers comes later:
        for that it waits as many seconds, at most."""
        self.command("netdev-dummy/receive", interface, frame.hex())
        self.settle()
        seen = self.read()
        end = time.monotonic() + patience
        while not seen and time.monotonic() < end:
            time.sleep(0.01)
            seen = self.read()
        return seen


def without_refused(path):
    with open(path, encoding="utf-8") as stream:
        intent = json.load(stream)
    for tenant in intent["tenants"].values():
        tenant.pop("limits", None)
        for network in tenant["networks"].values():
            network.pop("multicast", None)
            network.pop("dhcp", None)
    return intent


def read_tables(table, otherwise):
    """The probes that OVN is asked: not those of groups and DHCP, but the
    forbidden answers."""
    def key(probe):
        return probe.sender, probe.receiver, probe.packet.split()

    others = probes.read_table(otherwise)
    asked = []
    for probe in probes.read_table(table):
        if probe.words[0] in ("group", "dhcp-discover", "dhcp-renew",
                              "dhcp-nak"):
            continue
        same = [o for o in others if key(o) == key(probe)]
        for other in same:
            others.remove(other)
            probe.verdict, probe.wants = other.verdict, other.wants
        probe.wants.pop("by", None)
        asked.append(probe)
    if others:
        raise ValueError(f"{otherwise}: not in {table}: {others[0].packet}")
    return asked


def run_probe(probe, intent, packets, lab):
    for sender, receiver in probes.pairs(probe, intent):
        frame = packets.frame(probe, sender, receiver)
        patience = 5 if probe.verdict == "answered" else 0
        seen = lab.send(sender.interface, frame, patience)
        probe.results.append(probes.judge(probe, packets, frame, sender,
                                          receiver, seen, "-"))


def main():
    if sys.argv[1] == "--intent":
        json.dump(without_refused(sys.argv[2]), sys.stdout)
        return 0
    table, otherwise, intent_path, node, bridge = sys.argv[1:]
    intent = intents.load(intent_path, node)
    asked = read_tables(table, otherwise)
    packets = probes.Packets(intent)
    packets.hops = 2            # Each of two tenants has a router.
    lab = Lab(intent, bridge)
    try:
        for probe in asked:
            run_probe(probe, intent, packets, lab)
        time.sleep(1)
        late = lab.read()
    finally:
        lab.close()
    wrong = probes.report(asked)
    if late:
        print(f"came late: {late}")
    return 1 if wrong or late else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (SwitchError, ValueError, OSError) as error:
        sys.exit(f"ovn_probes: {error}")
