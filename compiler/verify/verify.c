/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/verify.h"

#include <inttypes.h>
#include <string.h>

#include "flow.h"
#include "sema/ident.h"
#include "sema/interface.h"
#include "timeval.h"
#include "util.h"
#include "verify/compare.h"
#include "verify/entry.h"
#include "verify/witness.h"

enum { OP_VOTE = DD_OP_USER + 32, OP_COMPARE };

/* The same packets in one layout. */
struct side {
    struct space space;
    struct exec *exec;
    struct judge judge;
};

struct proof {
    const struct verify_task *task;
    struct verify_result *result;
    struct arena *arena;
    struct terms *terms;
    struct effects *effects;
    struct side sides[N_LAYOUTS];
    bool there[N_LAYOUTS];      /* Is the side there? */
    struct comparison comparison;
    uint32_t *marks;            /* By tenant of the policy. */
    entry_vec entries;
    const struct entry *entry;  /* That is compared. */
    struct pool found;          /* Pairs of leaves that differ. */
    bool fine;                  /* All in LAYOUT_BITS. */
    bool scattered;             /* That would help. */
};

static bool
is_late(struct proof *p)
{
    if (!p->result->unproved && p->task->deadline
        && time_msec() > p->task->deadline) {
        p->result->unproved = arena_printf(
            p->arena, "time is up after %"PRIuSIZE" states of tables",
            p->result->n_states);
    }
    return p->result->unproved != NULL;
}

static struct side *
get_side(struct proof *p, enum layout layout)
{
    struct side *side = &p->sides[layout];

    if (!p->there[layout]) {
        space_init(&side->space, layout);
        side->exec = exec_create(p->task->tables, &side->space, p->terms,
                                 p->effects, p->comparison.tunnel,
                                 p->task->deadline);
        judge_init(&side->judge, p->task->policy, p->task->node,
                   &side->space, p->marks, p->arena);
        p->there[layout] = true;
    }
    return side;
}

/* What becomes of the packets of 'entry'. */
static void
run_entry(struct proof *p, struct entry *entry)
{
    struct side *side;
    bool scattered;

    entry->layout = (p->fine || (entry->endpoint && entry->endpoint->network
                                 ->intent->groups.n)
                     ? LAYOUT_BITS : LAYOUT_WHOLE);
    side = get_side(p, entry->layout);
    entry->effects = exec_run(side->exec, &entry->ingress);
    p->result->unproved = exec_refused(side->exec, &scattered);
    p->scattered |= scattered && entry->layout == LAYOUT_WHOLE;
}

/* The tenant in whose zone an endpoint's packets are first. */
static void
vote_zones(void *proof, dd_t leaf, const u128 digits[] OVS_UNUSED)
{
    struct proof *p = proof;
    bool first = p->entry->endpoint;
    size_t n;
    const struct effect *e = effects_get(p->effects, leaf, &n);

    for (size_t i = 0; i < n; i++) {
        struct usage usage = { .kind = USE_MARK };

        if (e[i].kind == EFFECT_TRACK && first) {
            usage.kind = USE_ZONE;
            usage.tenant = p->entry->endpoint->tenant;
            usage.value = e[i].arg;
            usage_vote(&p->comparison, &usage);
            first = false;
        } else if (e[i].kind == EFFECT_COMMIT) {
            usage.zone = e[i].arg & UINT16_MAX;
            usage.value = e[i].arg >> 16;
            usage_vote(&p->comparison, &usage);
        }
    }
}

/* The mark of a tenant's connections.  Where no flow notes any, it is what the
 * name gives: no connection is then there to have it. */
static void
find_marks(struct proof *p)
{
    for (size_t i = 0; i < p->task->policy->tenants.n; i++) {
        const struct policy_tenant *tenant = p->task->policy->tenants.v[i];
        struct usage usage = { .kind = USE_ZONE, .tenant = tenant };
        uint64_t value;

        p->marks[i] = ident("tenant", tenant->name, 32);
        if (usage_winner(&p->comparison, &usage, &value)) {
            usage = (struct usage) { .kind = USE_MARK, .zone = value };
            if (usage_winner(&p->comparison, &usage, &value)) {
                p->marks[i] = value;
            }
        }
    }
}

static dd_t
expect_entry(struct judge *j, const struct entry *entry)
{
    return (entry->endpoint ? expect_from_endpoint(j, entry->endpoint)
            : entry->external ? expect_from_external(j, entry->external)
            : entry->tunnel ? expect_from_tunnel(j)
            : expect_from_nobody(j));
}

