/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Random intents and random changes of one tenant after the other: the
 * compilation that is kept (resident/resident.h) must hold what a compilation
 * of the whole gives, and each difference must be plan_compare()'s; what the
 * whole refuses it must refuse, and be as before. */

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/openflow/openflow.h"
#include "base/diag.h"
#include "edits.h"
#include "intent/files.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "resident-compare.h"
#include "resident-edits.h"
#include "resident/resident.h"
#include "util.h"

enum { EDITS_A_WORLD = 25 };

/* Names of tenants whose numbers are hashes that meet. */
static const char *const names[][MAX_TENANTS] = {
    { "t0", "t1", "t2", "t3" },
    /* Zones: the first, third and fourth meet in z, the second is at z + 1. */
    { "z155371", "z10504", "z41717", "z166660" },
    /* Numbers of tenants, two by two. */
    { "n14453", "n54697", "n16343", "n117490" },
    /* Numbers of endpoints: e3 of the first and e0 of the second, e2 of the
     * third and e1 of the fourth. */
    { "e18476", "e34687", "e59228", "e59375" },
};

/* A world that changes, and what holds it. */
struct trial {
    struct world w;
    struct world frame;         /* All but tenants are as here. */
    struct rng rng;
    const char *const *names;
    const char *tenants[MAX_TENANTS];   /* Their texts. */
    struct backend backend;
    struct backend_caps caps;
    bool limited;               /* The target has no room to spare. */
    int buffer_kib;             /* 0: none is said. */
    struct resident *resident;
    struct edited edited;
    struct arena *arena;        /* Of the plan at hand... */
    struct plan plan;           /* ...which is the whole's. */
    struct arena *first;        /* Of... */
    const struct intent *rest;  /* ...the intent that it began with. */
};

/* What happened. */
struct outcome_counts {
    size_t worlds, made[N_EDITS], refused[N_EDITS];
    size_t compilations, tenants, wholes, joined, united;
    size_t too_much;            /* Refused for want of room. */
    size_t said, unsaid;        /* In journals. */
};

/* 'text' with the tenants' names for "t0" to "t3", and perhaps a buffer at the
 * end of the first uplink. */
static const char *
rename_tenants(const struct trial *t, const char *text, struct arena *arena)
{
    static const char uplink[] = "\"interface\": \"p0\"";
    const char *first = t->buffer_kib ? strstr(text, uplink) : NULL;
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (const char *s = text; *s; s++) {
        if (s == first) {
            ds_put_format(&ds, "\"buffer\": \"%dKiB\", ", t->buffer_kib);
        }
        if (s[0] == '"' && s[1] == 't' && s[2] >= '0'
            && s[2] < '0' + MAX_TENANTS && (s[3] == '"' || s[3] == '/')) {
            ds_put_format(&ds, "\"%s", t->names[s[2] - '0']);
            s += 2;
        } else {
            ds_put_char(&ds, *s);
        }
    }

    const char *renamed = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return renamed;
}

static const struct source *
make_source(const struct trial *t, const char *text, struct arena *arena)
{
    const char *renamed = rename_tenants(t, text, arena);

    return source_create(arena, "intent.json", renamed, strlen(renamed));
}

/* Compiles the whole.  Returns NULL, after storing how many errors there are,
 * if it is refused. */
static const struct intent *
compile_whole(const struct trial *t, const char *const tenants[],
              struct arena *arena, struct plan *plan, size_t *n_errors)
{
    const struct source *source
        = make_source(t, world_text_of(&t->frame, tenants, arena), arena);
    const struct policy *policy;
    const struct intent *intent;
    struct diags diags;

    diags_init(&diags, arena);
    intent = intent_parse(source, arena, &diags);
    policy = intent ? policy_resolve(intent, arena, &diags) : NULL;
    if (policy) {
        backend_compile(&t->backend, ir_build(policy, WORLD_NODE, arena),
                        arena, &diags, plan);
    }
    *n_errors = diags.n_errors;
    return diags.n_errors ? NULL : intent;
}

/* Changes 'tenant' to 'text' in the resident.  Returns true if it takes that.
 */
static bool
change_resident(struct trial *t, int tenant, const char *text,
                struct diags *diags, struct resident_diff *diff)
{
    if (!text) {
        return resident_remove(t->resident, t->names[tenant], diags, diff);
    }

    struct arena *arena = arena_create();
    const char *part = arena_printf(arena, "{\"version\": 1, "
                                    "\"tenants\": {%s}}", text);
    const struct intent *intent
        = intent_parse_tenants(&(struct intent_file) {
                                   .source = make_source(t, part, arena),
                               }, t->rest, arena, diags);
    bool ok = intent && resident_put(t->resident, &intent->tenants.v[0],
                                     arena, diags, diff);

