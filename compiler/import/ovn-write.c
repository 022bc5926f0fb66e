/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <stdlib.h>
#include <string.h>

#include "bitmap.h"
#include "import/import.h"
#include "import/name.h"
#include "intent/decode.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "sema/northbound.h"
#include "sset.h"
#include "util.h"

/* Tenants with their networks and endpoints, and the whole intent. */

enum { MAX_WARNINGS = 1000 };

/* "MAC IP/LENGTH..." of the router's ports: the gateway, and its subnet. */
static void
put_gateways(struct ovn *m, const struct ovn_switch *s, struct json *network,
             struct json *subnets, ovn_set covered)
{
    struct json *gateways = json_array_create_empty();

    for (size_t i = 0; i < s->gateways.n; i++) {
        value_vec atoms = ovn_atoms(m, s->gateways.v[i], "networks");

        for (size_t j = 0; j < atoms.n; j++) {
            const char *text = (atoms.v[j]->type == VALUE_STRING
                                ? atoms.v[j]->string : "");
            struct address a, subnet;
            const char *slash = strchr(text, '/');

            if (slash && ovn_parse_prefix(text, &subnet)
                && ovn_parse_prefix(arena_strndup(m->arena, text,
                                                  slash - text), &a)
                && !in6_is_lla(&a.ip)) {
                import_add_address(gateways, &a, false);
                if (subnets) {
                    import_add_address(subnets, &subnet, true);
                    ovn_add(m, covered, ovn_within(m, &subnet));
                }
            }
        }
    }
    if (gateways->array.n) {
        json_object_put(network, "gateway", gateways);
    } else {
        json_destroy(gateways);
    }
}

/* Those that Bulkhead has written; or those of the gateways, and each address
 * that is in none by itself. */
static struct json *
put_subnets(struct ovn *m, const struct ovn_switch *s, struct json *network)
{
    const char *said = (s->ours ? ovn_key(m, s->row, "external_ids",
                                          NB_SUBNETS_KEY) : NULL);
    struct json *subnets = json_array_create_empty();
    ovn_set covered = ovn_empty(m);

    if (said) {
        char *save = NULL, *copy = arena_strdup(m->arena, said);

        for (const char *w = strtok_r(copy, " ", &save); w;
             w = strtok_r(NULL, " ", &save)) {
            json_array_add(subnets, json_string_create(w));
        }
        put_gateways(m, s, network, NULL, covered);
        return subnets;
    }
    put_gateways(m, s, network, subnets, covered);
    for (size_t i = 0; i < m->n; i++) {
        if (bitmap_is_set(s->own, i) && !bitmap_is_set(covered, i)) {
            struct address a = { .ip = m->addresses.v[i].ip, .plen = 128 };

            import_add_address(subnets, &a, true);
        }
    }
    return subnets;
}

/* The uplink that all endpoints of a switch take; NULL: none, or several. */
static const char *
uplink_of(struct ovn *m, const struct ovn_switch *s)
{
    const char *uplink = NULL;

    for (size_t i = 0; i < m->endpoints.n; i++) {
        const struct ovn_endpoint *e = &m->endpoints.v[i];
        const char *own = (e->at == s && ovn_is_ours(m, e->row)
                           ? ovn_key(m, e->row, "external_ids",
                                     NB_UPLINK_KEY) : NULL);

        if (e->at == s && (!own || (uplink && strcmp(uplink, own)))) {
            return NULL;
        }
        uplink = e->at == s ? own : uplink;
    }
    return uplink;
}

/* The key that tunnels have, or 0. */
static int
vni_of(struct ovn *m, const struct ovn_switch *s)
{
    const char *key = ovn_key(m, s->row, "other_config", "requested-tnl-key");
    long int vni = key ? strtol(key, NULL, 10) : 0;

    return vni > 0 && vni < 1 << 24 ? vni : 0;
}

/* The mtu that the intent said of a network of ours, or 0. */
static int
mtu_of(struct ovn *m, const struct ovn_switch *s)
{
    const char *said = (s->ours ? ovn_key(m, s->row, "external_ids",
                                          NB_MTU_KEY) : NULL);
    int mtu;

    if (!said) {
        return 0;
    }
    if (strspn(said, "0123456789") != strlen(said)
        || !str_to_int(said, 10, &mtu) || mtu < MIN_MTU || mtu > MAX_MTU) {
        ovn_warn(m, s->row, "say the \"mtu\" of the network", "not kept: "
                 NB_MTU_KEY" must be a number from %d to %d, and is '%s'",
                 MIN_MTU, MAX_MTU, said);
        return 0;
    }
    return mtu;
}

