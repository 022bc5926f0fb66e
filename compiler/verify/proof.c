/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/proof.h"

#include <inttypes.h>

#include "flow.h"
#include "timeval.h"
#include "util.h"
#include "verify/witness.h"

enum { OP_VOTE = DD_OP_USER + 32, OP_COMPARE, OP_PAIR };

/* Of pairs: are they the same? */
#define IS_SAME DD_LEAF(1)
#define IS_OTHER DD_LEAF(2)

bool
proof_is_late(struct proof *p)
{
    if (!p->result->unproved && p->task->deadline
        && time_msec() > p->task->deadline) {
        p->result->unproved = arena_printf(
            p->arena, "time is up after %"PRIuSIZE" states of tables",
            p->result->n_states);
    }
    return p->result->unproved != NULL;
}

bool
proof_is_fine(const struct proof *p)
{
    return !p->result->unproved && !p->mixed && !p->scattered;
}

struct side *
proof_side(struct proof *p, enum layout layout)
{
    struct side *side = &p->sides[layout];

    if (!p->of_sides) {
        p->of_sides = arena_create();
        p->terms = p->comparison.terms = terms_create();
        p->effects = p->comparison.effects = effects_create();
        memo_init(&p->comparison.outs);
        pool_init(&p->found);
        pool_init(&p->pairs);
        memo_init(&p->same);
        memo_init(&p->denied);
        memo_init(&p->bound);
    }
    if (!p->there[layout]) {
        if (side->space.dd) {
            space_clear(&side->space);
        } else {
            space_init(&side->space, layout);
        }
        side->exec = exec_create(p->task->tables, p->fields, &side->space,
                                 p->terms, p->effects, p->comparison.tunnel,
                                 p->task->deadline);
        judge_init(&side->judge, p->facts, &side->space, p->marks,
                   p->of_sides);
        side->judge.by_port = p->by_port;
        side->judge.any_opener = p->any_opener;
        if (p->by_port) {
            exec_by_port(side->exec);
        }
        if (p->apart) {
            exec_apart(side->exec);
        }
        if (p->any_opener) {
            exec_any_opener(side->exec);
        }
        if (p->cut) {
            exec_cut(side->exec, p->cut);
            side->judge.outcomes = p->outcomes;
            side->judge.n_outcomes = p->cut->n;
        }
        p->there[layout] = true;
    }
    return side;
}

void
proof_run(struct proof *p, struct entry *entry)
{
    size_t n_states;
    struct side *side;
    bool scattered;

    entry->layout = (p->fine || (entry->endpoint && entry->endpoint->network
                                 ->intent->groups.n) ? LAYOUT_BITS
                     : p->any_opener ? LAYOUT_OPENER : LAYOUT_WHOLE);
    side = proof_side(p, entry->layout);
    n_states = exec_n_states(side->exec);
    entry->effects = exec_run(side->exec, &entry->ingress);
    entry->cut = false;
    p->result->unproved = exec_refused(side->exec, &scattered);
    p->mixed |= dd_is_mixed(side->space.dd);
    p->scattered |= scattered && entry->layout != LAYOUT_BITS;
    p->result->n_states += exec_n_states(side->exec) - n_states;
}

/* The tenant in whose zone an endpoint's packets are first, and the mark that
 * connections have in a zone. */
static bool
vote_zones(void *proof, dd_t leaf, const u128 digits[] OVS_UNUSED)
{
    struct proof *p = proof;
    const struct policy_endpoint *from = p->entry->endpoint;
    bool tracked = false, noted = false;
    size_t n;
    const struct effect *e = effects_get(p->effects, leaf, &n);

    for (size_t i = 0; i < n; i++) {
        struct usage usage = { .kind = USE_MARK };

        if (e[i].kind == EFFECT_TRACK && from && !tracked) {
            usage.kind = USE_ZONE;
            usage.tenant = from->tenant;
            usage.value = e[i].arg;
            usage_vote(&p->comparison, &usage);
            tracked = true;
        } else if (e[i].kind == EFFECT_COMMIT) {
            usage.zone = e[i].arg & UINT16_MAX;
            usage.value = e[i].arg >> 16;
            usage_vote(&p->comparison, &usage);
            noted = true;
        }
    }
    return from && !p->vote_all && tracked && noted;
}

void
proof_vote(struct proof *p, const struct entry *entry, bool all)
{
    p->entry = entry;
    p->vote_all = all;
    dd_leaves(p->sides[entry->layout].space.dd, entry->effects, vote_zones,
              p);
}

