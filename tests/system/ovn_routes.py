# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds "bulkhead import ovn" against ovn-trace, of routers with routes.

usage: ovn_routes.py DIR

The private OVN of ovn-lib.sh runs.  Each link joins two routers, l and r, by
ports; behind each is a switch of one endpoint.  An intent has peerings, so
what counts is whether packets pass both ways.
"""

import json
import os
import subprocess
import sys

from switch import run

BULKHEAD = os.environ["BULKHEAD"]
FABRIC = {"nodes": {"n1": {"uplinks": {"u": {
    "interface": "p0", "rate": "1Tbps", "burst": "64KiB"}}}}}


class Link:
    """Two routers; 'routes' are those of l, and of r, each (what is told
    after the prefix)."""

    def __init__(self, name, near, far=None, family=4, plen=24, warning=None,
                 more=(), unclear=False):
        self.name, self.family, self.plen = name, family, plen
        self.routes = [near, near if far is None else far]
        self.warning, self.more, self.unclear = warning, more, unclear
        self.number = 0

    def router(self, side):
        return f"{'lr'[side]}{self.number}"

    def endpoint(self, side):
        return f"e{self.router(side)}"

    def mac(self, side, kind):
        """Of an endpoint (e), the switch's gateway (g) or the link (k)."""
        return f"02:00:00:{'egk'.index(kind)}0:{self.number:02x}:0{side + 1}"

    def ip(self, side, host):
        if self.family == 4:
            return f"10.{self.number}.{side}.{host}"
        return f"fd10:{self.number}:{side}::{host}"

    def link_ip(self, side):
        return (f"100.64.{self.number}.{side + 1}" if self.family == 4
                else f"fd64:{self.number}::{side + 1}")

    def link_local(self, side):
        mac = self.mac(side, "k").split(":")
        return (f"fe80::{int(mac[0], 16) ^ 2:x}{mac[1]}:{mac[2]}ff:"
                f"fe{mac[3]}:{mac[4]}{mac[5]}")

    def network(self, side):
        return self.ip(side, 0).replace("::0", "::") + (
            "/24" if self.family == 4 else "/64")

    def commands(self):
        """Of ovn-nbctl, that make it."""
        for side in range(2):
            router, end = self.router(side), self.endpoint(side)
            length = "24" if self.family == 4 else "64"
            yield f"lr-add {router}"
            yield f"ls-add s{router}"
            yield (f"lrp-add {router} {router}-s {self.mac(side, 'g')} "
                   f"{self.ip(side, 1)}/{length}")
            yield (f"lsp-add s{router} s-{router}",
                   f"lsp-set-type s-{router} router",
                   f"lsp-set-addresses s-{router} router",
                   f"lsp-set-options s-{router} router-port={router}-s")
            yield (f"lsp-add s{router} {end}",)
            address = f"{self.mac(side, 'e')} {self.ip(side, 10)}"
            yield (("lsp-set-addresses", end, address),
                   ("lsp-set-port-security", end, address),
                   f"lsp-set-options {end} requested-chassis=n1")
            yield (f"lrp-add {router} {router}-k {self.mac(side, 'k')} "
                   f"{self.link_ip(side)}/{self.plen} "
                   f"peer={self.router(1 - side)}-k")
        for side in range(2):
            if self.routes[side]:
                yield ("lr-route-add", self.router(side),
                       self.network(1 - side),
                       *self.words(side, self.routes[side]))
        for words in self.more:
            yield ("lr-route-add", self.router(0), *self.words(0, words))

    def words(self, side, text):
        return text.format(
            peer=self.link_ip(1 - side), local=self.link_local(1 - side),
            port=f"{self.router(side)}-k", switch=f"{self.router(side)}-s",
            far=self.ip(1 - side, 10), near=self.ip(side, 99),
            third=self.link_ip(1 - side).rstrip("12") + "77").split()

    def passes(self, side):
        """Does a packet of that side arrive, by ovn-trace?"""
        ip = f"ip{self.family}"
        packet = " && ".join((
            f'inport == "{self.endpoint(side)}"',
            f"eth.src == {self.mac(side, 'e')}",
            f"eth.dst == {self.mac(side, 'g')}", "ip.ttl == 64",
            f"{ip}.src == {self.ip(side, 10)}",
            f"{ip}.dst == {self.ip(1 - side, 10)}", "tcp.dst == 80"))
        text = run("ovn-trace", "--minimal", f"s{self.router(side)}", packet)
        return f'output("{self.endpoint(1 - side)}")' in text

    def allows(self, intent, side):
        """And by the intent?"""
        ip = "ipv6" if self.family == 6 else "nw"
        done = subprocess.run([
            BULKHEAD, "trace", intent, "-f", "json",
            f"--from={self.router(side)}/{self.endpoint(side)}",
            f"{'tcp6' if self.family == 6 else 'tcp'},"
            f"{ip}_src={self.ip(side, 10)},{ip}_dst={self.ip(1 - side, 10)},"
            "tp_src=40000,tp_dst=80"], capture_output=True, text=True,
            check=True, timeout=60)
        return json.loads(done.stdout)["verdict"] == "allow"


