/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/show.h"
#include "packets.h"
#include "sema/meaning.h"
#include "sema/packet.h"
#include "sema/policy.h"
#include "util.h"

static const char *
class_name(const struct policy_rule *rule)
{
    return rule && rule->class ? rule->class->name : POLICY_BEST_EFFORT;
}

static void
print_reason(const struct meaning *m)
{
    const struct reason_info *info = reason_info(m->reason);

    printf("reason       %s: %s\n", info->name, info->text);
    if (m->to) {
        printf("destination  none; it would have gone to %s\n", m->to->name);
    }
}

/* "rule 'a/web', intent.json:12:9". */
static void
print_rule(const struct policy_rule *rule)
{
    if (rule) {
        show_rule(rule);
        printf(", ");
        show_rule_place(rule);
    } else {
        printf("DHCP, which the network's \"dhcp\" allows");
    }
}

static void
print_copies(const struct meaning *m)
{
    for (size_t i = 0; i < m->n_copies; i++) {
        const struct meaning_copy *copy = &m->copies[i];

        printf("copy         to %s, class %s: DSCP %u, queue %u; decided by ",
               copy->to->name, class_name(copy->rule), copy->dscp,
               copy->queue);
        print_rule(copy->rule);
        putchar('\n');
    }
    printf("charged      %s, for each copy\n", m->charged->name);
}

static void
print_decision(const struct meaning *m)
{
    printf("decided by   ");
    print_rule(m->rule);
    putchar('\n');
    if (m->allow) {
        printf("class        %s: DSCP %u, queue %u\n", class_name(m->rule),
               m->dscp, m->queue);
        printf("charged      %s\n", m->charged ? m->charged->name
               : "nobody here, the sender on its own node");
    }
    printf("destination  %s%s%s", m->allow ? "" : "none; it would have "
           "gone to ", m->to->name, m->routed ? ", through the gateway" : "");
    if (m->node) {
        printf(", by tunnel to %s with VNI %"PRIu32, m->node->name.s,
               m->to->network->intent->vni);
    }
    putchar('\n');
}

static void
print_number(const char *key, bool known, unsigned int value)
{
    if (known) {
        printf(", \"%s\": %u", key, value);
    } else {
        show_member(key, NULL);
    }
}

/* In whose name the node answers; NULL if in the gateway's. */
static const struct policy_endpoint *
find_answerer(const struct meaning_question *q, const struct meaning *m)
{
    const struct policy_tenant *tenant = q->from->tenant;

    for (size_t i = 0; i < tenant->endpoints.n && !m->answer_router; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (e->network == q->from->network && e->bound
            && eth_addr_equals(e->intent->mac, m->answer)) {
            return e;
        }
    }
    return NULL;
}

static const char *
destination(const struct meaning_question *q, const struct meaning *m)
{
    const struct policy_endpoint *to = m->answered ? find_answerer(q, m)
                                       : m->allow ? m->to : NULL;

    return to ? to->name : NULL;
}

static void
print_copies_json(const struct meaning *m)
{
    printf(", \"copies\": [");
    for (size_t i = 0; i < m->n_copies; i++) {
        const struct meaning_copy *copy = &m->copies[i];

        printf("%s{\"destination\": \"%s\"", i ? ", " : "",
               copy->to->name);
        show_member("rule", copy->rule ? copy->rule->name : NULL);
        show_member("class", class_name(copy->rule));
        print_number("dscp", true, copy->dscp);
        print_number("queue", true, copy->queue);
        putchar('}');
    }
    putchar(']');
}

void
trace_print_json(const struct meaning_question *q, const struct meaning *m,
                 const char *from, const char *note)
{
    bool forwarded = m->allow && !m->answered;
    bool one = forwarded && !m->n_copies;
    char *packet = packet_format(q->packet);

    printf("{\"verdict\": \"%s\"", m->allow ? "allow" : "deny");
    show_member("reason", m->allow || m->rule ? NULL
                : reason_info(m->reason)->name);
    show_member("rule", m->rule ? m->rule->name : NULL);
    show_member("class", one ? class_name(m->rule) : NULL);
    show_member("tenant", forwarded && m->charged ? m->charged->name : NULL);
    show_member("destination", destination(q, m));
    show_member("answered_for", !m->answered ? NULL
                : m->answer_router ? "gateway" : "endpoint");
    printf(", \"through_gateway\": %s", one && m->routed ? "true" : "false");
    show_member("node", one && m->node ? m->node->name.s : NULL);
    print_number("vni", one && m->node,
                 one && m->node ? m->to->network->intent->vni : 0);
    print_number("dscp", one, m->dscp);
    print_number("queue", one, m->queue);
    if (m->n_copies) {
        print_copies_json(m);
    }
    if (m->rule) {
        show_rule_place_member(m->rule);
    } else {
        show_member("place", NULL);
    }
    show_member("note", note);
    show_member("from", from);
    show_member("connection", connection_name(q->connection));
    show_member("packet", packet);
    puts("}");
    free(packet);
}

void
trace_print_table(const struct meaning_question *q, const struct meaning *m,
                  const char *from, const char *note)
{
    char *packet = packet_format(q->packet);

    printf("packet       %s\n", packet);
    free(packet);
    printf("from         %s, connection: %s\n", from,
           connection_name(q->connection));
    printf("verdict      %s\n", m->allow ? "allow" : "deny");
    if (m->answered) {
        printf("destination  answered here, for %s "ETH_ADDR_FMT"\n",
               m->answer_router ? "the gateway" : "the endpoint",
               ETH_ADDR_ARGS(m->answer));
    } else if (m->n_copies) {
        print_copies(m);
    } else if (m->allow || m->rule) {
        print_decision(m);
    } else {
        print_reason(m);
    }
    if (note) {
        printf("note         %s\n", note);
    }
}
