/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_PACKET_H
#define SEMA_PACKET_H 1

/* Packets as operators write them, in the syntax of ovs-ofctl's flows, and
 * what the host that sends one would fill in. */

#include <stdbool.h>
#include <stdint.h>

struct ds;
struct flow;
struct flow_tnl;
struct flow_wildcards;
struct in6_addr;
struct policy;
struct policy_endpoint;

/* Parses 'text', such as "tcp,nw_dst=10.1.0.11,tp_dst=443", into 'packet' and
 * sets the fields that it names in 'given'.  Returns NULL, or a reason that
 * the caller must free. */
char *packet_parse(const char *text, struct flow *packet,
                   struct flow_wildcards *given);

/* The text of a packet, as packet_parse() and ofproto/trace take it: without
 * its outer header, and without what no packet has.  The caller must free
 * it. */
char *packet_format(const struct flow *);

/* Appends the text of an outer header, in the same syntax. */
void packet_put_outer(struct ds *, const struct flow_tnl *);

/* Fills in what was not given as 'from' would: its own addresses, a TTL, and
 * as destination MAC the receiver's in its own subnets, else the gateway's.
 * What a host cannot know stays zero.  Returns false if 'from' has no address
 * of the family that the packet must come from. */
bool packet_complete(const struct policy_endpoint *from,
                     const struct flow_wildcards *given,
                     struct flow *packet);

/* Gives 'packet' the outer header of a tunnel from 'source'.  Both addresses
 * are of one family. */
void packet_encapsulate(struct flow *packet, const struct in6_addr *source,
                        const struct in6_addr *destination, uint32_t vni);

/* An endpoint, bound or not, that has the address which the packet is for or
 * asks about, one of the tenant of 'from', if that is not NULL, before others;
 * NULL if there is none. */
const struct policy_endpoint *packet_find_owner(
    const struct policy *, const struct policy_endpoint *from,
    const struct flow *, bool bound);

/* The first member of its binding that an unbound endpoint lacks. */
const char *packet_missing_binding(const struct policy_endpoint *);

#endif /* sema/packet.h */
