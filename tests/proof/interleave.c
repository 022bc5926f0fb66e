/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* What two or three threads can do to each other in a GCRA.
 *
 * gcra.c is compiled with the atomic operations of model/.  In a scenario, a
 * few operations of each thread, every order of the atomic operations is gone
 * through, and so is every value that a load may return on a processor of weak
 * memory order (but see model.h), as long as no more than 'max_old' of the
 * loads of an execution return old ones.
 *
 * The scenarios are drawn by --seed: of the corners of the stamp's age, with a
 * queue that is empty or full, with times that are out of order, and under a
 * contract that changes meanwhile.  Only two threads with one operation each
 * go through all corners, and any number of old loads, and only with --long;
 * without, it is a third of the corners and one old load. */

#include <config.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "model.h"
#include "proof.h"
#include "serial.h"

#define BURST_BYTES 1000u
#define RENEW_TOKENS (UINT64_C(1) << 60)

static unsigned int max_old;    /* See model.h. */
static uint64_t n_scenarios, n_executions;

static void
setup(void *scenario)
{
    struct scenario *s = scenario;

    memset(&s->g, 0, sizeof s->g);
    scenario_init(&s->g, &s->contract, s->start);
    if (s->n_before) {
        scenario_do(&s->g, &s->before);
    }
}

static void
thread(void *scenario, unsigned int i)
{
    struct scenario *s = scenario;

    for (unsigned int j = 0; j < s->n_ops; j++) {
        scenario_do(&s->g, &s->ops[i][j]);
    }
}

static void
check(void *scenario)
{
    struct scenario *s = scenario;

    if (!s->reconfigures && !scenario_within_curve(s)) {
        scenario_print(s);
        proof_fail("more was admitted than the contract allows");
    }
    if (!scenario_is_serial(s)) {
        scenario_print(s);
        proof_fail("no serial execution has these results");
    }
}

static void
explore(struct scenario *s, void (*check_)(void *))
{
    const struct model_program program = {
        .n_threads = s->n_threads,
        .max_old = max_old,
        .setup = setup,
        .thread = thread,
        .check = check_,
    };

    n_executions += model_run(&program, s);
    n_scenarios++;
}

static void
report(const char *what)
{
    proof_ok("%s: %"PRIu64" scenarios, %"PRIu64" executions", what,
             n_scenarios, n_executions);
    n_scenarios = 0;
    n_executions = 0;
}

/* The operations of interest on a bucket of BURST_BYTES: N_ADMIT_KINDS that
 * admit, and those that look. */
enum { N_ADMIT_KINDS = 4, N_KINDS = 6 };

static struct op
make_op(unsigned int kind, uint64_t when)
{
    static const struct op ops[N_KINDS] = {
        { .kind = OP_ADMIT, .sizes = { BURST_BYTES } },
        { .kind = OP_ADMIT, .sizes = { 1 } },
        { .kind = OP_ADMIT, .sizes = { BURST_BYTES + 1 } },
        { .kind = OP_BATCH, .sizes = { BURST_BYTES / 2,
                                       BURST_BYTES / 2 + 1 } },
        { .kind = OP_DEPTH },
        { .kind = OP_CLONE },
    };
    struct op op = ops[kind];

    op.when = when;
    return op;
}

/* A bucket that is empty of tokens, if 'full' is the queue, or else full. */
static struct scenario
make_scenario(uint32_t rate, bool full)
{
    struct scenario s = {
        .contract = { .rate = rate, .burst = BURST_BYTES * 8 },
        .start = UINT64_C(1) << 40,
        .n_before = full,
    };

    s.before = make_op(0, s.start);
    return s;
}

/* Times since the last renewal, in ns, around which something changes: those
 * in gcra.c, and those at which now, in tokens, wraps around.  A power of two
 * hits the latter exactly. */
#define N_AGES 24
static const uint32_t rates[] = { UINT32_MAX, UINT32_C(1) << 31, 100000007 };

