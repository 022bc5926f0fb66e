/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SHARES_H
#define SHARES_H 1

/* Schemes that decide who gets what an uplink has spare, to compare with
 * borrow.h.
 *
 * Each is written from its description.  All stand behind the same committed
 * buckets of the leaves, so what a leaf is owed is decided alike; but what a
 * scheme makes of such a packet is its own. */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "proof/cluster.h"

/* A queue that drains at a rate, in bytes a ns; times are in ns. */
struct fluid {
    double bytes, when;
};

static inline double
fluid_drain(struct fluid *f, double rate, double now)
{
    f->bytes = fmax(f->bytes - (now - f->when) * rate, 0);
    f->when = now;
    return f->bytes;
}

struct shares {
    const char *name;
    bool own_queues;            /* Nothing but the leaves' reaches bounds what
                                 * is admitted at once. */

    /* Returns what the caller is to free().  The cluster remains. */
    void *(*create)(const struct cluster *);

    /* Is a packet of 'leaf' admitted?  'is_owed': its committed bucket had
     * room for it. */
    bool (*admit)(void *, double now, unsigned int leaf, uint32_t bytes,
                  bool is_owed);
};

extern const struct shares shares_borrowing;

/* BC-PQP (Tahir et al., "Efficient Policy-Rich Rate Enforcement with Phantom
 * Queues", SIGCOMM 2024), and the same without its burst control. */
extern const struct shares shares_bc_pqp, shares_pqp;

/* HCSFQ (Yu et al., "Twenty Years After: Hierarchical Core-Stateless Fair
 * Queueing", NSDI 2021). */
extern const struct shares shares_hcsfq;

/* The time constant of its averages in front of a cluster, K in the paper. */
double shares_hcsfq_average_ns(const struct cluster *);

/* trTCM (RFC 2698) at each leaf, and an uplink that drops yellow first. */
extern const struct shares shares_trtcm;

#endif /* shares.h */
