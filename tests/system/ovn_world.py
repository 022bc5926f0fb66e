# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Random intents that the target ovn takes, and random packets for them."""

import ipaddress
import json
import subprocess

SERVICES = ["http", "https", "ssh", "dns", "icmp", "rocev2", "uet",
            "nvme-tcp", "ipsec", "psp", "own", None]
PORTS = [22, 53, 67, 68, 80, 123, 443, 500, 546, 547, 1000, 4420, 4500, 4791,
         4791, 4793, 8000, 8042, 8100, 8101, 40000]
CONTENTS = {"http": ("tcp", 80), "https": ("tcp", 443), "ssh": ("tcp", 22),
            "dns": ("udp", 53), "icmp": ("icmp", 0), "rocev2": ("udp", 4791),
            "uet": ("udp", 4793), "nvme-tcp": ("tcp", 4420),
            "psp": ("udp", 1000), "own": ("udp", 8042)}
DSCP = 40               # What senders write, no class's: it is never kept.
UPLINK = {"interface": "p0", "rate": "10Gbps", "burst": "64KiB"}


class Maker:
    """One random intent."""

    def __init__(self, random, plain):
        self.random = random
        self.plain = plain
        self.vni = 0
        self.tenants = {}

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def network(self, number, six):
        """Tenants have the same subnets, so their addresses may meet.  Some
        networks have more than the gateway's: between those of the other
        network, or one address, the last of what holds both; or the gateway
        is in one by itself.  Returns also the ranges of hosts."""
        four, long, other = f"10.0.{number}", f"fd00:{number}", 3 - number
        ranges = [(four, long, range(2, 250))]
        subnets = [[f"{four}.0/24", f"{long}::/64"]]
        gateways = [f"{four}.1", f"{long}::1"]
        kind = self.random.randrange(4 if self.plain else 0, 10)
        if kind < 2:
            ranges.append((f"10.0.{other}", f"fd00:{other}", range(2, 250)))
            subnets.append([f"10.0.{other}.0/24", f"fd00:{other}::/64"])
        elif kind == 2:
            ranges = [(four, long, range(2, 120)), (four, long, [255])]
            subnets = [[f"{four}.0/25", f"{long}::/121"],
                       [f"{four}.255/32", f"{long}::ff/128"]]
        elif kind == 3:
            gateways = [f"169.254.{number}.1", f"fd99:{number}::1"]
            subnets.append([f"{gateways[0]}/32", f"{gateways[1]}/128"])
        self.vni += 1
        network = {"vni": self.vni,
                   "subnets": [s for both in subnets for s in both[:1 + six]]}
        if self.chance(90):
            network["gateway"] = gateways[:1 + six]
            if kind > 3 and self.chance(40):
                network["dhcp"] = "native"
        return network, ranges

    def endpoint(self, name, number, six, ranges, interface):
        four, long, hosts = self.random.choice(ranges)
        host = self.random.choice(hosts)
        addresses = [f"{four}.{host}", f"{long}::{host:x}"][:1 + six]
        return {"network": name, "node": f"n{self.random.randrange(1, 4)}",
                "labels": {"role": self.random.choice(["a", "b"])},
                "interface": interface,
                "mac": f"02:00:00:00:{number:02x}:{host:02x}",
                "addresses": addresses}

    def selector(self, tenant):
        kind = self.random.randrange(5)
        if kind == 0:
            return {"labels": {"role": self.random.choice(["a", "b"])}}
        if kind == 1:
            return {"network":
                    self.random.choice(sorted(tenant["networks"]))}
        if kind == 2:
            return {"endpoint":
                    self.random.choice(sorted(tenant["endpoints"]))}
        if kind == 3:
            return {"except": {"labels": {"role": "a"}}}
        return {}

    def rule(self, name, tenant):
        rule = {"name": name, "from": self.selector(tenant),
                "to": self.selector(tenant)}
        service = self.random.choice(SERVICES)
        if service:
            rule["service"] = service
        if self.chance(30):
            rule["action"] = "deny"
            if self.chance(50):
                side = self.random.choice(["from", "to"])
                rule[side] = {"tenant": "*"}
        elif self.chance(50):
            rule["class"] = self.random.choice(["gold", "silver"])
            if self.chance(30):
                rule["reply_class"] = "silver"
        return rule

    def tenant(self, index):
        tenant = {"default": self.random.choice(["deny", "deny", "allow"]),
                  "peers": ["*"], "networks": {}, "endpoints": {}}
        if self.chance(50):
            tenant["bandwidth"] = {"limit": "1Gbps", "burst": "64KiB"}
        if self.chance(30):
            tenant["limits"] = {"upcalls": {"rate": "1kpps",
                                            "burst": "64pkt"}}
        for number in range(self.random.randrange(1, 3)):
            six = self.chance(60)
            name = f"net{number}"
            tenant["networks"][name], ranges = self.network(number, six)
            for _ in range(self.random.randrange(1, 4)):
                n = len(tenant["endpoints"])
                tenant["endpoints"][f"e_{n}"] = self.endpoint(
                    name, number, six, ranges, f"t{index}e{n}")
        tenant["rules"] = [self.rule(f"r{i}", tenant)
                           for i in range(self.random.randrange(1, 7))]
        return tenant

    def sides(self, names):
        one, other = self.random.sample(names, 2)
        return {"from": {"tenant": one, **self.selector(self.tenants[one])},
                "to": {"tenant": other, **self.selector(self.tenants[other])}}

    def shared(self, names):
        one = self.random.choice(names)
        return {"from": {"tenant": "*"},
                "to": {"tenant": one, **self.selector(self.tenants[one])}}

    def intent(self):
        names = ["t-0", "t_1", "t.2", "t3"]
        self.tenants = {name: self.tenant(i) for i, name in enumerate(names)}
        peerings, guardrails = {}, {}
        for i in range(self.random.randrange(4)):
            peering = (self.shared(names) if self.chance(30)
                       else self.sides(names))
            service = self.random.choice(SERVICES)
            if service:
                peering["service"] = service
            if self.chance(40):
                peering["class"] = "gold"
            peerings[f"p{i}"] = peering
        for i in range(self.random.randrange(3)):
            guardrails[f"g{i}"] = {
                **(self.shared(names) if self.chance(50)
                   else self.sides(names)),
                "service": self.random.choice(SERVICES[:-1])}
        return {
            "version": 1,
            "fabric": {"encapsulation": "geneve", "nodes": {
                f"n{i}": {"tunnel_address": f"192.0.2.{i}",
                          "uplinks": {"up": UPLINK}} for i in (1, 2, 3)}},
            "classes": {"gold": {"dscp": 26}, "silver": {"dscp": 10}},
            "services": {"own": {"protocol": "udp",
                                 "ports": [53, "4700-4800", "8000-8100"]}},
            "tenants": self.tenants, "peerings": peerings,
            "guardrails": guardrails}


