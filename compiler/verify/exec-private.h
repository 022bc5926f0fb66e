/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_EXEC_PRIVATE_H
#define VERIFY_EXEC_PRIVATE_H 1

/* The rooms behind exec.h: exec.c keeps states, exec-lookup.c looks flows up,
 * exec-conjunction.c puts clauses together, exec-action.c does what flows say,
 * exec-track.c what connection tracking does, exec-cut.c what is known where
 * tables are cut in two. */

#include "bitmap.h"
#include "openvswitch/hmap.h"
#include "verify/exec.h"
#include "verify/memo.h"
#include "verify/pool.h"

struct ofpact_conntrack;

/* Lists that are freed by hand: an arena would keep those of all lookups. */
#define LIST(TYPE) struct { TYPE *v; size_t n, allocated; }
#define LIST_ADD(LIST)                                                  \
    ((LIST)->v = ((LIST)->n < (LIST)->allocated ? (LIST)->v             \
                  : x2nrealloc((LIST)->v, &(LIST)->allocated,           \
                               sizeof *(LIST)->v)),                     \
     &(LIST)->v[(LIST)->n++])

struct dd_list {
    dd_t *v;
    size_t n, allocated;
};

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

/* What one exec knows of flows, by their order: in the place of the one
 * before, so that none begins with all of them. */
struct exec_notes {
    struct exec_note {
        uint32_t exec;          /* Its number: of others nothing is known. */
        uint32_t seen;          /* In which lookup; 0: in none. */
        dd_t matching;          /* The packets that match the flow as they
                                 * came; DD_NONE: not known. */
    } *v;
    size_t n;
    uint32_t n_execs;
};

/* What of packets and notes counts where. */
struct exec_fields {
    field_set live[N_TABLES_MAX];       /* Those that are not the packet's and
                                         * may be read in that table or behind
                                         * it. */
    field_set body[N_TABLES_MAX];       /* Those that are read from that table
                                         * on before a tail. */
    field_set matched[N_TABLES_MAX];    /* Those that its flows match. */
    unsigned long tail[BITMAP_N_LONGS(N_TABLES_MAX)];   /* See exec-tail.c. */
    struct senders *senders;            /* See exec-sender.c. */
    struct exec_notes *notes;
};

/* The packets that meet a flow, or if that is NULL a conjunction. */
struct share {
    const struct table_flow *flow;
    uint32_t id;                /* Of the conjunction. */
    dd_t packets;
    uint16_t type;              /* That they all have, or 0. */
    uint8_t deepest;            /* See dd_deepest(). */
};

/* All packets, by what a table does with them. */
struct split {
    size_t first, n;            /* Shares. */
    dd_t missed;                /* Those that no flow matches. */
    dd_t shape;                 /* By number, from 1, whose share a packet is;
                                 * DD_NONE if not known. */
};

/* Which clauses of a conjunction flows were found of. */
struct tally {
    uint32_t lookup;            /* In which lookup. */
    uint8_t n;                  /* How many it has, the least that is said. */
    uint64_t clauses;           /* 1-bits: those found. */
};

