/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "sema/northbound.h"
#include "util.h"

/* Native DHCP of Bulkhead's networks.  What their options say makes the ACLs
 * that Bulkhead wrote beside them; any other ACL is no part of it. */

/* The options of ours that the endpoint has, of a column; or NULL. */
static const struct ovn_row *
find_options(struct ovn *m, const struct ovn_endpoint *e, const char *column)
{
    ovn_row_vec rows = ovn_refs(m, e->row, column, "DHCP_Options");

    return rows.n && ovn_is_ours(m, rows.v[0]) ? rows.v[0] : NULL;
}

/* Subnets of the network that have options, and their gateways. */
static const char *
read_renewals(struct ovn *m, const struct ovn_switch *s,
              const struct shash *options)
{
    const char *said = ovn_key(m, s->row, "external_ids", NB_SUBNETS_KEY);
    char *copy = arena_strdup(m->arena, said ? said : ""), *save = NULL;
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;

    for (const char *w = strtok_r(copy, " ", &save); w;
         w = strtok_r(NULL, " ", &save)) {
        const struct ovn_row *row = shash_find_data(options, w);
        const char *gateway = row ? ovn_key(m, row, "options", "router")
                              : NULL;

        if (gateway) {
            nb_add_renewal(&ds, w, gateway);
        }
    }
    text = arena_strdup(m->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

/* Reads the DHCP of a switch, of which 'e' is the first endpoint. */
static void
read_switch(struct ovn *m, struct ovn_switch *s, const struct ovn_endpoint *e)
{
    struct shash options = SHASH_INITIALIZER(&options);
    struct nb_dhcp dhcp = {
        .network = ovn_string(m, s->row, "name"), .ip6 = true,
    };

    for (size_t i = 0; i < s->n_endpoints; i++) {
        const struct ovn_row *row4 = find_options(m, &e[i], "dhcpv4_options");
        const char *mac = row4 ? ovn_key(m, row4, "options", "server_mac")
                          : NULL;

        s->native_dhcp |= row4 || find_options(m, &e[i], "dhcpv6_options");
        if (mac) {
            shash_replace(&options, ovn_string(m, row4, "cidr"), row4);
            dhcp.server_mac = mac;
        }
    }
    if (s->ours && s->native_dhcp) {
        dhcp.renewals = dhcp.server_mac ? read_renewals(m, s, &options) : NULL;
        s->dhcp_acls = nb_dhcp_acls(m->arena, &dhcp);
    }
    shash_destroy(&options);
}

void
ovn_read_dhcp(struct ovn *m)
{
    for (size_t i = 0; i < m->endpoints.n; ) {
        struct ovn_switch *s = m->endpoints.v[i].at;

        read_switch(m, s, &m->endpoints.v[i]);
        i += s->n_endpoints;
    }
}

static bool
is_match(struct ovn *m, const struct ovn_row *row,
         const struct ovn_switch *s, const struct nb_acl *acl)
{
    const char *name = ovn_string(m, s->row, "name");

    return !strcmp(ovn_string(m, row, "match"), arena_printf(
        m->arena, "%s == @%s && %s", acl->to_lport ? "outport" : "inport",
        nb_mangle(m->arena, NB_DHCP_GROUP, name), acl->match));
}

bool
ovn_is_of_dhcp(struct ovn *m, const struct ovn_row *row,
               const struct ovn_switch *s)
{
    const char *id = ovn_key(m, row, "external_ids", NB_ID_KEY);
    const char *direction = ovn_string(m, row, "direction");
    const char *action = ovn_string(m, row, "action");
    int64_t priority = ovn_number(m, row, "priority", NULL, -1);

    if (!id || strncmp(id, NB_DHCP_ID, strlen(NB_DHCP_ID))
        || !ovn_is_ours(m, row)
        || ovn_number(m, row, "tier", NULL, 0)
        || ovn_key(m, row, "options", "apply-after-lb")) {
        return false;
    }
    for (size_t i = 0; i < s->dhcp_acls.n; i++) {
        const struct nb_acl *acl = &s->dhcp_acls.v[i];

        if (acl->priority == priority && !strcmp(acl->action, action)
            && !strcmp(direction, acl->to_lport ? "to-lport" : "from-lport")
            && is_match(m, row, s, acl)) {
            return true;
        }
    }
    return false;
}
