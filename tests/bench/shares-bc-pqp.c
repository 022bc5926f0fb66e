/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* BC-PQP.
 *
 * Each leaf has a phantom queue: a count of bytes, which grows by what is
 * admitted.  What would not fit into it is dropped.  The queues are drained at
 * the rate of the uplink, less what leaves are owed, as a scheduler of the
 * wanted policy would drain real ones: here by weight, among tenants and then
 * among the leaves of each.
 *
 * Queues have to be long for senders that back off by half, and a long queue
 * that is empty lets a burst of its length through.  So there is burst
 * control: over windows, a queue that fills 1.5 times as fast as it drains is
 * filled up with bytes of nobody, and then admits no more than it drains;
 * they are taken out when it fills at half the speed or less.  (These are the
 * thresholds of the authors' program: github.com/PhantomQueuePolicer/BCPQP,
 * emulation/mahimahi/src/packet/bcpqp.cc.) */

#include <config.h>
#include "shares.h"

#include "util.h"

#define WINDOW_NS 1e6
#define FILLS_FAST 1.5
#define FILLS_SLOWLY 0.5

/* How often queues are drained that are not full. */
#define DRAIN_NS 1e3

struct claim {
    double want, weight, got;
};

struct queue {
    double room, bytes;
    double nobodys;             /* Of these. */
    double filled, drained;     /* In this window. */
};

struct bc_pqp {
    const struct cluster *cluster;
    bool burst_control;
    double drained_at, window_end;
    double owed;                /* Bytes since it was drained. */
    double tokens[CLUSTER_MAX_TENANTS]; /* What a tenant is owed itself. */
    struct queue queues[CLUSTER_MAX_LEAVES];
    struct claim tenants[CLUSTER_MAX_TENANTS];
    struct claim leaves[CLUSTER_MAX_LEAVES];
};

static struct bc_pqp *
create(const struct cluster *c, bool burst_control)
{
    struct bc_pqp *b = xzalloc(sizeof *b);

    b->cluster = c;
    b->burst_control = burst_control;
    b->window_end = WINDOW_NS;
    for (unsigned int i = 0; i < c->n; i++) {
        b->queues[i].room = c->leaves[i].burst + c->leaves[i].reach;
        b->leaves[i].weight = c->leaves[i].weight;
    }
    return b;
}

static void *
bc_pqp_create(const struct cluster *c)
{
    return create(c, true);
}

static void *
pqp_create(const struct cluster *c)
{
    return create(c, false);
}

/* Shares 'bytes' by weight. */
static void
share(struct claim claims[], unsigned int n, double bytes)
{
    double level = 0, before, weight;

    do {
        double left = bytes;

        before = level;
        weight = 0;
        for (unsigned int i = 0; i < n; i++) {
            if (claims[i].want <= before * claims[i].weight) {
                left -= claims[i].want;
            } else {
                weight += claims[i].weight;
            }
        }
        level = weight ? fmax(left / weight, before) : INFINITY;
    } while (weight && level > before);
    for (unsigned int i = 0; i < n; i++) {
        claims[i].got = fmin(claims[i].want, level * claims[i].weight);
    }
}

/* Shares 'bytes' among tenants, who first get what they are owed beyond their
 * leaves, and then among the leaves of each.  'ns' have gone by. */
static void
share_tree(struct bc_pqp *b, double bytes, double ns)
{
    const struct cluster *c = b->cluster;
    unsigned int per = c->conf.n_classes;
    double own[CLUSTER_MAX_TENANTS];

    for (unsigned int t = 0; t < c->conf.n_tenants; t++) {
        double want = 0;

        for (unsigned int i = t * per; i < (t + 1) * per; i++) {
            want += b->leaves[i].want;
        }
        b->tokens[t] = fmin(b->tokens[t] + c->tenants[t].kbps / 8e6 * ns,
                            c->tenants[t].burst);
        own[t] = fmin(fmin(fmax(b->tokens[t], 0), want), bytes);
        b->tokens[t] -= own[t];
        bytes -= own[t];
        b->tenants[t] = (struct claim) {
            want - own[t], c->tenants[t].weight, 0,
        };
    }
    share(b->tenants, c->conf.n_tenants, bytes);
    for (unsigned int t = 0; t < c->conf.n_tenants; t++) {
        share(&b->leaves[t * per], per, own[t] + b->tenants[t].got);
    }
}

static void
drain(struct bc_pqp *b, double now)
{
    double ns = now - b->drained_at;
    double bytes = ns * b->cluster->conf.kbps / 8e6 - b->owed;

    b->drained_at = now;
    b->owed = fmax(-bytes, 0);
    for (unsigned int i = 0; i < b->cluster->n; i++) {
        b->leaves[i].want = b->queues[i].bytes;
    }
    if (b->cluster->conf.tree) {
        share_tree(b, fmax(bytes, 0), ns);
    } else {
        share(b->leaves, b->cluster->n, fmax(bytes, 0));
    }
    for (unsigned int i = 0; i < b->cluster->n; i++) {
        b->queues[i].bytes -= b->leaves[i].got;
        b->queues[i].drained += b->leaves[i].got;
    }
}

static void
control_bursts(struct bc_pqp *b)
{
    for (unsigned int i = 0; i < b->cluster->n; i++) {
        struct queue *q = &b->queues[i];

        q->nobodys = fmin(q->nobodys, q->bytes);
        if (q->filled > FILLS_FAST * q->drained) {
            q->nobodys += q->room - q->bytes;
            q->bytes = q->room;
        } else if (q->filled < FILLS_SLOWLY * q->drained) {
            q->bytes -= q->nobodys;
            q->nobodys = 0;
        }
        q->filled = q->drained = 0;
    }
}

static bool
bc_pqp_admit(void *b_, double now, unsigned int leaf, uint32_t bytes,
             bool is_owed)
{
    struct bc_pqp *b = b_;
    struct queue *q = &b->queues[leaf];

    if (is_owed) {
        b->owed += bytes;
        b->tokens[leaf / b->cluster->conf.n_classes] -= bytes;
        return true;
    }
    if (now - b->drained_at >= DRAIN_NS || q->bytes + bytes > q->room) {
        drain(b, now);
    }
    if (b->burst_control && now >= b->window_end) {
        control_bursts(b);
        b->window_end = now + WINDOW_NS;
    }
    if (q->bytes + bytes > q->room) {
        return false;
    }
    q->bytes += bytes;
    q->filled += bytes;
    return true;
}

const struct shares shares_bc_pqp = {
    .name = "BC-PQP",
    .own_queues = true,
    .create = bc_pqp_create,
    .admit = bc_pqp_admit,
};

const struct shares shares_pqp = {
    .name = "PQP",
    .own_queues = true,
    .create = pqp_create,
    .admit = bc_pqp_admit,
};