LINKS = [
    Link("by its nexthop", "{peer}"),
    Link("by its port", "{peer} {port}"),
    Link("by port, to another network", "{peer} {port}", plen=32),
    Link("IPv6, by its nexthop", "{peer}", family=6, plen=64),
    Link("IPv6, link-local, by its port", "{local} {port}", family=6,
         plen=64),
    Link("IPv6, link-local, of two ports", "{local}", family=6, plen=64,
         warning="several ports of the router have the nexthop",
         unclear=True),
    Link("one way", "{peer}", ""),
    Link("a nexthop of nobody", "{third}", warning="is no address of"),
    Link("a nexthop of nobody, by port", "{third} {port}",
         warning="is no address of"),
    Link("a nexthop of no network", "{peer}", plen=32,
         warning="no port of the router has the nexthop"),
    Link("by a port to a switch", "{peer} {switch}"),
    Link("discarded", "discard"),
    Link("a longer range elsewhere", "{peer}", more=["{far} {near}"]),
    Link("a longer range of the same", "{peer}", more=["{far} {peer}"]),
]


def load():
    for number, link in enumerate(LINKS, 1):
        link.number = number
        arguments = []
        for command in link.commands():
            for one in ([command] if isinstance(command, str)
                        or command[0] == "lr-route-add" else command):
                arguments += ["--", *(one.split() if isinstance(one, str)
                                      else one)]
        run("ovn-nbctl", "--timeout=30", *arguments[1:])
    run("ovn-nbctl", "--timeout=60", "--wait=sb", "sync")


def bound(intent):
    """What OVN does not know is the interfaces."""
    for name, tenant in intent["tenants"].items():
        for endpoint in tenant["endpoints"].values():
            endpoint["interface"] = name
    return intent


def imported(folder):
    """The file of the intent, and the warnings."""
    paths = [f"{folder}/{name}.json" for name in ("nb", "fabric", "intent")]
    with open(paths[0], "w", encoding="utf-8") as stream:
        stream.write(run("ovsdb-client", "-f", "json", "dump",
                         os.environ["OVN_NB_DB"], "OVN_Northbound"))
    with open(paths[1], "w", encoding="utf-8") as stream:
        json.dump({"fabric": FABRIC}, stream)
    done = subprocess.run([BULKHEAD, "import", "ovn", *paths[:2]],
                          capture_output=True, text=True, check=True)
    with open(paths[2], "w", encoding="utf-8") as stream:
        json.dump(bound(json.loads(done.stdout)), stream)
    return paths[2], done.stderr


def main():
    load()
    intent, warnings = imported(sys.argv[1])
    failures, passing = 0, 0
    wanted = sum(2 if link.routes[1] else 1 for link in LINKS if link.warning)
    for link in LINKS:
        both = link.passes(0) and link.passes(1)
        got = [link.allows(intent, side) for side in range(2)]
        passing += both
        if got != [both and not link.unclear] * 2 or (
                link.warning and link.warning not in warnings):
            failures += 1
            print(f"{link.name}: by ovn-trace {both}, by the intent {got}")
    told = warnings.count("Static_Route: left out")
    if failures or told != wanted:
        print(f"{told} warnings, not {wanted}:\n{warnings}")
    print(f"# {len(LINKS)} links, {passing} of which pass, {told} warnings")
    return failures or told != wanted or not 0 < passing < len(LINKS)


if __name__ == "__main__":
    sys.exit(bool(main()))
