/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "borrow.h"

#define BYTES_PER_NS(KBPS) ((KBPS) / 8e6)
#define LOCKED_NS 1e5
#define TURN_NS 1e6

/* Who is first. */

static void
sift_down(struct cluster *c, unsigned int i)
{
    for (;;) {
        unsigned int child = 2 * i + 1, leaf = c->order[i];

        if (child + 1 < c->n && (c->senders[c->order[child + 1]].next
                                 < c->senders[c->order[child]].next)) {
            child++;
        }
        if (child >= c->n
            || c->senders[c->order[child]].next >= c->senders[leaf].next) {
            return;
        }
        c->order[i] = c->order[child];
        c->order[child] = leaf;
        i = child;
    }
}

/* Weighted max-min. */

/* What one of several should get, of what they want and are owed. */
struct demand {
    double want, owed, weight;
    double got;
};

/* The level is where a demand stops to grow with it. */
static int
compare_levels(const void *a_, const void *b_)
{
    const struct demand *a = *(const struct demand *const *) a_;
    const struct demand *b = *(const struct demand *const *) b_;
    double x = (a->want - a->owed) / a->weight;
    double y = (b->want - b->owed) / b->weight;

    return x < y ? -1 : x > y;
}

/* Shares 'capacity', which is at least what is owed and wanted. */
static void
share(struct demand demands[], unsigned int n, double capacity)
{
    struct demand *byl[CLUSTER_MAX_LEAVES];
    double left = capacity, weight = 0;

    for (unsigned int i = 0; i < n; i++) {
        byl[i] = &demands[i];
        left -= fmin(demands[i].want, demands[i].owed);
        weight += demands[i].weight;
    }
    qsort(byl, n, sizeof byl[0], compare_levels);
    for (unsigned int i = 0; i < n; i++) {
        struct demand *d = byl[i];
        double more = fmax(d->want - d->owed, 0);
        double fair = fmax(left, 0) * d->weight / weight;

        d->got = fmin(d->want, d->owed) + fmin(more, fair);
        left -= fmin(more, fair);
        weight -= d->weight;
    }
}

/* What all leaves should get of 'capacity', if they want 'wants[]', in
 * 'ns'. */
static void
share_all(const struct cluster *c, double ns, const double wants[],
          double gots[])
{
    unsigned int per = c->conf.n_classes;
    struct demand leaves[CLUSTER_MAX_LEAVES];
    struct demand tenants[CLUSTER_MAX_TENANTS];
    double capacity = BYTES_PER_NS(c->conf.kbps) * ns;

    for (unsigned int i = 0; i < c->n; i++) {
        leaves[i] = (struct demand) {
            wants[i], BYTES_PER_NS(c->leaves[i].kbps) * ns,
            c->leaves[i].weight, 0,
        };
    }
    if (!c->conf.tree) {
        share(leaves, c->n, capacity);
    } else {
        for (unsigned int t = 0; t < c->conf.n_tenants; t++) {
            tenants[t] = (struct demand) {
                0, BYTES_PER_NS(c->tenants[t].kbps) * ns,
                c->tenants[t].weight, 0,
            };
            for (unsigned int i = t * per; i < (t + 1) * per; i++) {
                tenants[t].want += wants[i];
            }
        }
        share(tenants, c->conf.n_tenants, capacity);
        for (unsigned int t = 0; t < c->conf.n_tenants; t++) {
            share(&leaves[t * per], per, tenants[t].got);
        }
    }
    for (unsigned int i = 0; i < c->n; i++) {
        gots[i] = leaves[i].got;
    }
}

/* Senders. */

/* Do they go on and off? */
static bool
flips(const struct cluster_conf *conf)
{
    return conf->pattern == CLUSTER_ON_OFF || conf->pattern == CLUSTER_TURNS;
}

static double
draw_flip(struct cluster *c)
{
    return (c->conf.pattern == CLUSTER_TURNS ? TURN_NS
            : 1e5 * pow(100, proof_unit(&c->random)));  /* 0.1 to 10 ms. */
}

