/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>

#include "flow.h"
#include "packets.h"
#include "sema/charge.h"
#include "sema/meaning-dhcp.h"
#include "sema/meaning-endpoint.h"
#include "sema/meaning-external.h"
#include "sema/meaning-meters.h"
#include "sema/meaning-multicast.h"
#include "sema/meaning-packet.h"
#include "sema/meaning-reach.h"
#include "sema/meaning-rule.h"
#include "util.h"

const char *
connection_name(enum connection connection)
{
    static const char *const names[N_CONNECTIONS] = {
        "none", "new", "forward", "reply", "related", "foreign",
        "invalid",
    };

    return names[connection];
}

static struct meaning
deny(enum reason reason)
{
    return (struct meaning) { .reason = reason };
}

/* Is an ARP or neighbor discovery message a request, and is all that it says
 * about its sender true? */
static bool
is_true_request(const struct policy_endpoint *e, const struct flow *packet)
{
    struct in6_addr source = packet_source(packet);

    if (!eth_addr_equals(packet->dl_src, e->intent->mac)
        || !eth_addr_equals(packet->arp_sha, e->intent->mac)) {
        return false;
    }
    if (packet->dl_type == htons(ETH_TYPE_ARP)) {
        return (packet->nw_proto == ARP_OP_REQUEST
                && endpoint_has_address(e, packet, &source));
    }
    /* In a flow, arp_sha is a solicitation's source link-layer address
     * option.  One without it asks whether somebody else has the sender's
     * address already; nobody can have. */
    return (packet_icmp6_type(packet) == ND_NEIGHBOR_SOLICIT && !packet->tp_dst
            && (endpoint_has_address(e, packet, &source)
                || endpoint_has_link_local(e, &source)));
}

static struct meaning
answer(struct eth_addr mac, bool router)
{
    return (struct meaning) {
        .allow = true, .answered = true, .answer = mac,
        .answer_router = router,
    };
}

static struct meaning
judge_neighbor_message(const struct policy *policy,
                       const struct meaning_question *q)
{
    const struct flow *packet = q->packet;
    const struct policy_network *network = q->from->network;
    const struct policy_tenant *tenant = network->tenant;
    struct in6_addr target = (packet_is_ip6(packet) ? packet->nd_target
                              : in6_addr_mapped_ipv4(packet->nw_dst));

    if (!is_true_request(q->from, packet)) {
        return deny(REASON_SPOOF);
    }
    for (size_t i = 0; packet_has_family(packet, &target)
                       && i < network->intent->gateways.n; i++) {
        if (ipv6_addr_equals(&network->intent->gateways.v[i].ip, &target)) {
            return answer(network->gateway_mac, true);
        }
    }
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (e->network == network && endpoint_is_reached(policy, q, e)
            && (endpoint_has_address(e, packet, &target)
                || (network->dhcp_server
                    && endpoint_has_link_local(e, &target)))) {
            return answer(e->intent->mac, false);
        }
    }
    return deny(REASON_UNANSWERED);
}

static bool
has_true_source(const struct policy_endpoint *e, const struct flow *packet)
{
    struct in6_addr source = packet_source(packet);

    return ((packet_is_ip4(packet) || packet_is_ip6(packet))
            && eth_addr_equals(packet->dl_src, e->intent->mac)
            && endpoint_has_address(e, packet, &source));
}

/* The reason to deny the fragment of a packet that would be denied, or not
 * tracked, as a whole; 0 if there is none. */
static enum reason
judge_fragment(const struct policy *policy, const struct meaning_question *q)
{
    struct meaning_opener opener = opener_of(q);
    bool swap = is_backward(q);
    struct flow whole = *q->packet;

    if (!packet_is_fragment(q->packet)) {
        return 0;
    } else if (q->connection == CONNECTION_RELATED) {
        return REASON_FRAGMENT;
    }
    whole.nw_frag = 0;
    whole.tp_src = swap ? opener.destination : opener.source;
    whole.tp_dst = swap ? opener.source : opener.destination;
    if (whole.nw_proto == IPPROTO_UDP && packet_is_forbidden(&whole)) {
        return REASON_FORBIDDEN_REPLY;
    }
    return (is_symmetric(policy, &whole, whole.nw_proto, whole.tp_dst)
            ? REASON_FRAGMENT : 0);
}

static bool
is_tracked(const struct meaning_question *q)
{
    return goes_forward(q->connection) || is_backward(q);
}

/* Whom the packet reaches, if policy lets it; NULL if nobody. */
static const struct policy_endpoint *
find_receiver(const struct policy *policy, const struct meaning_question *q,
              bool by_gateway)
{
    const struct policy_network *network
        = q->tunnel ? tunnel_network(policy, q) : q->from->network;
    struct in6_addr ip = packet_destination(q->packet);

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *to = tenant->endpoints.v[j];

            if (endpoint_is_reached(policy, q, to)
                && endpoint_has_address(to, q->packet, &ip)
                && (by_gateway
                    ? gateways_join(policy, q, q->from->tenant, to)
                    : (to->network == network
                       && eth_addr_equals(to->intent->mac,
                                          q->packet->dl_dst)))) {
                return to;
            }
        }
    }
    return NULL;
}

