/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/validate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/diag.h"
#include "packets.h"
#include "sema/ident.h"
#include "sema/interface.h"
#include "util.h"

void
ir_invalid(struct ir_validator *v, const char *format, ...)
{
    static const struct ir_place nowhere = { .line = 0 };
    const struct ir_place *place = v->place ? v->place : &nowhere;
    va_list args;
    char *cause;

    va_start(args, format);
    cause = arena_vprintf(v->diags->arena, format, args);
    va_end(args);
    diag_error(v->diags, place->span, place->pointer, "%s '%s': %s", v->what,
               v->name, cause);
}

void
ir_once(struct ir_validator *v, const char *format, ...)
{
    va_list args;
    char *thing;

    va_start(args, format);
    thing = arena_vprintf(v->diags->arena, format, args);
    va_end(args);
    if (!sset_add(&v->taken, thing)) {
        ir_invalid(v, "%s is there twice", thing);
    }
}

static void
check_prog(struct ir_validator *v, const struct ir_prog *prog)
{
    const char *type = prog->encapsulation;

    if (type && strcmp(type, "geneve") && strcmp(type, "vxlan")) {
        ir_invalid(v, "there is no encapsulation '%s'", type);
    } else if (ir_is_fabric(prog) ? !ipv6_is_zero(&prog->tunnel_address)
               : !type != ipv6_is_zero(&prog->tunnel_address)) {
        ir_invalid(v, "a tunnel address goes with an encapsulation, on a "
                   "node");
    }
    if (prog->telemetry && ir_is_fabric(prog)) {
        ir_invalid(v, "telemetry is of nodes");
    }
}

static void
check_peer(struct ir_validator *v, const struct ir_node *peer)
{
    char s[INET6_ADDRSTRLEN + 1];

    ipv6_string_mapped(s, &peer->address);
    ir_once(v, "node's number %#"PRIx32, peer->number);
    if (!ipv6_is_zero(&peer->address)) {
        ir_once(v, "tunnel address %s", s);
    } else if (!ir_is_fabric(v->prog)) {
        ir_invalid(v, "it has no address");
    }
    if (!v->prog->encapsulation && !ir_is_fabric(v->prog)) {
        ir_invalid(v, "there are no tunnels");
    }
    if (peer->telemetry && !ir_is_fabric(v->prog)) {
        ir_invalid(v, "telemetry is the program's own, on a node");
    }
}

static void
check_class(struct ir_validator *v, const struct ir_class *c)
{
    if (!c->dscp_in != !c->in_kbps || !c->dscp_in != !c->in_burst_bytes
        || (!c->dscp_in && c->queue_in)) {
        ir_invalid(v, "it lets no DSCP in, or as much as there is of it");
    }
    if (c->buffer_bytes && !c->lossless) {
        ir_invalid(v, "it has a buffer and is not lossless");
    }
}

/* No packet passes two. */
static void
check_cap(struct ir_validator *v, const struct ir_cap *cap)
{
    if (!cap->tenant->here || !cap->class->dscp_in) {
        ir_invalid(v, "it is of a tenant that is not here, or of a class "
                   "that lets no DSCP in");
    }
    ir_check_prefix(v, cap->tenant, cap->name);
    ir_once(v, "meter's number %#"PRIx32, cap->number);
    ir_once(v, "class %"PRIu8" in queue %"PRIu16" of tenant '%s'",
            cap->class->dscp, cap->class->queue, cap->tenant->name);
}

static void
check_tag(struct ir_validator *v, const struct ir_tag *tag)
{
    if (!v->prog->telemetry) {
        ir_invalid(v, "packets carry no tags without telemetry");
    }
    ir_check_prefix(v, tag->tenant, tag->name);
    ir_once(v, "meter's number %#"PRIx32, tag->number);
    ir_once(v, "tag of tenant '%s'", tag->tenant->name);
}

static void
check_service(struct ir_validator *v, const struct ir_service *s)
{
    for (size_t i = 0; s->symmetric && i < s->matches.n; i++) {
        const struct ir_match *m = &s->matches.v[i];

        if (m->protocol != IPPROTO_UDP || !m->last || m->first != m->last) {
            ir_invalid(v, "a symmetric service is UDP ports, each by itself");
        }
    }
}

