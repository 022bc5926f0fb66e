/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* A proof in several processes against one in one: of tables as they are, and
 * with bugs planted, both must come to the same.
 *
 * usage: tests/verify/jobs [SEED [BUGS]] */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/openflow/openflow.h"
#include "base/diag.h"
#include "intent/intent.h"
#include "ir/ir.h"
#include "mutate.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "plan/prove.h"
#include "sema/policy.h"
#include "util.h"

enum { N_TENANTS = 6, N_JOBS = 4 };

static struct arena *arena;

static void
put_tenant(struct ds *ds, int t)
{
    ds_put_format(ds, "%s\"t%d\": { \"networks\": { \"n\": { \"vni\": %d, "
                  "\"subnets\": [ \"10.%d.0.0/24\" ], \"gateway\": "
                  "\"10.%d.0.1\" } }, \"endpoints\": {", t ? ", " : "", t,
                  100 + t, t, t);
    for (int e = 0; e < 3; e++) {
        ds_put_format(ds, "%s\"e%d\": { \"network\": \"n\", \"node\": \"a\", "
                      "\"interface\": \"t%de%d\", \"labels\": { \"role\": "
                      "\"r%d\" }, \"mac\": \"02:00:00:00:0%d:0%d\", "
                      "\"addresses\": [ \"10.%d.0.%d\" ], \"bandwidth\": { "
                      "\"receive\": { \"limit\": \"1Gbps\", \"burst\": "
                      "\"64KiB\" } } }", e ? ", " : "", e, t, e, e, t, e, t,
                      10 + e);
    }
    ds_put_format(ds, "}, \"rules\": [ { \"name\": \"r\", \"from\": { "
                  "\"labels\": { \"role\": \"r%d\" } }, \"to\": {}, "
                  "\"service\": \"s\" } ]%s }", t % 3,
                  t == 0 ? ", \"peers\": [ \"t5\" ]"
                  : t == 5 ? ", \"peers\": [ \"t0\" ]" : "");
}

/* Tenants that have nothing in common, but for two that have a peering.  The
 * first has no endpoints, and the last one, which has nobody to send to, so
 * that no zone is known of it. */
static const struct policy *
make_policy(void)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const struct policy *policy = NULL;
    const struct intent *intent;
    struct diags diags;

    ds_put_cstr(&ds, "{ \"version\": 1, \"fabric\": { \"nodes\": { \"a\": { "
                "\"uplinks\": { \"u\": { \"interface\": \"p0\", \"rate\": "
                "\"10Gbps\", \"burst\": \"64KiB\" } } } } }, \"services\": { "
                "\"s\": { \"protocol\": \"tcp\", \"ports\": [ 80 ] } }, "
                "\"peerings\": { \"p\": { \"from\": { \"tenant\": \"t0\" }, "
                "\"to\": { \"tenant\": \"t5\" }, \"service\": \"s\" } }, "
                "\"tenants\": { \"a\": { \"networks\": { \"n\": { \"vni\": "
                "99, \"subnets\": [ \"10.99.0.0/24\" ] } } }, ");
    for (int t = 0; t < N_TENANTS; t++) {
        put_tenant(&ds, t);
    }
    ds_put_cstr(&ds, ", \"z\": { \"networks\": { \"n\": { \"vni\": 98, "
                "\"subnets\": [ \"10.98.0.0/24\" ] } }, \"endpoints\": { "
                "\"e\": { \"network\": \"n\", \"node\": \"a\", "
                "\"interface\": \"ze\", \"mac\": \"02:00:00:00:0a:00\", "
                "\"addresses\": [ \"10.98.0.10\" ] } } } } }");
    diags_init(&diags, arena);
    intent = intent_parse(source_create(
        arena, "intent", arena_strdup(arena, ds_cstr(&ds)), ds.length),
        arena, &diags);
    ds_destroy(&ds);
    if (intent) {
        policy = policy_resolve(intent, arena, &diags);
    }
    if (!policy) {
        struct ds words = DS_EMPTY_INITIALIZER;

        diags_format(&diags, &words);
        printf("not ok - the intent is refused\n%s", ds_cstr(&words));
        exit(EXIT_FAILURE);
    }
    return policy;
}

static void
prove(const struct policy *policy, const struct plan *plan,
      unsigned int n_jobs, struct plan_proof *proof)
{
    plan_prove(proof, policy, plan, NULL, 0, n_jobs, arena);
    plan_proof_destroy(proof);
}

static bool
are_same(const struct verify_result *a, const struct verify_result *b)
{
    return (!a->unproved == !b->unproved
            && a->n_differences == b->n_differences
            && !memcmp(a->n_of_kind, b->n_of_kind, sizeof a->n_of_kind)
            && a->shadowed.n == b->shadowed.n);
}

