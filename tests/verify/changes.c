/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Random changes of one tenant, with and without a bug planted in the tables
 * of any: what the proof of the change says is proved, a proof of all must
 * prove too.
 *
 * usage: tests/verify/changes [SEED [CHANGES]] */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/openflow/openflow.h"
#include "base/diag.h"
#include "differential/random.h"
#include "intent/files.h"
#include "intent/intent.h"
#include "lapse.h"
#include "mutate.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "plan/prove.h"
#include "resident/prove.h"
#include "resident/resident.h"
#include "sema/policy.h"
#include "util.h"

enum { N_TENANTS = 5, N_ENDPOINTS = 7, N_RULES = 6, CHANGES_A_WORLD = 20 };

/* What is random of a tenant; of a rule, 0: it is not there. */
struct spec {
    int n_endpoints, rate, rules[N_RULES];
};

struct world {
    struct rng rng;
    struct spec specs[N_TENANTS];
    struct arena *arena;
    const struct intent *intent;
    struct resident *resident;
    struct proved *proved;
    struct plan held;           /* What 'proved' has. */
    const char *lost;           /* A flow that is lost, as long as that makes
                                 * no difference; or NULL. */
};

struct count {
    size_t changes, bugs, anew, proved, packets, seams, symmetries, wrong,
           found, leaks, missed;
};

static void
put_rule(struct ds *ds, int number, unsigned int how)
{
    static const char *const roles[] = {
        "{'labels':{'role':'a'}}", "{'labels':{'role':'b'}}", "{}",
        "{'endpoint':'e1'}",
    };
    int service = how % 4;

    /* One class a service: rules do not contradict each other. */
    ds_put_format(ds, "{'name':'r%d','from':%s,'to':%s,'service':'s%d',%s},",
                  number, roles[how / 4 % 4], roles[how / 16 % 4], service,
                  how / 64 % 5 == 4 ? "'action':'deny'"
                  : service % 2 ? "'class':'gold'" : "'class':'silver'");
}

/* A tenant, as a member of an intent. */
static void
put_tenant(struct ds *ds, int t, const struct spec *spec)
{
    ds_put_format(ds, "'t%d':{'networks':{'n':{'vni':%d,'subnets':"
                  "['10.0.%d.0/24'],'gateway':'10.0.%d.1'}},%s"
                  "'bandwidth':{'limit':'%dGbps','burst':'64KiB'},"
                  "'endpoints':{", t, 100 + t, t, t,
                  !t ? "'peers':['t1']," : t == 1 ? "'peers':['t0']," : "",
                  spec->rate);
    for (int e = 0; e < spec->n_endpoints; e++) {
        ds_put_format(ds, "%s'e%d':{'network':'n','node':'node',"
                      "'interface':'t%de%d','mac':'02:00:00:00:%02x:%02x',"
                      "'labels':{'role':'%c'},'addresses':['10.0.%d.%d']}",
                      e ? "," : "", e, t, e, t, e, "ab"[e % 2], t, 10 + e);
    }
    ds_put_cstr(ds, "},'rules':[");
    for (int k = 0; k < N_RULES; k++) {
        if (spec->rules[k]) {
            put_rule(ds, k, spec->rules[k]);
        }
    }
    ds_chomp(ds, ',');
    ds_put_cstr(ds, "]}");
}

static int
random_rule(struct rng *rng, int percent)
{
    return rng_chance(rng, percent) ? 320 + rng_below(rng, 320) : 0;
}

static struct spec
random_spec(struct rng *rng)
{
    struct spec spec = {
        .n_endpoints = rng_chance(rng, 90) ? N_ENDPOINTS : N_ENDPOINTS - 1,
        .rate = 1 + rng_below(rng, 2),
    };
    int percent = rng_chance(rng, 50) ? 50 : 10;

    for (int i = 0; i < N_RULES; i++) {
        spec.rules[i] = random_rule(rng, percent);
    }
    return spec;
}

/* Mostly one rule is another, or comes or goes. */
static void
change_spec(struct spec *spec, struct rng *rng)
{
    switch (rng_below(rng, 12)) {
    case 0: *spec = random_spec(rng); break;
    case 1: spec->rate = 1 + rng_below(rng, 3); break;
    case 2: break;
    case 3: case 4: case 5:
        spec->n_endpoints = N_ENDPOINTS - !(N_ENDPOINTS - spec->n_endpoints);
        break;
    default:
        spec->rules[rng_below(rng, N_RULES)] = random_rule(rng, 70);
    }
}

