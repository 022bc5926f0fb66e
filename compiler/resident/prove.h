/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef RESIDENT_PROVE_H
#define RESIDENT_PROVE_H 1

/* The proof of a change (resident.h): of what is proved its tables are kept
 * (verify/base.h), and of each change only that is proved which it touches.
 *
 * Something else may be meant of the tenant that has changed, and of all that
 * "peers", rules or peerings join with it, directly or by others, before or
 * after.  That is found here from the intent alone: what resident.h thinks
 * concerns a tenant does not count, or one error could hide another; only if
 * that is the same one tenant alone, its policy is used.  What a
 * policy without all other tenants means for these is what the whole means, as
 * long as the intent says nothing of all tenants together: no externals, no
 * guardrails, no peering of "*", nothing that makes trees of meters.  Else,
 * and whatever verify_change() does not answer, all is to be proved
 * (plan/prove.h). */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct ds;
struct intent;
struct plan;
struct policy;
struct proved;
struct resident;
struct resident_diff;

/* What is proved, of a policy and its plan for a node, all that is kept being
 * copied.  NULL if changes of it cannot be proved so. */
struct proved *proved_create(const struct policy *, const struct plan *);
void proved_destroy(struct proved *);           /* Accepts NULL. */

/* A change: 'intent' is the whole after it. */
void proved_change(struct proved *, const struct intent *,
                   const struct resident_diff *);

/* Why changes cannot be proved by it any more; or NULL. */
const char *proved_lost(const struct proved *);

/* A proof of all changes that are not proved yet begins, of what is resident
 * then, whose policy it takes (resident_take_policy()); and ends. */
void proved_begin(struct proved *, struct resident *);
void proved_end(struct proved *, bool proved);

/* While all is proved and no proof has begun: makes proofs of changes to come
 * of one tenant take less, or gives that tenant up if it takes longer than
 * 'time_ms' (0: any time), or is sure to.  'intent' is the whole.  Returns
 * false if there is nothing more to be done. */
bool proved_prepare(struct proved *, const struct intent *, int time_ms);

/* Of tenants that have too many endpoints for that, it is left to another
 * process: the next of them, while all is proved, or NULL.  A copy of this
 * process prepares it, in any time, and appends what is found, which this one
 * takes, as long as nothing has changed meanwhile.  Returns whether it does;
 * the tenant is not left any more. */
const char *proved_left(const struct proved *);
void proved_prepare_left(struct proved *, const struct intent *,
                         const char *tenant, struct ds *);
bool proved_take(struct proved *, const char *tenant, const char *text,
                 size_t n);

/* What bulkheadd takes for it, in its main loop. */
#define PROVED_PREPARE_MS 100

/* What was proved: of how many tenants, of how many that there are. */
struct proved_count {
    size_t n_proved, n_tenants;
    bool seam;                  /* Only what was decided about packets; */
    bool symmetry;              /* or one endpoint, by others like it. */
};

/* Makes it, in between: of packets that can meet what has changed, which takes
 * little; of all packets of those whom it touches; or of the first or, if that
 * does not suffice, of the second if they have few endpoints.  Returns false
 * if more is to be proved: that, or 'time_ms' (0: any time), did not suffice,
 * or something is wrong. */
bool proved_prove_packets(const struct proved *, int time_ms,
                          struct proved_count *);
bool proved_prove_soon(const struct proved *, int time_ms,
                       struct proved_count *);
bool proved_prove(const struct proved *, int time_ms, struct proved_count *);

#endif /* resident/prove.h */
