/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* HCSFQ.
 *
 * The rate of each leaf is an exponential average, its label that by weight.
 * Each inner node of the tree estimates a fair label: while more arrives than
 * it may pass, the last estimate times what it may pass by what it did pass,
 * once a window, and no more than what it may pass; else the greatest label of
 * the window.  A packet is dropped with the probability that leaves its leaf
 * the fair label of the node above.  What a node may pass is its weight times
 * the fair label of the node above that.  One queue holds all; when it
 * overflows, the estimates go down by one in a hundred, and by a quarter in a
 * window at most.  With one level, this is CSFQ (Stoica et al., SIGCOMM 1998).
 *
 * It has no guarantees.  Here, what is owed comes first and is no part of any
 * label; what is left is what the root may pass. */

#include <config.h>
#include "shares.h"

#include "util.h"

/* Time constants, those that did best, as frames of a leaf at the mean rate:
 * of the averages, and of the windows.  The root has to see what the nodes
 * below have made of its last label. */
#define AVERAGE_FRAMES 8
#define WINDOW_FRAMES 4
#define ROOT_WINDOWS 4          /* Of those below, if there are any. */

/* The part of what a node may pass at which its label starts in a window. */
#define STARTS_AT 0.1

struct average {
    double rate, when;
};

struct node {
    struct average arrived, passed, owed;
    double fair;                /* Label. */
    double least;               /* That it may become in this window. */
    double greatest;            /* Label of this window. */
    double window;              /* Began then. */
    bool congested;
};

struct hcsfq {
    const struct cluster *cluster;
    struct proof_random random;
    double average_ns, window_ns, root_window_ns;
    struct fluid queue;
    struct node root, tenants[CLUSTER_MAX_TENANTS];
    struct average leaves[CLUSTER_MAX_LEAVES];
};

/* How long 'n' frames of a leaf take at the mean rate. */
static double
frames_ns(const struct cluster *c, double n)
{
    return n * 1500 / (c->conf.kbps / 8e6 / c->n);
}

double
shares_hcsfq_average_ns(const struct cluster *c)
{
    return frames_ns(c, AVERAGE_FRAMES);
}

static void *
hcsfq_create(const struct cluster *c)
{
    struct hcsfq *h = xzalloc(sizeof *h);

    h->cluster = c;
    h->average_ns = shares_hcsfq_average_ns(c);
    h->window_ns = frames_ns(c, WINDOW_FRAMES);
    h->root_window_ns = h->window_ns * (c->conf.tree ? ROOT_WINDOWS : 1);
    h->root.fair = c->conf.kbps / 8e6;
    for (unsigned int t = 0; t < c->conf.n_tenants; t++) {
        h->tenants[t].fair = h->root.fair;
    }
    proof_random_init(&h->random, c->conf.seed);
    return h;
}

static double
average(const struct hcsfq *h, struct average *a, double now, double bytes)
{
    double ns = now - a->when;
    double old = exp(-ns / h->average_ns);

    a->rate = a->rate * old + (ns < 1 ? bytes / h->average_ns
                               : (1 - old) * bytes / ns);
    a->when = now;
    return a->rate;
}

/* Estimates the fair label of 'n', which may pass 'rate'. */
static void
estimate(struct hcsfq *h, struct node *n, double now, double bytes,
         double label, double rate, bool dropped)
{
    double arrived = average(h, &n->arrived, now, bytes);
    double passed = average(h, &n->passed, now, dropped ? 0 : bytes);

    if ((arrived >= rate) != n->congested) {
        n->congested = !n->congested;
    } else if (now - n->window < (n == &h->root ? h->root_window_ns
                                  : h->window_ns)) {
        n->greatest = fmax(n->greatest, label);
        return;
    } else {
        n->fair = n->congested ? n->fair * rate / passed : n->greatest;
        n->fair = n->fair > 0 ? fmin(n->fair, rate) : rate;
        n->least = n->fair * 0.75;
    }
    n->window = now;
    n->greatest = rate * STARTS_AT;
}

static void
overflow(struct node *n)
{
    n->fair = fmax(n->fair * 0.99, n->least);
}

static double
still_owed(const struct hcsfq *h, struct node *n, double now, double rate)
{
    return fmax(rate - average(h, &n->owed, now, 0), 0);
}

static bool
hcsfq_admit(void *h_, double now, unsigned int leaf, uint32_t bytes,
            bool is_owed)
{
    struct hcsfq *h = h_;
    const struct cluster *c = h->cluster;
    unsigned int t = leaf / c->conf.n_classes;
    struct node *tenant = &h->tenants[t];
    struct node *above = c->conf.tree ? tenant : &h->root;
    double rate = c->conf.kbps / 8e6, label;
    double depth = fluid_drain(&h->queue, rate, now);
    bool dropped;

    if (is_owed) {
        average(h, &h->root.owed, now, bytes);
        average(h, &tenant->owed, now, bytes);
        h->queue.bytes += bytes;
        return true;
    }
    label = average(h, &h->leaves[leaf], now, bytes) / c->leaves[leaf].weight;
    dropped = proof_unit(&h->random) < 1 - above->fair / label;
    if (!dropped && depth + bytes > c->conf.burst) {
        dropped = true;
        overflow(above);
        if (above != &h->root) {
            overflow(&h->root);
        }
    }
    if (c->conf.tree) {
        double own = still_owed(h, tenant, now, c->tenants[t].kbps / 8e6);
        double weight = c->tenants[t].weight;

        estimate(h, tenant, now, bytes, label, own + weight * h->root.fair,
                 dropped);
        label = fmax(tenant->arrived.rate - own, 0) / weight;
    }
    estimate(h, &h->root, now, bytes, label,
             still_owed(h, &h->root, now, rate), dropped);
    if (!dropped) {
        h->queue.bytes += bytes;
    }
    return !dropped;
}

const struct shares shares_hcsfq = {
    .name = "HCSFQ",
    .create = hcsfq_create,
    .admit = hcsfq_admit,
};
