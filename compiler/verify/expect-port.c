/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>

#include "packets.h"
#include "sema/meaning-endpoint.h"
#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"

/* RFC 2131 section 4.1, RFC 8415 section 7.2. */
enum { CLIENT = 68, SERVER = 67, CLIENT6 = 546, SERVER6 = 547 };

static dd_t
is_tagged(struct judge *j)
{
    return space_bits(j->space, F_VLAN_TCI, VLAN_CFI, VLAN_CFI);
}

dd_t
expect_from_nobody(struct judge *j)
{
    struct origin nobody = { .counted = NULL };

    return expect_deny(j, &nobody, REASON_UNBOUND);
}

dd_t
expect_answer(struct judge *j, const struct origin *s, struct eth_addr mac,
              bool router, const struct in6_addr *target)
{
    struct dd *dd = j->space->dd;
    bool ip6 = !IN6_IS_ADDR_V4MAPPED(target);
    struct expect expect;
    dd_t about;

    memset(&expect, 0, sizeof expect);
    expect.allow = expect.answered = true;
    expect.answer = mac;
    expect.router = router;
    expect.target = *target;
    expect.from = judge_any_of(s->q.from);
    expect.counted = s->counted;
    if (ip6) {
        about = dd_and(dd, is_icmp_type(j, true, ND_NEIGHBOR_SOLICIT),
                       space_is(j->space, F_ND_TARGET,
                                field_from_ip(target)));
    } else {
        about = dd_and(dd, space_is(j->space, F_ETH_TYPE, ETH_TYPE_ARP),
                       space_is(j->space, F_NW_DST,
                                ntohl(in6_addr_get_mapped_ipv4(target))));
    }
    return dd_cut(dd, about, expect_leaf(j, &expect));
}

/* The link-local address of the MAC. */
static struct in6_addr
link_local(const struct policy_endpoint *e)
{
    struct in6_addr ip;

    in6_generate_lla(e->intent->mac, &ip);
    return ip;
}

static dd_t
is_from_link_local(struct judge *j, const struct policy_endpoint *e)
{
    struct in6_addr ip = link_local(e);

    return (endpoint_has_family(e, true) ? is_from_range(j, &ip, 128)
            : DD_NONE);
}

static dd_t
is_to_link_local(struct judge *j, const struct policy_endpoint *e)
{
    struct in6_addr ip = link_local(e);

    return (endpoint_has_family(e, true) ? is_to_range(j, &ip, 128)
            : DD_NONE);
}

dd_t
is_true_neighbor_request(struct judge *j, dd_t macs,
                         const struct policy_endpoint *e)
{
    struct space *space = j->space;
    struct dd *dd = space->dd;
    dd_t arp = dd_and(dd, space_is(space, F_ETH_TYPE, ETH_TYPE_ARP),
                      space_is(space, F_NW_PROTO, ARP_OP_REQUEST));
    dd_t nd = dd_and(dd, is_icmp_type(j, true, ND_NEIGHBOR_SOLICIT),
                     space_is(space, F_TP_DST, 0));

    if (e) {
        dd_t senders = DD_NONE;

        for (size_t i = 0; i < e->intent->addresses.n; i++) {
            const struct in6_addr *ip = &e->intent->addresses.v[i].ip;

            if (IN6_IS_ADDR_V4MAPPED(ip)) {
                senders = dd_or(dd, senders, space_is(
                    space, F_NW_SRC, ntohl(in6_addr_get_mapped_ipv4(ip))));
            }
        }
        arp = dd_and(dd, arp, senders);
        nd = dd_and(dd, nd, dd_or(dd, is_from(j, e),
                                  is_from_link_local(j, e)));
    }
    return dd_and(dd, macs, dd_or(dd, arp, nd));
}

dd_t
has_macs(struct judge *j, struct eth_addr mac)
{
    return dd_and(j->space->dd, is_mac(j, F_ETH_SRC, mac),
                  is_mac(j, F_ARP_SHA, mac));
}

