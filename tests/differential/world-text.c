/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include <netinet/in.h>
#include <string.h>

#include "intent/exceed.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Worlds as intents.  A comma goes before every element but the first of a
 * list, which follows its bracket. */

static const char *const service_names[N_BUILTIN_LINES + MAX_SERVICES] = {
#define SERVICE(NAME, PROTOCOL, FIRST, LAST, SYMMETRIC) NAME,
#include "sema/services.def"
#undef SERVICE
    "s0", "s1", "s2", "s3",
};

static const char *const node_names[MAX_NODES] = { WORLD_NODE, "n2", "n3" };

static const char *const groups[N_GROUPS] = {
    "239.1.0.0/16", "239.129.0.0/24", "232.7.7.7/32",
    "ff15::/16", "ff0e:1::/32", "ff18::1:2/128",
};

const char *
world_service_name(int service)
{
    return service_names[service];
}

const char *
world_node_name(int node)
{
    return node_names[node];
}

void
world_put_comma(struct ds *ds)
{
    if (ds_last(ds) != '{' && ds_last(ds) != '[') {
        ds_put_cstr(ds, ", ");
    }
}

/* A service without ports: by its name, if it has one. */
static void
put_protocol(struct ds *ds, int i, int protocol)
{
    const char *name = (protocol == IPPROTO_ESP ? "\"esp\""
                        : protocol == IPPROTO_GRE ? "\"gre\"" : NULL);

    ds_put_format(ds, "\"s%d\": {\"protocol\": ", i);
    if (name) {
        ds_put_format(ds, "%s}", name);
    } else {
        ds_put_format(ds, "%d}", protocol);
    }
}

/* The uplink of a network: by its name, or by what it alone is. */
static void
put_way(struct ds *ds, const struct world *w, int uplink)
{
    if (w->n_uplinks == 1) {
        return;
    } else if (!uplink) {
        ds_put_cstr(ds, ", \"plane\": \"compute\"");
    } else if (w->n_uplinks == 2) {
        ds_put_cstr(ds, ", \"plane\": \"converged\"");
    } else {
        ds_put_format(ds, ", \"uplink\": \"u%d\"", uplink);
    }
}

static void
put_network(struct ds *ds, const struct world *w, int i)
{
    const struct world_network *n = &w->networks[i];

    world_put_comma(ds);
    ds_put_format(ds, "\n    \"n%d\": {\"vni\": %d, \"subnets\": "
                  "[\"10.%d.0.0/16\", \"fd00:%d::/64\"]", i, WORLD_VNI(i),
                  n->subnet, n->subnet);
    put_way(ds, w, n->uplink);
    if (n->gateway4 || n->gateway6) {
        ds_put_cstr(ds, ", \"gateway\": [");
        if (n->gateway4) {
            ds_put_format(ds, "\"10.%d.0.1\"", n->subnet);
        }
        if (n->gateway6) {
            world_put_comma(ds);
            ds_put_format(ds, "\"fd00:%d::1\"", n->subnet);
        }
        ds_put_char(ds, ']');
    }
    ds_put_cstr(ds, ", \"multicast\": [");
    for (int j = 0; j < N_GROUPS; j++) {
        if (n->groups & 1u << j) {
            world_put_comma(ds);
            ds_put_format(ds, "\"%s\"", groups[j]);
        }
    }
    ds_put_char(ds, ']');
    if (n->dhcp_server >= 0 && !w->endpoints[n->dhcp_server].left_out) {
        ds_put_format(ds, ", \"dhcp\": {\"server\": \"e%d\"}",
                      n->dhcp_server);
    }
    ds_put_char(ds, '}');
}

static void
put_addresses(struct ds *ds, const struct world *w,
              const struct world_endpoint *e)
{
    int subnet = w->networks[e->network].subnet;

    world_put_comma(ds);
    ds_put_cstr(ds, "\"addresses\": [");
    for (int i = 0; i <= e->second; i++) {
        int host = 10 + e->host + 100 * i;

        if (e->ip4) {
            world_put_comma(ds);
            ds_put_format(ds, "\"10.%d.0.%d\"", subnet, host);
        }
        if (e->ip6) {
            world_put_comma(ds);
            ds_put_format(ds, "\"fd00:%d::%d\"", subnet, host);
        }
    }
    ds_put_char(ds, ']');
}

