# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""One intent on one switch under test: what was sent, seen and found."""

import itertools
import os
import re
import sys

import frames
import netlab
from switch import SwitchError

BULKHEAD = os.environ["BULKHEAD"]
BRIDGE = "br-int"
TOKEN_MARK = b"\xb1\x7d"
TOKEN = re.compile(TOKEN_MARK + b"....", re.DOTALL)


class Score:
    """ok and not ok lines, and how many."""

    def __init__(self):
        self.good = self.bad = 0

    def check(self, holds, name, detail=""):
        if holds:
            self.good += 1
            print(f"ok - {name}")
        else:
            self.bad += 1
            print(f"not ok - {name}" + (f"  # {detail}" if detail else ""))
        sys.stdout.flush()


class Trial:
    """A world, the score, and the tokens that must never be seen."""

    def __init__(self, score, world, title):
        self.score, self.world, self.title = score, world, title
        self.forbidden = {}     # token: (what it was, its sender)
        self.ports = itertools.count(20000)

    def check(self, holds, name, detail=""):
        self.score.check(holds, f"{self.title}: {name}", detail)

    def find(self, name):
        return self.world.intent.find(name)[0]

    def tap(self, endpoint):
        return self.world.taps[endpoint.interface]

    def bulkhead(self, command, *arguments, rundir=None):
        """Runs bulkhead on this world's intent; (exit status, its words)."""
        environment = dict(os.environ)
        if rundir:
            environment["OVS_RUNDIR"] = rundir
        intent = self.world.intent
        return netlab.status(
            [BULKHEAD, command, intent.path, "--node", intent.node,
             *arguments], environment)

    def apply(self):
        code, words = self.bulkhead("apply", "--bridge", BRIDGE, "-t", "10")
        self.check(code == 0, "bulkhead apply", f"exit {code}: {words}")
        if code:
            raise SwitchError("no policy on the switch")

    @staticmethod
    def token():
        """Six bytes, the most that an ND option holds; all start alike, so
        that a capture is searched for all tokens at once."""
        return TOKEN_MARK + os.urandom(4)

    def forbid(self, sender, what, make):
        """Sends make(token), which must arrive nowhere."""
        token = self.token()
        self.forbidden[token] = (what, sender.full_name)
        self.tap(sender).send(make(token))

    def segment(self, kind, src, dst, token):
        """(protocol, bytes) of a packet that starts something."""
        port = next(self.ports)
        name, _, number = kind.partition(" ")
        if name == "tcp":
            return frames.TCP, frames.tcp(src, dst, port, int(number),
                                          data=token)
        if name == "udp":
            return frames.UDP, frames.udp(src, dst, port, int(number), token)
        if name == "rocev2":
            return frames.UDP, frames.udp(src, dst, port, frames.ROCEV2_PORT,
                                          token)
        return frames.echo(src, dst, ident=port, data=token)

    def packet(self, kind, sender, receiver, v6, token, to=None, **lies):
        """A frame from sender to receiver; 'to' and 'lies' (mac, ip) replace
        the honest addresses."""
        src = lies.get("ip", sender.address(v6))
        dst = receiver.address(v6)
        protocol, body = self.segment(kind, src, dst, token)
        return frames.ether(to or receiver.mac, lies.get("mac", sender.mac),
                            frames.IPV6 if v6 else frames.IPV4,
                            frames.ip(src, dst, protocol, body))

    def deliver(self, kind, sender, receiver, v6=False, routed=False):
        """Sends an allowed packet; what arrived of it, or None."""
        token = self.token()
        to = self.world.gateway_mac(sender, v6) if routed else None
        self.tap(sender).send(
            self.packet(kind, sender, receiver, v6, token, to))
        frame = self.tap(receiver).await_frame(lambda f: token in f)
        return frames.parse(frame) if frame else None

    def settle(self, sentinels):
        """An allowed packet of each sender arrives, and then a second: the
        switch and the captures have had all that was sent before."""
        for _ in range(2):
            for sender, receiver, kind in sentinels:
                one, other = self.find(sender), self.find(receiver)
                if kind == "arp":
                    arrived = self.world.resolve(one, one.gateway4)
                else:
                    arrived = self.deliver(kind, one, other)
                if not arrived:
                    raise SwitchError(f"sentinel {kind} {sender} -> "
                                      f"{receiver} did not arrive")

    def no_leak(self, name):
        """No forbidden token anywhere; what was sent was sent."""
        self.world.drain()
        leaks = []
        for where, tap in self.world.taps.items():
            for frame in tap.frames:
                leaks += ["{} of {} at {}".format(*self.forbidden[token],
                                                  where)
                          for token in TOKEN.findall(frame)
                          if token in self.forbidden]
        unsent, uncaptured = self.world.unheard()
        self.check(not unsent and not uncaptured,
                   f"{name}: the switch and the captures had all of it",
                   f"{unsent} frames never reached the switch, {uncaptured} "
                   "no capture")
        self.check(self.forbidden and not leaks,
                   f"{name} ({len(self.forbidden)} frames)",
                   f"{len(leaks)} leaks: " + "; ".join(leaks[:5]))

    def no_strangers(self, peers=()):
        """No frame at an endpoint bears the MAC of another tenant's."""
        owner = {e.mac: e.tenant for e in self.world.intent.endpoints}
        self.world.drain()
        strangers = {
            (owner[mac], e.full_name)
            for e in self.world.intent.endpoints
            for frame in self.tap(e).frames
            if (mac := frames.mac_text(frame[6:12])) in owner
            and owner[mac] != e.tenant and (owner[mac], e.tenant) not in peers}
        self.check(not strangers, "no frame bears another tenant's MAC",
                   str(strangers))


def families():
    return ((False, "IPv4"), (True, "IPv6"))
