/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef REACTING_H
#define REACTING_H 1

/* A closed loop: senders that react to ECN (DCTCP) and senders that react to
 * nothing borrow from an uplink of 100 Gbps, with a FIFO of that rate behind
 * it, in virtual time.
 *
 * There are 16, of weights 1 to 4 by turns, each behind a line of 25 Gbps and
 * owed 2 Gbps.  All want more than their share: those that do not react send
 * 18.75 Gbps.  The round trip takes 10 us and what the FIFO holds. */

#include <stdbool.h>
#include <stdint.h>

enum { REACTING_SENDERS = 16 };

struct reacting_conf {
    unsigned int n_deaf;        /* The last ones react to nothing. */
    bool marks;                 /* What the others may not borrow is marked CE
                                 * and passes ("exceed=ecn"); else dropped. */
    uint64_t ns;                /* The first fifth is not counted. */
    uint64_t seed;
};

struct reacting_result {
    double used;                /* Of the FIFO's rate. */
    double heard, deaf;         /* What those that react, and the others, got
                                 * of their weighted max-min shares, if all
                                 * want more; 0 if there are none. */
    double l1;                  /* Sum of the distances from those shares, as
                                 * a part of the uplink. */
    double dropped, marked;     /* Of what those that react sent. */
    uint64_t n_owed_refused;
    uint64_t pool_bytes;        /* The deepest queue of the pool, and its */
    uint64_t bound_bytes;       /* bound. */
    uint64_t fifo_bytes;        /* The deepest. */
};

struct reacting_result reacting_run(const struct reacting_conf *);

#endif /* reacting.h */
