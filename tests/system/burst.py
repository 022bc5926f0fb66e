# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Sends bursts of a tenant, as all-reduce makes them, through the sandbox.

usage: burst.py INTENT NODE BRIDGE MANIFEST TENANT

At each step of an all-reduce, every worker sends to the next one at the same
moment.  The switch takes a packet at a time from a dummy port, so its clock
stands still meanwhile, and is warped afterwards.  The same packets, spread
over the same time, are no burst.  What arrived and what was marked is
counted in the captures of the receivers.  OVS_RUNDIR names the switch.
"""

import re
import sys

import frames
import intent as intents
from probes import Lab
from switch import SwitchError, run

STEPS = 3
STEP_NS = 1_000_000
PACKETS = 100                   # In a step, of all workers.
SIZE = 1500                     # Of a frame, in bytes.
ECT_0, CE = 2, 3


def packet(sender, receiver):
    """RoCEv2 from one worker to another, ECN-capable."""
    src, dst = sender.v4, receiver.v4
    body = frames.udp(src, dst, 50000, frames.ROCEV2_PORT,
                      bytes(SIZE - 14 - 20 - 8))
    return frames.ether(receiver.mac, sender.mac, frames.IPV4,
                        frames.ip(src, dst, frames.UDP, body, tos=ECT_0))


def all_reduce(workers):
    """Of one step: [(interface, frame)], of each worker in turn."""
    ring = list(zip(workers, workers[1:] + workers[:1]))
    turns = [(sender.interface, packet(sender, receiver))
             for sender, receiver in ring]
    return [turns[i % len(turns)] for i in range(PACKETS)]


def send(lab, out):
    """Sends 'out' while the clock stands still."""
    for interface in dict(out):
        lab.command("netdev-dummy/receive", interface,
                    *(frame.hex() for to, frame in out if to == interface))
    lab.settle(rounds=len(out) + 1)


def step(lab, out, parts):
    """Sends 'out' in so many parts, evenly within STEP_NS."""
    size = len(out) // parts
    for i in range(0, len(out), size):
        send(lab, out[i:i + size])
        lab.command("time/warp-ns", str(STEP_NS // parts))
        # A poll that finds nothing, so what comes next came after it.
        lab.settle()


def bursts(bridge):
    """How many the tenants' meters have listed."""
    text = run("ovs-ofctl", "-O", "OpenFlow14", "microburst-stats", bridge)
    return sum(map(int, re.findall(r"\bbursts: count:(\d+)", text)))


def row(lab, workers, parts):
    """(sent, arrived, marked, bursts) of STEPS steps in 'parts' each."""
    before = bursts(lab.bridge)
    for _ in range(STEPS):
        step(lab, all_reduce(workers), parts)
    got = [frame for worker in workers
           for frame in lab.captures[worker.interface].read()]
    marked = sum(frame[15] & 3 == CE for frame in got)
    return STEPS * PACKETS, len(got), marked, bursts(lab.bridge) - before


def main():
    intent_path, node, bridge, manifest, tenant = sys.argv[1:]
    workers = intents.load(intent_path, node).find(f"{tenant}/*")
    if len(workers) < 2:
        raise ValueError(f"tenant '{tenant}' has no two endpoints on {node}")
    lab = Lab(intents.load(intent_path, node), bridge, manifest)
    for capture in lab.captures.values():
        capture.read()
    lab.command("time/stop")
    try:
        print(f"All-reduce of {tenant}: {STEPS} steps, one a ms, of {PACKETS} "
              f"RoCEv2 packets of {SIZE} bytes,\nso the mean is "
              f"{PACKETS * SIZE * 8 / STEP_NS:.1f} Gbps either way\n")
        print("EACH STEP             SENT  ARRIVED  MARKED CE  BURSTS LISTED")
        for parts in (10, 1):
            name = (f"{PACKETS // parts} every {STEP_NS // parts // 1000} us"
                    if parts > 1 else f"{PACKETS} at once")
            print("{:18}{:8}{:9}{:11}{:15}".format(
                name, *row(lab, workers, parts)))
        # Until the switch looks for bursts that nothing follows.
        lab.command("time/warp", "200")
    finally:
        lab.command("time/start")
        lab.close()


if __name__ == "__main__":
    try:
        main()
    except (SwitchError, ValueError, OSError) as error:
        sys.exit(f"burst: {error}")
