/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/part.h"

#include <stdlib.h>

#include "openvswitch/compiler.h"

/* Which tenants are one part: those that "peers" or a peering join, directly
 * or by others, found by union and find (Tarjan, "Efficiency of a Good But Not
 * Linear Set Union Algorithm", 1975). */

typedef void visit_func(struct change *, struct tenant *,
                        struct tenant *other);

static void
visit_name(struct change *c, struct tenant *t, const char *name,
           visit_func *visit)
{
    struct tenant *other = name ? shash_find_data(&c->r->tenants, name)
                           : NULL;

    if (other) {
        visit(c, t, other);
    }
}

static void
visit_selectors(struct change *c, struct tenant *t,
                const selector_vec *selectors, visit_func *visit)
{
    for (size_t i = 0; i < selectors->n; i++) {
        const struct intent_selector *s = &selectors->v[i];

        visit_name(c, t, s->tenant.s, visit);
        visit_selectors(c, t, &s->except, visit);
    }
}

static void
visit_rule(struct change *c, struct tenant *t, const struct intent_rule *rule,
           visit_func *visit)
{
    visit_selectors(c, t, &rule->from, visit);
    visit_selectors(c, t, &rule->to, visit);
}

/* Calls 'visit' with each tenant that is there and that "peers" or a rule of
 * 't' name, or a peering that names 't'. */
static void
for_each_joined(struct change *c, struct tenant *t, visit_func *visit)
{
    const text_vec *peers = &t->intent->peers;
    const peering_vec *peerings = shash_find_data(&c->r->peerings_of,
                                                  t->intent->name.s);

    for (size_t i = 0; i < peers->n; i++) {
        visit_name(c, t, peers->v[i].s, visit);
    }
    for (size_t i = 0; i < t->intent->rules.n; i++) {
        visit_rule(c, t, &t->intent->rules.v[i], visit);
    }
    for (size_t i = 0; peerings && i < peerings->n; i++) {
        visit_rule(c, t, peerings->v[i]->intent, visit);
    }
}

static void
leave_joined(struct change *c, struct tenant *t OVS_UNUSED,
             struct tenant *other)
{
    part_leave(c, other->part);
}

static struct tenant *
root(struct tenant *t)
{
    while (t->joined != t) {
        t = t->joined = t->joined->joined;
    }
    return t;
}

static void
join(struct change *c, struct tenant *t, struct tenant *other)
{
    if (other->mark == c->r->mark) {
        root(t)->joined = root(other);
    }
}

/* Adds 't', once, to what is divided. */
static void
begin(struct change *c, struct tenant *t, struct tenant_list *all)
{
    if (t->mark != c->r->mark) {
        t->mark = c->r->mark;
        t->joined = t;
        t->next = NULL;
        tenant_list_add(all, t);
    }
}

/* Adds to 'todo' the parts that 'all' divides into; frees that. */
static void
divide(struct change *c, struct tenant_list *all)
{
    for (size_t i = 0; i < all->n; i++) {
        for_each_joined(c, all->v[i], join);
    }
    for (size_t i = 0; i < all->n; i++) {
        struct tenant *first = root(all->v[i]);

        if (!first->next) {
            first->next = change_add_part(c);
        }
        tenant_list_add(&first->next->tenants, all->v[i]);
    }
    free(all->v);
}

void
change_divide(struct change *c, struct tenant *changed, bool removed)
{
    struct tenant_list all = { NULL, 0, 0 };

    part_leave(c, changed->part);
    if (!removed) {
        for_each_joined(c, changed, leave_joined);
    }
    c->r->mark++;
    if (!removed) {
        begin(c, changed, &all);
    }

    const struct part *part;
    LIST_FOR_EACH (part, node, &c->leaving) {
        for (size_t i = 0; i < part->tenants.n; i++) {
            if (!removed || part->tenants.v[i] != changed) {
                begin(c, part->tenants.v[i], &all);
            }
        }
    }
    if (!c->r->base) {
        change_add_part(c);
    }
    divide(c, &all);
}

void
change_divide_all(struct change *c)
{
    struct tenant_list all = { NULL, 0, 0 };
    struct shash_node *node;
    struct part *part, *next;

    LIST_FOR_EACH_SAFE (part, next, node, &c->r->parts) {
        part_leave(c, part);
    }
    c->r->mark++;
    SHASH_FOR_EACH (node, &c->r->tenants) {
        begin(c, node->data, &all);
    }
    change_add_part(c);
    divide(c, &all);
}

void
change_unite(struct change *c)
{
    struct part *part, *next;
    struct shash_node *node;

    LIST_FOR_EACH_SAFE (part, next, node, &c->r->parts) {
        part_leave(c, part);
    }
    part = change_add_part(c);
    part->all = true;
    SHASH_FOR_EACH (node, &c->r->tenants) {
        tenant_list_add(&part->tenants, node->data);
    }
}