static void
check_tenant(struct ir_validator *v, const struct ir_tenant *tenant)
{
    const struct ir_tenant *previous = v->n ? v->prog->tenants.v[v->n - 1]
                                            : NULL;

    if (previous && strcmp(previous->name, tenant->name) > 0) {
        ir_invalid(v, "it comes after '%s'", previous->name);
    }
    ir_once(v, "tenant's number %#"PRIx32, tenant->number);
    if (tenant->zone) {
        ir_once(v, "zone %"PRIu16, tenant->zone);
    }
}

void
ir_check_prefix(struct ir_validator *v, const struct ir_tenant *tenant,
             const char *name)
{
    size_t len = strlen(tenant->name);

    if (strncmp(name, tenant->name, len) || name[len] != '/') {
        ir_invalid(v, "it is not of tenant '%s'", tenant->name);
    }
}

/* An address is one thing's in all of a tenant. */
static void
check_addresses(struct ir_validator *v, const struct ir_tenant *tenant,
                const ir_addresses *addresses)
{
    for (size_t i = 0; i < addresses->n; i++) {
        char s[INET6_ADDRSTRLEN + 1];

        ipv6_string_mapped(s, &addresses->v[i]);
        ir_once(v, "address %s in tenant '%s'", s, tenant->name);
    }
}

static void
take_mac(struct ir_validator *v, const struct ir_network *network,
         struct eth_addr mac)
{
    ir_once(v, "MAC address "ETH_ADDR_FMT" in network '%s'",
            ETH_ADDR_ARGS(mac), network->name);
}

static void
check_network(struct ir_validator *v, const struct ir_network *network)
{
    ir_check_prefix(v, network->tenant, network->name);
    check_addresses(v, network->tenant, &network->gateways);
    take_mac(v, network, network->gateway_mac);
    ir_once(v, "VNI %"PRIu32, network->vni);
    if (network->dhcp && network->native_dhcp) {
        ir_invalid(v, "two answer DHCP in it");
    }
    for (size_t i = 0; i < network->groups.n; i++) {
        const struct in6_addr *ip = &network->groups.v[i].ip;
        int plen = network->groups.v[i].plen;

        /* Nothing else would be copied. */
        if (IN6_IS_ADDR_V4MAPPED(ip)
            ? plen < 96 + 4 || !ip_is_multicast(in6_addr_get_mapped_ipv4(ip))
            : plen < 8 || !ipv6_addr_is_multicast(ip)) {
            ir_invalid(v, "it carries what is no multicast group");
        }
    }
}

static void
check_external(struct ir_validator *v, const struct ir_external *e)
{
    ir_once(v, "tenant's number %#"PRIx32, e->number);
    ir_once(v, "endpoint's number %#"PRIx32, e->port);
    if (!ir_is_fabric(v->prog)) {
        ir_once(v, "interface %s", e->interface);
    }
    if (interface_reserved(e->interface)) {
        ir_invalid(v, "interface %s: %s", e->interface,
                   interface_reserved(e->interface));
    } else if (eth_addr_equals(e->mac, e->gateway_mac)) {
        ir_invalid(v, "the router has the node's MAC address");
    }
    for (size_t i = 0; i < e->tenants.n; i++) {
        ir_once(v, "tenant '%s' of external '%s'", e->tenants.v[i]->name,
                e->name);
    }
}

/* Those of an external stand together. */
static void
check_part(struct ir_validator *v, const struct ir_part *part)
{
    const struct ir_part *previous = v->n ? v->prog->parts.v[v->n - 1] : NULL;

    ir_once(v, "endpoint's number %#"PRIx32, part->number);
    if (part->index != v->n) {
        ir_invalid(v, "it is not in its place");
    } else if (!previous || previous->external != part->external) {
        ir_once(v, "first part of '%s'", part->external->name);
    }
    for (size_t i = 0; i < part->prefixes.n; i++) {
        const struct ir_prefix *prefix = &part->prefixes.v[i];
        char s[INET6_ADDRSTRLEN + 1];

        ipv6_string_mapped(s, &prefix->ip);
        ir_once(v, "range %s/%d", s, prefix->plen);
    }
}

