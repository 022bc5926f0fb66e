/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/text/text.h"

#include <inttypes.h>
#include <string.h>

#include "backend/text/vfs.h"
#include "intent/exceed.h"
#include "intent/units.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "plan/plan.h"
#include "util.h"

/* "TENANT/NAME" as it is called in a tenant's section. */
static const char *
short_name(const char *name)
{
    const char *slash = strchr(name, '/');

    return slash ? slash + 1 : name;
}

static void
put_addresses(struct ds *ds, const ir_addresses *addresses)
{
    for (size_t i = 0; i < addresses->n; i++) {
        ds_put_cstr(ds, i ? ", " : "");
        ipv6_format_mapped(&addresses->v[i], ds);
    }
}

static void
put_prefixes(struct ds *ds, const ir_prefixes *prefixes)
{
    for (size_t i = 0; i < prefixes->n; i++) {
        const struct ir_prefix *p = &prefixes->v[i];

        ds_put_cstr(ds, i ? ", " : "");
        ipv6_format_mapped(&p->ip, ds);
        ds_put_format(ds, "/%d",
                      p->plen - (IN6_IS_ADDR_V4MAPPED(&p->ip) ? 96 : 0));
    }
}

/* "external internet", or which addresses of it. */
static void
put_parts(struct ds *ds, const struct ir_side *side)
{
    for (size_t i = 0, n; i < side->parts.n; i += n) {
        const struct ir_external *x = side->parts.v[i]->external;

        for (n = 1; i + n < side->parts.n
             && side->parts.v[i + n]->external == x; n++) {
            continue;
        }
        ds_put_format(ds, "%sexternal %s",
                      i || side->endpoints.n ? ", " : "", x->name);
        for (size_t j = i; j < i + n && n < x->n_parts; j++) {
            ds_put_cstr(ds, j > i ? ", " : " ");
            put_prefixes(ds, &side->parts.v[j]->prefixes);
        }
    }
}

/* "all endpoints", or their names.  In a section of the tenant 'within' its
 * name goes without saying; NULL for other sections. */
static void
put_side(struct ds *ds, const struct ir_side *side, bool every,
         const struct ir_tenant *within)
{
    const struct ir_tenant *named = NULL;
    bool first = true;

    if (every) {
        ds_put_cstr(ds, "everybody");
    }
    for (size_t i = 0; !every && i < side->endpoints.n; i++) {
        const struct ir_endpoint *e = side->endpoints.v[i];
        bool whole = false;

        for (size_t j = 0; j < side->tenants.n && !whole; j++) {
            whole = side->tenants.v[j] == e->tenant;
        }
        if (whole && named == e->tenant) {
            continue;
        }
        ds_put_cstr(ds, first ? "" : ", ");
        first = false;
        if (!whole) {
            ds_put_cstr(ds, within == e->tenant ? short_name(e->name)
                        : e->name);
        } else if (within == e->tenant) {
            ds_put_cstr(ds, "all endpoints");
        } else {
            ds_put_format(ds, "all of %s", e->tenant->name);
        }
        named = e->tenant;
    }
    put_parts(ds, side);
}

static void
put_match(struct ds *ds, const struct ir_match *m)
{
    const char *name = (m->protocol == IPPROTO_TCP ? "tcp"
                        : m->protocol == IPPROTO_UDP ? "udp"
                        : m->protocol == IPPROTO_ICMP ? "ICMP"
                        : m->protocol == IPPROTO_ICMPV6 ? "ICMPv6"
                        : m->protocol == IPPROTO_ESP ? "ESP"
                        : m->protocol == IPPROTO_GRE ? "GRE"
                        : m->protocol == IPPROTO_SCTP ? "SCTP" : NULL);

    if (name) {
        ds_put_cstr(ds, name);
    } else {
        ds_put_format(ds, "protocol %"PRIu8, m->protocol);
    }
    if (m->last) {
        ds_put_format(ds, " %"PRIu16, m->first);
    }
    if (m->last > m->first) {
        ds_put_format(ds, "-%"PRIu16, m->last);
    }
}

static void
put_service(struct ds *ds, const struct ir_service *service)
{
    if (!service) {
        ds_put_cstr(ds, "any service");
        return;
    }
    ds_put_format(ds, "%s (", service->name);
    for (size_t i = 0; i < service->matches.n; i++) {
        ds_put_cstr(ds, i ? ", " : "");
        put_match(ds, &service->matches.v[i]);
    }
    ds_put_cstr(ds, service->symmetric ? ", both ways)" : ")");
}

