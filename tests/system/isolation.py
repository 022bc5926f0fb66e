# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Proves with real packets that tenants are apart, and that what is allowed
passes.  Run by isolation-test.sh in namespaces of its own.

usage: isolation.py EXAMPLES-DIR OVERLAP-INTENT

Absence is proved so: each forbidden frame carries a token; after them an
allowed frame of the same sender is awaited at its receiver; at last no token
may be in any frame that any endpoint, the uplink or the host has captured,
the switch must have taken in all that was sent, and no capture lost a frame.
"""

import contextlib
import itertools
import json
import os
import sys
import tempfile

import frames
import intent as intents
import netlab
from errors import Opened, errors
from forgeries import cross_tenant, foreign, spoofing
from switch import (SwitchError, Unixctl, await_true, dump_flows, received,
                    run)
from trial import BRIDGE, Score, Trial, families


TALKS = {"tcp": netlab.tcp, "bulk": netlab.bulk, "udp": netlab.udp,
         "fragments": netlab.fragments, "served": netlab.served}
ANSWERS = {"ping": netlab.ping, "large-ping": netlab.large_ping,
           "refused": netlab.refused}


def stacks(trial, rows):
    """Rows of (kind, from, to, families, passes), through the kernels."""
    for kind, sender, receiver, which, passes in rows:
        one, other = trial.find(sender), trial.find(receiver)
        for v6, family in families():
            if family[3] not in which:
                continue
            protocol, _, port = kind.partition(" ")
            seconds = 2.0 if passes else 0.3
            if protocol in ANSWERS:
                arguments = [int(port)] if port else []
                got = ANSWERS[protocol](one, other, v6, *arguments, seconds)
                want = True
            else:
                got = TALKS[protocol](one, other, v6, int(port), seconds)
                want = other.full_name
            trial.check(got == want if passes else not got,
                        f"{kind} {sender} -> {receiver} {family} "
                        + ("passes" if passes else "is refused"),
                        f"got {got!r}")


def classes(trial, rows):
    """Rows of (kind, from, to, routed, DSCP) as seen at the receiver."""
    for kind, sender, receiver, routed, dscp in rows:
        one, other = trial.find(sender), trial.find(receiver)
        for v6, family in families():
            got = trial.deliver(kind, one, other, v6, routed)
            want = {"dscp": dscp, "ecn": 2, "ttl": 63 if routed else 64,
                    "dst": other.mac, "valid": True,
                    "src": trial.world.gateway_mac(other, v6) if routed
                    else one.mac}
            seen = {k: getattr(got, k) for k in want} if got else None
            trial.check(seen == want, f"{kind} {sender} -> {receiver} "
                        f"{family} arrives with DSCP {dscp}",
                        f"{seen} instead of {want}")


def closed(trial):
    """Before a policy is there nothing passes, not even what it will allow.
    There is no allowed packet to await, so the switch's count of what it
    took from its ports is."""
    before = received()
    endpoints = trial.world.intent.endpoints
    for one, other in itertools.permutations(endpoints, 2):
        for kind, (v6, family) in itertools.product(
                ("ping", "udp 9000", "rocev2", "tcp 443"), families()):
            trial.forbid(one, f"{kind} {family} before any policy",
                         lambda token, a=(kind, one, other, v6):
                         trial.packet(*a, token))
        trial.forbid(one, "ARP before any policy",
                     lambda token, o=one, t=other: frames.arp_request(
                         o.mac, o.v4, t.v4, token))
    await_true(lambda: received() >= before + len(trial.forbidden), 10,
               "the switch to take what was sent")
    answers = [e.full_name for e in endpoints
               if trial.world.resolve(e, e.gateway4, 0.05)]
    trial.check(not answers, "no ARP answer before apply", str(answers))
    trial.no_leak("nothing passes before apply")


def drift(trial):
    """status tells a switch that differs, and apply mends it."""
    def status(**where):
        return trial.bulkhead("status", "--bridge", BRIDGE, "-t", "3",
                              **where)

    code, words = status()
    trial.check(code == 0, "status after apply is 0", f"{code}: {words}")
    before = dump_flows(BRIDGE)
    (table, rest), (cookie, _) = sorted(before.items())[len(before) // 2]
    match = rest.split(" actions=")[0]
    run("ovs-ofctl", "-O", "OpenFlow14", "--strict", "del-flows", BRIDGE,
        f"cookie={cookie:#x}/-1,table={table},{match}".rstrip(","))
    trial.check(len(dump_flows(BRIDGE)) == len(before) - 1,
                "a flow was deleted by hand")
    code, words = status()
    trial.check(code == 4, "status is 4 when a flow is missing",
                f"{code}: {words}; flow: table {table} {match}")
    trial.apply()
    trial.check(set(dump_flows(BRIDGE)) == set(before),
                "a second apply restores every flow")
    code, words = status()
    trial.check(code == 0, "status is 0 again", f"{code}: {words}")
    with tempfile.TemporaryDirectory() as empty:
        code, words = status(rundir=empty)
    trial.check(code == 3, "status is 3 without a switch", f"{code}: {words}")


def revoke(trial):
    """A connection dies when the policy no longer allows it, and only it."""
    intent = trial.world.intent
    with open(intent.path, encoding="utf-8") as stream:
        changed = json.load(stream)
    changed["tenants"]["inference"]["rules"][0]["service"] = "ssh"
    changed["tenants"]["batch"]["rules"][0]["service"] = "https"
    links = {pair: netlab.Link(*map(trial.find, pair), port)
             for *pair, port in (("frontend0", "model0", 443),
                                 ("job0", "job1", 443),
                                 ("job1", "job0", 5000))
             for pair in [tuple(pair)]}
    trial.check(all(link.alive(2) for link in links.values()),
                "connections are open")
    opened = Opened(trial, "tcp 443", "job0", "job1", False, False)
    trial.check(opened.open() and opened.arrives("packet too big"),
                "an ICMP error reaches job0")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as stream:
        json.dump(changed, stream)
        stream.flush()
        path, intent.path = intent.path, stream.name
        trial.apply()
        intent.path = path
    # The datapath's cached flows follow the tables within milliseconds.
    Unixctl(os.environ["OVS_RUNDIR"])("revalidator/wait")
    for (one, other), link in links.items():
        kept = one == "job1"
        trial.check(link.alive(2 if kept else 0.3) == kept,
                    f"after a change {one} -> {other} "
                    + ("lives on" if kept else "is cut"))
        link.close()
    opened.forbid("packet too big", "a connection that was cut")
    trial.settle(CLUSTER_SENTINELS)
    trial.no_leak("no ICMP error of a connection that was cut arrives")
    trial.apply()


CLUSTER_STACKS = (
    ("ping", "gpu0", "gpu1", "46", True),
    ("ping", "model0", "frontend0", "46", True),
    ("ping", "job0", "job1", "46", True),
    ("tcp 443", "frontend0", "model0", "46", True),
    ("tcp 8100", "frontend0", "model0", "46", True),
    ("tcp 5000", "job0", "job1", "46", True),
    ("udp 7000", "job1", "job0", "46", True),
    ("fragments 7000", "job1", "job0", "46", True),
    ("served 66", "job1", "job0", "46", True),
    ("large-ping", "gpu0", "gpu1", "46", True),
    ("large-ping", "job0", "job1", "46", True),
    ("refused 7001", "job0", "job1", "46", True),
    ("bulk 443", "frontend0", "model0", "4", True),
    ("bulk 5000", "job0", "job1", "6", True),
    ("bulk 4420", "gpu0", "target0", "46", True),
    ("bulk 4420", "meta0", "target0", "4", True),
    ("tcp 4420", "meta0", "target0", "46", True),
    ("tcp 4420", "gpu0", "target0", "46", True),
    ("tcp 4420", "gpu1", "target0", "46", True),
    ("ping", "target0", "meta0", "46", False),
    ("ping", "gpu0", "target0", "46", False),
    ("tcp 443", "model0", "frontend0", "46", False),
    ("tcp 22", "frontend0", "model0", "4", False),
    ("tcp 22", "job0", "job1", "46", False),
    ("tcp 443", "gpu0", "gpu1", "46", False),
    ("udp 7000", "gpu0", "gpu1", "46", False),
    ("tcp 4420", "gpu0", "meta0", "46", False),
    ("tcp 4420", "target0", "gpu0", "46", False),
    ("tcp 4420", "frontend0", "target0", "46", False),
    ("tcp 4420", "job0", "target0", "46", False),
    ("udp 7000", "job0", "gpu0", "46", False),
    ("fragments 7000", "job0", "gpu0", "46", False),
    ("fragments 7000", "gpu0", "gpu1", "46", False),
    ("fragments 4791", "gpu0", "gpu1", "46", False),
    ("fragments 4791", "job0", "job1", "46", False),
    ("served 67", "job1", "job0", "4", False),
    ("served 547", "job1", "job0", "6", False),
    ("large-ping", "target0", "meta0", "46", False),
    ("large-ping", "gpu0", "target0", "46", False),
    ("refused 7001", "gpu0", "gpu1", "46", False),
)
CLUSTER_ERRORS = (
    ("udp 7100", "job0", "job1", False),
    ("tcp 443", "frontend0", "model0", False),
    ("tcp 4420", "gpu0", "target0", True),
)
CLUSTER_CLASSES = (
    ("rocev2", "gpu0", "gpu1", False, 26),
    ("rocev2", "gpu1", "gpu0", False, 26),
    ("tcp 443", "frontend0", "model0", False, 46),
    ("tcp 4420", "meta0", "target0", False, 18),
    ("tcp 4420", "gpu0", "target0", True, 18),
    ("udp 9000", "job0", "job1", False, 0),
    ("ping", "gpu0", "gpu1", False, 0),
)
CLUSTER_SENTINELS = (
    ("gpu0", "gpu1", "rocev2"), ("gpu1", "gpu0", "rocev2"),
    ("frontend0", "model0", "ping"), ("model0", "frontend0", "ping"),
    ("job0", "job1", "udp 9"), ("job1", "job0", "udp 9"),
    ("meta0", "target0", "tcp 4420"),
    ("target0", "target0", "arp"),  # may start nothing: the switch answers
)
# A few of each, for the flows that were loaded with ovs-ofctl.
STOCK_STACKS = tuple(row for row in CLUSTER_STACKS if row[1:3] in (
    ("gpu0", "gpu1"), ("frontend0", "model0"), ("gpu0", "target0"),
    ("job0", "target0")))


def load_with_ovs_ofctl(trial):
    """compile's files through stock tools into a bridge without flows."""
    trial.check(not dump_flows(BRIDGE), "a new bridge has no flows")
    with tempfile.TemporaryDirectory() as plan:
        code, words = trial.bulkhead("compile", "-o", plan)
        trial.check(code == 0, "bulkhead compile", f"{code}: {words}")
        with open(f"{plan}/meters.txt", encoding="utf-8") as stream:
            for meter in filter(None, map(str.strip, stream)):
                run("ovs-ofctl", "-O", "OpenFlow13", "add-meter", BRIDGE,
                    meter)
        run("ovs-ofctl", "-O", "OpenFlow14", "--bundle", "replace-flows",
            BRIDGE, f"{plan}/flows.txt")
    trial.check(bool(dump_flows(BRIDGE)), "ovs-ofctl takes the flows")


