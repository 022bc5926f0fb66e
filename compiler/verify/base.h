/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_BASE_H
#define VERIFY_BASE_H 1

/* Tables that are proved, kept, so that after a change only that is proved
 * anew which it can touch.
 *
 * A change touches a tenant if a flow that came or went is in its slice
 * (slice.h), if a flow that is calls a meter that came or went, or a meter of
 * which the number could be taken for that, and if who keeps the base says
 * that other things are meant of it.  All other packets meet the flows and
 * meters that they met before, and the same is meant of them.  Slices only
 * grow while a base is kept: what they say too much costs time.
 *
 * What is asked cannot be answered so where a flow can touch what is nobody's,
 * as what comes by tunnels; where others can use the zone, a mark or a meter
 * of those that are touched; and where something differs: then all is to be
 * proved as verify() does, which also says what differs. */

#include "verify/region.h"
#include "verify/verify.h"

struct ds;
struct verify_base;

/* Of a task about all tenants that is proved.  Its tables and their arena must
 * outlive the base, and only the base changes them.  NULL if slices are not
 * known. */
struct verify_base *verify_base_create(const struct verify_task *);
void verify_base_destroy(struct verify_base *);         /* Accepts NULL. */

/* A flow that came, or went, as table_set_add() and table_set_remove() take
 * it; a meter that came or went. */
void verify_base_add(struct verify_base *, const char *flow);
void verify_base_remove(struct verify_base *, const char *flow);
void verify_base_meter(struct verify_base *, uint32_t id, bool there);

/* Of the tenant something else may be meant; it has, or will have, that
 * interface.  An interface is to be told before its flows come. */
void verify_base_tenant(struct verify_base *, const char *tenant);
void verify_base_port(struct verify_base *, const char *tenant,
                      const char *interface);

/* What changes touch is not known any more, for 'why'. */
void verify_base_lose(struct verify_base *, const char *why);

/* Why it is not known, until there is another base; or NULL. */
const char *verify_base_lost(const struct verify_base *);

/* A proof of all that was touched until now, and of what an earlier one did
 * not prove, begins; and ends. */
void verify_base_begin(struct verify_base *);
void verify_base_end(struct verify_base *, bool proved);

/* Of those who are asked about more is meant otherwise than what rules say. */
void verify_base_means_else(struct verify_base *);

/* The first tenant from '*i' on that is asked about in the proof that has
 * begun, past which '*i' goes; NULL if there is no more. */
const char *verify_base_asked(const struct verify_base *, size_t *i);
size_t verify_base_n_tenants(const struct verify_base *);

/* An endpoint that is bound now and was not, or was and is not. */
struct verify_endpoint {
    bool came;
    const struct policy_endpoint *now;  /* NULL: the policy has it no more. */
    const char *network, *node, *interface;
    struct eth_addr mac;
    VEC(struct in6_addr) addresses;
    bool shares;                /* It has a weight or a guarantee: by that its
                                 * tenant may have other meters. */
    endpoint_vec alike;         /* If it came: of whom the intent says the
                                 * same, but who they are. */
};

/* What else is meant than when all was proved. */
struct verify_news {
    bool known;                 /* It is nothing but these: */
    VEC(struct region_rule) rules;      /* those that came, went, or are
                                         * others now. */
    const struct verify_endpoint *endpoint;     /* Not NULL: it is nothing but
                                                 * this. */
};

/* Proves what is asked about: only 'packets' that can meet what has changed,
 * which answers soon, if it does; or all of these tenants.  The
 * task's policy has, of all tenants, at least those that are asked about and
 * those that these have to do with, and nothing that is said of all; the base
 * has tables, meters and who is asked about.  Returns false if more is to be
 * proved; else it is proved. */
bool verify_change(const struct verify_base *, const struct verify_task *,
                   const struct verify_news *, bool packets, struct arena *,
                   struct verify_result *);

/* While all is proved: a tenant of which it is not known yet whether there is
 * a seam (seam.h), by which proofs of its rules take less; NULL if there is
 * none such.  And looks for it: the task's policy is to have the tenant and
 * all whom it has to do with.  Without a task there is none. */
const char *verify_base_seamless(const struct verify_base *);
bool verify_base_is_proved(const struct verify_base *);
void verify_base_try_seam(struct verify_base *, const struct verify_task *,
                          const char *tenant, struct arena *);

/* Appends the tenant's seam, or that there is none, for a process of which
 * this one is a copy.  Takes it there, if nothing has changed since this one
 * began; returns false if that is not so, or if it is malformed. */
void verify_base_put_seam(const struct verify_base *, const char *tenant,
                          struct ds *);
bool verify_base_take_seam(struct verify_base *, const char *tenant,
                           const char *text, size_t n);

#endif /* verify/base.h */
