# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds "bulkhead import ovn" against ovn-trace.

usage: ovn_import.py SEED WORLDS

The private OVN of ovn-lib.sh runs; so many random databases of ACLs, of which
OVN does not take some, are loaded into it and imported.  What the intent lets
pass must pass in OVN.
"""

import collections
import importlib.machinery
import importlib.util
import json
import os
import random
import re
import signal
import sys

from switch import Unixctl, await_true, run

HERE = os.path.dirname(os.path.abspath(__file__))
RUNDIR = os.environ["OVS_RUNDIR"]
DATABASE = os.environ["OVN_NB_DB"]
sys.path.append(os.path.join(HERE, "../import"))

# pylint: disable=wrong-import-position
from cases_ovn import FROM, IPS, TO, VOID, World                # noqa: E402

LOADER = importlib.machinery.SourceFileLoader(
    "import_ovn", os.path.join(HERE, "../import/ovn"))
TESTS = importlib.util.module_from_spec(
    importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(TESTS)

SWITCH = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 3}
PACKETS = ["tcp 22", "tcp 80", "udp 53", "udp 80", "icmp", "ip 47", "ip 132"]
# Of which OVN takes some, and an intent can say others.
TERMS = ["tcp", "udp", "icmp4", "ip4", "ip", "ip6", "sctp", "1", "0", "arp",
         "tcp.dst == 80", "tcp.dst == {22, 80, }", "tcp.dst != 80",
         "udp.dst != {53, 54}", "tcp.dst > 22", "22 <= tcp.dst < 80",
         "80 == tcp.dst", "80 > udp.dst > 22", "80 <= tcp.dst >= 22",
         "!(tcp.dst == 80)", "!tcp.dst", "tcp.dst == 0x50", "tcp.src == 80",
         "udp.dst == 053", "tcp.dst[0..3] == 0", "tcp == 1", "udp != 0",
         "ip.proto == 6", "ip.proto == {6, 17, 47}", "ip.proto != 6",
         "!(ip.proto != 17)", "!(ip.proto == 17)", "ip.proto == 0x11",
         "!tcp", "!(!tcp)", "!ip4", "!(!(udp))", "eth.type == 0x800",
         "ip4.src == 10.0.0.11", "ip4.dst != 10.0.0.12",
         "ip4.src == 10.0.0.8/30", "ip4.src == 10.0.0.15/24",
         "ip4.src == {10.0.0.10, 10.0.1.0/24}", "ip4.dst == $near",
         "ip4.src != $near", "ip4.src == $none", "ip4.src != $none",
         "ip4.src == $mixed", "ip4.src == {$near, 10.0.1.10}",
         "ip4.src == $g1_ip4", "ip4.src > 10.0.0.10", "ip4.src == $absent",
         "ip4.src == 10.0.0.8/255.255.255.252", "ip4.dst == 0.0.0.0/0",
         'inport == "a"', 'inport == {"b", "c"}', 'inport != "a"',
         '!(inport != "a")', '!(inport == "a")', 'inport == "absent"',
         'inport == "s1-r"', 'inport == {"s2-r", "a"}', 'outport == "s1-r"',
         "inport == @g1", "inport == {@g1, @g2}", "inport == @absent",
         "ct.new", "!ct.est", "ip.ttl == 64", "ip.ttl > 3", "ip.ttl",
         "!ip.is_frag", "ip.frag == 0", "!eth.mcast", "icmp4.type == 8",
         "icmp4.type != 5", "eth.src == 02:00:00:00:00:61", "reg0 == 0"]


def make_term(source, depth):
    chosen = source.random()
    if chosen < 0.15 and depth < 2:
        return f"{source.choice(['', '', '!'])}({make_match(source, depth)})"
    return source.choice(VOID if chosen < 0.25 else TERMS)


def make_match(source, depth=0):
    operator = source.choice([" && ", " || "])
    return operator.join(make_term(source, depth + 1)
                         for _ in range(source.choice([1, 1, 2, 3])))


def make_acl(source, group):
    direction, port = source.choice([(FROM, "inport"), (TO, "outport")])
    match = f"{port} == @{group} && ({make_match(source)})"
    return (direction, source.choice([1, 5, 5, 10, 20]), match,
            source.choice(["allow-related"] * 5 + ["allow", "drop"]))


def make_world(source):
    world = World()
    for name, addresses in (("near", [IPS["b"], IPS["c"]]), ("none", []),
                            ("mixed", [IPS["b"], "fd00::1"])):
        world.add("Address_Set", name=name, addresses=addresses)
    world.group("far", "e")
    for name in ("g1", "g2"):
        ports = sorted(source.sample("abcd", source.randint(1, 4)))
        near = TO if source.random() < 0.7 else FROM
        field = "outport" if near == TO else "inport"
        world.group(name, " ".join(ports),
                    (near, 0, f"{field} == @{name} && ip", "drop"),
                    *[make_acl(source, name)
                      for _ in range(source.randint(2, 5))])
    for i, row in enumerate(world.rows["Logical_Router_Port"]):
        row["mac"] = f"02:00:00:00:01:0{i + 1}"
    return world


def load(world):
    """Replaces what is in the database."""
    world.dump()                # Adds the routers.

    def value(v):
        if isinstance(v, list) and v[0] == "uuid":
            return ["named-uuid", "r" + v[1].replace("-", "_")]
        if isinstance(v, list) and v[0] == "set":
            return ["set", [value(a) for a in v[1]]]
        return v

    operations = ["OVN_Northbound"]
    for table, rows in world.rows.items():
        if table == "NB_Global":
            continue
        operations.append({"op": "delete", "table": table, "where": []})
        operations += [{
            "op": "insert", "table": table,
            "uuid-name": value(row["_uuid"])[1],
            "row": {c: value(v) for c, v in row.items() if c != "_uuid"}}
            for row in rows]
    answers = run("ovsdb-client", "transact", DATABASE,
                  json.dumps(operations))
    if '"error"' in answers:
        sys.exit(f"ovn_import: {answers}")
    run("ovn-nbctl", "--timeout=60", "--wait=sb", "sync")


def microflow(sender, receiver, packet):
    """As ovn-trace takes it."""
    near = SWITCH[sender]
    to = (f"00:{ord(receiver):02x}" if SWITCH[receiver] == near
          else f"01:0{near}")
    protocol, *number = packet.split()
    text = (f'inport == "{sender}" && eth.src == '
            f"02:00:00:00:00:{ord(sender):02x} && eth.dst == 02:00:00:00:{to}"
            f" && ip4 && ip.ttl == 64 && ip4.src == {IPS[sender]} && "
            f"ip4.dst == {IPS[receiver]}")
    if protocol == "icmp":
        return text + " && icmp4.type == 8 && icmp4.code == 0"
    if protocol == "ip":
        return text + f" && ip.proto == {number[0]}"
    return text + f" && {protocol}.src == 40000 && {protocol}.dst == " + \
        number[0]


class Tracer:
    """An ovn-trace that stays, and reads the database once."""

    def __init__(self, n):
        self.control, self.log = (f"{RUNDIR}/import.{x}"
                                  for x in ("ctl", "log"))
        pidfile = f"{RUNDIR}/import.pid"
        run("ovn-trace", "--detach", "--no-chdir",
            f"--unixctl={self.control}", f"--pidfile={pidfile}",
            f"--log-file={self.log}", "-vconsole:off", "-vsyslog:off",
            *["--ct=new"] * (4 * n))
        with open(pidfile, encoding="ascii") as stream:
            self.pid = int(stream.read())
        self.unixctl = Unixctl(RUNDIR, self.control)

    def passes(self, sender, receiver, packet):
        text = self.unixctl("trace", "--minimal",
                            microflow(sender, receiver, packet))
        return receiver in re.findall(r'output\("([^"]*)"\)', text)

    def n_void(self):
        """How many flows OVN has not taken."""
        with open(self.log, encoding="utf-8") as stream:
            return stream.read().count("parsing expression failed")

    def close(self):
        self.unixctl.close()
        os.kill(self.pid, signal.SIGTERM)
        await_true(lambda: not os.path.exists(self.control), 10,
                   "ovn-trace to end")
        os.remove(self.log)


def compare(place, world, tally):
    """What passes by the intent, and not by OVN."""
    load(world)
    intent, _ = place.imported(world)
    with open(intent, encoding="utf-8") as stream:
        imported = json.load(stream)
    TESTS.bind(imported)
    asked = list(TESTS.questions(list(TESTS.endpoints_of(imported)),
                                 PACKETS))
    got = TESTS.judge(place.write("bound.json", json.dumps(imported)),
                      [f"{q[0]} {q[3]}" for q in asked])
    tracer = Tracer(len(asked))
    wrong = []
    try:
        for (*ends, packet, _), verdict in zip(asked, got):
            sender, receiver = (name.split("/")[1] for name in ends)
            passes = tracer.passes(sender, receiver, packet)
            tally[verdict, passes] += 1
            if verdict == "allow" and not passes:
                wrong.append(f"{sender} > {receiver} {packet}")
        tally["void"] += tracer.n_void()
    finally:
        tracer.close()
    return wrong


def main():
    seed, n_worlds = map(int, sys.argv[1:])
    tally = collections.Counter()
    failures = 0
    place = TESTS.Place(RUNDIR)
    for i in range(seed, seed + n_worlds):
        world = make_world(random.Random(i))
        wrong = compare(place, world, tally)
        failures += bool(wrong)
        if wrong:
            print(f"# world {i}: OVN does not let pass {', '.join(wrong)}")
            for acl in world.rows["ACL"]:
                print(f"#   {acl['direction']} {acl['priority']} "
                      f"{acl['action']} {acl['match']}")
    both, neither = tally["allow", True], tally["deny", False]
    print(f"# seed {seed}: {both} packets pass, {neither} do not, "
          f"{tally['deny', True]} pass in OVN alone; "
          f"OVN did not take {tally['void']} flows")
    sys.exit(bool(failures or not both or not neither or not tally["void"]))


if __name__ == "__main__":
    main()
