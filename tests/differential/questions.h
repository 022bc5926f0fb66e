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
#include "random.h"
#include "sema/meaning.h"
#include "sema/policy.h"

struct question {
    char from[64];              /* Name of the sender, if that is here. */
    bool tunnel;                /* It comes by tunnel. */
    struct flow packet;         /* Its in_port is the sender's. */
    enum connection connection; /* In the zone of the sender's tenant. */
    enum connection beyond;     /* In that of the receiver's, if another. */
    struct meaning_opener opener;
};

void question_init(struct question *, const struct policy *, struct rng *);

/* What the meaning is asked; 'from' is the sender.  It points into the
 * question. */
struct meaning_question question_ask(const struct question *,
                                     const struct policy_endpoint *from);

/* The room behind question_init() that makes the packet from 'from' to 'to'
 * come by tunnel, as from the node of 'from' or nearly so. */
void question_tunnel(struct question *, const struct policy *,
                     const struct policy_endpoint *from,
                     const struct policy_endpoint *to, struct rng *);

/* The packet for a reader, in 'arena'. */
const char *question_text(const struct question *, struct arena *);

/* The packet in that syntax, if it is 'tracked' with the tuple that connection
 * tracking would note: --ct-next gives a state only. */
const char *question_trace_text(const struct question *, bool tracked,
                                struct arena *);

#endif /* questions.h */
