/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sample.h"

#include <inttypes.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "dp-packet.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "outcome.h"
#include "packets.h"
#include "questions.h"
#include "sema/meaning.h"
#include "util.h"
#include "world.h"

/* What a packet is wanted for, half of them for nothing in particular.  So
 * many are drawn at most. */
enum wish { ANYTHING, TO_PASS, TO_SEVERAL, TO_ASK_DHCP, N_WISHES };
enum { MAX_DRAWS = 1000 };

struct sample {
    const struct compiled *compiled;
    uint64_t token;             /* Of the next frame. */
    bool first;
};

static bool
is_neighbor(const struct flow *packet)
{
    return packet->dl_type == htons(ETH_TYPE_ARP) || is_nd(packet, NULL);
}

/* Makes it the first of its connection, as a host sends it.  Returns false if
 * one such packet is not enough to know its state. */
static bool
make_new(struct question *q)
{
    struct flow *packet = &q->packet;
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);

    if (q->tunnel || q->external[0] || packet->nw_frag) {
        return false;
    }
    q->connection = q->beyond = CONNECTION_NEW;
    q->opener.protocol = packet->nw_proto;
    q->opener.source = packet->tp_src;
    q->opener.destination = packet->tp_dst;
    if (!is_ip_any(packet) || is_neighbor(packet)) {
        return true;
    } else if (packet->nw_proto == IPPROTO_UDP
               || packet->nw_proto == IPPROTO_TCP) {
        packet->tcp_flags = htons(packet->nw_proto == IPPROTO_TCP ? TCP_SYN
                                  : 0);
        return packet->tp_src && packet->tp_dst;    /* Else it is invalid. */
    }
    return (packet->nw_proto == (ip6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP)
            && packet->tp_src == htons(ip6 ? ICMP6_ECHO_REQUEST : 8)
            && !packet->tp_dst);
}

/* The answer to 'q', which is allowed. */
static struct question
make_reply(const struct question *q, const struct meaning *m)
{
    struct question reply = *q;
    struct flow *packet = &reply.packet;
    bool icmp = is_icmpv4(packet, NULL) || is_icmpv6(packet, NULL);

    ovs_strlcpy(reply.from, m->to->name, sizeof reply.from);
    reply.connection = reply.beyond = CONNECTION_REPLY;
    packet->dl_src = m->to->intent->mac;
    packet->dl_dst = (m->routed ? m->to->network->gateway_mac
                      : q->packet.dl_src);
    packet->nw_ttl = 64;
    packet->nw_src = q->packet.nw_dst;
    packet->nw_dst = q->packet.nw_src;
    packet->ipv6_src = q->packet.ipv6_dst;
    packet->ipv6_dst = q->packet.ipv6_src;
    if (icmp) {
        packet->tp_src = htons(is_icmpv4(packet, NULL) ? 0 : ICMP6_ECHO_REPLY);
    } else {
        packet->tp_src = q->packet.tp_dst;
        packet->tp_dst = q->packet.tp_src;
        packet->tcp_flags = packet->tcp_flags ? htons(TCP_SYN | TCP_ACK) : 0;
    }
    return reply;
}

static void
put_frame(struct ds *ds, const struct flow *flow, uint64_t token)
{
    ovs_be64 payload[2] = { htonll(UINT64_C(0xb17d70616b657421)),
                            htonll(token) };
    struct dp_packet packet;

    dp_packet_init(&packet, 0);
    if (is_ip_any(flow) && !is_neighbor(flow)
        && flow->nw_proto != IPPROTO_TCP) {
        flow_compose(&packet, flow, payload, sizeof payload);
    } else {
        flow_compose(&packet, flow, NULL, 0);
        dp_packet_put(&packet, payload, sizeof payload);    /* As padding. */
    }
    ds_put_char(ds, '"');
    for (size_t i = 0; i < dp_packet_size(&packet); i++) {
        ds_put_format(ds, "%02x",
                      ((const uint8_t *) dp_packet_data(&packet))[i]);
    }
    ds_put_char(ds, '"');
    dp_packet_uninit(&packet);
}

static void
put_arrival(struct ds *ds, const struct sample *sample,
            const struct question *q, const struct meaning *m,
            const struct policy_endpoint *to, uint8_t dscp)
{
    struct flow packet = outcome_packet(&q->packet, m, dscp);

    ds_put_format(ds, "[\"%s\", ", to->intent->interface.s);
    put_frame(ds, &packet, sample->token);
    ds_put_char(ds, ']');
}

static void
put_arrivals(struct ds *ds, const struct sample *sample,
             const struct question *q, const struct meaning *m)
{
    ds_put_cstr(ds, ", \"arrives\": [");
    for (size_t i = 0; i < m->n_copies; i++) {
        ds_put_cstr(ds, i ? ", " : "");
        put_arrival(ds, sample, q, m, m->copies[i].to, m->copies[i].dscp);
    }
    if (m->allow && !m->answered && !m->n_copies) {
        put_arrival(ds, sample, q, m, m->to, m->dscp);
    }
    ds_put_char(ds, ']');
}

static bool
is_multicast(const struct meaning *m)
{
    return m->n_copies > 0 && m->copies[0].rule;
}

