/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "serial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proof.h"

static struct gcra_conf
make_conf(const struct contract *c)
{
    struct gcra_conf conf;

    if (gcra_conf_init(&conf, c->pktps ? GCRA_PKTPS : GCRA_KBPS,
                       c->rate, c->burst)) {
        proof_fail("a contract was refused");
    }
    return conf;
}

void
scenario_init(struct gcra *g, const struct contract *c, uint64_t now)
{
    struct gcra_conf conf = make_conf(c);

    gcra_init(g, &conf, now);
}

void
scenario_do(struct gcra *g, struct op *op)
{
    struct gcra_conf conf;
    struct gcra copy;

    switch (op->kind) {
    case OP_ADMIT:
        op->refused = !gcra_admit(g, op->when, 1, op->sizes[0]);
        break;
    case OP_BATCH:
        op->refused = gcra_admit_batch(g, op->when, op->sizes, 2);
        break;
    case OP_RECONFIGURE:
        conf = make_conf(&op->contract);
        gcra_reconfigure(g, &conf, op->when);
        break;
    case OP_DEPTH:
        op->depth = gcra_depth(g, op->when);
        break;
    case OP_CLONE:
        memset(&copy, 0, sizeof copy);
        gcra_clone(&copy, g, op->when);
        op->depth = gcra_depth(&copy, op->when);
        break;
    }
}

static unsigned int
n_sizes(const struct op *op)
{
    return op->kind == OP_ADMIT ? 1 : op->kind == OP_BATCH ? 2 : 0;
}

uint64_t
scenario_end(const struct scenario *s)
{
    uint64_t end = s->start;

    for (unsigned int i = 0; i < s->n_threads; i++) {
        for (unsigned int j = 0; j < s->n_ops; j++) {
            if (s->ops[i][j].when > end) {
                end = s->ops[i][j].when;
            }
        }
    }
    return end;
}

/* True if the oracle decides about 'op' as was decided; does it. */
static bool
same_verdicts(struct oracle *o, const struct op *op)
{
    for (unsigned int i = 0; i < n_sizes(op); i++) {
        if (oracle_take(o, op->when, 1, op->sizes[i])
            != !(op->refused & 1u << i)) {
            return false;
        }
    }
    return ((op->kind != OP_DEPTH && op->kind != OP_CLONE)
            || op->depth == oracle_gcra_depth(o, op->when));
}

static bool
changes_nothing(const struct op *op)
{
    return (op->kind == OP_DEPTH || op->kind == OP_CLONE
            || (n_sizes(op) && op->refused == (1u << n_sizes(op)) - 1));
}

/* Makes a bucket that is full at 'now' one that was filled only then; returns
 * false if there is nothing to do. */
static bool
forget_past(struct oracle *o, uint64_t now)
{
    if (now <= o->last || oracle_tokens(o, now) < o->size) {
        return false;
    }
    o->tokens = o->size;
    o->last = now;
    return true;
}

static bool
depth_is(const struct scenario *s, const struct oracle *o, uint64_t now)
{
    uint64_t is = gcra_depth(&s->g, now);
    uint64_t should = oracle_gcra_depth(o, now);

    return is == should || (s->may_end_deeper && is > should);
}

static bool
right_depths(const struct scenario *s, const struct oracle *o)
{
    uint64_t end = scenario_end(s);
    uint64_t drained = (uint64_t) (o->size / o->rate);

    return (depth_is(s, o, end) && depth_is(s, o, end + drained / 2)
            && depth_is(s, o, end + drained + 1)
            && depth_is(s, o, end + (UINT64_C(1) << 60) / s->contract.rate));
}

static bool serial_from(const struct scenario *, const struct oracle *,
                        const unsigned int next[]);

/* True if the next operation of thread 'i' may have followed, with a bucket
 * that some thread had looked at with the time 'seen', and then all the
 * others.  If 'use_seen' then a reconfiguration uses that time too. */
static bool
serial_step(const struct scenario *s, const struct oracle *o,
            const unsigned int next[], unsigned int i, uint64_t seen,
            bool use_seen)
{
    unsigned int then[SERIAL_MAX_THREADS] = { next[0], next[1], next[2] };
    const struct op *op = &s->ops[i][then[i]++];
    struct oracle copy = *o;
    bool forgot = forget_past(&copy, seen);

    if (seen > s->start && !forgot && !use_seen) {
        return false;           /* Nothing that was not tried. */
    }
    if (op->kind == OP_RECONFIGURE) {
        oracle_reconfigure(&copy, op->contract.pktps, op->contract.rate,
                           op->contract.burst,
                           use_seen ? seen : op->when);
    } else if (!same_verdicts(&copy, op)) {
        return false;
    }
    if (serial_from(s, &copy, then)) {
        return true;
    }
    /* A third may have made it forget that it was to forget. */
    return forgot && changes_nothing(op) && serial_from(s, o, then);
}

