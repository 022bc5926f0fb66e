/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Phantom queues in virtual time.
 *
 * Given the time of each packet, marks, drops, watermark and bursts are those
 * of the queue in queue.c, all of them and to the byte.  Given only the times
 * of polls, depths are between what that queue had and that less what drains
 * in two gaps, so nothing that is smooth is ever marked. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "phantom-edges.h"
#include "phantom.h"
#include "proof.h"
#include "queue.h"
#include "traffic.h"

/* An hour after the clock began. */
#define START (UINT64_C(3600) * 1000 * 1000 * 1000)

struct run {
    uint64_t kbps;
    uint32_t mark, depth, limit;
    enum traffic_mix mix;
    enum traffic_pattern pattern;
    struct proof_random *random;

    struct phantom p;
    struct queue q;
    struct traffic t;
    uint64_t now;
    uint64_t n_packets, n_marked, n_capped, n_events;
    uint64_t capped_bytes, burst_bytes;
    uint64_t lengths[PHANTOM_BUCKETS], depths[PHANTOM_BUCKETS];
};

static void __attribute__((noreturn))
run_fail(const struct run *run, const char *what, uint64_t is,
         uint64_t should)
{
    proof_fail("%"PRIu64" kbps, mark %"PRIu32", depth %"PRIu32", limit "
               "%"PRIu32", %s, %s, at %"PRIu64" ns: %s is %"PRIu64", not "
               "%"PRIu64, run->kbps, run->mark, run->depth, run->limit,
               traffic_mix_names[run->mix],
               traffic_pattern_names[run->pattern], run->now - START, what,
               is, should);
}

static void
check(const struct run *run, const char *what, uint64_t is, uint64_t should)
{
    if (is != should) {
        run_fail(run, what, is, should);
    }
}

static void
run_init(struct run *run)
{
    struct phantom_conf conf;

    if (phantom_conf_init(&conf, 1, run->kbps, run->mark, run->depth,
                          run->limit, 7)) {
        proof_fail("%"PRIu64" kbps was refused", run->kbps);
    }
    run->now = START;
    phantom_init(&run->p, &conf, START);
    queue_init(&run->q, run->kbps, run->mark, run->depth, run->limit, START);
    traffic_init(&run->t, run->pattern, run->mix, run->kbps, START,
                 run->random);
}

/* Adds 'value' to its bucket. */
static void
note_bucket(uint64_t buckets[PHANTOM_BUCKETS], uint64_t value)
{
    for (unsigned int i = 0; i < PHANTOM_BUCKETS; i++) {
        uint64_t quotient = value >> i;

        buckets[i] += (i < PHANTOM_BUCKETS - 1 ? quotient == 1
                       : quotient != 0);
    }
}

/* The burst that the queue has just ended must be the last one recorded. */
static void
check_event(struct run *run)
{
    const struct queue_burst *b = &run->q.burst;
    const struct phantom_event *e;
    struct phantom_stats stats;

    phantom_read(&run->p, run->now, &stats);
    check(run, "the number of bursts", stats.n_bursts, run->q.n_bursts);
    e = &stats.events[stats.n_events - 1];
    check(run, "a burst's start", e->start_ns, b->start);
    check(run, "a burst's length", e->length_ns, b->end - b->start);
    check(run, "a burst's rise", e->rise_ns, b->when_deepest - b->start);
    check(run, "a burst's depth", e->peak_depth, b->deepest / WORK_PER_BYTE);
    check(run, "a burst's bytes", e->bytes, b->bytes / WORK_PER_BYTE);
    check(run, "a burst's gap", e->gap_ns, 0);
    check(run, "a burst's tag", e->tag, 7);
    run->burst_bytes += e->bytes;
    note_bucket(run->lengths, b->end - b->start);
    note_bucket(run->depths, b->deepest / WORK_PER_BYTE);
    run->n_events++;
}

