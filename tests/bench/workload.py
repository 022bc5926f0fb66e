# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""What is sent through a switch, and the flows that take it to the sink.

Sizes are bytes of the L2 frame, without FCS, preamble and gap.
"""

import random
import struct

SOURCE, SINK = 1, 2

# Tables that the first one sends the packets to.
NO_METER, ONE_METER, METER_EACH = 1, 2, 3

UDP_FRAME = 64
PCAP_MAGIC, LINKTYPE_ETHERNET = 0xa1b2c3d4, 1


class Workload:
    """An endless stream of frames of one size in a number of flows."""

    def __init__(self, name, size, n_flows, what):
        self.name = name
        self.size = size
        self.n_flows = n_flows
        self.what = what

    def devargs(self, directory):
        """The DPDK device that sends it; it may need a file there."""
        if self.is_null:
            # Without "copy" the driver hands out buffers as they are.
            return f"net_null0,size={self.size}"
        path = f"{directory}/{self.name}.pcap"
        write_pcap(path, self.n_flows)
        return f"net_pcap0,rx_pcap={path},infinite_rx=1"

    @property
    def is_null(self):
        return self.n_flows == 0

    @property
    def n_meters(self):
        """With a meter of its own for each flow."""
        return max(1, self.n_flows)

    def flows(self, tables):
        """Lines for ovs-ofctl add-flows.

        Each UDP flow has an OpenFlow flow, and so a datapath flow, of its
        own: Open vSwitch groups the packets of a receive batch by datapath
        flow and runs the actions, and with them the meter, once a group."""
        for table in tables:
            for i in range(self.n_meters):
                match = "" if self.is_null else f",udp,nw_dst={address(i)}"
                meter = {NO_METER: "", ONE_METER: "meter:1,",
                         METER_EACH: f"meter:{i + 1},"}[table]
                yield (f"table={table},in_port={SOURCE}{match},"
                       f"actions={meter}output:{SINK}\n")

    @staticmethod
    def dispatch(table):
        return f"table=0,in_port={SOURCE},actions=goto_table:{table}"


def address(i):
    return f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def udp_frame(i, size=UDP_FRAME):
    """The frame of flow 'i'.  ECT(0), so that a band may mark it."""
    ethernet = bytes.fromhex("020000000002" "020000000001" "0800")
    length = size - len(ethernet)

    def ip(check):
        return struct.pack("!BBHHHBBHII", 0x45, 2, length, 0, 0, 64, 17,
                           check, 0xc0000201, 10 << 24 | i)
    # A UDP checksum of 0 means none, RFC 768.
    udp = struct.pack("!HHHH", 4791, 4791, length - 20, 0)
    return ethernet + ip(checksum(ip(0))) + udp + bytes(length - 28)


def write_pcap(path, n_flows):
    """One frame of each flow, in an order that is the same in each run but
    that no prefetcher guesses."""
    order = list(range(n_flows))
    random.Random(1).shuffle(order)
    with open(path, "wb") as stream:
        stream.write(struct.pack("=IHHIIII", PCAP_MAGIC, 2, 4, 0, 0, 65535,
                                 LINKTYPE_ETHERNET))
        for i in order:
            frame = udp_frame(i)
            stream.write(struct.pack("=IIII", 0, 0, len(frame), len(frame))
                         + frame)


WORKLOADS = [
    Workload("null", 64, 0, "net_null: one flow, not IP"),
    Workload("udp-1", UDP_FRAME, 1, "net_pcap: IPv4 UDP, one flow"),
    Workload("udp-64", UDP_FRAME, 64, "net_pcap: IPv4 UDP, 64 flows"),
    Workload("udp-1024", UDP_FRAME, 1024, "net_pcap: IPv4 UDP, 1024 flows"),
    Workload("udp-10000", UDP_FRAME, 10000,
             "net_pcap: IPv4 UDP, 10,000 flows, more than the EMC holds"),
    Workload("udp-100000", UDP_FRAME, 100000,
             "net_pcap: IPv4 UDP, 100,000 flows"),
]
