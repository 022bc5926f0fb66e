# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Takes the CPU times and memory for "ovn" and prints them.

usage: ovn_cost.py DIRECTORY NODE

The private OVN of ovn-lib.sh runs; whole.json and less.json are in the
directory.
"""

import json
import os
import subprocess
import sys
import time

from report import table

BULKHEAD = os.environ["BULKHEAD"]
TICK = os.sysconf("SC_CLK_TCK")
DAEMONS = {"ovn-northd": "ovn-northd", "nb": "its northbound server",
           "sb": "its southbound server"}


class Child:
    """A command that has run: what it took."""

    def __init__(self, *command):
        # The warnings of a random policy are many.
        with subprocess.Popen(command, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as child:
            self.output = child.stdout.read()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
        if status:
            sys.exit(f"{' '.join(command)}: status {status}")
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss / 1024


class Daemon:
    """One that stays: what it has taken since it was asked last."""

    def __init__(self, folder, name):
        with open(f"{folder}/{name}.pid", encoding="ascii") as stream:
            self.proc = f"/proc/{int(stream.read())}"
        self.before = self.total()

    def total(self):
        with open(f"{self.proc}/stat", encoding="ascii") as stream:
            fields = stream.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def cpu(self):
        before, self.before = self.before, self.total()
        return self.before - before

    def peak(self):
        with open(f"{self.proc}/status", encoding="ascii") as stream:
            for line in stream:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        raise ValueError(f"{self.proc} has no VmHWM")


def sync():
    """Waits until northd has written all; its CPU is what counts."""
    begin = time.monotonic()
    subprocess.run(["ovn-nbctl", "--timeout=1000", "--wait=sb", "sync"],
                   check=True)
    return time.monotonic() - begin


def apply(intent):
    return Child(BULKHEAD, "apply", intent, "--target=ovn", "--timeout=1000")


def row(name, cpu, peak, holds=""):
    return [name, f"{cpu:.2f}", f"{peak:.0f}", holds]


def n_logical_flows():
    out = subprocess.run(
        ["ovsdb-client", "-f", "json", "transact", os.environ["OVN_SB_DB"],
         json.dumps(["OVN_Southbound", {
             "op": "select", "table": "Logical_Flow", "where": [],
             "columns": ["_uuid"]}])],
        capture_output=True, text=True, check=True)
    return len(json.loads(out.stdout)[0]["rows"])


def first(folder, node, daemons):
    """All of the policy, onto nothing."""
    intent, plan = f"{folder}/whole.json", f"{folder}/plan"
    compiled = Child(BULKHEAD, "compile", intent, f"--node={node}", "-o",
                     plan)
    with open(f"{plan}/flows.txt", encoding="ascii") as flows:
        n = sum(line[0] != "#" for line in flows)
    applied = apply(intent)
    waited = sync()
    print(table(["the whole", "CPU s", "peak MB", "holds"], [
        row("bulkhead compile, OpenFlow", compiled.cpu, compiled.peak,
            f"{n} flows"),
        row("bulkhead apply --target=ovn", applied.cpu, applied.peak,
            applied.output.split(": rows ")[1].split(" added")[0] + " rows"),
        *[row(name, daemon.cpu(), daemon.peak(),
              f"{n_logical_flows()} logical flows"
              if name == "ovn-northd" else "")
          for name, daemon in daemons.items()]]))
    print(f"from apply to northd's last row: {waited:.1f} s more\n")


def change(folder, node, daemons):
    """One rule less."""
    intent, plan = f"{folder}/less.json", f"{folder}/plan"
    compiled = Child(BULKHEAD, "compile", intent, f"--node={node}", "-o",
                     plan)
    for daemon in daemons.values():
        daemon.cpu()
    applied = apply(intent)
    waited = sync()
    print(table(["one rule less", "CPU s", "peak MB", "changes"], [
        row("bulkhead compile, OpenFlow", compiled.cpu, compiled.peak),
        row("bulkhead apply --target=ovn", applied.cpu, applied.peak,
            applied.output.split(": rows ")[1].splitlines()[0]),
        *[row(name, daemon.cpu(), daemon.peak())
          for name, daemon in daemons.items()]]))
    print(f"from apply to northd's last row: {waited:.1f} s more")


def main():
    folder, node = sys.argv[1:]
    daemons = {name: Daemon(folder, file) for file, name in DAEMONS.items()}
    first(folder, node, daemons)
    change(folder, node, daemons)


if __name__ == "__main__":
    main()
