# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Takes the times for "push" and prints them.

usage: push.py DIRECTORY NODE RUNS
"""
import os
import subprocess
import sys
import time

from report import percentile

BRIDGE = "br0"
BULKHEAD = os.environ["BULKHEAD"]


def run(*command):
    """Without the warnings, of which a random policy has many."""
    subprocess.run(command, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)


def seconds(*command):
    begin = time.monotonic()
    run(*command)
    return time.monotonic() - begin


def clear():
    """Until the switch rests: it frees in the background what it held."""
    run(BULKHEAD, "clear", "--bridge", BRIDGE, "-t", "60")
    time.sleep(2)


class Bench:
    def __init__(self, folder, node, runs):
        self.folder, self.node, self.runs = folder, node, runs

    def apply(self, intent, *options):
        return seconds(BULKHEAD, "apply", f"{self.folder}/{intent}", "--node",
                       self.node, "--bridge", BRIDGE, "-t", "60", *options)

    def compile(self):
        return seconds(BULKHEAD, "compile", f"{self.folder}/whole.json",
                       "--node", self.node, "-o", f"{self.folder}/plan")

    def ofctl(self):
        """The stock way: the meters one by one, then the flows at once."""
        plan = f"{self.folder}/plan"
        with open(f"{plan}/meters.txt", encoding="ascii") as meters:
            for meter in meters:
                run("ovs-ofctl", "-O", "OpenFlow13", "add-meter", BRIDGE,
                    meter.strip())
        return seconds("ovs-ofctl", "-O", "OpenFlow14", "--bundle",
                       "add-flows", BRIDGE, f"{plan}/flows.txt")

    def first_load(self):
        """In turns, since other work on the machine comes and goes."""
        whole, unproved, compiling, stock = [], [], [], []
        for _ in range(self.runs):
            compiling.append(self.compile())
            clear()
            whole.append(self.apply("whole.json"))
            clear()
            unproved.append(self.apply("whole.json", "--no-verify"))
            clear()
            stock.append(self.ofctl())
        with open(f"{self.folder}/plan/flows.txt", encoding="ascii") as flows:
            n = sum(line[0] != "#" for line in flows)
        whole, unproved, compiling, stock = (
            percentile(times, 0.5)
            for times in (whole, unproved, compiling, stock))
        print(f"first load of {n} flows, median of {self.runs}:")
        for name, value in (
                ("bulkhead apply", whole),
                ("  of that, compiling", compiling),
                ("  of that, the proof", whole - unproved),
                ("  of that, the push", unproved - compiling),
                ("ovs-ofctl --bundle add-flows", stock)):
            print(f"  {name:30} {value:7.3f} s {n / value:9.0f} flows/s")

    def one_rule(self):
        clear()
        self.apply("whole.json")
        times = []
        for i in range(4 * self.runs):
            times.append(self.apply("whole.json" if i % 2 else "less.json"))
        print(f"one rule less or more, {len(times)} times, a process each:")
        for name, p in ("p50", 0.5), ("p99", 0.99):
            print(f"  {name} {1000 * percentile(times, p):.0f} ms")


def main():
    bench = Bench(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    bench.first_load()
    bench.one_rule()


main()
