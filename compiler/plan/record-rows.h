/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_RECORD_ROWS_H
#define PLAN_RECORD_ROWS_H 1

/* The rows of a plan, for its record. */

#include <stdbool.h>

struct json;
struct plan;

struct json *plan_rows_to_json(const struct plan *);

/* Adds them to 'plan', copied to its arena.  Returns false if that is none of
 * such. */
bool plan_rows_from_json(const struct json *, struct plan *);

#endif /* plan/record-rows.h */
