/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_POLICY_H
#define SEMA_POLICY_H 1

/* The policy: an intent whose names are resolved and whose conflicts are
 * decided, for the whole fabric.
 *
 * Everything lives in the arena given to policy_resolve() and points into
 * the intent, which must outlive it. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "intent/intent.h"
#include "sema/claim.h"
#include "sema/rule-kind.h"

/* The class that is built in: DSCP 0, queue 0. */
#define POLICY_BEST_EFFORT "best-effort"

/* What a selector's "tenant" says for all of them; no tenant's name. */
#define POLICY_EVERY_TENANT "*"

/* What goes before the name of an external where tenants are named, too. */
#define POLICY_EXTERNAL "external:"

/* The external's name in what may name a tenant; NULL: it is a tenant's. */
static inline const char *
policy_external_name(const char *s)
{
    const size_t n = strlen(POLICY_EXTERNAL);

    return strncmp(s, POLICY_EXTERNAL, n) ? NULL : s + n;
}

struct policy_class {
    const char *name;
    const struct value *at;
    uint8_t dscp;
    uint16_t queue;
    const struct value *lossless;       /* NULL if it is not. */
    struct quantity buffer;     /* Of each port; 'at' may be NULL. */
    struct quantity delay_bound;        /* Of one queue; 'at' may be NULL. */
    const struct intent_dscp_in *dscp_in;       /* NULL: nothing is kept. */
};

/* What a service matches; a port range of 0..0 is "any". */
struct service_match {
    uint8_t protocol;           /* IPPROTO_*. */
    struct port_range ports;    /* Destination. */
};

struct policy_service {
    const char *name;
    const struct value *at;     /* NULL: built in. */
    bool symmetric;             /* And so stateless; see services.def. */
    VEC(struct service_match) matches;
};

struct policy_network {
    const struct policy_tenant *tenant;
    const struct intent_network *intent;
    struct eth_addr gateway_mac;    /* Derived from the VNI. */
    const struct policy_endpoint *dhcp_server;  /* In this network; NULL if
                                                 * it names none. */
};

struct policy_endpoint {
    const struct policy_tenant *tenant;
    const struct policy_network *network;
    const struct intent_endpoint *intent;
    const struct intent_node *node;     /* NULL: not known. */
    const char *name;           /* "TENANT/ENDPOINT". */
    size_t index;               /* In the order of tenants and names. */
    bool bound;                 /* Node, interface, MAC, address: all known,
                                 * and is it on a bridge? */
    bool legacy;                /* It is a VF in legacy mode, on none. */
};

/* So many endpoints of a network that copies packets to its endpoints may be
 * on one node: what the copies of a packet cost is bounded. */
enum { MAX_RECEIVERS = 128 };

/* What may pass of a tenant's in a class. */
struct policy_part {
    const struct policy_class *class;
    const struct intent_bandwidth *bandwidth;
    const struct value *at;
};

struct policy_tenant {
    const char *name;
    const struct policy *policy;        /* That it is of. */
    const struct intent_tenant *intent;
    VEC(struct policy_network *) networks;
    VEC(struct policy_endpoint *) endpoints;    /* Sorted by name. */
    VEC(struct policy_part) parts[2];   /* Of what it sends, and gets. */
};

VEC_TYPEDEF(class_vec, const struct policy_class *);
VEC_TYPEDEF(endpoint_vec, const struct policy_endpoint *);
VEC_TYPEDEF(tenant_vec, const struct policy_tenant *);

/* Where a node reaches an external. */
struct policy_attachment {
    const struct policy_external *external;
    const struct intent_attachment *intent;
    const struct intent_node *node;
    struct eth_addr gateway_mac;        /* The node's own; derived from the
                                         * names unless the intent says it. */
};

/* What lies outside the fabric.  A tenant uses it if the external lists it and
 * a rule of the tenant, or a peering with it, names it. */
struct policy_external {
    const char *name;
    const struct intent_external *intent;
    VEC(struct policy_attachment *) attachments;
    tenant_vec users;           /* Sorted by name. */
    VEC(const struct address *) inside; /* Subnets of the users and of their
                                         * peers: never the external's. */
};

/* Addresses of an external. */
struct policy_range {
    const struct policy_external *external;
    const struct address *cidr; /* NULL: all. */
    const struct value *at;
};
VEC_TYPEDEF(range_vec, struct policy_range);

/* Who pays for what a peering allows. */
enum charge {
    CHARGE_SENDER,
    CHARGE_FROM,                /* The tenant of that side, both ways. */
    CHARGE_TO,
};

