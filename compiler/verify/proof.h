/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_PROOF_H
#define VERIFY_PROOF_H 1

/* A proof, entry by entry: verify.c says of which, proof.c does it. */

#include "verify/compare.h"
#include "verify/entry.h"

/* The same packets in one layout. */
struct side {
    struct space space;
    struct exec *exec;
    struct judge judge;
};

struct proof {
    const struct verify_task *task;
    struct verify_result *result;
    struct arena *arena;
    struct terms *terms;
    struct effects *effects;
    struct side sides[N_LAYOUTS];
    bool there[N_LAYOUTS];      /* Is the side there? */
    struct arena *of_sides;     /* What lives and dies with them. */
    const struct exec_fields *fields;
    struct judge_facts *facts;
    bool mixed;                 /* A diagram could not be bound. */
    bool vote_all;              /* Of vote_zones(). */
    bool by_port;               /* Each port by itself, to tell how it
                                 * differs. */
    struct comparison comparison;
    uint32_t *marks;            /* By tenant of the policy. */
    entry_vec entries;
    const struct entry *entry;  /* That is compared. */
    struct pool found;          /* Pairs of leaves that differ. */
    struct pool pairs;          /* Of leaves that are bound. */
    struct memo same;           /* Of such pairs, by layout and whether it
                                 * was voted: whether they are the same. */
    struct memo denied;         /* The same of pairs of 'pairs' of which the
                                 * second denies, and nothing leaves. */
    struct memo bound;          /* The same of diagrams. */
    bool fine;                  /* All in LAYOUT_BITS. */
    bool apart;                 /* See exec_apart(). */
    bool any_opener;            /* See exec_any_opener(). */
    const struct exec_cut *cut; /* See exec_cut(); or NULL; */
    const struct judge_outcome *outcomes;       /* and of the rules as many. */
    bool scattered;             /* That would help. */
};

/* Is it over: is something unproved, or the time up? */
bool proof_is_late(struct proof *);

/* Could all be told so far? */
bool proof_is_fine(const struct proof *);

/* What is known in the layout, which may be nothing yet. */
struct side *proof_side(struct proof *, enum layout);

/* Finds what becomes of the packets of 'entry'. */
void proof_run(struct proof *, struct entry *);

/* Counts the zone and the mark of what an endpoint sends, or all marks of what
 * comes otherwise, or if 'all'. */
void proof_vote(struct proof *, const struct entry *, bool all);

/* Returns whether all is as expected, after proof_run().  While 'voting', what
 * is used counts as usual, and differences are not reported. */
bool proof_compare(struct proof *, struct entry *, bool voting);

/* Forgets all diagrams: those of entries are no longer good. */
void proof_reset(struct proof *);

/* Forgets, too, what is used for what; or all that was found, with why nothing
 * was. */
void proof_start_anew(struct proof *);
void proof_forget(struct proof *);

/* How many diagrams there are. */
size_t proof_nodes(const struct proof *);

void proof_destroy(struct proof *);

/* Finds what is wrong with the tables, whatever packets come: flows that are
 * kept from all, and what stands for two things.   (shadow.c) */
void proof_look_at_tables(struct proof *);

/* The same of tables in which nothing was wrong without these flows. */
void proof_look_at_flows(struct proof *, struct table_flow *const flows[],
                         size_t n);

struct verify_difference *proof_add_difference(struct proof *,
                                               enum verify_kind);

#endif /* verify/proof.h */
