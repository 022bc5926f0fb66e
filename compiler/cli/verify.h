/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H 1

/* The room behind "verify", and "apply --verify".  What prints does so on
 * standard output; 'bridge' is what the commands name that they show. */

#include <time.h>

#include "verify/verify.h"

struct plan;

/* Milliseconds of CPU time since clock() was 'start'. */
double verify_since(clock_t start);

/* What it took, in milliseconds of CPU time. */
struct verify_cost {
    double read, proof;         /* Of the flows. */
};

/* Lets the task be about the flows and meters of a plan.  'tables' and 'ports'
 * are to be destroyed with it.  Returns NULL, or what is wrong. */
const char *verify_take_plan(struct verify_task *, const struct plan *,
                             struct table_set *tables,
                             struct ofputil_port_map *ports, struct arena *);

void verify_print_table(const struct verify_task *,
                        const struct verify_result *, const char *bridge);
void verify_print_json(const struct verify_task *,
                       const struct verify_result *,
                       const struct verify_cost *, const char *bridge);

/* In hexadecimal digits. */
const char *verify_hash_intent(const struct verify_task *, struct arena *);
const char *verify_hash_flows(const struct verify_task *, struct arena *);

#endif /* cli/verify.h */
