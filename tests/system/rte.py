# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares rules of rte_flow with those that Open vSwitch on DPDK asks for.

usage: rte.py BULKHEAD INTENT NODE REPORT RULES FOLDER

REPORT and RULES are what "bulkhead offload -f json -o" predicts.  The running
switch, whose log and sockets are in FOLDER, gets a bridge with ports that
replay the packets of the report (net_pcap).  They have no rte_flow, so each
rule that it asks for fails, and the log tells it.  One that forwards or drops
is asked for again, to mark; so that does not count.  ICMP, which the switch
asks for and the driver refuses, is left out.  Exits with 1 if anything
differs, or if there was too little to compare.
"""

import ipaddress
import json
import re
import struct
import subprocess
import sys
import time

MIN_RULES = 20
SECONDS = 30


def run(*command):
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout


def frame(flow):
    """A pcap file of one packet, or None if there is no such packet."""
    made = subprocess.run(["ovs-ofctl", "--pcap", "compose-packet", flow],
                          check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    return made.stdout if made.returncode == 0 else None


def write_packets(report, folder):
    packets = {name: [] for name in report["ports"]}
    for rule in report["rules"]:
        for path in rule["paths"]:
            port = re.search(r"in_port=(\d+),", path["trace"])
            made = frame(path["trace"].replace(port[0], ""))
            if int(port[1]) <= len(report["ports"]) and made:
                packets[report["ports"][int(port[1]) - 1]].append(made)
    for name, files in packets.items():
        with open(f"{folder}/{name}.pcap", "wb") as stream:
            stream.write(files[0][:24] if files
                         else struct.pack("=IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0,
                                          65535, 1))
            stream.write(b"".join(made[24:] for made in files))


def make_bridge(report, folder):
    run("ovs-vsctl", "--timeout=60", "--if-exists", "del-br", "br0")
    command = ["ovs-vsctl", "--timeout=60", "add-br", "br0", "--", "set",
               "bridge", "br0", "datapath_type=netdev", "fail-mode=secure"]
    for number, name in enumerate(report["ports"]):
        command += ["--", "add-port", "br0", name, "--", "set", "interface",
                    name, "type=dpdk", "options:dpdk-devargs="
                    f"net_pcap{number},rx_pcap={folder}/{name}.pcap,"
                    f"infinite_rx=1,tx_pcap={folder}/{name}.sent"]
    run(*command)
    return {run("ovs-vsctl", "get", "interface", name,
                "status:port_no").strip().strip('"'): str(number)
            for number, name in enumerate(report["ports"])}


def load(bulkhead, intent, node, folder):
    run(bulkhead, "compile", intent, "--node", node, "-o", f"{folder}/plan")
    with open(f"{folder}/plan/meters.txt", encoding="ascii") as meters:
        for meter in meters:
            run("ovs-ofctl", "-O", "OpenFlow13", "add-meter", "br0",
                meter.strip())
    run("ovs-appctl", "vlog/set", "netdev_offload_dpdk:file:dbg")
    run("ovs-appctl", "vlog/disable-rate-limit", "netdev_offload_dpdk")
    run("ovs-ofctl", "-O", "OpenFlow14", "--bundle", "replace-flows", "br0",
        f"{folder}/plan/flows.txt")


def number(text):
    """Of a field: an integer, a MAC or an address of IP."""
    if re.fullmatch(r"(..:){5}..", text):
        return int(text.replace(":", ""), 16)
    if "." in text or ":" in text:
        return int(ipaddress.ip_address(text))
    return int(text, 0)


def items(pattern):
    """What a pattern means: the fields of each item, the bits that are not
    looked at of each value taken away."""
    meant = []
    for item in pattern.split(" / ")[:-1]:
        name, *words = item.split()
        fields = {}
        for field, word, value in zip(*[iter(words)] * 3):
            fields.setdefault(field, {})[word] = number(value)
        for field, given in fields.items():
            if "mask" in given:
                fields[field] = (given["spec"] & given["mask"], given["mask"])
            else:
                fields[field] = (given["is"], None)
        if "fragment_offset" in fields:
            # dump_flow() prints the mask of all its bits as no mask.
            fields["fragment_offset"] = (fields["fragment_offset"][0], None)
        meant.append((name, tuple(sorted(fields.items()))))
    return tuple(meant)


def rules(lines, ports):
    """Port, whether it marks, items and actions of each rule."""
    for line in lines:
        port, how, pattern, actions = re.search(
            r"flow create (\d+) (.*?)pattern (.*?) actions (.*end)",
            line).groups()
        yield (ports.get(port, port), "ingress" in how, items(pattern),
               re.sub(r"mark id \d+", "mark", actions))


def asked(folder, start, ports):
    with open(f"{folder}/ovs-vswitchd.log", encoding="utf-8") as log:
        log.seek(start)
        lines = [line for line in log if "Failed flow: " in line]
    # Before the flows were there, all was dropped without a look.
    return set(rules((line for line in lines if "eth src" in line), ports))


def differences(predicted, got):
    done = {(port, pattern) for port, marks, pattern, _ in got if not marks}
    got = {rule for rule in got
           if not (rule[1] and (rule[0], rule[2]) in done)
           and not any(name == "icmp" for name, _ in rule[2])}
    return predicted - got, got - predicted


def main():
    bulkhead, intent, node, report, text, folder = sys.argv[1:]
    with open(report, encoding="ascii") as stream:
        report = json.load(stream)
    with open(text, encoding="ascii") as stream:
        predicted = set(rules((line for line in stream
                               if line.startswith("flow")), {}))
    write_packets(report, folder)
    ports = make_bridge(report, folder)
    with open(f"{folder}/ovs-vswitchd.log", "rb") as log:
        start = log.seek(0, 2)
    load(bulkhead, intent, node, folder)
    deadline = time.monotonic() + SECONDS
    missing, more = predicted, set()
    while missing and time.monotonic() < deadline:
        time.sleep(1)
        missing, more = differences(predicted, asked(folder, start, ports))
    for rule in missing:
        print("only predicted:", rule)
    for rule in more:
        print("only asked for:", rule)
    print(f"{node}: {len(predicted - missing)} of {len(predicted)} rules")
    return 0 if not missing | more and len(predicted) >= MIN_RULES else 1


sys.exit(main())
