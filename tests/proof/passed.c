/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "passed.h"

#include <stdlib.h>

#include "queue.h"

static int
compare(const void *a_, const void *b_)
{
    const struct passed *a = a_, *b = b_;

    return a->when < b->when ? -1 : a->when > b->when;
}

work_t
passed_excess(struct passed passed[], size_t n, uint64_t kbps)
{
    work_t sum = 0, low = 0, worst = 0;

    qsort(passed, n, sizeof *passed, compare);
    for (size_t i = 0; i < n; i++) {
        work_t drained = (work_t) (passed[i].when - passed[0].when) * kbps;

        if (sum - drained < low) {
            low = sum - drained;
        }
        sum += passed[i].bytes * WORK_PER_BYTE;
        if (sum - drained - low > worst) {
            worst = sum - drained - low;
        }
    }
    return worst;
}
