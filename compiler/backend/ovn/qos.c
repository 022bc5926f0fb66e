/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/ovn/emit.h"

#include <string.h>

#include "backend/lost.h"
#include "util.h"

/* Of marks, a class's and the depth of the rule; meters are another table of
 * OVN's.  At 0 stand flows of its own, by which everything passes. */
enum { PRIORITY_CLASS = 1000, PRIORITY_BEST_EFFORT = 1, PRIORITY_METER = 1 };

static struct plan_row *
add_qos(struct emitter *e, const char *id, enum ovn_direction direction,
        int priority, const char *match)
{
    struct plan_row *row = plan_add_row(e->plan, "QoS", id);

    plan_row_string(e->plan, row, "direction", ovn_direction_name(direction));
    plan_row_integer(e->plan, row, "priority", priority);
    plan_row_string(e->plan, row, "match", match);
    return row;
}

/* Marks what 'near' sends to 'far'.  DSCP 0 is best effort's, below, unless a
 * rule of another class is in between. */
static void
add_mark(struct emitter *e, const struct ir_rule *rule, const char *part,
         const struct ir_class *class, const struct ovn_side *near,
         const struct ovn_side *far, const char *service)
{
    uint8_t dscp = class ? class->dscp : 0;
    ovn_products products = ((dscp || rule->depth) && service
                             ? ovn_pair(e, near, far)
                             : (ovn_products) VEC_INIT);

    for (size_t i = 0; i < products.n; i++) {
        const struct ovn_product *product = &products.v[i];
        struct plan_row *row = add_qos(
            e, FORMAT(e, "%s %s %s", rule->name, part,
                      product->near->name),
            OVN_FROM, PRIORITY_CLASS + rule->depth,
            ovn_match(e, product, OVN_FROM, service));

        plan_row_number(e->plan, row, "action", "dscp", dscp);
        ovn_add_to_switches(e, &product->near->endpoints, "qos_rules", row);
    }
}

static void
add_marks(struct emitter *e, const struct ir_rule *rule)
{
    const struct ir_class *back = (rule->replies ? rule->reply_class
                                   : rule->class);
    const char *stateless = ovn_match_stateless(e, rule->service);
    const char *tracked = ovn_match_tracked(e, rule->service, false);
    const char *reply = ovn_match_tracked(e, rule->service, true);
    struct ovn_side from = ovn_from(e, rule), to = ovn_to(e, rule);

    if (tracked) {
        add_mark(e, rule, "tracked", rule->class, &from, &to,
                 FORMAT(e, "!ct.rpl && %s", tracked));
        add_mark(e, rule, "reply", back, &to, &from,
                 FORMAT(e, "ct.est && ct.rpl && %s", reply));
    }
    add_mark(e, rule, "stateless", rule->class, &from, &to, stateless);
    add_mark(e, rule, "back", rule->class, &to, &from, stateless);
}

/* What tenants write into packets is never trusted. */
static void
add_best_effort(struct emitter *e)
{
    struct plan_row *row = add_qos(e, "best-effort", OVN_FROM,
                                   PRIORITY_BEST_EFFORT,
                                   "inport == @bulkhead && ip");
    struct shash_node *node;

    plan_row_number(e->plan, row, "action", "dscp", 0);
    SHASH_FOR_EACH (node, &e->switches) {
        plan_row_ref(e->plan, node->data, "qos_rules", row);
    }
}

/* A limit on some nodes.  OVN gives each of them a meter of its own. */
struct limit {
    const struct ir_meter *meter;       /* Of the first node. */
    uint64_t asked;                     /* The least burst of all of them. */
    struct ovn_group group;             /* Its Port_Group. */
};
VEC_TYPEDEF(limits, struct limit);

static struct limit *
get_limit(struct emitter *e, const struct ir_meter *meter, limits *all)
{
    for (size_t i = all->n; i-- > 0
         && all->v[i].meter->tenant == meter->tenant; ) {
        const struct ir_meter *other = all->v[i].meter;

        if (other->receive == meter->receive
            && !strcmp(other->uplink, meter->uplink)
            && other->rate_kbps == meter->rate_kbps
            && lost_drop_burst(other) == lost_drop_burst(meter)) {
            all->v[i].asked = MIN(all->v[i].asked, lost_asked_burst(meter));
            return &all->v[i];
        }
    }

    struct limit *limit = vec_push(e->plan->arena, all);
    limit->meter = meter;
    limit->asked = lost_asked_burst(meter);
    limit->group.tenant = meter->tenant;
    limit->group.name = ovn_mangle(e, "meter", meter->name);
    return limit;
}

/* A burst is in kbit, which is 1000 bits: less than 125 bytes too many. */
static void
add_meter(struct emitter *e, struct limit *limit)
{
    const struct ir_meter *meter = limit->meter;
    uint64_t burst = DIV_ROUND_UP(lost_drop_burst(meter) * 8, 1000);
    enum ovn_direction direction = meter->receive ? OVN_TO : OVN_FROM;
    struct plan_row *row;

    ovn_port_group(e, &limit->group);
    row = add_qos(e, FORMAT(e, "limit %s", meter->name), direction,
                  PRIORITY_METER,
                  FORMAT(e, "%s == @%s", meter->receive ? "outport" : "inport",
                         limit->group.name));
    plan_row_number(e->plan, row, "bandwidth", "rate", meter->rate_kbps);
    plan_row_number(e->plan, row, "bandwidth", "burst", burst);
    if (burst * 125 != limit->asked) {
        plan_row_map(e->plan, row, "external_ids", NB_BURST_KEY,
                     nb_burst_string(e->plan->arena, limit->asked, burst));
    }
    if (meter->unlimited) {
        plan_row_map(e->plan, row, "external_ids", NB_UPLINK_LIMIT_KEY,
                     nb_burst_string(e->plan->arena, meter->rate_kbps, burst));
    }
    ovn_add_to_switches(e, &limit->group.endpoints, "qos_rules", row);
}

static void
add_meters(struct emitter *e)
{
    limits all = VEC_INIT;

    for (size_t i = 0; i < e->prog->meters.n; i++) {
        const struct ir_meter *meter = e->prog->meters.v[i];
        const struct ovn_tenant *tenant = ovn_tenant(e, meter->tenant);
        struct limit *limit = get_limit(e, meter, &all);

        for (size_t j = 0; j < tenant->all->endpoints.n; j++) {
            const struct ir_endpoint *endpoint = tenant->all->endpoints.v[j];

            if (endpoint->node == meter->node
                && !strcmp(endpoint->uplink, meter->uplink)) {
                *vec_push(e->plan->arena, &limit->group.endpoints) = endpoint;
            }
        }
    }
    for (size_t i = 0; i < all.n; i++) {
        add_meter(e, &all.v[i]);
    }
}

void
emit_qos_rows(struct emitter *e)
{
    add_best_effort(e);
    for (size_t i = 0; i < e->prog->rules.n; i++) {
        if (!rule_kind_denies(e->prog->rules.v[i]->kind)) {
            add_marks(e, e->prog->rules.v[i]);
        }
    }
    add_meters(e);
}