static dd_t
expect_entry(struct judge *j, const struct entry *entry)
{
    return (entry->endpoint ? expect_from_endpoint(j, entry->endpoint)
            : entry->external ? expect_from_external(j, entry->external)
            : entry->tunnel ? expect_from_tunnel(j)
            : expect_from_nobody(j));
}

/* The pair if it differs.  Both or neither must be there: neither is for what
 * no switch meets. */
static dd_t
leaf_compare(void *proof, dd_t effects, dd_t expect)
{
    struct proof *p = proof;
    dd_t pair[2] = { effects, expect };
    enum verify_kind kind;

    if (effects == DD_NONE && expect == DD_NONE) {
        return DD_NONE;
    } else if (effects == DD_NONE || expect == DD_NONE) {
        if (p->by_port) {
            p->result->unproved = "there are packets of which nothing is "
                                  "known";
        }
        return p->by_port ? DD_NONE : DD_ALL;
    }
    return (compare_effects(&p->comparison, effects,
                            expect_get(p->comparison.judge, expect), &kind)
            ? DD_LEAF(pool_add(&p->found, pair, sizeof pair) + 1) : DD_NONE);
}

struct verify_difference *
proof_add_difference(struct proof *p, enum verify_kind kind)
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
static bool
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
    d = proof_add_difference(p, kind);
    if (!d) {
        return false;
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
    return false;
}

/* Of leaves that are bound.  All are looked at, also after a difference: each
 * may say what is used for what. */
struct bound_pairs {
    struct proof *proof;
    struct side *side;
    uint32_t x, y;              /* By what. */
    uint32_t denial;            /* Of 'y': see expect_denial_base(). */
    bool same;
};

static dd_t
leaf_pair(void *proof, dd_t effects, dd_t expect)
{
    struct proof *p = proof;
    dd_t pair[2] = { effects, expect };

    if (effects != DD_NONE && expect != DD_NONE) {
        compare_settle(&p->comparison, &pair[0], &pair[1]);
    }
    return DD_LEAF(pool_add(&p->pairs, pair, sizeof pair) + 1);
}

/* Each side has expectations of its own, and what is only counted is the
 * same. */
static bool
is_same(struct proof *p, dd_t effects, dd_t expect)
{
    const uint32_t key[] = {
        effects, expect, p->entry->layout, p->comparison.voting,
    };
    dd_t *same = memo_find(&p->same, key, sizeof key);

    if (*same == DD_NONE) {
        *same = (leaf_compare(p, effects, expect) == DD_NONE ? IS_SAME
                 : IS_OTHER);
    }
    return *same == IS_SAME;
}

/* Does nothing leave, whatever it is bound to? */
static bool
ends_here(const struct proof *p, dd_t effects)
{
    size_t n;
    const struct effect *e = effects_get(p->effects, effects, &n);

    for (size_t i = 0; i < n; i++) {
        if (e[i].kind == EFFECT_TAIL || e[i].kind == EFFECT_OUT) {
            return false;
        }
    }
    return true;
}

/* Is what is to be dropped, and is so for 'effects'?  That is the same
 * whoever was to get it, if only the verdict counts. */
static bool
is_denied(struct bound_pairs *pairs, dd_t leaf, dd_t effects, dd_t expect)
{
    struct proof *p = pairs->proof;
    const uint32_t key[] = {
        leaf, pairs->denial, p->entry->layout, p->comparison.voting,
    };
    dd_t *same;

    if (effects == DD_NONE || expect == DD_NONE || p->cut
        || !expect_denies(&pairs->side->judge, expect)) {
        return false;
    }
    same = memo_find(&p->denied, key, sizeof key);
    if (*same == DD_NONE && ends_here(p, effects)) {
        *same = (is_same(p, effects, expect_based(&pairs->side->judge,
                                                  pairs->denial, expect))
                 ? IS_SAME : IS_OTHER);
    }
    return *same == IS_SAME;
}

static bool
compare_pair(void *pairs_, dd_t leaf)
{
    struct bound_pairs *pairs = pairs_;
    struct proof *p = pairs->proof;
    size_t size;
    const dd_t *pair = pool_get(&p->pairs, dd_leaf(leaf) - 1, &size);
    dd_t effects = pair[0], expect = pair[1];

    if (is_denied(pairs, leaf, effects, expect)) {
        return false;
    } else if (effects != DD_NONE && expect != DD_NONE) {
        effects = exec_bound(pairs->side->exec, pairs->x, effects);
        expect = expect_based(&pairs->side->judge, pairs->y, expect);
    }
    pairs->same &= is_same(p, effects, expect);
    return false;
}

