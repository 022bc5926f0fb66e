# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Frames that must arrive nowhere: across tenants, and under false names.

Each function sends through Trial.forbid(), which gives every frame a token
that no capture may ever hold.
"""

import itertools

import frames
from trial import families

NOBODY = "02:de:ad:00:00:00"

# Whom a network of the examples names.
DHCP_SERVERS = {"storage/meta0"}


def cross_tenant(trial):
    """Every ordered pair of endpoints of different tenants, every way."""
    kinds = ("tcp 443", "tcp 22", "udp 9000", "ping", "rocev2")
    for one, other in itertools.permutations(trial.world.intent.endpoints, 2):
        if one.tenant == other.tenant:
            continue
        for kind, (v6, family) in itertools.product(kinds, families()):
            gateway = trial.world.gateway_mac(one, v6)
            for to, way in ((other.mac, "direct"), (gateway, "gateway"),
                            (frames.BROADCAST, "broadcast")):
                trial.forbid(
                    one, f"{kind} {family} {way} to {other.full_name}",
                    lambda token, a=(kind, one, other, v6), to=to:
                    trial.packet(*a, token, to))
        trial.forbid(one, f"ARP for {other.full_name}",
                     lambda token, o=one, t=other: frames.arp_request(
                         o.mac, o.v4, t.v4, token))
        oddities(trial, one, other)


def oddities(trial, one, other):
    """Frames that a match on plain IP packets does not see."""
    for what, make in frames.ODD.items():
        trial.forbid(one, f"{what} to {other.full_name}",
                     lambda token, make=make: make(one, other, token))


def spoofing(trial, sender, mate, victim):
    """What 'sender' may not claim to be, toward 'mate' of its own tenant,
    'victim' of another and all."""
    for v6, family in families():
        gateway = trial.world.gateway_mac(sender, v6)
        for kind, target in itertools.product(
                ("ping", "udp 9000", "rocev2"), (mate, victim)):
            for claim, lie in (
                    ("mate's MAC", {"mac": mate.mac}),
                    ("victim's MAC", {"mac": victim.mac}),
                    ("gateway's MAC", {"mac": gateway}),
                    ("nobody's MAC", {"mac": NOBODY}),
                    ("mate's address", {"ip": mate.address(v6)}),
                    ("victim's address", {"ip": victim.address(v6)}),
                    ("gateway's address", {"ip": sender.gateway(v6)}),
                    ("whole victim", {"mac": victim.mac,
                                      "ip": victim.address(v6)})):
                if lie.get("ip") == sender.address(v6):
                    continue    # overlapping tenants: no lie
                trial.forbid(
                    sender, f"{kind} {family} with {claim}",
                    lambda token, a=(kind, sender, target, v6), k=lie:
                    trial.packet(*a, token, **k))
        forged_servers(trial, sender, mate, v6, family)
    arp_lies(trial, sender, mate, victim)
    nd_lies(trial, sender, mate, victim)


def forged_servers(trial, sender, mate, v6, family):
    """Under its own name: but no tenant is a router, and few are a DHCP
    server."""
    src, dst = sender.address(v6), mate.address(v6)
    ethertype = frames.IPV6 if v6 else frames.IPV4
    kinds = [("redirect", lambda token: frames.redirect(
        src, dst, sender.gateway(v6), token)),
             ("DHCP offer, any port", lambda token: (frames.UDP, frames.udp(
                 src, dst, 1000, 546 if v6 else 68, token)))]
    if sender.full_name not in DHCP_SERVERS:
        kinds.append(("DHCP offer", lambda token: (frames.UDP, frames.udp(
            src, dst, *((547, 546) if v6 else (67, 68)), token))))
    for what, make in kinds:
        trial.forbid(sender, f"{what} {family}",
                     lambda token, make=make: frames.ether(
                         mate.mac, sender.mac, ethertype,
                         frames.ip(src, dst, *make(token), ttl=255)))


def arp_lies(trial, sender, mate, victim):
    for whose, ip in (("mate", mate.v4), ("gateway", sender.gateway4),
                      ("victim", victim.v4)):
        if ip == sender.v4:
            continue
        for op, to in ((1, frames.BROADCAST), (2, frames.BROADCAST),
                       (2, mate.mac), (2, victim.mac)):
            trial.forbid(
                sender, f"ARP op {op} that claims {whose}'s address",
                lambda token, a=(op, sender.mac, ip, to, ip), to=to:
                frames.ether(to, sender.mac, frames.ARP,
                             frames.arp(*a, token)))
    trial.forbid(sender, "ARP with the mate's hardware address",
                 lambda token: frames.ether(
                     frames.BROADCAST, sender.mac, frames.ARP, frames.arp(
                         1, mate.mac, sender.v4, NOBODY, mate.v4, token)))


def nd_lies(trial, sender, mate, victim):
    for whose, ip in (("mate", mate.v6), ("gateway", sender.gateway6),
                      ("victim", victim.v6)):
        if ip == sender.v6:
            continue
        for target, src in itertools.product((mate, victim),
                                             (ip, sender.v6)):
            trial.forbid(sender, f"NA that claims {whose}'s address",
                         lambda token, t=target, s=src, i=ip:
                         frames.advertisement(t.mac, t.v6, sender.mac, s, i,
                                              token=token))
        trial.forbid(sender, f"NS from {whose}'s address",
                     lambda token, i=ip: frames.solicitation(
                         sender.mac, i, mate.v6, token=token))
    trial.forbid(sender, "NS with the mate's link-layer address",
                 lambda token: frames.solicitation(
                     sender.mac, sender.v6, mate.v6, mate.mac, token))
    for src in ("fe80::1", sender.v6, sender.gateway6):
        trial.forbid(sender, f"router advertisement from {src}",
                     lambda token, s=src: frames.router_advertisement(
                         sender.mac, s, token))


def foreign(trial):
    """To the other tenant's MACs, which nothing may cross to."""
    for one, other in itertools.permutations(trial.world.intent.endpoints, 2):
        if one.tenant == other.tenant:
            continue
        for kind, (v6, family) in itertools.product(
                ("tcp 443", "udp 9000", "ping", "rocev2"), families()):
            trial.forbid(one, f"{kind} {family} to {other.full_name}'s MAC",
                         lambda token, a=(kind, one, other, v6):
                         trial.packet(*a, token))
