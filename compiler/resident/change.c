/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/part.h"

#include <stdlib.h>

#include "backend/backend.h"
#include "base/diag.h"
#include "plan/record-edit.h"
#include "util.h"

void
change_init(struct change *c, struct resident *r, struct arena *arena)
{
    *c = (struct change) { .r = r, .arena = arena };
    ovs_list_init(&c->leaving);
    ovs_list_init(&c->todo);
    ovs_list_init(&c->made);
}

void
part_leave(struct change *c, struct part *part)
{
    if (part && !part->leaving) {
        part->leaving = true;
        ovs_list_remove(&part->node);
        ovs_list_push_back(&c->leaving, &part->node);
        facts_leave(&part->held, true);
    }
}

struct part *
change_add_part(struct change *c)
{
    struct part *part = xzalloc(sizeof *part);

    ovs_list_push_back(&c->todo, &part->node);
    return part;
}

/* Moves the tenants of all parts that hold 'clash' to 'part'.  Returns false
 * if there are none. */
static bool
join_holders(struct change *c, struct part *part, const struct fact *clash)
{
    struct ovs_list *lists[] = { &c->made, &c->r->parts };
    struct part *other, *next;
    bool found = false;

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        LIST_FOR_EACH_SAFE (other, next, node, lists[i]) {
            if (!part_holds(other, clash)) {
                continue;
            }
            found = true;
            for (size_t j = 0; j < other->tenants.n; j++) {
                tenant_list_add(&part->tenants,
                                other->tenants.v[j]);
            }
            if (lists[i] == &c->made) {
                facts_release(&c->r->facts, &other->held);
                ovs_list_remove(&other->node);
                part_destroy(other);
            } else {
                part_leave(c, other);
            }
        }
    }
    return found;
}

/* What 'part' is likely to hold, if that may be known; or NULL. */
static const struct fact_vec *
held_before(const struct change *c, const struct part *part)
{
    const struct part *before = (part->tenants.n ? part->tenants.v[0]->part
                                 : NULL);

    return (before && before->leaving && ovs_list_is_empty(&c->made)
            ? &before->held : NULL);
}

/* Compiles the first that is to be done.  Returns false if it is refused, or
 * clashes with what stays. */
static bool
compile_next(struct change *c)
{
    struct part *part = CONTAINER_OF(ovs_list_front(&c->todo), struct part,
                                     node);
    bool only = (part->tenants.n == 1 && ovs_list_is_singleton(&c->todo)
                 && ovs_list_is_empty(&c->made));
    struct compilation compilation;
    struct fact *clash;
    bool ok = part_compile(c->r, part, c->arena, held_before(c, part),
                           &compilation, &clash);

    if (ok && !clash && only) {
        c->only = compilation;
    } else {
        compilation_destroy(&compilation);
    }
    if (ok && !clash) {
        ovs_list_remove(&part->node);
        ovs_list_push_back(&c->made, &part->node);
    }
    return ok && (!clash || join_holders(c, part, clash));
}

bool
change_compile(struct change *c)
{
    while (!ovs_list_is_empty(&c->todo)) {
        if (!compile_next(c)) {
            return false;
        }
    }
    return true;
}

void
change_take_back(struct change *c)
{
    struct part *part;

    compilation_destroy(&c->only);
    LIST_FOR_EACH_POP (part, node, &c->todo) {
        part_destroy(part);
    }
    LIST_FOR_EACH_POP (part, node, &c->made) {
        facts_release(&c->r->facts, &part->held);
        part_destroy(part);
    }
    LIST_FOR_EACH_POP (part, node, &c->leaving) {
        part->leaving = false;
        facts_leave(&part->held, false);
        ovs_list_push_back(&c->r->parts, &part->node);
    }
}

struct usage
change_usage(const struct change *c)
{
    struct usage sum = c->r->used;
    const struct part *part;

    LIST_FOR_EACH (part, node, &c->made) {
        usage_add(&sum, &part->usage);
    }
    LIST_FOR_EACH (part, node, &c->leaving) {
        usage_subtract(&sum, &part->usage);
    }
    return sum;
}

static int
compare_flows(const void *a_, const void *b_)
{
    const struct plan_flow *const *a = a_;
    const struct plan_flow *const *b = b_;

    return plan_compare_flows(*a, *b);
}

static int
compare_meters(const void *a_, const void *b_)
{
    const struct plan_meter *const *a = a_;
    const struct plan_meter *const *b = b_;

    return plan_compare_meters(*a, *b);
}

#define SORT(VEC, COMPARE)                                              \
    do {                                                                \
        if ((VEC)->n) {                                                 \
            qsort((VEC)->v, (VEC)->n, sizeof *(VEC)->v, COMPARE);       \
        }                                                               \
    } while (0)