def make_intent(random, bulkhead, path, plain=False):
    """Writes an intent that 'check' accepts to 'path', and returns it; if
    'plain', each subnet of a network with gateways has one."""
    while True:
        intent = Maker(random, plain).intent()
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(intent, stream, indent=1)
        if not subprocess.run([bulkhead, "check", path], timeout=60,
                              capture_output=True, check=False).returncode:
            return intent


def listed(value):
    return [value] if isinstance(value, str) else value


def link_local(mac):
    """The address of IPv6 that follows from a MAC (RFC 4291)."""
    b = [int(x, 16) for x in mac.split(":")]
    return (f"fe80::{(b[0] ^ 2) << 8 | b[1]:x}:{b[2] << 8 | 0xff:x}"
            f":{0xfe00 | b[3]:x}:{b[4] << 8 | b[5]:x}")


class Packet:
    """A packet from an endpoint, in the words of both traces."""

    def __init__(self, sender, fields, lease=None):
        self.sender = sender
        self.f = fields
        self.lease = lease      # What DHCP would give the sender.

    def family(self, four, six):
        return six if ":" in self.f["src"] else four

    def ours(self):
        """As 'bulkhead trace' takes it."""
        f = self.f
        kind = f["kind"]
        names = {"tcp": ("tcp", "tcp6"), "udp": ("udp", "udp6"),
                 "icmp": ("icmp", "icmp6")}.get(kind, ("ip", "ipv6"))
        words = [self.family(*names), f"dl_src={f['mac_src']}",
                 f"dl_dst={f['mac_dst']}",
                 f"{self.family('nw_src', 'ipv6_src')}={f['src']}",
                 f"{self.family('nw_dst', 'ipv6_dst')}={f['dst']}",
                 f"nw_ttl={f['ttl']}", f"nw_tos={DSCP << 2}"]
        if kind in ("tcp", "udp"):
            words += [f"tp_src={f['a']}", f"tp_dst={f['b']}"]
        elif kind == "icmp":
            name = self.family("icmp", "icmpv6")
            words += [f"{name}_type={f['a']}", f"{name}_code=0"]
        else:
            words.append(f"nw_proto={f['a']}")
        return ",".join(words)

    def ovn(self):
        """As ovn-trace takes it."""
        f = self.f
        kind = f["kind"]
        ip = self.family("ip4", "ip6")
        words = [f'inport == "{self.sender}"', f"eth.src == {f['mac_src']}",
                 f"eth.dst == {f['mac_dst']}", f"{ip}.src == {f['src']}",
                 f"{ip}.dst == {f['dst']}", f"ip.ttl == {f['ttl']}",
                 f"ip.dscp == {DSCP}"]
        if kind in ("tcp", "udp"):
            words += [f"{kind}.src == {f['a']}", f"{kind}.dst == {f['b']}"]
        elif kind == "icmp":
            name = self.family("icmp4", "icmp6")
            words += [f"{name}.type == {f['a']}", f"{name}.code == 0"]
        else:
            words.append(f"ip.proto == {f['a']}")
        return " && ".join(words)