    if (!ok) {
        arena_destroy(arena);
    }
    return ok;
}

/* Gives the target the room that the whole takes, and for a few flows more. */
static void
lower_limits(struct trial *t)
{
    size_t n_zones = 0, n[UINT8_MAX + 1] = { 0 }, most = 0;

    for (size_t i = 0; i < t->plan.tenants.n; i++) {
        n_zones += t->plan.tenants.v[i].zone != 0;
    }
    for (size_t i = 0; i < t->plan.flows.n; i++) {
        most = MAX(most, ++n[t->plan.flows.v[i].table]);
    }
    t->caps.n_zones = n_zones;
    t->caps.n_ports = t->plan.ports.n + (t->plan.tunnel.type != NULL);
    t->caps.n_meters = t->plan.meters.n;
    t->caps.n_conjunctions = t->plan.n_conjunctions;
    t->caps.n_flows = MAX(t->plan.n_rule_flows, most)
                      + rng_below(&t->rng, 8);
}

static bool
is_too_much(const struct diags *diags)
{
    for (size_t i = 0; i < diags->list.n; i++) {
        if (strstr(diags->list.v[i].cause, "has room for")
            || strstr(diags->list.v[i].cause, "this buffer")) {
            return true;
        }
    }
    return false;
}

/* Changes one tenant.  Returns NULL, or what is wrong. */
static const char *
try_edit(struct trial *t, enum edit edit, struct outcome_counts *counts)
{
    struct world before = t->w;
    int tenant = rng_below(&t->rng, t->w.n_tenants);
    struct arena *arena = arena_create();
    const char *tenants[MAX_TENANTS];
    struct resident_diff diff;
    struct diags diags;
    struct plan plan;
    size_t n_errors;
    const char *reason;

    t->caps = *openflow_backend.caps;
    if (t->limited && rng_chance(&t->rng, 50)) {
        lower_limits(t);
    }
    if (t->w.tenants[tenant].left_out && rng_chance(&t->rng, 60)) {
        edit = EDIT_TENANT;
    }
    memcpy(tenants, t->tenants, sizeof tenants);
    edit_tenant(&t->w, &t->rng, edit, tenant, &tenants[tenant], t->first);
    diags_init(&diags, arena);

    bool right = compile_whole(t, tenants, arena, &plan, &n_errors);
    bool taken = change_resident(t, tenant, tenants[tenant], &diags, &diff);

    if (taken != right) {
        reason = (taken ? "it takes what the whole refuses"
                  : "it refuses what the whole takes");
    } else if (!taken) {
        reason = (diags.n_errors != n_errors ? "the whole has other errors"
                  : compare_held(t->resident, &t->plan));
        t->w = before;
        counts->refused[edit]++;
        counts->too_much += is_too_much(&diags);
    } else {
        reason = compare_held(t->resident, &plan);
        reason = reason ? reason : compare_diffs(&t->plan, &plan, &diff);
        reason = reason ? reason : edited_follow(&t->edited, t->resident,
                                                 &diff);
        memcpy(t->tenants, tenants, sizeof tenants);
        arena_destroy(t->arena);
        t->arena = arena;
        t->plan = plan;
        counts->made[edit]++;
    }
    if (!taken) {
        arena_destroy(arena);
    }
    return reason;
}

/* Begins a trial.  Returns false if there is nothing to try. */
static bool
trial_init(struct trial *t, uint64_t seed)
{
    const struct intent *intent;
    struct diags diags;
    size_t n_errors;

    memset(t, 0, sizeof *t);
    t->rng.state = ~seed;
    world_init(&t->w, seed);
    /* What tenants share makes all of them one part. */
    t->w.shared = t->w.shared && rng_chance(&t->rng, 20);
    t->limited = rng_chance(&t->rng, 30);
    if (t->limited || rng_chance(&t->rng, 85)) {
        edit_thin_out(&t->w, &t->rng);
    }
    t->frame = t->w;
    t->buffer_kib = (rng_chance(&t->rng, 30) ? 1000 + rng_below(&t->rng, 4000)
                     : 0);
    t->names = names[rng_chance(&t->rng, 40)
                     ? rng_below(&t->rng, ARRAY_SIZE(names)) : 0];
    t->first = arena_create();
    t->arena = arena_create();
    t->caps = *openflow_backend.caps;
    t->backend = openflow_backend;
    t->backend.caps = &t->caps;
    for (int i = 0; i < t->w.n_tenants; i++) {
        t->tenants[i] = world_tenant_text(&t->w, i, t->first);
    }
    intent = compile_whole(t, t->tenants, t->first, &t->plan, &n_errors);
    diags_init(&diags, t->first);
    t->rest = intent;
    t->resident = intent ? resident_create(intent, WORLD_NODE, &t->backend,
                                           &diags) : NULL;
    return t->resident;
}

