/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H 1

/* The room behind "verify".  Both print on standard output; 'bridge' is what
 * the commands name that they show. */

#include "verify/verify.h"

void verify_print_table(const struct verify_task *,
                        const struct verify_result *, const char *bridge);
void verify_print_json(const struct verify_task *,
                       const struct verify_result *, const char *bridge);

#endif /* cli/verify.h */
