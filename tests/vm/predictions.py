# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes what a kernel is to be asked, before it is there.

usage: predictions.py INTENT NODE PROFILE FILE [--every]

FILE becomes JSON: the ports of the node, what "bulkhead offload" predicts of
each rule, and packets to send, one after the other, each with what must become
of it.  That is what "bulkhead trace" says, which knows the intent alone, not
how tables, megaflows or filters are made.  Beside the packets of the
prediction stand those of liars: each with an address or a port that is not its
sender's, or not the rule's.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "system"))
# pylint: disable=wrong-import-position
import frames                                                   # noqa: E402
import intent as intents                                        # noqa: E402
from switch import SwitchError, run                             # noqa: E402

CLIENT_PORT = "49152"
STATES = {"any": "new", "opens": "new", "forward": "forward",
          "reply": "reply"}
# Of a tenant that a test can flood; and what a packet of a flood carries.
MOST_MBPS, FLOOD_BYTES = 10, 1400
# As connections go, not as they are reported.
TURNS = ["any", "opens", "reply", "forward"]
TCP_FLAGS = {"opens": frames.SYN, "reply": frames.SYN | frames.ACK,
             "forward": frames.ACK, "any": frames.SYN}


def bulkhead(*arguments):
    return run(os.environ["BULKHEAD"], *arguments)


def parse(text):
    """The fields of a packet as ofproto/trace takes it."""
    protocol, *fields = text.split(",")
    return {"protocol": protocol, **dict(f.split("=", 1) for f in fields)}


def unparse(fields):
    """The same for "bulkhead trace": what the packet itself says."""
    return ",".join([fields["protocol"]]
                    + [f"{name}={value}" for name, value in fields.items()
                       if name not in ("protocol", "in_port")])


def port_field(fields, side):
    """The name of the field that has the source's or destination's port."""
    return next((name for name in fields
                 if re.fullmatch(f"(tp|tcp|udp)_{side}", name)), None)


def addresses(fields):
    """(source, destination) of IPv4 or IPv6."""
    if "nw_src" in fields:
        return fields["nw_src"], fields["nw_dst"]
    return fields["ipv6_src"], fields["ipv6_dst"]


def make_segment(fields, role, number, token):
    """(IP protocol, bytes) of what stands behind the IP header."""
    src, dst = addresses(fields)
    protocol = fields["protocol"]
    if protocol in ("ip", "ipv6"):
        return int(fields["nw_proto"]), token
    if protocol.startswith("icmp"):
        kind = int(fields.get("icmp_type") or fields["icmpv6_type"])
        return frames.echo(src, dst, number & 0xffff, 1, token,
                           reply=kind in (0, 129))
    sport = int(fields[port_field(fields, "src")])
    dport = int(fields[port_field(fields, "dst")])
    if protocol.startswith("tcp"):
        return frames.TCP, frames.tcp(src, dst, sport, dport,
                                      TCP_FLAGS[role], data=token)
    return frames.UDP, frames.udp(src, dst, sport, dport, token)


def make_frame(fields, role, number, token):
    mac = fields["dl_src"]
    if fields["protocol"] == "arp":
        return frames.arp_request(mac, fields["arp_spa"], fields["arp_tpa"],
                                  token)
    src, dst = addresses(fields)
    if "nd_target" in fields:
        return frames.solicitation(mac, src, fields["nd_target"],
                                   token=token)
    protocol, segment = make_segment(fields, role, number, token)
    tos = int(fields["nw_tos"], 0) | int(fields["nw_ecn"], 0)
    return frames.ether(
        fields["dl_dst"], mac, frames.IPV6 if ":" in src else frames.IPV4,
        frames.ip(src, dst, protocol, segment, ttl=int(fields["nw_ttl"]),
                  tos=tos))


