/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

#include "util.h"

/* The DSCP that the class says, whatever the tenant wrote; ECN is kept. */
static void
emit_class_value(struct emitter *e, uint32_t value, uint8_t dscp,
                 uint16_t queue)
{
    static const char *const families[] = { "ip", "ipv6" };

    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        emit_flow(e, TABLE_CLASS, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, "%s,"REG_CLASS"=%#"PRIx32, families[i], value),
                  FORMAT(e, "set_field:%u->ip_dscp,%sgoto_table:%d", dscp,
                         e->caps->queues ? FORMAT(e, "set_queue:%u,", queue)
                         : "", TABLE_METER));
    }
}

static void
emit_classes(struct emitter *e)
{
    emit_class_value(e, 0, 0, 0);
    for (size_t i = 0; i < e->prog->rules.n; i++) {
        const struct ir_class *classes[] = {
            e->prog->rules.v[i]->class, e->prog->rules.v[i]->reply_class,
        };

        for (size_t j = 0; j < ARRAY_SIZE(classes); j++) {
            const struct ir_class *c = classes[j];

            if (c) {
                emit_class_value(e, CLASS_VALUE(c->dscp, c->queue), c->dscp,
                                 c->queue);
            }
        }
    }
}

/* Calls the meters of 'path', one a table, and goes on to OUTPUT. */
static void
emit_path(struct emitter *e, enum of_priority priority, const char *match,
          const struct meter_path *path)
{
    bool more = path->n > 1;
    const char *first = (path->n ? FORMAT(e, "meter:%"PRIu32",", path->ids[0])
                         : "");

    emit_flow(e, TABLE_METER, priority, REASON_PIPELINE, match,
              FORMAT(e, "%sgoto_table:%d", first,
                     more ? TABLE_SHARE : TABLE_OUTPUT));
    if (more) {
        emit_flow(e, TABLE_SHARE, priority, REASON_PIPELINE, match,
                  FORMAT(e, "meter:%"PRIu32",resubmit(,%d)", path->ids[1],
                         TABLE_OUTPUT));
    }
}

/* What 'match' matches, of one class. */
static const char *
match_class(struct emitter *e, const char *match, const struct ir_class *class)
{
    return FORMAT(e, "%s,"REG_CLASS"=%#"PRIx32, match,
                  CLASS_VALUE(class->dscp, class->queue));
}

void
emit_charged(struct emitter *e, const struct charged *c)
{
    struct meter_path path = meter_path(e, c->account, NULL, NULL, false);

    emit_path(e, c->priority, c->match, &path);
    for (size_t i = 0; i < e->prog->meters.n; i++) {
        const struct ir_class *class = e->prog->meters.v[i]->class;

        if (class && ir_meter_is_of(e->prog->meters.v[i], c->account, false)) {
            path = meter_path(e, c->account, NULL, class, false);
            emit_path(e, c->class_priority, match_class(e, c->match, class),
                      &path);
        }
    }
}

/* What 'match' matches of the network is at its cost: of its classes, where
 * they have their own meters, and else of all. */
static void
emit_charge(struct emitter *e, const struct ir_network *network,
            const char *match)
{
    const struct charged charged = {
        ir_account_of(network), match, PRIORITY_ALLOW, PRIORITY_OWN,
    };

    emit_charged(e, &charged);
}

/* What comes from outside is at the receiver's cost: of what it may get, if
 * that has a meter, which OUTPUT calls. */
static void
emit_inward_call(struct emitter *e, const struct ir_network *network)
{
    const char *match = FORMAT(e, REG_CROSSING"=%d,"REG_NETWORK"=%#"PRIx32,
                               CROSSING_EXTERNAL, network->vni);

    if (ir_find_meter(e->prog, ir_account_of(network), true)) {
        emit_tagged(e, PRIORITY_ALLOW, match, network->tenant);
    } else {
        emit_charge(e, network, match);
    }
}

/* A tenant that takes several uplinks has a meter for each: the sender's
 * network says which. */
