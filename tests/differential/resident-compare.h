/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef RESIDENT_COMPARE_H
#define RESIDENT_COMPARE_H 1

/* What a resident compilation holds, against plans of the whole. */

#include "plan/plan.h"
#include "resident/resident.h"

/* Each returns NULL, or what differs.  Does it hold the flows and meters of
 * 'plan'? */
const char *compare_held(const struct resident *, const struct plan *);

/* Does 'diff' say how 'old' becomes 'new'? */
const char *compare_diffs(const struct plan *old, const struct plan *new,
                          const struct resident_diff *diff);

#endif /* resident-compare.h */
