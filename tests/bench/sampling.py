# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""What is compared with what, and how one sample of it is taken."""

import collections
import contextlib
import math
import os
import shutil
import statistics
import subprocess
import sys
import time

from dpdk_switch import Switch
from openflow13 import NotSupported
from shm_reader import ShmReader
from workload import METER_EACH, NO_METER, ONE_METER

# name: in the table; switch: which one; band: None without a meter
Variant = collections.namedtuple("Variant", "name switch band goal")
# limit: None, or the share of the packets that the meter is to pass
Case = collections.namedtuple("Case", "name table limit what")

# Each is a process of its own, of the prefix that its name begins with.  The
# first two differ in nothing.
STOCK, AGAIN, PATCHED, BURST = SWITCHES = (
    "stock", "stock-again", "patched", "patched-microburst")
TELLING = "patched-telemetry"

# A sample is put together from slices of this many seconds that the variants
# take in turn, after a moment for the caches.
SLICE, WARMUP = 0.1, 0.02

CASES = [
    Case("none", NO_METER, None, "no meter"),
    Case("idle", ONE_METER, None, "one meter that drops nothing"),
    Case("half", ONE_METER, 0.5, "one meter that drops half"),
    Case("all", ONE_METER, 0, "one meter that drops all"),
    Case("idle-each", METER_EACH, None, "a meter a flow, none drops"),
    Case("half-each", METER_EACH, 0.5, "a meter a flow, all drop half"),
]

WITHOUT = [Variant("stock", STOCK, None, None),
           Variant("stock again", AGAIN, None, None),
           Variant("patched", PATCHED, None, 0.99)]

WITH = [Variant("stock drop", STOCK, "drop", None),
        Variant("stock drop again", AGAIN, "drop", None),
        Variant("patched drop", PATCHED, "drop", 0.97),
        Variant("patched microburst", BURST, "microburst", 0.97)]

# The same with the telemetry of the patched one off and on.
TELEMETRY = {band: [Variant(f"stock{drop}", STOCK, drop.strip() or None, None),
                    Variant(f"stock{drop} again", AGAIN, drop.strip() or None,
                            None),
                    Variant("off", PATCHED, band, None),
                    Variant("on", TELLING, band, 0.95)]
             for band, drop in ((None, ""), ("microburst", " drop"))}

# With it on, beside itself while somebody reads a copy of it at 1 kHz, or it.
COPY_READ = Variant("copy read", TELLING, "microburst", None)
READ = Variant("read", TELLING, "microburst", 0.99)
READING = [Variant("on", TELLING, "microburst", None),
           Variant("on again", TELLING, "microburst", None), COPY_READ, READ]

EXACT = [Variant("stock drop", STOCK, "drop", None),
         Variant("patched drop", PATCHED, "drop", (0.99, 1.01)),
         Variant("patched microburst", BURST, "microburst", (0.99, 1.01))]

# name, frame, rate in kbps, burst in bytes by band.  OpenFlow's burst_size is
# in units of 1000 bits: 96 are 12,000 bytes.
BURSTS = {"drop": 12000, "microburst": 12288}
RATES = [
    ("accuracy-1G-64", 64, 1000000),
    ("accuracy-1G-1500", 1500, 1000000),
    ("accuracy-10G-1500", 1500, 10000000),
]

# 1.6 Tbps: never reached by one CPU.
IDLE_KBPS = 1600000000
IDLE_BURST = 1 << 20

# How long a meter's bucket lasts when it drops half, as many milliseconds as
# stock's clock, which ticks in one, handles well.
HALF_BURST_MS = 10


class DoubtfulSample(Exception):
    """What was measured is not what the row says."""


def turn(sequence, n):
    """Another one is the first each round."""
    n %= len(sequence)
    return sequence[n:] + sequence[:n]


def say(words):
    print(f"meters-dpdk: {words}", file=sys.stderr, flush=True)


def meter_text(band, kbps, burst, members):
    """For ovs-ofctl; 'burst' in bytes, or None for the switch's default;
    'members' are more of a microburst band."""
    if band == "microburst":
        return (f"meter=1,kbps,burst,stats,bands=type=microburst rate={kbps} "
                f"burst_bytes={burst or IDLE_BURST} exceed=drop tag=1 "
                f"{members}")
    if burst is None:
        return f"meter=1,kbps,stats,bands=type=drop rate={kbps}"
    return (f"meter=1,kbps,burst,stats,bands=type=drop rate={kbps} "
            f"burst_size={burst * 8 // 1000}")