/* What of the binding of an endpoint is in 'parts', of APART_*. */
static void
put_binding(struct ds *ds, const struct world *w, int i, unsigned int parts)
{
    const struct world_endpoint *e = &w->endpoints[i];

    if (parts & APART_NODE && e->bound) {
        world_put_comma(ds);
        ds_put_format(ds, "\"node\": \"%s\"", node_names[e->node]);
    }
    if (parts & APART_INTERFACE) {
        world_put_comma(ds);
        ds_put_format(ds, "\"interface\": \"i%d\"", i);
    }
    if (parts & APART_MAC) {
        world_put_comma(ds);
        ds_put_format(ds, "\"mac\": \"02:00:00:00:00:%02x\"", e->mac);
    }
    if (parts & APART_ADDRESSES) {
        put_addresses(ds, w, e);
    }
}

/* 'share' may be NULL; 't' too: then it is no tenant's. */
static void
put_limit(struct ds *ds, int mbps, int kib, const struct world_share *share,
          const struct world_tenant *t, bool receive)
{
    ds_put_format(ds, "{\"limit\": \"%dMbps\", \"burst\": \"%dKiB\"", mbps,
                  kib);
    if (share) {
        world_put_share(ds, share);
    }
    if (t) {
        world_put_parts(ds, t, receive);
    }
    ds_put_char(ds, '}');
}

static void
put_own(struct ds *ds, const struct world *w, int i, bool receive)
{
    struct world_share share = world_own_share(w, i, receive);

    put_limit(ds, receive ? w->endpoints[i].received_mbps
              : w->endpoints[i].sent_mbps, OWN_BURST_KIB, &share, NULL,
              receive);
}

static void
put_endpoint(struct ds *ds, const struct world *w, int i)
{
    const struct world_endpoint *e = &w->endpoints[i];

    world_put_comma(ds);
    ds_put_format(ds, "\n    \"e%d\": {\"network\": \"n%d\", \"labels\": "
                  "{\"role\": \"r%d\", \"tier\": \"t%d\"}", i, e->network,
                  e->role, e->tier);
    put_binding(ds, w, i, APART_ALL & ~e->apart);
    if (e->sent_mbps || e->received_mbps) {
        ds_put_cstr(ds, ", \"bandwidth\": {");
        if (e->sent_mbps) {
            ds_put_cstr(ds, "\"send\": ");
            put_own(ds, w, i, false);
        }
        if (e->received_mbps) {
            world_put_comma(ds);
            ds_put_cstr(ds, "\"receive\": ");
            put_own(ds, w, i, true);
        }
        ds_put_char(ds, '}');
    }
    ds_put_char(ds, '}');
}

static void
put_bindings(struct ds *ds, const struct world *w)
{
    ds_put_cstr(ds, ",\n \"bindings\": {");
    for (int i = 0; i < w->n_endpoints; i++) {
        const struct world_endpoint *e = &w->endpoints[i];

        if (e->apart && world_is_there(w, i)) {
            world_put_comma(ds);
            ds_put_format(ds, "\n  \"t%d/e%d\": {",
                          w->networks[e->network].tenant, i);
            put_binding(ds, w, i, e->apart);
            ds_put_char(ds, '}');
        }
    }
    ds_put_char(ds, '}');
}

static void
put_rule(struct ds *ds, const struct world_rule *rule)
{
    world_put_selector(ds, "from", &rule->from);
    world_put_selector(ds, "to", &rule->to);
    if (rule->deny && rule->tenant >= 0) {
        ds_put_cstr(ds, ", \"action\": \"deny\"");
    }
    world_put_peering(ds, rule);
    if (rule->service >= 0) {
        const char *name = service_names[rule->service];
        bool encrypted = !strcmp(name, "psp") || !strcmp(name, "ipsec");

        ds_put_format(ds, ", \"%s\": \"%s\"", encrypted && !rule->deny
                      && rule->class >= 0 ? "require" : "service", name);
    }
    if (rule->class >= 0) {
        ds_put_format(ds, ", \"class\": \"c%d\"", rule->class);
    } else if (!rule->deny && rule->service >= 0) {
        /* What it is without saying so. */
        ds_put_cstr(ds, ", \"class\": \"best-effort\"");
    }
    if (rule->reply_class >= 0) {
        ds_put_format(ds, ", \"reply_class\": \"c%d\"", rule->reply_class);
    } else if (rule->reply_class == -1) {
        ds_put_cstr(ds, ", \"reply_class\": \"best-effort\"");
    }
    if (rule->stateless && !rule->deny) {
        ds_put_cstr(ds, ", \"stateful\": false");
    }
    ds_put_char(ds, '}');
}