const char *
match_sender(struct emitter *e, const struct ir_network *network,
             const struct ir_meter *meter)
{
    return FORMAT(e, REG_TENANT"=%#"PRIx32"%s", network->tenant->number,
                  !meter->number ? ""
                  : FORMAT(e, ","REG_NETWORK"=%#"PRIx32, network->vni));
}

/* What a network sends, but for endpoints with a meter of their own. */
static void
emit_network(struct emitter *e, const struct ir_network *network)
{
    const struct ir_meter *meter = ir_find_meter(
        e->prog, ir_account_of(network), false);

    if (e->prog->externals.n) {
        emit_inward_call(e, network);
    }
    emit_charge(e, network, match_sender(e, network, meter));
}

static void
emit_calls(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->meters.n; i++) {
        const struct ir_meter *meter = e->prog->meters.v[i];
        const struct ir_endpoint *ep = meter->endpoint;

        if (ep && !meter->receive) {
            struct meter_path path = meter_path(
                e, ir_account_of(ep->network), ep, NULL, false);

            emit_path(e, PRIORITY_OWN,
                      FORMAT(e, REG_SOURCE"=%#"PRIx32, ep->number), &path);
        }
    }
    for (size_t i = 0; i < e->prog->networks.n; i++) {
        if (e->prog->networks.v[i]->here) {
            emit_network(e, e->prog->networks.v[i]);
        }
    }
}

/* What 'match' matches goes out to 'ep', through the meters of 'path'. */
static void
emit_delivery(struct emitter *e, const struct ir_endpoint *ep,
              enum of_priority priority, const char *match,
              const struct meter_path *path)
{
    enum of_table table = TABLE_OUTPUT;
    const char *last = "";

    if (path->n > 1) {
        emit_flow(e, TABLE_OUTPUT, priority, REASON_PIPELINE, match,
                  FORMAT(e, "meter:%"PRIu32",goto_table:%d", path->ids[0],
                         TABLE_DELIVER));
        table = TABLE_DELIVER;
    }
    if (path->n) {
        last = FORMAT(e, "meter:%"PRIu32",", path->ids[path->n - 1]);
    }
    emit_flow(e, table, priority, REASON_PIPELINE, match,
              FORMAT(e, "%soutput:\"%s\"", last, ep->interface));
}

/* What goes out to 'ep' in classes that have their own meters. */
static void
emit_class_deliveries(struct emitter *e, const struct ir_endpoint *ep,
                      const struct charged *c)
{
    for (size_t i = 0; i < e->prog->meters.n; i++) {
        const struct ir_class *class = e->prog->meters.v[i]->class;

        if (class && ir_meter_is_of(e->prog->meters.v[i], c->account, true)) {
            struct meter_path path = meter_path(e, c->account, NULL, class,
                                                true);

            emit_delivery(e, ep, c->class_priority,
                          match_class(e, c->match, class), &path);
        }
    }
}

void
emit_charged_delivery(struct emitter *e, const struct ir_endpoint *ep,
                      const struct charged *c)
{
    struct meter_path path = meter_path(e, c->account, NULL, NULL, true);

    emit_delivery(e, ep, c->priority, c->match, &path);
    emit_class_deliveries(e, ep, c);
}

void
emit_port_output(struct emitter *e, const struct ir_endpoint *ep)
{
    const struct charged charged = {
        ir_account_of(ep->network), FORMAT(e, REG_DEST"=%#"PRIx32, ep->number),
        PRIORITY_ALLOW, PRIORITY_OWN,
    };
    struct meter_path path = meter_path(e, charged.account, ep, NULL, true);

    emit_delivery(e, ep, charged.priority, charged.match, &path);
    emit_class_deliveries(e, ep, &charged);
}

void
emit_qos(struct emitter *e)
{
    emit_classes(e);
    emit_dscp_in(e);
    add_meters(e);
    add_tag_meters(e);
    emit_calls(e);
    emit_payers(e);
}
