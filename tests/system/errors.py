# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""ICMP errors: they reach the opener of a connection as long as policy allows
the connection, and nobody else."""

import frames
from trial import families


class Opened:
    """A connection that one packet has opened, and errors about it."""

    def __init__(self, trial, kind, opener, other, v6, routed):
        self.trial, self.v6 = trial, v6
        self.opener, self.other = trial.find(opener), trial.find(other)
        self.name, port = kind.split()
        self.routed = routed
        self.ports = next(trial.ports), int(port)

    def packet(self, ports, token):
        src, dst = self.opener.address(self.v6), self.other.address(self.v6)
        make, protocol = {"tcp": (frames.tcp, frames.TCP),
                          "udp": (frames.udp, frames.UDP)}[self.name]
        return frames.ip(src, dst, protocol, make(src, dst, *ports,
                                                  data=token))

    def frame(self, sender, receiver, packet):
        gateway = self.trial.world.gateway_mac(sender, self.v6)
        return frames.ether(gateway if self.routed else receiver.mac,
                            sender.mac,
                            frames.IPV6 if self.v6 else frames.IPV4, packet)

    def open(self):
        token = self.trial.token()
        self.trial.tap(self.opener).send(
            self.frame(self.opener, self.other,
                       self.packet(self.ports, token)))
        return self.trial.tap(self.other).await_frame(lambda f: token in f)

    def error(self, kind, token, ports=None):
        """The other side's complaint about the packet with 'ports'."""
        src, dst = self.other.address(self.v6), self.opener.address(self.v6)
        packet = self.packet(ports or self.ports, token)
        return self.frame(self.other, self.opener, frames.ip(
            src, dst, *frames.icmp_error(src, dst, kind, packet)))

    def arrives(self, kind):
        token = self.trial.token()
        self.trial.tap(self.other).send(self.error(kind, token))
        return self.trial.tap(self.opener).await_frame(lambda f: token in f)

    def forbid(self, kind, what, ports=None):
        self.trial.forbid(self.other, f"{kind} of {what}",
                          lambda token: self.error(kind, token, ports))


def errors(trial, rows):
    """Rows of (kind, opener, other, routed): connections that are allowed."""
    for kind, opener, other, routed in rows:
        for v6, family in families():
            title = f"{kind} {opener} -> {other} {family}"
            opened = Opened(trial, kind, opener, other, v6, routed)
            trial.check(opened.open(), f"{title} is opened")
            sport, dport = opened.ports
            for error in frames.ERRORS:
                trial.check(opened.arrives(error),
                            f"{error} of {title} reaches {opener}")
                opened.forbid(error, f"no connection like {title}",
                              (next(trial.ports), dport))
                opened.forbid(error, f"{title} with another port",
                              (sport, dport ^ 1))
