# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Sends the packets of a probe table through a private dummy-port switch.

usage: probes.py TABLE INTENT NODE BRIDGE MANIFEST

A result is what was seen in the captures of all ports; the flow counters only
put a name to it.  OVS_RUNDIR names the switch.
"""

import collections
import os
import sys
from dataclasses import dataclass, field

import frames
import intent as intents
from switch import (Capture, Reasons, SwitchError, Unixctl, await_true,
                    dump_flows)

# Nobody's; where a frame goes when the gateway never told its own.
NO_MAC = "02:de:ad:00:00:00"


@dataclass
class Probe:
    """One line of the table."""
    section: str
    sender: str
    receiver: str
    packet: str
    verdict: str
    wants: dict
    results: list = field(default_factory=list)

    @property
    def words(self):
        return self.packet.split()

    def option(self, name):
        for word in self.words:
            if word.startswith(name + "="):
                return word.split("=", 1)[1]
        return None

    @property
    def kind(self):
        """The words that say protocol and port: tcp 443."""
        two = self.words[0] in ("tcp", "udp")
        return " ".join(self.words[:2 if two else 1])

    @property
    def v6(self):
        return "v6" in self.words or self.words[0] in ("ns", "na", "ra")


@dataclass
class Result:
    """What one packet of a probe did, and what it should have done."""
    sender: str
    receiver: str
    verdict: str
    reason: str
    wrong: str = ""


def read_table(path):
    probes, section = [], ""
    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            line = line.strip()
            if line.startswith("[") and line.endswith("]"):
                section = line[1:-1]
            elif line and not line.startswith("#"):
                cells = [cell.strip() for cell in line.split("|")]
                if len(cells) != 4:
                    raise ValueError(f"{path}:{number}: not four columns")
                verdict, *rest = cells[3].split()
                if verdict not in ("reached", "dropped", "answered",
                                   "copied"):
                    raise ValueError(f"{path}:{number}: '{verdict}'?")
                wants = dict(word.split("=", 1) for word in rest)
                probes.append(Probe(section, *cells[:3], verdict, wants))
    return probes


class Packets:
    """Makes the frame of a probe; remembers connections and gateways."""

    def __init__(self, intent):
        self.intent = intent
        self.hops = 1           # Routers between two tenants.
        self.gateways = {}      # (endpoint, v6): MAC, as the switch told it
        self.ports = {}         # (sender, receiver, kind, v6): source port
        self.next_port = 40000

    def gateway_mac(self, endpoint, v6):
        return self.gateways.get((endpoint.full_name, v6), NO_MAC)

    def liar(self, probe, name, honest, sender, address):
        """What the sender claims: 'honest', or the address of another."""
        other = probe.option(name)
        if other is None:
            return honest
        if other == "gateway":
            return (self.gateway_mac(sender, probe.v6) if address == "mac"
                    else sender.gateway(probe.v6))
        victim = self.intent.find(other)[0]
        return victim.mac if address == "mac" else victim.address(probe.v6)

    def frame(self, probe, sender, receiver):
        mac = self.liar(probe, "src-mac", sender.mac, sender, "mac")
        if probe.words[0] in ("arp", "ns", "garp", "na", "ra"):
            return self.resolution(probe, sender, receiver, mac)
        if probe.words[0] == "group":
            return self.group(probe, sender, mac)
        if probe.words[0].startswith("dhcp-"):
            return self.dhcp(probe, sender, receiver, mac)
        src = self.liar(probe, "src-ip", sender.address(probe.v6), sender,
                        "ip")
        dst = receiver.address(probe.v6)
        protocol, body = self.transport(probe, sender, receiver, src, dst)
        to = (self.gateway_mac(sender, probe.v6)
              if "via-gateway" in probe.words
              else frames.BROADCAST if "to-broadcast" in probe.words
              else receiver.mac)
        return frames.ether(to, mac, frames.IPV6 if probe.v6 else frames.IPV4,
                            frames.ip(src, dst, protocol, body,
                                      int(probe.option("ttl") or 64)))

    def resolution(self, probe, sender, receiver, mac):
        """ARP and neighbour discovery, honest or not."""
        v6 = probe.v6
        target = receiver.address(v6) if receiver else sender.gateway(v6)
        src = self.liar(probe, "src-ip", sender.address(v6), sender, "ip")
        own = self.liar(probe, "claim-mac", mac, sender, "mac")
        claim = self.liar(probe, "claim-ip", sender.address(v6), sender, "ip")
        kind = probe.words[0]
        if kind == "arp":
            return frames.ether(frames.BROADCAST, mac, frames.ARP, frames.arp(
                1, own, claim, "00:00:00:00:00:00", target))
        if kind == "garp":
            return frames.ether(frames.BROADCAST, mac, frames.ARP, frames.arp(
                2, own, claim, frames.BROADCAST, claim))
        if kind == "ns":
            return frames.solicitation(mac, src, target, own)
        if kind == "na":
            return frames.advertisement(receiver.mac, target, mac, src, claim)
        return frames.router_advertisement(mac, src)

    def group(self, probe, sender, mac):
        """UDP to a multicast group: group ADDRESS PORT."""
        group, port = probe.words[1], int(probe.words[2])
        src = self.liar(probe, "src-ip", sender.address(":" in group), sender,
                        "ip")
        to = frames.group_mac(probe.option("mac-of") or group)
        return frames.ether(to, mac, frames.IPV6 if ":" in group else
                            frames.IPV4, frames.ip(
                                src, group, frames.UDP, frames.udp(
                                    src, group, 5000, port, b"bulkhead")))

    def dhcp(self, probe, sender, receiver, mac):
        """A request, or an answer: dhcp-offer or, for all, dhcp-nak."""
        v6, words = probe.v6, probe.words
        ask = words[0] in ("dhcp-discover", "dhcp-renew")
        to, src, dst = (receiver.mac, sender.address(v6),
                        receiver.address(v6))
        if v6 and words[0] != "dhcp-renew":
            src, dst = frames.link_local(sender.mac), frames.link_local(to)
        if words[0] == "dhcp-discover":
            to, src, dst = (("33:33:00:01:00:02", src, "ff02::1:2") if v6 else
                            (frames.BROADCAST, "0.0.0.0", "255.255.255.255"))
        elif words[0] == "dhcp-nak":
            to, dst = frames.BROADCAST, "255.255.255.255"
        src = self.liar(probe, "src-ip", src, sender, "ip")
        client, server = (546, 547) if v6 else (68, 67)
        return frames.ether(to, mac, frames.IPV6 if v6 else frames.IPV4,
                            frames.ip(src, dst, frames.UDP, frames.udp(
                                src, dst, client if ask else server,
                                server if ask else client, bytes(16))))

    def transport(self, probe, sender, receiver, src, dst):
        words = probe.words
        port = self.source_port(probe, sender, receiver)
        if words[0] == "ping":
            return frames.echo(src, dst, ident=port, data=b"bulkhead",
                               reply="reply" in words)
        if words[0] == "rocev2":
            return frames.UDP, frames.udp(src, dst, port,
                                          frames.ROCEV2_PORT, bytes(16))
        sport, dport = port, int(words[1])
        if "reply" in words or "syn-ack" in words:
            sport, dport = dport, sport
        if words[0] == "udp":
            return frames.UDP, frames.udp(src, dst, sport, dport, b"bulkhead")
        if "reply" in words or "syn-ack" in words:
            return frames.TCP, frames.tcp(src, dst, sport, dport, frames.SYN
                                          | frames.ACK, 5000, 1001)
        if "data" in words:
            return frames.TCP, frames.tcp(src, dst, sport, dport, frames.PSH
                                          | frames.ACK, 1001, 5001, b"hello")
        return frames.TCP, frames.tcp(src, dst, sport, dport, seq=1000)

    def source_port(self, probe, sender, receiver):
        """The client's port: the latest connection's, or one never used."""
        pair = (sender.full_name, receiver.full_name)
        if "reply" in probe.words:
            return self.ports[(*pair[::-1], probe.kind, probe.v6)]
        if "data" in probe.words:
            return self.ports[(*pair, probe.kind, probe.v6)]
        self.next_port += 1
        self.ports[(*pair, probe.kind, probe.v6)] = self.next_port
        return self.next_port


class Lab:
    """The switch: puts a frame on a port, tells where what came out."""

    def __init__(self, intent, bridge, manifest):
        rundir = os.environ["OVS_RUNDIR"]
        self.bridge = bridge
        self.command = Unixctl(rundir)
        self.reasons = Reasons(manifest)
        self.captures = {name: Capture(f"{rundir}/{name}.pcap")
                         for name in [*intent.interfaces(), bridge]}
        self.sentinel = Capture(f"{rundir}/sentinel1.pcap")

    def settle(self, rounds=2):
        """Waits until the switch has dealt with all that was sent, at most
        'rounds' - 1 packets a port.

        Packets cross a bridge beside the tested one.  The main thread polls
        every port in a round, so when the second has crossed, the round that
        took the first, and all that was queued before it, is over."""
        for _ in range(rounds):
            self.command("netdev-dummy/receive", "sentinel0", "00" * 60)
            await_true(self.sentinel.read, 5, "the sentinel packet")

    def send(self, interface, frame):
        """Returns ({port: [frame]}, deciding rule or reason)."""
        # Without a cached flow each packet is looked up, and counted, anew.
        self.command("revalidator/purge")
        before = dump_flows(self.bridge)
        self.command("netdev-dummy/receive", interface, frame.hex())
        self.settle()
        seen = {name: capture.read()
                for name, capture in self.captures.items()}
        seen = {name: out for name, out in seen.items() if out}
        return seen, self.reasons.decide(before, dump_flows(self.bridge),
                                         not seen)

    def close(self):
        for capture in [*self.captures.values(), self.sentinel]:
            capture.close()


def verdict_of(seen, sender, receiver, copied):
    """In words, from where the packet came out.  'copied' are the interfaces
    that should get one each."""
    if not seen:
        return "dropped"
    if copied and sorted(seen) == sorted(copied):
        return "copied"
    if receiver and list(seen) == [receiver.interface]:
        return "reached"
    if list(seen) == [sender.interface]:
        return "answered"
    return "went to " + ", ".join(seen)


def expected_frame(probe, packets, frame, receiver):
    dscp = int(probe.wants.get("dscp", 0))
    if "via-gateway" in probe.words:
        return frames.rewritten(frame, dscp, receiver.mac,
                                packets.gateway_mac(receiver, probe.v6),
                                packets.hops)
    return frames.rewritten(frame, dscp)


def differences(got, want):
    """The fields in which a delivered frame is not as it should be."""
    got, want = frames.parse(got), frames.parse(want)
    return [f"{name} {getattr(got, name)!s:.40} instead of {value!s:.40}"
            for name, value in vars(want).items()
            if getattr(got, name) != value]


def check_delivery(probe, packets, frame, receiver, out):
    want = expected_frame(probe, packets, frame, receiver)
    if len(out) != 1:
        return f"came {len(out)} times"
    if out[0][:len(want)] != want or any(out[0][len(want):]):
        return "altered: " + "; ".join(differences(out[0], want))
    return ""


def check_expired(probe, sender, answer):
    """An ICMP error that the TTL is over, for us."""
    protocol, kind = (58, b"\x03") if probe.v6 else (1, b"\x0b")
    told = (answer.protocol == protocol and answer.payload[:1] == kind
            and answer.valid and answer.dst == sender.mac)
    return "" if told else f"not that the TTL is over: {answer}"


def check_answer(probe, packets, sender, receiver, out):
    """An ARP or ND answer must be valid, for us, and name the right MAC."""
    if len(out) != 1:
        return f"{len(out)} answers"
    answer = frames.parse(out[0])
    if probe.option("ttl"):
        return check_expired(probe, sender, answer)
    asked = (receiver.address(probe.v6) if receiver
             else sender.gateway(probe.v6))
    is_answer = (answer.icmp_type == 136 if probe.v6 else answer.arp_op == 2)
    if not (is_answer and answer.valid and answer.dst == sender.mac
            and answer.ip_claim == asked and answer.mac_claim == answer.src):
        return f"not a right answer: {answer}"
    if receiver and answer.mac_claim != receiver.mac:
        return f"answered with {answer.mac_claim}, not {receiver.mac}"
    if not receiver:
        packets.gateways[sender.full_name, probe.v6] = answer.mac_claim
    return ""


def judge(probe, packets, frame, sender, receiver, seen, reason):
    copied = [packets.intent.find(name)[0].interface
              for name in probe.wants.get("to", "").split(",") if name]
    verdict = verdict_of(seen, sender, receiver, copied)
    if verdict == "answered" and reason == "-":
        reason = "the switch"
    result = Result(sender.name, receiver.name if receiver else "gateway",
                    verdict, reason)
    if verdict != probe.verdict:
        result.wrong = f"expected: {probe.verdict}"
    elif verdict == "reached":
        result.wrong = check_delivery(probe, packets, frame, receiver,
                                      seen[receiver.interface])
    elif verdict == "copied":
        result.wrong = "; ".join(filter(None, (
            check_delivery(probe, packets, frame, None, out)
            for out in seen.values())))
    elif verdict == "answered":
        result.wrong = check_answer(probe, packets, sender, receiver,
                                    seen[sender.interface])
    if not result.wrong and probe.wants.get("by", reason) != reason:
        result.wrong = f"expected: by {probe.wants['by']}"
    return result


def pairs(probe, intent):
    everyone = intent.endpoints
    senders = everyone if probe.sender == "each" else intent.find(probe.sender)
    if probe.receiver == "gateway":
        return [(sender, None) for sender in senders]
    return [(sender, receiver) for sender in senders
            for receiver in intent.find(probe.receiver)
            if sender is not receiver]


def run_probe(probe, intent, packets, lab):
    for sender, receiver in pairs(probe, intent):
        frame = packets.frame(probe, sender, receiver)
        seen, reason = lab.send(sender.interface, frame)
        probe.results.append(judge(probe, packets, frame, sender, receiver,
                                   seen, reason))


def rows(probe):
    """One row for the probe when all went right, else the wrong ones too."""
    right = [r for r in probe.results if not r.wrong]
    if right:
        count = f" ({len(right)} packets)" if len(right) > 1 else ""
        yield (" ", probe.sender, probe.receiver, probe.packet + count,
               probe.verdict, ", ".join(sorted({r.reason for r in right})))
    for r in probe.results:
        if r.wrong:
            yield ("!", r.sender, r.receiver, probe.packet, r.verdict,
                   f"{r.reason}   WRONG, {r.wrong}")


def report(probes):
    head = ("", "FROM", "TO", "PACKET", "RESULT", "BY")
    table = [(probe.section, row) for probe in probes for row in rows(probe)]
    widths = [max(len(row[i]) for row in [head, *(r for _, r in table)])
              for i in range(5)]

    def show(row):
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        print("  ".join([*cells, row[5]]).rstrip())

    show(head)
    section = None
    for title, row in table:
        if title != section:
            print(f"\n{title}")
            section = title
        show(row)
    results = [result for probe in probes for result in probe.results]
    wrong = sum(bool(r.wrong) for r in results)
    counts = collections.Counter(
        "reached" if r.verdict == "copied" else r.verdict for r in results)
    print(f"\n{len(results)} packets: {counts['reached']} reached, "
          f"{counts['answered']} answered, {counts['dropped']} dropped, "
          f"{wrong} wrong")
    return wrong


def main():
    table, intent_path, node, bridge, manifest = sys.argv[1:]
    intent = intents.load(intent_path, node)
    probes = read_table(table)
    packets = Packets(intent)
    lab = Lab(intent, bridge, manifest)
    try:
        for probe in probes:
            run_probe(probe, intent, packets, lab)
    finally:
        lab.close()
    return 1 if report(probes) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (SwitchError, ValueError, OSError) as error:
        sys.exit(f"probes: {error}")
