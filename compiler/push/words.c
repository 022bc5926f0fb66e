/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/shash.h"
#include "sema/ident.h"
#include "util.h"

/* The differences in the operator's words.  Flows are put to what they are
 * for: the rule that their cookie names, else the endpoint, network or tenant
 * whose number is in the registers that backend/openflow/pipeline.h names,
 * else they are shared.
 * Names come from the new plan, or of what goes, from the one that is kept of
 * what was applied last. */

/* All flows of one thing, on both sides. */
struct thing {
    struct push_change change;
    size_t wanted, live;
};

struct words {
    struct push *push;
    const struct plan *old;     /* Or NULL. */
    struct shash things;
};

static const char *
find_number(const struct plan *plan, bool tenant, uint32_t number)
{
    size_t n = !plan ? 0 : tenant ? plan->tenants.n : plan->endpoints.n;

    for (size_t i = 0; i < n; i++) {
        const struct plan_number *p = (tenant ? &plan->tenants.v[i]
                                       : &plan->endpoints.v[i]);

        if (p->number == number) {
            return p->name;
        }
    }
    return NULL;
}

static const char *
find_network(const struct plan *plan, uint32_t vni)
{
    for (size_t i = 0; plan && i < plan->networks.n; i++) {
        if (plan->networks.v[i].vni == vni) {
            return plan->networks.v[i].name;
        }
    }
    return NULL;
}

static struct thing *
get_thing(struct words *words, const char *what, const char *name)
{
    struct arena *arena = words->push->arena;
    const char *key = arena_printf(arena, "%s %s", what, name);
    struct thing *thing = shash_find_data(&words->things, key);

    if (!thing) {
        thing = arena_zalloc(arena, sizeof *thing);
        thing->change.what = what;
        thing->change.name = name;
        shash_add(&words->things, key, thing);
    }
    return thing;
}

/* The value that the flow sets the register to, or 0. */
static uint32_t
sets_register(const struct flow_entry *flow, enum mf_field_id id)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_SET_FIELD
            && ofpact_get_SET_FIELD(a)->field->id == id) {
            return ntohl(ofpact_get_SET_FIELD(a)->value->be32);
        }
    }
    return 0;
}

/* The endpoint that the flow is from or to, or NULL. */
static const char *
endpoint_of(const struct words *words, const struct flow_entry *flow,
            const struct match *match)
{
    uint32_t numbers[] = {
        sets_register(flow, MFF_REG1),      /* REG_SOURCE */
        sets_register(flow, MFF_REG3),      /* REG_DEST */
        match->wc.masks.regs[1] == UINT32_MAX ? match->flow.regs[1] : 0,
        match->wc.masks.regs[3] == UINT32_MAX ? match->flow.regs[3] : 0,
    };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        const char *name = NULL;

        if (numbers[i]) {
            name = find_number(words->push->plan, false, numbers[i]);
            name = name ? name : find_number(words->old, false, numbers[i]);
        }
        if (name) {
            return name;
        }
    }
    return NULL;
}

static const char *
network_of(const struct words *words, const struct match *match)
{
    const char *name = NULL;

    if (match->wc.masks.regs[2] == UINT32_MAX) {    /* REG_NETWORK */
        name = find_network(words->push->plan, match->flow.regs[2]);
        name = name ? name : find_network(words->old, match->flow.regs[2]);
    }
    return name;
}

static const char *
tenant_of(const struct words *words, const struct match *match)
{
    /* REG_TENANT, REG_FROM_TENANT, REG_TO_TENANT. */
    static const int registers[] = { 0, 11, 13 };

    for (size_t i = 0; i < ARRAY_SIZE(registers); i++) {
        uint32_t number = match->flow.regs[registers[i]];
        const char *name = NULL;

        if (match->wc.masks.regs[registers[i]] == UINT32_MAX) {
            name = find_number(words->push->plan, true, number);
            name = name ? name : find_number(words->old, true, number);
        }
        if (name) {
            return name;
        }
    }
    return NULL;
}

