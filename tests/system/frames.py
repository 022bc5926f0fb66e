# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Ethernet frames, made and read by hand: what a tenant could put on its port.

Addresses are text ("02:00:00:01:00:00", "10.1.0.10", "fd00:1::10"), frames
are bytes.  Every checksum is right unless a caller spoils it on purpose.
"""

import ipaddress
import struct
from dataclasses import dataclass

ARP, IPV4, IPV6 = 0x0806, 0x0800, 0x86dd
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
BROADCAST = "ff:ff:ff:ff:ff:ff"
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
ROCEV2_PORT = 4791
# What a tenant writes into the DSCP field, to see it rewritten, and ECT(0),
# which must survive.
TENANT_TOS = 56 << 2 | 2


def mac_bytes(mac):
    return bytes.fromhex(mac.replace(":", ""))


def mac_text(raw):
    return ":".join(f"{byte:02x}" for byte in raw)


def ip_bytes(ip):
    return ipaddress.ip_address(ip).packed


def is_v6(ip):
    return ":" in ip


def checksum(data):
    """The Internet checksum (RFC 1071) of 'data'."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ether(dst, src, ethertype, payload):
    """Padded to 64 bytes, which no switch port lengthens any further."""
    head = mac_bytes(dst) + mac_bytes(src) + struct.pack("!H", ethertype)
    return (head + payload).ljust(64, b"\0")


def arp(op, sha, spa, tha, tpa, token=b""):
    """The ARP body; 'token' goes into what is padding on the wire."""
    return (struct.pack("!HHBBH", 1, IPV4, 6, 4, op) + mac_bytes(sha)
            + ip_bytes(spa) + mac_bytes(tha) + ip_bytes(tpa) + token)


def pseudo_header(src, dst, protocol, length):
    addresses = ip_bytes(src) + ip_bytes(dst)
    if is_v6(src):
        return addresses + struct.pack("!IHBB", length, 0, 0, protocol)
    return addresses + struct.pack("!BBH", 0, protocol, length)


def ip(src, dst, protocol, payload, ttl=64, tos=TENANT_TOS):
    """An IPv4 or IPv6 packet, as the addresses say."""
    if is_v6(src):
        head = struct.pack("!IHBB", 6 << 28 | tos << 20, len(payload),
                           protocol, ttl)
        return head + ip_bytes(src) + ip_bytes(dst) + payload
    head = struct.pack("!BBHHHBBH", 0x45, tos, 20 + len(payload), 0, 0x4000,
                       ttl, protocol, 0) + ip_bytes(src) + ip_bytes(dst)
    return (head[:10] + struct.pack("!H", checksum(head)) + head[12:]
            + payload)


def fill_checksum(src, dst, protocol, segment, offset):
    total = checksum(pseudo_header(src, dst, protocol, len(segment))
                     + segment)
    return (segment[:offset] + struct.pack("!H", total)
            + segment[offset + 2:])


def tcp(src, dst, sport, dport, flags=SYN, seq=1, ack=0, data=b""):
    segment = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, 5 << 4, flags,
                          65535, 0, 0) + data
    return fill_checksum(src, dst, TCP, segment, 16)


def udp(src, dst, sport, dport, data=b""):
    segment = struct.pack("!HHHH", sport, dport, 8 + len(data), 0) + data
    return fill_checksum(src, dst, UDP, segment, 6)


def icmpv6(src, dst, kind, body):
    return fill_checksum(src, dst, ICMPV6, struct.pack("!BBH", kind, 0, 0)
                         + body, 2)


def echo(src, dst, ident=1, seq=1, data=b"", reply=False):
    """An ICMP or ICMPv6 echo; returns (IP protocol, bytes)."""
    body = struct.pack("!HH", ident, seq) + data
    if is_v6(src):
        return ICMPV6, icmpv6(src, dst, 129 if reply else 128, body)
    head = struct.pack("!BBH", 0 if reply else 8, 0, 0)
    total = checksum(head + body)
    return ICMP, head[:2] + struct.pack("!H", total) + body


# (type, code, rest of the header), of ICMP and of ICMPv6.
ERRORS = {"port unreachable": ((3, 3, 0), (1, 4, 0)),
          "packet too big": ((3, 4, 1400), (2, 0, 1400))}


def icmp_error(src, dst, kind, packet):
    """An ICMP or ICMPv6 error about 'packet'; (IP protocol, bytes)."""
    number, code, rest = ERRORS[kind][is_v6(src)]
    message = struct.pack("!BBHI", number, code, 0, rest) + packet
    if is_v6(src):
        return ICMPV6, fill_checksum(src, dst, ICMPV6, message, 2)
    return ICMP, (message[:2] + struct.pack("!H", checksum(message))
                  + message[4:])


