# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Sends packets from and for the externals of examples/internet-gateway.json
through a private dummy-port switch; every port's capture counts.

usage: externals.py INTENT NODE BRIDGE MANIFEST CHANGED

CHANGED is the intent without the rule "visitors".
"""

import json
import os
import sys

import frames
import intent as intents
from frames import ACK, ICMP, IPV4, IPV6, PSH, SYN, TCP, UDP
from probes import Lab
from switch import run

ROUTERS = {"ext0": "02:00:00:00:ee:01", "ext1": "02:00:00:00:ee:02",
           "mgmt0": "02:00:00:00:ee:03"}
WWW, DB, BOT = "203.0.113.2", "203.0.113.3", "203.0.113.18"
WWW6 = "2001:db8:7::2"
VISITOR, MIRROR = "8.8.8.8", "151.101.3.4"


class Trial:
    def __init__(self, lab, intent, manifest):
        self.lab = lab
        self.intent = intent
        with open(manifest, encoding="utf-8") as stream:
            externals = json.load(stream)["externals"]
        self.gateways = {e["interface"]: e["gateway_mac"] for e in externals}
        self.wrong = 0

    def note(self, what, problem):
        print(f"not ok - {what}: {problem}" if problem else f"ok - {what}")
        self.wrong += bool(problem)

    def wrap(self, port, packet, src_mac=None):
        """The packet as the router behind the port sends it, or the endpoint
        there through its gateway."""
        family = IPV6 if packet[0] >> 4 == 6 else IPV4
        if port in ROUTERS:
            return frames.ether(self.gateways[port], src_mac or ROUTERS[port],
                                family, packet)
        return frames.ether(self.network_gateway(port),
                            src_mac or self.endpoint(port).mac, family, packet)

    def endpoint(self, port):
        return next(e for e in self.intent.endpoints if e.interface == port)

    @staticmethod
    def network_gateway(port):
        vni = {"web0": 7001, "web1": 7001, "bot0": 7002, "bm0": 7003}[port]
        return f"0a:b1:7d:00:{vni >> 8:02x}:{vni & 0xff:02x}"

    def send(self, port, frame):
        return self.lab.send(port, frame)[0]

    def dropped(self, what, port, packet, src_mac=None):
        seen = self.send(port, self.wrap(port, packet, src_mac))
        self.note(what, f"it went to {', '.join(seen)}" if seen else "")

    def passes(self, what, port, packet, to, dscp=0):
        """It arrives there, once, routed and marked."""
        frame = self.wrap(port, packet)
        seen = self.send(port, frame)
        dst, src = ((ROUTERS[to], self.gateways[to]) if to in ROUTERS
                    else (self.endpoint(to).mac, self.network_gateway(to)))
        want = frames.rewritten(frame, dscp, dst, src, 1)
        if list(seen) != [to]:
            problem = f"it went to {', '.join(seen) or 'nobody'}"
        elif len(seen[to]) != 1 or seen[to][0][:len(want)] != want:
            problem = f"it arrived as {frames.parse(seen[to][0])}"
        else:
            problem = ""
        self.note(what, problem)

    def answers(self, what, frame, target):
        """The node answers with its MAC there; nothing if 'target' is
        None."""
        seen = self.send("ext0", frame)
        if not target:
            self.note(what, f"{seen}" if seen else "")
            return
        answer = frames.parse(seen.get("ext0", [bytes(64)])[0])
        right = (list(seen) == ["ext0"] and answer.valid
                 and answer.ip_claim == target
                 and answer.mac_claim == self.gateways["ext0"]
                 and answer.dst == ROUTERS["ext0"])
        self.note(what, "" if right else f"it got {answer}")


def syn(src, dst, sport, dport, flags=SYN, **kwargs):
    return frames.ip(src, dst, TCP,
                     frames.tcp(src, dst, sport, dport, flags, **kwargs))


def datagram(src, dst, sport, dport):
    return frames.ip(src, dst, UDP,
                     frames.udp(src, dst, sport, dport, b"bulkhead"))


def neighbors(trial):
    mac = ROUTERS["ext0"]
    trial.answers("ARP for the gateway",
                  frames.arp_request(mac, "192.0.2.9", "192.0.2.1"),
                  "192.0.2.1")
    trial.answers("a solicitation for the gateway",
                  frames.solicitation(mac, "fe80::1", "2001:db8:ffff::1"),
                  "2001:db8:ffff::1")
    trial.answers("ARP for an endpoint",
                  frames.arp_request(mac, "192.0.2.9", WWW), None)
    trial.answers("ARP from another MAC", frames.arp_request(
        "02:00:00:00:ee:0f", "192.0.2.9", "192.0.2.1"), None)


def inward(trial):
    trial.passes("a visitor", "ext0", syn(VISITOR, WWW, 5000, 443), "web0", 10)
    trial.passes("the answer to it", "web0",
                 syn(WWW, VISITOR, 443, 5000, SYN | ACK, ack=2), "ext0", 10)
    trial.passes("its next packet", "ext0",
                 syn(VISITOR, WWW, 5000, 443, PSH | ACK, seq=2, ack=2,
                     data=b"hello"), "web0", 10)
    trial.passes("a visitor by IPv6", "ext0",
                 syn("2600::1", WWW6, 5000, 443), "web0", 10)
    trial.passes("staff", "ext1", syn("198.51.100.7", DB, 5000, 22), "web1")
    for what, port, packet in (
            ("another port", "ext0", syn(VISITOR, WWW, 5001, 80)),
            ("another endpoint", "ext0", syn(VISITOR, DB, 5001, 443)),
            ("who is blocked", "ext0", syn("45.95.1.1", WWW, 5001, 443)),
            ("an endpoint of who does not use it", "ext0",
             syn(VISITOR, "10.9.0.10", 5001, 22)),
            ("RoCEv2", "ext0", datagram(VISITOR, WWW, 5001, 4791)),
            ("a DHCP server", "ext0", datagram(VISITOR, WWW, 67, 443)),
            ("an excepted source", "ext0", syn("10.1.1.1", WWW, 5001, 443)),
            ("a source of another external", "ext0",
             syn("198.51.100.7", WWW, 5001, 443)),
            ("a source that is an endpoint's", "ext0",
             syn(BOT, WWW, 5001, 443)),
            ("a source in a tenant's subnet", "ext0",
             syn("203.0.113.9", WWW, 5001, 443)),
            ("a loopback source", "ext0", syn("127.0.0.1", WWW, 5001, 443)),
            ("a multicast source", "ext0", syn("224.0.0.1", WWW, 5001, 443)),
            ("staff through the other router", "ext0",
             syn("10.64.1.1", DB, 5001, 22)),
            ("a broadcast", "ext0",
             datagram(VISITOR, "255.255.255.255", 5001, 443))):
        trial.dropped(what, port, packet)
    trial.dropped("not from the router", "ext0",
                  syn(VISITOR, WWW, 5001, 443), "02:00:00:00:ee:0f")


def error_about(src, packet):
    """Fragmentation needed, of a router on the way."""
    return frames.ip(src, WWW, ICMP, frames.icmp_error(
        src, WWW, "packet too big", packet)[1])


def outward(trial):
    request = syn(WWW, MIRROR, 6000, 443)
    trial.dropped("an answer to nothing", "ext0",
                  syn(MIRROR, WWW, 443, 6000, SYN | ACK, ack=2))
    trial.passes("an update", "web0", request, "ext0")
    trial.passes("an ICMP error about it, of somebody on the way", "ext0",
                 error_about("9.9.9.9", request), "web0")
    trial.dropped("an ICMP error about nothing", "ext0",
                  error_about("9.9.9.9", syn(WWW, MIRROR, 6001, 443)))
    trial.dropped("one of a router that is numbered privately", "ext0",
                  error_about("10.1.1.1", request))
    trial.passes("the answer to it", "ext0",
                 syn(MIRROR, WWW, 443, 6000, SYN | ACK, ack=2), "web0")
    trial.dropped("updates from elsewhere", "web0",
                  syn(WWW, VISITOR, 6002, 443))
    trial.dropped("the campus, which may only call", "web0",
                  syn(WWW, "198.51.100.7", 6002, 443))
    trial.dropped("what is nobody's", "web0", syn(WWW, "10.1.1.1", 6002, 443))
    trial.dropped("another tenant", "web0", syn(WWW, BOT, 6002, 443))
    trial.dropped("a lie about who asks", "web0",
                  syn("203.0.113.9", MIRROR, 6002, 443))
    trial.passes("a crawler", "bot0", datagram(BOT, VISITOR, 7000, 53), "ext0")
    trial.dropped("its mail", "bot0", syn(BOT, VISITOR, 7000, 25))
    trial.passes("PXE", "bm0", datagram("10.9.0.10", "192.168.10.69", 2000,
                                        69), "mgmt0")


def peerings(trial):
    for port, address in (("web1", DB), ("bot0", BOT)):
        trial.passes("the time, which is imposed", port,
                     datagram(address, "192.168.10.123", 123, 123), "mgmt0")
        trial.passes("the answer to it", "mgmt0",
                     datagram("192.168.10.123", address, 123, 123), port)
    trial.passes("logs of who consents", "bm0",
                 syn("10.9.0.10", "192.168.10.51", 2001, 6514), "mgmt0")
    for what, port, packet in (
            ("logs of who does not", "web1",
             syn(DB, "192.168.10.51", 2001, 6514)),
            ("what no peering is for", "bot0",
             datagram(BOT, "192.168.10.123", 123, 124)),
            ("an address beside it", "bot0",
             datagram(BOT, "192.168.10.122", 123, 123)),
            ("the server of the time, calling", "mgmt0",
             datagram("192.168.10.123", "10.9.0.10", 124, 123))):
        trial.dropped(what, port, packet)


def withdrawn(trial, changed, node, bridge):
    run(os.environ["BULKHEAD"], "apply", changed, "--node", node, "--bridge",
        bridge, "-t", "10")
    trial.lab.command("revalidator/wait")
    trial.dropped("a visitor whose rule is withdrawn", "ext0",
                  syn(VISITOR, WWW, 5000, 443, PSH | ACK, seq=7, ack=2,
                      data=b"still there?"))
    trial.dropped("and what it would be told", "web0",
                  syn(WWW, VISITOR, 443, 5000, PSH | ACK, seq=2, ack=7,
                      data=b"hello"))


def main():
    path, node, bridge, manifest, changed = sys.argv[1:]
    intent = intents.load(path, node)
    lab = Lab(intent, bridge, manifest)
    trial = Trial(lab, intent, manifest)
    try:
        neighbors(trial)
        inward(trial)
        outward(trial)
        peerings(trial)
        withdrawn(trial, changed, node, bridge)
    finally:
        lab.close()
    return 1 if trial.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
