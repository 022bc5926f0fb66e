/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/attached-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/source.h"
#include "intent/intent.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/packets.h"
#include "packets.h"
#include "push/ovsdb.h"
#include "sset.h"
#include "util.h"

void
attached_init(struct attached *attached)
{
    shash_init(&attached->all);
    attached->any_doubted = false;
}

static void
attachment_destroy(struct attachment *a)
{
    free(a->interface);
    free(a->mac);
    free(a->addresses);
    free(a->name);
    free(a->text);
    free(a->refused);
    free(a);
}

void
attached_destroy(struct attached *attached)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &attached->all) {
        attachment_destroy(node->data);
    }
    shash_destroy(&attached->all);
}

static void
put_member(struct ds *ds, const char *name, const char *value)
{
    if (value) {
        ds_put_format(ds, ", \"%s\": ", name);
        json_string_escape(value, ds);
    }
}

/* What the interface says, as the binding of an intent. */
static char *
binding_text(const struct bridge_attachment *said, const char *node)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&ds, "{ \"version\": 1, \"bindings\": { ");
    json_string_escape(said->endpoint, &ds);
    ds_put_cstr(&ds, ": { \"node\": ");
    json_string_escape(node, &ds);
    put_member(&ds, "interface", said->interface);
    put_member(&ds, "mac", said->mac);
    if (said->addresses) {
        char *addresses = xstrdup(said->addresses), *save = NULL;
        const char *comma = "";

        ds_put_cstr(&ds, ", \"addresses\": [");
        for (char *one = strtok_r(addresses, ", ", &save); one;
             one = strtok_r(NULL, ", ", &save)) {
            ds_put_cstr(&ds, comma);
            json_string_escape(one, &ds);
            comma = ", ";
        }
        ds_put_char(&ds, ']');
        free(addresses);
    }
    ds_put_cstr(&ds, " } } }");
    return ds_steal_cstr(&ds);
}

static void
add_tenant(struct sset *tenants, const char *endpoint)
{
    char *tenant = xmemdup0(endpoint, strcspn(endpoint, "/"));

    sset_add(tenants, tenant);
    free(tenant);
}

/* Takes what 'n' interfaces say of one endpoint, and returns true if that is
 * new.  Which of several is right nobody knows. */
static bool
take(struct attached *attached, const struct bridge_attachment *said, size_t n,
     const char *node, const char *bridge)
{
    struct attachment *a = shash_find_data(&attached->all, said->endpoint);
    char *text;

    if (a && n == 1 && !a->twice && !strcmp(a->interface, said->interface)
        && nullable_string_is_equal(a->mac, said->mac)
        && nullable_string_is_equal(a->addresses, said->addresses)) {
        a->here = true;
        a->by_id = said->by_id;
        return false;
    }
    text = (n == 1 ? binding_text(said, node)
            : xasprintf("interface %s says so too", said[1].interface));
    if (a && n > 1 && !strcmp(a->interface, said->interface)
        && !strcmp(a->text, text)) {
        a->here = true;
        free(text);
        return false;
    }
    if (a) {
        shash_find_and_delete(&attached->all, said->endpoint);
        attachment_destroy(a);
    }
    a = xzalloc(sizeof *a);
    a->interface = xstrdup(said->interface);
    a->mac = nullable_xstrdup(said->mac);
    a->addresses = nullable_xstrdup(said->addresses);
    a->name = xasprintf("external_ids of interface %s of bridge %s",
                        said->interface, bridge);
    a->text = text;
    a->by_id = said->by_id;
    a->twice = n > 1;
    a->refused = a->twice ? xstrdup(text) : NULL;
    a->here = true;
    shash_add(&attached->all, said->endpoint, a);
    return true;
}

/* Deletes what no interface says any more. */
static void
drop(struct attached *attached, struct sset *tenants)
{
    struct shash_node *node;

    SHASH_FOR_EACH_SAFE (node, &attached->all) {
        struct attachment *a = node->data;

        if (!a->here) {
            add_tenant(tenants, node->name);
            attachment_destroy(a);
            shash_delete(&attached->all, node);
        }
    }
}

void
attached_update(struct attached *attached, const struct bridge_info *info,
                const char *node, const char *bridge, struct sset *tenants)
{
    const struct bridge_attachment *said = info->attachments.v;
    size_t n = info->attachments.n;
    struct shash_node *shash_node;

    SHASH_FOR_EACH (shash_node, &attached->all) {
        struct attachment *a = shash_node->data;

        a->here = false;
    }
    for (size_t i = 0, same = 1; i < n; i += same, same = 1) {
        while (i + same < n
               && !strcmp(said[i].endpoint, said[i + same].endpoint)) {
            same++;
        }
        if (take(attached, &said[i], same, node, bridge)) {
            add_tenant(tenants, said[i].endpoint);
        }
    }
    drop(attached, tenants);
}

void
attached_waiting(const struct attached *attached, struct sset *tenants)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &attached->all) {
        const struct attachment *a = node->data;

        if (a->refused && !a->twice) {
            add_tenant(tenants, node->name);
        }
    }
}

const char *
attached_remove_id(const char *interface, struct arena *arena)
{
    return arena_printf(arena, "ovs-vsctl remove interface %s external_ids "
                        "iface-id", interface);
}

