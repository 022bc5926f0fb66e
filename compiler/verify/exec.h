/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_EXEC_H
#define VERIFY_EXEC_H 1

/* Symbolic execution: what becomes of each packet that comes by a port.
 *
 * Registers are followed as terms (term.h), so a match after a rewrite is one
 * of the packet as it came.  What a table does depends on the fields that it
 * and those behind it may read; it is computed once for each state of them.
 *
 * Connection tracking: ct(table=T,zone=Z) goes on in T once for each value of
 * enum track.  In the first zone that is F_CONN1 of the packet, in the second
 * F_CONN2; the marks of connections are F_MARK1 and F_MARK2.  What opened a
 * connection follows from the packet, but for fragments and ICMP errors, where
 * F_OPEN_* and F_OUTSIDE say it.
 *
 * Conjunctions (ovs-fields(7)) are folded for each priority and id as AND of
 * ORs; where one matches, the table is looked up again with its conj_id. */

#include "verify/effect.h"
#include "verify/tables.h"

struct exec;
struct exec_fields;

struct ingress {
    ofp_port_t port;
    bool outer;                 /* It may have an outer header. */
};

/* A flow that a packet met. */
VEC_TYPEDEF(step_vec, const struct table_flow *);

/* What of packets counts in which table. */
struct exec_fields *exec_fields_create(const struct table_set *);
void exec_fields_destroy(struct exec_fields *);  /* Accepts NULL. */

/* Takes one more flow into account.  Returns false if they must be created
 * anew for that.  With one less they always are enough. */
bool exec_fields_add(struct exec_fields *, const struct table_flow *);

/* 'tunnel' is the port of tunnels, OFPP_NONE if there is none; after
 * 'deadline', as time_msec() has it, nothing is computed; 0: none. */
struct exec *exec_create(struct table_set *, const struct exec_fields *,
                         struct space *, struct terms *, struct effects *,
                         ofp_port_t tunnel, long long int deadline);
void exec_destroy(struct exec *);

/* From now on each port is run by itself.  Else what leaves by the port that
 * it came by is taken for sent, which a switch does not do. */
void exec_by_port(struct exec *);

/* From now on only packets of 'set' are run, that come by one of the ports;
 * what is said of others is of no use.  Before all else. */
void exec_within(struct exec *, dd_t set, const struct ingress *const from[],
                 size_t n);

/* From now on each packet may have any opener, of which F_OPEN_* say protocol
 * and ports, whatever the packet itself says: so what rules ask for is in the
 * same fields however it is tracked.  What is proved so is proved of the
 * openers that packets have; what is not may be so for others only. */
void exec_any_opener(struct exec *);

/* From now on nothing is run for several senders together: what is refused of
 * one is refused of all of them. */
void exec_apart(struct exec *);

/* Tables may be cut in two, at one that decides: from now on that does with a
 * packet what outcomes[F_VERDICT] does, its last for all that are more, after
 * EFFECT_ASKED, which says what it would have looked at.  The values of four
 * registers are numbers of two sides, "opener" REG11 and REG12, "opened" REG13
 * and REG14; all else is a view. */
struct exec_cut {
    uint8_t table;
    const struct table_flow *const *outcomes;
    size_t n;
};
void exec_cut(struct exec *, const struct exec_cut *);

/* The fields that a table looks at, but for those numbers. */
enum { EXEC_MAX_VIEWED = 10 };
struct exec_view {
    size_t n;
    struct exec_viewed {
        enum field field;
        struct term term;       /* Which is plain. */
    } v[EXEC_MAX_VIEWED];
};
const struct exec_view *exec_view(const struct exec *, uint64_t number);

/* Is the field one that holds a number?  Stores which. */
bool exec_number(const struct asked *, enum field, uint64_t *value);

/* What 'table' decides where that is asked: of each packet the flow, as a
 * leaf, 2 more than its order; 1 if there is none, or none alone. */
dd_t exec_decide(struct exec *, uint8_t table, const struct asked *,
                 const struct exec_view *);

/* The fields that flows of 'table' match. */
field_set exec_matched(const struct exec_fields *, uint8_t table);

/* The effects on each packet, leaves of effect.h.  Diagrams of them are bound
 * (dd.h), unless each port is run by itself: exec_bound() has the leaves. */
dd_t exec_bound(struct exec *, uint32_t number, dd_t leaf);
dd_t exec_run(struct exec *, const struct ingress *);

/* Why what was computed is not to be used: something that is not modelled, and
 * where.  NULL if all is well.  '*layout' is set if another layout may do. */
const char *exec_refused(const struct exec *, bool *layout);

/* The effects on one packet, and its way, appended to 'steps' in 'arena'. */
dd_t exec_walk(struct exec *, const struct ingress *, const u128 values[],
               struct arena *arena, step_vec *steps);

/* How many states of tables were computed. */
size_t exec_n_states(const struct exec *);

#endif /* verify/exec.h */