/* Divides what came and what went into added, changed and deleted. */
static void
diff_flows(struct resident_diff *diff, const plan_flows *came,
           const plan_flows *went, struct arena *arena)
{
    size_t i = 0, j = 0;

    while (i < went->n || j < came->n) {
        int cmp = (i == went->n ? 1 : j == came->n ? -1
                   : plan_compare_flows(went->v[i], came->v[j]));

        if (cmp < 0) {
            *vec_push(arena, &diff->deleted) = went->v[i];
        } else {
            *vec_push(arena, cmp ? &diff->added : &diff->changed)
                = came->v[j];
            if (!cmp) {
                *vec_push(arena, &diff->replaced) = went->v[i];
            }
        }
        i += cmp <= 0;
        j += cmp >= 0;
    }
}

static void
sort_fact(const struct fact *fact, plan_flows *flows, plan_meters *meters,
          struct arena *arena)
{
    if (fact->kind == FACT_FLOW) {
        *vec_push(arena, flows) = &fact->flow;
    } else if (fact->kind == FACT_METER) {
        *vec_push(arena, meters) = &fact->meter;
    }
}

/* 'came' is what parts that were made hold and nobody did before. */
static void
make_diff(struct change *c, const struct fact_vec *came,
          struct resident_diff *diff, struct arena *arena)
{
    const struct fact_vec *gone = &c->r->facts.gone;
    plan_flows flows_came = VEC_INIT, flows_went = VEC_INIT;

    for (size_t i = 0; i < came->n; i++) {
        sort_fact(came->v[i], &flows_came, &diff->meters_added, arena);
    }
    for (size_t i = 0; i < gone->n; i++) {
        sort_fact(gone->v[i], &flows_went, &diff->meters_deleted, arena);
    }
    SORT(&flows_came, compare_flows);
    SORT(&flows_went, compare_flows);
    SORT(&diff->meters_added, compare_meters);
    SORT(&diff->meters_deleted, compare_meters);
    diff_flows(diff, &flows_came, &flows_went, arena);
}

/* Adds to 'came' what of 'part' is fresh, once. */
static void
note_fresh(const struct part *part, struct fact_vec *came,
           struct arena *arena)
{
    for (size_t i = 0; i < part->held.n; i++) {
        if (part->held.v[i]->fresh) {
            part->held.v[i]->fresh = false;
            *vec_push(arena, came) = part->held.v[i];
        }
    }
}

static void
add_flows(plan_flows *to, const plan_flows *from, struct arena *arena)
{
    for (size_t i = 0; i < from->n; i++) {
        *vec_push(arena, to) = from->v[i];
    }
}

bool
resident_diff_format(const struct resident_diff *diff, const char *time,
                     bool was_partial, bool partial, struct ds *ds)
{
    struct arena *arena = arena_create();
    struct plan_edit edit = {
        .time = time, .was_partial = was_partial, .partial = partial,
        .meters_gone = diff->meters_deleted, .meters_come = diff->meters_added,
        .notes_gone = diff->notes_gone, .notes_come = diff->notes_come,
    };
    bool ok;

    add_flows(&edit.flows_gone, &diff->deleted, arena);
    add_flows(&edit.flows_gone, &diff->replaced, arena);
    add_flows(&edit.flows_come, &diff->added, arena);
    add_flows(&edit.flows_come, &diff->changed, arena);
    ok = plan_edit_format(&edit, ds);
    arena_destroy(arena);
    return ok;
}

/* The notes of parts. */
static const struct plan *
copy_notes(const struct resident *r, const struct ovs_list *parts,
           struct arena *arena)
{
    struct plan *notes = arena_zalloc(arena, sizeof *notes);
    const struct part *part;

    plan_init(notes, arena, r->node, r->backend->name);
    LIST_FOR_EACH (part, node, parts) {
        plan_copy_notes(notes, &part->notes);
    }
    return notes;
}

void
change_make(struct change *c, struct diags *diags,
            struct resident_diff *diff, struct arena *arena)
{
    struct resident *r = c->r;
    struct fact_vec came = VEC_INIT;
    struct part *part;

    r->used = change_usage(c);
    compilation_destroy(&r->last);
    r->last = c->only;
    if (diff) {
        *diff = (struct resident_diff) {
            .tenant = diff->tenant, .alone = c->only.arena != NULL,
            .notes_gone = copy_notes(r, &c->leaving, arena),
            .notes_come = copy_notes(r, &c->made, arena),
        };
    }
    LIST_FOR_EACH_POP (part, node, &c->leaving) {
        if (part == r->base) {
            r->base = NULL;
        }
        r->stats.parts--;
        shares_settle(part, false);
        facts_drop(&r->facts, &part->held);
        part_destroy(part);
    }
    LIST_FOR_EACH_POP (part, node, &c->made) {
        if (!part->all && !part->tenants.n) {
            r->base = part;
        }
        for (size_t i = 0; i < part->tenants.n; i++) {
            part->tenants.v[i]->part = part;
        }
        r->stats.parts++;
        shares_settle(part, true);
        note_fresh(part, &came, arena);
        diags_append(diags, part->diags);
        part->diags = NULL;
        ovs_list_push_back(&r->parts, &part->node);
    }
    if (diff) {
        make_diff(c, &came, diff, arena);
    }
}
