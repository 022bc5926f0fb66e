/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/ovn/emit.h"

#include <inttypes.h>
#include <netinet/in.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Groups in an expression.  For more there is an Address_Set: of a single set
 * ovn-controller follows each address that comes or goes, and of a list it
 * makes all flows anew. */
enum { MAX_LISTED = 3 };

const char *
ovn_direction_name(enum ovn_direction direction)
{
    return direction == OVN_FROM ? "from-lport" : "to-lport";
}

const char *
ovn_mangle(struct emitter *e, const char *prefix, const char *name)
{
    return nb_mangle(e->plan->arena, prefix, name);
}

/* Text of the arena from 'ds', which it destroys. */
static const char *
take(struct emitter *e, struct ds *ds)
{
    const char *s = arena_strdup(e->plan->arena, ds_cstr(ds));

    ds_destroy(ds);
    return s;
}

struct plan_row *
ovn_port_group(struct emitter *e, struct ovn_group *group)
{
    if (!group->row) {
        group->row = plan_add_row(e->plan, "Port_Group", group->name);
        plan_row_string(e->plan, group->row, "name", group->name);
        for (size_t i = 0; i < group->endpoints.n; i++) {
            plan_row_ref(e->plan, group->row, "ports",
                         e->ports[group->endpoints.v[i]->index]);
        }
    }
    return group->row;
}

static bool
has_family(const struct ovn_group *group, bool ip4)
{
    return ip4 ? group->ip4 : group->ip6;
}

static const char *
family_name(bool ip4)
{
    return ip4 ? "ip4" : "ip6";
}

static void
add_addresses(struct emitter *e, struct plan_row *row,
              const struct ovn_group *group, bool ip4)
{
    for (size_t i = 0; i < group->endpoints.n; i++) {
        const ir_addresses *addresses = &group->endpoints.v[i]->addresses;

        for (size_t j = 0; j < addresses->n; j++) {
            if (IN6_IS_ADDR_V4MAPPED(&addresses->v[j]) == ip4) {
                plan_row_set(e->plan, row, "addresses",
                             ovn_address_string(e, &addresses->v[j]));
            }
        }
    }
}

/* The name of an Address_Set of ours: of this side of the rule, what the near
 * tenant reaches.  All rows of the rule at that tenant share it. */
static const char *
address_set(struct emitter *e, const struct ovn_product *product, bool ip4)
{
    const struct ovn_side *side = product->side;
    const char *name = FORMAT(
        e, "%s_%s", ovn_mangle(e, side->name,
                               FORMAT(e, "%s:%s", product->near->tenant->name,
                                      side->rule->name)), family_name(ip4));

    if (!shash_find(&e->address_sets, name)) {
        struct plan_row *row = plan_add_row(e->plan, "Address_Set", name);

        plan_row_string(e->plan, row, "name", name);
        ovn_name_rule(e, row, side->rule);
        for (size_t i = 0; i < product->far.n; i++) {
            add_addresses(e, row, product->far.v[i], ip4);
        }
        shash_add(&e->address_sets, name, row);
    }
    return name;
}

/* "{$a_ip4, $b_ip4}" of the 'n' groups that have such addresses. */
static void
put_groups(struct emitter *e, const ovn_groups *groups, bool ip4, size_t n,
           struct ds *ds)
{
    const char *separator = n > 1 ? "{" : "";

    for (size_t i = 0; i < groups->n; i++) {
        if (has_family(groups->v[i], ip4)) {
            ovn_port_group(e, groups->v[i]);
            ds_put_format(ds, "%s$%s_%s", separator, groups->v[i]->name,
                          family_name(ip4));
            separator = ", ";
        }
    }
    ds_put_cstr(ds, n > 1 ? "}" : "");
}

/* "ip4.dst == $a_ip4", or nothing if nobody has such addresses. */
static void
put_addresses(struct emitter *e, const struct ovn_product *product,
              enum ovn_direction direction, bool ip4, struct ds *ds)
{
    size_t n = 0;

    for (size_t i = 0; i < product->far.n; i++) {
        n += has_family(product->far.v[i], ip4);
    }
    if (n) {
        ds_put_format(ds, "%s.%s == ", family_name(ip4),
                      direction == OVN_FROM ? "dst" : "src");
    }
    if (n > MAX_LISTED) {
        ds_put_format(ds, "$%s", address_set(e, product, ip4));
    } else {
        put_groups(e, &product->far, ip4, n, ds);
    }
}

const char *
ovn_match(struct emitter *e, const struct ovn_product *product,
          enum ovn_direction direction, const char *service)
{
    struct ds ip4 = DS_EMPTY_INITIALIZER, ip6 = DS_EMPTY_INITIALIZER;
    const char *match;