/* A group is called after the first of its endpoints, which are all of one
 * tenant, or after its twin. */
static void
check_group(struct ir_validator *v, const struct ir_endpoint *e)
{
    const struct ir_endpoint *first = e->group->first;

    if (first->tenant != e->tenant || first->index > e->index
        || (e->group->number != first->number
            && e->group->number != first->twin)) {
        ir_invalid(v, "its group %#"PRIx32" is not that of an endpoint above "
                   "of its tenant", e->group->number);
    }
}

/* Twins are of one tenant, and the first of them is no endpoint. */
static void
check_twin(struct ir_validator *v, const struct ir_endpoint *e)
{
    char *key;

    if (!e->twin) {
        return;
    }
    key = arena_printf(v->diags->arena, "twin %#"PRIx32" of '%s'", e->twin,
                       e->tenant->name);
    if (e->twin < IDENT_RESERVED) {
        ir_invalid(v, "its twin has a number that is kept");
    } else if (sset_add(&v->taken, key)) {
        ir_once(v, "endpoint's number %#"PRIx32, e->twin);
    }
}

/* Of a program of the fabric. */
static void
check_spread(struct ir_validator *v, const struct ir_endpoint *e)
{
    if (!e->node || !e->interface || !e->uplink) {
        ir_invalid(v, "it has no node, interface or uplink");
    } else if (interface_reserved(e->interface)) {
        ir_invalid(v, "interface %s: %s", e->interface,
                   interface_reserved(e->interface));
    } else {
        ir_once(v, "interface %s of '%s'", e->interface, e->node->name);
    }
}

static void
check_endpoint(struct ir_validator *v, const struct ir_endpoint *e)
{
    const struct ir_endpoint *previous = v->n ? v->prog->endpoints.v[v->n - 1]
                                              : NULL;
    int cmp = (!previous ? -1
               : strcmp(previous->tenant->name, e->tenant->name));

    if (e->tenant != e->network->tenant || e->index != v->n) {
        ir_invalid(v, "it is not of its network's tenant, or not in its "
                   "place");
        return;
    }
    if (cmp > 0 || (!cmp && strcmp(previous->name, e->name) > 0)) {
        ir_invalid(v, "it comes after '%s'", previous->name);
    }
    ir_check_prefix(v, e->tenant, e->name);
    check_group(v, e);
    check_twin(v, e);
    check_addresses(v, e->tenant, &e->addresses);
    ir_once(v, "endpoint's number %#"PRIx32, e->number);
    if (e->dhcp_server && !e->network->dhcp) {
        ir_invalid(v, "its network has no DHCP");
    } else if (e->dhcp_server) {
        ir_once(v, "DHCP server of network '%s'", e->network->name);
    }
    if (ir_is_fabric(v->prog)) {
        check_spread(v, e);
    } else if (!e->node == !e->interface || e->uplink
               || (!e->node && !(e->tenant->here && e->network->here))) {
        ir_invalid(v, "it is here on an interface, or on another node");
    } else if (e->interface && interface_reserved(e->interface)) {
        ir_invalid(v, "interface %s: %s", e->interface,
                   interface_reserved(e->interface));
    } else if (e->interface) {
        ir_once(v, "interface %s", e->interface);
    }
    take_mac(v, e->network, e->mac);
}

/* What no field by itself shows.  The fields are all right. */
static void
check_whole(struct ir_validator *v, enum ir_op op, const void *record)
{
    switch (op) {
    case IR_OP_prog: check_prog(v, record); return;
    case IR_OP_service: check_service(v, record); return;
    case IR_OP_node: check_peer(v, record); return;
    case IR_OP_tenant: check_tenant(v, record); return;
    case IR_OP_external: check_external(v, record); return;
    case IR_OP_part: check_part(v, record); return;
    case IR_OP_network: check_network(v, record); return;
    case IR_OP_endpoint: check_endpoint(v, record); return;
    case IR_OP_meter: ir_validate_meter(v, record); return;
    case IR_OP_cap: check_cap(v, record); return;
    case IR_OP_tag: check_tag(v, record); return;
    case IR_OP_rule: ir_validate_rule(v, record); return;
    case IR_OP_class: check_class(v, record); return;
    case IR_OP_dpdk: ir_validate_dpdk(v, record); return;
    case IR_OP_dpdk_port: ir_validate_dpdk_port(v, record); return;
    case IR_OP_vf: ir_validate_vf(v, record); return;
    case IR_OP_uplink:
    case N_IR_OPS:
        return;
    }
}

