/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_SHOW_H
#define CLI_SHOW_H 1

/* What several commands print alike, on standard output. */

#include <stdint.h>

#include "base/source.h"

struct json;
struct policy_rule;
struct value;

/* Add a member to a JSON object; a string that is NULL becomes null. */
void show_put(struct json *object, const char *key, const char *value);
void show_put_number(struct json *object, const char *key, uint64_t value);

/* Prints 'json' in a line, and destroys it. */
void show_json(struct json *);

/* "rule 'a/web'". */
void show_rule(const struct policy_rule *);

/* "intent.json:12:9". */
void show_rule_place(const struct policy_rule *);

/* The same as an object with "file", "line", "column" and "pointer". */
struct json *show_rule_place_json(const struct policy_rule *);
struct json *show_value_place_json(const struct value *);

#endif /* cli/show.h */