/* Is there both for a packet?  Neither is for what no switch meets. */
static bool
are_both(struct proof *p, dd_t effects, dd_t expect)
{
    if ((effects == DD_NONE) != (expect == DD_NONE)) {
        p->result->unproved = "there are packets of which nothing is known";
    }
    return effects != DD_NONE && expect != DD_NONE;
}

static dd_t
leaf_vote(void *proof, dd_t effects, dd_t expect)
{
    struct proof *p = proof;
    enum verify_kind kind;

    if (!are_both(p, effects, expect)) {
        return DD_NONE;
    }
    compare_effects(&p->comparison, effects,
                    expect_get(p->comparison.judge, expect), &kind);
    return DD_NONE;
}

/* The pair if it differs. */
static dd_t
leaf_compare(void *proof, dd_t effects, dd_t expect)
{
    struct proof *p = proof;
    dd_t pair[2] = { effects, expect };
    enum verify_kind kind;

    return (are_both(p, effects, expect)
            && compare_effects(&p->comparison, effects,
                               expect_get(p->comparison.judge, expect), &kind)
            ? DD_LEAF(pool_add(&p->found, pair, sizeof pair) + 1) : DD_NONE);
}

static struct verify_difference *
add_difference(struct proof *p, enum verify_kind kind)
{
    p->result->n_differences++;
    p->result->n_of_kind[kind]++;
    if (p->result->differences.n >= VERIFY_MAX_DIFFERENCES) {
        return NULL;
    }
    struct verify_difference *d = vec_push(p->arena,
                                           &p->result->differences);
    d->kind = kind;
    return d;
}

/* Tells all about a packet that shows a difference. */
static void
report(void *proof, dd_t leaf, const u128 digits[])
{
    struct proof *p = proof;
    const struct entry *entry = p->entry;
    struct side *side = &p->sides[entry->layout];
    size_t size, n;
    const dd_t *pair = pool_get(&p->found, dd_leaf(leaf) - 1, &size);
    const struct expect *expect = expect_get(&side->judge, pair[1]);
    const struct policy_rule *const *rules;
    u128 values[N_FIELDS];
    struct witness w = {
        .entry = entry, .ports = p->task->tables->ports, .values = values,
    };
    struct verify_difference *d;
    enum verify_kind kind;
    dd_t walked;
    const char *what = compare_effects(&p->comparison, pair[0], expect,
                                       &kind);

    space_packet(&side->space, digits, values);
    d = add_difference(p, kind);
    if (!d) {
        return;
    }
    d->from = entry->name;
    d->what = what;
    d->meant = compare_expect_text(&p->comparison, expect);
    d->found = compare_effects_text(&p->comparison, pair[0]);
    d->packet = witness_packet(&w, p->arena);
    rules = expect_rules(&side->judge, expect->rules, &n);
    d->rule = n ? rules[0] : NULL;
    walked = exec_walk(side->exec, &entry->ingress, values, p->arena,
                       &d->steps);
    if (!compare_is_same(&p->comparison, pair[0], walked, values)) {
        p->result->unproved = "one packet does not take the way of its kind: "
                              "this is a bug of the verifier's";
    }
    const struct effect *e = effects_get(p->effects, pair[0], &n);
    d->ct_next = witness_ct_next(&w, e, n, p->arena);
    what = witness_confirm(&w, &side->judge, expect, p->arena);
    p->result->unproved = p->result->unproved ? p->result->unproved : what;
}

static void
compare_entry(struct proof *p, struct entry *entry, bool voting)
{
    struct side *side = &p->sides[entry->layout];
    struct dd *dd = side->space.dd;
    struct dd_op op = {
        voting ? leaf_vote : leaf_compare, p, false,
        voting ? OP_VOTE : OP_COMPARE,
    };
    dd_t wrong;

    if (voting) {
        entry->expect = dd_cut(dd, side->space.real,
                               expect_entry(&side->judge, entry));
        entry->effects = dd_cut(dd, side->space.real, entry->effects);
    }
    if (dd_is_refused(dd)) {
        p->result->unproved = "the intent scatters over too many ranges";
        p->scattered = entry->layout == LAYOUT_WHOLE;
        return;
    }
    p->entry = entry;
    p->comparison.judge = &side->judge;
    p->comparison.voting = voting;
    wrong = dd_apply(dd, &op, entry->effects, entry->expect);
    dd_leaves(dd, wrong, report, p);
}

static void
prove(struct proof *p)
{
    for (size_t i = 0; i < p->entries.n && !is_late(p); i++) {
        struct side *side;

        run_entry(p, &p->entries.v[i]);
        side = &p->sides[p->entries.v[i].layout];
        p->entry = &p->entries.v[i];
        if (!p->result->unproved) {
            dd_leaves(side->space.dd, p->entry->effects, vote_zones, p);
        }
        p->result->n_states = exec_n_states(side->exec);
    }
    find_marks(p);
    for (int voting = 1; voting >= 0; voting--) {
        for (size_t i = 0; i < p->entries.n && !is_late(p); i++) {
            compare_entry(p, &p->entries.v[i], voting);
        }
    }
}

