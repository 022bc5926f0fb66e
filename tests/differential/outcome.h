/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OUTCOME_H
#define OUTCOME_H 1

/* What a switch does with a packet, and whether that is what the reference
 * meaning says. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "flow.h"
#include "questions.h"
#include "world.h"

enum { MAX_ZONES = 4, MAX_METERS = 8 };

struct zones {
    uint16_t v[MAX_ZONES];
    uint32_t marks[MAX_ZONES];  /* That connections are noted with. */
    size_t n;
};

/* The meters of bits that a packet has passed, in order. */
struct meters {
    uint32_t v[MAX_METERS];
    size_t n;
};

/* What leaves by a port. */
struct delivery {
    ofp_port_t port;            /* OFPP_IN_PORT: back to the sender. */
    uint64_t rule;              /* As in struct outcome. */
    struct meters meters;
    uint32_t queue;             /* 0: none. */
    struct flow packet;
};

struct outcome {
    const char *broken;         /* What no packet may meet, or NULL. */
    uint64_t cookie;            /* Of the last flow that it matched. */
    uint64_t rule;              /* Of the last rule's flow; 0: of none. */
    uint32_t counter;           /* The meter that counts its packets, or 0. */
    struct zones tracked, committed;    /* In order. */
    struct delivery out[MAX_ENDPOINTS];
    size_t n_out;
    uint64_t dropped[MAX_ENDPOINTS];    /* Cookies of the last flows of copies
                                         * that go nowhere, in order. */
    size_t n_dropped;
    bool headers_only;          /* Of packets, only MACs, TTL and DSCP are
                                 * known. */
};

/* Notes that a packet leaves by 'port'. */
struct delivery *outcome_deliver(struct outcome *, ofp_port_t port,
                                 const struct meters *, uint32_t queue);

/* Notes that a copy met its last flow, which went nowhere if there were
 * 'n_before' deliveries when it began. */
void outcome_end_copy(struct outcome *, size_t n_before);

/* Notes that meter 'id' is called: it is the last of 'meters' then, or
 * 'o->counter'.  'o' is broken if a packet is counted twice, or late. */
void outcome_call_meter(struct outcome *, uint32_t id, struct meters *);

/* The tenant of a meter; "" if it is none of the plan's. */
const char *outcome_meter_owner(const struct compiled *,
                                const struct outcome *, uint32_t meter);

/* Has the delivery to 'to' passed the meters that it should?  Returns NULL, or
 * how not, in 'arena'. */
const char *outcome_compare_meters(const struct compiled *,
                                   const struct outcome *,
                                   const struct delivery *,
                                   const struct meaning *,
                                   const struct policy_endpoint *to,
                                   struct arena *);

/* Adds 'zone'; 'o' is broken if there are too many. */
void outcome_add_zone(struct outcome *, struct zones *, uint16_t zone,
                      uint32_t mark);

/* What the policy says about the question. */
struct meaning outcome_meaning(const struct compiled *,
                               const struct question *);

/* 'sent' as it should arrive, of a class of 'dscp', or the answer. */
struct flow outcome_packet(const struct flow *sent, const struct meaning *,
                           uint8_t dscp);

/* Returns NULL, or how what arrived is not what was expected.  With
 * 'headers_only', only MACs, TTL and DSCP are compared. */
const char *packets_differ(const struct flow *expected,
                           const struct flow *got, bool headers_only);

/* Returns NULL if 'o' is what the policy means, else how it differs, in
 * 'arena'. */
const char *outcome_compare(const struct compiled *, const struct question *,
                            const struct outcome *, struct arena *);

/* As outcome_compare(), of what the question's packet, which leaves for
 * another node, meets 'there': its receiver gets what the sender's node means
 * it to get. */
const char *outcome_compare_relayed(const struct compiled *,
                                    const struct question *,
                                    const struct outcome *there,
                                    struct arena *);

/* Does the packet go through connection tracking? */
bool question_is_tracked(const struct compiled *, const struct question *);

/* "allow 0xb17d... to port 3", in 'arena'. */
/* Are the cookies neither the same nor those of rules that are as strong as
 * each other?  Which of those decides, the tables leave open. */
bool cookies_differ(const struct compiled *, uint64_t a, uint64_t b);

const char *outcome_text(const struct outcome *, struct arena *);
const char *meaning_text(const struct compiled *, const struct question *,
                         struct arena *);

#endif /* outcome.h */