static void
put_kept(struct ds *ds, const struct ir_class *class)
{
    if (class->dscp_in) {
        ds_put_format(ds, "; DSCP %"PRIu8" stays, queue %"PRIu16", up to ",
                      class->dscp_in, class->queue_in);
        format_rate(class->in_kbps * 1000, ds);
        ds_put_cstr(ds, ", bursts of ");
        format_bytes(class->in_burst_bytes, ds);
    }
}

static void
put_rule(struct ds *ds, const struct ir_rule *rule,
         const struct ir_tenant *tenant)
{
    bool operators = rule_kind_is_operators(rule->kind);

    ds_put_format(ds, "  %-10s", operators ? rule_kind_name(rule->kind)
                  : rule->kind == RULE_DENY ? "deny" : "allow");
    if (rule->kind != RULE_DEFAULT) {
        ds_put_format(ds, "%s: ", (operators ? strchr(rule->name, ':') + 1
                                   : short_name(rule->name)));
    }
    put_side(ds, &rule->from, rule->from_every, tenant);
    ds_put_cstr(ds, " -> ");
    put_side(ds, &rule->to, rule->to_every, tenant);
    ds_put_cstr(ds, ", ");
    put_service(ds, rule->service);
    if (rule->class) {
        ds_put_format(ds, ", class %s (DSCP %"PRIu8", queue %"PRIu16,
                      rule->class->name, rule->class->dscp,
                      rule->class->queue);
        put_kept(ds, rule->class);
        ds_put_char(ds, ')');
    } else if (!rule_kind_denies(rule->kind)) {
        ds_put_cstr(ds, ", best effort");
    }
    if (rule->replies) {
        ds_put_format(ds, ", replies %s", rule->reply_class
                      ? rule->reply_class->name : "best effort");
    }
    ds_put_format(ds, "%s%s%s [line %"PRIu32"]\n",
                  rule->stateless ? ", stateless" : "",
                  rule->charge_from ? ", charged to who opens"
                  : rule->charge_to ? ", charged to who is called" : "",
                  rule->depth ? ", before wider rules" : "",
                  rule->place.line);
}

/* The rules of 'kind' of 'tenant', which is NULL for peerings. */
static size_t
put_rules(struct ds *ds, const struct ir_prog *prog, enum rule_kind kind,
          const struct ir_tenant *tenant)
{
    size_t n = 0;

    for (size_t i = 0; i < prog->rules.n; i++) {
        const struct ir_rule *rule = prog->rules.v[i];

        if (rule->kind == kind
            && (!tenant || ir_rule_is_of(rule, tenant))) {
            put_rule(ds, rule, tenant);
            n++;
        }
    }
    return n;
}

static void
put_endpoint(struct ds *ds, const struct ir_endpoint *e)
{
    ds_put_format(ds, "  %-10s%s: %s %s, "ETH_ADDR_FMT", network %s, ",
                  "endpoint", short_name(e->name),
                  e->node ? "on node" : "interface",
                  e->node ? e->node->name : e->interface,
                  ETH_ADDR_ARGS(e->mac), short_name(e->network->name));
    put_addresses(ds, &e->addresses);
    ds_put_cstr(ds, e->dhcp_server ? ", DHCP server\n" : "\n");
}

static void
put_network(struct ds *ds, const struct ir_network *network)
{
    ds_put_format(ds, "  %-10s%s: VNI %"PRIu32", MTU %"PRIu16", ", "network",
                  short_name(network->name), network->vni, network->mtu);
    ds_put_cstr(ds, network->gateways.n ? "gateway " : "no gateway");
    put_addresses(ds, &network->gateways);
    ds_put_cstr(ds, network->groups.n ? ", groups " : "");
    put_prefixes(ds, &network->groups);
    ds_put_cstr(ds, network->native_dhcp ? ", native DHCP\n" : "\n");
}

static void
put_depth(struct ds *ds, const char *what, uint32_t bytes)
{
    if (bytes) {
        ds_put_format(ds, ", %s above ", what);
        format_bytes(bytes, ds);
    }
}

