/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_HELD_H
#define CLI_HELD_H 1

/* What "bulkhead status --profile" says of offload: predicted, and there; and
 * "bulkhead plan --profile": what a change would lose of it. */

#include "offload/held.h"
#include "offload/loss.h"

struct cli_options;
struct json;

/* The profile of the options for their target: that of asap2 for all of the
 * kernel's datapath.  NULL if there is none. */
const struct profile *held_profile(const struct cli_options *);

/* Asks the switch.  Returns NULL, or a reason in the arena. */
const char *held_read(const struct cli_options *, const struct ir_prog *,
                      const struct plan *, struct arena *,
                      struct held_report *);

/* Prints a table, and if 'verbose' what is not where it was to be. */
void held_print(const struct held_report *, bool verbose);
struct json *held_json(const struct held_report *);

/* The same of what the plan of 'prog', not lowered yet, loses of 'old'. */
const char *loss_read(const struct cli_options *, struct ir_prog *,
                      const struct plan *old, const struct plan *,
                      struct arena *, offload_loss_vec *);
void loss_print(const struct profile *, const offload_loss_vec *);
struct json *loss_json(const struct profile *, const offload_loss_vec *);

#endif /* cli/held.h */