static void
check_record(enum ir_op op, const void *record, void *v_)
{
    struct ir_validator *v = v_;
    size_t n_errors = v->diags->n_errors;
    const char *const *name = NULL;

    if (v->failed) {
        return;                 /* What follows may point to it. */
    }
    v->place = NULL;
    for (size_t i = 0; i < n_ir_fields; i++) {
        const struct ir_field *f = &ir_fields[i];
        const void *m = (const char *) record + f->offset;

        if (f->op == op && !name) {
            name = m;
            v->what = f->keyword;
            v->name = *name ? *name : "";
        }
        if (f->op == op && f->type == IR_TYPE_PLACE) {
            v->place = m;
        }
    }
    v->n = op == v->op ? v->n + 1 : 0;
    v->op = op;
    for (size_t i = 0; i < n_ir_fields; i++) {
        if (ir_fields[i].op == op) {
            ir_validate_value(v, &ir_fields[i],
                              (const char *) record
                              + ir_fields[i].offset);
        }
    }
    if (v->diags->n_errors == n_errors) {
        ir_once(v, "%s '%s'", v->what, v->name);
        check_whole(v, op, record);
    }
    v->failed = v->diags->n_errors != n_errors;
    hmapx_add(&v->records, CONST_CAST(void *, record));
}

/* The endpoints of each tenant stand together, in the tenants' order, and it
 * has a zone if one of them is here. */
static void
check_runs(struct ir_validator *v)
{
    size_t i = 0;

    for (size_t t = 0; t < v->prog->tenants.n; t++) {
        const struct ir_tenant *tenant = v->prog->tenants.v[t];
        size_t end = i + tenant->n_endpoints;

        while (i < MIN(end, v->prog->endpoints.n)
               && v->prog->endpoints.v[i]->tenant == tenant) {
            i++;
        }
        v->what = "tenant";
        v->name = tenant->name;
        v->place = &tenant->place;
        if (i != end || !tenant->n_endpoints) {
            ir_invalid(v, "it has no endpoints, or they do not stand "
                       "together");
            return;
        } else if (tenant->here != (tenant->zone >= IDENT_RESERVED)) {
            ir_invalid(v, "it has a zone without endpoints here, or none "
                       "with");
            return;
        }
    }
}

/* Each network here takes an uplink, and what it sends has a meter. */
static void
check_metered(struct ir_validator *v)
{
    for (size_t i = 0; i < v->prog->networks.n; i++) {
        const struct ir_network *network = v->prog->networks.v[i];

        v->what = "network";
        v->name = network->name;
        v->place = &network->place;
        if (network->here && ir_is_fabric(v->prog)) {
            ir_invalid(v, "it is here, which is nowhere");
            return;
        } else if (!network->here != !network->uplink) {
            ir_invalid(v, "it takes an uplink without endpoints here, or none "
                       "with");
            return;
        } else if (network->here
                   && !ir_find_meter(v->prog, ir_account_of(network), false)) {
            ir_invalid(v, "no meter is for its uplink");
            return;
        }
    }
}

bool
ir_validate(const struct ir_prog *prog, struct diags *diags)
{
    size_t n_errors = diags->n_errors;
    struct ir_validator v = {
        .prog = prog, .diags = diags, .op = N_IR_OPS,
        .records = HMAPX_INITIALIZER(&v.records),
        .taken = SSET_INITIALIZER(&v.taken),
    };

    ir_walk(prog, check_record, &v);
    if (!v.failed) {
        check_runs(&v);
        check_metered(&v);
    }
    if (diags->n_errors == n_errors) {
        ir_validate_charges(&v);
    }
    hmapx_destroy(&v.records);
    sset_destroy(&v.taken);
    return diags->n_errors == n_errors;
}
