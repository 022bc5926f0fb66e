/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_OFFLOAD_H
#define OFFLOAD_OFFLOAD_H 1

/* What of a plan the hardware will hold, before it is pushed.
 *
 * For each rule of the node, packets of every kind go through the compiled
 * tables (offload/walk.h); what the megaflows that come of it need is compared
 * with what a profile carries (offload/profile.h).  So nothing here knows what
 * a rule is, and nothing is said twice: change the tables, and the answer
 * changes. */

#include "offload/need.h"
#include "offload/rule-packets.h"
#include "offload/profile.h"
#include "offload/walk.h"

struct ir_prog;
struct ir_rule;
struct plan;

enum offload_verdict {
    OFFLOAD_HARDWARE,           /* All of it. */
    OFFLOAD_PARTIAL,            /* Some packets, or some passes of one. */
    OFFLOAD_SOFTWARE,
    OFFLOAD_NONE,               /* No packet of this node meets it. */
};
extern const char *const offload_verdict_names[];

/* A pass of a packet, and what refuses it. */
struct offload_pass {
    const struct megaflow *megaflow;
    cap_set needs;
    cap_set refused;            /* Of these; 0: it is in hardware. */
    bool marked;                /* It is not, but its match is: packets that
                                 * it is of come marked to software. */
};

/* What all layers of the profile carry. */
cap_set offload_carried(const struct profile *);

/* Fills in what the megaflow of 'pass' needs, whose meters are those of the
 * plan, and what of that is refused: it is not among what is carried. */
void offload_judge_pass(cap_set carried, const struct plan *,
                        struct offload_pass *);

/* What a packet is to its connection. */
enum offload_role {
    ROLE_ANY,                   /* It is not tracked. */
    ROLE_OPENS,
    ROLE_FORWARD,
    ROLE_REPLY,                 /* From who was asked. */
    N_ROLES,
};
extern const char *const offload_role_names[N_ROLES];

struct offload_path {
    const struct rule_packet *packet;
    enum offload_role role;
    struct walk walk;           /* If broken, it counts as software. */
    struct offload_pass *passes;        /* As many as 'walk' has megaflows. */
    enum offload_verdict verdict;
};

/* What any pass of the path needs, and is refused; 0 if all are in
 * hardware. */
cap_set offload_path_refused(const struct offload_path *);

VEC_TYPEDEF(offload_path_vec, struct offload_path);

struct offload_rule {
    const struct ir_rule *rule; /* NULL: of no rule, but of... */
    const char *name;           /* ...this. */
    enum offload_verdict verdict;
    offload_path_vec paths;
    size_t n_flows;             /* Megaflows in hardware, those that mark too,
                                 * if all whom it names talk at once, on one
                                 * port each. */
    uint64_t rate_kbps;         /* That its senders may have at most. */
    bool over_budget;           /* In software only since there is no room. */
};

struct offload_report {
    const struct profile *profile;
    const struct plan *plan;
    VEC(struct offload_rule) rules;     /* As in the program; then what every
                                         * packet must pass. */
    size_t n_flows;             /* In hardware. */
    size_t n_meters;            /* That filters in hardware call. */
};

/* Explains 'prog' as a backend has lowered it to 'plan'.  Returns NULL, or a
 * reason in the arena. */
const char *offload_explain(const struct ir_prog *, const struct plan *,
                            const struct profile *, struct arena *,
                            struct offload_report *);

/* Puts rules whose megaflows there is no room for into software: what fits
 * 'n_flows' is filled by those of the highest rate first, and one that is too
 * large leaves its room to those below it. */
void offload_fit(struct offload_report *, uint64_t n_flows);

/* Both, with the room that the profile knows of. */
const char *offload_predict(const struct ir_prog *, const struct plan *,
                            const struct profile *, struct arena *,
                            struct offload_report *);

#endif /* offload/offload.h */
