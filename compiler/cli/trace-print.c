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
#include <string.h>

#include "cli/show.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "sema/meaning-legacy.h"
#include "sema/meaning-meters.h"
#include "sema/meaning.h"
#include "sema/packet.h"
#include "sema/policy.h"
#include "util.h"

static const char *
class_name(const struct policy_class *class)
{
    return class ? class->name : POLICY_BEST_EFFORT;
}

static const char *
copy_class_name(const struct meaning_copy *copy)
{
    return class_name(copy->rule ? copy->rule->class : NULL);
}

/* Where the packet goes, or would, in a static buffer. */
static const char *
receiver(const struct meaning *m)
{
    static char s[128];

    if (m->to) {
        return m->to->name;
    }
    snprintf(s, sizeof s, POLICY_EXTERNAL"%s", m->external->external->name);
    return s;
}

static void
print_reason(const struct meaning *m)
{
    const struct reason_info *info = reason_info(m->reason);

    printf("reason       %s: %s\n", info->name, info->text);
    if (m->to || m->external) {
        printf("destination  none; it would have gone to %s\n", receiver(m));
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

/* The uplink is of interest where the node has several. */
static bool
names_uplink(const struct meaning *m)
{
    const struct policy_endpoint *payer = m->from ? m->from : m->to;

    return m->uplink && payer->node->uplinks.n > 1;
}

/* The tenant whose meter of what it gets the packet for 'to' passes, or
 * NULL. */
static const char *
receiving_tenant(const struct meaning *m, const struct policy_endpoint *to)
{
    struct meaning_meter meters[MAX_MEANING_METERS];
    size_t n = meaning_meters(m, to, meters);

    return (n && meters[n - 1].receive ? meters[n - 1].tenant->name : NULL);
}

static void
print_charged(const struct meaning *m, const struct policy_endpoint *to,
              const char *more)
{
    const char *receiving = receiving_tenant(m, to);
    const struct policy_tenant *payer = m->charged ? m->charged : m->payer;

    printf("charged      %s%s%s%s%s", payer ? payer->name
           : m->external ? "nobody for what is sent"
           : "nobody here, the sender on its own node",
           m->charged ? "" : payer ? ", on the sender's node" : "",
           names_uplink(m) ? ", uplink " : "",
           names_uplink(m) ? m->uplink->name.s : "",
           m->payer ? ", as the peering says" : "");
    if (receiving) {
        printf("; %s for what %s gets", receiving,
               strcmp(receiving, to->tenant->name) ? to->tenant->name : "it");
    }
    printf("%s\n", more);
}

static void
print_copies(const struct meaning *m)
{
    for (size_t i = 0; i < m->n_copies; i++) {
        const struct meaning_copy *copy = &m->copies[i];

        printf("copy         to %s, class %s: DSCP %u%s, queue %u; decided "
               "by ", copy->to->name, copy_class_name(copy), copy->dscp,
               copy->kept ? " as it came" : "", copy->queue);
        print_rule(copy->rule);
        putchar('\n');
        trace_print_meters(m, copy->to);
    }
    print_charged(m, m->copies[0].to, ", for each copy");
}

static void
print_decision(const struct meaning *m)
{
    printf("decided by   ");
    print_rule(m->rule);
    putchar('\n');
    if (m->allow) {
        printf("class        %s: DSCP %u%s, queue %u\n",
               class_name(m->class), m->dscp, m->kept ? " as it came" : "",
               m->queue);
        print_charged(m, m->to, "");
        trace_print_meters(m, m->to);
    }
    printf("destination  %s%s%s", m->allow ? "" : "none; it would have "
           "gone to ", receiver(m), m->routed ? ", through the gateway" : "");
    if (m->node) {
        printf(", by tunnel to %s with VNI %"PRIu32, m->node->name.s,
               m->to->network->intent->vni);
    } else if (!m->to) {
        printf(", by %s", m->external->intent->interface.s);
    }
    putchar('\n');
}

/* Of what a VF in legacy mode sends. */
static void
print_nic(const struct meaning_question *q, const struct meaning *m)
{
    const struct policy_endpoint *from = q->from;
    unsigned int vlan = from->network->intent->vlan.n;

    printf("decided by   the NIC, which no rule binds\n"
           "destination  ");
    if (m->many) {
        printf("all in VLAN %u\n", vlan);
    } else if (m->to->node == from->node) {
        printf("%s\n", m->to->name);
    } else {
        printf("%s, on %s, in VLAN %u\n", m->to->name,
               m->to->node->name.s, vlan);
    }
}

static void
put_number(struct json *object, const char *key, bool known,
           unsigned int value)
{
    json_object_put(object, key, known ? json_integer_create(value)
                    : json_null_create());
}

/* In whose name the node answers; NULL if in the gateway's. */
static const struct policy_endpoint *
find_answerer(const struct meaning_question *q, const struct meaning *m)
{
    const struct policy_tenant *tenant = q->from ? q->from->tenant : NULL;

    for (size_t i = 0; !m->answer_router && i < tenant->endpoints.n; i++) {
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

    return (to ? to->name : m->allow && m->external && !m->answered
            ? receiver(m) : NULL);
}

static struct json *
copies_json(const struct meaning *m)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < m->n_copies; i++) {
        const struct meaning_copy *copy = &m->copies[i];
        struct json *object = json_object_create();

        show_put(object, "destination", copy->to->name);
        show_put(object, "receiving_tenant", receiving_tenant(m, copy->to));
        show_put(object, "rule", copy->rule ? copy->rule->name : NULL);
        show_put(object, "class", copy_class_name(copy));
        show_put_number(object, "dscp", copy->dscp);
        show_put_number(object, "queue", copy->queue);
        json_object_put(object, "meters", trace_meters_json(m, copy->to));
        json_array_add(array, object);
    }
    return array;
}

void
trace_print_json(const struct meaning_question *q, const struct meaning *m,
                 const char *from, const char *note)
{
    bool by_nic = legacy_sends(q);
    bool forwarded = m->allow && !m->answered && !by_nic;
    bool one = forwarded && !m->n_copies;
    struct json *o = json_object_create();
    char *packet = packet_format(q->packet);

    show_put(o, "verdict", m->allow ? "allow" : "deny");
    show_put(o, "reason", m->allow || m->rule ? NULL
             : reason_info(m->reason)->name);
    show_put(o, "rule", m->rule ? m->rule->name : NULL);
    show_put(o, "class", one ? class_name(m->class) : NULL);
    show_put(o, "tenant", forwarded && m->charged ? m->charged->name : NULL);
    show_put(o, "uplink", forwarded && m->uplink ? m->uplink->name.s : NULL);
    show_put(o, "receiving_tenant", one ? receiving_tenant(m, m->to) : NULL);
    show_put(o, "destination", destination(q, m));
    show_put(o, "answered_for", !m->answered ? NULL
             : m->answer_router ? "gateway" : "endpoint");
    json_object_put(o, "through_gateway",
                    json_boolean_create(one && m->routed));
    show_put(o, "node", one && m->node ? m->node->name.s : NULL);
    put_number(o, "vni", one && m->node,
               one && m->node ? m->to->network->intent->vni : 0);
    put_number(o, "dscp", one, m->dscp);
    put_number(o, "queue", one, m->queue);
    json_object_put(o, "meters", one ? trace_meters_json(m, m->to)
                    : json_array_create_empty());
    if (m->n_copies) {
        json_object_put(o, "copies", copies_json(m));
    }
    if (by_nic) {
        show_put_number(o, "vlan", q->from->network->intent->vlan.n);
    }
    json_object_put(o, "place", m->rule ? show_rule_place_json(m->rule)
                    : json_null_create());
    show_put(o, "note", note);
    show_put(o, "from", from);
    show_put(o, "connection", connection_name(q->connection));
    show_put(o, "packet", packet);
    show_json(o);
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
    } else if (legacy_sends(q) && m->allow) {
        print_nic(q, m);
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
