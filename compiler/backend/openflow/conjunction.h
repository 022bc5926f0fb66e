/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_OPENFLOW_CONJUNCTION_H
#define BACKEND_OPENFLOW_CONJUNCTION_H 1

/* Sets in the POLICY table, and in TRACK: conjunctive matches (ovs-fields(7),
 * "Conjunctive Match Fields").
 *
 * A product of three sets of matches, all senders, all receivers and all
 * services of a rule, becomes a flow for each of their members, with the
 * action conjunction(ID, k/3), and one that matches conj_id=ID and acts.
 * Members that products of one priority share are one flow with a list of
 * conjunctions.  A product that takes no more flows multiplied out stays
 * plain.
 *
 * A product with a side that is everybody stays plain too, and has a priority
 * without conjunctions: its flows could be another one's members.
 *
 * Where products of one priority overlap, the switch chooses one of them:
 * they must do the same.  Plain flows are preferred to conjunctions. */

#include "backend/openflow/emit.h"

enum { N_DIMENSIONS = 3 };

/* A match on one side, "" if that is everybody, and the endpoint that it holds
 * if that is only one; else 0. */
struct side_match {
    const char *match;
    uint32_t only;
};

VEC_TYPEDEF(side_match_vec, struct side_match);

/* The fields of one side of a rule. */
struct side_fields {
    const char *tenant, *group;
};

/* A side of a rule, and whether it is everybody. */
struct rule_side {
    const struct ir_side *side;
    bool every;
};

struct product {
    const char *name;           /* The conjunction's number follows from it. */
    enum of_priority priority;
    const struct ir_rule *rule;
    const char *actions;
    /* The sides and the services.  As members of a conjunction services name
     * the tenants of "from": without that, one flow would be all tenants',
     * and each one's change would change it. */
    side_match_vec from, to;
    match_vec services, tenant_services;
};

/* What the action takes.  What a flow has no room for, in the order of rules,
 * stays plain. */
enum { CONJUNCTION_BYTES = 16 };

VEC_TYPEDEF(product_vec, struct product);

/* The matches of a side in these fields. */
side_match_vec match_side(struct emitter *, struct rule_side,
                          const struct side_fields *);

/* 'services' of each tenant, and external, that 'from' holds some of; its
 * number is in field 'tenant'. */
match_vec match_tenant_services(struct emitter *, const struct ir_side *from,
                                const char *tenant,
                                const match_vec *services);

/* Emits the flows of 'products' in 'table'.  Their cookies are the rules' in
 * POLICY, which decides. */
void emit_products(struct emitter *, enum of_table table,
                   const product_vec *products);

#endif /* backend/openflow/conjunction.h */