/* What phantom_admit() said, if it was asked. */
enum admitted { NOT_ASKED, NOT_ADMITTED, ADMITTED };

/* Offers packets with and without the chance to read a clock. */
static enum admitted
offer(struct run *run, const struct arrival *a, struct phantom_batch *b)
{
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < a->n; i++) {
        bytes += a->sizes[i];
    }
    b->capped = b->marked = 0;
    if (proof_below(run->random, 2)) {
        phantom_offer(&run->p, b, a->sizes, a->n);
        return NOT_ASKED;
    }
    if (!phantom_admit(&run->p, b->since_ns, b->now_ns, a->n, bytes)) {
        phantom_offer(&run->p, b, a->sizes, a->n);
        return NOT_ADMITTED;
    }
    return ADMITTED;
}

static void
offer_exact(struct run *run, const struct arrival *a)
{
    struct phantom_batch b = { .since_ns = a->when, .now_ns = a->when };
    enum admitted admitted;
    bool ended, below;

    run->now = a->when;
    ended = queue_advance(&run->q, a->when);
    if (ended && proof_below(run->random, 2)) {
        phantom_observe(&run->p, a->when);
        check_event(run);
        ended = false;
    }
    admitted = offer(run, a, &b);
    if (ended) {
        check_event(run);
    }
    below = true;
    for (uint32_t i = 0; i < a->n; i++) {
        enum queue_verdict v = queue_put(&run->q, a->sizes[i]);

        check(run, "drop", b.capped >> i & 1, v == QUEUE_DROP);
        check(run, "mark", b.marked >> i & 1, v == QUEUE_MARK);
        run->n_capped += v == QUEUE_DROP;
        run->capped_bytes += v == QUEUE_DROP ? a->sizes[i] : 0;
        run->n_marked += v == QUEUE_MARK;
        below &= v == QUEUE_PASS;
    }
    below &= (!run->q.depth
              || run->q.backlog <= run->q.depth * WORK_PER_BYTE);
    if (admitted != NOT_ASKED) {
        check(run, "all below all", admitted == ADMITTED, below);
    }
    run->n_packets += a->n;
}

static void
check_stats(struct run *run)
{
    struct phantom_stats stats;
    uint64_t packets, bytes;

    phantom_read(&run->p, run->now, &stats);
    read_counter(&run->p.capped, &packets, &bytes);
    check(run, "the count of drops", packets, run->n_capped);
    check(run, "the bytes of drops", bytes, run->capped_bytes);
    check(run, "the bytes of bursts", stats.burst_bytes, run->burst_bytes);
    check(run, "the depth", stats.depth, run->q.backlog / WORK_PER_BYTE);
    check(run, "the watermark", stats.watermark,
          run->q.watermark / WORK_PER_BYTE);
    check(run, "the longest gap", stats.gap_ns, 0);
    for (unsigned int i = 0; i < PHANTOM_BUCKETS; i++) {
        check(run, "a bucket of lengths", stats.lengths[i], run->lengths[i]);
        check(run, "a bucket of depths", stats.depths[i], run->depths[i]);
    }
}

static const uint64_t rates[] = {
    1, 1000, 123457, 1000000, 1544003, 10000000, 25000000, 99999999,
    100000000, 268435456, 400000000, 1600000000, UINT32_MAX,
};
#define N_RATES (sizeof rates / sizeof rates[0])

