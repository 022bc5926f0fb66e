/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/keep-private.h"

#include <stdlib.h>
#include <string.h>

#include "sset.h"
#include "util.h"

/* Interfaces that nothing is to come from or go to. */

/* Does the text of a flow name one of them? */
static bool
names(const char *text, const struct sset *interfaces)
{
    bool found = false;

    while (!found && (text = strchr(text, '"')) != NULL) {
        size_t len = strcspn(++text, "\"");
        char *name = xmemdup0(text, len);

        found = sset_contains(interfaces, name);
        text += len + (text[len] != '\0');
        free(name);
    }
    return found;
}

static void
leave_out_ports(struct plan *plan, const struct sset *interfaces)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->ports.n; i++) {
        if (!sset_contains(interfaces, plan->ports.v[i].interface)) {
            plan->ports.v[n++] = plan->ports.v[i];
        }
    }
    plan->ports.n = n;
}

void
push_leave_out(struct plan *plan, const struct sset *interfaces)
{
    size_t n = 0;

    if (sset_is_empty(interfaces)) {
        return;
    }
    leave_out_ports(plan, interfaces);
    for (size_t i = 0; i < plan->flows.n; i++) {
        const struct plan_flow *flow = &plan->flows.v[i];

        if (!names(flow->match, interfaces)
            && !names(flow->actions, interfaces)) {
            plan->flows.v[n++] = *flow;
        }
    }
    plan->flows.n = n;
}

struct plan
push_without(const struct plan *plan, const struct sset *interfaces,
             struct arena *arena)
{
    struct plan copy = *plan;

    copy.arena = arena;
    memset(&copy.flows, 0, sizeof copy.flows);
    memset(&copy.ports, 0, sizeof copy.ports);
    for (size_t i = 0; i < plan->flows.n; i++) {
        *vec_push(arena, &copy.flows) = plan->flows.v[i];
    }
    for (size_t i = 0; i < plan->ports.n; i++) {
        *vec_push(arena, &copy.ports) = plan->ports.v[i];
    }
    push_leave_out(&copy, interfaces);
    return copy;
}

/* Of the wanted flows that are found by 'named'. */
static void
withdraw(struct keeper *k, const struct sset *interfaces, uint32_t named)
{
    VEC(struct flow_entry *) found = VEC_INIT;
    struct flow_entry *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, name, named, &k->push.wanted.named) {
        if (names(flow->text, interfaces)) {
            *vec_push(k->arena, &found) = flow;
        }
    }
    for (size_t i = 0; i < found.n; i++) {
        struct flow_entry *gone = flow_clone(found.v[i]);

        svec_add(&k->withdrawn, found.v[i]->text);
        watch_unwant(&k->watch, gone);
        flow_destroy(gone);
    }
}

void
keeper_leave_out(struct keeper *k, const struct sset *interfaces)
{
    const char *name;

    if (sset_is_empty(interfaces)) {
        return;
    }
    leave_out_ports(&k->plan, interfaces);
    SSET_FOR_EACH (name, interfaces) {
        withdraw(k, interfaces, flow_named(name, strlen(name)));
    }
    withdraw(k, interfaces, FLOW_NAMES_MORE);
}

void
keeper_withdraw(struct keeper *k, const struct sset *interfaces)
{
    keeper_begin(k);
    keeper_leave_out(k, interfaces);
    if (!k->wants_plan && k->push.session && watch_is_due(&k->watch)) {
        watch_compare(&k->watch);
        if (keeper_carry_out(k)) {
            keeper_note_push(k);
        }
    } else if (k->wants_plan) {
        k->next_try = 0;
    }
}
