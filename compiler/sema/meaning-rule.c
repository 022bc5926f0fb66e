/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning-rule.h"

#include <limits.h>
#include <netinet/in.h>

#include "flow.h"
#include "sema/meaning-endpoint.h"
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

static bool
is_whole_symmetric(const struct policy *policy, const struct flow *packet)
{
    return (!packet_is_fragment(packet)
            && is_symmetric(policy, packet, packet->nw_proto,
                            packet->tp_dst));
}

/* Is 'port' of the packet one that the rule, which is not about a symmetric
 * service, is for? */
static bool
rule_holds_port(const struct policy_rule *rule, const struct flow *packet,
                ovs_be16 port)
{
    return (!rule->service
            || (!rule->service->symmetric
                && service_matches(rule->service, packet, packet->nw_proto,
                                   port)));
}

/* Does the rule, which is not stateful, take a packet between the sender and
 * 'to', whose address it is for, past tracking?  In both directions: to its
 * ports, and back from them. */
static bool
rule_passes_by(const struct policy_rule *rule,
               const struct meaning_question *q,
               const struct policy_endpoint *to)
{
    return ((endpoint_is_in(q->from, &rule->from)
             && endpoint_is_in(to, &rule->to)
             && rule_holds_port(rule, q->packet, q->packet->tp_dst))
            || (endpoint_is_in(q->from, &rule->to)
                && endpoint_is_in(to, &rule->from)
                && rule_holds_port(rule, q->packet, q->packet->tp_src)));
}

static bool
is_passed_by(const struct policy *policy, const struct meaning_question *q,
             const endpoint_vec *side, const struct policy_rule *rule)
{
    struct in6_addr ip = packet_destination(q->packet);

    for (size_t i = 0; i < side->n; i++) {
        if (endpoint_is_reached(policy, q, side->v[i])
            && endpoint_has_address(side->v[i], q->packet, &ip)
            && rule_passes_by(rule, q, side->v[i])) {
            return true;
        }
    }
    return false;
}

bool
is_untracked(const struct policy *policy, const struct meaning_question *q)
{
    if (is_whole_symmetric(policy, q->packet)) {
        return true;
    } else if (!q->from || packet_is_fragment(q->packet)) {
        return false;
    }
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->stateless && (is_passed_by(policy, q, &rule->to, rule)
                                || is_passed_by(policy, q, &rule->from,
                                                rule))) {
            return true;
        }
    }
    return false;
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

/* Of what is not tracked and not symmetric, as it goes, and as if it came back
 * from who was called: nobody knows which it is.  Only rules that are not
 * stateful allow it. */
static bool
rule_speaks_forth(const struct policy_rule *rule, const struct flow *packet,
                  const struct end *sender, const struct end *receiver)
{
    return ((rule->stateless || rule_kind_denies(rule->kind))
            && rule_joins(rule, sender, receiver)
            && rule_holds_port(rule, packet, packet->tp_dst));
}

static bool
rule_speaks_back(const struct policy_rule *rule, const struct flow *packet,
                 const struct end *sender, const struct end *receiver)
{
    return ((rule->stateless || rule_kind_denies(rule->kind))
            && rule_joins(rule, receiver, sender)
            && rule_holds_port(rule, packet, packet->tp_src));
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

    if (is_whole_symmetric(policy, packet)) {
        return (sender.endpoint && receiver.endpoint
                && (rule_joins(rule, &sender, &receiver)
                    || rule_joins(rule, &receiver, &sender))
                && (!service
                    || service_matches(service, packet, packet->nw_proto,
                                       packet->tp_dst)));
    } else if (service && service->symmetric) {
        return false;
    } else if (is_untracked(policy, q)) {
        return (rule_speaks_forth(rule, packet, &sender, &receiver)
                || rule_speaks_back(rule, packet, &sender, &receiver));
    }
    return ((is_backward(q) ? rule_joins(rule, &receiver, &sender)
             : rule_joins(rule, &sender, &receiver))
            && (!service || service_matches(service, packet, opener.protocol,
                                            opener.destination)));
}

/* Rules of stronger kinds come first.  Of what is not tracked, a rule that
 * allows it as it goes comes before one that allows it as what comes back.
 * Then comes the narrower of two of different classes. */
static int
rule_rank(const struct policy *policy, const struct policy_rule *rule,
          const struct meaning_question *q, const struct policy_endpoint *to)
{
    struct end sender = sender_end(policy, q);
    struct end receiver = receiver_end(policy, q, to);
    bool back = (rule->stateless && !is_whole_symmetric(policy, q->packet)
                 && is_untracked(policy, q)
                 && !rule_speaks_forth(rule, q->packet, &sender, &receiver));

    return ((2 * rule_kind_rank(rule->kind) + back) * (MAX_DEPTH + 1)
            - rule->depth);
}

const struct policy_rule *
find_rule(const struct policy *policy, const struct meaning_question *q,
          const struct policy_endpoint *to)
{
    const struct policy_rule *best = NULL;
    int best_rank = INT_MAX;

    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (meaning_rule_speaks(policy, rule, q, to)) {
            int rank = rule_rank(policy, rule, q, to);

            if (rank < best_rank) {
                best = rule;
                best_rank = rank;
            }
        }
    }
    return best;
}
