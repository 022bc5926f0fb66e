/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef DRAFT_H
#define DRAFT_H 1

/* The rooms behind question_init(): a question in the making. */

#include <netinet/in.h>
#include <stdbool.h>

#include "questions.h"

/* Both ends of a packet and the rule that it tries to fit, if any. */
struct draft {
    const struct policy *policy;
    struct rng *rng;
    const struct policy_endpoint *from, *to;
    const struct policy_rule *rule;
    bool reply;
    const struct policy_attachment *outside;    /* One end is behind it... */
    bool inward;                /* ...and that is the sender. */
    struct question *q;
};

/* Whose a connection of another tenant is, and how the packet belongs to
 * it. */
void draft_foreign(struct draft *);

/* Decides whether one end is outside. */
void draft_outside(struct draft *);

/* Lets the packet go there, or come from there. */
void draft_leave(struct draft *);

/* An ICMP error from outside may come from anybody: notes what it is about. */
void draft_opened(struct draft *);

/* What connection tracking knows of the packet, in both zones. */
enum connection draft_connection(struct draft *);
enum connection draft_beyond(struct draft *);

/* Notes what opened the connection.  'whole' has the ports that a fragment or
 * an ICMP error does not tell. */
void draft_opener(struct draft *, const struct flow *whole);

/* One of the addresses that 'e' has in the family, else nobody's. */
struct in6_addr draft_address(struct rng *, const struct policy_endpoint *e,
                              bool ip6);
void draft_set_source(struct flow *, struct in6_addr);
void draft_set_destination(struct flow *, struct in6_addr);

/* The DSCP and ECN of a packet: in some, a DSCP that a class lets in. */
uint8_t draft_tos(struct draft *);

/* An IP packet becomes one for a multicast group of the sender's network. */
void draft_group(struct draft *);

/* DHCP of the sender's network: a request, or the server's answer. */
void draft_dhcp(struct draft *);

#endif /* draft.h */
