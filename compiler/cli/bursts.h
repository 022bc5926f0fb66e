/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_BURSTS_H
#define CLI_BURSTS_H 1

/* How a list of bursts is printed, one after the other. */

#include "cli/cli.h"
#include "telemetry/sample.h"

struct tenant_names;

/* Prints what comes before, for each burst, and after. */
void bursts_begin(const struct cli_options *);
void bursts_print(const struct cli_options *, const struct tenant_names *,
                  const struct burst *);
void bursts_end(const struct cli_options *);

/* A note about bursts that nobody has seen. */
void bursts_print_missed(const struct missed *);

#endif /* cli/bursts.h */
