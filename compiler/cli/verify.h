/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H 1

/* The room behind "verify", and behind the proof of "apply".  What prints does
 * so on standard output; 'bridge' is what the commands name that they show. */

#include "verify/verify.h"

/* What something took. */
struct verify_cost {
    double cpu, wall;           /* Milliseconds. */
    size_t kib;                 /* Of memory, more than there was. */
};

/* What there is at the beginning; and what it took since then, with 'n_jobs'
 * processes beside this one, which have ended. */
struct verify_cost verify_cost_begin(void);
struct verify_cost verify_cost_since(const struct verify_cost *start,
                                     size_t n_jobs);

struct verify_costs {
    struct verify_cost read, proof;     /* Of the flows. */
};

void verify_print_table(const struct verify_task *,
                        const struct verify_result *, const char *bridge);
void verify_print_json(const struct verify_task *,
                       const struct verify_result *,
                       const struct verify_costs *, const char *bridge);

/* In hexadecimal digits. */
const char *verify_hash_intent(const struct verify_task *, struct arena *);
const char *verify_hash_flows(const struct verify_task *, struct arena *);

#endif /* cli/verify.h */
