/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "tally.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "outcome.h"
#include "packets.h"
#include "sema/check.h"
#include "sema/meaning-reach.h"
#include "sema/meaning.h"
#include "sema/tree.h"
#include "util.h"

static void
expect(struct tally *tally, const char *group, const char *name)
{
    size_t n = tally->n_items;

    /* services.def names a service in several lines. */
    if (!n || strcmp(tally->items[n - 1].name, name)) {
        ovs_assert(tally->n_items < MAX_TALLY_ITEMS);
        tally->items[tally->n_items++] = (struct tally_item) { group, name };
    }
}

/* The switch's own reasons; no packet has them by what a policy says.  To a
 * live switch no zone is full. */
static bool
is_internal(enum reason reason, bool live)
{
    return ((live && reason == REASON_CONNECTIONS)
            || reason == REASON_PIPELINE || reason == REASON_NO_METER
            || reason == REASON_NO_PORT);
}

void
tally_init(struct tally *tally, bool live)
{
    static const char *const services[] = {
#define SERVICE(NAME, PROTOCOL, FIRST, LAST, SYMMETRIC) NAME,
#include "sema/services.def"
#undef SERVICE
        "any", "own-tcp", "own-udp", "own-other",
    };
    static const char *const families[] = {
        "ipv4-allowed", "ipv4-denied", "ipv6-allowed", "ipv6-denied",
        "arp-answered", "arp-denied", "nd-answered", "nd-denied",
        "other-denied",
    };
    static const char *const ways[] = {
        "routed", "between-tenants", "zones-differ", "zones-disagree",
        "fragment", "icmp-error", "to-tunnel", "from-tunnel", "to-external",
        "from-external", "reply-external", "error-from-external",
        "counted-from-external", "counted", "part-of-tenant", "rest-of-tenant",
        "part-of-class", "part-of-class-got", "class", "best-effort",
        "reply-class", "dscp-kept", "dscp-kept-from-tunnel",
        "dscp-not-kept-from-external", "charged", "narrower",
        "narrower-of-several", "narrower-peering", "narrower-to-external",
        "narrower-peering-outside", "narrower-best-effort",
    };
    static const char *const charged[] = {
        "receiver", "sender", "for-getting", "not-for-getting", "guest",
        "class", "stateless", "reply",
    };
    static const char *const untracked[] = {
        "multicast-ipv4", "multicast-ipv6", "multicast-to-one",
        "multicast-to-several", "multicast-class", "dhcp-request-ipv4",
        "dhcp-request-ipv6", "dhcp-answer-ipv4", "dhcp-answer-ipv6",
        "dhcp-broadcast", "stateless-forth", "stateless-back",
        "stateless-denied", "stateless-by-tunnel", "stateless-peering",
        "stateless-ipv6", "stateless-without-connection",
        "stateless-narrower",
    };

    memset(tally, 0, sizeof *tally);
    tally->live = live;
    for (int i = 0; i < N_CONNECTIONS; i++) {
        expect(tally, "state", connection_name(i));
    }
    for (enum rule_kind kind = 0; kind <= RULE_DEFAULT; kind++) {
        expect(tally, "decided by", rule_kind_name(kind));
    }
    expect(tally, "decided by", "deny-between-tenants");
    expect(tally, "decided by", "guardrail-from-outside");
    expect(tally, "decided by", "guardrail-to-outside");
    expect(tally, "decided by", "peering-from-outside");
    expect(tally, "decided by", "peering-to-outside");
    for (size_t i = 0; i < n_reason_infos; i++) {
        if (!is_internal(reason_infos[i].reason, live)) {
            expect(tally, "reason", reason_infos[i].name);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
        expect(tally, "service", services[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        expect(tally, "family", families[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        expect(tally, "allowed", ways[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(untracked); i++) {
        expect(tally, "untracked", untracked[i]);
    }
    /* Too rare for so few packets. */
    for (size_t i = 0; i < ARRAY_SIZE(charged) && !live; i++) {
        expect(tally, "charged", charged[i]);
    }
}

static void
bump(struct tally *tally, const char *group, const char *name)
{
    for (size_t i = 0; i < tally->n_items; i++) {
        struct tally_item *item = &tally->items[i];

        if (item->group[0] == group[0] && !strcmp(item->group, group)
            && !strcmp(item->name, name)) {
            item->n++;
            return;
        }
    }
    ovs_assert(!"what is counted is expected");
}

static const char *
service_kind(const struct policy_service *service)
{
    static const char *const builtin[] = {
#define SERVICE(NAME, PROTOCOL, FIRST, LAST, SYMMETRIC) NAME,
#include "sema/services.def"
#undef SERVICE
    };

    if (!service) {
        return "any";
    }
    for (size_t i = 0; i < ARRAY_SIZE(builtin); i++) {
        if (!strcmp(builtin[i], service->name)) {
            return builtin[i];
        }
    }
    return (service->matches.v[0].protocol == IPPROTO_TCP ? "own-tcp"
            : service->matches.v[0].protocol == IPPROTO_UDP ? "own-udp"
            : "own-other");
}

static const char *
family(const struct flow *packet, const struct meaning *m)
{
    if (packet->dl_type == htons(ETH_TYPE_ARP)) {
        return m->answered ? "arp-answered" : "arp-denied";
    } else if (is_nd(packet, NULL)) {
        return m->answered ? "nd-answered" : "nd-denied";
    } else if (packet->dl_type == htons(ETH_TYPE_IP)) {
        return m->allow ? "ipv4-allowed" : "ipv4-denied";
    } else if (packet->dl_type == htons(ETH_TYPE_IPV6)) {
        return m->allow ? "ipv6-allowed" : "ipv6-denied";
    }
    return "other-denied";
}

/* By peerings that say who pays. */
static void
count_charged(struct tally *tally, const struct question *q,
              const struct meaning *m)
{
    const struct policy_tenant *payer = m->payer;
    const struct policy_endpoint *here = m->node ? NULL : m->to;
    bool other = m->charged == payer && payer != m->from->tenant;
    bool gets = (here && tree_receives(payer, here->node,
                                       network_uplink(here->network,
                                                      here->node)));
    const struct {
        bool holds;
        const char *name;
    } ways[] = {
        { other, "receiver" },
        { m->charged == payer && !other, "sender" },
        { gets && payer != here->tenant, "for-getting" },
        { here && !gets && payer != here->tenant, "not-for-getting" },
        { other && !tenant_is_at(payer, m->from->node, m->uplink),
          "guest" },
        { other && m->class && tenant_part(payer, false, m->class->dscp,
                                           m->class->queue),
          "class" },
        { other && m->rule->stateless, "stateless" },
        { other && q->connection == CONNECTION_REPLY, "reply" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        if (ways[i].holds) {
            bump(tally, "charged", ways[i].name);
        }
    }
}

static void
count_allowed(struct tally *tally, const struct question *q,
              const struct meaning *m)
{
    bool between = !m->external && m->from->tenant != m->to->tenant;
    bool two_zones = between && !q->tunnel && !m->node;
    bool split = (m->from && m->charged == m->from->tenant
                  && tenant_is_split(m->charged, m->from->node, m->uplink,
                                     false));
    const struct policy_class *class = m->class;
    bool part = split && class && tenant_part(m->charged, false, class->dscp,
                                              class->queue);
    const struct {
        bool holds;
        const char *name;
    } ways[] = {
        { m->routed, "routed" },
        { between, "between-tenants" },
        { two_zones && q->connection != q->beyond, "zones-differ" },
        { q->packet.nw_frag, "fragment" },
        { q->connection == CONNECTION_RELATED, "icmp-error" },
        { m->node, "to-tunnel" },
        { q->tunnel, "from-tunnel" },
        { m->external && m->from, "to-external" },
        { m->external && m->to, "from-external" },
        { m->external && q->connection == CONNECTION_REPLY,
          "reply-external" },
        { m->external && m->to && q->connection == CONNECTION_RELATED,
          "error-from-external" },
        { m->external && m->to && m->counted, "counted-from-external" },
        { m->counted, "counted" },
        { split && m->from->intent->send.limit.at, "part-of-tenant" },
        { split && !m->from->intent->send.limit.at && !part,
          "rest-of-tenant" },
        { part, "part-of-class" },
        { m->to && !m->node && class
          && tenant_part(m->to->tenant, true, class->dscp, class->queue),
          "part-of-class-got" },
        { m->rule->class, "class" },
        { !m->rule->class, "best-effort" },
        { m->class != m->rule->class, "reply-class" },
        { m->kept && !q->tunnel, "dscp-kept" },
        { m->kept && q->tunnel, "dscp-kept-from-tunnel" },
        { m->external && m->to && class && class->dscp_in
          && q->packet.nw_tos >> 2 == class->dscp_in->dscp,
          "dscp-not-kept-from-external" },
        { m->payer, "charged" },
        { m->rule->depth, "narrower" },
        { m->rule->depth > 1, "narrower-of-several" },
        { m->rule->depth && m->rule->kind == RULE_PEERING,
          "narrower-peering" },
        { m->rule->depth && m->external, "narrower-to-external" },
        { m->rule->depth && m->external && m->rule->kind == RULE_PEERING,
          "narrower-peering-outside" },
        { m->rule->depth && !m->class, "narrower-best-effort" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        if (ways[i].holds) {
            bump(tally, "allowed", ways[i].name);
        }
    }
}

/* DHCP and multicast. */
static void
count_untracked(struct tally *tally, const struct flow *packet,
                const struct meaning *m)
{
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);
    bool request = m->to && m->to == m->to->network->dhcp_server;

    if (!m->n_copies) {
        bump(tally, "untracked",
             request ? ip6 ? "dhcp-request-ipv6" : "dhcp-request-ipv4"
             : ip6 ? "dhcp-answer-ipv6" : "dhcp-answer-ipv4");
        return;
    } else if (!m->copies[0].rule) {
        bump(tally, "untracked", "dhcp-broadcast");
        return;
    }
    bump(tally, "untracked", ip6 ? "multicast-ipv6" : "multicast-ipv4");
    bump(tally, "untracked", m->n_copies > 1 ? "multicast-to-several"
         : "multicast-to-one");
    if (m->copies[0].rule->class) {
        bump(tally, "untracked", "multicast-class");
    }
}

/* Of rules that are not stateful. */
static void
count_stateless(struct tally *tally, const struct question *q,
                const struct meaning *m)
{
    const struct policy_rule *rule = m->rule;
    bool forth = (m->allow && endpoint_is_in(m->from, &rule->from)
                  && endpoint_is_in(m->to, &rule->to));
    const struct {
        const char *name;
        bool holds;
    } ways[] = {
        { "stateless-forth", forth },
        { "stateless-back", m->allow && !forth },
        { "stateless-denied", !m->allow },
        { "stateless-by-tunnel", m->allow && q->tunnel },
        { "stateless-peering", m->allow && rule->kind == RULE_PEERING },
        { "stateless-ipv6", m->allow
                            && q->packet.dl_type == htons(ETH_TYPE_IPV6) },
        { "stateless-without-connection",
          m->allow && (q->connection == CONNECTION_NONE
                       || q->connection == CONNECTION_INVALID) },
        { "stateless-narrower", m->allow && rule->depth },
    };

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        if (ways[i].holds) {
            bump(tally, "untracked", ways[i].name);
        }
    }
}

static bool
is_to_symmetric(const struct flow *packet)
{
    static const struct {
        uint8_t protocol;
        uint16_t port;
        bool symmetric;
    } builtin[] = {
#define SERVICE(NAME, PROTOCOL, FIRST, LAST, SYMMETRIC) \
        { PROTOCOL, FIRST, SYMMETRIC },
#include "sema/services.def"
#undef SERVICE
    };

    for (size_t i = 0; i < ARRAY_SIZE(builtin); i++) {
        if (builtin[i].symmetric && packet->nw_proto == builtin[i].protocol
            && packet->tp_dst == htons(builtin[i].port)) {
            return true;
        }
    }
    return false;
}

void
tally_count(struct tally *tally, const struct compiled *c,
            const struct question *q)
{
    struct meaning m = outcome_meaning(c, q);

    tally->packets++;
    bump(tally, "state", connection_name(q->connection));
    bump(tally, "family", family(&q->packet, &m));
    if (m.rule) {
        bump(tally, "decided by", rule_kind_name(m.rule->kind));
        bump(tally, "service", service_kind(m.rule->service));
        if (!m.allow && !m.external && m.from->tenant != m.to->tenant) {
            bump(tally, "decided by", "deny-between-tenants");
        }
        if (m.rule->kind == RULE_GUARDRAIL && m.external) {
            bump(tally, "decided by", m.from ? "guardrail-to-outside"
                 : "guardrail-from-outside");
        } else if (m.rule->kind == RULE_PEERING && m.external) {
            bump(tally, "decided by", m.from ? "peering-to-outside"
                 : "peering-from-outside");
        }
    } else if (m.allow && !m.answered) {
        count_untracked(tally, &q->packet, &m);
    } else if (!m.answered) {
        bump(tally, "reason", reason_info(m.reason)->name);
    }
    if (m.rule && m.untracked && !is_to_symmetric(&q->packet)) {
        count_stateless(tally, q, &m);
    }
    if (m.rule && m.allow) {
        count_allowed(tally, q, &m);
        if (m.payer && !tally->live) {
            count_charged(tally, q, &m);
        }
    } else if (!m.allow && m.reason == REASON_CT_INVALID && m.to) {
        bump(tally, "allowed", "zones-disagree");
    }
}

void
tally_print(const struct tally *tally, const char *judge)
{
    const char *group = "";

    printf("ok - %zu packets, %zu intents, %zu flows: the meaning and %s "
           "agree", tally->packets, tally->intents, tally->flows, judge);
    for (size_t i = 0; i < tally->n_items; i++) {
        const struct tally_item *item = &tally->items[i];

        if (strcmp(group, item->group)) {
            printf("\n# %s:", item->group);
        }
        group = item->group;
        printf(" %s %zu", item->name, item->n);
    }
    putchar('\n');
}

bool
tally_is_complete(const struct tally *tally, const char *judge)
{
    bool complete = true;

    for (size_t i = 0; i < tally->n_items; i++) {
        const struct tally_item *item = &tally->items[i];

        if (!item->n) {
            printf("not ok - %s: never occurred, so nothing was tested: "
                   "%s %s\n", judge, item->group, item->name);
            complete = false;
        }
    }
    return complete;
}
