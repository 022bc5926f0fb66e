/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IMPORT_TEXT_H
#define IMPORT_TEXT_H 1

#include <stdbool.h>

struct diags;
struct source;

/* Does the text begin as an object of JSON does?  If not, adds an error that
 * says what else it is, with the remedy. */
bool import_is_json(const struct source *, struct diags *,
                    const char *remedy);

#endif /* import/text.h */
