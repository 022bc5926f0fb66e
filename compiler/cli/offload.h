/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_OFFLOAD_H
#define CLI_OFFLOAD_H 1

/* What "bulkhead offload" prints, as a table and as JSON. */

#include "offload/offload.h"

struct backend;
struct cli_options;
struct json;
struct policy;

/* That of the name of 'named' for what 'target' makes, which in the kernel is
 * the same for all targets; NULL if there is none. */
const struct profile *offload_profile(const struct profile *named,
                                      const struct backend *target);

/* What refuses a capability: the layer and what it says. */
struct offload_refusal {
    const struct layer *layer;
    struct cap_fact fact;
};
struct offload_refusal offload_refusal(const struct profile *, enum cap);

/* An array of what is refused: by whom, by which source, and the remedy. */
struct json *offload_refusals_json(const struct profile *, cap_set refused);

/* Of "apply --profile": prints each rule that would not be wholly in hardware,
 * why, and what to change.  Returns an exit status. */
int cli_gate_offload(const struct cli_options *, const struct policy *,
                     const struct plan *, struct arena *);

void offload_print_json(const struct offload_report *, const char *node);

#endif /* cli/offload.h */
