# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Endpoints as network namespaces on a private bridge: real kernel stacks.

A namespace an endpoint, named as its interface; the uplink leads to one more.
Everything is seen from this one process: a socket stays in the namespace that
it was made in, so no helper has to run inside.
"""

import array
import contextlib
import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import time

import frames
from switch import SwitchError, received, run

CLONE_NEWNET = 0x40000000
SOL_PACKET, PACKET_STATISTICS = 263, 6
SIOCETHTOOL, ETHTOOL_STXCSUM = 0x8946, 0x17
ETH_P_ALL, SO_RCVBUFFORCE, PACKET_OUTGOING = 3, 33, 4
libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def inside(namespace):
    """Within the block new sockets belong to 'namespace' (None: ours)."""
    if namespace is None:
        yield
        return
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        _setns(there)
        yield
    finally:
        _setns(home)
        os.close(there)
        os.close(home)


def _setns(descriptor):
    if libc.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def checksum_by_kernel(device):
    """What 'ethtool -K DEVICE tx off' does: veth otherwise leaves checksums
    to a NIC that is not there, and conntrack rightly calls them invalid."""
    value = array.array("I", [ETHTOOL_STXCSUM, 0])
    request = struct.pack("16sP", device.encode(), value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCETHTOOL, request.ljust(40, b"\0"))


def quiet_ipv6():
    """No address of its own, no DAD, no router solicitations: what is on the
    wire is what a test put there."""
    for where in ("all", "default"):
        for name, value in (("disable_ipv6", 0), ("accept_dad", 0),
                            ("accept_ra", 0), ("router_solicitations", 0),
                            ("addr_gen_mode", 1)):
            path = f"/proc/sys/net/ipv6/conf/{where}/{name}"
            with open(path, "w", encoding="ascii") as stream:
                stream.write(str(value))


class Tap:
    """Sends and captures raw frames on a device of a namespace."""

    def __init__(self, namespace, device):
        with inside(namespace):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                        socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 25)
        with inside(namespace):
            self.socket.bind((device, ETH_P_ALL))
        self.socket.setblocking(False)
        self.frames = []
        self.sent = 0

    def send(self, frame):
        self.socket.send(frame)
        self.sent += 1

    def lost(self):
        """The frames that came and that nobody took in time, since the last
        call."""
        return struct.unpack("II", self.socket.getsockopt(
            SOL_PACKET, PACKET_STATISTICS, 8))[1]

    def drain(self):
        """Takes in what has arrived; what this device sent is left out."""
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, address = self.socket.recvfrom(1 << 16)
                if address[2] != PACKET_OUTGOING:
                    self.frames.append(frame)

    def await_frame(self, wanted, seconds=2.0):
        """The first captured frame, from now on or not yet drained, for
        which wanted(frame) is true; else None."""
        start, end = len(self.frames), time.monotonic() + seconds
        while True:
            self.drain()
            for frame in self.frames[start:]:
                if wanted(frame):
                    return frame
            start = len(self.frames)
            left = end - time.monotonic()
            if left <= 0:
                return None
            select.select([self.socket], [], [], left)

    def close(self):
        self.socket.close()


class World:
    """The endpoints of an intent, wired to a bridge that passes nothing."""

    def __init__(self, intent, bridge):
        self.intent, self.bridge = intent, bridge
        self.taps = {}
        self.gateways = {}
        self.missing = 0        # What was sent to a bridge before this one.

    def build(self):
        for endpoint in self.intent.endpoints:
            self._namespace(endpoint.interface, endpoint)
        for uplink in self.intent.uplinks:
            self._namespace(uplink, None)
        self.make_bridge()

    def _namespace(self, name, endpoint):
        run("ip", "netns", "add", name)
        with inside(name):
            quiet_ipv6()    # first: eth0 takes over the defaults
        run("ip", "link", "add", name, "type", "veth",
            "peer", "name", "eth0", "netns", name)
        with inside(name):
            checksum_by_kernel("eth0")
        checksum_by_kernel(name)
        run("ip", "link", "set", name, "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        if endpoint:
            run("ip", "-n", name, "link", "set", "eth0", "address",
                endpoint.mac)
        run("ip", "-n", name, "link", "set", "eth0", "up")
        if endpoint:
            self._addresses(name, endpoint)
        self.taps[name] = Tap(name, "eth0")

    @staticmethod
    def _addresses(name, endpoint):
        for address, prefix, gateway in (
                (endpoint.v4, endpoint.prefix4, endpoint.gateway4),
                (endpoint.v6, endpoint.prefix6, endpoint.gateway6)):
            run("ip", "-n", name, "address", "add", f"{address}/{prefix}",
                "dev", "eth0")
            run("ip", "-n", name, "route", "add", "default", "via", gateway)

    def make_bridge(self):
        """A bridge without flows, in place of one that may be there."""
        if self.bridge in self.taps:
            self.taps.pop(self.bridge).close()
        # Two transactions: in one, the bridge keeps its flows and meters.
        run("ovs-vsctl", "--timeout=20", "--if-exists", "del-br", self.bridge)
        command = ["ovs-vsctl", "--timeout=20", "add-br", self.bridge, "--",
                   "set", "bridge", self.bridge, "datapath_type=netdev",
                   "fail-mode=secure"]
        for name in self.intent.interfaces():
            command += ["--", "add-port", self.bridge, name]
        run(*command)
        run("ip", "link", "set", self.bridge, "up")
        self.taps[self.bridge] = Tap(None, self.bridge)
        # A new datapath counts from zero, one that was there goes on.
        self.missing = self.sent() - received()

    def sent(self):
        return sum(tap.sent for tap in self.taps.values())

    def unheard(self):
        """At least how many frames were lost on their way into the switch,
        or, a second number, into a capture."""
        return (max(0, self.sent() - self.missing - received()),
                sum(tap.lost() for tap in self.taps.values()))

    def resolve(self, endpoint, target, seconds=2.0):
        """The MAC that the endpoint is told for 'target', or None."""
        tap = self.taps[endpoint.interface]
        v6 = frames.is_v6(target)
        own = endpoint.address(v6)
        if v6:
            tap.send(frames.solicitation(endpoint.mac, own, target))
        else:
            tap.send(frames.arp_request(endpoint.mac, own, target))

        def is_answer(frame):
            packet = frames.parse(frame)
            return (packet.ip_claim == target and packet.valid
                    and (packet.icmp_type == 136 if v6
                         else packet.arp_op == 2))

        answer = tap.await_frame(is_answer, seconds)
        return frames.parse(answer).mac_claim if answer else None

    def gateway_mac(self, endpoint, v6=False):
        key = endpoint.interface, v6
        if key not in self.gateways:
            mac = self.resolve(endpoint, endpoint.gateway(v6))
            if mac is None:
                raise SwitchError(f"{endpoint.full_name}: the gateway "
                                  f"{endpoint.gateway(v6)} does not answer")
            self.gateways[key] = mac
        return self.gateways[key]

    def drain(self):
        for tap in self.taps.values():
            tap.drain()

    def close(self):
        for tap in self.taps.values():
            tap.close()
        run("ovs-vsctl", "--timeout=20", "del-br", self.bridge)
        for name in self.intent.interfaces():
            run("ip", "netns", "delete", name)


def status(command, environment):
    """(exit status, what it said) of a tool that may fail."""
    done = subprocess.run(command, env=environment, capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, (done.stderr or done.stdout).strip()


def _socket(endpoint, v6, kind, protocol=0):
    with inside(endpoint.interface):
        return socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, kind,
                             protocol)


def ping(sender, receiver, v6, seconds=1.0, data=b"bulkhead"):
    """Whether the receiver's kernel answers an echo request."""
    protocol = socket.IPPROTO_ICMPV6 if v6 else socket.IPPROTO_ICMP
    ident = int.from_bytes(os.urandom(2), "big")
    src, dst = sender.address(v6), receiver.address(v6)
    _, request = frames.echo(src, dst, ident=ident, data=data)
    with _socket(sender, v6, socket.SOCK_RAW, protocol) as sock:
        sock.sendto(request, (dst, 0))
        end = time.monotonic() + seconds
        while select.select([sock], [], [], max(0, end - time.monotonic()))[0]:
            answer, peer = sock.recvfrom(1 << 16)
            message = answer if v6 else answer[(answer[0] & 15) * 4:]
            if (message[0] == (129 if v6 else 0) and peer[0] == dst
                    and message[4:6] == struct.pack("!H", ident)):
                return True
    return False


