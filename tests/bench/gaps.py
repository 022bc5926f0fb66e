# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""How long a CPU is taken away from a loop that does nothing but look.

A bucket that is full for want of a packet earns nothing: a meter whose burst
lasts T loses what a gap between two looks at the clock exceeds T by, however
exact it is.

usage: gaps.py CPU SECONDS NANOSECONDS; prints the share of the time that
gaps exceed NANOSECONDS by, how many they are, and the longest in ns.
"""

import contextlib
import os
import sys
import time


def favour():
    """The priority that the PMD thread has; see dpdk_switch.py.  It is that of
    the whole session, so this is to be run in one of its own."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    with contextlib.suppress(OSError):
        with open("/proc/self/autogroup", "w", encoding="ascii") as stream:
            stream.write("-20")


def lost(seconds, longest):
    """(share, gaps, the longest one)"""
    clock = time.perf_counter_ns
    start = last = clock()
    end = start + int(seconds * 1e9)
    gaps = [0]
    while last < end:
        now = clock()
        if now - last > longest:
            gaps.append(now - last)
        last = now
    total = sum(gap - longest for gap in gaps[1:])
    return total / (last - start), len(gaps) - 1, max(gaps)


def main():
    os.sched_setaffinity(0, {int(sys.argv[1])})
    favour()
    print(*lost(float(sys.argv[2]), int(sys.argv[3])))


if __name__ == "__main__":
    main()
