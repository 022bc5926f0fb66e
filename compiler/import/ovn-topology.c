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
#include "import/name.h"
#include "packets.h"
#include "sema/northbound.h"
#include "sset.h"
#include "util.h"

/* A switch is a network.  Those that a router joins are a tenant's, as are
 * those that Bulkhead has called TENANT/NETWORK. */

/* What has no place in an intent. */
static const struct {
    const char *table, *cause, *remedy;
    bool error;                 /* Without it more would pass. */
    bool ours;                  /* Bulkhead writes such rows, too. */
} unkept[] = {
    { "Copp", "what the control plane takes is not kept",
      "the switch protects itself otherwise", false, true },
    { "DHCP_Options", "OVN's DHCP server is not kept",
      "say \"dhcp\": \"native\" of the network, or name an endpoint that "
      "serves it", false, true },
    { "DNS", "OVN's DNS server is not kept",
      "let an endpoint serve names", false, false },
    { "Forwarding_Group", "it is not kept", "it does not pass", false, false },
    { "Gateway_Chassis", "the way out is not kept",
      "say it as an external, with its nodes", false, false },
    { "HA_Chassis_Group", "the way out is not kept",
      "say it as an external, with its nodes", false, false },
    { "Load_Balancer", "its addresses are translated, which is not kept",
      "traffic to them does not pass", false, false },
    { "Logical_Router_Policy", "what it drops or sends elsewhere would pass",
      "say it as a rule in the intent after the import, and remove it from a "
      "copy of the dump", true, false },
    { "Mirror", "copies of packets are not kept",
      "set a mirror of the bridge", false, false },
    { "NAT", "the translation of addresses is not kept",
      "traffic that needs it does not pass", false, false },
};

const char *
ovn_clean_name(struct ovn *m, const char *s)
{
    char *name = arena_printf(m->arena, "%s%s",
                              strchr("._-", s[0]) ? "x" : "", s);

    for (char *p = name; *p; p++) {
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                    "0123456789._-", *p)) {
            *p = p == name ? 'x' : '_';
        }
    }
    return import_name(m->arena, name);
}

const char *
ovn_unique_name(struct ovn *m, struct sset *taken, const char *s)
{
    const char *name = s;

    for (int i = 2; !sset_add(taken, name); i++) {
        name = import_name(m->arena, arena_printf(m->arena, "%s.%d", s, i));
    }
    return name;
}

bool
ovn_parse_cidr(const char *s, struct address *a)
{
    unsigned int plen;
    ovs_be32 ip4;
    char *error;

    *a = (struct address) { .plen = 128 };
    error = ip_parse_cidr(s, &ip4, &plen);
    if (!error) {
        in6_addr_set_mapped_ipv4(&a->ip, ip4);
        plen += 96;
    } else {
        free(error);
        error = ipv6_parse_cidr(s, &a->ip, &plen);
        if (error || IN6_IS_ADDR_V4MAPPED(&a->ip)) {
            free(error);
            return false;
        }
    }
    a->plen = plen;
    return true;
}

bool
ovn_parse_prefix(const char *s, struct address *a)
{
    struct in6_addr mask;

    if (!ovn_parse_cidr(s, a)) {
        return false;
    }
    mask = ipv6_create_mask(a->plen);
    a->ip = ipv6_addr_bitand(&a->ip, &mask);
    return true;
}

static void
report_unkept(struct ovn *m)
{
    for (size_t i = 0; i < ARRAY_SIZE(unkept); i++) {
        const struct ovn_table *table = ovn_table(m, unkept[i].table);

        for (size_t j = 0; table && j < table->rows.n; j++) {
            if (!unkept[i].ours || !ovn_is_ours(m, &table->rows.v[j])) {
                (unkept[i].error ? ovn_error : ovn_warn)(
                    m, &table->rows.v[j], unkept[i].remedy, "%s",
                    unkept[i].cause);
            }
        }
    }
}