def together(slices):
    """One result of several slices.  Its speed is the median of the faster
    half of them: what else the machine does can only slow a slice down."""
    keys = "received", "upcalls", "cpu", "wall", "offered", "sent"
    whole = shares({key: sum(one[key] for one in slices) for key in keys})
    whole["slices"] = [one["received"] / one["cpu"] / 1e6 for one in slices]
    whole["mpps"] = statistics.median(
        sorted(whole["slices"])[len(slices) // 2:])
    return whole


def shares(result):
    """Adds what follows from the sums."""
    result["on_cpu"] = result["cpu"] / result["wall"]
    result["passed"] = result["sent"] / max(result["offered"], 1)
    return result


class Bench:
    """The switches of one workload for one round, all stopped but one."""

    def __init__(self, options, workload, cases, variants, number):
        self.options = options
        self.number = number
        self.workload = workload
        self.tables = {case.table for case in cases}
        self.wanted = [name for name in SWITCHES + (TELLING,)
                       if name in
                       {variant.switch for variant in variants
                        if variant.band not in options.refused}]
        self.n_meters = (workload.n_meters if METER_EACH in self.tables
                         else 1)
        self.stack = contextlib.ExitStack()
        self.switches = {}
        self.written = {}
        self.kbps = {}

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            # Some hugepages are faster than others, and they are handed out
            # in an order that repeats.
            for name in turn(self.wanted, self.number):
                self.start(name, stack)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def start(self, name, stack):
        """A switch with its ports and flows and with idle meters."""
        band = "microburst" if name == BURST else "drop"
        switch = Switch(name, self.options.prefixes[name.split("-")[0]],
                        self.options.directory, self.options.cpus,
                        self.options.hugepages, name == TELLING)
        stack.callback(shutil.rmtree, switch.rundir, True)
        stack.callback(switch.close)
        if self.tables != {NO_METER}:
            text = meter_text(band, IDLE_KBPS, None, self.options.members)
            try:
                switch.write_meters("add-meter", text, self.n_meters)
            except NotSupported as error:
                if name != BURST:
                    raise
                self.options.refused[band] = str(error)
                switch.close()
                return
            self.written[name] = text
        switch.connect(self.workload, self.tables)
        self.switches[name] = switch
        switch.pause()

    @contextlib.contextmanager
    def running(self, variant):
        switch = self.switches[variant.switch]
        switch.resume()
        try:
            yield switch
        finally:
            switch.pause()

    def write(self, switch, text):
        if self.written.get(switch.name, text) != text:
            switch.write_meters("mod-meter", text, self.n_meters)
            self.written[switch.name] = text

    def prepare(self, variant, case):
        """Leaves the switch with the flows and meters of the case in use."""
        with self.running(variant) as switch:
            switch.revalidate(True)
            if variant.band:
                self.write(switch, meter_text(variant.band, IDLE_KBPS, None,
                                              self.options.members))
            switch.add_flow(self.workload.dispatch(case.table))
            switch.unixctl("revalidator/wait")
            self.settle(switch)
            if case.limit is not None:
                self.limit(switch, variant, case)
            if self.workload.n_flows > 5000:
                switch.revalidate(False)

    def settle(self, switch):
        """Until there is a datapath flow for each packet that comes."""
        end = time.monotonic() + 60
        while True:
            now = self.measure(switch, 0.1)
            if now["received"] and now["upcalls"] * 1e4 < now["received"]:
                return
            if time.monotonic() > end:
                raise DoubtfulSample(
                    f"{switch.name}: after 60 s still {now['upcalls']} "
                    f"upcalls in 0.1 s for {now['received']} packets")

    def limit(self, switch, variant, case):
        """Makes the meters pass the wanted share of what they are offered:
        first by what is received, then by what was passed."""
        meters = self.n_meters if case.table == METER_EACH else 1
        now = self.measure(switch, 0.1)
        kbits = now["received"] / now["wall"] * self.workload.size * 8 / 1000
        self.kbps[switch.name] = kbits * case.limit / meters
        self.write_limit(switch, variant)
        if not case.limit:
            self.write_limit(switch, variant)
            return
        for _ in range(3):
            time.sleep(WARMUP)
            self.correct(switch, variant, case, self.measure(switch, 0.1))

    def correct(self, switch, variant, case, result):
        """The speed, and so what is half of it, changes with what else the
        machine does."""
        if abs(result["passed"] - case.limit) > 0.03:
            self.kbps[switch.name] *= case.limit / max(result["passed"], 0.1)
            self.write_limit(switch, variant)

    def write_limit(self, switch, variant):
        kbps = max(1, round(self.kbps[switch.name]))
        # Whole kbit for both bands, and some frames at least.
        kbit = math.ceil(max(kbps * HALF_BURST_MS / 1000,
                             8 * self.workload.size * 8 / 1000))
        self.write(switch, meter_text(variant.band, kbps, kbit * 125,
                                      self.options.members))

    @staticmethod
    def measure(switch, seconds):
        before = switch.count()
        time.sleep(seconds)
        after = switch.count()
        result = {key: after[key] - before[key]
                  for key in ("received", "upcalls", "cpu", "wall",
                              "offered", "sent", "ports_wall")}
        return shares(result)

    def sample(self, variants, case):
        """{variant: its figure}, each proved to be of what it says."""
        for _ in range(3):
            for variant in variants:
                self.prepare(variant, case)
            results = {variant: [] for variant in variants}
            for _ in range(math.ceil(self.options.seconds / SLICE)):
                for variant in variants:
                    results[variant].append(self.slice(variant, case))
            wholes = {variant: together(slices)
                      for variant, slices in results.items()}
            doubts = [f"{variant.name}: {doubt}"
                      for variant, whole in wholes.items()
                      if (doubt := self.doubt(whole, case))]
            if not doubts:
                return wholes
            say(f"{self.workload.name}/{case.name}: once more, because "
                + "; ".join(doubts))
        raise DoubtfulSample("; ".join(doubts))

    def slice(self, variant, case):
        with self.running(variant) as switch:
            metered, result = self.observe(switch, variant)
            if case.limit:
                self.correct(switch, variant, case, result)
        if bool(metered) != (case.table != NO_METER):
            raise DoubtfulSample(f"{variant.name}: {metered} packets came to "
                                 "meter 1")
        return result

    def observe(self, switch, variant):
        """(packets that came to meter 1, what was measured)"""
        with contextlib.ExitStack() as stack:
            reader = None
            if variant in (COPY_READ, READ):
                reader = stack.enter_context(
                    ShmReader(switch.rundir, variant is COPY_READ))
            time.sleep(WARMUP)
            metered = self.metered(switch)
            result = self.measure(switch, SLICE)
            metered = self.metered(switch) - metered
        if reader and not reader.is_fast():
            raise DoubtfulSample(f"{reader.reads} reads in "
                                 f"{reader.ns / 1e6:.0f} ms")
        return metered, result

    def metered(self, switch):
        if switch.name not in self.written:
            return 0
        return switch.openflow.metered(1)[0]

    @staticmethod
    def doubt(result, case):
        """Why the sample is not of the case, or None."""
        if result["upcalls"] * 1000 > result["received"]:
            return (f"{result['upcalls']} upcalls for {result['received']} "
                    "packets")
        low, high = {None: (0.99, 1.01), 0: (0, 0.001),
                     0.5: (0.4, 0.6)}[case.limit]
        if not low <= result["passed"] <= high:
            return f"{result['passed']:.3f} of the packets passed"
        return None

    def accuracy(self, variant, kbps, seconds):
        floor = 1 - self.lost(BURSTS[variant.band] * 8e6 / kbps)
        with self.running(variant) as switch:
            switch.add_flow(self.workload.dispatch(ONE_METER))
            self.write(switch, meter_text(variant.band, kbps,
                                          BURSTS[variant.band],
                                          self.options.members))
            switch.unixctl("revalidator/wait")
            self.settle(switch)
            result = self.measure(switch, seconds)
        result["floor"] = floor
        bits = self.workload.size * 8
        gbps = bits / result["ports_wall"] / 1e9
        result["achieved"] = result["sent"] * gbps / (kbps / 1e6)
        result["offered_gbps"] = result["offered"] * gbps
        if result["offered_gbps"] * 1e6 < kbps:
            raise DoubtfulSample(f"only {result['offered_gbps']:.2f} Gbps "
                                 f"came to a meter of {kbps / 1e6:g} Gbps")
        return result

    def lost(self, nanoseconds):
        """What this machine takes away at this time: see gaps.py."""
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                               "gaps.py")
        done = subprocess.run(
            [sys.executable, program, str(self.options.cpus.pmd), "1",
             str(int(nanoseconds))], stdout=subprocess.PIPE, check=True,
            start_new_session=True, text=True)
        return float(done.stdout.split()[0])