def redirect(src, dst, to, token=b""):
    """"Send it to me instead of to the router 'to'"; (protocol, bytes)."""
    if is_v6(src):
        return ICMPV6, icmpv6(src, dst, 137, bytes(4) + ip_bytes(src)
                              + ip_bytes(to) + token_option(token))
    body = ip_bytes(src) + ip(dst, to, UDP, udp(dst, to, 9, 9, token))
    total = checksum(b"\5\1\0\0" + body)
    return ICMP, b"\5\1" + struct.pack("!H", total) + body


def link_local(mac):
    """The link-local address that follows from a MAC (RFC 4291, 2.5.1)."""
    raw = mac_bytes(mac)
    return str(ipaddress.ip_address(
        ip_bytes("fe80::")[:8] + bytes([raw[0] ^ 2]) + raw[1:3] + b"\xff\xfe"
        + raw[3:]))


def solicited_node(target):
    """The multicast address and MAC that a solicitation goes to."""
    last = ip_bytes(target)[-3:]
    group = ip_bytes("ff02::1:ff00:0")[:13] + last
    return str(ipaddress.ip_address(group)), "33:33:ff:" + mac_text(last)


def group_mac(group):
    """The MAC of a multicast group (RFC 1112, 6.4; RFC 2464, 7)."""
    raw = ip_bytes(group)
    if is_v6(group):
        return "33:33:" + mac_text(raw[-4:])
    return "01:00:5e:" + mac_text(bytes([raw[1] & 0x7f]) + raw[2:])


def lladdr_option(kind, mac):
    return struct.pack("!BB", kind, 1) + mac_bytes(mac)


def token_option(token):
    """An option of no known type: receivers skip it (RFC 4861, 4.6)."""
    return struct.pack("!BB", 253, 1) + token.ljust(6, b"\0") if token else b""


def solicitation(mac, src, target, sll=None, token=b""):
    """Neighbour solicitation, as a whole frame."""
    group, group_mac = solicited_node(target)
    body = (bytes(4) + ip_bytes(target) + lladdr_option(1, sll or mac)
            + token_option(token))
    return ether(group_mac, mac, IPV6,
                 ip(src, group, ICMPV6, icmpv6(src, group, 135, body),
                    ttl=255, tos=0))


def advertisement(dst_mac, dst, mac, src, target, tll=None, token=b""):
    """Neighbour advertisement with the override flag, as a whole frame."""
    body = (struct.pack("!I", 0x20000000) + ip_bytes(target)
            + lladdr_option(2, tll or mac) + token_option(token))
    return ether(dst_mac, mac, IPV6,
                 ip(src, dst, ICMPV6, icmpv6(src, dst, 136, body), ttl=255,
                    tos=0))


def router_advertisement(mac, src, token=b""):
    """"I am your default router, for half an hour", to all nodes."""
    body = (struct.pack("!BBHII", 64, 0, 1800, 0, 0) + lladdr_option(1, mac)
            + token_option(token))
    return ether("33:33:00:00:00:01", mac, IPV6,
                 ip(src, "ff02::1", ICMPV6,
                    icmpv6(src, "ff02::1", 134, body), ttl=255, tos=0))


def arp_request(mac, src, target, token=b""):
    return ether(BROADCAST, mac, ARP,
                 arp(1, mac, src, "00:00:00:00:00:00", target, token))


def _vlan(one, other, token):
    """An 802.1Q tag in front of an honest datagram."""
    packet = ip(one.v4, other.v4, UDP, udp(one.v4, other.v4, 9, 9, token))
    return ether(other.mac, one.mac, 0x8100,
                 struct.pack("!HH", 0, IPV4) + packet)


def _fragment(one, other, token):
    """A later IPv4 fragment: no ports in it."""
    packet = bytearray(ip(one.v4, other.v4, UDP, token.ljust(16, b"\0")))
    packet[6:8] = struct.pack("!H", 64)
    packet[10:12] = b"\0\0"
    packet[10:12] = struct.pack("!H", checksum(bytes(packet[:20])))
    return ether(other.mac, one.mac, IPV4, bytes(packet))


def _hop_by_hop(one, other, token):
    """IPv6 with an extension header in front of UDP."""
    body = (struct.pack("!BBBB", UDP, 0, 1, 4) + bytes(4)
            + udp(one.v6, other.v6, 9, 9, token))
    return ether(other.mac, one.mac, IPV6, ip(one.v6, other.v6, 0, body))


