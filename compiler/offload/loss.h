/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_LOSS_H
#define OFFLOAD_LOSS_H 1

/* What hardware would hold less of when one plan takes the place of another:
 * the packets of the new program's rules, through the tables of both. */

#include "offload/offload.h"

/* A rule of both plans. */
struct offload_loss {
    const struct ir_rule *rule; /* NULL: of no rule, but of... */
    const char *name;           /* ...this. */
    enum offload_verdict before, after;
    size_t n_lost, n_packets;   /* Of the report's packets. */
    cap_set refused;            /* Of them, now and not before. */
};

VEC_TYPEDEF(offload_loss_vec, struct offload_loss);

/* Appends what is lost of 'old', a plan of the same target, by 'plan', which a
 * backend has made of 'prog', to 'losses', in the arena.  Returns NULL, or a
 * reason. */
const char *offload_compare(const struct ir_prog *prog,
                            const struct plan *old, const struct plan *plan,
                            const struct profile *, struct arena *,
                            offload_loss_vec *losses);

#endif /* offload/loss.h */