/* Returns whether the bug is found. */
static bool
plant(const struct policy *policy, struct plan *plan, size_t kind,
      struct rng *rng, bool *ok)
{
    struct plan_flow *v = plan->flows.v;
    struct plan_proof alone, together;
    bool found = false;

    plan->flows.v = xmemdup(v, plan->flows.n * sizeof *v);
    if (mutate(plan, kind, rng) >= 0) {
        prove(policy, plan, 1, &alone);
        prove(policy, plan, N_JOBS, &together);
        found = !verify_is_proved(&alone.result);
        if (!are_same(&alone.result, &together.result)) {
            printf("not ok - %s: %"PRIuSIZE" differences, and %"PRIuSIZE" in "
                   "processes\n", mutation_name(kind),
                   alone.result.n_differences,
                   together.result.n_differences);
            *ok = false;
        }
    }
    free(plan->flows.v);
    plan->flows.v = v;
    return found;
}

static uint32_t
number_of(const struct plan *plan, const char *tenant)
{
    size_t i = 0;

    while (strcmp(plan->tenants.v[i].name, tenant)) {
        i++;
    }
    return plan->tenants.v[i].number;
}

/* What t0 sends to an endpoint of t5 passes a meter that could be the
 * endpoint's, but is not that of what t5 sends to it.  The two are in
 * processes of their own, and neither sees both meters. */
static void
plant_meter(struct plan *plan)
{
    struct plan_flow flow;
    struct plan_meter meter;
    const char *old, *new;
    size_t i, n;

    for (i = 0; !strstr(plan->flows.v[i].actions, "output:\"t5e0\""); i++) {
        continue;
    }
    flow = plan->flows.v[i];
    old = mutation_find(flow.actions, "meter:", &n);
    for (i = 0; plan->meters.v[i].id != strtoul(old + 6, NULL, 10); i++) {
        continue;
    }
    meter = plan->meters.v[i];
    meter.id ^= PLAN_METER_NUMBER(0) | PLAN_METER_NUMBER(0) << 1;
    *vec_push(plan->arena, &plan->meters) = meter;
    new = arena_printf(plan->arena, "meter:%"PRIu32, meter.id);
    flow.actions = mutation_replace(plan->arena, flow.actions, old, n, new,
                                    strlen(new));
    flow.match = arena_printf(plan->arena, "reg0=%#"PRIx32",%s",
                              number_of(plan, "t0"), flow.match);
    flow.priority++;
    *vec_push(plan->arena, &plan->flows) = flow;
}

/* What no process finds by itself. */
static bool
finds_dispute(const struct policy *policy, struct plan *plan)
{
    struct plan_proof alone, together;
    bool ok;

    plant_meter(plan);
    prove(policy, plan, 1, &alone);
    prove(policy, plan, N_JOBS, &together);
    ok = (!verify_is_proved(&alone.result)
          && are_same(&alone.result, &together.result));
    printf("%sok - two meters for what an endpoint gets are %"PRIuSIZE" "
           "differences, and %"PRIuSIZE" in processes\n", ok ? "" : "not ",
           alone.result.n_differences, together.result.n_differences);
    return ok;
}

int
main(int argc, char *argv[])
{
    struct rng rng = { argc > 1 ? strtoull(argv[1], NULL, 10) : 1 };
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 60, found = 0;
    const struct policy *policy;
    struct plan_proof proof;
    struct diags diags;
    struct plan plan;
    bool ok;

    ovs_set_program_name(argv[0], PACKAGE_VERSION);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    arena = arena_create();
    policy = make_policy();
    diags_init(&diags, arena);
    backend_compile(&openflow_backend, ir_build(policy, "a", arena), arena,
                    &diags, &plan);
    prove(policy, &plan, N_JOBS, &proof);
    ok = (verify_is_proved(&proof.result)
          && proof.result.n_jobs == N_JOBS - 1);
    printf("%sok - %"PRIuSIZE" processes\n", ok ? "" : "not ",
           1 + proof.result.n_jobs);
    for (size_t i = 0; i < n; i++) {
        found += plant(policy, &plan, i % n_mutations, &rng, &ok);
    }
    ok = ok && found > n / 4;
    printf("%sok - of %"PRIuSIZE" planted bugs %"PRIuSIZE" found, as in one "
           "process\n", ok ? "" : "not ", n, found);
    ok &= finds_dispute(policy, &plan);
    arena_destroy(arena);
    return ok ? 0 : 1;
}