/* Is an optional "enabled" not false? */
static bool
is_enabled(struct ovn *m, const struct ovn_row *row)
{
    value_vec atoms = ovn_atoms(m, row, "enabled");

    if (atoms.n && atoms.v[0]->type != VALUE_BOOLEAN) {
        ovn_error(m, row, "give what 'ovsdb-client -f json dump DATABASE "
                  "OVN_Northbound' prints",
                  "\"enabled\" must be true or false");
    }
    return !atoms.n || atoms.v[0]->type != VALUE_BOOLEAN
           || atoms.v[0]->boolean;
}

/* Routers, by the UUIDs of their ports. */
static void
read_routers(struct ovn *m)
{
    const struct ovn_table *table = ovn_table(m, "Logical_Router");

    for (size_t i = 0; i < table->rows.n; i++) {
        const struct ovn_row *row = &table->rows.v[i];
        struct ovn_router *router = arena_zalloc(m->arena, sizeof *router);

        router->row = row;
        router->name = ovn_string(m, row, "name");
        router->ports = ovn_refs(m, row, "ports", "Logical_Router_Port");
        if (!is_enabled(m, row)) {
            ovn_warn(m, row, "its networks have no gateways then",
                     "it is not enabled");
            continue;
        }
        for (size_t j = 0; j < router->ports.n; j++) {
            const struct ovn_row *port = router->ports.v[j];

            if (is_enabled(m, port)) {
                shash_replace(&m->routers, ovn_uuid(m, port), router);
            }
        }
    }
}

/* The switch's ports to routers; warns of what else is no endpoint. */
static void
read_gateways(struct ovn *m, struct ovn_switch *s, const ovn_row_vec *ports)
{
    for (size_t i = 0; i < ports->n; i++) {
        const struct ovn_row *row = ports->v[i];
        const char *type = ovn_string(m, row, "type");
        const char *peer = ovn_key(m, row, "options", "router-port");
        const struct ovn_row *port = NULL;
        struct ovn_router *router = NULL;

        if (!strcmp(type, "router") && peer && is_enabled(m, row)) {
            port = ovn_find(m, "Logical_Router_Port", peer);
            router = port ? shash_find_data(&m->routers, ovn_uuid(m, port))
                          : NULL;
        } else if (type[0]) {
            ovn_warn(m, row, "what is behind it is no endpoint: say it as an "
                     "external", "a port of type '%s' is not kept", type);
        }
        if (router && s->router && router != s->router) {
            ovn_warn(m, row, "what passes between them by this switch does "
                     "not", "the switch joins two routers");
        } else if (router) {
            s->router = router;
            *vec_push(m->arena, &s->gateways) = port;
        }
    }
}

static struct ovn_tenant *
add_tenant(struct ovn *m, const char *s)
{
    struct ovn_tenant *tenant = arena_zalloc(m->arena, sizeof *tenant);
    const char *name = ovn_clean_name(m, s);

    tenant->name = name;
    for (int i = 2; !shash_add_once(&m->by_name, tenant->name, tenant); i++) {
        tenant->name = import_name(m->arena,
                                   arena_printf(m->arena, "%s.%d", name, i));
    }
    tenant->names = xmalloc(sizeof *tenant->names);
    sset_init(tenant->names);
    *vec_push(m->arena, &m->tenants) = tenant;
    return tenant;
}

/* The tenant of a switch of ours, whose name says it. */
static struct ovn_tenant *
our_tenant(struct ovn *m, const struct ovn_switch *s, const char *name)
{
    const char *slash = strchr(name, '/');
    const char *wanted = arena_strndup(m->arena, name, slash - name);
    struct ovn_tenant *tenant = shash_find_data(&m->by_name, wanted);

    if (!tenant) {
        tenant = add_tenant(m, wanted);
    }
    if (s->router && tenant->router && s->router != tenant->router) {
        ovn_error(m, s->row, "make it one again, with bulkhead",
                  "networks of a tenant of Bulkhead's have two routers");
    }
    return tenant;
}

