/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_EFFECT_H
#define VERIFY_EFFECT_H 1

/* What becomes of a packet: a list of effects, in order.  Lists are
 * hash-consed, and numbers of lists are leaves of decision diagrams. */

#include "verify/term.h"

enum effect_kind {
    EFFECT_RULE,                /* It met a rule's flow: its cookie. */
    EFFECT_METER,               /* Its id. */
    EFFECT_TRACK,               /* It entered a zone, ... */
    EFFECT_COMMIT,              /* ... its connection was noted there: zone,
                                 * and mark << 16. */
    EFFECT_OUT,                 /* It left: see effects_out(). */
    EFFECT_OPEN, EFFECT_CLOSE,  /* What is between is of a copy. */
    EFFECT_END,                 /* It ended at the flow of this cookie. */
    EFFECT_MISS,                /* It ended in this table, at no flow. */
    EFFECT_TTL,                 /* Its TTL ended at dec_ttl. */
    EFFECT_TAIL,                /* While the rest is not run: a number that
                                 * exec.c gives. */
    EFFECT_ASKED,               /* It came to where tables are cut in two
                                 * (exec_cut()): see effects_asked(). */
    EFFECT_AMBIGUOUS,           /* Two flows of one priority in this table
                                 * would do different things. */
};

struct effect {
    uint64_t arg;
    enum effect_kind kind;
    uint32_t pad;               /* 0. */
};

/* A packet as it leaves. */
struct out {
    uint32_t port;              /* Or one that OpenFlow reserves;
                                 * OFPP_IN_PORT: back. */
    term_t fields[N_FIELDS];    /* Of the packet, and F_QUEUE, F_ND_*; 0 for
                                 * others. */
};

/* What a table that is cut off may look at. */
struct asked {
    uint64_t opener, opened;    /* Numbers of two sides. */
    uint64_t view;              /* Of all else: see exec_view(). */
};

struct effects;

struct effects *effects_create(void);
void effects_destroy(struct effects *);

/* The list of one effect, or of none; leaves. */
dd_t effects_one(struct effects *, enum effect_kind, uint64_t arg);
dd_t effects_none(struct effects *);

/* The list of these. */
dd_t effects_list(struct effects *, const struct effect list[], size_t n);

/* 'a' and then 'b'. */
dd_t effects_join(struct effects *, dd_t a, dd_t b);

/* The list, which stays where it is. */
const struct effect *effects_get(const struct effects *, dd_t, size_t *n);

/* Are they the same but for cookies? */
bool effects_same(const struct effects *, dd_t, dd_t);

/* The number of an 'out', and the other way round. */
uint64_t effects_add_out(struct effects *, const struct out *);
const struct out *effects_out(const struct effects *, uint64_t);

/* The same of what a table may look at. */
uint64_t effects_add_asked(struct effects *, const struct asked *);
const struct asked *effects_asked(const struct effects *, uint64_t);

#endif /* verify/effect.h */