static void
test_exact(uint64_t n_packets, struct proof_random *r)
{
    uint64_t n = 0, n_marked = 0, n_capped = 0, n_events = 0;

    for (unsigned int i = 0; i < N_RATES * GREEDY * N_MIXES; i++) {
        struct run run = {
            .kbps = rates[i % N_RATES],
            .pattern = i / N_RATES % GREEDY,
            .mix = i / N_RATES / GREEDY,
            .random = r,
        };
        struct arrival a;

        run.limit = proof_below(r, 4) ? 9018 + proof_below(r, 400000) : 0;
        run.mark = 1 + proof_below(r, run.limit ? run.limit : 200000);
        run.depth = 1 + proof_below(r, run.limit ? run.limit : 200000);
        if (proof_below(r, 2)) {
            run.depth -= run.depth % 1518;      /* Just so many frames. */
            run.mark -= run.mark % 1518;
        }
        run_init(&run);
        do {
            traffic_next(&run.t, NULL, &a);
            offer_exact(&run, &a);
        } while (run.n_packets < n_packets);
        check_stats(&run);
        n += run.n_packets;
        n_marked += run.n_marked;
        n_capped += run.n_capped;
        n_events += run.n_events;
    }
    if (!n_marked || !n_capped || !n_events) {
        proof_fail("nothing was marked, dropped, or a burst");
    }
    proof_ok("%zu rates, %d patterns, %d mixes: of %"PRIu64" packets, "
             "%"PRIu64" were marked, %"PRIu64" dropped, and in %"PRIu64
             " bursts, all as by the queue", N_RATES, GREEDY, N_MIXES, n,
             n_marked, n_capped, n_events);
}

/* Keeps the queue from becoming empty for 'seconds', with packets as long as
 * the queue takes them, then waits until it is. */
static void
stay_busy(struct run *run, uint64_t seconds)
{
    const uint64_t end = run->now + seconds * 1000 * 1000 * 1000;
    struct arrival a = { .when = run->now + 1, .n = 1 };

    while (a.when < end) {
        work_t room = run->q.limit * WORK_PER_BYTE;

        queue_advance(&run->q, a.when);
        room -= run->q.backlog;
        a.sizes[0] = (room / WORK_PER_BYTE
                      - proof_below(run->random, run->limit / 2));
        offer_exact(run, &a);
        a.when += run->q.backlog / run->q.rate / 2 + 1;
    }
    run->now += run->q.backlog / run->q.rate + 1;
    if (queue_advance(&run->q, run->now)) {
        phantom_observe(&run->p, run->now);
        check_event(run);
    }
}

/* Bursts in which more drains than 64 bits can count, in tokens. */
static void
test_long(struct proof_random *r)
{
    static const struct {
        uint64_t kbps, seconds;
    } bursts[] = {
        { 1000, 86400 }, { 100000000, 91 }, { 100000000, 93 },
        { 100000000, 186 }, { 100000000, 1000 }, { 400000000, 24 },
        { UINT32_MAX, 3 }, { UINT32_MAX, 60 },
    };
    const unsigned int n_bursts = sizeof bursts / sizeof bursts[0];

    for (unsigned int i = 0; i < n_bursts; i++) {
        struct run run = {
            .kbps = bursts[i].kbps,
            .limit = UINT32_MAX,
            .depth = 1000000,
            .random = r,
        };

        run_init(&run);
        stay_busy(&run, bursts[i].seconds);
        stay_busy(&run, 1);
        check(&run, "the number of long bursts", run.n_events, 2);
        check_stats(&run);
    }
    proof_ok("%u bursts of up to a day, as by the queue", n_bursts);
}

/* Polled traffic: packets wait in a ring. */

struct poller {
    struct run *run;
    uint64_t since;             /* Nothing in the ring came before that. */
    uint64_t longest_gap;
    work_t deepest;             /* That the queue was, a packet. */
    work_t depths[1 << 16];     /* Of packets in the ring. */
    uint32_t sizes[1 << 16];
    uint16_t head, tail;
};

