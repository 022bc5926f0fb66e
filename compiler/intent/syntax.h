/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef INTENT_SYNTAX_H
#define INTENT_SYNTAX_H 1

/* What jansson complains of, in words of an operator. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct diags;
struct source;

/* Adds an error for jansson's complaint about the text that begins at
 * 'start'.  jansson must still be able to allocate. */
void report_syntax(const struct source *, size_t start, const json_error_t *,
                   struct diags *);

/* Adds an error if there is a NUL byte in the text, and returns true: jansson
 * skips those that stand behind a literal or number. */
bool report_nul(const struct source *, struct diags *);

#endif /* intent/syntax.h */