struct exec {
    struct table_set *tables;
    struct space *space;
    struct terms *terms;
    struct effects *effects;
    ofp_port_t tunnel;
    long long int deadline;
    const struct exec_fields *fields;
    struct hmap states;         /* Contains "struct known_state"s. */
    struct exec_notes *notes;   /* Of flows, ... */
    uint32_t number;            /* ... if they have this. */
    uint32_t n_lookups;
    struct tally *tallies;      /* By number of the conjunction. */
    struct memo conditions;     /* The packets that meet them. */
    struct {
        struct pool keys;
        struct split *v;
        size_t allocated;
    } splits;                   /* By table and what it matches of a state. */
    struct {
        struct share *v;
        size_t n, allocated;
    } shares;                   /* Those of a split are side by side. */
    struct pool tails;          /* Of "struct tail"s. */
    struct pool bindings;       /* Of "struct state"s. */
    struct pool parts;          /* Of "struct part_key"s, ... */
    struct part {
        dd_t list;              /* DD_NONE: it has none. */
        struct reach reach;
    } *part;                    /* ... and what is known of them. */
    size_t allocated_part;
    struct pool bounds;         /* Of "struct bound_key"s, ... */
    struct bound {
        dd_t result;            /* DD_NONE: it has none. */
        struct reach reach;     /* From where tails begin. */
    } *bound;                   /* ... and what is known of them. */
    size_t allocated_bound;
    const struct exec_cut *cut; /* See exec_cut(); or NULL. */
    struct pool views;          /* Of "struct exec_view"s. */
    bool by_port;               /* See exec_by_port(). */
    bool apart;                 /* See exec_apart(). */
    bool any_opener;            /* See exec_any_opener(). */
    dd_t within;                /* See exec_within(). */
    unsigned long *scouted;     /* Not NULL: nothing is run from where senders
                                 * are together on, but 1-bits are set: who
                                 * they are. */
    size_t first_sender;        /* Of those that are run, ... */
    bool some_senders;          /* ... if not all are. */
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

/* The rest of a way, from a table on. */
struct tail {
    uint64_t table;
    struct state state;
};

/* Of diagrams of effects. */
enum { OP_JOIN = DD_OP_USER, OP_MERGE, OP_BIND, OP_DECIDE };

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

/* Does what is known of the state rule the flow out?  Else, the packets that
 * match it. */
bool exec_is_ruled_out(const struct exec *, const struct table_flow *,
                       const struct state *);
dd_t exec_match_set(struct exec *, const struct table_flow *,
                    const struct state *);

/* A flow of clauses, and the packets that match it. */
struct clause_flow {
    const struct table_flow *flow;
    dd_t set;
};

/* Calls 'add' for each conjunction of which a packet can match all clauses, by
 * flows that one lookup has found: the strongest first, and by id. */
typedef void exec_conjunction_cb(void *aux, uint32_t id, uint16_t priority,
                                 dd_t set);
void exec_find_conjunctions(struct exec *, const struct clause_flow[],
                            size_t n, exec_conjunction_cb *add, void *aux);

/* Which packets meet which flow, in the state. */
struct split exec_split(struct exec *, uint8_t table, const struct state *);

/* What becomes of packets where the tables are cut.  (exec-cut.c) */
dd_t exec_look_cut(struct exec *, uint8_t table, const struct state *);

/* What the flows of 'table' that match do, computed anew. */
dd_t exec_look_up(struct exec *, uint8_t table, const struct state *);

/* What becomes of packets that meet 'flow' in the state, which are those of
 * 'met'; what is said of others is of no use. */
dd_t exec_flow(struct exec *, const struct table_flow *, const struct state *,
               dd_t met);

/* What becomes of packets in the state from 'table' on, and how far that
 * reaches. */
dd_t exec_table(struct exec *, uint8_t table, const struct state *,
                struct reach *);

/* Finds out where tails begin, and what is read before. */
void exec_find_tails(struct exec_fields *, const struct table_set *);

/* Is what is known of tails so with one more flow too? */
bool exec_tails_hold(const struct exec_fields *, const struct table_flow *);

/* The registers that differ among senders that are run together, but for the
 * one that tables ask for bits of. */
field_set exec_varied(const struct exec_fields *);

/* Finds out who is alike, and from where on. */
struct senders *exec_find_senders(const struct exec_fields *,
                                  const struct table_set *);
/* One more; returns false if that is too many together, so that those that
 * have gone are to be forgotten. */
bool exec_add_sender(struct exec_fields *, const struct table_flow *);
void exec_destroy_senders(struct senders *);

/* Puts a state together with those of other senders that nothing tells apart
 * but as F_SENDER does, in which it is '*index'.  Returns false if there are
 * none. */
bool exec_join_senders(struct exec *, uint8_t table, const struct state *,
                       struct state *joined, size_t *index);

/* The most that are run together. */
enum { EXEC_MAX_ALIKE = 1 << 12 };

/* Is the rest of the way a tail, to be run when all is known? */
bool exec_is_tail(struct exec *, uint8_t table, const struct state *);

/* Leaves open what nothing reads before a tail, for others that differ in
 * nothing else.  Returns false if there is nothing to be gained. */
bool exec_leave_open(struct exec *, uint8_t table, const struct state *,
                     struct state *open);

/* Makes of what is known of 'open', '*result' and '*reach', what becomes of
 * packets in 'state'.  Returns false if that has to be computed by itself: as
 * for flows that differ while the rest is not run, or if the packet decides in
 * a tail. */
bool exec_bind(struct exec *, const struct state *state,
               const struct state *open, dd_t *result, struct reach *);

/* For dd_settle_by(): puts into the leaves what 'number' of exec_bind() says.
 * These numbers are even, and those of what is meant (expect.h) odd: of such
 * it returns false. */
bool exec_settle(void *exec, uint32_t number, dd_t *effects);

/* Has room for as many flows; one exec at a time knows something of a flow. */
struct exec_notes *exec_take_notes(const struct exec_fields *, size_t n);

/* What is known of the flow. */
static inline struct exec_note *
exec_note(struct exec *ex, const struct table_flow *flow)
{
    struct exec_note *note = &ex->notes->v[flow->order];

    if (note->exec != ex->number) {
        *note = (struct exec_note) { ex->number, 0, DD_NONE };
    }
    return note;
}

/* The fields that are asked for whether a packet meets the condition. */
static inline field_set
exec_matches(const struct condition *c)
{
    return (FIELD_BIT(c->field)
            | (c->field == F_ETH_TYPE ? FIELD_BIT(F_TYPE) : 0));
}

/* The fields that the flow's actions may read; sets in 'next' the 1-bits of
 * the tables that they lead to. */
field_set exec_reads(const struct table_flow *,
                     unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)]);

/* ct(): what it notes, and what becomes of the packets that come back.  Where
 * the actions go on, nothing is known of connections any more. */
dd_t exec_track(struct exec *, const struct table_flow *, struct state *,
                const struct ofpact_conntrack *);

/* The ct_state of packets that come back. */
extern const uint32_t exec_track_states[N_TRACKS];

/* In F_TRACKED: what is followed is a copy. */
#define TRACKED_COPY (UINT64_C(1) << 63)

/* Changes the state as set_field or move do.  Returns false after refusing. */
struct ofpact;
bool exec_set(struct exec *, const struct table_flow *, struct state *,
              const struct ofpact *);

#endif /* verify/exec-private.h */