/* Is it what a table does with packets that no flow of it matches? */
static bool
is_last_resort(const struct table_flow *flow)
{
    return !flow->priority && !flow->n_conditions && !flow->ofpacts_len;
}

static bool
is_of_rule(const struct proof *p, const struct table_flow *flow)
{
    for (size_t i = 0; i < p->task->policy->rules.n; i++) {
        if ((COOKIE_MARK | p->task->policy->rules.v[i]->id)
            == flow->cookie) {
            return true;
        }
    }
    return false;
}

/* What is wrong with the tables by themselves.  A rule that another makes
 * needless is the intent's: sema/check-redundant.c warns of it. */
static void
look_at_tables(struct proof *p)
{
    const struct table_set *tables = p->task->tables;
    const char *colliding = table_set_colliding_conjunction(tables);
    const char *shared = usages_shared(&p->comparison);

    for (size_t i = 0; i < 2; i++) {
        const char *what = i ? shared : colliding;
        struct verify_difference *d
            = what ? add_difference(p, VERIFY_ISOLATION) : NULL;

        if (d) {
            *d = (struct verify_difference) {
                .kind = VERIFY_ISOLATION, .from = "all ports", .what = what,
            };
        }
    }
    for (size_t i = 0; i < tables->flows.n; i++) {
        const struct table_flow *by = table_set_shadow(tables,
                                                    tables->flows.v[i]);

        if (by && !is_last_resort(tables->flows.v[i])
            && !(is_of_rule(p, by) && is_of_rule(p, tables->flows.v[i]))) {
            *vec_push(p->arena, &p->result->shadowed)
                = (struct verify_shadow) { tables->flows.v[i], by };
        }
    }
}

static void
destroy_sides(struct proof *p)
{
    for (enum layout layout = 0; layout < N_LAYOUTS; layout++) {
        struct side *side = &p->sides[layout];

        if (p->there[layout]) {
            p->result->n_nodes += dd_n_nodes(side->space.dd);
            p->result->n_bytes += dd_bytes(side->space.dd);
            exec_destroy(side->exec);
            judge_destroy(&side->judge);
            space_destroy(&side->space);
            p->there[layout] = false;
        }
    }
}

static const struct intent_node *
find_node(const struct verify_task *task)
{
    const struct intent *intent = task->policy->intent;
    size_t i = 0;

    while (strcmp(intent->nodes.v[i].name.s, task->node)) {
        i++;
    }
    return &intent->nodes.v[i];
}

/* Proves all, in LAYOUT_BITS only if 'fine'.  Returns whether that would be
 * of use. */
static bool
attempt(const struct verify_task *task, struct arena *arena,
        struct verify_result *result, bool fine)
{
    struct proof p = {
        .task = task, .result = result, .arena = arena,
        .terms = terms_create(), .effects = effects_create(), .fine = fine,
    };

    memset(result, 0, sizeof *result);
    p.marks = arena_zalloc(arena, (task->policy->tenants.n + 1)
                           * sizeof *p.marks);
    p.comparison = (struct comparison) {
        .task = task, .arena = arena, .effects = p.effects,
        .terms = p.terms,
        .tunnel = table_set_port(task->tables, INTERFACE_TUNNEL),
    };
    pool_init(&p.found);
    p.comparison.node = find_node(task);
    result->unproved = entries_list(task, arena, result, &p.entries);
    prove(&p);
    if (!result->unproved) {
        look_at_tables(&p);
    }
    destroy_sides(&p);
    pool_destroy(&p.found);
    effects_destroy(p.effects);
    terms_destroy(p.terms);
    return p.scattered;
}

/* Of rules that are not stateful the diagrams know nothing: without a proof,
 * rather than with a wrong one. */
static const char *
find_stateless(const struct policy *policy, struct arena *arena)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->stateless) {
            return arena_printf(arena, "rule '%s' has \"stateful\": false, "
                                "of which no proof is known yet", rule->name);
        }
    }
    return NULL;
}

void
verify(const struct verify_task *task, struct arena *arena,
       struct verify_result *result)
{
    const char *stateless = find_stateless(task->policy, arena);

    if (stateless) {
        memset(result, 0, sizeof *result);
        result->unproved = stateless;
    } else if (attempt(task, arena, result, false)) {
        attempt(task, arena, result, true);
    }
}