/* A request, or an answer. */
static bool
is_dhcp(const struct meaning *m)
{
    return m->allow && !m->answered && !m->rule && !is_multicast(m);
}

/* What the ids of the meter of packets that counts it end with, or "null". */
static const char *
meter_text(const struct compiled *c, const struct meaning *m)
{
    for (size_t i = 0; i < c->plan.meters.n && m->counted; i++) {
        const struct plan_meter *meter = &c->plan.meters.v[i];

        if (meter->packets && !strcmp(meter->name, m->counted->name)) {
            return arena_printf(c->arena, "%"PRIu32, meter->id & 0xffff);
        }
    }
    return "null";
}

static void
put_packet(struct sample *sample, const struct question *q)
{
    const struct compiled *c = sample->compiled;
    struct meaning m = outcome_meaning(c, q);
    const struct policy_endpoint *from = compiled_endpoint(c, q->from);
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&ds, sample->first ? "\n  {" : ",\n  {");
    ds_put_format(&ds, "\"what\": \"%s %s: %s\", \"state\": \"%s\", "
                  "\"kind\": \"%s\", \"meter\": %s, \"from\": \"%s\", "
                  "\"frame\": ", q->from, question_text(q, c->arena),
                  meaning_text(c, q, c->arena),
                  connection_name(q->connection),
                  is_multicast(&m) ? "multicast" : is_dhcp(&m) ? "dhcp"
                  : "other", meter_text(c, &m), from->intent->interface.s);
    put_frame(&ds, &q->packet, sample->token);
    put_arrivals(&ds, sample, q, &m);
    if (m.answered) {
        ds_put_format(&ds, ", \"answer\": \""ETH_ADDR_FMT"\"}",
                      ETH_ADDR_ARGS(m.answer));
    } else {
        ds_put_cstr(&ds, ", \"answer\": null}");
    }
    fputs(ds_cstr(&ds), stdout);
    ds_destroy(&ds);
    sample->token++;
    sample->first = false;
}

static bool
is_as_wished(const struct meaning *m, enum wish wish)
{
    switch (wish) {
    case TO_PASS: return m->allow;
    case TO_SEVERAL: return is_multicast(m) && m->n_copies > 1;
    case TO_ASK_DHCP: return is_dhcp(m);
    case ANYTHING:
    case N_WISHES: break;
    }
    return true;
}

/* Draws a packet, as wished if that is not too rare. */
static struct question
draw(const struct compiled *c, struct rng *rng, enum wish wish)
{
    struct question q;

    for (int i = 0; ; ) {
        question_init(&q, c->policy, rng);
        q.full = false;         /* No zone of the switch is. */
        if (make_new(&q) && compiled_endpoint(c, q.from)->node) {
            struct meaning m = outcome_meaning(c, &q);

            if (++i >= MAX_DRAWS || is_as_wished(&m, wish)) {
                return q;
            }
        }
    }
}

static void
print_world(const struct compiled *c, uint64_t seed, size_t n_packets)
{
    struct sample sample = { c, seed << 16, true };
    struct rng rng = { ~seed };
    struct ds intent = DS_EMPTY_INITIALIZER;

    json_string_escape(c->text, &intent);
    printf("{\"seed\": %"PRIu64", \"node\": \""WORLD_NODE"\", \"intent\": %s,"
           " \"packets\": [", seed, ds_cstr(&intent));
    ds_destroy(&intent);
    for (size_t i = 0; i < n_packets; i++) {
        struct question q = draw(c, &rng, i % 2 ? i / 2 % N_WISHES : ANYTHING);
        struct meaning m = outcome_meaning(c, &q);

        put_packet(&sample, &q);
        if (m.rule && m.allow && !m.n_copies && !m.untracked) {
            struct question reply = make_reply(&q, &m);

            put_packet(&sample, &reply);
        }
    }
    puts("\n]}");
}

/* Without tunnels, which end at other nodes, and externals; with a peering,
 * groups, DHCP and a limit of packets. */
static bool
is_fit(const struct compiled *c)
{
    bool peering = false, groups = false, dhcp = false, limit = false;

    for (size_t i = 0; i < c->policy->rules.n; i++) {
        const struct policy_rule *rule = c->policy->rules.v[i];

        peering |= (rule->kind == RULE_PEERING && rule->from.n && rule->to.n);
    }
    for (size_t i = 0; i < c->policy->tenants.n; i++) {
        const struct policy_tenant *tenant = c->policy->tenants.v[i];

        limit |= tenant->intent->packet_rate.at != NULL;
        for (size_t j = 0; j < tenant->networks.n; j++) {
            groups |= tenant->networks.v[j]->intent->groups.n > 0;
            dhcp |= tenant->networks.v[j]->dhcp_server != NULL;
        }
    }
    return (peering && groups && dhcp && limit
            && !c->policy->intent->encapsulation.s
            && !c->policy->externals.n);
}

void
sample_print(uint64_t seed, size_t n_worlds, size_t n_packets)
{
    while (n_worlds) {
        struct world w;
        struct compiled c;

        world_init(&w, seed);
        world_compile(&w, &c);
        if (c.policy && is_fit(&c)) {
            compiled_lower(&c, WORLD_NODE);
            print_world(&c, seed, n_packets);
            n_worlds--;
        }
        compiled_destroy(&c);
        seed++;
    }
}
