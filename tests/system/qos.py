#!/usr/bin/env python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""What a kernel does with the queues that qos.sh asks for.

usage: qos.py QOS.SH

On a bridge of a switch in a namespace of its own: tc must have the classes, and
packets of several queues, sent at once by the uplink's device, must come out as
fast as those say.  A socket's priority is the class, as set_queue makes it.
"""

import re
import socket
import subprocess
import sys
import time

from trial import Score

IFACES = ("p0", "e0", "e3")
SECONDS = 3.0
PAYLOAD = 1450              # 1492 bytes of a frame, without FCS.
FRAME = PAYLOAD + 42


def run(*command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def make_ports():
    run("ovs-vsctl", "add-br", "br0", "--", "set", "bridge", "br0",
        "datapath_type=netdev")
    for name in IFACES:
        run("ip", "link", "add", name, "mtu", "1500", "type", "veth", "peer",
            "name", f"{name}-far", "mtu", "1500")
        for end in (name, f"{name}-far"):
            run("ip", "link", "set", end, "up")
        run("ovs-vsctl", "add-port", "br0", name)


def classes(interface):
    """The rate and ceil of the classes of an interface, in bit/s."""
    units = {"bit": 1, "Kbit": 1000, "Mbit": 1000000}
    found = {}
    for line in run("tc", "class", "show", "dev", interface).splitlines():
        match = re.search(r"^class htb 1:(\w+) .*rate (\d+)(\w+) "
                          r"ceil (\d+)(\w+)", line)
        if match:
            name, rate, unit, ceil, ceil_unit = match.groups()
            found[name] = (int(rate) * units[unit],
                           int(ceil) * units[ceil_unit])
    return found


def sender(queue):
    """A socket whose frames leave by p0 in the class of the queue."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 0x10000 + queue + 1)
    sock.bind(("p0", 0x88b5))
    sock.setblocking(False)
    return sock


def rates(queues):
    """Frames that come out, in bit/s of each queue, if all send at once."""
    far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
    far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    far.bind(("p0-far", 3))
    far.setblocking(False)
    senders = {queue: sender(queue) for queue in queues}
    got = dict.fromkeys(queues, 0)
    begin = time.monotonic()
    settled = begin + 1.0
    while (now := time.monotonic()) < settled + SECONDS:
        for queue, sock in senders.items():
            frame = (b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb5"
                     + bytes([queue])).ljust(FRAME, b"\0")
            try:
                for _ in range(20):
                    sock.send(frame)
            except BlockingIOError:
                pass
            except OSError as error:
                if error.errno != 105:          # ENOBUFS: its queue is full.
                    raise
        try:
            while True:
                frame = far.recv(2048)
                if frame[12:14] == b"\x88\xb5" and now > settled:
                    got[frame[14]] += len(frame) * 8
        except BlockingIOError:
            time.sleep(0.001)
    for sock in [far, *senders.values()]:
        sock.close()
    return {queue: bits / SECONDS for queue, bits in got.items()}


def close(got, wanted):
    return all(abs(got.get(name, (0, 0))[i] - rate[i]) <= 8000
               for name, rate in wanted.items() for i in range(2))


def main():
    score = Score()
    make_ports()
    run("sh", sys.argv[1])
    uplink = classes("p0")
    score.check(close(uplink, {"1": (196000, 19697000), "9": (2067000, 2067000),
                               "a": (12397000, 18595000)})
                and close(uplink, {"b": (uplink["b"][0], 19697000)}),
                "tc has the queues of tenants", uplink)
    port = classes("e3")
    score.check(close(port, {name: (1000000, 4000000) for name in "1467"}),
                "tc has the queues of classes", port)
    both = rates([9, 10])
    score.check(both[9] > 11.5e6 and both[10] > 1e6
                and sum(both.values()) < 20.5e6,
                "who is owed 12 Mbps gets it beside one who floods", both)
    alone = rates([10])
    score.check(18e6 < alone[10] < 20.5e6,
                "who is alone has the uplink, and no more", alone)
    limited = rates([9])
    score.check(16e6 < limited[9] < 19.2e6, "nobody is above its limit",
                limited)
    run("ovs-vsctl", "clear", "Port", "p0", "qos")
    score.check(not classes("p0"), "without the rows there is no class")
    return 1 if score.bad else 0


if __name__ == "__main__":
    sys.exit(main())
