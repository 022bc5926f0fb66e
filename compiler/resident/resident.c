/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/resident.h"

#include <stdlib.h>

#include "backend/backend.h"
#include "base/diag.h"
#include "resident/part.h"
#include "util.h"

static struct tenant *
add_tenant(struct resident *r, const struct intent_tenant *intent)
{
    struct tenant *t = xzalloc(sizeof *t);

    t->intent = intent;
    t->unknown = unknown_in_tenant(intent);
    r->n_unknown += t->unknown != NULL;
    shash_add(&r->tenants, intent->name.s, t);
    return t;
}

/* Notes that 'peering' names the tenants of a side.  Those of exceptions are
 * no reason to know of it: they only take away. */
static void
index_side(struct resident *r, struct peering *peering,
           const selector_vec *side)
{
    for (size_t i = 0; i < side->n; i++) {
        const char *tenant = side->v[i].tenant.s;
        peering_vec *peerings
            = tenant ? shash_find_data(&r->peerings_of, tenant) : NULL;

        if (!tenant) {
            continue;           /* An external: all tenants are one part. */
        } else if (!peerings) {
            peerings = arena_zalloc(r->arena, sizeof *peerings);
            shash_add(&r->peerings_of, tenant, peerings);
        }
        *vec_push(r->arena, peerings) = peering;
    }
}

static void
add_peering(struct resident *r, const struct intent_rule *intent)
{
    struct peering *peering = arena_zalloc(r->arena, sizeof *peering);

    peering->intent = intent;
    index_side(r, peering, &intent->from);
    index_side(r, peering, &intent->to);
}

static const char *
unknown_text(const struct value *unknown, struct arena *arena)
{
    return arena_printf(arena, "'%s' is not known to be of one tenant alone",
                        value_pointer(unknown, arena));
}

/* Why all tenants are one part, or NULL. */
static const char *
why_whole(struct resident *r)
{
    struct shash_node *node;

    if (r->frame || r->refused) {
        return r->frame ? r->frame : r->refused;
    } else if (!r->n_unknown) {
        return NULL;
    }
    SHASH_FOR_EACH (node, &r->tenants) {
        const struct tenant *t = node->data;

        if (t->unknown) {
            return unknown_text(t->unknown, r->diff_arena);
        }
    }
    OVS_NOT_REACHED();
}

/* Is the whole right?  Adds what is wrong to 'diags'. */
static bool
is_whole_right(struct resident *r, struct diags *diags)
{
    struct compilation c;
    struct diags whole;
    bool ok;

    r->stats.wholes++;
    diags_init(&whole, diags->arena);
    ok = compile_tenants(r, NULL, &whole, &c);
    compilation_destroy(&c);
    if (!ok) {
        diags_append(diags, &whole);
    }
    return ok;
}

static bool
recompile_whole(struct resident *r, struct diags *diags,
                struct resident_diff *diff)
{
    struct change c;

    change_init(&c, r, diags->arena);
    change_unite(&c);
    r->stats.wholes++;

    struct part *part = CONTAINER_OF(ovs_list_front(&c.todo), struct part,
                                     node);
    if (!change_compile(&c)) {
        diags_append(diags, part->diags);
        change_take_back(&c);
        return false;
    }
    change_make(&c, diags, diff, r->diff_arena);
    r->united = true;
    return true;
}

/* Compiles the parts that are concerned, 'changed' (NULL: all) among them. */
static bool
recompile(struct resident *r, struct tenant *changed, bool removed,
          struct diags *diags, struct resident_diff *diff)
{
    struct change c;

    if (why_whole(r)) {
        return recompile_whole(r, diags, diff);
    }

    change_init(&c, r, diags->arena);
    if (r->united || !changed) {
        change_divide_all(&c);
    } else {
        change_divide(&c, changed, removed);
    }

    bool compiled = change_compile(&c);
    struct usage usage = change_usage(&c);
    if ((!compiled || is_near_limit(r, &usage) || is_above_room(&c))
        && !is_whole_right(r, diags)) {
        change_take_back(&c);
        return false;
    } else if (!compiled) {
        change_take_back(&c);
        r->refused = "a part was refused although the whole is right";
        return recompile_whole(r, diags, diff);
    }
    change_make(&c, diags, diff, r->diff_arena);
    r->united = false;
    return true;
}

/* Are the parts together the same as 'whole'? */
static bool
is_same(const struct resident *r, const struct plan *whole)
{
    struct arena *arena = arena_create();
    struct plan plan;

    resident_plan(r, &plan, arena);

    struct plan_diff diff = plan_compare(whole, &plan);
    arena_destroy(arena);
    return !(diff.added.n || diff.changed.n || diff.deleted.n
             || diff.meters_added || diff.meters_deleted);
}

static void
load_intent(struct resident *r)
{
    const struct value *unknown = unknown_in_frame(r->intent);

    for (size_t i = 0; i < r->intent->tenants.n; i++) {
        add_tenant(r, &r->intent->tenants.v[i]);
    }
    for (size_t i = 0; i < r->intent->peerings.n; i++) {
        add_peering(r, &r->intent->peerings.v[i]);
    }
    if (unknown) {
        r->frame = unknown_text(unknown, r->arena);
    }
}

