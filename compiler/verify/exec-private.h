/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_EXEC_PRIVATE_H
#define VERIFY_EXEC_PRIVATE_H 1

/* The rooms behind exec.h: exec.c keeps states, exec-lookup.c looks flows up,
 * exec-action.c does what they say, exec-track.c what connection tracking
 * does. */

#include "bitmap.h"
#include "openvswitch/hmap.h"
#include "verify/exec.h"

struct ofpact_conntrack;

/* What all fields hold. */
struct state {
    term_t fields[N_FIELDS];
};

/* What packets need of a switch, at most, from some place in the tables on. */
struct reach {
    int depth;                  /* Resubmits to tables that are not behind,
                                 * one below another. */
    int resubmits;              /* All of them. */
    int passes;                 /* Recirculations, one below another. */
};

struct exec {
    struct table_set *tables;
    struct space *space;
    struct terms *terms;
    struct effects *effects;
    ofp_port_t tunnel;
    long long int deadline;
    unsigned long live[N_TABLES_MAX];   /* 1-bits: fields that are not the
                                         * packet's and may be read in that
                                         * table or behind it. */
    struct hmap states;         /* Contains "struct known_state"s. */
    struct dd_op join, merge;

    dd_t met;                   /* The packets that meet the flow whose actions
                                 * are done. */
    struct reach reach;         /* From there on. */
    int nested;                 /* exec_nest(). */
    const char *refused;        /* In the tables' arena. */
    bool layout;

    const u128 *values;         /* Of the one packet that is followed. */
    struct arena *arena;
    step_vec *steps;
};

/* What is said of flows that are. */
#define EXEC_TEMPORARY "it may go away, by a timeout or its importance"

/* Notes that 'flow' does 'what', which is not modelled. */
dd_t exec_refuse(struct exec *, const struct table_flow *, const char *what);

term_t exec_const(struct exec *, enum field, u128 value);

/* The packet's field, or what the one packet has there. */
term_t exec_field(struct exec *, enum field);

/* Is the term known?  Stores it. */
bool exec_is_const(const struct exec *, term_t, u128 *value);

/* What becomes of packets in the state from 'table' on, to which a flow of
 * table 'from' leads; that they come to by recirculation; that is looked up
 * again, which is no resubmit.  Refuses what is more than a switch does. */
dd_t exec_resubmit(struct exec *, uint8_t from, uint8_t table,
                   const struct state *);
dd_t exec_recirculate(struct exec *, uint8_t table, const struct state *);
dd_t exec_look_again(struct exec *, uint8_t table, const struct state *);

/* Notes that what is computed, of 'table', calls itself, which must not use up
 * the stack.  Returns false after refusing; else 'nested' is one more. */
bool exec_nest(struct exec *, uint8_t table);

/* The more of each. */
struct reach reach_max(struct reach, struct reach);

/* The same, computed anew: what the flows of 'table' that match do. */
dd_t exec_look_up(struct exec *, uint8_t table, const struct state *);

/* What becomes of packets that meet 'flow' in the state, which are those of
 * 'met'; what is said of others is of no use. */
dd_t exec_flow(struct exec *, const struct table_flow *, const struct state *,
               dd_t met);

/* The fields that the flow's actions may read, as in struct exec; sets in
 * 'next' the 1-bits of the tables that they lead to. */
unsigned long exec_reads(const struct table_flow *,
                         unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)]);

/* ct(): what it notes, and what becomes of the packets that come back.  Where
 * the actions go on, nothing is known of connections any more. */
dd_t exec_track(struct exec *, const struct table_flow *, struct state *,
                const struct ofpact_conntrack *);

/* In F_TRACKED: what is followed is a copy. */
#define TRACKED_COPY (UINT64_C(1) << 63)

/* Changes the state as set_field or move do.  Returns false after refusing. */
struct ofpact;
bool exec_set(struct exec *, const struct table_flow *, struct state *,
              const struct ofpact *);

#endif /* verify/exec-private.h */
