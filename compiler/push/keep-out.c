/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/keep-private.h"

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-actions.h"
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

void
keeper_find_gone(const struct keeper *k, const struct plan *plan,
                 struct sset *gone)
{
    for (size_t i = 0; i < plan->ports.n; i++) {
        const char *name = plan->ports.v[i].interface;

        if (ofputil_port_map_get_number(&k->ports, name) == OFPP_NONE) {
            sset_add(gone, name);
        }
    }
    if (ofputil_port_map_get_number(&k->ports, PLAN_TUNNEL) == OFPP_NONE) {
        sset_add(gone, PLAN_TUNNEL);
    }
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

/* What ADMIT notes of who sends: the numbers of tenant, endpoint, network and
 * zone, or of the node. */
static const char *const numbers[] = {
    "reg0", "reg1", "reg2", "reg6", "metadata",
};

/* What says to which node a packet goes by tunnel. */
static const char *const tunnels[] = { "tun_id", "tun_dst", "tun_ipv6_dst" };

/* What it matches, and as whom it lets in. */
char *
push_admission(const char *text)
{
    const char *actions = strstr(text, " actions=");
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_buffer(&ds, text, actions - text);
    for (const char *p = actions; *p; ) {
        size_t n = strcspn(p + 1, ",") + 1;

        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
            size_t len = strlen(numbers[i]);

            if (n > len && p[n - len - 1] == '>'
                && !memcmp(p + n - len, numbers[i], len)) {
                ds_put_buffer(&ds, p + 1, n - 1);
            }
        }
        p += n;
    }
    return ds_steal_cstr(&ds);
}

bool
push_admits(const struct plan_flow *flow, char **interface, char **admission)
{
    static const char port[] = "in_port=\"";
    const char *name = (flow->table == KEEPER_ADMIT
                        ? strstr(flow->match, port) : NULL);
    struct ds ds = DS_EMPTY_INITIALIZER;

    if (!name) {
        return false;
    }
    name += strlen(port);
    *interface = xmemdup0(name, strcspn(name, "\""));
    plan_put_flow(flow, &ds);
    *admission = push_admission(ds_cstr(&ds));
    ds_destroy(&ds);
    return true;
}

static bool
sends_to_port(const struct flow_entry *flow)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_OUTPUT
            && ofp_to_u16(ofpact_get_OUTPUT(a)->port)
               < ofp_to_u16(OFPP_MAX)) {
            return true;
        }
    }
    return false;
}

/* Does the flow let packets in, or send them to somebody? */
static bool
passes(const struct flow_entry *flow)
{
    return ((flow->table == KEEPER_ADMIT && flow->ofpacts_len)
            || sends_to_port(flow));
}

static bool
is_among(const char *name, const char *const names_[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(name, names_[i])) {
            return true;
        }
    }
    return false;
}

/* Says the action as whom packets are let in, or to whom they go? */
static bool
says_whose(const struct ofpact *a)
{
    const struct mf_field *field = (a->type == OFPACT_SET_FIELD
                                    ? ofpact_get_SET_FIELD(a)->field : NULL);

    return (field ? is_among(field->name, numbers, ARRAY_SIZE(numbers))
                    || is_among(field->name, tunnels, ARRAY_SIZE(tunnels))
            : a->type == OFPACT_OUTPUT);
}

/* The next action from 'a' on that says so, or NULL. */
static const struct ofpact *
next_whose(const struct flow_entry *flow, const struct ofpact *a)
{
    const struct ofpact *end = ofpact_end(flow->ofpacts, flow->ofpacts_len);

    while (a < end && !says_whose(a)) {
        a = ofpact_next_flattened(a);
    }
    return a < end ? a : NULL;
}

/* The same may be encoded in more than one way. */
static bool
says_same(const struct ofpact *a, const struct ofpact *b)
{
    if (a->type != b->type) {
        return false;
    } else if (a->type == OFPACT_OUTPUT) {
        return ofpact_get_OUTPUT(a)->port == ofpact_get_OUTPUT(b)->port;
    }
    const struct ofpact_set_field *x = ofpact_get_SET_FIELD(a);
    const struct ofpact_set_field *y = ofpact_get_SET_FIELD(b);
    int n = x->field->n_bytes;

    return (x->field == y->field && !memcmp(x->value, y->value, n)
            && !memcmp(ofpact_set_field_mask(x), ofpact_set_field_mask(y),
                       n));
}

/* Do both let in packets as the same, and send them to the same? */
static bool
passes_alike(const struct flow_entry *x, const struct flow_entry *y)
{
    const struct ofpact *a = next_whose(x, x->ofpacts);
    const struct ofpact *b = next_whose(y, y->ofpacts);

    while (a && b && says_same(a, b)) {
        a = next_whose(x, ofpact_next_flattened(a));
        b = next_whose(y, ofpact_next_flattened(b));
    }
    return !a && !b;
}

/* Does a wanted flow do so with the same packets?  It may send them in another
 * table, as after a second meter. */
static bool
is_wanted_so(const struct keeper *k, const struct flow_entry *live)
{
    const struct switch_state *wanted = &k->push.wanted;
    struct flow_entry *key = flow_clone(live);
    bool found = false;

    for (size_t i = 0; i < ARRAY_SIZE(wanted->n_flows) && !found; i++) {
        const struct flow_entry *flow;

        if (!wanted->n_flows[i].ours
            || (live->table == KEEPER_ADMIT && i != KEEPER_ADMIT)) {
            continue;
        }
        key->table = i;
        flow = flow_find(wanted, key);
        found = flow && passes_alike(live, flow);
    }
    flow_destroy(key);
    return found;
}

void
keeper_close_off(struct keeper *k)
{
    struct push *push = &k->push;
    size_t n = 0;

    keeper_begin(k);
    if (!k->whole || !push->session || keeper_read_live(k)) {
        return;
    }
    push_compare(push);
    for (size_t i = 0; i < push->n_about; i++) {
        const struct flow_entry *flow = push->about[i];
        const struct flow_entry *live = (flow->text
                                         ? flow_find(&push->live, flow)
                                         : flow);

        if (live && flow_is_ours(live) && passes(live)
            && !is_wanted_so(k, live)) {
            push->about[n++] = live;
        }
    }
    push->n_about = n;
    keeper_send_deletes(k);
    if (k->diff.doubt) {
        keeper_disconnect(k, 0);
    }
}
