/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef QUESTIONS_H
#define QUESTIONS_H 1

/* Random packets near a policy: right ones, and right ones with something
 * wrong. */

#include "base/arena.h"
#include "flow.h"
#include "ir/ir.h"
#include "random.h"
#include "sema/meaning.h"
#include "sema/policy.h"

struct question {
    char from[64];              /* Name of the sender, if that is here. */
    bool tunnel;                /* It comes by tunnel. */
    char external[8];           /* Or the external that it comes from. */
    struct flow packet;         /* Its in_port is the sender's. */
    enum connection connection; /* In the zone of the sender's tenant. */
    enum connection beyond;     /* In that of the receiver's, if another. */
    enum connection foreign;    /* Of CONNECTION_FOREIGN: what it would be if
                                 * it were the tenant's. */
    uint32_t stranger;          /* And whose it is; see question_mark(). */
    struct meaning_opener opener;
    bool full;                  /* Zones with a limit of connections are. */
};

void question_init(struct question *, const struct policy *, struct rng *);

/* What the meaning is asked; 'from' is the sender.  It points into the
 * question. */
struct meaning_question question_ask(const struct question *,
                                     const struct policy_endpoint *from);

/* The address at the other end that the connection was opened to, of a packet
 * that goes to the side that opened it: who sends it, but that of an ICMP
 * error from outside may be another. */
struct in6_addr question_opened(const struct question *, enum connection);

/* The room behind question_init() that makes the packet from 'from' to 'to'
 * come by tunnel, as from the node of 'from' or nearly so. */
void question_tunnel(struct question *, const struct policy *,
                     const struct policy_endpoint *from,
                     const struct policy_endpoint *to, struct rng *);

/* Does it go to the side that opened the connection, the tenant's or not? */
bool connection_is_backward(const struct question *, enum connection);

/* The ct_mark that a packet of 'connection' has in the zone of 'prog'. */
uint32_t question_mark(const struct question *, const struct ir_prog *prog,
                       uint16_t zone, enum connection);

/* ofproto/trace knows one ct_mark for both zones.  Makes what is known in the
 * second foreign there, unless it is new in the first: then the mark is that
 * of the second. */
void question_restrict(struct question *);

/* Makes '*plainer' the question with its 'i'th thing, from 0 on, as plain as
 * it can be, without regard to what is asked.  Returns false if there are not
 * so many. */
bool question_simplify(const struct question *, size_t i,
                       struct question *plainer);

/* The packet for a reader, in 'arena'. */
const char *question_text(const struct question *, struct arena *);

/* The packet in that syntax, if it is 'tracked' with the tuple and the mark
 * that connection tracking would note: --ct-next gives a state only. */
const char *question_trace_text(const struct question *, bool tracked,
                                uint32_t mark, struct arena *);

#endif /* questions.h */