static void
read_switch(struct ovn *m, const struct ovn_row *row, bool ours)
{
    ovn_row_vec ports = ovn_refs(m, row, "ports", "Logical_Switch_Port");
    struct ovn_switch *s = arena_zalloc(m->arena, sizeof *s);
    const char *name = ovn_string(m, row, "name");
    const char *slash = ours ? strchr(name, '/') : NULL;

    s->row = row;
    s->ours = slash != NULL;
    for (size_t i = 0; i < ports.n; i++) {
        shash_replace(&m->at, ovn_string(m, ports.v[i], "name"), s);
    }
    read_gateways(m, s, &ports);
    s->tenant = (slash ? our_tenant(m, s, name)
                 : s->router ? s->router->tenant : NULL);
    if (!s->tenant) {
        const char *title = s->router ? s->router->name : name;

        s->tenant = add_tenant(m, title[0] ? title : ovn_uuid(m, row));
    }
    if (s->router) {
        s->tenant->router = s->router;
        s->router->tenant = s->tenant;
    }
    s->name = ovn_clean_name(m, slash ? slash + 1
                             : name[0] ? name : ovn_uuid(m, row));
    *vec_push(m->arena, &m->switches) = s;
}

/* Those of ours first: they keep their names. */
static void
read_switches(struct ovn *m)
{
    const struct ovn_table *table = ovn_table(m, "Logical_Switch");

    for (int ours = 1; ours >= 0; ours--) {
        for (size_t i = 0; i < table->rows.n; i++) {
            if (ovn_is_ours(m, &table->rows.v[i]) == ours) {
                read_switch(m, &table->rows.v[i], ours);
            }
        }
    }
    for (size_t i = 0; i < m->switches.n; i++) {
        struct ovn_switch *s = m->switches.v[i];

        s->name = ovn_unique_name(
            m, s->tenant->names, arena_printf(m->arena, "n %s", s->name)) + 2;
    }
}

/* Adds the addresses of "MAC IP...", all or none. */
static void
read_addresses(struct ovn *m, struct ovn_endpoint *e, const char *text)
{
    char *copy = arena_strdup(m->arena, text), *save = NULL;
    const char *mac = strtok_r(copy, " ", &save);
    struct eth_addr parsed;

    if (!mac || !eth_addr_from_string(mac, &parsed)
        || (e->mac && strcmp(e->mac, mac))) {
        ovn_warn(m, e->row, "an endpoint has one MAC, and addresses",
                 "left out: '%s'", text);
        return;
    }
    e->mac = mac;
    for (const char *s; (s = strtok_r(NULL, " ", &save)); ) {
        struct address a;

        if (strcmp(s, "dynamic") && (!ovn_parse_prefix(s, &a)
                                     || a.plen != 128)) {
            ovn_warn(m, e->row, "give the port an address",
                     "left out: '%s' is not an address", s);
        } else if (strcmp(s, "dynamic")) {
            *vec_push(m->arena, &m->addresses) = (struct ovn_address) {
                a.ip, m->endpoints.n - 1,
            };
            e->n++;
        }
    }
}

/* May it send what an endpoint may not? */
static void
check_security(struct ovn *m, const struct ovn_endpoint *e)
{
    value_vec atoms = ovn_atoms(m, e->row, "port_security");

    for (size_t i = 0; i < atoms.n; i++) {
        char *save = NULL, *s = (atoms.v[i]->type == VALUE_STRING
                                 ? arena_strdup(m->arena, atoms.v[i]->string)
                                 : NULL);

        for (s = s ? strtok_r(s, " ", &save) : NULL; s;
             s = strtok_r(NULL, " ", &save)) {
            struct address a;
            bool found = e->mac && !strcmp(s, e->mac);

            for (size_t j = e->first; j < m->addresses.n && !found; j++) {
                found = ovn_parse_prefix(s, &a) && a.plen == 128
                        && ipv6_addr_equals(&a.ip, &m->addresses.v[j].ip);
            }
            if (!found) {
                ovn_warn(m, e->row, "it has its own MAC and addresses only",
                         "that it may also send as '%s' is not kept", s);
            }
        }
    }
}