static void
draw_leaves(struct cluster *c, uint64_t burst)
{
    const struct cluster_conf *conf = &c->conf;
    double shares[CLUSTER_MAX_LEAVES], sum = 0;

    for (unsigned int i = 0; i < c->n; i++) {
        shares[i] = 0.5 + proof_unit(&c->random);
        sum += shares[i];
    }
    for (unsigned int i = 0; i < c->n; i++) {
        c->leaves[i] = (struct cluster_share) {
            .kbps = MAX(conf->owed * conf->kbps / 1.2 * shares[i] / sum, 1),
            .burst = burst,
            .weight = 1 + proof_below(&c->random, 4),
            .reach = borrow_reach(burst),
        };
    }
}

static void
draw_shares(struct cluster *c)
{
    const struct cluster_conf *conf = &c->conf;
    uint64_t burst = ((uint64_t) conf->burst_frames
                      * (conf->frame ? conf->frame : 9000));

    draw_leaves(c, burst);
    for (unsigned int t = 0; t < conf->n_tenants; t++) {
        double sum = 0;

        for (unsigned int i = 0; i < conf->n_classes; i++) {
            struct cluster_share *leaf = &c->leaves[t * conf->n_classes + i];

            sum += leaf->kbps;
            if (conf->only_tenants) {
                leaf->kbps = leaf->burst = 1;
            }
        }
        c->tenants[t] = (struct cluster_share) {
            .kbps = sum * 1.2,
            .burst = burst * conf->n_classes,
            .weight = 1 + proof_below(&c->random, 3),
            .reach = borrow_reach(burst * conf->n_classes),
        };
    }
}

/* How fast each sends, whose fair shares are 'fair[]'. */
static void
draw_asks(struct cluster *c, const double fair[], double asks[])
{
    const struct cluster_conf *conf = &c->conf;

    for (unsigned int i = 0; i < c->n; i++) {
        asks[i] = fair[i] * 0.3 * pow(10, proof_unit(&c->random));
        asks[i] *= flips(conf) ? 2 : 1;
    }
    for (unsigned int t = 0; t < conf->n_tenants; t++) {
        double ask = 0, share = 0;

        for (unsigned int i = 0; i < conf->n_classes; i++) {
            ask += asks[t * conf->n_classes + i];
            share += fair[t * conf->n_classes + i];
        }
        for (unsigned int i = 0; i < conf->n_classes; i++) {
            asks[t * conf->n_classes + i] *= fmax(1, (conf->asking * share
                                                      / ask));
        }
    }
}

void
cluster_init(struct cluster *c, const struct cluster_conf *conf)
{
    double wants[CLUSTER_MAX_LEAVES], fair[CLUSTER_MAX_LEAVES];
    double asks[CLUSTER_MAX_LEAVES];

    memset(c, 0, sizeof *c);
    c->conf = *conf;
    c->n = conf->n_tenants * conf->n_classes;
    proof_random_init(&c->random, conf->seed);
    draw_shares(c);
    for (unsigned int i = 0; i < c->n; i++) {
        wants[i] = INFINITY;
    }
    share_all(c, 1, wants, fair);
    draw_asks(c, fair, asks);
    for (unsigned int i = 0; i < c->n; i++) {
        struct cluster_sender *s = &c->senders[i];

        s->frame = (conf->frame ? conf->frame : i % 2 ? 1500 : 9000);
        s->rate = asks[i];
        s->next = proof_unit(&c->random) * (
            conf->pattern == CLUSTER_LOCKED ? LOCKED_NS : s->frame / s->rate);
        s->period = s->next;
        s->on = conf->pattern != CLUSTER_TURNS || i % 2;
        s->flip = flips(conf) ? draw_flip(c) : INFINITY;
        s->next = s->on ? s->next : s->flip;
        c->order[i] = i;
    }
    for (unsigned int i = c->n / 2 + 1; i-- > 0;) {
        sift_down(c, i);
    }
}

