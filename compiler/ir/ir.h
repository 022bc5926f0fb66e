/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IR_IR_H
#define IR_IR_H 1

/* The policy program of one node: who is here, what they may send to each
 * other, and how fast.
 *
 * It says all that a backend needs and points to nothing outside: only
 * ir_build() sees the policy.  Endpoints that are not bound to this node are
 * not in it but by name.  Everything lives in one arena; names and other
 * strings may be those of the intent, which must outlive the program. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/source.h"
#include "base/vec.h"
#include "openvswitch/types.h"
#include "sema/reason.h"
#include "sema/rule-kind.h"

struct policy;

/* Where in the intent something stands that a backend may refuse, or that an
 * operator reads about. */
struct ir_place {
    struct span span;
    size_t line;                /* From 1. */
    const char *pointer;        /* JSON pointer (RFC 6901). */
};

VEC_TYPEDEF(ir_addresses, struct in6_addr);     /* IPv4 is IPv4-mapped. */

struct ir_class {
    const char *name;
    uint8_t dscp;
    uint16_t queue;
};

/* A protocol and a range of destination ports; 0..0 is "any". */
struct ir_match {
    uint8_t protocol;           /* IPPROTO_*. */
    uint16_t first, last;
};

/* Symmetric services use one UDP port both ways, so their packets are
 * stateless, whichever service a rule names: each match is one port. */
struct ir_service {
    const char *name;
    bool symmetric;
    VEC(struct ir_match) matches;       /* Never empty. */
};

/* Numbers follow from names (sema/ident.h) and are unique on the node: where
 * the hashes of two names meet, the later one takes the next free number. */
struct ir_tenant {
    const char *name;
    uint32_t number;
    uint16_t zone;              /* Connection tracking; never 0. */
    uint64_t rate_kbps;         /* Frame bytes without FCS. */
    uint64_t burst_bytes;
    uint32_t packet_rate;       /* A second; 0: no limit. */
    uint32_t packet_burst;
    size_t n_endpoints;         /* On this node. */
    struct ir_place place;
};

struct ir_network {
    const char *name;           /* "TENANT/NETWORK". */
    const struct ir_tenant *tenant;
    uint32_t vni;
    struct eth_addr gateway_mac;
    ir_addresses gateways;      /* Empty: nothing leaves or enters it. */
};

/* Endpoints of a tenant that every rule of the node treats alike, so that
 * rules match groups and not each endpoint by itself.  The number is that of
 * the first endpoint by name, and changes only with that one. */
struct ir_group {
    uint32_t number;
    size_t n_endpoints;
};

struct ir_endpoint {
    const char *name;           /* "TENANT/ENDPOINT". */
    size_t index;               /* In the program's endpoints. */
    uint32_t number;
    const struct ir_group *group;
    const struct ir_tenant *tenant;
    const struct ir_network *network;
    const char *interface;
    struct eth_addr mac;
    ir_addresses addresses;     /* Never empty. */
    struct ir_place place;
};

VEC_TYPEDEF(ir_endpoint_vec, const struct ir_endpoint *);

/* One side of a rule: whole tenants and groups that do not overlap.  An
 * endpoint is on the side if its tenant or its group is. */
struct ir_side {
    ir_endpoint_vec endpoints;          /* Never empty; sorted by name. */
    VEC(const struct ir_tenant *) tenants;  /* All of each is on the side,
                                             * and is more than one. */
    VEC(const struct ir_group *) groups;    /* Of no such tenant. */
};

struct ir_rule {
    const char *name;           /* "TENANT/RULE" or "peering:NAME". */
    uint64_t id;                /* 48 bits; see sema/ident.h. */
    enum rule_kind kind;
    struct ir_side from, to;
    const struct ir_service *service;   /* NULL: any. */
    const struct ir_class *class;       /* NULL: best-effort. */
    struct ir_place place;
};

VEC_TYPEDEF(ir_names, const char *);

struct ir_prog {
    const char *node;
    VEC(struct ir_class *) classes;         /* Used here or not. */
    VEC(struct ir_service *) services;      /* Used here or not. */
    VEC(struct ir_tenant *) tenants;        /* Sorted by name. */
    VEC(struct ir_network *) networks;      /* As endpoints first use them. */
    VEC(struct ir_endpoint *) endpoints;    /* Sorted by tenant and name. */
    VEC(struct ir_rule *) rules;            /* Sorted by name. */
    ir_names unbound;           /* Endpoints whose binding is incomplete. */
    ir_names elsewhere;         /* Endpoints on other nodes. */
};

/* Builds the program of the node called 'node', in the arena; NULL if the
 * policy does not know it. */
struct ir_prog *ir_build(const struct policy *, const char *node,
                         struct arena *);

/* The room behind ir_build() that gives endpoints their groups, and sides of
 * rules their tenants and groups. */
void ir_group(struct ir_prog *, struct arena *);

#endif /* ir/ir.h */
