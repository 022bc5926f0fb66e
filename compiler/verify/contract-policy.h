/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_CONTRACT_POLICY_H
#define VERIFY_CONTRACT_POLICY_H 1

/* What comes to POLICY, and what is decided about it: by flows, and by the
 * rules of the intent (contract-rules.c).
 *
 * A side is a group that an endpoint is in, by the numbers of its tenant and
 * of the group.  So diagrams ask for two sides, for what opened the connection
 * as REG_SERVICE says it, and for headers of what is not tracked. */

#include "verify/contract-private.h"

enum policy_digit {
    P_FROM, P_TO,               /* Sides. */
    P_KIND,                     /* enum policy_service_kind. */
    P_SERVICE_IP6, P_SERVICE_PROTO, P_SERVICE_PORT,     /* REG_SERVICE. */
    P_IP6, P_PROTO, P_SRC, P_DST,       /* The packet's own. */
    N_POLICY_DIGITS,
};

enum policy_service_kind {
    SERVICE_KIND_OPENER,        /* Tracked, from who opened the connection. */
    SERVICE_KIND_REPLY,
    SERVICE_KIND_STATELESS,     /* Of a symmetric service. */
    SERVICE_KIND_UNTRACKED,     /* By rules that are not stateful. */
    N_SERVICE_KINDS,
};

/* Bits 28 to 31 of REG_SERVICE. */
extern const uint32_t service_kind_bits[N_SERVICE_KINDS];

struct side_of_policy {
    const char *name;           /* Of one of the group, or an external. */
    const struct policy_external *external;     /* Or NULL. */
    struct address prefix;      /* Addresses of the external: some of those
                                 * that all rules treat alike. */
    uint32_t tenant, group;     /* Numbers. */
    bool here, many;            /* Has it one here; several? */
};

/* Who pays, if not the sender. */
enum payer { PAYER_SENDER, PAYER_FROM, PAYER_TO };

/* Of packets. */
struct outcome {
    uint32_t allow;             /* 0 or 1. */
    uint32_t class;             /* DSCP and queue, as CLASS_VALUE(). */
    uint32_t payer;             /* enum payer. */
};

/* Those of a set, unless something stronger decides. */
struct decision {
    unsigned int weakness;      /* The lower, the stronger. */
    struct outcome outcome;
    dd_t set;
    const struct table_flow *flow;
    const struct policy_rule *rule;
};
VEC_TYPEDEF(decision_vec, struct decision);

/* A flow, and openers that it may be about: sides from 'first' on and before
 * 'end', and perhaps not all of them. */
struct acting {
    const struct table_flow *flow;
    uint32_t first, end;
};

/* The same of a rule, whose openers and opened these may be. */
struct speaking {
    const struct policy_rule *rule;
    uint32_t first, end;
};

struct policy_space {
    struct contract *contract;
    struct hmap conjunctions;   /* Contains "struct conjunction"s. */
    VEC(struct acting) acting;  /* Flows that are no parts of those. */
    VEC(struct speaking) speaking;
    VEC(struct side_of_policy) sides;
    size_t n_own;               /* Sides that are of endpoints, and first. */
    uint32_t *of_endpoints;     /* By their index: one more than that of the
                                 * side; 0: it has none. */

    /* Openers are asked about tenant by tenant: those sides from 'first' on
     * and before 'end', and what is decided about them. */
    uint32_t first, end;
    struct dd *dd;
    struct arena *arena;
    dd_t here[2];               /* Sides that have one here: from, to. */
    decision_vec flows, rules;
};

/* The sides from 'first' on and before 'end', as far as they are asked
 * about. */
dd_t policy_sides(struct policy_space *, enum policy_digit, uint32_t first,
                  uint32_t end);

/* From a group to itself. */
dd_t policy_within(struct policy_space *, uint32_t side);

/* Finds POLICY's flows, and adds what they say (contract-flows.c). */
void policy_find_flows(struct policy_space *);
void policy_add_flows(struct policy_space *);

/* The same of rules (contract-rules.c). */
void policy_find_rules(struct policy_space *);
void policy_add_rules(struct policy_space *);

#endif /* verify/contract-policy.h */