/* Adds to what each should get in the 'ns' from now on. */
static void
flow_on(struct cluster *c, double ns)
{
    double wants[CLUSTER_MAX_LEAVES], gots[CLUSTER_MAX_LEAVES];

    for (unsigned int i = 0; i < c->n; i++) {
        wants[i] = c->senders[i].on ? c->senders[i].rate * ns : 0;
    }
    share_all(c, ns, wants, gots);
    for (unsigned int i = 0; i < c->n; i++) {
        c->senders[i].fluid += gots[i];
    }
}

static void
flow_to(struct cluster *c, double when)
{
    if (flips(&c->conf) && when > c->flowed) {
        flow_on(c, when - c->flowed);
    }
    c->flowed = when;
}

/* When 's' sends again, after a frame. */
static void
schedule(struct cluster *c, struct cluster_sender *s)
{
    double gap = s->frame / s->rate;

    switch (c->conf.pattern) {
    case CLUSTER_POISSON:
        s->next += -log(proof_unit(&c->random)) * gap;
        return;
    case CLUSTER_LOCKED:
        if (s->left) {
            s->left--;
            s->next += s->frame / BYTES_PER_NS(c->conf.kbps);
        } else {
            double frames = LOCKED_NS / gap;

            s->next = s->period += LOCKED_NS;
            s->left = fmax(frames + proof_unit(&c->random), 1) - 1;
        }
        return;
    case CLUSTER_CBR:
    case CLUSTER_ON_OFF:
    case CLUSTER_TURNS:
        s->next = fmin(s->next + gap, s->flip);
        return;
    }
}

/* 's' goes on or off. */
static void
flip(struct cluster *c, struct cluster_sender *s)
{
    double now = s->flip;

    flow_to(c, now);
    s->on = !s->on;
    s->n_flips++;
    s->flip += draw_flip(c);
    if (s->on) {
        s->next = fmin(now + proof_unit(&c->random) * s->frame / s->rate,
                       s->flip);
    } else {
        s->next = s->flip;
    }
}

bool
cluster_next(struct cluster *c, double window_end, unsigned int *leaf,
             uint32_t *bytes)
{
    for (;;) {
        unsigned int i = c->order[0];
        struct cluster_sender *s = &c->senders[i];

        c->now = fmin(s->next, window_end);
        if (s->next >= window_end) {
            flow_to(c, window_end);
            return false;
        } else if (s->next >= s->flip) {
            flip(c, s);
            sift_down(c, 0);
        } else {
            *leaf = i;
            *bytes = s->frame;
            s->offered += s->frame;
            schedule(c, s);
            sift_down(c, 0);
            return true;
        }
    }
}

void
cluster_admit(struct cluster *c, unsigned int leaf, uint32_t bytes)
{
    c->senders[leaf].admitted += bytes;
}

struct cluster_result
cluster_judge(struct cluster *c)
{
    double capacity = BYTES_PER_NS(c->conf.kbps) * c->conf.window_ns;
    double wants[CLUSTER_MAX_LEAVES], gots[CLUSTER_MAX_LEAVES];
    double admitted = 0, possible = 0;
    struct cluster_result result = { 0, 0, 0 };

    for (unsigned int i = 0; i < c->n; i++) {
        wants[i] = c->senders[i].offered;
    }
    share_all(c, c->conf.window_ns, wants, gots);
    for (unsigned int i = 0; i < c->n; i++) {
        struct cluster_sender *s = &c->senders[i];
        double due = flips(&c->conf) ? s->fluid : gots[i];
        double distance = fabs(s->admitted - due);
        double allowed = s->frame + s->n_flips * (double) (
            c->leaves[i].burst + c->leaves[i].reach);

        admitted += s->admitted;
        possible += due;
        result.l1 += distance;
        result.l1_allowed += fmax(distance - allowed, 0);
        s->offered = s->admitted = s->fluid = 0;
        s->n_flips = 0;
    }
    possible = fmin(possible, capacity);
    result.used = admitted / possible;
    result.l1 /= possible;
    result.l1_allowed /= possible;
    return result;
}
