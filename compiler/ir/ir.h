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
 * Endpoints that are not bound to this node are not in it; ir_build() lists
 * them apart.  Everything lives in the arena given to ir_build() and points
 * into the policy. */

#include <stdint.h>

#include "sema/policy.h"
#include "sema/reason.h"

/* Numbers follow from names (sema/ident.h) and are unique on the node: where
 * the hashes of two names meet, the later one takes the next free number. */
struct ir_tenant {
    const char *name;
    uint32_t number;
    uint16_t zone;              /* Connection tracking; never 0. */
    uint64_t rate_kbps;         /* Frame bytes without FCS. */
    uint64_t burst_bytes;
    size_t n_endpoints;         /* On this node. */
    const struct policy_tenant *policy;
};

struct ir_network {
    const struct ir_tenant *tenant;
    const struct policy_network *policy;
};

/* Endpoints of a tenant that every rule of the node treats alike, so that
 * rules match groups and not each endpoint by itself.  The number is that of
 * the first endpoint by name, and changes only with that one. */
struct ir_group {
    uint32_t number;
    size_t n_endpoints;
};

struct ir_endpoint {
    size_t index;               /* In the program's endpoints. */
    uint32_t number;
    const struct ir_group *group;
    const struct ir_tenant *tenant;
    const struct ir_network *network;
    const struct policy_endpoint *policy;
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
    const struct policy_rule *policy;
    struct ir_side from, to;
};

struct ir_prog {
    const char *node;
    VEC(struct ir_tenant *) tenants;        /* Sorted by name. */
    VEC(struct ir_network *) networks;      /* As endpoints first use them. */
    VEC(struct ir_endpoint *) endpoints;    /* Sorted by tenant and name. */
    VEC(struct ir_rule *) rules;            /* Sorted by name. */
    VEC(const struct policy_service *) symmetric;   /* Used here or not. */
    endpoint_vec unbound;       /* Something of the binding is missing. */
    endpoint_vec elsewhere;     /* On other nodes. */
};

/* Builds the program of the node called 'node'; NULL if the policy does not
 * know it. */
struct ir_prog *ir_build(const struct policy *, const char *node,
                         struct arena *);

/* The room behind ir_build() that gives endpoints their groups, and sides of
 * rules their tenants and groups. */
void ir_group(struct ir_prog *, struct arena *);

#endif /* ir/ir.h */
