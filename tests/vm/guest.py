# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Endpoints for packets of predictions.py, on devices of this machine."""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "system"))
# pylint: disable=wrong-import-position
from netlab import Tap                                          # noqa: E402
from switch import run                                          # noqa: E402


def load(path):
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)


def silence():
    """No stack of this machine says anything by itself."""
    for where in "all", "default":
        path = f"/proc/sys/net/ipv6/conf/{where}/disable_ipv6"
        with open(path, "w", encoding="ascii") as stream:
            stream.write("1")


class Devices:
    """A veth pair a port: its name is the port's, the other end is the
    endpoint's, whose frames are sent and captured there."""

    def __init__(self, ports):
        silence()
        self.taps = {}
        commands = []
        for number, port in enumerate(ports):
            commands += [f"link add {port} type veth peer name end{number}",
                         f"link set {port} up", f"link set end{number} up"]
        subprocess.run(["ip", "-batch", "-"], input="\n".join(commands),
                       text=True, check=True)
        for number, port in enumerate(ports):
            self.taps[port] = Tap(None, f"end{number}")

    def send(self, packet):
        self.taps[packet["port"]].send(bytes.fromhex(packet["frame"]))

    def arrived(self, packet, seconds):
        """Has it come to where it must?"""
        token = packet["token"].encode()
        return self.taps[packet["to"]].await_frame(
            lambda frame: token in frame, seconds) is not None

    def seen(self):
        """{token: [(port, frame in hexadecimal), ...]} of all so far."""
        found = {}
        for port, tap in self.taps.items():
            tap.drain()
            for frame in tap.frames:
                at = frame.find(b"bulkhead")
                if at >= 0:
                    token = frame[at:at + 14].decode(errors="replace")
                    found.setdefault(token, []).append((port, frame.hex()))
        return found

    def remove(self):
        for port, tap in self.taps.items():
            tap.close()
            run("ip", "link", "del", port)


class Score:
    """What was held against what, and what was wrong."""

    def __init__(self):
        self.counts = {}
        self.wrong = []

    def count(self, kind, n=1):
        self.counts[kind] = self.counts.get(kind, 0) + n

    def check(self, good, what):
        if not good:
            self.wrong.append(what)

    def settle(self, title, least):
        """Prints what there is to say; returns whether all is well: nothing
        wrong, and of each kind in 'least' at least one."""
        for kind in least:
            self.check(self.counts.get(kind), f"no {kind} was there to test")
        print(f"{title}: " + ", ".join(f"{n} {kind}" for kind, n
                                       in sorted(self.counts.items())),
              flush=True)
        for what in self.wrong[:20]:
            print(f"  {what}")
        print(f"{'not ok' if self.wrong else 'ok'} - {title}", flush=True)
        return not self.wrong


def settled(seconds=0.3):
    """Whoever has not come by now is lost."""
    time.sleep(seconds)
