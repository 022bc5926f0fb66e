/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_MANIFEST_H
#define PLAN_MANIFEST_H 1

#include "plan/plan.h"

struct ds;
struct json;

/* An array of strings. */
struct json *plan_names_to_json(const plan_names *);
struct json *plan_interfaces_to_json(const struct plan *);

/* Appends manifest.json: what the numbers in flows and meters stand for, and
 * what the bridge must have.  docs/json.md has its members. */
void plan_format_manifest(const struct plan *, struct ds *);

/* The files that not every plan has, each with the SHA-1 of what is in it. */
struct json *plan_files_to_json(const struct plan *);

#endif /* plan/manifest.h */
