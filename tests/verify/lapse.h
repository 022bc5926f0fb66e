/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef LAPSE_H
#define LAPSE_H 1

/* What a change of tables may have wrong. */

#include "differential/random.h"
#include "plan/plan.h"

/* The flows of 'plan' that 'other' does not have. */
void lapse_find_more(const struct plan *, const struct plan *other,
                     struct arena *, plan_flows *more);

/* Each returns false if there is nothing to be done so.
 *
 * Lets what any tenant sends, by a flow that is in all slices, take the way of
 * what one sends to an endpoint of its own; or 'scattered' what that tenant
 * sends to any address with that end, which are more ranges than a diagram may
 * have. */
bool lapse_leak(struct plan *, struct rng *, bool scattered);

/* Forgets to take away a flow that is not to be there any more. */
bool lapse_keep(struct plan *, const struct plan *old, struct rng *);

/* Leaves the tables as they were, if they are to be others. */
bool lapse_stay(struct plan *, const struct plan *old);

/* Changes, or leaves out, one of the flows that 'old' does not have; or lets
 * it do, or match, what another of its table does. */
bool lapse_new(struct plan *, const struct plan *old, size_t kind,
               struct rng *);
bool lapse_imitate(struct plan *, const struct plan *old, struct rng *);

/* Lets POLICY do with what a flow matches what another does; or with all that
 * comes by some port. */
bool lapse_decide(struct plan *, struct rng *);
bool lapse_decide_by_port(struct plan *, struct rng *);

/* A flow, as text, by which some packets reach who is to get them. */
const char *lapse_lose(const struct plan *, struct rng *);

#endif /* lapse.h */
