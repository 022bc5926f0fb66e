# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the telemetry of a switch a thousand times a second.

It takes over all records in use, as ovs-patches/lib/tenant-queue-shm.h has
them, and looks at nothing in them: what is measured is what the switch
notices.
"""

import glob
import mmap
import struct
import threading
import time

PERIOD_NS = 1_000_000
# From port_offset on.
HEADER = struct.Struct("=6I5Q")
HEADER_OFFSET = 16


class ShmReader:
    """Reads while its "with" lasts; 'reads' is how often, 'ns' how long.  Of a
    copy, the switch can notice no more than that the machine is busy."""

    def __init__(self, rundir, copy):
        [path] = glob.glob(f"{rundir}/tenant-queues.*")
        with open(path, "rb") as stream:
            self.map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        if copy:
            live = self.map
            self.map = mmap.mmap(-1, len(live))
            self.map[:] = live[:]
            live.close()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.reads = self.ns = 0

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()
        self.map.close()

    def is_fast(self):
        """Was it a 1 kHz reader, but for what the machine took away?"""
        return self.reads * PERIOD_NS > 0.8 * self.ns

    def read(self):
        """The records in use."""
        (port_offset, port_size, _, queue_offset, queue_size, _, _, _, _,
         n_ports, n_queues) = HEADER.unpack_from(self.map, HEADER_OFFSET)
        return (self.map[port_offset:port_offset + n_ports * port_size],
                self.map[queue_offset:queue_offset + n_queues * queue_size])

    def run(self):
        start = due = time.monotonic_ns()
        while not self.stopped.is_set():
            self.read()
            self.reads += 1
            due += PERIOD_NS
            time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        self.ns = time.monotonic_ns() - start
