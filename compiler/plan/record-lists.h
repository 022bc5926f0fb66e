/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_RECORD_LISTS_H
#define PLAN_RECORD_LISTS_H 1

/* What of a plan is in its record: what it has once, and lists. */

#include "plan/plan.h"
#include "plan/record-shape.h"
#include "plan/record.h"

extern const struct shape name_shape;       /* Of a string. */
extern const struct shape plan_shape;
extern const struct shape edit_shape;       /* What an edit says of the
                                             * record. */

enum { N_RECORD_LISTS = 10 };
extern const struct record_list {
    const char *name;
    size_t offset;              /* In "struct plan". */
    const struct shape *shape;
} record_lists[N_RECORD_LISTS];

const any_vec *record_list_of(const struct plan *, size_t i);

#endif /* plan/record-lists.h */
