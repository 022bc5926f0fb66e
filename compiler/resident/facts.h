/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef RESIDENT_FACTS_H
#define RESIDENT_FACTS_H 1

/* What the parts of a node's compilation hold: flows, meters and claims, each
 * once, however many parts hold it.
 *
 * A fact has a key and a value: table, priority and match of a flow, and its
 * cookie and actions; the id of a meter, and all else of it; what is claimed,
 * and who claims it.  Of the facts of one key only one may have a holder that
 * stays: others clash.
 *
 * A change goes like this: the parts that will be replaced are leaving; the
 * new ones hold what they hold; then the leaving ones let go.  Until then
 * everything can be taken back. */

#include <stdbool.h>
#include <stddef.h>

#include "openvswitch/hmap.h"
#include "plan/plan.h"
#include "sema/claim.h"

/* In the order in which they are held, backwards. */
enum fact_kind { FACT_FLOW, FACT_METER, FACT_CLAIM };

/* The strings are those of the fact. */
struct fact {
    struct hmap_node node;      /* By the hash of its key. */
    enum fact_kind kind;
    bool fresh;                 /* Since facts_settle(). */
    size_t n;                   /* Holders; 0: gone, see facts_drop(). */
    size_t n_leaving;           /* Those of them that leave. */
    union {
        struct plan_flow flow;
        struct plan_meter meter;
        struct claim claim;
    };
};

struct fact_vec {
    struct fact **v;
    size_t n, allocated;
};

struct facts {
    struct hmap all;            /* Contains "struct fact"s. */
    struct fact_vec gone;       /* In the last change; not in 'all'. */
    size_t n_flows[256];        /* In each table, those leaving too. */
};

void facts_init(struct facts *);
void facts_destroy(struct facts *);

/* Adds to 'held' the facts of a finished plan and of claims, of which no two
 * clash.  Returns NULL, or a fact that one of them clashes with; 'held'
 * then has those before.
 *
 * 'likely' is what a part holds that leaves, most of which is the same and in
 * the same order, so it need not be looked for.  It may be given only as long
 * as no other part of the change holds anything: nothing clashes then with
 * what that part holds.  Else it is NULL. */
struct fact *facts_hold(struct facts *, const struct plan *,
                        const struct claims *, const struct fact_vec *likely,
                        struct fact_vec *held);

/* Takes back facts_hold() for the facts that no settled part holds. */
void facts_release(struct facts *, struct fact_vec *held);

/* What is in 'held' leaves, or stays after all. */
void facts_leave(struct fact_vec *held, bool leaves);

/* The end of a change: what is left in 'held' goes, and facts that nobody
 * holds any more are in facts->gone until facts_settle(). */
void facts_drop(struct facts *, struct fact_vec *held);

/* Frees what is gone, and begins a change. */
void facts_settle(struct facts *);

#endif /* resident/facts.h */
