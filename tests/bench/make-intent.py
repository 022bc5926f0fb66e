#!/usr/bin/env python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes an intent of many tenants, for benchmarks.

usage: make-intent.py [TENANTS [ENDPOINTS [RULES]]] [--ipv6] [--scatter]
                      [--dhcp] [--nodes NODES] [--peers]
                      [--change TENANT [--edit rule|bandwidth|endpoint]]
                      [--only TENANT] [--part TENANT]

The same arguments make the same bytes.  By default 200 tenants of 20
endpoints in 5 roles and 40 rules from roles to roles, each for a service.
--ipv6 gives endpoints an IPv6 address too.  --scatter makes each side of a
rule 2 to 6 endpoints drawn by lot, so that no two endpoints have the same
rules.  --dhcp makes the first endpoint of each network answer DHCP.  --nodes
spreads the endpoints evenly over so many nodes instead of one,
with tunnels between them.  --peers makes each tenant list the two before it
and the two behind it, and writes a peering with the next; not with --only or
--part.  --change takes the last rule of a tenant away, or gives it another
bandwidth, or takes its last endpoint away; --only leaves all other tenants
out; --part writes the tenant's own file.
"""

import argparse
import json
import random

ROLES = ["worker", "storage", "frontend", "monitor", "control"]
PEERS = (-2, -1, 1, 2)
CLASSES = {"gold": {"dscp": 46, "queue": 5}, "silver": {"dscp": 26,
                                                        "queue": 3}}


def services():
    made = {f"s{i:02}": {"protocol": "udp" if i % 4 == 3 else "tcp",
                         "ports": [10000 + 10 * i]} for i in range(39)}
    made["range"] = {"protocol": "tcp", "ports": ["8000-8100"]}
    return made


def selector(lot, endpoints, scatter):
    if scatter:
        names = lot.sample(sorted(endpoints), lot.randint(2, 6))
        return [{"endpoint": name} for name in sorted(names)]
    kind = lot.random()
    if kind < 0.05:
        return {}
    roles = lot.sample(ROLES, 2 if kind < 0.15 else 1)
    return [{"labels": {"role": role}} for role in sorted(roles)]


def rules(lot, n, endpoints, scatter):
    names = list(services())
    made, seen = [], set()
    while len(made) < n:
        service = lot.choice(names)
        rule = {"name": f"rule{len(made):03}",
                "from": selector(lot, endpoints, scatter),
                "to": selector(lot, endpoints, scatter),
                "service": service}
        key = json.dumps([rule["from"], rule["to"], service])
        if key in seen:
            continue
        seen.add(key)
        if len(made) % 10 == 9:
            rule["action"] = "deny"
        else:
            rule["class"] = ("gold", "silver")[names.index(service) % 2]
        made.append(rule)
    return made


def node_name(i, args):
    return "node" if args.nodes == 1 else f"node{i % args.nodes:04}"


def fabric(args):
    nodes = {}
    for i in range(args.nodes):
        node = {"uplinks": {"up": {"interface": "p0", "rate": "100Gbps",
                                   "burst": "256KiB"}}}
        if args.nodes > 1:
            node["tunnel_address"] = f"192.168.{i // 250}.{1 + i % 250}"
        nodes[node_name(i, args)] = node
    return ({"nodes": nodes} if args.nodes == 1
            else {"encapsulation": "geneve", "nodes": nodes})


def tenant_name(t, args):
    return f"tenant{t % args.tenants:05}"


def peerings(args):
    return {f"peering{t:05}": {
        "from": {"tenant": tenant_name(t, args),
                 "labels": {"role": "frontend"}},
        "to": {"tenant": tenant_name(t + 1, args),
               "labels": {"role": "storage"}},
        "service": "s00", "class": "gold"} for t in range(args.tenants)}


def tenant(t, args):
    lot = random.Random(f"tenant {t}")
    high, low = divmod(t, 256)
    subnets = [f"10.{high}.{low}.0/24", f"fd00:{t:x}::/64"]
    endpoints = {}
    for e in range(args.endpoints):
        addresses = [f"10.{high}.{low}.{10 + e}", f"fd00:{t:x}::{10 + e:x}"]
        endpoints[f"e{e:03}"] = {
            "network": "net", "node": node_name(t * args.endpoints + e, args),
            "interface": f"t{t:05}e{e:03}",
            "labels": {"role": ROLES[e % len(ROLES)]},
            "mac": f"02:00:{high:02x}:{low:02x}:00:{10 + e:02x}",
            "addresses": addresses if args.ipv6 else addresses[:1]}
    made = {"bandwidth": {"limit": "1Gbps", "burst": "64KiB"},
            "networks": {"net": {
                "vni": 1000 + t,
                "subnets": subnets if args.ipv6 else subnets[:1],
                "gateway": f"10.{high}.{low}.1"}},
            "endpoints": endpoints,
            "rules": rules(lot, args.rules, endpoints, args.scatter)}
    if args.dhcp:
        made["networks"]["net"]["dhcp"] = {"server": "e000"}
    if args.peers:
        made["peers"] = [tenant_name(t + d, args) for d in PEERS]
    if args.change == t and args.edit == "rule":
        made["rules"].pop()
    elif args.change == t and args.edit == "bandwidth":
        made["bandwidth"]["limit"] = "2Gbps"
    elif args.change == t:
        endpoints.popitem()
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tenants", type=int, nargs="?", default=200)
    parser.add_argument("endpoints", type=int, nargs="?", default=20)
    parser.add_argument("rules", type=int, nargs="?", default=40)
    parser.add_argument("--ipv6", action="store_true")
    parser.add_argument("--scatter", action="store_true")
    parser.add_argument("--dhcp", action="store_true")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--change", type=int, default=-1)
    parser.add_argument("--edit", default="rule",
                        choices=["rule", "bandwidth", "endpoint"])
    parser.add_argument("--only", type=int, default=-1)
    parser.add_argument("--part", type=int, default=-1)
    args = parser.parse_args()
    if args.peers and (args.tenants <= len(PEERS) or args.only >= 0
                       or args.part >= 0):
        parser.error("--peers takes at least 5 tenants, and all of them")
    if args.part >= 0:
        print(json.dumps({"version": 1, "tenants": {
            f"tenant{args.part:05}": tenant(args.part, args)}}, indent=1))
        return
    made = {"version": 1, "fabric": fabric(args), "classes": CLASSES,
            "services": services(),
            "tenants": {f"tenant{t:05}": tenant(t, args)
                        for t in range(args.tenants) if args.only in (-1, t)}}
    if args.peers:
        made["peerings"] = peerings(args)
    print(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()