def cluster(score, world):
    trial = Trial(score, world, "ai-cluster")
    closed(trial)
    trial.apply()
    stacks(trial, CLUSTER_STACKS)
    classes(trial, CLUSTER_CLASSES)
    errors(trial, CLUSTER_ERRORS)
    cross_tenant(trial)
    for sender, mate, victim in (("job0", "job1", "model0"),
                                 ("gpu0", "gpu1", "target0"),
                                 ("target0", "meta0", "frontend0")):
        spoofing(trial, *map(trial.find, (sender, mate, victim)))
    trial.settle(CLUSTER_SENTINELS)
    trial.no_leak("nothing forbidden arrives anywhere")
    trial.no_strangers()
    drift(trial)
    revoke(trial)

    world.make_bridge()
    stock = Trial(score, world, "ai-cluster by ovs-ofctl")
    load_with_ovs_ofctl(stock)
    stacks(stock, STOCK_STACKS)
    classes(stock, CLUSTER_CLASSES)
    cross_tenant(stock)
    stock.settle(CLUSTER_SENTINELS)
    stock.no_leak("nothing forbidden arrives anywhere")


def overlap(score, world):
    trial = Trial(score, world, "same addresses")
    trial.apply()
    stacks(trial, [(kind, f"{tenant}/{a}", f"{tenant}/{b}", "46", True)
                   for tenant in ("red", "blue") for a, b in ("ab", "ba")
                   for kind in ("ping", "tcp 5000", "udp 7000")])
    for one, other in itertools.product(world.intent.endpoints, repeat=2):
        if one.tenant == other.tenant and one is not other:
            for address in (other.v4, other.v6):
                got = world.resolve(one, address)
                trial.check(got == other.mac, f"{one.full_name} is told its "
                            f"own tenant's MAC of {address}", f"got {got}")
    foreign(trial)
    for tenant, rival in (("red", "blue"), ("blue", "red")):
        spoofing(trial, *map(trial.find, (f"{tenant}/a", f"{tenant}/b",
                                          f"{rival}/b")))
    trial.settle([(f"{tenant}/{a}", f"{tenant}/{b}", "udp 9")
                  for tenant in ("red", "blue") for a, b in ("ab", "ba")])
    trial.no_leak("nothing forbidden arrives anywhere")
    trial.no_strangers()


def main():
    examples, overlapping = sys.argv[1:]
    score = Score()
    for path, node, suite in (
            (f"{examples}/ai-cluster.json", "gpu-node-1", cluster),
            (overlapping, "n1", overlap)):
        world = netlab.World(intents.load(path, node), BRIDGE)
        with contextlib.closing(world):
            world.build()
            try:
                suite(score, world)
            except SwitchError as error:
                score.check(False, f"{suite.__name__} ran to its end",
                            str(error))
    print(f"{score.good + score.bad} checks: {score.good} ok, "
          f"{score.bad} not ok")
    return 1 if score.bad else 0


if __name__ == "__main__":
    sys.exit(main())
