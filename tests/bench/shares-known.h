/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SHARES_KNOWN_H
#define SHARES_KNOWN_H 1

/* Prints each scheme of shares.h beside what was published of it. */

void shares_print_known(void);

#endif /* shares-known.h */