static void
trial_destroy(struct trial *t)
{
    resident_destroy(t->resident);
    edited_destroy(&t->edited);
    arena_destroy(t->arena);
    arena_destroy(t->first);
}

static void
report(const struct trial *t, uint64_t seed, enum edit edit,
       const char *reason)
{
    struct arena *arena = arena_create();

    printf("not ok - seed %"PRIu64", %s: %s\nintent before:\n%s", seed,
           edit_name(edit), reason,
           rename_tenants(t, world_text_of(&t->frame, t->tenants, arena),
                          arena));
    arena_destroy(arena);
}

static bool
try_world(uint64_t seed, struct outcome_counts *counts)
{
    struct trial t;
    const char *reason = NULL;

    if (trial_init(&t, seed)) {
        struct resident_stats stats;

        counts->worlds++;
        reason = compare_held(t.resident, &t.plan);
        if (reason) {
            report(&t, seed, 0, reason);
        }
        resident_stats(t.resident, &stats);
        counts->joined += stats.parts < t.w.n_tenants + 1;
        for (int i = 0; i < EDITS_A_WORLD && !reason; i++) {
            enum edit edit = rng_below(&t.rng, N_EDITS);

            reason = try_edit(&t, edit, counts);
            if (reason) {
                report(&t, seed, edit, reason);
            }
        }
        resident_stats(t.resident, &stats);
        counts->united += stats.whole != NULL;
        counts->compilations += stats.compilations;
        counts->tenants += stats.tenants;
        counts->wholes += stats.wholes;
        counts->said += t.edited.n_said;
        counts->unsaid += t.edited.n_unsaid;
    }
    trial_destroy(&t);
    return !reason;
}

static bool
print_counts(const struct outcome_counts *counts, bool floor)
{
    size_t made = 0, refused = 0;
    bool ok = true;

    for (int i = 0; i < N_EDITS; i++) {
        made += counts->made[i];
        refused += counts->refused[i];
        printf("# %-16s %6"PRIuSIZE" made %6"PRIuSIZE" refused\n",
               edit_name(i), counts->made[i], counts->refused[i]);
        if (floor && !counts->made[i]) {
            printf("not ok - this never happened\n");
            ok = false;
        }
    }
    printf("# %"PRIuSIZE" intents, %"PRIuSIZE" of them with joined tenants, "
           "%"PRIuSIZE" one part in the end\n# %"PRIuSIZE" changes made, "
           "%"PRIuSIZE" refused, %"PRIuSIZE" of them for want of room\n"
           "# %"PRIuSIZE" parts compiled, with %"PRIuSIZE" tenants; the "
           "whole %"PRIuSIZE" times\n# %"PRIuSIZE" changes as edits of a "
           "record, %"PRIuSIZE" not\n",
           counts->worlds, counts->joined, counts->united, made, refused,
           counts->too_much, counts->compilations, counts->tenants,
           counts->wholes, counts->said, counts->unsaid);
    /* What is refused is compiled as the whole, and seldom anything else. */
    if (floor && (counts->united > counts->worlds / 2
                  || counts->wholes > (refused + made / 4
                                       + counts->united * EDITS_A_WORLD))) {
        printf("not ok - many changes compile the whole: see "
               "compiler/resident/resident.h for what a new member needs\n");
        ok = false;
    } else if (floor && !counts->too_much) {
        printf("not ok - nothing was too much for the target\n");
        ok = false;
    } else if (floor && counts->unsaid > counts->said / 4) {
        printf("not ok - many changes are no edits of a record\n");
        ok = false;
    }
    return ok;
}

int
main(int argc, char *argv[])
{
    static const struct option long_options[] = {
        { "seed", required_argument, NULL, 's' },
        { "edits", required_argument, NULL, 'e' },
        { "floor", no_argument, NULL, 'f' },
        { NULL, 0, NULL, 0 },
    };
    struct outcome_counts counts = { 0 };
    uint64_t seed = 1;
    size_t n_edits = 5000;
    bool floor = false;

    ovs_set_program_name(argv[0], PACKAGE_VERSION);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (c == 's') {
            seed = strtoull(optarg, NULL, 10);
        } else if (c == 'e') {
            n_edits = strtoul(optarg, NULL, 10);
        } else if (c == 'f') {
            floor = true;
        } else {
            fputs("usage: resident [--seed=N] [--edits=N] [--floor]\n",
                  stderr);
            return 2;
        }
    }
    printf("# seed %"PRIu64"\n", seed);
    while (counts.worlds * EDITS_A_WORLD < n_edits) {
        if (!try_world(seed++, &counts)) {
            return 1;
        }
    }
    return print_counts(&counts, floor) ? 0 : 1;
}