static const char *
cookie_name(const struct words *words, uint64_t cookie)
{
    const char *name = plan_cookie_name(words->push->plan, cookie);

    name = name || !words->old ? name : plan_cookie_name(words->old, cookie);
    return name ? name : arena_printf(words->push->arena, "%#"PRIx64, cookie);
}

static struct thing *
classify(struct words *words, const struct flow_entry *flow)
{
    const char *name;
    struct match match;

    if ((flow->cookie & ~COOKIE_MARK_MASK) >= IDENT_RESERVED) {
        return get_thing(words, "rule", cookie_name(words, flow->cookie));
    }
    minimatch_expand(&flow->match, &match);
    name = endpoint_of(words, flow, &match);
    if (name) {
        return get_thing(words, "endpoint", name);
    }
    name = network_of(words, &match);
    if (name) {
        return get_thing(words, "network", name);
    }
    name = tenant_of(words, &match);
    return (name ? get_thing(words, "tenant", name)
            : get_thing(words, "shared", cookie_name(words, flow->cookie)));
}

/* Counts a flow that is to change.  If it is for another thing than it was,
 * as that of a rule with another name is, it comes there and goes here. */
static void
count_change(struct words *words, const struct flow_entry *flow)
{
    const struct flow_entry *live = flow_find(&words->push->live, flow);
    struct thing *after = classify(words, flow);
    struct thing *before = live ? classify(words, live) : after;

    if (!flow->text) {
        after->change.flows_deleted++;
    } else if (live && before == after) {
        after->change.flows_changed++;
    } else {
        after->change.flows_added++;
        before->change.flows_deleted += before != after;
    }
}

static void
add_flows(struct words *words)
{
    struct push *push = words->push;
    const struct flow_entry *flow;

    HMAP_FOR_EACH (flow, node, &push->wanted.flows) {
        classify(words, flow)->wanted++;
    }
    HMAP_FOR_EACH (flow, node, &push->live.flows) {
        if (flow_is_ours(flow)) {
            classify(words, flow)->live++;
        }
    }
    for (size_t i = 0; i < push->n_about; i++) {
        count_change(words, push->about[i]);
    }
}

static const char *
live_words(const struct words *words, const struct meter_entry *meter)
{
    return (!meter ? NULL : meter->simple
            ? meter_words(words->push->arena, &meter->limit)
            : "none of Bulkhead's kind");
}

static const char *
title_of_meter(const struct words *words, uint32_t id)
{
    const char *name = plan_meter_name(words->push->plan, id);

    name = name || !words->old ? name : plan_meter_name(words->old, id);
    return name ? name : arena_printf(words->push->arena, "%"PRIu32, id);
}

/* What 'meter' limits. */
static const char *
limit_of(uint32_t id)
{
    return plan_meter_counts_packets(id) ? "limits" : "bandwidth";
}

/* Tells the tags of a meter that changes, if nothing else of it does. */
static void
tell_tags(const struct words *words, struct push_change *change,
          const struct meter_entry *live)
{
    const struct plan *plan = words->push->plan;

    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];

        if (m->id == live->id && change->after
            && !strcmp(change->before, change->after)) {
            change->before = arena_printf(words->push->arena, "%s, tag "
                                          "%"PRIu32, change->before,
                                          live->limit.tag);
            change->after = arena_printf(words->push->arena, "%s, tag "
                                         "%"PRIu32, change->after, m->tag);
        }
    }
}

/* Is below 'above', which has a path. */
static void
put_below(const struct words *words, struct push_change *change,
          const char *above)
{
    const char *name = strrchr(above, '\n');

    change->below = name ? name + 1 : above;
    change->path = arena_printf(words->push->arena, "%s\n%s", above,
                                change->name);
}