static dd_t
compare_all_pairs(struct proof *p, dd_t effects, dd_t expect)
{
    struct side *side = &p->sides[p->entry->layout];
    struct dd *dd = side->space.dd;
    struct dd_op op = { leaf_pair, NULL, p, false, false, OP_PAIR };
    struct bound_pairs pairs = { .proof = p, .side = side, .same = true };
    dd_t of_effects = dd_unbind(dd, effects, &pairs.x);
    dd_t of_expect = dd_unbind(dd, expect, &pairs.y);

    pairs.denial = expect_denial_base(&side->judge, pairs.y);
    dd_each_leaf(dd, dd_apply(dd, &op, of_effects, of_expect), compare_pair,
                 &pairs);
    return pairs.same ? DD_NONE : DD_ALL;
}

/* Of diagrams one of which is bound: DD_ALL if a packet differs. */
static dd_t
compare_bound(void *proof, dd_t effects, dd_t expect)
{
    struct proof *p = proof;
    const uint32_t key[] = {
        effects, expect, p->entry->layout, p->comparison.voting,
    };
    dd_t *known = memo_find(&p->bound, key, sizeof key), result;

    if (*known == DD_NONE) {
        result = compare_all_pairs(p, effects, expect);
        *memo_find(&p->bound, key, sizeof key)
            = result == DD_NONE ? IS_SAME : IS_OTHER;
        return result;
    }
    return *known == IS_SAME ? DD_NONE : DD_ALL;
}

bool
proof_compare(struct proof *p, struct entry *entry, bool voting)
{
    struct side *side = &p->sides[entry->layout];
    struct dd *dd = side->space.dd;
    struct dd_op op = {
        leaf_compare, compare_bound, p, false, false,
        voting ? OP_VOTE : OP_COMPARE,
    };
    dd_t wrong;

    if (!entry->cut) {
        dd_t asked = dd_and(dd, space_real(&side->space), entry->within);

        entry->expect = dd_cut(dd, asked,
                               expect_entry(&side->judge, entry));
        entry->effects = dd_cut(dd, asked, entry->effects);
        entry->cut = true;
    }
    if (dd_is_refused(dd)) {
        p->result->unproved = "the intent scatters over too many ranges";
        p->scattered = entry->layout != LAYOUT_BITS;
        return false;
    }
    p->entry = entry;
    p->comparison.judge = &side->judge;
    p->comparison.voting = voting;
    wrong = dd_apply(dd, &op, entry->effects, entry->expect);
    if (!voting) {
        dd_leaves(dd, wrong, report, p);
    }
    p->mixed |= dd_is_mixed(dd);
    return wrong == DD_NONE && !dd_is_mixed(dd);
}

size_t
proof_nodes(const struct proof *p)
{
    size_t n = 0;

    for (enum layout layout = 0; layout < N_LAYOUTS; layout++) {
        n += p->there[layout] ? dd_n_nodes(p->sides[layout].space.dd) : 0;
    }
    return n;
}

void
proof_reset(struct proof *p)
{
    p->result->n_nodes += proof_nodes(p);
    for (enum layout layout = 0; layout < N_LAYOUTS; layout++) {
        struct side *side = &p->sides[layout];

        if (p->there[layout]) {
            exec_destroy(side->exec);
            judge_destroy(&side->judge);
            p->there[layout] = false;
        }
    }
    if (p->of_sides) {
        pool_destroy(&p->found);
        pool_destroy(&p->pairs);
        memo_destroy(&p->same);
        memo_destroy(&p->denied);
        memo_destroy(&p->bound);
        memo_destroy(&p->comparison.outs);
        effects_destroy(p->effects);
        terms_destroy(p->terms);
        arena_destroy(p->of_sides);
        p->of_sides = NULL;
    }
}

void
proof_start_anew(struct proof *p)
{
    proof_reset(p);
    hmap_clear(&p->comparison.usages);
    p->comparison.disputed = false;
}

void
proof_forget(struct proof *p)
{
    proof_start_anew(p);
    p->mixed = p->scattered = false;
    p->result->unproved = NULL;
    p->result->n_bytes = p->result->n_jobs = 0;
}

void
proof_destroy(struct proof *p)
{
    proof_reset(p);
    for (enum layout layout = 0; layout < N_LAYOUTS; layout++) {
        if (p->sides[layout].space.dd) {
            p->result->n_bytes += dd_bytes(p->sides[layout].space.dd);
            space_destroy(&p->sides[layout].space);
        }
    }
}