class Senders:
    """The bound endpoints of an intent, and packets from them."""

    def __init__(self, random, intent):
        self.random = random
        self.intent = intent
        bindings = intent.get("bindings", {})
        self.endpoints = {
            f"{t}/{e}": (t, endpoint | bindings.get(f"{t}/{e}", {}))
            for t, tenant in sorted(intent["tenants"].items())
            for e, endpoint in sorted(tenant["endpoints"].items())}

    def gateway_mac(self, tenant, network):
        """As docs/intents.md and sema/ derive it: from the VNI."""
        vni = self.intent["tenants"][tenant]["networks"][network]["vni"]
        return (f"0a:b1:7d:{vni >> 16:02x}:{vni >> 8 & 255:02x}"
                f":{vni & 255:02x}")

    def name(self, tenant):
        """An endpoint's name, of the tenant if there is one."""
        names = [n for n, (t, _) in self.endpoints.items()
                 if tenant in (t, None, "*")]
        return self.random.choice(names)

    def rules(self):
        """(rule, whose) of all rules of tenants, peerings or guardrails."""
        kind = self.random.choice(["tenants", "tenants", "peerings",
                                   "guardrails"])
        if kind != "tenants":
            return [(rule, None)
                    for _, rule in sorted(self.intent.get(kind, {}).items())]
        return [(rule, name)
                for name, tenant in sorted(self.intent["tenants"].items())
                for rule in tenant.get("rules", [])]

    def ends(self):
        """(sender, receiver, service): often those of a rule."""
        rules = self.rules()
        if not rules or self.random.random() < 0.3:
            sender = self.name(None)
            return sender, self.name(self.endpoints[sender][0]), None
        rule, own = self.random.choice(rules)
        sides = []
        for side in (rule["from"], rule["to"]):
            one = self.random.choice(side) if isinstance(side, list) else side
            tenant = one.get("tenant", own)
            sides.append(self.name(tenant if isinstance(tenant, str)
                                   else None))
        return *sides, rule.get("service")

    def content(self, six, service):
        if service in CONTENTS and self.random.random() < 0.8:
            kind, port = CONTENTS[service]
            if kind == "icmp":
                return kind, 128 if six else 8, 0
            return kind, 40001, port
        kind = self.random.choice(["tcp", "tcp", "udp", "udp", "icmp", "ip"])
        if kind == "icmp":
            types = [128, 128, 137] if six else [8, 8, 5]
            return kind, self.random.choice(types), 0
        if kind == "ip":
            return kind, self.random.choice([50, 50, 0, 2, 99, 132]), 0
        return (kind, self.random.choice(PORTS + [40001] * 20),
                self.random.choice(PORTS))

    def mac(self, tenant, endpoint, to):
        """Where the frame goes: to the receiver if it is near, to the
        gateway, or to the wrong one."""
        to_tenant, receiver = self.endpoints[to]
        near = (to_tenant == tenant
                and receiver["network"] == endpoint["network"])
        roll = self.random.random()
        if roll < 0.04:
            return self.random.choice(
                [e["mac"] for _, e in self.endpoints.values()])
        if near and roll < 0.7:
            return receiver["mac"]
        return self.gateway_mac(tenant, endpoint["network"])

    def dhcp(self):
        """What a client of DHCP sends, or one that lies."""
        sender, other = self.name(None), self.name(None)
        tenant, endpoint = self.endpoints[sender]
        network = self.intent["tenants"][tenant]["networks"][
            endpoint["network"]]
        src = self.random.choice(endpoint["addresses"])
        six = ":" in src
        others = [a for a in self.endpoints[other][1]["addresses"]
                  if (":" in a) == six]
        fields = {"kind": "udp", "a": 546 if six else 68,
                  "b": 547 if six else 67, "mac_src": endpoint["mac"],
                  "src": src if self.random.random() < 0.4 else
                  link_local(endpoint["mac"]) if six else "0.0.0.0",
                  "mac_dst": ("33:33:00:01:00:02" if six
                              else "ff:ff:ff:ff:ff:ff"),
                  "dst": "ff02::1:2" if six else "255.255.255.255",
                  "ttl": 64}
        roll = self.random.random()
        gateways = [g for g in listed(network.get("gateway", []))
                    if (":" in g) == six]
        if roll < 0.25 and gateways:
            fields["dst"] = self.random.choice(gateways)
            fields["mac_dst"] = self.gateway_mac(tenant, endpoint["network"])
        elif roll < 0.45:
            fields["mac_dst"] = self.endpoints[other][1]["mac"]
            if roll < 0.35 and others:
                fields["dst"] = self.random.choice(others)
        roll = self.random.random()
        if roll < 0.05:
            fields["mac_src"] = self.endpoints[other][1]["mac"]
        elif roll < 0.1 and others:
            fields["src"] = self.random.choice(others)
        if fields["dst"] in endpoint["addresses"]:
            return self.dhcp()
        return Packet(sender, fields, next(
            str(ipaddress.ip_address(a)) for a in endpoint["addresses"]
            if (":" in a) == six))

    def packet(self):
        if self.random.random() < 0.12:
            return self.dhcp()
        sender, to, service = self.ends()
        tenant, endpoint = self.endpoints[sender]
        if to == sender:
            return self.packet()
        src = self.random.choice(endpoint["addresses"])
        six = ":" in src
        others = [a for a in self.endpoints[to][1]["addresses"]
                  if (":" in a) == six]
        if not others:
            return self.packet()
        kind, a, b = self.content(six, service)
        fields = {"kind": kind, "a": a, "b": b, "src": src,
                  "dst": self.random.choice(others),
                  "mac_src": endpoint["mac"],
                  "mac_dst": self.mac(tenant, endpoint, to),
                  "ttl": 1 if self.random.random() < 0.05 else 64}
        roll = self.random.random()
        if roll < 0.04:
            fields["mac_src"] = self.endpoints[to][1]["mac"]
        elif roll < 0.08:
            fields["src"] = fields["dst"]
        elif roll < 0.12:
            fields["dst"] = "fd00:9::9" if six else "10.9.9.9"
        if fields["dst"] in endpoint["addresses"]:
            return self.packet()
        return Packet(sender, fields)

    def answer(self, packet, to):
        """The reply to a packet that reached 'to'."""
        f = packet.f
        tenant, endpoint = self.endpoints[to]
        from_tenant, sender = self.endpoints[packet.sender]
        near = (from_tenant == tenant
                and sender["network"] == endpoint["network"])
        fields = dict(f, src=f["dst"], dst=f["src"], mac_src=endpoint["mac"],
                      mac_dst=(sender["mac"] if near else
                               self.gateway_mac(tenant, endpoint["network"])),
                      ttl=64)
        if f["kind"] in ("tcp", "udp"):
            fields["a"], fields["b"] = f["b"], f["a"]
        elif f["kind"] == "icmp":
            fields["a"] = {8: 0, 128: 129}[f["a"]]
        return Packet(to, fields)