static void
put_microburst(struct ds *ds, const struct ir_meter *meter)
{
    if (meter->microburst) {
        ds_put_format(ds, "  %-10s%s what exceeds that", "bursts",
                      meter->exceed == EXCEED_DROP ? "drop"
                      : meter->exceed == EXCEED_ECN ? "mark"
                      : meter->exceed == EXCEED_PASS ? "pass" : "demote");
        if (meter->exceed >= EXCEED_DSCP) {
            ds_put_format(ds, " to DSCP %d", meter->exceed - EXCEED_DSCP);
        }
        put_depth(ds, "mark", meter->mark_bytes);
        put_depth(ds, "record", meter->depth_bytes);
        put_depth(ds, "drop", meter->limit_bytes);
        ds_put_char(ds, '\n');
    }
}

static void
put_meter(struct ds *ds, const struct ir_meter *meter)
{
    ds_put_format(ds, "  %-10s", meter->receive ? "receives" : "sends");
    /* Who does not borrow gets its guarantee and no more. */
    format_rate((meter->no_borrow ? meter->guarantee_kbps : meter->rate_kbps)
                * 1000, ds);
    ds_put_format(ds, " by %s", meter->uplink);
    if (meter->endpoint) {
        ds_put_format(ds, ", %s alone", short_name(meter->endpoint->name));
    } else if (meter->class) {
        ds_put_format(ds, ", class %s", meter->class->name);
    }
    ds_put_cstr(ds, ", bursts of ");
    format_bytes(meter->burst_bytes, ds);
    if (meter->no_borrow) {
        ds_put_cstr(ds, ", all guaranteed, borrowing nothing");
    } else if (meter->guarantee_kbps) {
        ds_put_cstr(ds, ", of which guaranteed ");
        format_rate(meter->guarantee_kbps * 1000, ds);
    }
    if (!meter->no_borrow && (meter->parent || meter->weight)) {
        ds_put_format(ds, ", borrowing with weight %d",
                      MAX(meter->weight, 1));
    }
    ds_put_char(ds, '\n');
    put_microburst(ds, meter);
}

/* What tenants borrow from. */
static void
put_pools(struct ds *ds, const struct ir_prog *prog)
{
    for (size_t i = 0; i < prog->meters.n && !prog->meters.v[i]->tenant; i++) {
        const struct ir_meter *pool = prog->meters.v[i];

        if (!i || strcmp(pool->uplink, prog->meters.v[i - 1]->uplink)) {
            ds_put_format(ds, "\nuplink %s, shared by tenants%s\n",
                          pool->uplink, ir_has_vfs(prog, pool->uplink)
                          ? ", which does not count VFs in legacy mode" : "");
        }
        ds_put_format(ds, "  %-10s", pool->receive ? "receives" : "sends");
        format_rate(pool->rate_kbps * 1000, ds);
        ds_put_cstr(ds, ", and beyond guarantees bursts of ");
        format_bytes(pool->burst_bytes, ds);
        ds_put_char(ds, '\n');
    }
}

static bool
pays_for_others(const struct ir_prog *prog, const struct ir_tenant *tenant)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        if (prog->meters.v[i]->tenant == tenant && !tenant->here) {
            return true;
        }
    }
    return false;
}

static void
put_packets(struct ds *ds, const char *what, uint32_t rate, uint32_t burst)
{
    if (rate) {
        ds_put_format(ds, "  %-10s", what);
        format_packet_rate(rate, ds);
        ds_put_cstr(ds, ", bursts of ");
        format_packets(burst, ds);
        ds_put_char(ds, '\n');
    }
}

static void
put_rates(struct ds *ds, const struct ir_prog *prog,
          const struct ir_tenant *tenant)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        if (prog->meters.v[i]->tenant == tenant
            && !ir_meter_is_rest(prog->meters.v[i])) {
            put_meter(ds, prog->meters.v[i]);
        }
    }
    if (!tenant->here) {
        return;
    }
    put_packets(ds, "packets", tenant->packet_rate, tenant->packet_burst);
    put_packets(ds, "upcalls", tenant->upcall_rate, tenant->upcall_burst);
    if (tenant->connections) {
        ds_put_format(ds, "  %-10s%"PRIu32" at once\n", "tracks",
                      tenant->connections);
    }
}

