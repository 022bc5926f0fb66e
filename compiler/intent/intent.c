/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/intent.h"

#include <string.h>

#include "base/nearest.h"
#include "intent/decode.h"

/* The functions of this file mirror the language from the leaves up; the
 * members of each object stand in a table at the top of its function. */

enum {
    MAX_VNI = (1 << 24) - 1,    /* RFC 8926 section 3.4. */
    MAX_VLAN = 4094,            /* IEEE 802.1Q, table 9-2. */
    MAX_DSCP = 63,
    MAX_QUEUE = 7,
};

/* What tenants mark themselves is trusted so far, and no further. */
static void
decode_dscp_in(struct decoder *d, const struct value *v,
               struct intent_class *class)
{
    static const struct member members[] = {
        { "dscp", true }, { "queue", false }, { "limit", true },
        { "burst", true }, { NULL, false },
    };
    struct intent_dscp_in *in = &class->dscp_in;

    if (v && decode_object(d, v, "dscp_in", members)) {
        in->at = v;
        in->dscp = decode_integer(d, v, "dscp", 1, MAX_DSCP);
        in->queue = decode_integer(d, v, "queue", 0, MAX_QUEUE);
        in->limit = decode_rate(d, v, "limit");
        in->burst = decode_bytes(d, v, "burst");
    }
}

static void
decode_class(struct decoder *d, const struct value *v,
             struct intent_class *class)
{
    static const struct member members[] = {
        { "dscp", true }, { "queue", false }, { "lossless", false },
        { "buffer", false }, { "delay_bound", false }, { "dscp_in", false },
        { NULL, false },
    };

    class->name = decode_key(v);
    if (decode_object(d, v, "a class", members)) {
        class->dscp = decode_integer(d, v, "dscp", 0, MAX_DSCP);
        class->queue = decode_integer(d, v, "queue", 0, MAX_QUEUE);
        class->lossless = decode_flag(d, v, "lossless", true);
        class->buffer = decode_bytes(d, v, "buffer");
        class->delay_bound = decode_duration(d, v, "delay_bound");
        decode_dscp_in(d, value_member(v, "dscp_in"), class);
    }
}

static void
decode_dhcp(struct decoder *d, const struct value *v,
            struct intent_network *network)
{
    static const struct member members[] = {
        { "server", true }, { NULL, false },
    };

    if (v && v->type == VALUE_STRING) {
        network->native_dhcp = v;
        if (strcmp(v->string, "native")) {
            decode_error(d, v, "this must be \"native\", or an object",
                         "write \"native\" if the fabric is to answer, or "
                         "name an endpoint, as in { \"server\": \"dhcp0\" }");
        }
    } else if (v && decode_object(d, v, "dhcp", members)) {
        network->dhcp_server = decode_text(d, v, "server");
    }
}

static void
decode_network(struct decoder *d, const struct value *v,
               struct intent_network *network)
{
    static const struct member members[] = {
        { "vni", true }, { "subnets", true }, { "gateway", false },
        { "mtu", false }, { "dhcp", false }, { "multicast", false },
        { "plane", false }, { "uplink", false }, { "vlan", false },
        { NULL, false },
    };

    network->name = decode_key(v);
    if (decode_object(d, v, "a network", members)) {
        network->vni_at = value_member(v, "vni");
        network->vni = decode_integer(d, v, "vni", 1, MAX_VNI);
        decode_addresses(d, value_member(v, "subnets"), true,
                         &network->subnets);
        decode_addresses(d, value_member(v, "gateway"), false,
                         &network->gateways);
        network->mtu = decode_mtu(d, v, MIN_MTU);
        network->vlan = decode_count(d, v, "vlan", 1, MAX_VLAN);
        decode_way(d, v, network);
        decode_dhcp(d, value_member(v, "dhcp"), network);
        decode_addresses(d, value_member(v, "multicast"), true,
                         &network->groups);
    }
}

static void
decode_endpoint(struct decoder *d, const struct value *v,
                struct intent_endpoint *endpoint)
{
    static const struct member members[] = {
        { "network", true }, { "labels", false }, { "node", false },
        { "interface", false }, { "port", false }, { "vf", false },
        { "mac", false }, { "addresses", false }, { "bandwidth", false },
        { NULL, false },
    };

