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

/* A random intent, its tables, and what their proof came to. */
struct proved_world {
    struct world world;
    struct compiled compiled;
    line_vec lines;
    struct proving proving;
};

/* Returns false, and prints why, if the tables are not proved. */
bool proved_world_init(struct proved_world *, uint64_t seed);
void proved_world_destroy(struct proved_world *);

/* Did the proof take so few diagrams that many more may be made of the same
 * with errors planted? */
bool proved_world_is_small(const struct proved_world *);

#endif /* proving.h */