static uint64_t
make_age(uint32_t rate, unsigned int i)
{
    uint64_t renew = RENEW_TOKENS / rate;
    const uint64_t ages[N_AGES] = {
        1, 100, renew - 2, renew - 1, renew, renew + 1,
        2 * renew - 1, 2 * renew, 2 * renew + 1,
        3 * renew - 1, 3 * renew, 3 * renew + 1, 3 * renew + 2, 3 * renew + 3,
        4 * renew - 1, 4 * renew, 4 * renew + 1,
        8 * renew - 50, 8 * renew + 50, 8 * renew + 51,
        16 * renew - 50, 16 * renew + 50, 16 * renew + 51,
        1000 * renew + 50,
    };

    return ages[i];
}

/* How far the times of threads are apart: not, by the least, by half of what
 * drains the bucket, and by nearly what is allowed. */
#define N_SKEWS 6

static int64_t
make_skew(uint32_t rate, unsigned int i)
{
    int64_t drain = BURST_BYTES * UINT64_C(8000000) / rate;
    int64_t most = RENEW_TOKENS / rate - 1 - drain;
    const int64_t skews[N_SKEWS] = { 0, 1, -1, drain / 2, -drain / 2, -most };

    return skews[i];
}

/* Two threads, one operation each, at one age. */
static void
explore_pairs(struct scenario *s, uint64_t age)
{
    uint32_t rate = s->contract.rate;

    s->n_threads = 2;
    s->n_ops = 1;
    for (unsigned int i = 0; i < N_ADMIT_KINDS * N_KINDS * N_SKEWS; i++) {
        int64_t skew = make_skew(rate, i / N_ADMIT_KINDS / N_KINDS);
        uint64_t now = s->start + age;

        if (skew < 0 && age < -skew) {
            continue;
        }
        s->ops[0][0] = make_op(i % N_ADMIT_KINDS, now);
        s->ops[1][0] = make_op(i / N_ADMIT_KINDS % N_KINDS, now + skew);
        explore(s, check);
    }
}

static void
test_pairs(bool all, struct proof_random *r)
{
    for (unsigned int i = 0; i < N_AGES * 3 * 2; i++) {
        uint32_t rate = rates[i % 3];
        struct scenario s = make_scenario(rate, i / 3 % 2);

        if (all || proof_below(r, 3) == 0) {
            explore_pairs(&s, make_age(rate, i / 6));
        }
    }
    report("two threads, one operation each");
}

/* 'n' times 'n_threads' threads, 'n_ops' operations each, all of chance. */
static void
test_any(const char *what, unsigned int n_threads, unsigned int n_ops,
         unsigned int n, struct proof_random *r)
{
    while (n--) {
        uint32_t rate = rates[proof_below(r, 3)];
        struct scenario s = make_scenario(rate, proof_below(r, 2));
        uint64_t age = make_age(rate, proof_below(r, N_AGES));

        s.n_threads = n_threads;
        s.n_ops = n_ops;
        for (unsigned int i = 0; i < n_threads * n_ops; i++) {
            int64_t skew = make_skew(rate, proof_below(r, N_SKEWS));

            if (skew < 0 && age < -skew) {
                skew = 0;
            }
            s.ops[i / n_ops][i % n_ops]
                = make_op(proof_below(r, N_KINDS), s.start + age + skew);
        }
        explore(&s, check);
    }
    report(what);
}

/* Contract 'i' beside that of 'make_scenario(rate, ...)', which is 0. */
#define N_CONTRACTS 7

static struct op
make_reconfiguration(uint32_t rate, unsigned int i, uint64_t when)
{
    const struct contract contracts[N_CONTRACTS] = {
        { .rate = rate, .burst = BURST_BYTES * 8 },
        { .rate = rate, .burst = BURST_BYTES * 4 },
        { .rate = rate, .burst = BURST_BYTES * 16 },
        { .rate = UINT32_MAX, .burst = BURST_BYTES * 8 },
        { .rate = rate / 3 + 1, .burst = BURST_BYTES * 9 },
        { .rate = 1, .burst = BURST_BYTES * 7 },
        { .rate = rate, .burst = 1, .pktps = true },
    };

    return (struct op) {
        .kind = OP_RECONFIGURE,
        .when = when,
        .contract = contracts[i],
    };
}

/* One thread changes the contract while another admits, both 'n_ops' times.
 * If the contract changes twice then the last may have a smaller burst than
 * the first, so that what is admitted last under the first is above it.  The
 * two threads' times are never alike: see take_snapshot() in gcra.c. */