def large_ping(sender, receiver, v6, seconds=1.0):
    """As ping(), with a request that needs several packets."""
    return ping(sender, receiver, v6, seconds, bytes(4000))


def refused(sender, receiver, v6, port, seconds=1.0):
    """Whether the sender of a datagram learns that nobody listens."""
    with _socket(sender, v6, socket.SOCK_DGRAM) as client:
        client.settimeout(seconds)
        try:
            client.connect((receiver.address(v6), port))
            client.send(b"is anybody there?")
            client.recv(100)
        except ConnectionRefusedError:
            return True
        except TimeoutError:
            pass
    return False


def connect(sender, receiver, v6, port, seconds):
    """(client's, server's socket) of a new connection, or an OSError."""
    with _socket(receiver, v6, socket.SOCK_STREAM) as server, \
            contextlib.ExitStack() as undo:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((receiver.address(v6), port))
        server.listen()
        client = undo.enter_context(_socket(sender, v6, socket.SOCK_STREAM))
        for one in (server, client):
            one.settimeout(seconds)
        client.connect((receiver.address(v6), port))
        peer, _ = server.accept()
        peer.settimeout(seconds)
        undo.pop_all()
        return client, peer


def tcp(sender, receiver, v6, port, seconds=1.0):
    """What the receiver's server answers over a connection: the name of the
    endpoint it runs at, or None if there is no connection."""
    try:
        client, peer = connect(sender, receiver, v6, port, seconds)
        with client, peer:
            client.sendall(b"who are you?")
            if peer.recv(100) != b"who are you?":
                return None
            peer.sendall(receiver.full_name.encode())
            return client.recv(100).decode()
    except (TimeoutError, ConnectionError):
        return None