/* True if the operations that remain, from 'next[]' on, may have followed. */
static bool
serial_from(const struct scenario *s, const struct oracle *o,
            const unsigned int next[])
{
    bool none_left = true;

    for (unsigned int i = 0; i < s->n_threads; i++) {
        if (next[i] == s->n_ops) {
            continue;
        }
        none_left = false;
        if (serial_step(s, o, next, i, s->start, false)) {
            return true;
        }
        for (unsigned int j = 0; j < s->n_threads * s->n_ops; j++) {
            uint64_t seen = s->ops[j / s->n_ops][j % s->n_ops].when;

            if (serial_step(s, o, next, i, seen, false)
                || (s->ops[i][next[i]].kind == OP_RECONFIGURE
                    && seen > s->ops[i][next[i]].when
                    && serial_step(s, o, next, i, seen, true))) {
                return true;
            }
        }
    }
    return none_left && right_depths(s, o);
}

bool
scenario_is_serial(const struct scenario *s)
{
    unsigned int next[SERIAL_MAX_THREADS] = { 0, 0, 0 };
    struct oracle o;

    oracle_init(&o, s->contract.pktps, s->contract.rate, s->contract.burst,
                s->start);
    if (s->n_before && !same_verdicts(&o, &s->before)) {
        return false;
    }
    return serial_from(s, &o, next);
}

bool
scenario_within_curve(const struct scenario *s)
{
    const struct op *sorted[1 + SERIAL_MAX_THREADS * SERIAL_MAX_OPS];
    struct op before = s->before;
    unsigned int n = 0;
    struct oracle o;
    struct curve c;

    if (s->n_before) {
        before.when = s->curve_from ? s->curve_from : s->before.when;
        sorted[n++] = &before;
    }
    for (unsigned int i = 0; i < s->n_threads; i++) {
        for (unsigned int j = 0; j < s->n_ops; j++) {
            const struct op *op = &s->ops[i][j];
            unsigned int k;

            for (k = n++; k > 0 && sorted[k - 1]->when > op->when; k--) {
                sorted[k] = sorted[k - 1];
            }
            sorted[k] = op;
        }
    }

    oracle_init(&o, s->contract.pktps, s->contract.rate, s->contract.burst,
                s->start);
    curve_init(&c, o.rate);
    for (unsigned int i = 0; i < n; i++) {
        for (unsigned int j = 0; j < n_sizes(sorted[i]); j++) {
            if (!(sorted[i]->refused & 1u << j)) {
                curve_add(&c, sorted[i]->when,
                          oracle_cost(&o, 1, sorted[i]->sizes[j]));
            }
        }
    }
    return c.worst <= o.size;
}

static void
op_print(const struct scenario *s, const struct op *op)
{
    static const char *names[] = {
        "admit", "batch", "reconfigure", "depth", "clone",
    };

    printf("#     at start + %"PRIu64": %s", op->when - s->start,
           names[op->kind]);
    if (op->kind == OP_RECONFIGURE) {
        printf(" to %"PRIu32" %s, burst %"PRIu64, op->contract.rate,
               op->contract.pktps ? "packets/s" : "kbps", op->contract.burst);
    }
    if (op->kind == OP_DEPTH || op->kind == OP_CLONE) {
        printf(" %"PRIu64, op->depth);
    }
    for (unsigned int i = 0; i < n_sizes(op); i++) {
        printf(" %"PRIu32" %s", op->sizes[i],
               op->refused & 1u << i ? "refused" : "admitted");
    }
    putchar('\n');
}

void
scenario_print(const struct scenario *s)
{
    printf("# %"PRIu32" %s, burst %"PRIu64", start %"PRIu64"\n",
           s->contract.rate, s->contract.pktps ? "packets/s" : "kbps",
           s->contract.burst, s->start);
    if (s->n_before) {
        op_print(s, &s->before);
    }
    for (unsigned int i = 0; i < s->n_threads; i++) {
        printf("# thread %u\n", i);
        for (unsigned int j = 0; j < s->n_ops; j++) {
            op_print(s, &s->ops[i][j]);
        }
    }
    printf("# depth at the end: %"PRIu64"\n",
           gcra_depth(&s->g, scenario_end(s)));
}
