/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_KEEP_PRIVATE_H
#define PUSH_KEEP_PRIVATE_H 1

/* Between keep.c, which follows database and switch and repairs, and
 * keep-plan.c, which takes plans and their changes. */

#include "openvswitch/token-bucket.h"
#include "push/keep.h"
#include "push/run.h"
#include "push/watch.h"
#include "svec.h"

enum {
    KEEPER_CHECK_MS = 500,      /* Between two looks at the meters. */
    KEEPER_RETRY_MS = 1000,     /* After a refusal, if nothing is new. */
    KEEPER_MAX_ATTACHED = 1000, /* Changes of attachments between two readings
                                 * of all interfaces. */
    KEEPER_REPAIR_COST = 200,   /* In tokens, of which a millisecond has one:
                                 * five repairs a second... */
    KEEPER_REPAIR_BURST = 4000, /* ...after twenty at once. */
};

struct keeper {
    struct push_target target;
    struct database *db;
    struct reconnect *fsm;
    struct push push;           /* 'wanted' and 'live' are as of now; 'arena'
                                 * and 'diff' those of the last step. */
    struct push_diff diff;
    struct arena *arena;
    struct plan plan;           /* Its meters, ports and tunnel. */
    bool whole;                 /* Is 'wanted' all of a plan... */
    bool owed;                  /* ...but not of the last one? */
    struct arena *plan_arena;
    struct arena *info_arena;   /* Holds 'push.info'. */
    unsigned int info_seqno;    /* 0: nothing is known. */
    unsigned int n_attached;    /* Changes in that arena. */
    struct ofputil_port_map ports;      /* All that wanted flows may name. */
    struct svec withdrawn;      /* Flows that would be wanted, but for their
                                 * interfaces. */

    bool live_known;            /* Has 'live' been read? */
    long long int hidden;       /* See watch_answer(); -1: not known yet. */
    bool miscounted;            /* Was it another number the last time? */
    bool asked;                 /* Does a watch_ask() wait for its answer... */
    long long int asked_until;  /* ...and how long? */
    bool wants_plan;            /* Are 'wanted' and 'live' not compared? */
    struct watch watch;         /* What is to be compared. */
    long long int next_check, next_try;
    char *trouble;
    struct keeper_counts counts;
    struct token_bucket repairs;        /* Against who undoes them. */
};

/* Begins a step. */
void keeper_begin(struct keeper *);

/* Sends what was compared.  Returns false if that has failed. */
bool keeper_carry_out(struct keeper *);

/* The step has failed.  What the switch refuses may go next time; for all
 * else, and where it is not known what it holds, the session ends. */
void keeper_fail(struct keeper *, const char *reason);

void keeper_disconnect(struct keeper *, int error);

#endif /* push/keep-private.h */
