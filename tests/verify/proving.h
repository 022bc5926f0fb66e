/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PROVING_H
#define PROVING_H 1

/* The verifier, run on the flows of a random intent. */

#include "differential/world.h"
#include "verify/verify.h"

/* The flows of a plan, a line each; what of it is NULL is left out. */
VEC_TYPEDEF(line_vec, const char *);

line_vec proving_lines(const struct compiled *);

struct proving {
    struct arena *arena;
    struct ofputil_port_map ports;
    struct table_set tables;
    struct verify_result result;
    const char *unreadable;     /* Why the flows could not be read. */
    struct verify_task task;
    const char **digests;       /* Of tenants; NULL: they are not known. */
};

/* Proves 'lines' against the intent of 'c'. */
void proving_init(struct proving *, const struct compiled *c,
                  const line_vec *lines);

/* The same of those tenants only whose digests are not those of 'before'. */
void proving_again(struct proving *, const struct proving *before,
                   struct verify_result *);
void proving_destroy(struct proving *);

/* Prints what was found, as comments. */
void proving_print(const struct proving *);

#endif /* proving.h */
