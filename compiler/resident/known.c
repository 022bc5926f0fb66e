/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/part.h"

#include <string.h>

#include "sema/policy.h"

/* The members of an intent that are known to say nothing of tenants which no
 * "peers" and no peering names: resident.h says what a new one must keep.
 * Every other member makes all tenants one part.  Lists are looked through,
 * "*" is any name, and what has no members of its own may hold anything. */
struct known {
    const char *name;
    const struct known *members;
};

/* In the place of members: a name, which is not that of all tenants. */
static const struct known one_tenant[1];

static const struct known selector[7] = {
    { "tenant", one_tenant }, { "network", NULL }, { "endpoint", NULL },
    { "labels", NULL }, { "cidr", NULL }, { "except", selector },
    { NULL, NULL },
};

static const struct known rule[] = {
    { "name", NULL }, { "action", NULL }, { "from", selector },
    { "to", selector }, { "service", NULL }, { "class", NULL },
    { "reply_class", NULL }, { "require", NULL }, { "imposed", NULL },
    { "stateful", NULL }, { "charge", NULL }, { NULL, NULL },
};

static const struct known network[] = {
    { "vni", NULL }, { "subnets", NULL }, { "gateway", NULL },
    { "mtu", NULL }, { "dhcp", NULL }, { "multicast", NULL },
    { "plane", NULL }, { "uplink", NULL }, { NULL, NULL },
};

/* Not "guarantee", "weight" and "borrow", which are about all of an uplink. */
static const struct known direction[] = {
    { "limit", NULL }, { "burst", NULL }, { NULL, NULL },
};

static const struct known bandwidth[] = {
    { "limit", NULL }, { "burst", NULL }, { "send", direction },
    { "receive", direction }, { NULL, NULL },
};

static const struct known endpoint[] = {
    { "network", NULL }, { "labels", NULL }, { "node", NULL },
    { "interface", NULL }, { "port", NULL }, { "vf", NULL },
    { "mac", NULL }, { "addresses", NULL },
    { "bandwidth", bandwidth }, { NULL, NULL },
};

static const struct known microburst[] = {
    { "depth", NULL }, { "mark", NULL }, { "limit", NULL },
    { "exceed", NULL }, { NULL, NULL },
};

static const struct known networks[] = { { "*", network }, { NULL, NULL } };
static const struct known endpoints[] = { { "*", endpoint }, { NULL, NULL } };

static const struct known tenant[] = {
    { "default", NULL }, { "peers", NULL }, { "bandwidth", bandwidth },
    { "microburst", microburst }, { "limits", NULL },
    { "networks", networks }, { "endpoints", endpoints }, { "rules", rule },
    { "bare_metal", NULL }, { NULL, NULL },
};

static const struct known uplink[] = {
    { "interface", NULL }, { "plane", NULL }, { "rate", NULL },
    { "burst", NULL }, { "buffer", NULL }, { "mtu", NULL },
    { "device", NULL }, { "queues", NULL }, { "pmd_cpus", NULL },
    { NULL, NULL },
};

static const struct known uplinks[] = { { "*", uplink }, { NULL, NULL } };

static const struct known node[] = {
    { "target", NULL }, { "enforcer", NULL }, { "tunnel_address", NULL },
    { "telemetry", NULL }, { "dpdk", NULL }, { "uplinks", uplinks },
    { NULL, NULL },
};

static const struct known nodes[] = { { "*", node }, { NULL, NULL } };

static const struct known fabric[] = {
    { "encapsulation", NULL }, { "nodes", nodes }, { NULL, NULL },
};

/* Not "delay_bound", which is about all that is sent in the class. */
static const struct known class[] = {
    { "dscp", NULL }, { "queue", NULL }, { "lossless", NULL },
    { "buffer", NULL }, { "dscp_in", NULL }, { NULL, NULL },
};

static const struct known classes[] = { { "*", class }, { NULL, NULL } };

static const struct known service[] = {
    { "protocol", NULL }, { "ports", NULL }, { NULL, NULL },
};

static const struct known services[] = { { "*", service }, { NULL, NULL } };
static const struct known peerings[] = { { "*", rule }, { NULL, NULL } };

/* In the place of members: none of it is known. */
static const struct known nothing[] = { { NULL, NULL } };

/* Tenants are looked at one by one. */
static const struct known root[] = {
    { "version", NULL }, { "fabric", fabric }, { "classes", classes },
    { "services", services }, { "tenants", NULL }, { "peerings", peerings },
    { "externals", nothing }, { "guardrails", nothing },
    { "bindings", NULL }, { NULL, NULL },
};

static const struct known *
find(const struct known *members, const char *key)
{
    for (; members->name; members++) {
        if (!strcmp(members->name, "*") || !strcmp(members->name, key)) {
            return members;
        }
    }
    return NULL;
}

/* Returns the first member of 'v' that is not known, or NULL. */
static const struct value *
find_unknown(const struct value *v, const struct known *members)
{
    const struct value *unknown = NULL;

    if (members == one_tenant) {
        return (v->type == VALUE_STRING
                && !strcmp(v->string, POLICY_EVERY_TENANT) ? v : NULL);
    } else if (v->type == VALUE_ARRAY && members) {
        for (size_t i = 0; i < v->n && !unknown; i++) {
            unknown = find_unknown(&v->elems[i], members);
        }
    } else if (v->type == VALUE_OBJECT && members) {
        for (size_t i = 0; i < v->n && !unknown; i++) {
            const struct value *e = &v->elems[i];
            const struct known *known = find(members, e->key);

            if (known) {
                unknown = find_unknown(e, known->members);
            } else if (!value_is_comment(e)) {
                unknown = e;
            }
        }
    }
    return unknown;
}

const struct value *
unknown_in_tenant(const struct intent_tenant *t)
{
    return find_unknown(t->name.at, tenant);
}

const struct value *
unknown_in_frame(const struct intent *intent)
{
    const struct value *unknown = NULL;

    for (size_t i = 0; i < intent->roots.n && !unknown; i++) {
        unknown = find_unknown(intent->roots.v[i], root);
    }
    return unknown;
}
