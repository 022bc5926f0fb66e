# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""In the virtual machine: a kernel holds the filters that are predicted.

usage: filters.py TITLE BATCH [PACKETS]

BATCH is of "bulkhead offload -o".  tc(8) must take every line.  Then PACKETS,
of predictions.py, come from the endpoints: one that is allowed, and in
hardware in all its passes, must come out where it should, byte for byte, and
no other anywhere else.  Every police action must have counted as many as have
come out under it.
"""

import re
import subprocess
import sys
import time

from guest import Devices, Score, load, settled
from switch import run

FLOOD = 200         # Packets.
TUNNELS = {"vxlan_sys_4789": ["vxlan", "dstport", "4789"],
           "genev_sys_6081": ["geneve", "dstport", "6081"]}


def devices_of(batch):
    return list(dict.fromkeys(re.findall(r" dev (\S+)", batch)))


def load_filters(path, ports):
    """tc ends at the first line that is not taken, and says which."""
    for port in ports:
        run("tc", "qdisc", "add", "dev", port, "clsact")
    return subprocess.run(["tc", "-batch", path], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def meter_titles(batch):
    """{index of a police action: title}, of those that count bytes.  What
    counts packets stands before who they come from is looked at."""
    return dict(reversed(found) for found in re.findall(
        r"^# meter (.*)\nactions add action police rate .* index (\d+)$",
        batch, re.M))


def police_counts():
    """{index: (packets, dropped)}"""
    text = run("tc", "-s", "actions", "list", "action", "police")
    return {str(int(index, 16)): (int(packets), int(dropped))
            for index, packets, dropped in re.findall(
                r"police (0x[0-9a-f]+) .*?Sent \d+ bytes (\d+) pkt "
                r"\(dropped (\d+)", text, re.S)}


def send_all(devices, packets):
    """What is to come out is waited for, as others answer it."""
    for packet in packets:
        devices.send(packet)
        if packet["offload"] == "hardware" and packet["to"]:
            devices.arrived(packet, 0.1)
    settled()


def hold(packet, seen, score):
    """Nothing comes out that should not, nor where it should not, nor
    otherwise than it should."""
    kind = packet["lie"] and f"false {packet['lie']}" or packet["role"]
    if packet["to"] and packet["offload"] == "hardware":
        score.count(f"allowed ({kind})")
        score.check(seen == [(packet["to"], packet["want"])],
                    f"{packet['what']}: {seen}, not at {packet['to']} as "
                    f"{packet['want']}")
        return
    if packet["verdict"] == "deny":
        score.count(f"denied ({kind})")
        score.check(not seen, f"{packet['what']}: seen at {seen}")
        return
    # Software would have it, or what others opened already lets it pass.
    score.count("not predicted")
    score.check(all(s == (packet["to"], packet["want"]) for s in seen),
                f"{packet['what']}: {seen}")


def hold_police(batch, packets, seen, score):
    """Of those that came out, each meter that they pass has counted each."""
    counts = police_counts()
    for index, title in meter_titles(batch).items():
        wanted = sum(title in p["meters"] and p["token"] in seen
                     for p in packets)
        score.count("police actions")
        score.check(counts.get(index) == (wanted, 0),
                    f"police {index} ({title}): {counts.get(index)}, not "
                    f"{wanted} packets")


def flood(devices, packet, titles, score):
    """What is above the limit is dropped, and counted as such."""
    before = police_counts()
    start = time.monotonic()
    for _ in range(FLOOD):
        devices.send(packet)
    seconds = time.monotonic() - start
    settled()
    passed = len(devices.seen().get(packet["token"], []))
    length = len(packet["frame"]) / 2
    # Bursts are whole kbit, of 1024 bits (tc_policer_init() of Open vSwitch).
    least = packet["burst"] // length
    most = (packet["burst"] * 1.03 + packet["rate"] / 8 * seconds) / length
    dropped = sum(count[1] - before[index][1]
                  for index, count in police_counts().items()
                  if titles.get(index) in packet["meters"])
    score.count("floods")
    score.check(least <= passed <= most + 1, f"{passed} of {FLOOD} packets "
                f"passed, not {least} to {most}")
    score.check(dropped == FLOOD - passed, f"{dropped} packets were counted "
                f"as dropped, not {FLOOD - passed}")


def main():
    title, batch_path, *rest = sys.argv[1:]
    with open(batch_path, encoding="utf-8") as stream:
        batch = stream.read()
    asked = load(rest[0]) if rest else {"packets": [], "ports": []}
    names = dict.fromkeys(asked["ports"] + devices_of(batch))
    devices = Devices([name for name in names if name not in TUNNELS])
    for name in TUNNELS.keys() & names.keys():
        run("ip", "link", "add", name, "type", *TUNNELS[name], "external")
        run("ip", "link", "set", name, "up")
    score = Score()
    loaded = load_filters(batch_path, names)
    score.check(loaded.returncode == 0, loaded.stdout.strip())
    for _ in re.findall("^filter add", batch, re.M):
        score.count("filters")
    least = ["filters"]
    if rest:
        send_all(devices, asked["packets"])
        seen = devices.seen()
        for packet in asked["packets"]:
            hold(packet, seen.get(packet["token"], []), score)
        hold_police(batch, asked["packets"], seen, score)
        if asked["flood"]:
            flood(devices, asked["flood"], meter_titles(batch), score)
        least += ["denied (false source MAC)", "denied (false source IP)",
                  "allowed (opens)", "allowed (reply)", "allowed (forward)"]
        # What only tenants without a limit that tc can hold send has no meter.
        if asked["every"]:
            least += ["allowed (any)", "denied (opens)", "police actions"]
    return 0 if score.settle(title, least) else 1


sys.exit(main())
