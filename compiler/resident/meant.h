/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef RESIDENT_MEANT_H
#define RESIDENT_MEANT_H 1

/* What an intent says of tenants, kept, to know which rules are others after a
 * change, and whether anything else is.
 *
 * Of a tenant all is kept that its object has, as it was written, and what is
 * known of its endpoints; but not what rates are, of which no table knows.
 * What a rule is, its object says, its depth and its id, which others may
 * change, and, as long as nothing else of tenants is other, nothing more. */

#include <stdbool.h>

#include "base/arena.h"

struct meant;
struct policy;
struct verify_news;

/* What the policy says of its tenants; other tenants are not known. */
struct meant *meant_create(const struct policy *);
void meant_destroy(struct meant *);     /* Accepts NULL. */

/* The same of 'policy', and what of it is news after 'old', in the arena: as
 * long as 'old' and what is returned are there. */
struct meant *meant_compare(const struct meant *old, const struct policy *,
                            struct arena *, struct verify_news *);

/* Puts what 'new' knows of tenants in the place of what 'meant' does; destroys
 * 'new'. */
void meant_take_over(struct meant *, struct meant *new);

#endif /* resident/meant.h */