    endpoint->name = decode_key(v);
    if (decode_object(d, v, "an endpoint", members)) {
        check_right_to_bind(d, v);
        endpoint->network = decode_text(d, v, "network");
        decode_binding(d, v, endpoint);
        decode_own_bandwidth(d, value_member(v, "bandwidth"), &endpoint->send,
                             &endpoint->receive);
        decode_labels(d, value_member(v, "labels"), &endpoint->label_names,
                      &endpoint->label_values);
    }
}

static void
decode_tenant(struct decoder *d, const struct value *v,
              struct intent_tenant *tenant)
{
    static const struct member members[] = {
        { "default", false }, { "peers", false }, { "bandwidth", false },
        { "microburst", false }, { "limits", false }, { "networks", true },
        { "endpoints", false }, { "rules", false }, { "bare_metal", false },
        { NULL, false },
    };

    tenant->name = decode_key(v);
    if (!decode_object(d, v, "a tenant", members)) {
        return;
    }
    tenant->default_allow = decode_choice(d, v, "default", "deny", "allow");
    tenant->bare_metal = decode_flag(d, v, "bare_metal", true);
    decode_tenants(d, value_member(v, "peers"), &tenant->peers);
    decode_bandwidth(d, value_member(v, "bandwidth"), &tenant->send,
                     &tenant->receive);
    decode_microburst(d, value_member(v, "microburst"), &tenant->microburst);
    decode_limits(d, value_member(v, "limits"), tenant);

    DECODE_EACH(d, value_member(v, "networks"), decode_map,
                "a map of networks", decode_network, &tenant->networks);
    DECODE_EACH(d, value_member(v, "endpoints"), decode_map,
                "a map of endpoints", decode_endpoint, &tenant->endpoints);
    DECODE_EACH(d, value_member(v, "rules"), decode_list,
                "a list of rules", decode_rule, &tenant->rules);
}

/* Is it a file of something else?  All but the version is foreign then, and
 * not for a slip of the pen. */
static bool
is_foreign(const struct value *v, const struct member *members)
{
    bool foreign = false;

    for (size_t i = 0; v->type == VALUE_OBJECT && i < v->n; i++) {
        const struct value *e = &v->elems[i];
        struct nearest nearest = nearest_init(e->key);

        if (value_is_comment(e) || !strcmp(e->key, "version")) {
            continue;
        }
        for (const struct member *m = members; m->name; m++) {
            if (!strcmp(m->name, e->key)) {
                return false;
            } else if (strcmp(m->name, "version")) {
                nearest_try(&nearest, m->name);
            }
        }
        if (nearest.best) {
            return false;
        }
        foreign = true;
    }
    return foreign;
}

void
decode_intent(struct decoder *d, const struct value *v, struct intent *intent)
{
    /* Other files may have what this one does not; see join.c. */
    static const struct member members[] = {
        { "version", true }, { "fabric", false }, { "classes", false },
        { "services", false }, { "tenants", false }, { "peerings", false },
        { "guardrails", false }, { "externals", false },
        { "bindings", false }, { NULL, false },
    };

    if (is_foreign(v, members)) {
        struct span start = { v->span.source, v->span.start,
                              v->span.start + 1 };

        diag_remedy(d->diags, diag_error(d->diags, start, "",
                                         "this is no file of an intent"),
                    "leave it out; an intent has members such as 'fabric' "
                    "and 'tenants'");
        return;
    } else if (!decode_object(d, v, "an intent", members)) {
        return;
    }
    check_file(d, v);
    decode_integer(d, v, "version", 1, 1);
    decode_fabric(d, value_member(v, "fabric"), intent);

    DECODE_EACH(d, value_member(v, "classes"), decode_map,
                "a map of classes", decode_class, &intent->classes);
    DECODE_EACH(d, value_member(v, "services"), decode_map,
                "a map of services", decode_service, &intent->services);
    DECODE_EACH(d, value_member(v, "tenants"), decode_map,
                "a map of tenants", decode_tenant, &intent->tenants);
    DECODE_EACH(d, value_member(v, "peerings"), decode_map,
                "a map of peerings", decode_peering, &intent->peerings);
    DECODE_EACH(d, value_member(v, "guardrails"), decode_map,
                "a map of guardrails", decode_guardrail, &intent->guardrails);
    DECODE_EACH(d, value_member(v, "externals"), decode_map,
                "a map of externals", decode_external, &intent->externals);
    decode_bindings(d, value_member(v, "bindings"), intent);
}