/* Receives up to 32 packets at 'now'. */
static void
poll_ring(struct poller *poller, uint64_t now)
{
    struct run *run = poller->run;
    struct phantom_batch b = { .since_ns = poller->since, .now_ns = now };
    struct arrival a = { .n = 0 };
    work_t slack;

    while (a.n < 32 && (uint16_t) (poller->tail + a.n) != poller->head) {
        a.sizes[a.n] = poller->sizes[(uint16_t) (poller->tail + a.n)];
        a.n++;
    }
    if (now - poller->since > poller->longest_gap) {
        poller->longest_gap = now - poller->since;
    }
    slack = 2 * poller->longest_gap * run->q.rate;
    run->now = now;
    if (a.n) {
        offer(run, &a, &b);
    }
    for (uint32_t i = 0; i < a.n; i++) {
        work_t depth = poller->depths[poller->tail++];
        work_t mark = run->mark * WORK_PER_BYTE;
        bool marked = b.marked >> i & 1;

        if (marked ? depth <= mark : depth > mark + slack) {
            run_fail(run, "mark", marked, !marked);
        }
        run->n_marked += marked;
    }
    if (a.n < 32) {
        poller->since = now;
    }
    run->n_packets += a.n;
}

static void
test_polled_run(struct poller *poller, uint64_t max_gap, uint64_t n_packets)
{
    struct run *run = poller->run;
    struct arrival a = { .n = 0 };
    uint64_t now = START;

    while (run->n_packets < n_packets) {
        /* Rarely, a stall; sometimes, the ring has more than a batch. */
        now += (proof_below(run->random, 50) ? 1 : 20)
               * proof_below(run->random, max_gap) + 1;
        while (!a.n || a.when <= now) {
            for (uint32_t i = 0; i < a.n; i++) {
                queue_advance(&run->q, a.when);
                queue_put(&run->q, a.sizes[i]);
                poller->depths[poller->head] = run->q.backlog;
                poller->sizes[poller->head++] = a.sizes[i];
                if (poller->head == poller->tail) {
                    proof_fail("the ring is full");
                }
            }
            traffic_next(&run->t, NULL, &a);
        }
        do {
            poll_ring(poller, now);
            now += 1 + proof_below(run->random, max_gap / 10 + 1);
        } while ((uint16_t) (poller->head - poller->tail) > 20000);
    }
}

static void
test_polled(uint64_t n_packets, struct proof_random *r)
{
    static const enum traffic_pattern patterns[] = {
        CBR_HALF, CBR_RATE, POISSON, ON_OFF, ALL_REDUCE,
    };
    static struct poller poller;
    uint64_t n = 0, n_marked = 0;

    for (unsigned int i = 0; i < N_RATES * 5 * 3; i++) {
        static const enum traffic_mix mixes[] = {
            MIX_MTU, MIX_IMIX, MIX_RANDOM,
        };
        struct run run = {
            .kbps = rates[i % N_RATES],
            .pattern = patterns[i / N_RATES % 5],
            .mix = mixes[i / N_RATES / 5],
            .mark = 1518,
            .random = r,
        };
        bool smooth = run.pattern == CBR_HALF || run.pattern == CBR_RATE;
        uint64_t frame_ns = UINT64_C(1518) * 8000000 / run.kbps;
        uint64_t max_gap = 1 + proof_below(r, 40 * frame_ns + 1);

        if (max_gap * 20 > GCRA_MAX_SPREAD_NS / 20) {
            continue;
        }
        if (!smooth) {
            run.mark += proof_below(r, 100000);
        }
        run_init(&run);
        memset(&poller, 0, sizeof poller);
        poller.run = &run;
        poller.since = START;
        test_polled_run(&poller, max_gap, n_packets);
        if (smooth && run.n_marked) {
            run_fail(&run, "the number of marks", run.n_marked, 0);
        }
        n += run.n_packets;
        n_marked += run.n_marked;
    }
    if (!n_marked) {
        proof_fail("nothing was marked");
    }
    proof_ok("polled with gaps, stalls and full batches: of %"PRIu64
             " packets, %"PRIu64" were marked, none that found less in the "
             "queue, and none of smooth traffic", n, n_marked);
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    struct proof_random r;

    proof_random_init(&r, options.seed);
    phantom_edges();
    test_long(&r);
    test_exact(options.longer ? 100000 : 3000, &r);
    test_polled(options.longer ? 200000 : 10000, &r);
    return 0;
}