static const struct source *
take_text(struct ds *ds, struct arena *arena)
{
    for (char *p = ds->string; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    return source_create(arena, "intent", arena_strdup(arena, ds_cstr(ds)),
                         ds->length);
}

static void
fail(struct diags *diags)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    diags_format(diags, &ds);
    printf("not ok - an intent is refused: %s\n", ds_cstr(&ds));
    exit(EXIT_FAILURE);
}

static const struct intent *
make_intent(struct world *w, struct diags *diags)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const struct intent *intent;

    ds_put_cstr(&ds, "{'version':1,'fabric':{'nodes':{'node':{'uplinks':{'up':"
                "{'interface':'p0','rate':'100Gbps','burst':'256KiB'}}}}},"
                "'classes':{'gold':{'dscp':46,'queue':5},"
                "'silver':{'dscp':26,'queue':3}},'services':{");
    for (int i = 0; i < 4; i++) {
        ds_put_format(&ds, "%s's%d':{'protocol':'%s','ports':[%d]}",
                      i ? "," : "", i, i % 2 ? "udp" : "tcp", 1000 + i);
    }
    ds_put_cstr(&ds, "},'peerings':{'p':{'from':{'tenant':'t0'},"
                "'to':{'tenant':'t1','labels':{'role':'b'}},'service':'s1',"
                "'class':'gold'}},'tenants':{");
    for (int t = 0; t < N_TENANTS; t++) {
        ds_put_cstr(&ds, t ? "," : "");
        w->specs[t] = random_spec(&w->rng);
        put_tenant(&ds, t, &w->specs[t]);
    }
    ds_put_cstr(&ds, "}}");
    intent = intent_parse(take_text(&ds, w->arena), w->arena, diags);
    ds_destroy(&ds);
    return intent;
}

/* A copy of what the resident compilation has, but for the flow 'lost', if
 * that is not NULL. */
static struct plan
copy_plan(const struct world *w, const char *lost)
{
    struct plan plan, copy;

    resident_plan(w->resident, &plan, w->arena);
    copy = plan;
    copy.flows.v = arena_zalloc(w->arena, (plan.flows.n + 1)
                                * sizeof *plan.flows.v);
    copy.flows.n = 0;
    for (size_t i = 0; i < plan.flows.n; i++) {
        struct plan_flow *flow = &copy.flows.v[copy.flows.n];

        if (lost && !strcmp(plan_flow_string(&plan, &plan.flows.v[i]),
                            lost)) {
            continue;
        }
        *flow = plan.flows.v[i];
        flow->match = arena_strdup(w->arena, flow->match);
        flow->actions = arena_strdup(w->arena, flow->actions);
        copy.flows.n++;
    }
    return copy;
}

/* The proof of the change from 'w->held' to 'plan', with 'meters' if that is
 * not NULL; stores whether it is by packets only, and how. */
static bool
prove_change(struct world *w, const struct plan *plan,
             const struct resident_diff *meters, bool *packets,
             struct proved_count *count)
{
    struct resident_diff diff = { .tenant = NULL };
    const struct intent *intent = resident_intent(w->resident, w->arena);
    bool proved;

    if (meters) {
        diff = *meters;
        memset(&diff.added, 0, sizeof diff.added);
        memset(&diff.changed, 0, sizeof diff.changed);
        memset(&diff.deleted, 0, sizeof diff.deleted);
    }
    lapse_find_more(plan, &w->held, w->arena, &diff.added);
    lapse_find_more(&w->held, plan, w->arena, &diff.deleted);
    proved_change(w->proved, intent, &diff);
    w->held = *plan;
    proved_begin(w->proved, w->resident);
    *packets = proved_prove_packets(w->proved, 0, count);
    proved = *packets || proved_prove(w->proved, 0, count);
    proved_end(w->proved, proved);
    return proved;
}

/* What bulkheadd does while nothing changes, some of it or all. */
static void
prepare(struct world *w)
{
    const struct intent *intent = resident_intent(w->resident, w->arena);

    while (rng_chance(&w->rng, 90) && proved_prepare(w->proved, intent, 0)) {
        continue;
    }
}