def bulk(sender, receiver, v6, port, seconds=5.0, size=1 << 20):
    """As tcp(), after 'size' bytes from the sender: more than any burst, so
    the meters must have refilled meanwhile."""
    try:
        client, peer = connect(sender, receiver, v6, port, seconds)
        with client, peer:
            client.setblocking(False)
            whole = _pump(client, peer, size, seconds) == size
            return receiver.full_name if whole else None
    except (TimeoutError, ConnectionError):
        return None


def _pump(client, peer, size, seconds):
    """Writes and reads in turn; how many bytes arrived."""
    sent = got = 0
    end = time.monotonic() + seconds
    while got < size and time.monotonic() < end:
        readable, writable, _ = select.select(
            [peer], [client] if sent < size else [], [], 0.1)
        if writable:
            sent += client.send(bytes(min(size - sent, 1 << 16)))
        if readable:
            got += len(peer.recv(1 << 16))
    return got


class Link:
    """An open IPv4 connection, to see whether it stays open."""

    def __init__(self, sender, receiver, port):
        self.client, self.server = connect(sender, receiver, False, port, 2)

    def alive(self, seconds):
        """Whether a byte gets through, both ways if in any."""
        arrived = []
        for one, other in ((self.client, self.server),
                           (self.server, self.client)):
            one.send(b"!")
            arrived.append(bool(select.select([other], [], [], seconds)[0]
                                and other.recv(9)))
        if arrived[0] != arrived[1]:
            raise SwitchError("a connection is cut one way only")
        return arrived[0]

    def close(self):
        self.client.close()
        self.server.close()


def udp(sender, receiver, v6, port, seconds=1.0, question=b"who are you?",
        source=0):
    """As tcp(), with one datagram each way, from port 'source' if not 0."""
    with _socket(receiver, v6, socket.SOCK_DGRAM) as server, \
            _socket(sender, v6, socket.SOCK_DGRAM) as client:
        server.bind((receiver.address(v6), port))
        server.settimeout(seconds)
        client.settimeout(seconds)
        client.bind((sender.address(v6), source))
        try:
            client.sendto(question, (receiver.address(v6), port))
            request, peer = server.recvfrom(1 << 16)
            if request != question:
                return None
            server.sendto(receiver.full_name.encode(), peer)
            return client.recv(100).decode()
        except (TimeoutError, ConnectionError):
            return None


def fragments(sender, receiver, v6, port, seconds=1.0):
    """As udp(), with a datagram that needs several packets."""
    return udp(sender, receiver, v6, port, seconds, bytes(4000))


def served(sender, receiver, v6, source, seconds=1.0):
    """As fragments(), from port 'source', as a server sends."""
    return udp(sender, receiver, v6, 7002, seconds, bytes(4000), source)
