/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_RULE_PACKETS_H
#define OFFLOAD_RULE_PACKETS_H 1

/* Packets of a rule: one for each kind that the tables may treat in another
 * way than the rest.
 *
 * The ends of a rule that differ in nothing but their addresses are one kind:
 * of one network, bound here or behind a tunnel, by a port of one kind, with
 * or without a meter of their own, and with the DSCP that its class lets in,
 * or without.  A packet stands for all pairs of its kinds. */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/vec.h"
#include "openvswitch/flow.h"

struct ir_prog;
struct ir_rule;
struct walker;

struct rule_packet {
    const char *from, *to;      /* "TENANT/ENDPOINT", or of an external. */
    const char *service;        /* "tcp 443", "icmp", "udp 4791 dscp 48". */
    struct flow opens;          /* From 'from' to 'to'. */
    struct flow back;           /* The other way. */
    size_t n_pairs;             /* That it stands for. */
};

VEC_TYPEDEF(rule_packet_vec, struct rule_packet);

/* Appends the packets of 'rule' to 'packets', in the arena. */
void rule_packets(const struct ir_prog *, const struct ir_rule *,
                  const struct walker *, struct arena *,
                  rule_packet_vec *packets);

#endif /* offload/rule-packets.h */
