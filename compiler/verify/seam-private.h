/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_SEAM_PRIVATE_H
#define VERIFY_SEAM_PRIVATE_H 1

/* The rooms behind seam.h: seam.c proves what holds whatever POLICY decides,
 * seam-decide.c what it decides, seam-narrow.c of which packets; seam-text.c
 * writes seams. */

#include "openvswitch/shash.h"
#include "verify/expect.h"
#include "verify/seam.h"

/* By what POLICY does what rules say. */
struct seam_outcome {
    const struct ofpact *ofpacts;       /* Of the flow. */
    size_t ofpacts_len;
    bool allow;
    const char *class_name;     /* "" if there is none. */

    /* As long as the proof is: such a flow, rule and class. */
    const struct table_flow *flow;
    const struct policy_rule *rule;
    const struct policy_class *class;
};
typedef VEC(struct seam_outcome) seam_outcomes;

/* What POLICY looks at for a question. */
struct seam_view {
    unsigned int asked;         /* As in struct expect. */
    struct exec_view view;
};

/* What of a view a change can concern: packets of which flows that came or
 * went decide, or of which rules speak that did, and what POLICY looks at in
 * these. */
struct seam_part {
    dd_t packets;
    struct exec_view view;
};

struct seam {
    struct arena *arena;        /* Holds this, too. */
    struct shash numbers;       /* By "TENANT/ENDPOINT": uint64_t. */
    VEC(struct seam_view) views;        /* Of what is asked. */
    size_t n_questions;         /* That there are. */
    field_set matched;          /* By flows of POLICY. */
    seam_outcomes outcomes;
};

/* Of nothing yet. */
struct seam *seam_create(void);

/* Finds what POLICY decides, and rules, of what can have changed, or of all if
 * 'region' is NULL.  Returns false if they do not agree, or if it is none of
 * the seam's outcomes; if 'found' is not NULL they may be any, and are added
 * to it. */
bool seam_decide(struct proof *, const struct seam *, const struct region *,
                 seam_outcomes *found);

/* Can a packet of the view match the condition; can the rule speak of packets
 * of which the question is asked? */
bool seam_may_meet(const struct exec_view *, const struct condition *);
bool seam_may_speak(const struct judge *, const struct region_rule *,
                    enum judge_question);

/* Finds what of the view a change can concern, or all if 'region' is NULL. */
struct seam_part seam_narrow(struct proof *, struct side *,
                             const struct region *, const struct seam_view *);

#endif /* verify/seam-private.h */