static void
put_tenant(struct ds *ds, const struct ir_prog *prog,
           const struct ir_tenant *tenant)
{
    ds_put_format(ds, "\ntenant %s%s\n", tenant->name,
                  tenant->here ? "" : pays_for_others(prog, tenant)
                  ? ", on other nodes, but pays for others here"
                  : ", on other nodes only");
    put_rates(ds, prog, tenant);
    for (size_t i = 0; i < prog->networks.n; i++) {
        if (prog->networks.v[i]->tenant == tenant) {
            put_network(ds, prog->networks.v[i]);
        }
    }
    for (size_t i = 0; i < prog->endpoints.n; i++) {
        if (prog->endpoints.v[i]->tenant == tenant) {
            put_endpoint(ds, prog->endpoints.v[i]);
        }
    }
    put_rules(ds, prog, RULE_DENY, tenant);
    put_rules(ds, prog, RULE_ALLOW, tenant);
    if (!put_rules(ds, prog, RULE_DEFAULT, tenant) && tenant->here) {
        ds_put_format(ds, "  %-10severything else\n", "deny");
    }
}

static void
put_external(struct ds *ds, const struct ir_prog *prog,
             const struct ir_external *x)
{
    ds_put_format(ds, "\nexternal %s\n  %-10s"ETH_ADDR_FMT", "
                  "interface %s\n  %-10s", x->name, "router",
                  ETH_ADDR_ARGS(x->mac), x->interface, "gateway");
    put_addresses(ds, &x->gateways);
    ds_put_format(ds, " at "ETH_ADDR_FMT"\n", ETH_ADDR_ARGS(x->gateway_mac));
    for (size_t i = 0; i < prog->parts.n; i++) {
        if (prog->parts.v[i]->external == x) {
            ds_put_format(ds, "  %-10s", "addresses");
            put_prefixes(ds, &prog->parts.v[i]->prefixes);
            ds_put_char(ds, '\n');
        }
    }
    for (size_t i = 0; i < x->tenants.n; i++) {
        ds_put_format(ds, "  %-10s%s\n", "tenant", x->tenants.v[i]->name);
    }
}

static void
put_names(struct ds *ds, const char *what, const ir_names *names)
{
    if (names->n) {
        ds_put_format(ds, "\n%s:", what);
        for (size_t i = 0; i < names->n; i++) {
            ds_put_format(ds, " %s", names->v[i]);
        }
        ds_put_char(ds, '\n');
    }
}

static bool
text_check(const struct ir_prog *prog OVS_UNUSED,
           const struct backend_caps *caps OVS_UNUSED,
           struct diags *diags OVS_UNUSED)
{
    return true;
}

static void
put_guardrails(struct ds *ds, const struct ir_prog *prog)
{
    size_t before = ds->length;

    ds_put_cstr(ds, "\nabove all that tenants and peerings allow\n");
    if (!put_rules(ds, prog, RULE_GUARDRAIL, NULL)) {
        ds_truncate(ds, before);
    }
}

static void
text_emit(const struct ir_prog *prog, const struct backend_caps *caps
          OVS_UNUSED, struct plan *plan, struct diags *diags OVS_UNUSED)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_format(&ds, "node %s and what it reaches: %"PRIuSIZE" endpoints of "
                  "%"PRIuSIZE" tenants", prog->node, prog->endpoints.n,
                  prog->tenants.n);
    if (prog->vfs.n) {
        ds_put_format(&ds, ", and beside them %"PRIuSIZE" VFs in legacy mode",
                      prog->vfs.n);
    }
    ds_put_char(&ds, '\n');
    put_pools(&ds, prog);
    for (size_t i = 0; i < prog->tenants.n; i++) {
        put_tenant(&ds, prog, prog->tenants.v[i]);
    }
    for (size_t i = 0; i < prog->externals.n; i++) {
        put_external(&ds, prog, prog->externals.v[i]);
    }
    if (prog->holes.n) {
        ds_put_cstr(&ds, "  less      ");
        put_prefixes(&ds, &prog->holes);
        ds_put_char(&ds, '\n');
    }
    text_put_vfs(&ds, prog);
    put_guardrails(&ds, prog);
    ds_put_format(&ds, "\nbetween tenants%s\n",
                  prog->externals.n ? ", and with externals" : "");
    put_rules(&ds, prog, RULE_PEERING, NULL);
    ds_put_format(&ds, "  %-10severything else\n", "deny");
    put_names(&ds, "unbound, so they match nothing", &prog->unbound);
    put_names(&ds, "on other nodes that no tunnel reaches", &prog->elsewhere);
    put_names(&ds, "here, where their external is not", &prog->cut_off);
    plan->policy = arena_strdup(plan->arena, ds_cstr(&ds));
    ds_destroy(&ds);
}

static const struct backend_caps no_caps = { .n_tables = 0 };

const struct backend text_backend = {
    .name = "text",
    .caps = &no_caps,
    .check = text_check,
    .lower = NULL,
    .emit = text_emit,
};
