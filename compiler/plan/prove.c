/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/prove.h"

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "plan/verifier.h"
#include "sema/policy.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

const char *
plan_to_task(const struct plan *plan, struct verify_task *task,
             struct table_set *tables, struct ofputil_port_map *ports,
             struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *wrong;
    uint32_t *meters;

    for (size_t i = 0; i < plan->flows.n; i++) {
        plan_put_flow(&plan->flows.v[i], &ds);
        ds_put_char(&ds, '\n');
    }
    meters = arena_zalloc(arena, (plan->meters.n + 1) * sizeof *meters);
    for (size_t i = 0; i < plan->meters.n; i++) {
        meters[i] = plan->meters.v[i].id;
    }
    task->meters = meters;
    task->n_meters = plan->meters.n;
    task->tags = plan->telemetry;
    task->tables = tables;
    table_set_init(tables, "compiled", arena, ports);
    wrong = table_set_parse(tables, ds_cstr(&ds), ds.length);
    ds_destroy(&ds);
    return wrong ? wrong : table_set_finish(tables);
}

/* Is it of this verifier? */
static bool
is_ours(const plan_names *known)
{
    return known && known->n && !strcmp(known->v[0], VERIFIER);
}

/* Leaves out the tenants of which the same is known, and notes what will
 * be. */
static void
leave_out_known(struct plan_proof *p, const plan_names *known,
                struct arena *arena)
{
    const char **digests = arena_zalloc(arena, (p->n_tenants + 1)
                                        * sizeof *digests);
    bool *tenants = arena_zalloc(arena, p->n_tenants + 1);
    struct sset before = SSET_INITIALIZER(&before);

    if (!verify_digest(&p->task, arena, digests)) {
        return;
    }
    for (size_t i = 1; is_ours(known) && i < known->n; i++) {
        sset_add(&before, known->v[i]);
    }
    *vec_push(arena, &p->proved) = VERIFIER;
    p->n_proved = 0;
    for (size_t i = 0; i < p->n_tenants; i++) {
        *vec_push(arena, &p->proved) = digests[i];
        tenants[i] = !sset_contains(&before, digests[i]);
        p->n_proved += tenants[i];
    }
    p->task.tenants = p->n_proved < p->n_tenants ? tenants : NULL;
    sset_destroy(&before);
}

bool
plan_prove(struct plan_proof *p, const struct policy *policy,
           const struct plan *plan, const plan_names *known, int time_ms,
           unsigned int n_jobs, struct arena *arena)
{
    const char *wrong;

    *p = (struct plan_proof) {
        .task = {
            .policy = policy, .node = plan->node,
            .deadline = time_ms ? time_msec() + time_ms : 0,
            .contracts = true,
            .n_jobs = n_jobs,
        },
        .n_tenants = policy->tenants.n, .n_proved = policy->tenants.n,
    };
    ofputil_port_map_init(&p->ports);
    wrong = plan_to_task(plan, &p->task, &p->tables, &p->ports, arena);
    if (wrong) {
        p->result.unproved = wrong;
        return false;
    }
    leave_out_known(p, known, arena);
    verify(&p->task, arena, &p->result);
    if (p->result.whole) {
        p->n_proved = p->n_tenants;
    }
    return verify_is_proved(&p->result);
}

void
plan_proof_destroy(struct plan_proof *p)
{
    table_set_destroy(&p->tables);
    ofputil_port_map_destroy(&p->ports);
}