struct policy_rule {
    uint64_t id;                /* 48 bits; see sema/ident.h. */
    enum rule_kind kind;
    unsigned int depth;         /* Of those that allow: the deepest of all
                                 * that match decides; 0 to MAX_DEPTH. */
    const struct intent_rule *intent;   /* NULL: a tenant's default. */
    const char *name;           /* "TENANT/RULE", "peering:NAME" or
                                 * "guardrail:NAME". */
    const struct value *at;
    const struct policy_tenant *tenant;     /* Whose; NULL: the operator's. */
    endpoint_vec from, to;      /* Sorted by index, no endpoint twice. */
    range_vec from_ranges, to_ranges;   /* Of externals; of a peering, one
                                         * side has some and no endpoints. */
    tenant_vec from_tenants, to_tenants;    /* That a peering's sides name. */
    bool from_every, to_every;  /* Of a guardrail: every endpoint. */
    bool imposed;               /* A peering that needs no consent. */
    enum charge charge;         /* Of a peering; no tenant of it is on both
                                 * sides. */
    const struct value *stateless;      /* NULL: it is tracked. */
    const struct policy_service *service;   /* NULL: any. */
    const struct policy_class *class;       /* NULL: POLICY_BEST_EFFORT. */
    const struct policy_class *reply_class; /* Of tracked replies; as
                                             * class. */
};

/* A tenant pays on a node, by this uplink, for endpoints of others there. */
struct policy_payer {
    const struct policy_tenant *tenant;
    const struct intent_node *node;
    const struct intent_uplink *uplink;
    const struct policy_rule *peering;  /* The first that says so. */
};

struct policy {
    const struct intent *intent;
    VEC(struct policy_class *) classes;
    VEC(struct policy_service *) services;
    VEC(struct policy_tenant *) tenants;    /* Sorted by name. */
    VEC(struct policy_external *) externals;    /* Sorted by name. */
    VEC(struct policy_rule *) rules;        /* Sorted by name. */
    VEC(struct policy_payer) payers;
    bool *trees[2];             /* tree_is_there() for sent and received, by
                                 * the number of the uplink in the intent. */
    struct claims *claims;      /* What it takes that others could want. */
};

/* Of all tenants: their indexes are below that. */
static inline size_t
policy_n_endpoints(const struct policy *policy)
{
    size_t n = 0;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        n += policy->tenants.v[i]->endpoints.n;
    }
    return n;
}

/* The one of that name, or NULL. */
const struct policy_tenant *policy_find_tenant(const struct policy *,
                                               const char *name);
const struct policy_external *policy_find_external(const struct policy *,
                                                   const char *name);

/* Where the name of a rule stands, or the key that is the name. */
struct span policy_rule_span(const struct policy_rule *);

/* Resolves and checks 'intent'.  Returns NULL after adding at least one error
 * to 'diags' if it contradicts itself or names what does not exist. */
const struct policy *policy_resolve(const struct intent *, struct arena *,
                                    struct diags *);

/* The same of an intent that is accepted, or a part of one, in which nothing
 * is looked for that contradicts itself. */
const struct policy *policy_resolve_checked(const struct intent *,
                                            struct arena *);

/* The uplink of 'node' that the network takes, if it has endpoints there; NULL
 * if that is not clear, which policy_resolve() refuses. */
const struct intent_uplink *network_uplink(const struct policy_network *,
                                           const struct intent_node *);

/* The socket of a port of vhost-user, on the endpoint's node, which has DPDK:
 * a path in the arena. */
const char *endpoint_socket(const struct policy_endpoint *, struct arena *);

/* Does 'tenant' list 'peer', or the external, in "peers"? */
bool tenant_consents(const struct policy_tenant *tenant,
                     const struct policy_tenant *peer);
bool tenant_consents_to_external(const struct policy_tenant *,
                                 const struct policy_external *);

/* What the fabric's encapsulation adds to the payload of a tenant's frame: the
 * outer headers and the inner Ethernet header, in bytes; 0 without one. */
int encapsulation_bytes(const struct policy *);

/* The same, for nodes whose addresses are of IPv4, or IPv6. */
int tunnel_bytes(bool ip4);

/* The largest payload of a frame in the network: what the intent says, or
 * what the uplinks of its endpoints' nodes leave. */
uint16_t network_mtu(const struct policy *, const struct policy_network *);

/* The payload of a frame of the uplink, as it says or by default. */
uint16_t uplink_mtu(const struct intent_uplink *);

/* Does 'service' (NULL: any) match a port of a symmetric service?  Such
 * packets are stateless whatever the service that matches them. */
bool service_has_symmetric(const struct policy_service *);

/* Is all of 'prefix' in 'range'? */
bool range_holds(const struct address *range, const struct address *prefix);

/* May 'tenant' use the external? */
bool external_lists(const struct policy_external *,
                    const struct policy_tenant *);

/* Does it: may it, and does a rule of its, or a peering with it, name the
 * external? */
bool external_is_used_by(const struct policy_external *,
                         const struct policy_tenant *);

/* The external that all addresses of 'prefix' belong to, less those that a
 * longer prefix of the intent holds; NULL if they are nobody's.  It is the one
 * whose "addresses" hold them by the longest prefix and whose "except" does
 * not; what is no station's is nobody's, and what is inside or a node's
 * tunnel address. */
const struct policy_external *external_of(const struct policy *,
                                          const struct address *prefix);

/* The attachment of the external to 'node', or NULL. */
const struct policy_attachment *external_at(const struct policy_external *,
                                            const struct intent_node *node);

/* Addresses that are no station's, or never leave a link. */
extern const struct address unroutable[];
extern const size_t n_unroutable;

#endif /* sema/policy.h */