class Questions:
    """Collects packets, and what is to become of them."""

    def __init__(self, path, node, report):
        self.path = path
        self.report = report
        self.intent = intents.load(path, node)
        self.ports = {e.full_name: e.interface for e in self.intent.endpoints}
        self.owners = {e.interface: e for e in self.intent.endpoints}
        self.gateways = {p["from"]: parse(p["trace"])["dl_dst"]
                         for rule in report["rules"] for p in rule["paths"]
                         if p["packet"] == "spoofed"}
        self.number = 0
        self.packets = []

    def device(self, fields):
        """None: it is the port for tunnels, which has no place there."""
        ports = self.report["ports"]
        number = int(fields["in_port"])
        return ports[number - 1] if number <= len(ports) else None

    def judge(self, fields, role):
        """What the intent means for the packet."""
        owner = self.owners[self.device(fields)]
        return json.loads(bulkhead(
            "trace", self.path, f"--from={owner.full_name}",
            f"--state={STATES[role]}", "-f", "json", unparse(fields)))

    def ask(self, fields, role, **more):
        """Adds a packet.  'fields' has its connection's own port already."""
        # So long that no frame is padded: conntrack takes padding away.
        token = b"bulkhead%06d" % len(self.packets)
        frame = make_frame(fields, role, self.number, token.ljust(32, b"."))
        said = self.judge(fields, role)
        to = (self.ports.get(said["destination"])
              if said["verdict"] == "allow" else None)
        want = None
        if to:
            routed = said["through_gateway"]
            want = frames.rewritten(
                frame, said["dscp"], self.owners[to].mac if routed else None,
                self.gateways[said["destination"]] if routed else None,
                int(routed)).hex()
        self.packets.append({
            "what": f"{role} {unparse(fields)}", "role": role,
            "port": self.device(fields), "token": token.decode(),
            "frame": frame.hex(), "verdict": said["verdict"], "to": to,
            "answered": bool(said["answered_for"]),
            "want": want, "meters": [meter_title(m) for m in said["meters"]],
            "passes": [], "rule": None, "offload": None, "lie": None, **more})

    def ask_path(self, rule, path):
        fields = self.own_port(parse(path["trace"]))
        self.ask(fields, path["role"], rule=rule, offload=path["verdict"],
                 passes=[p["hardware"] for p in path["passes"]])

    def own_port(self, fields):
        """A connection of its own."""
        for side in "src", "dst":
            name = port_field(fields, side)
            if name and fields[name] == CLIENT_PORT:
                fields[name] = str(int(CLIENT_PORT) + self.number)
        return fields

    def ask_connection(self, rule, paths):
        """Then the same again, by liars, before any connection."""
        first = parse(paths[0]["trace"])
        if self.device(first) not in self.owners:
            return
        for lie, fields in self.lies(first):
            self.number += 1
            self.ask(self.own_port(fields), "any", lie=lie)
        self.number += 1
        for path in sorted(paths, key=lambda p: TURNS.index(p["role"])):
            if self.device(parse(path["trace"])) in self.owners:
                self.ask_path(rule, path)

    def lies(self, fields):
        """What a sender could say that is not true, or not meant."""
        if fields["protocol"] == "arp" or "nd_target" in fields:
            return
        me = self.owners[self.device(fields)]
        v6 = "ipv6_src" in fields
        ip = "ipv6_src" if v6 else "nw_src"
        friend = self.other(me, v6, True)
        if friend:
            yield "source MAC", {**fields, "dl_src": friend.mac}
            yield "source IP", {**fields, ip: friend.address(v6)}
        stranger = self.other(me, v6, False)
        if stranger:
            yield "source", {**fields, "dl_src": stranger.mac,
                             ip: stranger.address(v6)}
            yield "destination MAC", {**fields, "dl_dst": stranger.mac}
        port = port_field(fields, "dst")
        if port:
            yield "destination port", {**fields,
                                       port: str(int(fields[port]) ^ 1)}

    def other(self, me, v6, same_tenant):
        """One after the other, so that each has its turn."""
        found = [e for e in self.intent.endpoints
                 if e is not me and e.address(v6)
                 and (e.tenant == me.tenant) == same_tenant]
        return found[self.number % len(found)] if found else None


    def flood(self):
        """A large packet, and what its tenant may send, if that is so little
        that a test can send more; else None."""
        with open(self.path, encoding="utf-8") as stream:
            tenants = json.load(stream)["tenants"]
        for packet in self.packets:
            tenant = self.owners[packet["port"]].tenant
            bandwidth = tenants[tenant].get("bandwidth", {})
            rate = re.fullmatch(r"(\d+)Mbps", bandwidth.get("limit", ""))
            burst = re.fullmatch(r"(\d+)KiB", bandwidth.get("burst", ""))
            if (packet["offload"] == "hardware" and packet["role"] == "any"
                    and packet["to"] and rate and burst
                    and int(rate[1]) <= MOST_MBPS):
                fields = parse(packet["what"].split(" ", 1)[1])
                frame = make_frame(fields, "any", 0, b"bulkhead-flood".ljust(
                    FLOOD_BYTES, b"."))
                return {**packet, "token": "bulkhead-flood",
                        "frame": frame.hex(), "rate": int(rate[1]) * 1000000,
                        "burst": int(burst[1]) * 1024}
        return None


def meter_title(meter):
    """As "offload -o" and manifests call it."""
    name = meter["tenant"]
    if meter.get("endpoint"):
        name += "/" + meter["endpoint"]
    return name + (" (receive)" if meter["of"] == "receive" else "")


def connections(rule):
    """The paths of a rule, those of one connection together."""
    found = []
    for path in rule["paths"]:
        if path["role"] in ("any", "opens") or not found:
            found.append([])
        found[-1].append(path)
    return found


def main():
    path, node, profile, out, *options = sys.argv[1:]
    report = json.loads(bulkhead("offload", path, f"--node={node}",
                                 f"--profile={profile}", "-f", "json"))
    questions = Questions(path, node, report)
    for rule in report["rules"]:
        for paths in connections(rule):
            questions.ask_connection(rule["name"], paths)
    with open(out, "w", encoding="utf-8") as stream:
        json.dump({"intent": os.path.abspath(path), "node": node,
                   "tenants": {port: owner.tenant for port, owner
                               in questions.owners.items()},
                   "ports": report["ports"], "packets": questions.packets,
                   "flood": questions.flood(),
                   "every": "--every" in options,
                   "rules": {rule["name"]: rule["verdict"]
                             for rule in report["rules"]}}, stream)


try:
    main()
except SwitchError as error:
    sys.exit(f"predictions.py: {error}")
