/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_TABLES_H
#define VERIFY_TABLES_H 1

/* Flow tables as they are to be proved, from the text of "ovs-ofctl
 * dump-flows" or flows.txt, or from a switch. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "openvswitch/ofp-port.h"
#include "verify/field.h"

struct ofpact;
struct ofputil_port_map;

enum { N_TABLES_MAX = 255 };

/* A field has the bits of 'value' where 'mask' is 1. */
struct condition {
    enum field field;
    u128 value, mask;
};

/* Are all bits of the field asked for? */
static inline bool
condition_is_whole(const struct condition *c)
{
    return c->mask == field_ones(fields[c->field].width);
}

/* A clause of a conjunction, 'k' of 'n', that a flow is part of. */
struct table_clause {
    uint32_t conjunction;       /* A number of all that have one table,
                                 * priority and id. */
    uint32_t id;
    uint8_t k, n;
};

struct table_flow {
    uint8_t table;
    uint16_t priority;
    uint64_t cookie;
    struct condition *conditions;
    size_t n_conditions;
    const struct ofpact *ofpacts;
    size_t ofpacts_len;
    const struct table_flow *like;      /* One of its table with the same
                                         * cookie and actions, ... */
    size_t deed;                /* ... which have this number. */
    bool clause;                /* Of a conjunction: it does nothing else. */
    struct table_clause *clauses;       /* Then which those are. */
    size_t n_clauses;
    const char *text;           /* As it was read. */
    unsigned int line;          /* In the file; 0: from a switch. */
    size_t order;               /* Its place among the flows. */
    bool temporary;             /* It goes away by itself, or may. */
};
VEC_TYPEDEF(flow_vec, struct table_flow *);

struct flow_index;

struct table_set {
    struct arena *arena;        /* Not owned. */
    const char *file;           /* Where from, for messages. */
    flow_vec flows;
    struct flow_index *index;   /* After table_set_finish(). */
    struct ofputil_port_map *ports;     /* Names to numbers.  Not owned. */
    bool ports_known;           /* 'ports' has all of the bridge: a number that
                                 * is not there is nobody's. */
    unsigned long *taken;       /* 1-bits: numbers that no name gets. */
    uint16_t next_port;
};

void table_set_init(struct table_set *, const char *file, struct arena *,
                 struct ofputil_port_map *);

/* Adds the flows of a text of 'size' bytes and a '\0', a line each; comments
 * and headings are left out.  Returns NULL, or what is wrong and where. */
const char *table_set_parse(struct table_set *, const char *text,
                              size_t size);

/* Once all flows are there, makes what is needed to find them.  Returns NULL,
 * or which two have the same match and priority. */
const char *table_set_finish(struct table_set *);

/* After that: adds the flow that 'text' says, or takes away the one of its
 * table, match and priority, whose place ('order') the last of the flows then
 * has; it stays where it is, as 'like' of others.  Returns NULL, or what is
 * wrong: then the flows are of no use any more.  What has gone takes memory as
 * long as the arena is there. */
const char *table_set_add(struct table_set *, const char *text,
                          struct table_flow **);
const char *table_set_remove(struct table_set *, const char *text,
                             struct table_flow **);

/* For tables.c: makes a flow known to what finds flows; the one of the same
 * table, match and priority unknown, which is returned, or NULL if there is
 * none. */
const char *table_set_index(struct table_set *, struct table_flow *);
struct table_flow *table_set_unindex(struct table_set *,
                                     const struct table_flow *like);

/* The flow of the same table, match and priority; NULL if there is none. */
struct table_flow *table_set_same(const struct table_set *,
                                  const struct table_flow *like);

/* The number of the port of that name, which it gets if it has none. */
ofp_port_t table_set_port(struct table_set *, const char *name);

/* A number that no port has and that stands nowhere in the text; OFPP_NONE if
 * there is none left. */
ofp_port_t table_set_free_port(struct table_set *);

/* "flows.txt:12". */
const char *flow_place(const struct table_set *, const struct table_flow *);

/* A field's bits that are known, in '*value', and which, in '*mask'. */
typedef void table_set_known(const void *aux, enum field, u128 *value,
                          u128 *mask);

/* Calls 'visit' for the flows of 'table' that could match, as far as those
 * fields go that flows match as a whole and 'known' knows. */
void table_set_find(const struct table_set *, uint8_t table,
                 table_set_known *known, const void *state,
                 void (*visit)(void *aux, struct table_flow *), void *aux);

/* A stronger flow that matches all that 'flow' matches, or NULL. */
const struct table_flow *table_set_shadow(const struct table_set *,
                                       const struct table_flow *);

/* Calls 'visit' for each flow that 'by' so keeps from all packets. */
void table_set_shadowed(const struct table_set *, const struct table_flow *by,
                        void (*visit)(void *aux, const struct table_flow *,
                                      const struct table_flow *by),
                        void *aux);

/* How many numbers conjunctions have. */
size_t table_set_n_conjunctions(const struct table_set *);

void table_set_destroy(struct table_set *);

/* Returns NULL, or how two conjunctions are taken for one. */
const char *table_set_colliding_conjunction(const struct table_set *);

#endif /* verify/tables.h */
