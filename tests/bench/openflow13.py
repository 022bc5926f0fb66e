# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""As much OpenFlow 1.3 as it takes to load many meters and to read counters.

Meters are written as ovs-ofctl's text.  ovs-ofctl encodes the first one; the
others are copies of its message with another meter id, so nothing here knows
what a band looks like on the wire, but for the tag of a microburst band.
"""

import re
import select
import socket
import struct
import subprocess
import threading

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY = 0, 1, 2, 3
MULTIPART_REQUEST, MULTIPART_REPLY = 18, 19
BARRIER_REQUEST, BARRIER_REPLY = 20, 21
METER_MOD = 29
PORT_STATS, METER_STATS = 4, 9
PORT_ANY = 0xffffffff
PORT_STATS_BYTES = 112
MORE = 1
# In a METER_MOD: where its first band begins, and where the tag of that is.
BAND, TAG = 16, 64
BAND_EXPERIMENTER = 0xffff
HEADER = struct.Struct("!BBHI")

# How an Open vSwitch without the band refuses it: ovs-ofctl by its name or a
# member, the switch by its length or its type.
REFUSALS = re.compile(r"unknown value|unknown keyword|BAD_BAND|BAD_LEN")


class OpenflowError(Exception):
    pass


class NotSupported(OpenflowError):
    """This Open vSwitch does not have the band."""


def messages(buffer):
    """Splits complete messages off a stream: (them, what is left)."""
    found = []
    while len(buffer) >= HEADER.size:
        length = HEADER.unpack_from(buffer)[2]
        if len(buffer) < length:
            break
        found.append(buffer[:length])
        buffer = buffer[length:]
    return found, buffer


class Connection:
    """A controller on the management socket of a bridge."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.buffer = b""
        self.waiting = []
        self.xid = 0
        self.send(HELLO)
        kind = self.receive()[0]
        if kind != HELLO:
            raise OpenflowError(f"{path}: greeted with a message {kind}")

    def send(self, kind, body=b""):
        self.xid += 1
        self.socket.sendall(HEADER.pack(4, kind, HEADER.size + len(body),
                                        self.xid) + body)
        return self.xid

    def receive(self):
        """(type, xid, body) of the next message that is not an echo."""
        while True:
            while not self.waiting:
                data = self.socket.recv(1 << 16)
                if not data:
                    raise OpenflowError("the switch closed the connection")
                self.waiting, self.buffer = messages(self.buffer + data)
            message = self.waiting.pop(0)
            _, kind, _, xid = HEADER.unpack_from(message)
            body = message[HEADER.size:]
            if kind != ECHO_REQUEST:
                return kind, xid, body
            self.socket.sendall(HEADER.pack(4, ECHO_REPLY, len(message), xid)
                                + body)

    def barrier(self):
        """Waits until the switch has done all that was sent."""
        mine = self.send(BARRIER_REQUEST)
        while True:
            kind, xid, body = self.receive()
            if kind == ERROR:
                raise OpenflowError("the switch answered with error type %d, "
                                    "code %d" % struct.unpack_from("!HH",
                                                                   body))
            if kind == BARRIER_REPLY and xid == mine:
                return

    def multipart(self, kind, body):
        """The bodies of all parts of the reply, as one."""
        mine = self.send(MULTIPART_REQUEST,
                         struct.pack("!HH4x", kind, 0) + body)
        whole = b""
        while True:
            kind, xid, body = self.receive()
            if xid != mine:
                continue
            if kind != MULTIPART_REPLY:
                raise OpenflowError("the switch refused to show counters")
            whole += body[8:]
            if not struct.unpack_from("!H", body, 2)[0] & MORE:
                return whole

    def port_packets(self):
        """{port: (received, sent)}; the driver's counters at this moment."""
        stats = self.multipart(PORT_STATS, struct.pack("!I4x", PORT_ANY))
        found = {}
        for offset in range(0, len(stats), PORT_STATS_BYTES):
            port, received, sent = struct.unpack_from("!I4xQQ", stats, offset)
            found[port] = (received, sent)
        return found

    def metered(self, meter_id):
        """(packets, bytes) that came to a meter so far."""
        stats = self.multipart(METER_STATS, struct.pack("!I4x", meter_id))
        return struct.unpack_from("!16xQQ", stats)

    def copy_meter(self, template, ids):
        """Sends a METER_MOD again for each of 'ids', which is also the tag of
        a microburst band."""
        for start in range(0, len(ids), 500):
            batch = bytearray()
            for meter_id in ids[start:start + 500]:
                self.xid += 1
                copy = bytearray(template)
                struct.pack_into("!I", copy, 4, self.xid)
                struct.pack_into("!I", copy, 12, meter_id)
                if struct.unpack_from("!H", copy, BAND)[0] == (
                        BAND_EXPERIMENTER):
                    struct.pack_into("!I", copy, TAG, meter_id)
                batch += copy
            self.socket.sendall(batch)
            self.barrier()

    def close(self):
        self.socket.close()


class Relay:
    """Stands between ovs-ofctl and a switch and keeps what ovs-ofctl said."""

    def __init__(self, path, switch_path):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.path = f"unix:{path}"
        self.switch_path = switch_path
        self.said = b""
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            client = self.listener.accept()[0]
        except OSError:
            return
        with client, socket.socket(socket.AF_UNIX) as switch:
            switch.connect(self.switch_path)
            other = {client: switch, switch: client}
            while True:
                for source in select.select(list(other), [], [])[0]:
                    data = source.recv(1 << 16)
                    if not data:
                        return
                    if source is client:
                        self.said += data
                    other[source].sendall(data)

    def close(self):
        """All whole messages that ovs-ofctl sent."""
        # Wakes an accept() that nobody came to.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()
        return messages(self.said)[0]


def write_meter(ofctl, verb, text, rundir, mgmt):
    """Runs ovs-ofctl add-meter or mod-meter; returns its METER_MOD.

    Raises NotSupported if this Open vSwitch does not know such a band."""
    path = f"{rundir}/relay"
    relay = Relay(path, mgmt)
    try:
        done = subprocess.run(
            [*ofctl, "-O", "OpenFlow13", verb, relay.path, text],
            capture_output=True, text=True, timeout=60, check=False)
    finally:
        said = relay.close()
        subprocess.run(["rm", "-f", path], check=False)
    words = done.stderr.strip()
    if done.returncode or "OFPT_ERROR" in words:
        kind = NotSupported if REFUSALS.search(words) else OpenflowError
        raise kind(f"{verb} {text}: {words}")
    for message in said:
        if message[1] == METER_MOD:
            return message
    raise OpenflowError(f"{verb} {text}: ovs-ofctl sent no METER_MOD")
