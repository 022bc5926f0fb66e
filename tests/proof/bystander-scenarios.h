/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BYSTANDER_SCENARIOS_H
#define BYSTANDER_SCENARIOS_H 1

/* What a bystander is beside, and what is proved of it. */

#include "bystander.h"

struct bystander_scenario {
    const char *name;
    struct bystander_conf conf; /* All but 'meters', 'ns' and 'seed'. */

    /* What the bystander waits with microburst bands, in 99 % of cases, as a
     * part of the same with meters of Open vSwitch 3.1. */
    double max_ratio;

    /* What it may wait at all, in us; 0: nothing is computed. */
    double bound_us;

    double min_used;            /* Of the FIFO's rate; 0: not said. */

    /* Of what a tenant gets with the other meters; 0: not said. */
    double min_got[BYSTANDER_MAX_TENANTS];
};

extern const struct bystander_scenario bystander_scenarios[];
extern const unsigned int n_bystander_scenarios;

#endif /* bystander-scenarios.h */
