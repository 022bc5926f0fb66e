/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef WORLD_PARTS_H
#define WORLD_PARTS_H 1

/* The rooms behind world.h. */

#include "world.h"

struct ds;

/* Draws a selector.  If it is 'named' each choice names a tenant, else all are
 * of 'own'. */
void world_init_selector(struct world *, struct rng *, int own, bool named,
                         struct world_selector *);

/* Appends ", "KEY": [...]". */
void world_put_selector(struct ds *, const char *key,
                        const struct world_selector *);

/* 1-bits: the endpoints that a side of the rule selects. */
unsigned int world_selected(const struct world *, const struct world_rule *,
                            bool from);

/* 1-bits: the tenants that a side of a peering names, or selects. */
unsigned int world_tenants_of(const struct world *, const struct world_rule *,
                              bool from);

/* Does each of two tenants list the other? */
bool world_consents(const struct world *, int, int);

/* Does the external list the tenant?  Does the tenant list the external? */
bool world_lists(const struct world *, int external, int tenant);
bool world_consents_to(const struct world *, int tenant, int external);

/* Does the selector name the external, or any if that is -1? */
bool world_names_external(const struct world_selector *, int external);

/* May one packet be a matter of both, which allow? */
bool world_are_beside(const struct world_rule *, const struct world_rule *);

/* Of a peering, what it says of 'tenant', as a rule of that; a rule of the
 * tenant as it is. */
struct world_rule world_said_of(const struct world_rule *, int tenant);

/* Appends the externals among the tenant's peers. */
void world_put_outside(struct ds *, const struct world *, int tenant);

/* Do all tenants consent that the sides of the peering name? */
bool world_is_consented(const struct world *, const struct world_rule *);

/* Returns NULL, or the first error in 'diags' that the rule, or what was there
 * before it, gives no reason for. */
const char *world_find_misjudged(const struct world *,
                                 const struct world_rule *,
                                 const struct diags *);

/* Returns NULL, or why a rule is left out that should not be. */
const char *world_check_refusals(const struct world *, struct arena *);

/* What is drawn last: all of this. */
void world_init_late(struct world *, struct rng *);
void world_init_bindings(struct world *, struct rng *);
void world_init_stateless(struct world *, struct rng *);
void world_init_connections(struct world *, struct rng *);
void world_init_protocols(struct world *, struct rng *);
void world_init_nested(struct world *, struct rng *);
void world_init_guarded(struct world *, struct rng *);
void world_init_outside(struct world *, struct rng *);

/* Does another rule allow a packet of it with another class, and neither is
 * the narrower one? */
bool world_is_contradicted(const struct world *, const struct world_rule *);

/* Of the rules that it overrules by being narrower, one more than that of the
 * deepest; 0 if there are none. */
int world_depth(const struct world *, const struct world_rule *);

void world_init_charges(struct world *, struct rng *);

/* Appends the members that only a peering has. */
void world_put_peering(struct ds *, const struct world_rule *);

/* 1-bits: the uplinks of the node by which the tenant pays for others. */
unsigned int world_uplinks_paid(const struct world *, int tenant);

void world_init_externals(struct world *, struct rng *);

/* Appends ", "externals": {...}", if there are any. */
void world_put_externals(struct ds *, const struct world *);

/* Appends what selects a range of an external. */
void world_put_range(struct ds *, int external, int range);

/* Returns NULL, or what the policy says otherwise of externals. */
const char *world_check_externals(const struct world *,
                                  const struct compiled *);

/* Does the policy say the ranges of the selector? */
bool world_ranges_fit(const struct world_selector *, const range_vec *);

/* Draws for itself what tenants share, so that the world is otherwise as
 * without it. */
void world_init_shares(struct world *, struct rng);

/* What a tenant wrote of one direction. */
struct world_bandwidth {
    bool limited;               /* Else: the uplink's. */
    int mbps, kib;
    struct world_share share;
};
struct world_bandwidth world_bandwidth(const struct world *, int tenant,
                                       int uplink, bool receive);

/* Do tenants here share the uplink?  Adds what is set apart to '*apart', in
 * kbps. */
bool world_is_shared(const struct world *, int uplink, bool receive,
                     uint64_t *apart);

/* The same of the endpoints here of a tenant. */
bool world_is_split(const struct world *, int tenant, int uplink,
                    bool receive, uint64_t *apart);

/* 1-bits: the uplinks that the tenant's networks here take; and those, and by
 * which it pays. */
unsigned int world_uplinks_here(const struct world *, int tenant);
unsigned int world_uplinks_taken(const struct world *, int tenant);

/* What the endpoint says of a direction beside its limit, if anything. */
struct world_share world_own_share(const struct world *, int endpoint,
                                   bool receive);

/* Is the tenant's bandwidth shared out among classes? */
bool world_has_parts(const struct world_tenant *, bool receive);

/* Appends ", "classes": {...}", if it is. */
void world_put_parts(struct ds *, const struct world_tenant *, bool receive);

/* Appends it to a "limit". */
void world_put_share(struct ds *, const struct world_share *);

/* Draws for itself which classes let a DSCP in. */
void world_init_dscp_in(struct world *, struct rng);

/* Appends ", "dscp_in": {...}", if it does. */
void world_put_dscp_in(struct ds *, const struct world_class *);

/* Returns NULL, or how the plan has other meters for that.  Whether one is
 * there shows in packets. */
const char *world_check_dscp_in(const struct world *,
                                const struct compiled *);

/* Draws for itself which nodes count by tenant. */
void world_init_telemetry(struct world *, struct rng);

/* Draws for itself which tenants have a limit of upcalls. */
void world_init_upcalls(struct world *, struct rng);

/* Appends ", "limits": {...}". */
void world_put_limits(struct ds *, const struct world_tenant *);

/* Returns NULL, or which port is limited otherwise. */
const char *world_check_upcalls(const struct world *,
                                const struct compiled *);

/* Returns NULL, or which meter the plan has otherwise. */
const char *world_check_meters(const struct world *, const struct compiled *);

/* Is the endpoint of this number in the intent? */
bool world_is_there(const struct world *, int endpoint);

/* Appends ", ", unless it would begin a list. */
void world_put_comma(struct ds *);

#endif /* world-parts.h */