static bool
is_to_gateway(const struct meaning_question *q)
{
    const struct policy_network *network = q->from->network;

    return (!q->tunnel && network->intent->gateways.n > 0
            && eth_addr_equals(q->packet->dl_dst, network->gateway_mac));
}

/* Question 9: does the zone of the receiver's tenant agree? */
static bool
is_agreed(const struct policy *policy, const struct meaning_question *q,
          const struct policy_endpoint *to)
{
    enum connection beyond = q->beyond ? *q->beyond : q->connection;

    return (!q->from || !to || to->tenant == q->from->tenant || q->tunnel
            || !endpoint_is_here(q, to) || is_untracked(policy, q)
            || (is_backward(q) ? goes_backward(beyond)
                : goes_forward(beyond)));
}

/* 'class', if by it the packet keeps the DSCP with which its sender, which is
 * no external, sent it; else NULL. */
static const struct policy_class *
find_kept(const struct policy_class *class, const struct meaning_question *q)
{
    return (class && class->dscp_in && q->from
            && q->packet->nw_tos >> 2 == class->dscp_in->dscp ? class : NULL);
}

static uint8_t
dscp_of(const struct policy_class *class, const struct policy_class *kept)
{
    return kept ? kept->dscp_in->dscp : class ? class->dscp : 0;
}

static uint16_t
queue_of(const struct policy_class *class, const struct policy_class *kept)
{
    return kept ? kept->dscp_in->queue : class ? class->queue : 0;
}

static bool
is_limited(const struct policy_tenant *tenant, enum connection connection)
{
    return tenant->intent->connections && connection == CONNECTION_NEW;
}

/* Question 10: would it be noted in a zone that is full? */
static bool
is_too_many(const struct policy *policy, const struct meaning_question *q,
            const struct policy_endpoint *to)
{
    const struct policy_tenant *own
        = q->tunnel || q->external ? to->tenant : q->from->tenant;
    enum connection beyond = q->beyond ? *q->beyond : q->connection;

    return (q->full && !is_untracked(policy, q)
            && (is_limited(own, q->connection)
                || (to && to->tenant != own && endpoint_is_here(q, to)
                    && is_limited(to->tenant, beyond))));
}

/* Questions 7 to 10. */
static struct meaning
judge_route_and_policy(const struct policy *policy,
                       const struct meaning_question *q)
{
    struct meaning m = {
        .from = q->from, .routed = q->external || is_to_gateway(q),
        .untracked = is_untracked(policy, q),
    };

    if (q->external && !external_has_source(policy, q)) {
        return deny(REASON_UNREACHABLE);
    } else if (m.routed && q->packet->nw_ttl <= 1) {
        return deny(REASON_TTL);
    }
    m.to = (q->external ? external_receiver(q)
            : find_receiver(policy, q, m.routed));
    m.external = (q->external ? q->external
                  : m.routed && !m.to ? external_way_out(policy, q) : NULL);
    if (!m.to && !m.external) {
        return deny(REASON_UNREACHABLE);
    }

    m.node = !m.to || endpoint_is_here(q, m.to) ? NULL : m.to->node;
    m.rule = find_rule(policy, q, m.to);
    if (!m.rule) {
        m.reason = REASON_DEFAULT;
    } else if (!rule_kind_denies(m.rule->kind)
               && !is_agreed(policy, q, m.to)) {
        m.rule = NULL;
        m.reason = REASON_CT_INVALID;
    } else if (!rule_kind_denies(m.rule->kind)
               && is_too_many(policy, q, m.to)) {
        m.rule = NULL;
        m.reason = REASON_CONNECTIONS;
    } else if (!rule_kind_denies(m.rule->kind)) {
        m.allow = true;
        m.class = (is_backward(q) && !m.untracked ? m.rule->reply_class
                   : m.rule->class);
        m.kept = find_kept(m.class, q);
        m.dscp = dscp_of(m.class, m.kept);
        m.queue = queue_of(m.class, m.kept);
        m.payer = q->from && m.to ? rule_payer(m.rule, q->from, m.to) : NULL;
        m.charged = (q->tunnel ? NULL : m.payer ? m.payer
                     : q->from ? q->from->tenant
                     : pays_for_getting(m.to) ? NULL : m.to->tenant);
    }
    return m;
}

/* Questions 5 to 10. */
static struct meaning
judge_connection(const struct policy *policy,
                 const struct meaning_question *q)
{
    if (!is_untracked(policy, q) && !is_tracked(q)) {
        return deny(REASON_CT_INVALID);
    } else if (judge_fragment(policy, q)) {
        return deny(judge_fragment(policy, q));
    }
    return judge_route_and_policy(policy, q);
}