static void
test_reconfigure(const char *what, unsigned int n_ops, unsigned int n,
                 struct proof_random *r)
{
    static const uint32_t old_rates[] = { 1, 100000007, UINT32_MAX };

    while (n--) {
        uint32_t rate = old_rates[proof_below(r, 3)];
        struct scenario s = make_scenario(rate, proof_below(r, 2));
        /* Ages of the new contract's renewals, for an old one of 1 kbps. */
        uint64_t age = make_age(rate == 1 ? UINT32_MAX : rate,
                                proof_below(r, N_AGES));

        s.n_threads = 2;
        s.n_ops = n_ops;
        s.may_end_deeper = n_ops > 1;
        for (unsigned int j = 0; j < n_ops; j++) {
            uint64_t now = s.start + age + 3 * j;
            unsigned int contract = proof_below(r, N_CONTRACTS);

            s.reconfigures = s.reconfigures || contract;
            s.ops[0][j] = make_reconfiguration(rate, contract, now);
            s.ops[1][j] = make_op(proof_below(r, N_KINDS),
                                  now - 1 + 2 * proof_below(r, 2));
        }
        explore(&s, check);
    }
    report(what);
}

/* Two changes of the rate rewrite both slots.  What is admitted meanwhile
 * conforms under each of the contracts, but not under a mixture. */
static void
test_slots(unsigned int n, struct proof_random *r)
{
    while (n--) {
        struct scenario s = make_scenario(100000007, false);
        uint64_t now;

        s.start += proof_below(r, s.start);
        now = s.start + 1000;
        s.n_threads = 2;
        s.n_ops = 2;
        s.reconfigures = true;
        for (unsigned int i = 0; i < 2; i++) {
            s.ops[0][i] = make_reconfiguration(1, 0, now);
            s.ops[0][i].contract.rate = 100000000 + proof_below(r, 4000000000);
        }
        s.ops[1][0] = make_op(0, now);
        s.ops[1][1] = make_op(2, now);
        explore(&s, check);
    }
    report("slots that are rewritten");
}

/* After a clock that stepped back by minutes, the bucket starts empty, and
 * fills as ever. */
static void
check_step(void *scenario)
{
    struct scenario *s = scenario;
    uint32_t size = BURST_BYTES;

    if (!scenario_within_curve(s)) {
        scenario_print(s);
        proof_fail("the bucket did not start empty when the clock stepped");
    }
    if (gcra_admit_batch(&s->g, scenario_end(s) + 100000, &size, 1)) {
        scenario_print(s);
        proof_fail("the bucket did not recover when the clock stepped");
    }
}

static void
test_step(unsigned int n, struct proof_random *r)
{
    while (n--) {
        uint32_t rate = rates[proof_below(r, 3)];
        struct scenario s = make_scenario(rate, true);
        uint64_t now = s.start - UINT64_C(60000000000) - 100000;

        s.n_threads = 2;
        s.n_ops = 2;
        for (unsigned int i = 0; i < 4; i++) {
            s.ops[i / 2][i % 2] = make_op(i % 2 ? proof_below(r, N_KINDS) : 3,
                                          now + i / 2
                                          + proof_below(r, 2) * 50000);
        }
        /* For the curve: what fills the queue when the clock has stepped. */
        s.curve_from = now;
        explore(&s, check_step);
    }
    report("a clock that steps back");
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    unsigned int more = options.longer ? 20 : 1;
    struct proof_random r;

    proof_random_init(&r, options.seed);
    max_old = options.longer ? UINT_MAX : 1;
    test_pairs(options.longer, &r);
    max_old = 2;
    test_any("two threads, two operations each", 2, 2, 200 * more, &r);
    test_reconfigure("a contract that changes", 1, 500 * more, &r);
    test_reconfigure("a contract that changes twice", 2, 60 * more, &r);
    test_slots(40 * more, &r);
    test_step(100 * more, &r);
    max_old = 1;
    test_any("three threads, one operation each", 3, 1, 20 * more, &r);
    max_old = options.longer;
    test_any("three threads, two operations each", 3, 2, 40 * more, &r);
    return 0;
}