/* Is the plan proved as a whole, but for contracts, which proofs of changes do
 * not ask? */
static bool
prove_all(struct world *w, const struct policy *policy,
          const struct plan *plan)
{
    struct plan_proof proof;
    const struct verify_result *result = &proof.result;
    bool proved = (plan_prove(&proof, policy, plan, NULL, 0, 1, w->arena)
                   || (!result->unproved && !result->shadowed.n
                       && result->n_differences
                          == result->n_of_kind[VERIFY_CONTRACT]));

    plan_proof_destroy(&proof);
    return proved;
}

/* Puts what is proved as a whole in the place of what is kept. */
static void
begin_anew(struct world *w, const struct policy *policy,
           const struct plan *plan)
{
    proved_destroy(w->proved);
    w->proved = proved_create(policy, plan);
    w->held = *plan;
    if (!w->proved) {
        printf("not ok - nothing is kept of what is proved\n");
        exit(EXIT_FAILURE);
    }
}

static const struct policy *
get_policy(struct world *w)
{
    struct diags diags;
    const struct policy *policy;

    diags_init(&diags, w->arena);
    policy = policy_resolve(resident_intent(w->resident, w->arena), w->arena,
                            &diags);
    if (!policy) {
        fail(&diags);
    }
    return policy;
}

static void
world_init(struct world *w, uint64_t seed)
{
    struct diags diags;
    struct plan plan;

    *w = (struct world) { .rng = { seed }, .arena = arena_create() };
    diags_init(&diags, w->arena);
    w->intent = make_intent(w, &diags);
    w->resident = (w->intent ? resident_create(w->intent, "node",
                                               &openflow_backend, &diags)
                   : NULL);
    if (!w->resident) {
        fail(&diags);
    }
    plan = copy_plan(w, NULL);
    begin_anew(w, get_policy(w), &plan);
}

static void
world_destroy(struct world *w)
{
    proved_destroy(w->proved);
    resident_destroy(w->resident);
    arena_destroy(w->arena);
}

/* Makes a tenant another.  Returns false if that is refused. */
static bool
put_another(struct world *w, struct resident_diff *diff)
{
    struct arena *arena = arena_create();
    struct ds ds = DS_EMPTY_INITIALIZER;
    const struct intent *part;
    struct intent_file file;
    struct diags diags;
    int t = rng_below(&w->rng, N_TENANTS);
    struct spec old = w->specs[t];

    diags_init(&diags, w->arena);
    change_spec(&w->specs[t], &w->rng);
    ds_put_cstr(&ds, "{'version':1,'tenants':{");
    put_tenant(&ds, t, &w->specs[t]);
    ds_put_cstr(&ds, "}}");
    file = (struct intent_file) { .source = take_text(&ds, arena) };
    ds_destroy(&ds);
    part = intent_parse_tenants(&file, w->intent, arena, &diags);
    if (!part || !resident_put(w->resident, &part->tenants.v[0], arena,
                               &diags, diff)) {
        arena_destroy(arena);
        w->specs[t] = old;
        return false;
    }
    return true;
}

/* Plants a bug, or none: then returns NULL, else what. */
static const char *
plant(struct world *w, struct plan *plan)
{
    size_t kind = rng_below(&w->rng, n_mutations);

    switch (rng_below(&w->rng, 22)) {
    case 15: case 14:
        return (lapse_imitate(plan, &w->held, &w->rng)
                ? "a flow like another" : NULL);
    case 13: case 12:
        return (lapse_new(plan, &w->held, kind, &w->rng)
                ? mutation_name(kind) : NULL);
    case 11: return lapse_decide(plan, &w->rng) ? "a decision" : NULL;
    case 10:
        return (lapse_decide_by_port(plan, &w->rng) ? "a decision by port"
                : NULL);
    case 9: return lapse_leak(plan, &w->rng, true) ? "a scattered leak" : NULL;
    case 8: return lapse_stay(plan, &w->held) ? "the old tables" : NULL;
    case 0: return lapse_leak(plan, &w->rng, false) ? "a leak" : NULL;
    case 1: return lapse_keep(plan, &w->held, &w->rng) ? "an old flow" : NULL;
    case 2: case 3: case 4:
        return (mutate(plan, kind, &w->rng) >= 0 ? mutation_name(kind)
                : NULL);
    default: return NULL;
    }
}