/* Is a port an endpoint?  If not, warns why; 'pending': OVN is to give it an
 * address. */
static bool
is_endpoint(struct ovn *m, const struct ovn_endpoint *e, bool pending)
{
    const char *parent = ovn_string(m, e->row, "parent_name");

    if (parent[0]) {
        ovn_warn(m, e->row, "an endpoint has a port of its own",
                 "left out: it is in the port '%s'", parent);
    } else if (!is_enabled(m, e->row)) {
        ovn_warn(m, e->row, "enable it, and import again",
                 "left out: it is not enabled");
    } else if (!e->n && pending) {
        ovn_warn(m, e->row, "import again when it has one",
                 "left out: OVN has not given it an address yet");
    } else if (!e->n) {
        ovn_warn(m, e->row, "give it a MAC and an address",
                 "left out: it has no address");
    } else {
        return true;
    }
    return false;
}

static void
read_endpoint(struct ovn *m, struct ovn_switch *s, const struct ovn_row *row)
{
    const char *name = ovn_string(m, row, "name");
    struct ovn_endpoint *e = vec_push(m->arena, &m->endpoints);
    value_vec atoms = ovn_atoms(m, row, "addresses");
    size_t len = strlen(s->tenant->name);
    bool pending = false;

    *e = (struct ovn_endpoint) { .row = row, .at = s,
                                 .first = m->addresses.n };
    for (size_t i = 0; i < atoms.n; i++) {
        const char *text = (atoms.v[i]->type == VALUE_STRING
                            ? atoms.v[i]->string : "");

        if (!strncmp(text, "dynamic", 7)) {
            text = ovn_string(m, row, "dynamic_addresses");
            pending |= !text[0];
        }
        if (text[0]) {
            read_addresses(m, e, text);
        }
    }
    check_security(m, e);
    if (!is_endpoint(m, e, pending)) {
        m->addresses.n = e->first;
        m->endpoints.n--;
        return;
    }
    if (ovn_is_ours(m, row) && !strncmp(name, s->tenant->name, len)
        && name[len] == '/') {
        name += len + 1;
    }
    e->name = ovn_unique_name(m, s->tenant->names, arena_printf(
        m->arena, "e %s", ovn_clean_name(m, name))) + 2;
    s->n_endpoints++;
    shash_add_once(&m->ports, ovn_string(m, row, "name"),
                   (void *) (uintptr_t) m->endpoints.n);
}

static void
read_endpoints(struct ovn *m)
{
    for (size_t i = 0; i < m->switches.n; i++) {
        struct ovn_switch *s = m->switches.v[i];
        ovn_row_vec ports = ovn_refs(m, s->row, "ports",
                                     "Logical_Switch_Port");

        for (size_t j = 0; j < ports.n; j++) {
            if (!ovn_string(m, ports.v[j], "type")[0]) {
                read_endpoint(m, s, ports.v[j]);
            }
        }
    }
}

static void
make_sets(struct ovn *m)
{
    m->n = m->addresses.n;
    m->ip4 = ovn_empty(m);
    m->ip6 = ovn_empty(m);
    for (size_t i = 0; i < m->switches.n; i++) {
        m->switches.v[i]->own = ovn_empty(m);
    }
    for (size_t i = 0; i < m->tenants.n; i++) {
        m->tenants.v[i]->own = ovn_empty(m);
    }
    for (size_t i = 0; i < m->n; i++) {
        const struct ovn_address *a = &m->addresses.v[i];
        struct ovn_switch *s = m->endpoints.v[a->endpoint].at;

        bitmap_set1(IN6_IS_ADDR_V4MAPPED(&a->ip) ? m->ip4 : m->ip6, i);
        bitmap_set1(s->own, i);
        bitmap_set1(s->tenant->own, i);
    }
}

void
ovn_read_topology(struct ovn *m)
{
    report_unkept(m);
    read_routers(m);
    read_switches(m);
    read_endpoints(m);
    make_sets(m);
}