    ovn_port_group(e, product->near);
    put_addresses(e, product, direction, true, &ip4);
    put_addresses(e, product, direction, false, &ip6);
    match = FORMAT(e, "%s == @%s && %s%s%s%s%s && %s",
                   direction == OVN_FROM ? "inport" : "outport",
                   product->near->name, ip4.length && ip6.length ? "(" : "",
                   ds_cstr(&ip4), ip4.length && ip6.length ? " || " : "",
                   ds_cstr(&ip6), ip4.length && ip6.length ? ")" : "",
                   service);
    ds_destroy(&ip4);
    ds_destroy(&ip6);
    return match;
}

static void
put_match(struct ds *ds, const struct ir_match *m, bool reply)
{
    const char *name = m->protocol == IPPROTO_TCP ? "tcp" : "udp";
    const char *end = reply ? "src" : "dst";

    if (m->protocol == IPPROTO_ICMP) {
        ds_put_cstr(ds, "icmp4");
    } else if (m->protocol == IPPROTO_ICMPV6) {
        ds_put_cstr(ds, "icmp6");
    } else if (!m->last) {
        ds_put_format(ds, "ip.proto == %"PRIu8, m->protocol);
    } else if (m->first == m->last) {
        ds_put_format(ds, "%s.%s == %"PRIu16, name, end, m->first);
    } else {
        ds_put_format(ds, "%"PRIu16" <= %s.%s <= %"PRIu16, m->first, name,
                      end, m->last);
    }
}

const char *
ovn_match_tracked(struct emitter *e, const struct ir_service *service,
                  bool reply)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    if (!service) {
        return "ip";
    } else if (service->symmetric) {
        return NULL;
    }
    ds_put_cstr(&ds, service->matches.n > 1 ? "(" : "");
    for (size_t i = 0; i < service->matches.n; i++) {
        const struct ir_match *m = &service->matches.v[i];
        bool range = service->matches.n > 1 && m->first != m->last;

        ds_put_cstr(&ds, i ? " || " : "");
        ds_put_cstr(&ds, range ? "(" : "");
        put_match(&ds, m, reply);
        ds_put_cstr(&ds, range ? ")" : "");
    }
    ds_put_cstr(&ds, service->matches.n > 1 ? ")" : "");
    return take(e, &ds);
}

static bool
has_port(const struct ir_service *service, uint16_t port)
{
    for (size_t i = 0; i < service->matches.n; i++) {
        const struct ir_match *m = &service->matches.v[i];

        if (m->protocol == IPPROTO_UDP && m->first <= port
            && m->last >= port) {
            return true;
        }
    }
    return false;
}

/* Has a symmetric service before the one at 'end' this port? */
static bool
is_earlier(const struct ir_prog *prog, size_t end, uint16_t port)
{
    for (size_t i = 0; i < end; i++) {
        if (prog->services.v[i]->symmetric
            && has_port(prog->services.v[i], port)) {
            return true;
        }
    }
    return false;
}

/* "{4791, 4793}": ports of symmetric services that 'service' has; NULL: all of
 * them. */
static const char *
symmetric_ports(struct emitter *e, const struct ir_service *service)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < e->prog->services.n; i++) {
        const struct ir_service *s = e->prog->services.v[i];

        for (size_t j = 0; s->symmetric && j < s->matches.n; j++) {
            uint16_t port = s->matches.v[j].first;

            if ((!service || has_port(service, port))
                && !is_earlier(e->prog, i, port)) {
                ds_put_format(&ds, "%s%"PRIu16, ds.length ? ", " : "{", port);
            }
        }
    }
    if (!ds.length) {
        ds_destroy(&ds);
        return NULL;
    }
    ds_put_char(&ds, '}');
    return take(e, &ds);
}

const char *
ovn_symmetric_ports(struct emitter *e)
{
    return symmetric_ports(e, NULL);
}

const char *
ovn_match_stateless(struct emitter *e, const struct ir_service *service)
{
    const char *ports = symmetric_ports(e, service);

    return ports ? FORMAT(e, "udp.dst == %s", ports) : NULL;
}

void
ovn_add_to_switches(struct emitter *e, const ir_endpoint_vec *endpoints,
                    const char *column, const struct plan_row *row)
{
    for (size_t i = 0; i < endpoints->n; i++) {
        const struct ir_network *network = endpoints->v[i]->network;
        struct plan_row *to = shash_find_data(&e->switches, network->name);

        if (!plan_row_refers(to, column, row)) {
            plan_row_ref(e->plan, to, column, row);
        }
    }
}
