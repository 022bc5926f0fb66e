/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IMPORT_NAME_H
#define IMPORT_NAME_H 1

#include <stdbool.h>

struct address;
struct arena;
struct json;

/* 's' as a name of an intent, of 63 characters at most: one that is longer is
 * cut and has a hash. */
const char *import_name(struct arena *, const char *s);

/* Adds an address to a list, with the length of its prefix if 'prefix'. */
void import_add_address(struct json *list, const struct address *,
                        bool prefix);

#endif /* import/name.h */
