/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_PROVE_H
#define PLAN_PROVE_H 1

/* The proof of a plan, before it goes onto a switch: its flows against the
 * policy that they were made of, as verify/verify.h does, without what is
 * known already.
 *
 * What was proved is kept as digests of tenants (verify_digest()).  A tenant
 * that has the digest of a proof has the same flows in its slice, the same
 * meters to call, and the same meaning as then, in all that the proof of its
 * packets reads; so the same proof would come to the same.  What is nobody's
 * is proved each time, and all of it if a zone, a mark or a meter of a tenant
 * that is proved could be another's.
 *
 * - The digests are SHA-1, which is no hash for who can choose both texts: a
 *   tenant that has two intents made that collide, some 2^63 steps, could keep
 *   the second from being proved.  That gives it nothing, as long as the
 *   compiler is right.
 * - With them goes which verifier it was: a SHA-1 of its sources, and of
 *   libopenvswitch, which has the parser of flows.  To another one nothing is
 *   known.
 * - Who may write where they are kept may as well write to the switch. */

#include "plan/plan.h"
#include "verify/verify.h"

struct ds;

struct plan_proof {
    struct verify_task task;
    struct table_set tables;
    struct ofputil_port_map ports;
    struct verify_result result;
    size_t n_tenants, n_proved; /* All; those of which it was not known. */
    plan_names proved;          /* What is known once this is proved. */
};

/* Proves the plan, which is what the policy gives on its node.  'known' is
 * what an earlier proof has left in 'proved', of whichever plan.  With
 * 'time_ms' it gives up after so long: then it is unproved.  'n_jobs' is as in
 * struct verify_task.  What is found is in the arena, as policy and plan must
 * be as long as it is used.  Returns whether it is proved.
 *
 * Plans of the userspace datapath only: for others' connection tracking of
 * fragments the reference meaning has no words. */
bool plan_prove(struct plan_proof *, const struct policy *,
                const struct plan *, const plan_names *known, int time_ms,
                unsigned int n_jobs, struct arena *);
void plan_proof_destroy(struct plan_proof *);

/* Lets a task be about the flows and meters of a plan.  'tables' and 'ports'
 * are to be destroyed with it.  Returns NULL, or what is wrong. */
const char *plan_to_task(const struct plan *, struct verify_task *,
                         struct table_set *tables,
                         struct ofputil_port_map *ports, struct arena *);

/* Appends what is wrong: the first 'max' differences, each with its packet and
 * its way; how many there are more; and why it is unproved. */
void plan_proof_words(const struct verify_task *,
                      const struct verify_result *, const char *bridge,
                      size_t max, struct ds *);

/* The command that shows the packet of a difference on a switch. */
const char *plan_proof_trace(const struct verify_difference *,
                             const char *bridge, struct arena *);

#endif /* plan/prove.h */
