/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* What a bystander waits behind tenants whose bursts last 10 to 20 us, or who
 * always send: at most a tenth of what it waits behind meters of Open vSwitch
 * 3.1, with the link as well used. */

#include <config.h>

#include "bystander-scenarios.h"
#include "proof.h"

/* Judges what microburst bands make of a scenario, beside what 'ovs31' is. */
static void
judge(const struct bystander_scenario *s,
      const struct bystander_result *ovs31, const struct bystander_result *r)
{
    if (r->p99_us > s->max_ratio * ovs31->p99_us) {
        proof_fail("%s: 1 %% wait more than %.2f us, where it was %.2f us",
                   s->name, r->p99_us, ovs31->p99_us);
    }
    if (s->bound_us && r->worst_us > s->bound_us) {
        proof_fail("%s: one waits %.2f us, above %.2f us", s->name,
                   r->worst_us, s->bound_us);
    }
    if (r->used < s->min_used) {
        proof_fail("%s: %.2f %% of the link used", s->name, 100 * r->used);
    }
    if (r->n_refused) {
        proof_fail("%s: what the bystander is owed was refused", s->name);
    }
    for (unsigned int i = 0; i < s->conf.n_tenants; i++) {
        double is = r->tenants[i].got, was = ovs31->tenants[i].got;

        if (is < s->min_got[i] * was) {
            proof_fail("%s: tenant %u has %.2f %% of the link, where it had "
                       "%.2f %%", s->name, i, 100 * is, 100 * was);
        }
    }
}

static void
prove(const struct bystander_scenario *s, struct proof_options o)
{
    unsigned int n = o.longer ? 20 : 3;
    struct bystander_conf conf = s->conf;
    struct bystander_result ovs31, r;

    conf.ns = 50 * 1000 * 1000;
    for (unsigned int i = 0; i < n; i++) {
        conf.seed = o.seed + i;
        conf.meters = METERS_OVS31;
        ovs31 = bystander_run(&conf);
        conf.meters = METERS_MICROBURST;
        r = bystander_run(&conf);
        judge(s, &ovs31, &r);
    }
    proof_ok("%s: 99 %% wait at most %.2f us, instead of %.2f us (%.1f %%), "
             "with %.2f %% of the link used, instead of %.2f %%", s->name,
             r.p99_us, ovs31.p99_us, 100 * r.p99_us / ovs31.p99_us,
             100 * r.used, 100 * ovs31.used);
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);

    for (unsigned int i = 0; i < n_bystander_scenarios; i++) {
        prove(&bystander_scenarios[i], options);
    }
    return 0;
}
