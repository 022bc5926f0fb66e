/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SERIAL_H
#define SERIAL_H 1

/* What threads may do to a GCRA, and whether what came out is right.
 *
 * An execution is right if one after the other, in some order that keeps each
 * thread's own, the same operations on the oracle have the same results and
 * leave the same depth (linearizability).  One liberty is taken, which gcra.h
 * grants: any thread may have made the bucket forget at any moment that it was
 * full already before the time that this thread passed in.  Another thread
 * that comes with an older time then finds fewer tokens, unless a third has
 * made it forget this too. */

#include <stdbool.h>
#include <stdint.h>

#include "gcra.h"
#include "oracle.h"

#define SERIAL_MAX_THREADS 3
#define SERIAL_MAX_OPS 2        /* Of a thread. */

struct contract {
    bool pktps;
    uint32_t rate;
    uint64_t burst;             /* In bits or packets. */
};

struct op {
    enum op_kind {
        OP_ADMIT,               /* A packet of 'sizes[0]'. */
        OP_BATCH,               /* Packets of 'sizes[]'. */
        OP_RECONFIGURE,
        OP_DEPTH,
        OP_CLONE,               /* The depth of a copy. */
    } kind;
    uint64_t when;
    uint32_t sizes[2];
    struct contract contract;

    /* The result. */
    uint32_t refused;           /* A bit a packet. */
    uint64_t depth;
};

struct scenario {
    struct contract contract;
    uint64_t start;
    struct op before;           /* Done alone, at 'start', if 'n_before'. */
    unsigned int n_before;
    struct op ops[SERIAL_MAX_THREADS][SERIAL_MAX_OPS];
    unsigned int n_threads;
    unsigned int n_ops;
    bool reconfigures;          /* To another contract. */

    /* The depth may end above that of the oracle.  So it does if an admission
     * counts as before a contract whose burst would have cut the depth off,
     * but came after it. */
    bool may_end_deeper;

    /* If nonzero, when 'before' counts for scenario_within_curve(). */
    uint64_t curve_from;

    struct gcra g;
};

void scenario_init(struct gcra *, const struct contract *, uint64_t now);
void scenario_do(struct gcra *, struct op *);

/* Latest time in the scenario. */
uint64_t scenario_end(const struct scenario *);

/* True if the results are those of a serial execution. */
bool scenario_is_serial(const struct scenario *);

/* True if no interval saw more than the first contract allows. */
bool scenario_within_curve(const struct scenario *);

void scenario_print(const struct scenario *);

#endif /* serial.h */
