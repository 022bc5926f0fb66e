/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_SHOW_H
#define CLI_SHOW_H 1

/* What several commands print alike, on standard output. */

#include <stddef.h>

#include "base/source.h"

struct policy_rule;

/* ", "KEY": "VALUE"", a member of a JSON object; null for NULL. */
void show_member(const char *key, const char *value);

/* The same, for a list of strings. */
void show_strings_member(const char *key, const char *const *values, size_t n);

/* Where the name of 'rule' stands. */
struct span show_rule_span(const struct policy_rule *);

/* "rule 'a/web'". */
void show_rule(const struct policy_rule *);

/* "intent.json:12:9". */
void show_rule_place(const struct policy_rule *);

/* The same as ", "place": {...}", with "file", "line", "column" and "pointer".
 */
void show_rule_place_member(const struct policy_rule *);

#endif /* cli/show.h */
