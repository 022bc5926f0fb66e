# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Sends a sample of random packets (see sample.h) between namespaces and holds
what arrives against what the meaning says.

usage: packets.py SAMPLE
"""

import collections
import contextlib
import json
import os
import re
import sys
import tempfile
import time

import frames
import intent as intents
import netlab
from switch import SwitchError, Unixctl, await_true, received, run
from trial import BRIDGE, BULKHEAD

N_PORTS = 20            # MAX_ENDPOINTS of world.h
PACKET_METERS = 0x30000 # Meters of packets have ids from here on (plan.h).
TOKEN = bytes.fromhex("b17d70616b657421")
TOKEN_SIZE = 16
SETTLE = 0.02           # From the switch's port into a capture, in seconds.


def read_worlds(path):
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        world, at = decoder.raw_decode(text, at)
        while at < len(text) and text[at].isspace():
            at += 1
        yield world


def token_of(frame):
    """None for what a kernel sends by itself, such as MLD reports."""
    at = frame.rfind(TOKEN)
    return frame[at:at + TOKEN_SIZE] if at >= 0 else None


def settle(lab):
    """The switch has taken in what was sent, and so have the captures."""
    await_true(lambda: received() >= lab.sent() - lab.missing, 10,
               "the switch to take what was sent")
    time.sleep(SETTLE)
    lab.drain()


def apply(world, port):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as stream:
        stream.write(world["intent"])
        stream.flush()
        code, words = netlab.status(
            [BULKHEAD, "apply", stream.name, "--node", world["node"],
             "--bridge", BRIDGE, "-t", "10"], dict(os.environ))
    if code:
        raise SwitchError(f"apply: {words}")
    # Another world's connections are not this one's.
    port("dpctl/flush-conntrack")
    port("revalidator/purge")


def check_answer(packet, seen):
    if [port for port, _ in seen] != [packet["from"]]:
        return f"it is not answered, but seen at {[port for port, _ in seen]}"
    got = frames.parse(seen[0][1])
    if not (got.valid and (got.arp_op == 2 or got.icmp_type == 136)):
        return f"no answer: {got}"
    if not got.mac_claim == got.src == packet["answer"]:
        return f"answered with {got.mac_claim} from {got.src}"
    return None


def check_arrival(packet, seen):
    wanted = sorted((port, frame) for port, frame in packet["arrives"])
    got = sorted((port, frame.hex()) for port, frame in seen)
    if [port for port, _ in wanted] != [port for port, _ in got]:
        return (f"it arrives at {[port for port, _ in got]}, not "
                f"{[port for port, _ in wanted]}")
    for (_, want), (_, have) in zip(wanted, got):
        if not have.startswith(want) or have[len(want):].strip("0"):
            return f"it arrives as {have}, not {want}"
    return None


def counted():
    """What meters of packets have counted, by the low 16 bits of their ids."""
    stats = run("ovs-ofctl", "-O", "OpenFlow13", "meter-stats", BRIDGE)
    counts = collections.Counter()
    for meter, packets in re.findall(
            r"^meter:(\d+) .*packet_in_count:(\d+)", stats, re.MULTILINE):
        if int(meter) >= PACKET_METERS:
            counts[int(meter) & 0xffff] += int(packets)
    return counts


def check_meters(world, before):
    """Have the limits counted at least what was sent?  They count what the
    namespaces' kernels send by themselves too."""
    after = counted()
    sent = collections.Counter(packet["meter"] for packet in world["packets"])
    del sent[None]
    for meter, packets in sent.items():
        if after[meter] - before[meter] < packets:
            raise SwitchError(f"seed {world['seed']}: limit {meter} counted "
                              f"{after[meter] - before[meter]} packets of "
                              f"{packets}")


def try_world(world, lab, port):
    """The packets that went otherwise than the meaning says, with how."""
    apply(world, port)
    before = counted()
    wrong = []
    for packet in world["packets"]:
        if packet["state"] == "reply":
            settle(lab)         # What it answers has been delivered.
        lab.taps[packet["from"]].send(bytes.fromhex(packet["frame"]))
    settle(lab)
    check_meters(world, before)
    seen = {}
    for where, tap in lab.taps.items():
        for frame in tap.frames:
            seen.setdefault(token_of(frame), []).append((where, frame))
        tap.frames.clear()
    for packet in world["packets"]:
        check = check_answer if packet["answer"] else check_arrival
        why = check(packet, seen.pop(token_of(bytes.fromhex(packet["frame"])),
                                     []))
        if why:
            wrong.append((packet, why))
    seen.pop(None, None)
    if seen:
        raise SwitchError(f"frames that nobody sent: {seen}")
    return wrong


def report(world, wrong):
    print(f"not ok - seed {world['seed']}: {len(wrong)} packets\nintent:\n"
          f"{world['intent']}")
    for packet, why in wrong[:5]:
        print(f"# {packet['state']} {packet['what']}\n#   {why}")


def count(worlds):
    """What the sample is of; a sample of nothing proves nothing."""
    packets = [packet for world in worlds for packet in world["packets"]]
    counts = {
        "arrive": sum(bool(p["arrives"]) and p["state"] == "new"
                      for p in packets),
        "reply": sum(p["state"] == "reply" for p in packets),
        "are answered": sum(bool(p["answer"]) for p in packets),
        "go nowhere": sum(not p["arrives"] and not p["answer"]
                          for p in packets),
        "are multicast to several": sum(
            p["kind"] == "multicast" and len(p["arrives"]) > 1
            for p in packets),
        "are DHCP to one": sum(
            p["kind"] == "dhcp" and len(p["arrives"]) == 1 for p in packets),
        "are DHCP to several": sum(
            p["kind"] == "dhcp" and len(p["arrives"]) > 1 for p in packets),
        "are counted against a limit": sum(p["meter"] is not None
                                           for p in packets),
    }
    if not all(counts.values()):
        raise SwitchError(f"the sample lacks something: {counts}")
    return f"{len(packets)} packets: " + ", ".join(
        f"{n} {name}" for name, n in counts.items())


def main():
    worlds = list(read_worlds(sys.argv[1]))
    words = count(worlds)
    ports = intents.Intent("", "n1", [], [f"i{i}" for i in range(N_PORTS)])
    lab = netlab.World(ports, BRIDGE)
    failed = False
    with contextlib.closing(lab):
        lab.build()
        port = Unixctl(os.environ["OVS_RUNDIR"])
        for world in worlds:
            wrong = try_world(world, lab, port)
            if wrong:
                report(world, wrong)
                failed = True
            else:
                print(f"ok - seed {world['seed']}: what the meaning says is "
                      "what happens")
        unsent, uncaptured = lab.unheard()
        if unsent or uncaptured:
            print(f"not ok - {unsent} frames never reached the switch, "
                  f"{uncaptured} no capture")
            failed = True
    print(f"# {words}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SwitchError as error:
        sys.exit(f"not ok - {error}")
