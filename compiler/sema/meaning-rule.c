/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning-rule.h"

#include <netinet/in.h>

#include "flow.h"
#include "sema/meaning-external.h"
#include "sema/meaning-packet.h"
#include "sema/meaning-reach.h"

/* Does 'service' match 'protocol' and 'port' in the packet's family? */
static bool
service_matches(const struct policy_service *service,
                const struct flow *packet, uint8_t protocol, ovs_be16 port)
{
    for (size_t i = 0; i < service->matches.n; i++) {
        const struct service_match *m = &service->matches.v[i];
        bool family = (m->protocol == IPPROTO_ICMP ? packet_is_ip4(packet)
                       : m->protocol == IPPROTO_ICMPV6 ? packet_is_ip6(packet)
                       : true);

        if (family && protocol == m->protocol
            && (!m->ports.last || (ntohs(port) >= m->ports.first
                                   && ntohs(port) <= m->ports.last))) {
            return true;
        }
    }
    return false;
}

bool
is_symmetric(const struct policy *policy, const struct flow *packet,
             uint8_t protocol, ovs_be16 port)
{
    for (size_t i = 0; i < policy->services.n; i++) {
        const struct policy_service *service = policy->services.v[i];

        if (service->symmetric
            && service_matches(service, packet, protocol, port)) {
            return true;
        }
    }
    return false;
}

bool
is_stateless(const struct policy *policy, const struct flow *packet)
{
    return (!packet_is_fragment(packet)
            && is_symmetric(policy, packet, packet->nw_proto,
                            packet->tp_dst));
}

bool
goes_backward(enum connection connection)
{
    return (connection == CONNECTION_REPLY
            || connection == CONNECTION_RELATED);
}

bool
goes_forward(enum connection connection)
{
    return (connection == CONNECTION_NEW
            || connection == CONNECTION_FORWARD);
}

bool
is_backward(const struct meaning_question *q)
{
    return goes_backward(q->connection);
}

struct meaning_opener
opener_of(const struct meaning_question *q)
{
    ovs_be16 source = q->packet->tp_src, destination = q->packet->tp_dst;
    bool swap = is_backward(q);

    return q->opener ? *q->opener : (struct meaning_opener) {
        q->packet->nw_proto, swap ? destination : source,
        swap ? source : destination,
    };
}

/* A side of a packet: an endpoint, or an address of an external. */
struct end {
    const struct policy_endpoint *endpoint;
    const struct policy_external *external;
    struct in6_addr ip;
};

static struct end
sender_end(const struct policy *policy, const struct meaning_question *q)
{
    struct end end = { .endpoint = q->from };

    if (!q->from) {
        end.ip = external_source(q);
        end.external = external_find(policy, &end.ip);
    }
    return end;
}

static struct end
receiver_end(const struct policy *policy, const struct meaning_question *q,
             const struct policy_endpoint *to)
{
    struct end end = { .endpoint = to };

    if (!to) {
        end.ip = packet_destination(q->packet);
        end.external = external_find(policy, &end.ip);
    }
    return end;
}

static bool
is_on_side(const struct end *end, const endpoint_vec *endpoints,
           const range_vec *ranges)
{
    return (end->endpoint ? endpoint_is_in(end->endpoint, endpoints)
            : external_is_in(end->external, &end->ip, ranges));
}

/* No rule speaks about an endpoint and itself. */
static bool
rule_joins(const struct policy_rule *rule, const struct end *from,
           const struct end *to)
{
    return (from->endpoint != to->endpoint
            && is_on_side(from, &rule->from, &rule->from_ranges)
            && is_on_side(to, &rule->to, &rule->to_ranges));
}

bool
meaning_rule_speaks(const struct policy *policy,
                    const struct policy_rule *rule,
                    const struct meaning_question *q,
                    const struct policy_endpoint *to)
{
    const struct policy_service *service = rule->service;
    const struct flow *packet = q->packet;
    struct meaning_opener opener = opener_of(q);
    struct end sender = sender_end(policy, q);
    struct end receiver = receiver_end(policy, q, to);

    if (is_stateless(policy, packet)) {
        return (sender.endpoint && receiver.endpoint
                && (rule_joins(rule, &sender, &receiver)
                    || rule_joins(rule, &receiver, &sender))
                && (!service
                    || service_matches(service, packet, packet->nw_proto,
                                       packet->tp_dst)));
    } else if (service && service->symmetric) {
        return false;
    }
    return ((is_backward(q) ? rule_joins(rule, &receiver, &sender)
             : rule_joins(rule, &sender, &receiver))
            && (!service || service_matches(service, packet, opener.protocol,
                                            opener.destination)));
}

const struct policy_rule *
find_rule(const struct policy *policy, const struct meaning_question *q,
          const struct policy_endpoint *to)
{
    const struct policy_rule *best = NULL;

    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if ((!best || rule->kind < best->kind)
            && meaning_rule_speaks(policy, rule, q, to)) {
            best = rule;
        }
    }
    return best;
}
