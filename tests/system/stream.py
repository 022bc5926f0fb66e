# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Traffic that goes on while things happen to the switch.

Of each pair of endpoints, allowed and forbidden: datagrams and SYNs, each
with a token and a number, and connections of the kernels.  What must arrive
and what must not is decided by hand, for the policy of the moment.
"""

import contextlib
import itertools
import re
import select
import socket
import struct
import threading
import time

import frames
import netlab
from switch import run

MARK = b"\xb1\x7estream"
TOKEN = re.compile(MARK + b"(......)", re.DOTALL)
NUMBER = struct.Struct("!HI")
TICK, FORBIDDEN_A_TICK = 0.01, 8
MUST, EITHER, NEVER = 1, 2, 3
TOTAL_RETRANS = 100             # Where struct tcp_info has it.

PORTS = (("udp", frames.ROCEV2_PORT), ("udp", 7000), ("tcp", 443),
         ("tcp", 4420))


def is_allowed(policy, kind, port, one, other):
    """What ai-cluster.json says of packets that open something."""
    pair = one.name, other.name
    if one.tenant == other.tenant == "batch":
        return policy["batch"]
    if one.tenant == other.tenant == "llm-training":
        return policy["all-reduce"] and (kind, port) == PORTS[0]
    if pair == ("frontend0", "model0"):
        return policy["serve"] and (kind, port) == ("tcp", 443)
    if pair in (("gpu0", "target0"), ("gpu1", "target0")):
        return policy["dataset"] and (kind, port) == ("tcp", 4420)
    return pair == ("meta0", "target0") and (kind, port) == ("tcp", 4420)


class Datagrams:
    """Numbered packets from one port to another: UDP, or SYNs."""

    def __init__(self, number, kind, port, one, other, v6):
        self.number, self.kind, self.port = number, kind, port
        self.one, self.other, self.v6 = one, other, v6
        self.name = (f"{kind} {port} {one.name} -> {other.name} "
                     f"{'IPv6' if v6 else 'IPv4'}")
        self.want = NEVER
        self.wants, self.got = bytearray(), bytearray()

    def frame(self, to):
        token = MARK + NUMBER.pack(self.number, len(self.wants))
        self.wants.append(self.want)
        self.got.append(0)
        src, dst = self.one.address(self.v6), self.other.address(self.v6)
        source = 20000 + self.number
        if self.kind == "udp":
            protocol, body = frames.UDP, frames.udp(src, dst, source,
                                                    self.port, token)
        else:
            protocol, body = frames.TCP, frames.tcp(src, dst, source,
                                                    self.port, data=token)
        return frames.ether(to, self.one.mac,
                            frames.IPV6 if self.v6 else frames.IPV4,
                            frames.ip(src, dst, protocol, body))


class Connection:
    """A connection of two kernels, which counts what is sent again."""

    def __init__(self, port, one, other):
        self.kind = "tcp"
        self.port, self.one, self.other = port, one, other
        self.name = f"tcp {port} {one.name} -> {other.name}"
        self.link = None
        self.want = NEVER
        self.sent = self.arrived = 0

    def open(self):
        link = netlab.Link(self.one, self.other, self.port)
        for one in (link.client, link.server):
            one.setblocking(False)
        return link

    def close(self):
        link, self.link = self.link, None
        if link:
            link.close()

    def step(self):
        link = self.link
        with contextlib.suppress(OSError, AttributeError):
            self.sent += link.client.send(b"numbered")
        with contextlib.suppress(OSError, AttributeError):
            self.arrived += len(link.server.recv(1 << 16))

    def lost(self):
        """Packets that had to be sent again, or what did not arrive."""
        again = sum(struct.unpack_from(
            "=I", one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104),
            TOTAL_RETRANS)[0] for one in (self.link.client, self.link.server))
        return again or (self.sent != self.arrived)


class Traffic:
    """All of it, in a thread of its own between start() and stop()."""

    def __init__(self, world):
        self.world = world
        self.leaks = []
        self.intruder = None            # The endpoint whose packets go where
        self.intruded = 0               # somebody lets them, and how many.
        self.last = self.gap = 0.0      # When a datagram last arrived, and
                                        # the longest without any.
        self.lock = threading.Lock()
        self.datagrams = []
        for (one, other), (kind, port), v6 in itertools.product(
                itertools.permutations(world.intent.endpoints, 2), PORTS,
                (False, True)):
            self.datagrams.append(Datagrams(len(self.datagrams), kind, port,
                                            one, other, v6))
        find = {e.name: e for e in world.intent.endpoints}
        self.connections = [
            Connection(port, find[one], find[other])
            for one, other, port in (
                ("frontend0", "model0", 443), ("job0", "job1", 443),
                ("job1", "job0", 4420), ("gpu0", "target0", 4420),
                ("gpu1", "target0", 4420), ("meta0", "target0", 4420))]
        self.sinks = [self._sink(e, port) for e in world.intent.endpoints
                      for kind, port in PORTS if kind == "udp"]
        self.running = True
        self.thread = threading.Thread(target=self._run, daemon=True)

    @staticmethod
    def _sink(endpoint, port):
        """Nobody reads it; without it there would be ICMP errors."""
        with netlab.inside(endpoint.interface):
            sink = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        sink.bind(("::", port))
        return sink

    def prepare(self):
        """Nothing but a loss is sent again, and gateways are known."""
        for e in self.world.intent.endpoints:
            with netlab.inside(e.interface):
                with open("/proc/sys/net/ipv4/tcp_early_retrans", "w",
                          encoding="ascii") as stream:
                    stream.write("0")
            for v6 in (False, True):
                self.world.gateway_mac(e, v6)
            routes = run("ip", "-n", e.interface, "route").splitlines()
            for route in routes:
                run("ip", "-n", e.interface, "route", "change",
                    *route.replace("linkdown", "").split(), "rto_min", "5s")

    def _send(self, d):
        to = (d.other.mac if d.one.tenant == d.other.tenant
              else self.world.gateways[d.one.interface, d.v6])
        with contextlib.suppress(OSError):      # Its device may be away.
            self.world.taps[d.one.interface].send(d.frame(to))

    def _run(self):
        forbidden = itertools.cycle(self.datagrams)
        due = time.monotonic()
        while self.running:
            with self.lock:
                for d in self.datagrams:
                    if d.want != NEVER and d.kind == "udp":
                        self._send(d)
                for d in itertools.islice(forbidden, FORBIDDEN_A_TICK):
                    if d.want == NEVER:
                        self._send(d)
                for connection in self.connections:
                    connection.step()
            due = max(due + TICK, time.monotonic())
            self._hear(due)

    def _hear(self, until):
        """Takes what arrives until then."""
        taps = {tap.socket: (where, tap)
                for where, tap in self.world.taps.items()}
        while True:
            left = until - time.monotonic()
            ready = select.select(list(taps), [], [], max(0, left))[0]
            for sock in ready:
                where, tap = taps[sock]
                tap.drain()
                for frame in tap.frames:
                    for token in TOKEN.findall(frame):
                        self._take(where, *NUMBER.unpack(token))
                tap.frames.clear()
            if left <= 0:
                return

    def _take(self, where, number, n):
        d = self.datagrams[number]
        if d.wants[n] == NEVER or where != d.other.interface:
            if d.one is self.intruder:
                self.intruded += 1
            else:
                self.leaks.append(f"{d.name} at {where}")
        d.got[n] = 1
        now = time.monotonic()
        self.gap = max(self.gap, now - self.last)
        self.last = now

    def expect(self, before, after, concerned):
        """From now on: what both policies allow must arrive and what neither
        does never; of what only one allows, or is 'concerned', nobody knows
        what becomes of it."""
        with self.lock:
            for what in self.datagrams + self.connections:
                may = [is_allowed(policy, what.kind, what.port, what.one,
                                  what.other) for policy in (before, after)]
                what.want = (NEVER if not any(may)
                             else MUST if all(may) and not concerned(what)
                             else EITHER)

    def reopen(self):
        """Opens connections that must be there, closes those that must not
        be.  Returns the names of those that cannot be opened."""
        failed = []
        for connection in self.connections:
            if connection.want == NEVER:
                with self.lock:
                    connection.close()
            elif not connection.link:
                try:
                    link = connection.open()
                except OSError:
                    failed.append(connection.name)
                    continue
                with self.lock:
                    connection.link = link
                    connection.sent = connection.arrived = 0
        return failed

    def passes(self, connection):
        """Does a byte get through, either way, within a moment?"""
        with self.lock:
            before, link = connection.arrived, connection.link
            with contextlib.suppress(OSError, AttributeError):
                link.server.send(b"!")
        time.sleep(0.3)
        with self.lock:
            with contextlib.suppress(OSError, AttributeError):
                return bool(link.client.recv(1 << 16)
                            or connection.arrived > before)
            return connection.arrived > before

    def forget(self):
        """Closes connections of which nobody knows what became of them."""
        with self.lock:
            for connection in self.connections:
                if connection.want != MUST:
                    connection.close()

    def judge(self):
        """What was lost since the last call: [(name, how many, of)].  Waits
        until what is under way has arrived."""
        with self.lock:
            ends = [len(d.wants) for d in self.datagrams]
        time.sleep(0.2)
        lost = []
        with self.lock:
            for connection in self.connections:
                link, connection_lost = connection.link, 0
                if link and connection.want == MUST:
                    connection.step()
                    end = time.monotonic() + 1
                    while (connection.sent != connection.arrived
                           and time.monotonic() < end):
                        with contextlib.suppress(OSError):
                            connection.arrived += len(
                                link.server.recv(1 << 16))
                    connection_lost = connection.lost()
                if connection_lost:
                    lost.append((connection.name, connection_lost, "?"))
                    connection.close()
            for d, end in zip(self.datagrams, ends):
                n = sum(want == MUST and not got for want, got in
                        zip(d.wants[:end], d.got[:end]))
                if n:
                    lost.append((d.name, n, end))
                # Numbers go on: what comes late is still known.
                d.wants[:end] = bytes([want if want == NEVER else EITHER
                                       for want in d.wants[:end]])
        return lost

    def sent(self):
        return (sum(len(d.wants) for d in self.datagrams),
                sum(sum(want == NEVER for want in d.wants)
                    for d in self.datagrams))

    def start(self):
        self.thread.start()

    def stop(self):
        self.running = False
        self.thread.join()
        for connection in self.connections:
            connection.close()
        for sink in self.sinks:
            sink.close()