static struct json *
network_to_json(struct ovn *m, const struct ovn_switch *s, int vni)
{
    struct json *network = json_object_create();
    const char *uplink = m->fabric ? uplink_of(m, s) : NULL;
    int mtu = mtu_of(m, s);

    json_object_put(network, "vni", json_integer_create(vni));
    json_object_put(network, "subnets", put_subnets(m, s, network));
    if (uplink) {
        json_object_put_string(network, "uplink", uplink);
    }
    if (mtu) {
        json_object_put(network, "mtu", json_integer_create(mtu));
    }
    if (s->native_dhcp) {
        json_object_put_string(network, "dhcp", "native");
    }
    return network;
}

static struct json *
endpoint_to_json(struct ovn *m, const struct ovn_endpoint *e, bool *told)
{
    struct json *endpoint = json_object_create();
    struct json *addresses = json_array_create_empty();
    ovn_set own = ovn_empty(m);
    const char *node = ovn_key(m, e->row, "options", "requested-chassis");
    const char *interface = ovn_key(m, e->row, "external_ids",
                                    NB_INTERFACE_KEY);
    struct json *bandwidth;

    bitmap_set_multiple(own, e->first, e->n, true);
    for (size_t i = e->first; i < e->first + e->n; i++) {
        struct address a = { .ip = m->addresses.v[i].ip, .plen = 128 };

        import_add_address(addresses, &a, false);
    }
    json_object_put_string(endpoint, "network", e->at->name);
    json_object_put_string(endpoint, "mac", e->mac);
    json_object_put(endpoint, "addresses", addresses);
    if (interface && ovn_is_ours(m, e->row)) {
        json_object_put_string(endpoint, "interface", interface);
    }
    if (node && m->fabric) {
        json_object_put_string(endpoint, "node", node);
    } else if (node && !*told) {
        *told = true;
        ovn_warn(m, e->row, "give a file with the \"fabric\" of the intent "
                 "as well", "the chassis that it and other ports request are "
                 "not kept: the database does not say what nodes are");
    }
    bandwidth = (ovn_has(m, own, e->at->tenant->own) ? NULL
                 : ovn_bandwidth(m, own, false));
    if (bandwidth) {
        json_object_put(endpoint, "bandwidth", bandwidth);
    }
    return endpoint;
}

/* Keys that switches ask for first; the others get what is left. */
static void
put_networks(struct ovn *m, struct shash *tenants)
{
    unsigned long *taken = bitmap_allocate(1 << 24);
    int next = 1;

    for (int asked = 1; asked >= 0; asked--) {
        for (size_t i = 0; i < m->switches.n; i++) {
            const struct ovn_switch *s = m->switches.v[i];
            int vni = vni_of(m, s);

            if (!s->n_endpoints || (vni != 0) != asked) {
                continue;
            }
            while (!vni) {
                vni = bitmap_is_set(taken, next) ? 0 : next;
                next++;
            }
            bitmap_set1(taken, vni);
            json_object_put(
                shash_find_data(json_object(shash_find_data(
                    tenants, s->tenant->name)), "networks"),
                s->name, network_to_json(m, s, vni));
        }
    }
    free(taken);
}

static struct json *
tenants_to_json(struct ovn *m)
{
    struct json *tenants = json_object_create();
    bool told = false;

    for (size_t i = 0; i < m->tenants.n; i++) {
        const struct ovn_tenant *t = m->tenants.v[i];
        struct json *tenant = json_object_create();
        struct json *bandwidth, *limits;

        if (sset_contains(m->defaults, t->name)) {
            json_object_put_string(tenant, "default", "allow");
        }
        bandwidth = (ovn_is_empty(m, t->own) ? NULL
                     : ovn_bandwidth(m, t->own, true));
        if (bandwidth) {
            json_object_put(tenant, "bandwidth", bandwidth);
        }
        limits = ovn_upcalls(m, t);
        if (limits) {
            json_object_put(tenant, "limits", limits);
        }
        json_object_put(tenant, "networks", json_object_create());
        json_object_put(tenant, "endpoints", json_object_create());
        json_object_put(tenant, "rules",
                        shash_find_data(&m->rules, t->name));
        json_object_put(tenants, t->name, tenant);
    }
    put_networks(m, json_object(tenants));
    for (size_t i = 0; i < m->endpoints.n; i++) {
        const struct ovn_endpoint *e = &m->endpoints.v[i];
        struct json *tenant = shash_find_data(json_object(tenants),
                                              e->at->tenant->name);

        json_object_put(shash_find_data(json_object(tenant), "endpoints"),
                        e->name, endpoint_to_json(m, e, &told));
    }
    ovn_report_limits(m);
    return tenants;
}

