/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

#include "util.h"

/* The POLICY table.  A packet is judged by the present policy whatever the
 * state of its connection: replies match the rule with both sides swapped, so
 * that a connection dies when policy withdraws the rule.  Each pair of
 * endpoints has flows of its own. */

VEC_TYPEDEF(match_vec, const char *);

static enum of_priority
rule_priority(enum rule_kind kind)
{
    switch (kind) {
    case RULE_DENY: return PRIORITY_DENY;
    case RULE_ALLOW: return PRIORITY_ALLOW;
    case RULE_PEERING: return PRIORITY_ALLOW;
    case RULE_DEFAULT: return PRIORITY_DEFAULT;
    }
    OVS_NOT_REACHED();
}

/* Appends "PREFIX[,FIELD=VALUE/MASK]" for each of the fewest masks that cover
 * 'range' exactly. */
static void
cover_range(struct emitter *e, const char *prefix, const char *field,
            struct port_range range, match_vec *out)
{
    uint32_t port = range.first;

    while (port <= range.last) {
        uint32_t size = port & -port;   /* The largest aligned block. */

        while (port + size - 1 > range.last) {
            size >>= 1;
        }
        *vec_push(e->arena, out) = (
            size == 1 ? FORMAT(e, "%s,%s=%"PRIu32, prefix, field, port)
            : FORMAT(e, "%s,%s=%#"PRIx32"/%#"PRIx32, prefix, field, port,
                     0x10000 - size));
        port += size;
    }
}

static const char *
protocol_name(uint8_t protocol)
{
    switch (protocol) {
    case IPPROTO_TCP: return "tcp";
    case IPPROTO_UDP: return "udp";
    case IPPROTO_ICMP: return "icmp";
    case IPPROTO_ICMPV6: return "icmp6";
    }
    OVS_NOT_REACHED();
}

/* Adds the matches of 'm' on the port field 'field' ("tp_dst", or "tp_src"
 * for replies). */
static void
add_matches(struct emitter *e, const struct service_match *m,
            const char *field, match_vec *out)
{
    const char *name = protocol_name(m->protocol);

    if (!m->ports.last) {
        *vec_push(e->arena, out) = name;
    } else {
        cover_range(e, name, field, m->ports, out);
        cover_range(e, FORMAT(e, "%s6", name), field, m->ports, out);
    }
}

static match_vec
service_matches(struct emitter *e, const struct policy_service *service,
                const char *field)
{
    match_vec out = VEC_INIT;

    for (size_t i = 0; service && i < service->matches.n; i++) {
        add_matches(e, &service->matches.v[i], field, &out);
    }
    return out;
}

/* The matches of 'service' on ports of symmetric services, whose packets go
 * round conntrack whatever the service that a rule names. */
static match_vec
stateless_matches(struct emitter *e, const struct policy_service *service)
{
    match_vec out = VEC_INIT;

    for (size_t i = 0; service && i < e->prog->symmetric.n; i++) {
        /* As in emit_stateless(), each match is one port. */
        const struct service_match *s = e->prog->symmetric.v[i]->matches.v;

        for (size_t j = 0; j < service->matches.n; j++) {
            const struct service_match *m = &service->matches.v[j];

            if (m->protocol == s->protocol
                && m->ports.first <= s->ports.first
                && m->ports.last >= s->ports.last) {
                add_matches(e, s, "tp_dst", &out);
                break;
            }
        }
    }
    return out;
}

/* Matches of one direction of a rule. */
struct side {
    enum of_direction direction;
    bool swapped;               /* From the rule's "to" to its "from". */
    match_vec services;         /* Empty: any service. */
};

static void
emit_pair(struct emitter *e, const struct ir_rule *rule,
          const struct side *side, const struct ir_endpoint *from,
          const struct ir_endpoint *to, const char *actions)
{
    const char *ends = FORMAT(e, REG_DIRECTION"=%d,"REG_SOURCE"=%#"PRIx32","
                              REG_DEST"=%#"PRIx32, side->direction,
                              side->swapped ? to->number : from->number,
                              side->swapped ? from->number : to->number);
    enum of_priority priority = rule_priority(rule->policy->kind);

    if (!side->services.n) {
        emit_flow(e, TABLE_POLICY, priority, rule->policy->id, ends, actions);
    }
    for (size_t i = 0; i < side->services.n; i++) {
        emit_flow(e, TABLE_POLICY, priority, rule->policy->id,
                  FORMAT(e, "%s,%s", ends, side->services.v[i]), actions);
    }
}

static const char *
rule_actions(struct emitter *e, const struct policy_rule *rule)
{
    if (rule->kind == RULE_DENY) {
        return "drop";
    } else if (!rule->class) {
        return FORMAT(e, "goto_table:%d", TABLE_COMMIT);
    }
    return FORMAT(e, "set_field:%#"PRIx32"->"REG_CLASS",goto_table:%d",
                  CLASS_VALUE(rule->class->dscp, rule->class->queue),
                  TABLE_COMMIT);
}

static void
emit_rule(struct emitter *e, const struct ir_rule *rule)
{
    const struct policy_service *service = rule->policy->service;
    const char *actions = rule_actions(e, rule->policy);
    struct side sides[4];
    size_t n = 0;

    if (!service || !service->symmetric) {
        sides[n++] = (struct side) { DIRECTION_FORWARD, false,
                                     service_matches(e, service, "tp_dst") };
        sides[n++] = (struct side) { DIRECTION_REPLY, true,
                                     service_matches(e, service, "tp_src") };
    }
    if (service_has_symmetric(service)) {
        for (int swapped = 0; swapped <= 1; swapped++) {
            sides[n++] = (struct side) { DIRECTION_STATELESS, swapped,
                                         stateless_matches(e, service) };
        }
    }

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < rule->from.n; j++) {
            for (size_t k = 0; k < rule->to.n; k++) {
                if (rule->from.v[j] != rule->to.v[k]) {
                    emit_pair(e, rule, &sides[i], rule->from.v[j],
                              rule->to.v[k], actions);
                }
            }
        }
    }
}

void
emit_policy(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->rules.n; i++) {
        emit_rule(e, e->prog->rules.v[i]);
    }
}
