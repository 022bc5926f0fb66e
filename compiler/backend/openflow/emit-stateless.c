/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit-stateless.h"

#include <inttypes.h>
#include <netinet/in.h>

#include "backend/openflow/conjunction.h"
#include "hmapx.h"
#include "util.h"

static void
add_tenants(const struct ir_side *side, struct hmapx *tenants)
{
    for (size_t i = 0; i < side->endpoints.n; i++) {
        hmapx_add(tenants, CONST_CAST(struct ir_tenant *,
                                      side->endpoints.v[i]->tenant));
    }
}

void
find_stateless(const struct ir_prog *prog, struct hmapx *tenants)
{
    for (size_t i = 0; i < prog->rules.n; i++) {
        if (prog->rules.v[i]->stateless) {
            add_tenants(&prog->rules.v[i]->from, tenants);
            add_tenants(&prog->rules.v[i]->to, tenants);
        }
    }
}

static bool
holds_some(const struct ir_side *side, const struct hmapx *tenants)
{
    for (size_t i = 0; i < side->endpoints.n; i++) {
        if (hmapx_contains(tenants, side->endpoints.v[i]->tenant)) {
            return true;
        }
    }
    return false;
}

bool
speaks_of_some(const struct ir_rule *rule, const struct hmapx *tenants)
{
    return (!hmapx_is_empty(tenants) && (holds_some(&rule->from, tenants)
                                         || holds_some(&rule->to, tenants)));
}

/* Is it one port, and of a symmetric service?  What goes there is taken past
 * tracking as that, whatever else it could be. */
static bool
is_symmetric(const struct ir_prog *prog, uint8_t protocol,
             const struct port_mask *p)
{
    for (size_t i = 0; i < prog->services.n; i++) {
        const struct ir_service *s = prog->services.v[i];

        for (size_t j = 0; s->symmetric && j < s->matches.n; j++) {
            if (s->matches.v[j].protocol == protocol
                && s->matches.v[j].first == p->port
                && p->mask == UINT16_MAX) {
                return true;
            }
        }
    }
    return false;
}

/* Adds the matches of the ports of 'm', 'but_symmetric' ones. */
static void
add_ports(struct emitter *e, const struct ir_match *m, bool ip6,
          const char *prefix, const char *port, bool but_symmetric,
          match_vec *out)
{
    const char *protocol = (m->protocol == IPPROTO_TCP
                            ? ip6 ? "tcp6" : "tcp" : ip6 ? "udp6" : "udp");
    port_masks ports = cover_ports(e, m);

    for (size_t i = 0; i < ports.n; i++) {
        const struct port_mask *p = &ports.v[i];

        if (but_symmetric && is_symmetric(e->prog, m->protocol, p)) {
            continue;
        }
        *vec_push(e->arena, out) = (
            p->mask == UINT16_MAX
            ? FORMAT(e, "%s%s,%s=%"PRIu16, prefix, protocol, port, p->port)
            : FORMAT(e, "%s%s,%s=%#"PRIx16"/%#"PRIx16, prefix, protocol, port,
                     p->port, p->mask));
    }
}

/* Adds the matches of 'service', each after 'prefix', in one family. */
static void
add_headers(struct emitter *e, const struct ir_service *service, bool ip6,
            const char *prefix, const char *port, bool but_symmetric,
            match_vec *out)
{
    const char *ip = ip6 ? "ipv6" : "ip";

    if (!service) {
        *vec_push(e->arena, out) = FORMAT(e, "%s%s", prefix, ip);
    }
    for (size_t i = 0; service && i < service->matches.n; i++) {
        const struct ir_match *m = &service->matches.v[i];

        if (m->last) {
            add_ports(e, m, ip6, prefix, port, but_symmetric, out);
        } else if (m->protocol != (ip6 ? IPPROTO_ICMP : IPPROTO_ICMPV6)) {
            *vec_push(e->arena, out) = FORMAT(e, "%s%s,nw_proto=%d", prefix,
                                              ip, m->protocol);
        }
    }
}

match_vec
match_untracked(struct emitter *e, const struct ir_service *service,
                const char *port)
{
    const char *prefix = FORMAT(e, REG_SERVICE"=%#"PRIx32"/%#"PRIx32,
                                SERVICE_UNTRACKED, SERVICE_UNTRACKED);
    match_vec out = VEC_INIT;

    if (!service) {
        *vec_push(e->arena, &out) = prefix;
    } else if (!service->symmetric) {
        prefix = FORMAT(e, "%s,", prefix);
        add_headers(e, service, false, prefix, port, false, &out);
        add_headers(e, service, true, prefix, port, false, &out);
    }
    return out;
}

/* Addresses of endpoints, in one family.  What came by tunnel reaches those
 * that are here only. */
static side_match_vec
match_receivers(struct emitter *e, const struct ir_side *side, bool ip6)
{
    side_match_vec out = VEC_INIT;

    for (size_t i = 0; i < side->endpoints.n; i++) {
        const struct ir_endpoint *to = side->endpoints.v[i];

        for (size_t j = 0; j < to->addresses.n; j++) {
            const struct in6_addr *ip = &to->addresses.v[j];

            if (!IN6_IS_ADDR_V4MAPPED(ip) == ip6) {
                *vec_push(e->arena, &out) = (struct side_match) {
                    FORMAT(e, "%s%s", to->node ? REG_PEER"=0," : "",
                           match_address(e, ip, "dst")), 0,
                };
            }
        }
    }
    return out;
}

/* Takes past tracking what goes 'from' one side 'to' the other. */
static void
add_way(struct emitter *e, const struct ir_rule *rule, const char *way,
        const struct ir_side *from, const struct ir_side *to,
        product_vec *products)
{
    static const struct side_fields sender = { REG_TENANT, REG_FROM };
    bool there = from == &rule->from;

    for (int ip6 = 0; ip6 < 2; ip6++) {
        match_vec services = VEC_INIT;

        add_headers(e, rule->service, ip6, "nw_frag=no,",
                    there ? "tp_dst" : "tp_src", there, &services);
        if (!services.n) {
            continue;
        }
        *vec_push(e->arena, products) = (struct product) {
            .name = FORMAT(e, "%s %s, IPv%d", rule->name, way, ip6 ? 6 : 4),
            .priority = PRIORITY_UNTRACKED,
            .rule = rule,
            .actions = FORMAT(e, "set_field:%d->"REG_DIRECTION",set_field:%#"
                              PRIx32"->"REG_SERVICE",goto_table:%d",
                              DIRECTION_STATELESS, SERVICE_UNTRACKED,
                              TABLE_ROUTE),
            .from = match_side(e, (struct rule_side) { from, false },
                               &sender),
            .to = match_receivers(e, to, ip6),
            .services = services,
            .tenant_services = match_tenant_services(e, from, REG_TENANT,
                                                     &services),
        };
    }
}

void
emit_stateless_rules(struct emitter *e)
{
    product_vec products = VEC_INIT;

    for (size_t i = 0; i < e->prog->rules.n; i++) {
        const struct ir_rule *rule = e->prog->rules.v[i];

        if (rule->stateless && !(rule->service && rule->service->symmetric)) {
            add_way(e, rule, "there", &rule->from, &rule->to, &products);
            add_way(e, rule, "back", &rule->to, &rule->from, &products);
        }
    }
    emit_products(e, TABLE_TRACK, &products);
}