static struct json *
fabric_to_json(struct ovn *m)
{
    struct json *fabric;

    if (m->fabric) {
        const struct span *span = &m->fabric->span;
        char *text = xmemdup0(span->source->text + span->start,
                              span->end - span->start);

        fabric = json_from_string(text);
        free(text);
        return fabric;
    }
    fabric = json_object_create();
    json_object_put(fabric, "nodes", json_object_create());
    return fabric;
}

const char *
ovn_write(struct ovn *m)
{
    struct json *intent = json_object_create();
    const char *text;
    char *s;

    json_object_put(intent, "version", json_integer_create(1));
    json_object_put(intent, "fabric", fabric_to_json(m));
    json_object_put(intent, "classes", m->classes);
    json_object_put(intent, "services", m->services);
    json_object_put(intent, "tenants", tenants_to_json(m));
    json_object_put(intent, "peerings", m->peerings);
    json_object_put(intent, "guardrails", m->guardrails);
    s = json_to_string(intent, JSSF_SORT);
    text = arena_strdup(m->arena, s);
    free(s);
    json_destroy(intent);
    return text;
}

/* What has rows: switches and ports at least. */
static bool
has_endpoints(struct ovn *m)
{
    if (!m->diags->n_errors && !m->endpoints.n) {
        struct diag *d = diag_error(m->diags, (struct span) { NULL, 0, 0 },
                                    NULL, "there are no ports that could be "
                                    "endpoints");

        diag_remedy(m->diags, d, "give the database that 'ovn-nbctl show' "
                    "lists ports of");
    }
    return !m->diags->n_errors;
}

static const char *
import(struct ovn *m)
{
    ovn_read_topology(m);
    if (!has_endpoints(m)) {
        return NULL;
    }
    ovn_read_routes(m);
    ovn_read_dhcp(m);
    ovn_read_acls(m);
    ovn_read_qos(m);
    if (m->diags->n_errors) {
        return NULL;
    }
    m->services = json_object_create();
    m->classes = json_object_create();
    m->peerings = json_object_create();
    m->guardrails = json_object_create();
    for (size_t i = 0; i < m->tenants.n; i++) {
        shash_add(&m->rules, m->tenants.v[i]->name,
                  json_array_create_empty());
    }
    ovn_write_rules(m);
    return ovn_write(m);
}

/* Frees what is in no arena. */
static void
destroy(struct ovn *m)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &m->tables) {
        struct ovn_table *table = node->data;

        shash_destroy(&table->by_uuid);
        shash_destroy(&table->by_name);
    }
    for (size_t i = 0; i < m->tenants.n; i++) {
        sset_destroy(m->tenants.v[i]->names);
        free(m->tenants.v[i]->names);
    }
    sset_destroy(m->names);
    sset_destroy(m->gaps);
    sset_destroy(m->defaults);
    shash_destroy(&m->tables);
    shash_destroy(&m->routers);
    shash_destroy(&m->by_name);
    shash_destroy(&m->ports);
    shash_destroy(&m->at);
    shash_destroy(&m->sets);
    shash_destroy(&m->marks);
    shash_destroy(&m->rules);
}

const char *
import_ovn(const struct source *const sources[], size_t n,
           struct arena *arena, struct diags *diags)
{
    struct sset names = SSET_INITIALIZER(&names);
    struct sset gaps = SSET_INITIALIZER(&gaps);
    struct sset defaults = SSET_INITIALIZER(&defaults);
    struct ovn m = {
        .arena = arena, .diags = diags, .names = &names, .gaps = &gaps,
        .defaults = &defaults,
        .tables = SHASH_INITIALIZER(&m.tables),
        .routers = SHASH_INITIALIZER(&m.routers),
        .by_name = SHASH_INITIALIZER(&m.by_name),
        .ports = SHASH_INITIALIZER(&m.ports),
        .at = SHASH_INITIALIZER(&m.at),
        .sets = SHASH_INITIALIZER(&m.sets),
        .marks = SHASH_INITIALIZER(&m.marks),
        .rules = SHASH_INITIALIZER(&m.rules),
    };
    const char *text = NULL;
    bool right = true;

    diags->max = MAX_WARNINGS;
    for (size_t i = 0; i < n && right; i++) {
        right = ovn_read_tables(&m, sources[i]);
    }
    if (right && ovn_check_tables(&m)) {
        text = import(&m);
    }
    destroy(&m);
    return diags->n_errors ? NULL : text;
}
