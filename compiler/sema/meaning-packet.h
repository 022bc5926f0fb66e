/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_MEANING_PACKET_H
#define SEMA_MEANING_PACKET_H 1

/* The room behind meaning_judge() for what a packet says by itself, whoever
 * sent it. */

#include <netinet/in.h>
#include <stdbool.h>

struct flow;

bool packet_is_ip4(const struct flow *);
bool packet_is_ip6(const struct flow *);
bool packet_is_fragment(const struct flow *);

/* Of IP. */
struct in6_addr packet_source(const struct flow *);
struct in6_addr packet_destination(const struct flow *);

/* Can 'ip' be an address of the policy's in a packet of IPv6, or in one of
 * IPv4 or ARP?  In IPv6 "::ffff:192.0.2.1" is nobody's: in the policy that is
 * IPv4. */
bool packet_has_family(const struct flow *, const struct in6_addr *ip);

/* The type of an ICMPv6 message, or -1. */
int packet_icmp6_type(const struct flow *);

/* What is a router's or a DHCP server's to say, or is for a router, of which
 * there is none; and IP of protocol 0, that of malformed packets. */
bool packet_is_forbidden(const struct flow *);

bool packet_is_neighbor_message(const struct flow *);

#endif /* sema/meaning-packet.h */
