# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares the megaflows that "bulkhead offload" tells with ofproto/trace.

usage: offload.py INTENT NODE FOLDER

The bridge br0 of the running switch is made anew, and the plan of the target
asap2, which is written to FOLDER, put on it.  What only a switch numbers,
meters and recirculations, is compared by its place alone.  Which of several
flows of one priority a switch looks at first depends on the order in which
they came, and with it what else it looks at of what connection tracking says;
so of that, the bits that are set are compared.  ofproto/trace knows no tuple
of a connection, so of ICMP only the first pass is compared.  Prints what differs; exits with 1 if anything does, or if
there was too little to compare.
"""

import json
import os
import re
import subprocess
import sys

MIN_PATHS = 20


def run(*command):
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout


def make_bridge(ports):
    command = ["ovs-vsctl", "--if-exists", "del-br", "br0", "--", "add-br",
               "br0", "--", "set", "bridge", "br0", "datapath_type=dummy",
               "fail-mode=secure"]
    for number, name in enumerate(ports, 1):
        command += ["--", "add-port", "br0", name, "--", "set", "interface",
                    name, "type=dummy", f"ofport_request={number}"]
    run(*command)


def load(folder):
    with open(f"{folder}/meters.txt", encoding="ascii") as meters:
        for meter in meters:
            run("ovs-ofctl", "-O", "OpenFlow13", "add-meter", "br0",
                meter.strip())
    run("ovs-ofctl", "-O", "OpenFlow14", "--bundle", "replace-flows", "br0",
        f"{folder}/flows.txt")


def plain(text):
    """Without numbers that the switch gives, and without what the datapath
    adds by itself."""
    text = re.sub(r"meter\(\d+\)", "meter", text)
    text = re.sub(r"recirc\(0x[0-9a-f]+\)", "recirc", text)
    text = re.sub(r"recirc_id=0x[0-9a-f]+", "recirc_id", text)
    text = re.sub(r"ct_state=([-+a-z]+)", lambda state: "ct_state="
                  + "".join(re.findall(r"\+[a-z]+", state[1])), text)
    text = re.sub(r"ct_(zone|mark|nw_proto)=\w+,", "", text)
    return re.sub(r"eventmask=\w+,", "", text)


def datapath_ports(ports):
    """From the numbers that the datapath gives to those of the report."""
    shown = run("ovs-appctl", "dpctl/show")
    numbers = {name: number for number, name in enumerate(ports, 1)}
    return {number: str(numbers[name]) for number, name
            in re.findall(r"^  port (\d+): (\S+)", shown, re.M)
            if name in numbers}


def trace(packet, numbers):
    """Megaflow and actions of each pass."""
    text = run("ovs-appctl", "ofproto/trace", "br0", packet)
    megaflows = re.findall(r"^Megaflow: (.*)$", text, re.M)
    actions = re.findall(r"^Datapath actions: (.*)$", text, re.M)
    return [(plain(m), re.sub(r"(^|,)(\d+)(?=,|$)",
                              lambda o: o[1] + numbers.get(o[2], "?"),
                              plain(a)))
            for m, a in zip(megaflows, actions)]


def compare(path, numbers):
    want = trace(path["trace"], numbers)
    got = [(plain(p["megaflow"]), plain(p["actions"] or "drop"))
           for p in path["passes"]]
    if not re.match("tcp|udp|arp", path["trace"]):
        want, got = want[:1], got[:1]
    if want and want == got:
        return True
    print(f"{path['trace']}\n  the switch: {want}\n  offload:    {got}")
    return False


def main():
    intent, node, folder = sys.argv[1:]
    bulkhead = os.environ["BULKHEAD"]
    run(bulkhead, "compile", intent, "--node", node, "--target", "asap2",
        "-o", folder)
    report = json.loads(run(bulkhead, "offload", intent, "--node", node,
                            "--profile", "connectx-7", "-f", "json"))
    make_bridge(report["ports"])
    load(folder)
    paths = [path for rule in report["rules"] for path in rule["paths"]
             if path["role"] in ("any", "opens")]
    numbers = datapath_ports(report["ports"])
    same = [compare(path, numbers) for path in paths]
    print(f"{node}: {sum(same)} of {len(same)} packets make the megaflows "
          f"that were predicted")
    return 0 if all(same) and len(same) >= MIN_PATHS else 1


sys.exit(main())