/* What is asked of whom in the network, and the answers. */
static dd_t
find_answers(struct judge *j, const struct origin *s)
{
    const struct policy_network *network = s->network;
    const struct policy_tenant *tenant = network->tenant;
    const address_vec *gateways = &network->intent->gateways;
    VEC(dd_t) answers = VEC_INIT;

    for (size_t i = 0; i < gateways->n; i++) {
        *vec_push(j->arena, &answers) = expect_answer(
            j, s, network->gateway_mac, true, &gateways->v[i].ip);
    }
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];
        struct in6_addr ip = link_local(e);

        if (e->network != network
            || !endpoint_is_reached(j->policy, &s->q, e)) {
            continue;
        }
        for (size_t k = 0; k < e->intent->addresses.n; k++) {
            *vec_push(j->arena, &answers) = expect_answer(
                j, s, e->intent->mac, false, &e->intent->addresses.v[k].ip);
        }
        if (network->dhcp_server && endpoint_has_family(e, true)) {
            *vec_push(j->arena, &answers) = expect_answer(
                j, s, e->intent->mac, false, &ip);
        }
    }
    *vec_push(j->arena, &answers) = expect_deny(j, s, REASON_UNANSWERED);
    return dd_over_all(j->space->dd, answers.v, answers.n);
}

static dd_t
judge_neighbor_message(struct judge *j, const struct origin *s)
{
    const struct policy_endpoint *from = s->q.from;
    const void *key[] = { s->network, from->node };
    dd_t answers = *memo_find(&j->answers, key, sizeof key);

    if (answers == DD_NONE) {
        answers = find_answers(j, s);
        *memo_find(&j->answers, key, sizeof key) = answers;
    }
    return dd_choose(j->space->dd, is_true_neighbor_request(
                         j, has_macs(j, from->intent->mac), from),
                     answers, expect_deny(j, s, REASON_SPOOF));
}

static dd_t
has_dhcp_ports(struct judge *j, bool request, bool ip6)
{
    struct dd *dd = j->space->dd;
    uint16_t client = ip6 ? CLIENT6 : CLIENT, server = ip6 ? SERVER6 : SERVER;
    dd_t set = dd_and(dd, is_family(j, ip6),
                      space_is(j->space, F_NW_PROTO, IPPROTO_UDP));

    set = dd_and(dd, set, dd_not(dd, is_fragment(j)));
    set = dd_and(dd, set, space_is(j->space, F_TP_SRC,
                                   request ? client : server));
    return dd_and(dd, set, space_is(j->space, F_TP_DST,
                                    request ? server : client));
}

/* From one of the addresses of 'e', or its link-local one. */
static dd_t
has_true_dhcp_source(struct judge *j, const struct policy_endpoint *e)
{
    struct dd *dd = j->space->dd;

    return dd_and(dd, is_mac(j, F_ETH_SRC, e->intent->mac),
                  dd_or(dd, is_from(j, e), is_from_link_local(j, e)));
}

static dd_t
is_for(struct judge *j, const struct policy_endpoint *e)
{
    struct dd *dd = j->space->dd;

    return dd_and(dd, is_mac(j, F_ETH_DST, e->intent->mac),
                  dd_or(dd, is_to(j, e), is_to_link_local(j, e)));
}

static dd_t
is_broadcast(struct judge *j)
{
    struct dd *dd = j->space->dd;

    return dd_and(dd, is_mac(j, F_ETH_DST, eth_addr_broadcast),
                  dd_and(dd, is_family(j, false),
                         space_is(j->space, F_NW_DST, UINT32_MAX)));
}

/* All_DHCP_Relay_Agents_and_Servers, RFC 8415 section 7.1. */
static dd_t
is_for_all_servers(struct judge *j)
{
    static const struct in6_addr all = { .s6_addr = {
        0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2,
    } };
    static const struct eth_addr mac = ETH_ADDR_C(33,33,00,01,00,02);

    return dd_and(j->space->dd, is_mac(j, F_ETH_DST, mac),
                  is_to_range(j, &all, 128));
}

/* DHCP that reaches 'to'. */
static struct expect
dhcp_allow(const struct origin *s, const struct policy_endpoint *to)
{
    struct expect expect;

    memset(&expect, 0, sizeof expect);
    expect.allow = true;
    expect.from = s->q.from;
    expect.to = to;
    expect.counted = s->counted;
    expect.charged = s->q.from->tenant;
    expect.uplink = network_uplink(s->network, s->q.from->node);
    return expect;
}

