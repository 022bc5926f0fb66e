/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_ROUND_H
#define VERIFY_ROUND_H 1

/* A proof, one tenant after the other, so that what was computed to find their
 * zones and marks is still known when they are compared. */

#include "verify/proof.h"
#include "verify/scope.h"

struct round {
    struct proof *proof;
    struct neighbors neighbors;
    bool *known;                /* By tenant: is its mark? */
    size_t *first;              /* By tenant: its first entry. */
    bool same;                  /* All was as expected so far. */
};

void round_init(struct round *, struct proof *);
void round_destroy(struct round *);

/* Finds zones and marks, and compares the entries from 'first' on before
 * 'end'. */
void round_run(struct round *, size_t first, size_t end);

/* Was all as expected, and agrees who uses what? */
bool round_is_fine(const struct round *);

/* After all entries: are all marks those that were found?  What was compared
 * later, and is not of an endpoint, has a vote too. */
bool round_has_marks(const struct round *);

/* The mark of a tenant's connections, by its number.  Where no flow notes any,
 * it is what the name gives: no connection is then there to have it. */
uint32_t round_find_mark(struct proof *, size_t tenant);

/* Are zone and mark of the tenant known? */
bool round_is_known(struct proof *, const struct policy_tenant *);

/* Forgets diagrams if they are many. */
void round_reset_if_large(struct proof *);

#endif /* verify/round.h */
