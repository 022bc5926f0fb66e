/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef RESIDENT_EDITS_H
#define RESIDENT_EDITS_H 1

/* The record of what a resident compilation held once, with the edits of all
 * changes since, against the record of what it holds. */

#include <stddef.h>

#include "base/arena.h"
#include "plan/record.h"
#include "resident/resident.h"

struct edited {
    struct arena *arena;        /* NULL: begins with the next change. */
    const char *text;           /* Of the record. */
    size_t len;
    plan_names edits;
    size_t n_said, n_unsaid;    /* Changes that an edit says, or none. */
};

void edited_destroy(struct edited *);

/* After a change.  Returns NULL, or what differs. */
const char *edited_follow(struct edited *, const struct resident *,
                          const struct resident_diff *);

#endif /* resident-edits.h */
