/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_DIFFERENCES_H
#define PLAN_DIFFERENCES_H 1

/* 'differences' and 'in_hardware' of a plan, as files have them. */

struct ds;
struct json;
struct plan;

/* For manifest.json. */
struct json *plan_differences_to_json(const struct plan *);

/* Appends lines that begin with "#". */
void plan_format_differences(const struct plan *, struct ds *);

#endif /* plan/differences.h */