static dd_t
judge_request(struct judge *j, const struct origin *s)
{
    const struct policy_endpoint *from = s->q.from;
    const struct policy_endpoint *server = s->network->dhcp_server;
    struct expect expect = dhcp_allow(s, server);
    struct dd *dd = j->space->dd;
    dd_t reached = DD_NONE, true_source = has_true_dhcp_source(j, from);

    if (endpoint_has_family(from, false)) {
        true_source = dd_or(dd, true_source, dd_and(
            dd, is_mac(j, F_ETH_SRC, from->intent->mac),
            dd_and(dd, is_family(j, false),
                   space_is(j->space, F_NW_SRC, 0))));
    }
    if (server != from && is_here(j, server)) {
        dd_t family = DD_NONE;

        for (int ip6 = 0; ip6 <= 1; ip6++) {
            family = (endpoint_has_family(server, ip6)
                      ? dd_or(dd, family, is_family(j, ip6)) : family);
        }
        reached = dd_or(dd, is_broadcast(j), is_for_all_servers(j));
        reached = dd_and(dd, family, dd_or(dd, reached, is_for(j, server)));
    }
    return dd_choose(dd, true_source, dd_choose(
                         dd, reached, expect_leaf(j, &expect),
                         expect_deny(j, s, REASON_UNREACHABLE)),
                     expect_deny(j, s, REASON_SPOOF));
}

static dd_t
judge_answer(struct judge *j, const struct origin *s)
{
    const struct policy_tenant *tenant = s->network->tenant;
    struct dd *dd = j->space->dd;
    struct expect_copy copies[MAX_RECEIVERS];
    dd_t result = DD_NONE;
    size_t n = 0;

    memset(copies, 0, sizeof copies);
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *to = tenant->endpoints.v[i];
        struct expect expect = dhcp_allow(s, to);

        if (to == s->q.from || to->network != s->network
            || !is_here(j, to)) {
            continue;
        }
        result = dd_over(dd, dd_cut(dd, is_for(j, to),
                                    expect_leaf(j, &expect)), result);
        if (endpoint_has_family(to, false) && n < MAX_RECEIVERS) {
            copies[n].to = to;
            copies[n++].allow = true;
        }
    }
    if (n) {
        struct expect expect = dhcp_allow(s, NULL);

        expect.many = true;
        expect.copies = expect_add_copies(j, copies, n);
        result = dd_over(dd, dd_cut(dd, is_broadcast(j),
                                    expect_leaf(j, &expect)), result);
    }
    return dd_over(dd, result, expect_deny(j, s, REASON_UNREACHABLE));
}

/* DHCP of a network that names a server, before all other questions. */
static dd_t
judge_dhcp(struct judge *j, const struct origin *s)
{
    const struct policy_endpoint *server = s->network->dhcp_server;
    struct dd *dd = j->space->dd;
    dd_t result = DD_NONE;

    for (int ip6 = 0; ip6 <= 1 && server; ip6++) {
        result = dd_over(dd, result, dd_cut(
            dd, has_dhcp_ports(j, true, ip6), judge_request(j, s)));
        if (server == s->q.from) {
            dd_t told = dd_and(dd, has_dhcp_ports(j, false, ip6),
                               has_true_dhcp_source(j, server));

            result = dd_over(dd, result, dd_cut(dd, told,
                                                judge_answer(j, s)));
        }
    }
    return result;
}

/* Packets for groups that the network carries. */
static dd_t
is_carried(struct judge *j, const struct policy_network *network)
{
    dd_t set = DD_NONE;

    for (size_t i = 0; i < network->intent->groups.n; i++) {
        const struct address *group = &network->intent->groups.v[i];

        set = dd_or(j->space->dd, set, is_to_range(j, &group->ip,
                                                   group->plen));
    }
    return set;
}

dd_t
expect_from_endpoint(struct judge *j, const struct policy_endpoint *e)
{
    struct origin s = {
        .q = { .node = j->node, .from = e }, .network = e->network,
        .zone = e->tenant,
        .counted = e->tenant->intent->packet_rate.at ? e->tenant : NULL,
    };
    struct origin nobody = { .counted = NULL };
    struct dd *dd = j->space->dd;
    dd_t true_source = dd_and(dd, is_mac(j, F_ETH_SRC, e->intent->mac),
                              is_from(j, e));
    dd_t result = expect_connection(j, &s);

    if (e->network->intent->groups.n) {
        result = dd_choose(dd, is_carried(j, e->network),
                           expect_multicast(j, &s), result);
    }
    result = dd_choose(dd, true_source, result,
                       expect_deny(j, &s, REASON_SPOOF));
    if (judge_asks(j, is_neighbor_message(j))) {
        result = dd_choose(dd, is_neighbor_message(j),
                           judge_neighbor_message(j, &s), result);
    }
    result = expect_forbidden(j, &s, result);
    result = dd_over(dd, judge_dhcp(j, &s), result);
    return dd_choose(dd, is_tagged(j), expect_deny(j, &nobody,
                                                   REASON_UNBOUND), result);
}
