# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""How long OVN takes to bring one change of a rule onto the switch: an ACL of
the policy that "bulkhead apply --target=ovn" has written, changed and changed
back by ovn-nbctl, which waits until ovn-controller has done it.

usage: push_ovn.py DIRECTORY RUNS
"""
import json
import os
import subprocess
import sys
import time

from report import percentile

RUNDIR = os.environ["OVS_RUNDIR"]
PORTS_AT_ONCE = 200
DAEMONS = {"northd": "ovn-northd", "controller": "ovn-controller",
           "vswitchd": "ovs-vswitchd"}


def nbctl(*command):
    return subprocess.run(
        ["ovn-nbctl", "--timeout=3000", *command], check=True,
        stdout=subprocess.PIPE, text=True).stdout


def bind(intent):
    """A port of the integration bridge for each endpoint."""
    with open(intent, encoding="ascii") as f:
        tenants = json.load(f)["tenants"]
    ports = [f"{tenant}/{name}" for tenant, t in tenants.items()
             for name in t["endpoints"]]
    for i in range(0, len(ports), PORTS_AT_ONCE):
        words = []
        for j, logical in enumerate(ports[i:i + PORTS_AT_ONCE], i):
            words += ["--", "add-port", "br-int", f"p{j}", "--", "set",
                      "interface", f"p{j}", "type=dummy",
                      f"external_ids:iface-id={logical}"]
        subprocess.run(["ovs-vsctl", "--timeout=300", *words[1:]], check=True)
    return len(ports)


def cpu_s(daemon):
    """Of all of its threads."""
    with open(f"{RUNDIR}/{daemon}.pid", encoding="ascii") as f:
        pid = int(f.read())
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def n_flows():
    out = subprocess.run(
        ["ovs-ofctl", "-O", "OpenFlow15", "--no-stats", "dump-flows",
         "br-int"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return out.count(" actions=")


def change(acl, runs):
    times = []
    for i in range(runs):
        action = "drop" if i % 2 == 0 else acl["action"]
        begin = time.monotonic()
        nbctl("--wait=hv", "set", "acl", acl["_uuid"], f"action={action}")
        times.append(time.monotonic() - begin)
    return times


def find_acl():
    """One that lets a rule's packets pass."""
    rows = json.loads(nbctl("--format=json", "--columns=_uuid,action", "find",
                            "acl", "action=allow-related"))
    return {"_uuid": rows["data"][0][0][1], "action": rows["data"][0][1]}


def main():
    folder, runs = sys.argv[1], int(sys.argv[2])
    ports = bind(f"{folder}/whole.json")
    begin = time.monotonic()
    nbctl("--wait=hv", "sync")
    print(f"OVN holds it {time.monotonic() - begin:.1f} s after its ports "
          f"are there: {ports} ports, {n_flows()} flows; then, {runs} times:")
    before = {name: cpu_s(daemon) for name, daemon in DAEMONS.items()}
    times = change(find_acl(), runs)
    cpu = [1000 * (cpu_s(daemon) - before[name]) / runs
           for name, daemon in DAEMONS.items()]
    print(f"  {'':30} {'':7} {'':7}        CPU ms of\n"
          f"  {'one change':30} {'p50 ms':>7} {'p99 ms':>7} "
          + " ".join(f"{name:>10}" for name in DAEMONS))
    print(f"  {'ovn-nbctl --wait=hv, rule':30} "
          f"{1000 * percentile(times, 0.5):7.0f} "
          f"{1000 * percentile(times, 0.99):7.0f} "
          + " ".join(f"{ms:10.0f}" for ms in cpu), flush=True)


main()
