# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Asks OVN's own DHCP server on the ports of a chassis.

usage: ovn_dhcp.py

The chassis n1 of ovn.json runs, and each of its ports writes what leaves it to
a capture.  Each question must be answered as its line says, to who asked, and
nobody else may get anything of it.  OVS_RUNDIR names the switch.
"""

import ipaddress
import os
import struct
import sys
import time

import frames
from switch import Capture, SwitchError, Unixctl

RUNDIR = os.environ["OVS_RUNDIR"]
PORTS = ["a0", "a2", "a3", "b0", "c0", "c1"]
MAC = {p: f"02:00:00:00:00:0{n}" for p, n in
       (("a0", 1), ("a2", 3), ("a3", 4), ("b0", 1), ("c0", 5), ("c1", 6))}
GATEWAY = {p: f"0a:b1:7d:00:00:0{n}" for p, n in
           (("a0", 1), ("a3", 1), ("b0", 3), ("c0", 4), ("c1", 4))}
COOKIE = bytes.fromhex("63825363")
DISCOVER, OFFER, REQUEST, ACK, NAK = 1, 2, 3, 5, 6
SOLICIT, ADVERTISE, REQUEST6, REPLY6 = 1, 2, 3, 7
SERVERS6, SERVERS6_MAC = "ff02::1:2", "33:33:00:01:00:02"


def option(code, value):
    return bytes([code, len(value)]) + value


def option6(code, value):
    return struct.pack("!HH", code, len(value)) + value


def packed(ip):
    return ipaddress.ip_address(ip).packed


def request(port, kind, src="0.0.0.0", dst="255.255.255.255", *, to=None,
            mac=None, chaddr=None, wants=None, cookie=COOKIE):
    """A frame of a client (RFC 2131)."""
    mac = mac or MAC[port]
    ciaddr = src if wants is None and kind == REQUEST else "0.0.0.0"
    body = (struct.pack("!BBBBIHH", 1, 1, 6, 0, 0x1234, 0, 0)
            + packed(ciaddr) + bytes(12)
            + frames.mac_bytes(chaddr or mac) + bytes(10 + 64 + 128) + cookie
            + option(53, bytes([kind]))
            + (option(50, packed(wants)) if wants else b"") + b"\xff")
    to = to or (frames.BROADCAST if dst == "255.255.255.255"
                else GATEWAY[port])
    return frames.ether(to, mac, frames.IPV4, frames.ip(
        src, dst, frames.UDP, frames.udp(src, dst, 68, 67, body)))


def request6(port, kind, src=None, dst=SERVERS6, *, to=SERVERS6_MAC,
             mac=None):
    """A frame of a client (RFC 8415), with an identity association."""
    mac = mac or MAC[port]
    src = src or frames.link_local(mac)
    client = struct.pack("!HH", 3, 1) + frames.mac_bytes(mac)
    server = struct.pack("!HH", 3, 1) + frames.mac_bytes(GATEWAY[port])
    body = (bytes([kind, 0, 0x12, 0x34]) + option6(1, client)
            + (option6(2, server) if kind == REQUEST6 else b"")
            + option6(3, struct.pack("!III", 7, 0, 0)))
    return frames.ether(to, mac, frames.IPV6, frames.ip(
        src, dst, frames.UDP, frames.udp(src, dst, 546, 547, body)))


def answer(port, sport, dport, to, dst):
    """What only a server may say."""
    src = "10.1.0.10"
    return frames.ether(to, MAC[port], frames.IPV4, frames.ip(
        src, dst, frames.UDP, frames.udp(src, dst, sport, dport, bytes(300))))


def options_of(data):
    found, i = {}, 0
    while i + 1 < len(data) and data[i] != 255:
        found[data[i]] = data[i + 2:i + 2 + data[i + 1]]
        i += 2 + data[i + 1]
    return found


def told(frame, port):
    """What an answer of IPv4 says, as text."""
    udp = frame[14 + 4 * (frame[14] & 15):]
    if (frames.mac_text(frame[6:12]) != GATEWAY[port]
            or frames.mac_text(frame[:6]) != MAC[port]
            or udp[:4] != struct.pack("!HH", 67, 68)):
        return f"something else: {frame.hex()}"
    said = options_of(udp[8 + 240:])
    server = ipaddress.ip_address(frame[26:30])
    text = f"{said[53][0]} {ipaddress.ip_address(udp[24:28])} by {server}"
    if 51 in said:
        text += (f" router {ipaddress.ip_address(said[3])}"
                 f" mask {ipaddress.ip_address(said[1])}"
                 f" mtu {int.from_bytes(said[26], 'big')}")
    return text


def told6(frame, port):
    """What an answer of IPv6 says: kind and address."""
    udp = frame[54:]
    if (frames.mac_text(frame[6:12]) != GATEWAY[port]
            or frames.mac_text(frame[:6]) != MAC[port]
            or udp[:4] != struct.pack("!HH", 547, 546)):
        return f"something else: {frame.hex()}"
    data, i = udp[12:], 0
    while i < len(data):
        code, length = struct.unpack("!HH", data[i:i + 4])
        if code == 3:
            # After IAID, T1 and T2 an option with the address.
            return f"{udp[8]} {ipaddress.ip_address(data[i + 20:i + 36])}"
        i += 4 + length
    return f"{udp[8]} nothing"


LEASE = "10.1.0.10 by 10.1.0.1 router 10.1.0.1 mask 255.255.0.0 mtu 1442"
QUESTIONS = [
    ("who asks gets its address", "a0", request("a0", DISCOVER),
     f"{OFFER} {LEASE}"),
    ("and again as it takes it", "a0",
     request("a0", REQUEST, wants="10.1.0.10"), f"{ACK} {LEASE}"),
    ("but no other", "a0", request("a0", REQUEST, wants="10.1.0.13"),
     f"{NAK} 0.0.0.0 by 10.1.0.1"),
    ("a renewal, of the server", "a0",
     request("a0", REQUEST, "10.1.0.10", "10.1.0.1"), f"{ACK} {LEASE}"),
    ("or of all", "a0", request("a0", REQUEST, "10.1.0.10"),
     f"{ACK} {LEASE}"),
    ("in another's name: its own", "a0",
     request("a0", DISCOVER, chaddr=MAC["a3"]), f"{OFFER} {LEASE}"),
    ("a neighbor has its own", "a3", request("a3", DISCOVER),
     f"{OFFER} {LEASE.replace('0.10 ', '0.13 ')}"),
    ("a tenant of the same addresses its own server", "c0",
     request("c0", DISCOVER), f"{OFFER} {LEASE}"),
    ("with another's MAC", "a0", request("a0", DISCOVER, mac=MAC["a3"]),
     None),
    ("with another's address", "a0",
     request("a0", REQUEST, "10.1.0.13", "10.1.0.1"), None),
    ("another tenant's gateway", "a0",
     request("a0", DISCOVER, to=GATEWAY["c0"]), None),
    ("of a neighbor", "c0",
     request("c0", REQUEST, "10.1.0.10", "10.1.0.11", to=MAC["c1"]), None),
    ("without an address, of the server", "c0",
     request("c0", REQUEST, "0.0.0.0", "10.1.0.1"), None),
    ("what is no DHCP", "c0", request("c0", DISCOVER, cookie=bytes(4)), None),
    ("nor this", "c0", request("c0", REQUEST, "10.1.0.10", cookie=bytes(4)),
     None),
    ("where nobody serves", "b0", request("b0", DISCOVER), None),
    ("an answer of a tenant's", "c0",
     answer("c0", 67, 68, MAC["c1"], "10.1.0.11"), None),
    ("an answer for all", "c0",
     answer("c0", 67, 68, frames.BROADCAST, "255.255.255.255"), None),
    ("an answer from another port", "c0",
     answer("c0", 1000, 68, MAC["c1"], "10.1.0.11"), None),
    ("IPv6: its address", "c0", request6("c0", SOLICIT),
     f"{ADVERTISE} fd00:1::10"),
    ("IPv6: again as it takes it", "c0", request6("c0", REQUEST6),
     f"{REPLY6} fd00:1::10"),
    ("IPv6: with another's MAC", "c0",
     request6("c0", SOLICIT, mac=MAC["c1"]), None),
    ("IPv6: from another's address", "c0",
     request6("c0", SOLICIT, "fd00:1::11"), None),
    ("IPv6: of a neighbor", "c0",
     request6("c0", SOLICIT, "fd00:1::10", "fd00:1::11", to=MAC["c1"]), None),
    ("IPv6: who has none", "a0", request6("a0", SOLICIT), None),
]


class Lab:
    """The ports of the chassis."""

    def __init__(self):
        self.command = Unixctl(RUNDIR)
        self.captures = {p: Capture(f"{RUNDIR}/{p}.pcap") for p in PORTS}
        self.read()

    def read(self):
        seen = {p: capture.read() for p, capture in self.captures.items()}
        return {p: out for p, out in seen.items() if out}

    def ask(self, port, frame, patience):
        """{port: [frame]} of what comes within so many seconds."""
        self.command("netdev-dummy/receive", port, frame.hex())
        end = time.monotonic() + patience
        seen = self.read()
        while not seen and time.monotonic() < end:
            time.sleep(0.02)
            seen = self.read()
        return seen


def main():
    lab, failures = Lab(), 0
    for name, port, frame, wanted in QUESTIONS:
        seen = lab.ask(port, frame, 5 if wanted else 0.5)
        tell = told6 if name.startswith("IPv6") else told
        got = ([tell(f, port) for f in seen[port]] if list(seen) == [port]
               else {p: [f.hex() for f in out] for p, out in seen.items()})
        if got != ([wanted] if wanted else {}):
            failures += 1
            print(f"# {name}: {got}, not {wanted or 'nothing'}")
    time.sleep(1)
    late = lab.read()
    answered = sum(1 for question in QUESTIONS if question[3])
    print(f"# {len(QUESTIONS)} questions, {answered} of them to be answered, "
          f"{failures} wrong, {len(late)} ports with what came late")
    return bool(failures or late)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (SwitchError, OSError) as error:
        sys.exit(f"ovn_dhcp: {error}")
