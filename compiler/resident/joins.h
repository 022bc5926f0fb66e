/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef RESIDENT_JOINS_H
#define RESIDENT_JOINS_H 1

/* Who is joined with whom by "peers", rules or peerings, directly or by
 * others.  What a tenant says of that is kept until it is changed, so what is
 * asked after a change takes no time for what others say. */

#include <stdbool.h>
#include <stddef.h>

#include "openvswitch/shash.h"

struct intent;

/* Whom what is said of a tenant joins with it: numbers of tenants, as they
 * stand in the intent, from 1. */
struct joined {
    const struct value *at;     /* The tenant that says it: another, once it
                                 * has changed. */
    size_t *v;
    size_t n, allocated;
    bool all;                   /* Something is said of all together. */
};

/* Who is joined with whom in an intent, by union and find (see divide.c).
 * What a tenant says of it is kept, as long as that is the same object. */
struct joins {
    const struct intent *intent;
    struct shash numbers;       /* Of tenants. */
    struct joined *of;          /* By number. */
    size_t *with;               /* By number: the number of another, or its
                                 * own. */
    size_t n;
    bool all;
};

void joins_init(struct joins *, const struct intent *);
void joins_destroy(struct joins *);

/* Takes over what 'intent' says, in which of those that were there before only
 * the tenant 'changed' has changed, or none.  Returns false if other tenants
 * are there than before. */
bool joins_update(struct joins *, const struct intent *, const char *changed);

/* The number of a tenant; 0 if there is none of that name. */
size_t joins_number(const struct joins *, const char *name);

/* A tenant, the same for all that are joined. */
size_t joins_root(const struct joins *, size_t number);

/* That of each, by number; to be freed. */
size_t *joins_list_roots(const struct joins *);

#endif /* resident/joins.h */