/* The path of a meter of the plan. */
static const char *
wanted_path(const struct words *words, uint32_t id)
{
    const struct plan *plan = words->push->plan;

    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];

        if (m->id == id) {
            const char *title = plan_meter_title(plan, m);

            return (!m->parent ? title
                    : arena_printf(words->push->arena, "%s\n%s",
                                   wanted_path(words, m->parent), title));
        }
    }
    return "";
}

/* The path of a meter of the switch. */
static const char *
live_path(const struct words *words, uint32_t id, unsigned int n_levels)
{
    const struct meter_entry *m = meter_find(&words->push->live, id);
    const char *title = title_of_meter(words, id);

    return (!m || !m->parent || !n_levels ? title
            : arena_printf(words->push->arena, "%s\n%s",
                           live_path(words, m->parent, n_levels - 1), title));
}

static void
add_meters(struct words *words)
{
    struct push *push = words->push;
    const struct plan *plan = push->plan;
    struct meter_entry *meter;

    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];

        if (!push->present[i]) {
            struct push_change *change = &get_thing(
                words, limit_of(m->id), plan_meter_title(plan, m))->change;

            change->after = meter_words(push->arena, m);
            if (m->parent) {
                put_below(words, change, wanted_path(words, m->parent));
            }
        }
    }
    HMAP_FOR_EACH (meter, node, &push->live.meters) {
        if (!meter->kept) {
            struct push_change *change = &get_thing(
                words, limit_of(meter->id),
                title_of_meter(words, meter->id))->change;

            change->before = live_words(words, meter);
            tell_tags(words, change, meter);
            if (meter->parent && !change->after) {
                put_below(words, change, live_path(words, meter->parent,
                                                   METER_MAX_LEVELS));
            }
        }
    }
}

static void
add_limits(struct words *words)
{
    limit_words_vec limits = limits_describe(words->push, words->old);

    for (size_t i = 0; i < limits.n; i++) {
        struct push_change *change = &get_thing(words, "limits",
                                                limits.v[i].title)->change;

        change->before = limits.v[i].before;
        change->after = limits.v[i].after;
    }
}

/* A meter that moves with its parent says the same as before. */
static void
forget_moved(struct push_change *c)
{
    if (c->before && c->after && !strcmp(c->before, c->after)) {
        c->before = c->after = NULL;
    }
}

static bool
is_difference(const struct push_change *c)
{
    return (c->flows_added || c->flows_changed || c->flows_deleted
            || c->before || c->after);
}

static int
compare_changes(const void *a_, const void *b_)
{
    static const char *const order[] = {
        "tenant", "network", "endpoint", "rule", "bandwidth", "limits",
        "shared",
    };
    const struct push_change *a = a_, *b = b_;
    size_t i = 0, j = 0;

    while (strcmp(order[i], a->what)) {
        i++;
    }
    while (strcmp(order[j], b->what)) {
        j++;
    }
    if (i != j) {
        return i < j ? -1 : 1;
    }
    /* Behind its parent. */
    return strcmp(a->path ? a->path : a->name, b->path ? b->path : b->name);
}

void
push_words(struct push *push, const struct plan *old)
{
    struct words words = { .push = push, .old = old };
    struct push_diff *diff = push->diff;
    struct shash_node *node;

    shash_init(&words.things);
    add_flows(&words);
    add_meters(&words);
    add_limits(&words);
    SHASH_FOR_EACH (node, &words.things) {
        struct thing *thing = node->data;
        struct push_change *c = &thing->change;
        bool before = thing->live || c->before;
        bool after = thing->wanted || c->after;

        forget_moved(c);
        c->change = !before ? "added" : !after ? "removed" : "changed";
        if (is_difference(c)) {
            *vec_push(push->arena, &diff->changes) = *c;
        }
    }
    if (diff->changes.n) {
        qsort(diff->changes.v, diff->changes.n, sizeof *diff->changes.v,
              compare_changes);
    }
    shash_destroy(&words.things);
}