static void
put_bandwidth(struct ds *ds, const struct world *w,
              const struct world_tenant *t)
{
    const struct world_share *shares = w->shared ? t->shares : NULL;

    ds_put_cstr(ds, ", \"bandwidth\": ");
    if (t->both) {
        put_limit(ds, t->mbps, t->burst_kib, shares, t, false);
        return;
    }
    ds_put_cstr(ds, "{\"send\": ");
    put_limit(ds, t->mbps, t->burst_kib, shares, t, false);
    if (t->received_mbps) {
        ds_put_cstr(ds, ", \"receive\": ");
        put_limit(ds, t->received_mbps, t->received_kib,
                  shares ? &shares[1] : NULL, t, true);
    }
    ds_put_char(ds, '}');
}

static void
put_depth(struct ds *ds, const char *name, int kib)
{
    if (kib) {
        ds_put_format(ds, "\"%s\": \"%dKiB\", ", name, kib);
    }
}

static void
put_exceed(struct ds *ds, uint8_t exceed)
{
    static const char *const words[] = { "drop", "ecn", "pass" };

    if (exceed < EXCEED_DSCP) {
        ds_put_format(ds, "\"exceed\": \"%s\"}", words[exceed]);
    } else {
        ds_put_format(ds, "\"exceed\": \"dscp:%d\"}", exceed - EXCEED_DSCP);
    }
}

static void
put_tenant(struct ds *ds, const struct world *w, int i)
{
    const struct world_tenant *t = &w->tenants[i];

    world_put_comma(ds);
    ds_put_format(ds, "\n  \"t%d\": {\"default\": \"%s\", \"peers\": [", i,
                  t->allow ? "allow" : "deny");
    for (int j = 0; j < w->n_tenants; j++) {
        if (t->peers & 1u << j && !w->tenants[j].left_out) {
            world_put_comma(ds);
            ds_put_format(ds, "\"t%d\"", j);
        }
    }
    if (t->peers_all) {
        world_put_comma(ds);
        ds_put_cstr(ds, "\"*\"");
    }
    world_put_outside(ds, w, i);
    ds_put_cstr(ds, "]");
    if (t->limited) {
        put_bandwidth(ds, w, t);
    }
    if (t->bursts) {
        ds_put_cstr(ds, ", \"microburst\": {");
        put_depth(ds, "mark", t->mark_kib);
        put_depth(ds, "depth", t->depth_kib);
        put_depth(ds, "limit", t->limit_kib);
        put_exceed(ds, t->exceed);
    }
    world_put_limits(ds, t);
    ds_put_cstr(ds, ",\n   \"networks\": {");
    for (int j = 0; j < w->n_networks; j++) {
        if (w->networks[j].tenant == i && !w->networks[j].left_out) {
            put_network(ds, w, j);
        }
    }
    ds_put_cstr(ds, "},\n   \"endpoints\": {");
    for (int j = 0; j < w->n_endpoints; j++) {
        if (w->networks[w->endpoints[j].network].tenant == i
            && !w->endpoints[j].left_out) {
            put_endpoint(ds, w, j);
        }
    }
    ds_put_cstr(ds, "},\n   \"rules\": [");
    for (int j = 0; j < w->n_rules; j++) {
        if (w->rules[j].tenant == i && !w->rules[j].left_out) {
            world_put_comma(ds);
            ds_put_format(ds, "\n    {\"name\": \"r%d\"", j);
            put_rule(ds, &w->rules[j]);
        }
    }
    ds_put_cstr(ds, "]}");
}

/* Those that are PEERINGs, or GUARDRAILs. */
static void
put_named(struct ds *ds, const struct world *w, const char *key, int kind)
{
    ds_put_format(ds, ",\n \"%s\": {", key);
    for (int i = 0; i < w->n_rules; i++) {
        if (w->rules[i].tenant == kind && !w->rules[i].left_out) {
            world_put_comma(ds);
            ds_put_format(ds, "\n  \"r%d\": {\"description\": \"\"", i);
            put_rule(ds, &w->rules[i]);
        }
    }
    ds_put_char(ds, '}');
}

