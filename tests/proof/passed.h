/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PASSED_H
#define PASSED_H 1

/* What several threads let pass, each at its own time. */

#include <stddef.h>
#include <stdint.h>

#include "queue.h"

struct passed {
    uint64_t when;              /* In ns. */
    uint64_t bytes;
};

/* The most that passed in an interval above what 'kbps' drains in it.  Sorts
 * 'passed[]', of which there is at least one. */
work_t passed_excess(struct passed passed[], size_t n, uint64_t kbps);

#endif /* passed.h */