/* What is said of an endpoint, and of what it is added to. */
struct joining {
    const struct attachment *said;
    const char *name;           /* Of the endpoint. */
    struct arena *arena;
    struct diags *diags;
};

/* The intent says something else than what stands 'at'. */
static void
report_other(const struct joining *j, const struct value *at, const char *what)
{
    struct diag *d = value_error(j->diags, at, "the intent binds '%s' to %s",
                                 j->name, what);

    diag_remedy(j->diags, d, "attach it as the intent says, take that out of "
                "there, or '%s%s'",
                j->said->by_id ? "" : "bulkhead detach ", j->said->by_id
                ? attached_remove_id(j->said->interface, j->arena) : j->name);
}

/* Is it absent in one of the two, or the same? */
static bool
agree(const struct text *said, const struct text *intended)
{
    return !said->s || !intended->s || !strcmp(said->s, intended->s);
}

static bool
has_all(const address_vec *addresses, const address_vec *of)
{
    for (size_t i = 0; i < of->n; i++) {
        bool found = false;

        for (size_t j = 0; j < addresses->n; j++) {
            found = found || ipv6_addr_equals(&addresses->v[j].ip,
                                              &of->v[i].ip);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* Does 'endpoint' lack what 'said' has? */
static bool
is_needed(const struct intent_endpoint *said,
          const struct intent_endpoint *endpoint)
{
    return (!endpoint->node.s || !endpoint->interface.s
            || (said->mac_text.s && !endpoint->mac_text.s)
            || (said->addresses.n && !endpoint->addresses.n));
}

/* Completes 'endpoint' with 'said'. */
static void
join(const struct joining *j, const struct intent_endpoint *said,
     struct intent_endpoint *endpoint)
{
    if (!agree(&said->node, &endpoint->node)) {
        report_other(j, said->node.at, "another node");
    } else if (!agree(&said->interface, &endpoint->interface)) {
        report_other(j, said->interface.at, "another interface");
    } else if (said->mac_text.s && endpoint->mac_text.s
               && !eth_addr_equals(said->mac, endpoint->mac)) {
        report_other(j, said->mac_text.at, "another MAC");
    } else if (said->addresses.n && endpoint->addresses.n
               && !(has_all(&said->addresses, &endpoint->addresses)
                    && has_all(&endpoint->addresses, &said->addresses))) {
        report_other(j, said->addresses.v[0].at, "other addresses");
    }
    endpoint->node = endpoint->node.s ? endpoint->node : said->node;
    endpoint->interface = (endpoint->interface.s ? endpoint->interface
                           : said->interface);
    if (!endpoint->mac_text.s) {
        endpoint->mac_text = said->mac_text;
        endpoint->mac = said->mac;
    }
    if (!endpoint->addresses.n) {
        endpoint->addresses = said->addresses;
    }
}

bool
attached_join(struct attached *attached, const char *tenant,
              struct intent_endpoint *endpoint, struct arena *arena,
              struct diags *diags)
{
    char *name = xasprintf("%s/%s", tenant, endpoint->name.s);
    struct attachment *a = shash_find_data(&attached->all, name);
    const struct intent *part = NULL;

    if (a) {
        a->used = true;
    }
    if (a && !a->refused) {
        part = intent_parse_part(
            source_create(arena, a->name, arena_strdup(arena, a->text),
                          strlen(a->text)), arena, diags);
        if (part) {
            const struct joining j = {
                .said = a, .name = name, .arena = arena, .diags = diags,
            };
            const struct intent_endpoint *said = &part->bindings.v[0];

            if (is_needed(said, endpoint)) {
                endpoint->said = attached_said(a->mac, a->addresses, arena);
            }
            join(&j, said, endpoint);
        }
        a->lacks = (!endpoint->mac_text.s
                    ? "it has no MAC, here or in the intent; give --mac, and "
                    "--addresses if it has none, to 'bulkhead attach'"
                    : !endpoint->addresses.n
                    ? "it has no addresses, here or in the intent; give "
                    "--addresses to 'bulkhead attach'" : NULL);
    }
    free(name);
    return part != NULL;
}

void
attached_check(const char *endpoint, const char *interface, const char *mac,
               const char *addresses, struct arena *arena, struct diags *diags)
{
    struct bridge_attachment said = {
        .endpoint = endpoint, .interface = interface, .mac = mac,
        .addresses = addresses,
    };
    char *text = binding_text(&said, "node");

    intent_parse_part(
        source_create(arena, endpoint, arena_strdup(arena, text),
                      strlen(text)), arena, diags);
    free(text);
}

/* Why it is left out, or NULL. */
static const char *
reason_for(const struct attachment *a)
{
    return (a->refused ? a->refused : a->lacks ? a->lacks
            : !a->used ? "the intent has no such endpoint" : NULL);
}

const char *
attached_find(const struct attached *attached, const char *endpoint,
              const char **reason)
{
    const struct attachment *a = shash_find_data(&attached->all, endpoint);

    *reason = a ? reason_for(a) : NULL;
    return a && a->settled ? a->interface : NULL;
}

void
attached_refused(const struct attached *attached, struct arena *arena,
                 plan_names *names)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &attached->all) {
        const struct attachment *a = node->data;

        if (reason_for(a)) {
            *vec_push(arena, names) = arena_printf(
                arena, "interface %s as %s: %s", a->interface, node->name,
                reason_for(a));
        }
    }
}