# What a match on plain TCP, UDP and ICMP does not see, by name; each is made
# by a function of (sender, receiver, token).
ODD = {
    "VLAN-tagged UDP": _vlan,
    "IPv4 fragment": _fragment,
    "IPv6 with hop-by-hop options": _hop_by_hop,
    "GRE": lambda one, other, token: ether(
        other.mac, one.mac, IPV4, ip(one.v4, other.v4, 47, bytes(4) + token)),
    "non-IP frame": lambda one, other, token: ether(
        other.mac, one.mac, 0x88b5, token),
    "LLC frame": lambda one, other, token: ether(
        other.mac, one.mac, 46, b"\xaa\xaa\3" + token),
    "non-IP broadcast": lambda one, other, token: ether(
        BROADCAST, one.mac, 0x88b5, token),
    "IPv4 multicast": lambda one, other, token: ether(
        "01:00:5e:00:00:fb", one.mac, IPV4, ip(
            one.v4, "224.0.0.251", UDP,
            udp(one.v4, "224.0.0.251", 5353, 5353, token))),
    "spanning tree": lambda one, other, token: ether(
        "01:80:c2:00:00:00", one.mac, 38, b"\x42\x42\3" + token),
}


@dataclass
class Packet:
    """What the tests look at in a frame that came out of a port."""
    dst: str
    src: str
    ethertype: int
    dscp: int = -1
    ecn: int = -1
    ttl: int = -1
    ip_src: str = ""
    ip_dst: str = ""
    protocol: int = -1
    arp_op: int = 0
    mac_claim: str = ""     # ARP sha, or the link-layer address of an NA
    ip_claim: str = ""      # ARP spa, or the target of an NA
    icmp_type: int = -1
    valid: bool = True      # every checksum is right
    length: int = 0         # without padding
    payload: bytes = b""    # what follows the IP header


def parse(frame):
    packet = Packet(mac_text(frame[0:6]), mac_text(frame[6:12]),
                    struct.unpack("!H", frame[12:14])[0], length=len(frame))
    body = frame[14:]
    if packet.ethertype == ARP and len(body) >= 28:
        packet.arp_op = struct.unpack("!H", body[6:8])[0]
        packet.mac_claim = mac_text(body[8:14])
        packet.ip_claim = str(ipaddress.ip_address(body[14:18]))
        packet.length = 14 + 28
    elif packet.ethertype == IPV4 and len(body) >= 20:
        _parse_ipv4(packet, body)
    elif packet.ethertype == IPV6 and len(body) >= 40:
        _parse_ipv6(packet, body)
    return packet


def _parse_ipv4(packet, body):
    head_length = (body[0] & 15) * 4
    total = struct.unpack("!H", body[2:4])[0]
    packet.dscp, packet.ecn = body[1] >> 2, body[1] & 3
    packet.ttl, packet.protocol = body[8], body[9]
    packet.ip_src = str(ipaddress.ip_address(body[12:16]))
    packet.ip_dst = str(ipaddress.ip_address(body[16:20]))
    packet.length = 14 + total
    packet.payload = body[head_length:total]
    packet.valid = checksum(body[:head_length]) == 0
    _check_transport(packet)


def _parse_ipv6(packet, body):
    word, length = struct.unpack("!IH", body[:6])
    tos = word >> 20 & 0xff
    packet.dscp, packet.ecn = tos >> 2, tos & 3
    packet.protocol, packet.ttl = body[6], body[7]
    packet.ip_src = str(ipaddress.ip_address(body[8:24]))
    packet.ip_dst = str(ipaddress.ip_address(body[24:40]))
    packet.length = 14 + 40 + length
    packet.payload = body[40:40 + length]
    _check_transport(packet)
    if packet.protocol == ICMPV6 and packet.payload:
        packet.icmp_type = packet.payload[0]
        if packet.icmp_type == 136 and len(packet.payload) >= 24:
            packet.ip_claim = str(
                ipaddress.ip_address(packet.payload[8:24]))
            if packet.payload[24:26] == b"\2\1":
                packet.mac_claim = mac_text(packet.payload[26:32])


def _check_transport(packet):
    head = b""
    if packet.protocol in (TCP, UDP, ICMPV6):
        head = pseudo_header(packet.ip_src, packet.ip_dst, packet.protocol,
                             len(packet.payload))
    if packet.protocol in (TCP, UDP, ICMP, ICMPV6):
        packet.valid &= checksum(head + packet.payload) == 0


def rewritten(frame, dscp, dst=None, src=None, hops=0):
    """'frame' as a correct switch delivers it: the class's DSCP and, if it
    was routed, new MACs and a TTL that is 'hops' lower."""
    out = bytearray(frame)
    if dst:
        out[0:6] = mac_bytes(dst)
    if src:
        out[6:12] = mac_bytes(src)
    ethertype = struct.unpack("!H", frame[12:14])[0]
    if ethertype == IPV4:
        out[15] = dscp << 2 | out[15] & 3
        out[22] -= hops
        out[24:26] = b"\0\0"
        out[24:26] = struct.pack("!H", checksum(bytes(out[14:34])))
    elif ethertype == IPV6:
        word = struct.unpack("!I", out[14:18])[0]
        word = word & ~(0xfc << 20) | dscp << 22
        out[14:18] = struct.pack("!I", word)
        out[21] -= hops
    return bytes(out)