/* Leaves out a meter that was there before, too.  Returns false if there is
 * none. */
static bool
lose_meter(struct world *w, struct plan *plan, struct resident_diff *diff)
{
    size_t lost = plan->meters.n ? rng_below(&w->rng, plan->meters.n) : 0;
    struct plan_meter *gone;

    for (size_t i = 0; i < diff->meters_added.n; i++) {
        if (diff->meters_added.v[i]->id == plan->meters.v[lost].id) {
            return false;
        }
    }
    if (!plan->meters.n) {
        return false;
    }
    gone = arena_zalloc(w->arena, sizeof *gone);
    *gone = plan->meters.v[lost];
    *vec_push(w->arena, &diff->meters_deleted) = gone;
    plan->meters.v[lost] = plan->meters.v[--plan->meters.n];
    return true;
}

static void
try_change(struct world *w, struct count *count)
{
    struct resident_diff diff;
    const struct policy *policy;
    struct plan right, plan;
    const char *bug;
    struct proved_count how;
    bool proved, all, packets;

    prepare(w);
    if (!put_another(w, &diff)) {
        return;
    }
    policy = get_policy(w);
    right = copy_plan(w, NULL);
    if (!w->lost && rng_chance(&w->rng, 10)) {
        w->lost = lapse_lose(&right, &w->rng);
    }
    plan = copy_plan(w, w->lost);
    bug = (w->lost ? "a flow that no packet needed" : rng_chance(&w->rng, 5)
           ? lose_meter(w, &plan, &diff) ? "a lost meter" : NULL
           : plant(w, &plan));
    count->bugs += bug != NULL;
    /* What is not proved is asked again with the next, whatever that is. */
    proved = (prove_change(w, &plan, &diff, &packets, &how)
              || (!proved_lost(w->proved)
                  && prove_change(w, &plan, NULL, &packets, &how)));
    all = prove_all(w, policy, &plan);
    count->changes++;
    count->proved += proved;
    count->packets += packets;
    count->seams += packets && how.seam;
    count->symmetries += packets && how.symmetry;
    count->wrong += !all;
    if (proved && !all) {
        count->missed++;
        printf("not ok - %s of a change of %s is not found%s\n",
               bug ? bug : "nothing", diff.tenant, how.seam ? " by a seam"
               : how.symmetry ? " by symmetry" : "");
    } else if (!all) {
        count->found++;
        count->leaks += bug && !strcmp(bug, "a leak");
    }
    if (w->lost && proved && all) {
        return;                 /* It makes a difference later, perhaps. */
    }
    w->lost = NULL;
    if (proved_lost(w->proved)
        || !prove_change(w, &right, NULL, &packets, &how)) {
        count->anew++;
        begin_anew(w, policy, &right);
    }
}

int
main(int argc, char *argv[])
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 300;
    struct count count = { 0 };
    bool ok;

    ovs_set_program_name(argv[0], PACKAGE_VERSION);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("# seed %"PRIu64"\n", seed);
    while (count.changes < n) {
        struct world w;

        world_init(&w, seed++);
        for (int i = 0; i < CHANGES_A_WORLD; i++) {
            try_change(&w, &count);
        }
        world_destroy(&w);
    }
    ok = (!count.missed && count.proved >= n / 4 && count.packets >= n / 8
          && count.seams >= n / 16 && count.symmetries >= n / 40
          && count.wrong >= n / 8 && count.leaks);
    printf("%sok - of %"PRIuSIZE" changes, %"PRIuSIZE" with a bug, "
           "%"PRIuSIZE" proved by themselves, %"PRIuSIZE" by packets, of "
           "which %"PRIuSIZE" by what is decided and %"PRIuSIZE" by "
           "endpoints that are like one; %"PRIuSIZE" wrong, of "
           "which %"PRIuSIZE" found, %"PRIuSIZE" of them leaks, and %"PRIuSIZE
           " missed; begun anew %"PRIuSIZE" times\n", ok ? "" : "not ",
           count.changes, count.bugs, count.proved, count.packets,
           count.seams, count.symmetries, count.wrong, count.found,
           count.leaks, count.missed, count.anew);
    return ok ? 0 : 1;
}