struct resident *
resident_create(const struct intent *intent, const char *node,
                const struct backend *backend, struct diags *diags)
{
    struct resident *r = xzalloc(sizeof *r);
    struct compilation whole;
    struct diags again;

    r->intent = intent;
    r->node = node;
    r->backend = backend;
    r->arena = arena_create();
    r->diff_arena = arena_create();
    shash_init(&r->tenants);
    shash_init(&r->peerings_of);
    shash_init(&r->totals);
    ovs_list_init(&r->parts);
    facts_init(&r->facts);
    load_intent(r);
    diags_init(&again, r->diff_arena);
    if (!compile_tenants(r, NULL, diags, &whole)) {
        resident_destroy(r);
        r = NULL;
    } else if (!recompile(r, NULL, false, &again, NULL)) {
        OVS_NOT_REACHED();
    } else if (!is_same(r, &whole.plan)) {
        r->refused = "the parts are not the whole";
        recompile_whole(r, &again, NULL);
    }
    compilation_destroy(&whole);
    if (r) {
        r->stats = (struct resident_stats) { .parts = r->stats.parts };
    }
    return r;
}

static void
remove_tenant(struct resident *r, struct tenant *t)
{
    shash_find_and_delete(&r->tenants, t->intent->name.s);
    r->n_unknown -= t->unknown != NULL;
}

static void
free_tenant(struct tenant *t)
{
    arena_destroy(t->arena);
    free(t);
}

void
resident_destroy(struct resident *r)
{
    struct shash_node *node;
    struct part *part;

    if (!r) {
        return;
    }
    LIST_FOR_EACH_POP (part, node, &r->parts) {
        part_destroy(part);
    }
    SHASH_FOR_EACH (node, &r->tenants) {
        free_tenant(node->data);
    }
    shash_destroy(&r->tenants);
    shash_destroy(&r->peerings_of);
    shash_destroy(&r->totals);
    facts_destroy(&r->facts);
    compilation_destroy(&r->last);
    arena_destroy(r->arena);
    arena_destroy(r->diff_arena);
    free(r);
}

static void
begin_change(struct resident *r, const char *tenant,
             struct resident_diff *diff)
{
    const char *name;

    facts_settle(&r->facts);
    arena_destroy(r->diff_arena);
    r->diff_arena = arena_create();
    compilation_destroy(&r->last);
    r->stats.changes++;
    name = arena_strdup(r->diff_arena, tenant);
    *diff = (struct resident_diff) { .tenant = name };
}

/* Gives 't' another intent. */
static void
set_tenant(struct resident *r, struct tenant *t,
           const struct intent_tenant *intent, struct arena *arena)
{
    r->n_unknown -= t->unknown != NULL;
    t->intent = intent;
    t->arena = arena;
    t->unknown = unknown_in_tenant(intent);
    r->n_unknown += t->unknown != NULL;
}

bool
resident_put(struct resident *r, const struct intent_tenant *intent,
             struct arena *arena, struct diags *diags,
             struct resident_diff *diff)
{
    struct tenant *t = shash_find_data(&r->tenants, intent->name.s);
    struct tenant old = { .intent = NULL };

    begin_change(r, intent->name.s, diff);
    if (t) {
        old = *t;
        set_tenant(r, t, intent, arena);
    } else {
        t = add_tenant(r, intent);
        t->arena = arena;
    }
    if (recompile(r, t, false, diags, diff)) {
        arena_destroy(old.arena);
        return true;
    }
    if (old.intent) {
        set_tenant(r, t, old.intent, old.arena);
    } else {
        remove_tenant(r, t);
        free(t);
    }
    return false;
}

/* Reports bindings that stand apart and would be left without 'tenant'. */
static bool
has_bindings(const struct resident *r, const char *tenant,
             struct diags *diags)
{
    size_t n;
    const struct intent_endpoint *const *bindings
        = intent_bindings_of(r->intent, tenant, &n);

    for (size_t i = 0; i < n; i++) {
        const struct text *name = &bindings[i]->name;
        struct diag *d = value_key_error(diags, name->at, "the intent "
                                         "has no endpoint '%s'", name->s);

        diag_remedy(diags, d, "remove this binding too");
    }
    return n != 0;
}

bool
resident_remove(struct resident *r, const char *name, struct diags *diags,
                struct resident_diff *diff)
{
    struct tenant *t = shash_find_data(&r->tenants, name);

    begin_change(r, name, diff);
    if (!t) {
        return true;
    } else if (has_bindings(r, name, diags)) {
        return false;
    }
    remove_tenant(r, t);
    if (recompile(r, t, true, diags, diff)) {
        free_tenant(t);
        return true;
    }
    shash_add(&r->tenants, name, t);
    r->n_unknown += t->unknown != NULL;
    return false;
}

const struct policy *
resident_take_policy(struct resident *r, struct arena **arena)
{
    const struct policy *policy = r->last.arena ? r->last.policy : NULL;

    *arena = r->last.arena;
    r->last.arena = NULL;
    return policy;
}

static int
compare_meters(const void *a_, const void *b_)
{
    return plan_compare_meters(a_, b_);
}

void
resident_plan(const struct resident *r, struct plan *plan,
              struct arena *arena)
{
    const struct fact *fact;
    const struct part *part;

    plan_init(plan, arena, r->node, r->backend->name);
    LIST_FOR_EACH (part, node, &r->parts) {
        plan_copy_notes(plan, &part->notes);
    }
    plan_finish_notes(plan);
    HMAP_FOR_EACH (fact, node, &r->facts.all) {
        if (fact->kind == FACT_FLOW) {
            *vec_push(arena, &plan->flows) = fact->flow;
        } else if (fact->kind == FACT_METER) {
            *vec_push(arena, &plan->meters) = fact->meter;
        }
    }
    plan_finish(plan);
    if (plan->meters.n) {
        qsort(plan->meters.v, plan->meters.n, sizeof *plan->meters.v,
              compare_meters);
    }
}

void
resident_stats(struct resident *r, struct resident_stats *stats)
{
    *stats = r->stats;
    stats->whole = r->united ? why_whole(r) : NULL;
}
