# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Medians, ratios and tables of what was measured; the machine it ran on."""

import os
import platform
import statistics
import subprocess


# What 'machine' is measured a second before and so may be wrong by.
FLOOR_ERROR = 0.005


def spread(values):
    """(median, least, greatest)"""
    return statistics.median(values), min(values), max(values)


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(len(values) * p))]


def in_words(median, least, greatest, form):
    return [form.format(median), form.format(least), form.format(greatest)]


def table(heads, rows):
    """Text: the first column to the left, the others to the right."""
    cells = [heads, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0])]
                  + [cell.rjust(width) for cell, width
                     in zip(row[1:], widths[1:])]).rstrip()
        for row in cells)


class Cost:
    """The samples of all variants of one case of one workload."""

    heads = ["variant", "Mpps", "min", "max", "ns/pkt", "passed", "on CPU",
             "ratio", "min", "max", "goal", ""]

    def __init__(self, name, what, variants):
        self.name = name
        self.what = what
        self.variants = variants
        self.samples = {variant.name: [] for variant in variants}
        self.refused = {}

    def mpps(self, variant):
        return [one["mpps"] for one in self.samples[variant.name]]

    def pairs(self, variant):
        """For each round, the ratios of slices to the baseline's that were
        taken next to them."""
        return [[mine / base for mine, base
                 in zip(one["slices"], other["slices"])]
                for one, other in zip(self.samples[variant.name],
                                      self.samples[self.variants[0].name])]

    def ratio(self, variant):
        """Of all rounds, in which each switch had each place."""
        return statistics.median(sum(self.pairs(variant), []))

    def ratios(self, variant):
        """Of each round."""
        return [statistics.median(one) for one in self.pairs(variant)]

    def row(self, variant):
        samples = self.samples[variant.name]
        if variant.name in self.refused:
            return [variant.name, "not supported"] + [""] * 10
        if not samples:
            return [variant.name, "not run"] + [""] * 10
        median, least, most = spread(self.mpps(variant))
        cells = [variant.name, *in_words(median, least, most, "{:.2f}"),
                 f"{1000 / median:.1f}"]
        cells += [f"{statistics.median(one[key] for one in samples):.2f}"
                  for key in ("passed", "on_cpu")]
        if variant is self.variants[0]:
            return cells + ["base", "", "", "", ""]
        ratio = self.ratio(variant)
        cells += in_words(ratio, *spread(self.ratios(variant))[1:], "{:.3f}")
        if variant.goal is None:
            return cells + ["", ""]
        return cells + [f"{variant.goal:.2f}",
                        "met" if ratio >= variant.goal else "below"]

    def text(self):
        return (f"{self.name}: {self.what}\n"
                + table(self.heads, [self.row(v) for v in self.variants]))

    def as_json(self):
        return {"name": self.name, "what": self.what, "rows": [
            {"variant": variant.name, "goal": variant.goal,
             "not_supported": self.refused.get(variant.name),
             "mpps": self.mpps(variant), "ratio": self.ratios(variant),
             "samples": self.samples[variant.name]}
            for variant in self.variants]}


class Accuracy:
    """How much of its rate a meter passes when far more is offered."""

    heads = ["variant", "achieved/target", "min", "max", "machine",
             "offered Gbps", "on CPU", "goal", ""]

    def __init__(self, name, what, variants):
        self.name = name
        self.what = what
        self.variants = variants
        self.samples = {variant.name: [] for variant in variants}
        self.refused = {}

    def row(self, variant):
        samples = self.samples[variant.name]
        if variant.name in self.refused:
            return [variant.name, "not supported"] + [""] * 7
        if not samples:
            return [variant.name, "not run"] + [""] * 7
        achieved = spread([one["achieved"] for one in samples])
        cells = [variant.name, *in_words(*achieved, "{:.4f}")]
        cells += [f"{statistics.median(one[key] for one in samples):{form}}"
                  for key, form in (("floor", ".4f"),
                                    ("offered_gbps", ".1f"),
                                    ("on_cpu", ".2f"))]
        if variant.goal is None:
            return cells + ["", ""]
        low, high = variant.goal
        floor = statistics.median(one["floor"] for one in samples)
        if low <= achieved[0] <= high:
            verdict = "met"
        elif low > achieved[0] > floor - FLOOR_ERROR:
            verdict = "machine"
        else:
            verdict = "missed"
        return cells + [f"{low:.2f}-{high:.2f}", verdict]

    def text(self):
        return (f"{self.name}: {self.what}\n"
                + table(self.heads, [self.row(v) for v in self.variants]))

    def as_json(self):
        return {"name": self.name, "what": self.what, "rows": [
            {"variant": variant.name, "goal": variant.goal,
             "not_supported": self.refused.get(variant.name),
             "samples": self.samples[variant.name]}
            for variant in self.variants]}


def first_line(path, start):
    try:
        with open(path, encoding="utf-8") as stream:
            for line in stream:
                if line.startswith(start):
                    return line[len(start):].strip(" \t:\n")
    except OSError:
        pass
    return "unknown"


def cpu_times(cpu):
    """(stolen by the hypervisor, all), in ticks, proc(5)."""
    ticks = list(map(int, first_line("/proc/stat", f"cpu{cpu} ").split()))
    return ticks[7], sum(ticks[:8])


def stolen(cpu):
    """A function that says how much of 'cpu' was stolen since this call."""
    before = cpu_times(cpu)

    def say():
        after = cpu_times(cpu)
        share = (after[0] - before[0]) / max(after[1] - before[1], 1)
        return f"{100 * share:.2f} % of the time of CPU {cpu}"
    return say


def version(prefix):
    text = subprocess.run([f"{prefix}/sbin/ovs-vswitchd", "--version"],
                          capture_output=True, text=True, check=True).stdout
    return f"{', '.join(text.splitlines())} ({prefix})"


def machine(prefixes, cpus, hugepages):
    """What the figures depend on: {name: value}."""
    flags = first_line("/proc/cpuinfo", "flags").split()
    facts = {
        "CPU": first_line("/proc/cpuinfo", "model name")
        + f", {os.cpu_count()} in all"
        + (", virtual" if "hypervisor" in flags else ""),
        "PMD thread": f"CPU {cpus.pmd}; everything else on "
        + ", ".join(map(str, cpus.others)),
        "kernel": platform.release(),
        "hugepages": hugepages.reason and f"none: {hugepages.reason}"
        or "2 MB",
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg())
        + " (average of the last 1, 5, 15 minutes, before the first sample)",
    }
    for name, prefix in prefixes.items():
        facts[name] = version(prefix)
    return facts
