/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PROVING_H
#define PROVING_H 1

/* What tests of proofs of changes (resident/prove.h) share: an intent that is
 * compiled for node "n1" and taken for proved, and changes of a tenant. */

#include "resident/resident.h"
#include "unit.h"

struct proved;

struct proving {
    struct unit u;
    struct resident *resident;
    struct proved *proved;
};

/* By what a change is proved. */
enum proving_by {
    BY_NOTHING, BY_ALL, BY_PACKETS, BY_DECISIONS, BY_LIKENESS,
};

/* Of the intent, whose tables 'spoil' makes wrong, so that no packet shows it;
 * or nothing does, if that is NULL. */
void proving_begin(struct proving *, const char *text,
                   void (*spoil)(struct plan *));
void proving_prepare(struct proving *);

/* The same of the tenant by another process: what it says, which is good until
 * something changes.  It must not be large. */
const char *proving_prepare_apart(struct proving *, const char *tenant,
                                  size_t *n);
void proving_end(struct proving *);

/* The tenant, a member of "tenants", is another, and that is proved, once
 * 'alter', if that is not NULL, has done to what changes what it will. */
enum proving_by proving_change(struct proving *, const char *tenant,
                               void (*alter)(struct proving *, struct arena *,
                                             struct resident_diff *));

#endif /* proving.h */