/* Adds a copy for 'to' if policy allows it.  'q' is about the packet as if it
 * were for 'to' alone, and opened a connection. */
static void
add_copy(const struct policy *policy, const struct meaning_question *q,
         const struct policy_endpoint *to, struct meaning *m)
{
    const struct policy_rule *rule = find_rule(policy, q, to);

    if (rule && !rule_kind_denies(rule->kind)) {
        const struct policy_class *kept = find_kept(rule->class, q);

        m->copies[m->n_copies++] = (struct meaning_copy) {
            to, rule, kept, dscp_of(rule->class, kept),
            queue_of(rule->class, kept),
        };
    }
}

/* A packet for a group of the sender's network. */
static struct meaning
judge_multicast(const struct policy *policy, const struct meaning_question *q)
{
    const struct policy_tenant *tenant = q->from->tenant;
    struct meaning_question untracked = *q;
    struct meaning m = {
        .many = true, .untracked = true, .from = q->from, .charged = tenant,
    };

    if (!multicast_has_right_mac(q->packet)) {
        return deny(REASON_UNREACHABLE);
    } else if (packet_is_fragment(q->packet)) {
        return deny(REASON_FRAGMENT);
    }
    untracked.connection = CONNECTION_NONE;
    untracked.opener = NULL;
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *to = tenant->endpoints.v[i];

        if (to->network == q->from->network && endpoint_is_here(q, to)) {
            add_copy(policy, &untracked, to, &m);
        }
    }
    m.allow = m.n_copies > 0;
    m.reason = m.allow ? 0 : REASON_DEFAULT;
    return m;
}

/* Questions 2 to 10 about an endpoint's packet. */
static struct meaning
judge_admitted(const struct policy *policy, const struct meaning_question *q)
{
    if (dhcp_speaks(q)) {
        return dhcp_judge(q);
    } else if (packet_is_forbidden(q->packet)) {
        return deny(REASON_FORBIDDEN_REPLY);
    } else if (packet_is_neighbor_message(q->packet)) {
        return judge_neighbor_message(policy, q);
    } else if (!has_true_source(q->from, q->packet)) {
        return deny(REASON_SPOOF);
    } else if (multicast_is_carried(q->from->network, q->packet)) {
        return judge_multicast(policy, q);
    }
    return judge_connection(policy, q);
}

/* All questions about a packet from a tunnel. */
static struct meaning
judge_tunnel(const struct policy *policy, const struct meaning_question *q)
{
    struct meaning_question known = *q;

    if (!tunnel_is_there(policy, q)) {
        return deny(REASON_UNBOUND);
    } else if (!tunnel_is_known(policy, q) || !tunnel_network(policy, q)
               || q->packet->vlans[0].tci & htons(VLAN_CFI)) {
        return deny(REASON_UNKNOWN_PEER);
    } else if (packet_is_forbidden(q->packet)) {
        return deny(REASON_FORBIDDEN_REPLY);
    } else if (packet_is_neighbor_message(q->packet)
               || !(packet_is_ip4(q->packet) || packet_is_ip6(q->packet))) {
        return deny(REASON_SPOOF);
    }
    known.from = tunnel_sender(policy, q);
    return known.from ? judge_connection(policy, &known) : deny(REASON_SPOOF);
}

/* All questions about a packet from outside. */
static struct meaning
judge_external(const struct policy *policy, const struct meaning_question *q)
{
    const struct policy_endpoint *to = external_receiver(q);
    struct meaning m;

    if (packet_is_forbidden(q->packet)) {
        m = deny(REASON_FORBIDDEN_REPLY);
    } else if (packet_is_neighbor_message(q->packet)) {
        m = (!external_is_request(q) ? deny(REASON_SPOOF)
             : external_is_gateway(q) ? answer(q->external->gateway_mac, true)
             : deny(REASON_UNANSWERED));
    } else if (!external_is_true(policy, q)) {
        m = deny(REASON_SPOOF);
    } else {
        m = to ? judge_connection(policy, q) : deny(REASON_UNREACHABLE);
    }
    m.counted = to && to->tenant->intent->packet_rate.at ? to->tenant : NULL;
    return m;
}

struct meaning
meaning_judge(const struct policy *policy, const struct meaning_question *q)
{
    struct meaning m;

    if (q->tunnel) {
        return judge_tunnel(policy, q);
    } else if (!(q->external ? external_is_here(q)
                 : q->from && endpoint_is_here(q, q->from))
               || q->packet->vlans[0].tci & htons(VLAN_CFI)) {
        return deny(REASON_UNBOUND);
    }
    if (q->external) {
        m = judge_external(policy, q);
        m.uplink = m.charged ? network_uplink(m.to->network, m.to->node)
                   : NULL;
        return m;
    }
    m = judge_admitted(policy, q);
    m.uplink = m.charged ? network_uplink(q->from->network, q->from->node)
               : NULL;
    m.counted = q->from->tenant->intent->packet_rate.at ? q->from->tenant
                : NULL;
    return m;
}
