/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/read.h"

#include <inttypes.h>
#include <stdlib.h>

#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-actions.h"
#include "push/run.h"
#include "push/session.h"
#include "svec.h"
#include "timeval.h"
#include "util.h"

static void
put_timeout(struct ds *ds, const char *name, uint16_t value)
{
    if (value) {
        ds_put_format(ds, "%s=%u,", name, value);
    }
}

static char *
flow_text(const struct flow_entry *flow,
          const struct ofputil_port_map *ports)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct ofpact_format_params params = { .port_map = ports, .s = &ds };
    struct match match;

    minimatch_expand(&flow->match, &match);
    ds_put_format(&ds, "cookie=%#"PRIx64",table=%u,priority=%u,",
                  flow->cookie, flow->table, flow->priority);
    put_timeout(&ds, "idle_timeout", flow->idle_timeout);
    put_timeout(&ds, "hard_timeout", flow->hard_timeout);
    put_timeout(&ds, "importance", flow->importance);
    match_format(&match, ports, &ds, OFP_DEFAULT_PRIORITY);
    ds_put_cstr(&ds, " actions=");
    ofpacts_format(flow->ofpacts, flow->ofpacts_len, &params);
    return ds_steal_cstr(&ds);
}

static void
list_held(const struct push *push, struct push_held *held)
{
    struct svec lines = SVEC_EMPTY_INITIALIZER;
    struct meter_entry *meter;
    struct namemap_node *port;
    struct flow_entry *flow;
    char *text;

    HMAP_FOR_EACH (flow, node, &push->live.flows) {
        svec_add_nocopy(&lines, flow_text(flow, &push->info.ports));
    }
    svec_sort(&lines);
    text = svec_join(&lines, "\n", "\n");
    held->flows = arena_strdup(push->arena, text);
    free(text);
    svec_destroy(&lines);
    HMAP_FOR_EACH (meter, node, &push->live.meters) {
        *vec_push(push->arena, &held->meters) = meter->id;
    }
    HMAP_FOR_EACH (port, name_node, &push->info.ports.map.by_name) {
        struct push_port *p = vec_push(push->arena, &held->ports);

        p->name = arena_strdup(push->arena, port->name);
        p->number = u16_to_ofp(port->number);
    }
}

static const char *
read_held(struct push *push, struct push_held *held)
{
    const char *reason = push_read_bridge(push);
    int error;

    reason = reason ? reason : push_connect(push);
    reason = reason ? reason : push_check_switch(push);
    if (reason) {
        return reason;
    }
    error = switch_to_flows(push->session, push->deadline, &push->live);
    if (error) {
        return push_errno(push, "reading flows", error);
    }
    list_held(push, held);
    return NULL;
}

const char *
push_read(const struct push_target *target, const struct plan *plan,
          struct push_held *held)
{
    struct push_diff diff;
    const char *reason;
    struct push push;

    *held = (struct push_held) { .meters = VEC_INIT, .ports = VEC_INIT };
    push_init(&push, target, ACTION_STATUS);
    push_set_plan(&push, plan);
    push_begin(&push, plan->arena, &diff);
    reason = read_held(&push, held);
    held->unfit = diff.unfit;
    push_destroy(&push);
    return reason;
}