/* The first is on a plane of its own. */
static void
put_uplinks(struct ds *ds, const struct world *w)
{
    ds_put_cstr(ds, "\"uplinks\": {");
    for (int i = 0; i < w->n_uplinks; i++) {
        world_put_comma(ds);
        ds_put_format(ds, "\"u%d\": {\"interface\": \"p%d\", \"rate\": "
                      "\"%dMbps\", \"burst\": \"%dKiB\"", i, i,
                      UPLINK_MBPS(i), UPLINK_BURST_KIB(i));
        ds_put_cstr(ds, i ? "}" : ", \"plane\": \"compute\"}");
    }
    ds_put_cstr(ds, "}}");
}

static void
put_fabric(struct ds *ds, const struct world *w)
{
    ds_put_cstr(ds, "\"fabric\": {");
    if (w->encapsulation) {
        ds_put_format(ds, "\"encapsulation\": \"%s\"", w->encapsulation);
    }
    world_put_comma(ds);
    ds_put_cstr(ds, "\"nodes\": {");
    for (int i = 0; i < MAX_NODES; i++) {
        world_put_comma(ds);
        ds_put_format(ds, "\n  \"%s\": {", node_names[i]);
        if (w->tunnels & 1u << i) {
            ds_put_format(ds, "\"tunnel_address\": \"%s%d\"",
                          w->underlay6 ? "2001:db8::" : "192.0.2.", i + 1);
        }
        if (w->telemetry & 1u << i) {
            world_put_comma(ds);
            ds_put_cstr(ds, "\"telemetry\": true");
        }
        world_put_comma(ds);
        put_uplinks(ds, w);
    }
    ds_put_cstr(ds, "}}");
}

const char *
world_tenant_text(const struct world *w, int tenant, struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_char(&ds, '{');
    put_tenant(&ds, w, tenant);

    const char *text = arena_strdup(arena, ds_cstr(&ds) + 1);
    ds_destroy(&ds);
    return text;
}

const char *
world_text_of(const struct world *w, const char *const tenants[],
              struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&ds, "{\"version\": 1, ");
    put_fabric(&ds, w);
    ds_put_cstr(&ds, ",\n \"classes\": {");
    for (int i = 0; i < MAX_CLASSES; i++) {
        world_put_comma(&ds);
        ds_put_format(&ds, "\"c%d\": {\"dscp\": %d, \"queue\": %d", i,
                      w->classes[i].dscp, w->classes[i].queue);
        world_put_dscp_in(&ds, &w->classes[i]);
        ds_put_char(&ds, '}');
    }
    ds_put_cstr(&ds, "},\n \"services\": {");
    for (int i = 0; i < MAX_SERVICES; i++) {
        world_put_comma(&ds);
        if (w->services[i].protocol) {
            put_protocol(&ds, i, w->services[i].protocol);
            continue;
        }
        ds_put_format(&ds, "\"s%d\": {\"protocol\": \"%s\", \"ports\": "
                      "[%d, \"%d-%d\"]}", i,
                      w->services[i].udp ? "udp" : "tcp",
                      w->services[i].first[0], w->services[i].first[1],
                      w->services[i].last[1]);
    }
    ds_put_cstr(&ds, "},\n \"tenants\": {");
    for (int i = 0; i < w->n_tenants; i++) {
        if (tenants[i]) {
            world_put_comma(&ds);
            ds_put_cstr(&ds, tenants[i]);
        }
    }
    ds_put_char(&ds, '}');
    put_named(&ds, w, "peerings", PEERING);
    put_named(&ds, w, "guardrails", GUARDRAIL);
    put_bindings(&ds, w);
    world_put_externals(&ds, w);
    ds_put_cstr(&ds, "}\n");

    const char *text = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

const char *
world_text(const struct world *w, struct arena *arena)
{
    const char *tenants[MAX_TENANTS] = { NULL };

    for (int i = 0; i < w->n_tenants; i++) {
        if (!w->tenants[i].left_out) {
            tenants[i] = world_tenant_text(w, i, arena);
        }
    }
    return world_text_of(w, tenants, arena);
}
