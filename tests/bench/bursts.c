/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Tables about microbursts, in virtual time: how many are found by a phantom
 * queue and by other ways, and what meters do for a bystander.  It judges
 * nothing. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "burst-detectors.h"
#include "burst-loop.h"
#include "proof/proof.h"

/* An hour after the clock began. */
#define START (UINT64_C(3600) * 1000 * 1000 * 1000)

/* Lengths of bursts, in ns. */
static const uint64_t bounds[] = { 2000, 5000, 10000, 20000, 50000, 101000 };
enum { N_BINS = sizeof bounds / sizeof bounds[0] - 1 };

struct score {
    uint64_t n_true[N_BINS], n_found[N_BINS];
    uint64_t n_events, n_right;
};

/* What a burst of 10 us may leave in a queue without being one. */
#define SLACK_NS 3200

/* Matches findings and bursts that overlap, each with one at most. */
static struct score
evaluate(const struct findings *truth, const struct findings *f)
{
    struct score score;
    size_t j = 0;

    memset(&score, 0, sizeof score);
    score.n_events = f->n;
    for (size_t i = 0; i < truth->n; i++) {
        const struct true_burst *t = &truth->list[i];
        unsigned int bin = 0;
        bool found;

        while (bin < N_BINS - 1 && t->end - t->start >= bounds[bin + 1]) {
            bin++;
        }
        while (j < f->n && f->list[j].end < t->start) {
            j++;
        }
        found = j < f->n && f->list[j].start <= t->end + SLACK_NS;
        score.n_true[bin]++;
        score.n_found[bin] += found;
        score.n_right += found;
        j += found;
    }
    return score;
}

static double
percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * part / all : 100;
}

/* Recall of bursts from 10 us on. */
static double
recall(const struct score *s)
{
    uint64_t found = 0, all = 0;

    for (unsigned int i = 2; i < N_BINS; i++) {
        found += s->n_found[i];
        all += s->n_true[i];
    }
    return percent(found, all);
}

static void
print_score(const char *background, const char *name, const struct score *s)
{
    printf("%-11s %-30s", background, name);
    for (unsigned int i = 0; i < N_BINS; i++) {
        printf(" %6.1f", percent(s->n_found[i], s->n_true[i]));
    }
    printf(" %8.3f %9.3f\n", recall(s), percent(s->n_right, s->n_events));
}

/* The harmonic mean of recall and precision. */
static double
f1(const struct score *s)
{
    double r = recall(s), p = percent(s->n_right, s->n_events);

    return r + p > 0 ? 2 * r * p / (r + p) : 0;
}

/* Snapshots of 1 us, 2 us, and so on. */
enum { N_SKETCHES = 6 };

/* Prints that of 'sketches' that does best by f1(). */
static void
print_sketches(const char *background, struct sketch_detector *sketches[],
               const struct findings *truth)
{
    struct score best = { .n_events = 0 };
    unsigned int best_i = 0;
    double best_f = -1;
    char name[64];

    for (unsigned int i = 0; i < N_SKETCHES; i++) {
        struct findings f;
        struct score s;

        sketch_detector_finish(sketches[i], &f);
        s = evaluate(truth, &f);
        if (f1(&s) > best_f) {
            best_f = f1(&s);
            best = s;
            best_i = i;
        }
        free(f.list);
    }
    snprintf(name, sizeof name, "ConQuest, snapshots of %u us", 1u << best_i);
    print_score(background, name, &best);
}

/* Evaluates windows at the rate that does best by f1(). */
static void
print_windows(const char *background, uint64_t window_ns,
              const struct window_detector *d, const struct findings *truth)
{
    struct score best = { .n_events = 0 };
    unsigned int best_share = 0;
    double best_f = -1;
    char name[64];

    for (unsigned int share = 10; share <= 90; share += 5) {
        struct findings f = { NULL, 0, 0 };
        struct score s;

        window_detector_at(d, LINE_KBPS * share / 100, &f);
        s = evaluate(truth, &f);
        if (f1(&s) > best_f) {
            best_f = f1(&s);
            best = s;
            best_share = share;
        }
        free(f.list);
    }
    snprintf(name, sizeof name, "%"PRIu64" us windows, > %.2f line",
             window_ns / 1000, best_share / 100.0);
    print_score(background, name, &best);
}

static const uint64_t gaps[] = { 0, 2000, 5000 };
static const uint64_t windows[] = { 25000, 100000, 1000000 };
enum {
    N_GAPS = sizeof gaps / sizeof gaps[0],
    N_WINDOWS = sizeof windows / sizeof windows[0],
};

static void
measure(enum background background, uint64_t n_bursts, struct proof_random *r)
{
    const char *name = background_names[background];
    struct phantom_detector *phantoms[N_GAPS];
    struct window_detector *counters[N_WINDOWS];
    struct sketch_detector *sketches[N_SKETCHES];
    struct findings truth = { NULL, 0, 0 }, f;
    struct burst_traffic t;
    struct score score;

    for (unsigned int i = 0; i < N_GAPS; i++) {
        phantoms[i] = phantom_detector_create(gaps[i], START);
    }
    for (unsigned int i = 0; i < N_WINDOWS; i++) {
        counters[i] = window_detector_create(windows[i], START);
    }
    for (unsigned int i = 0; i < N_SKETCHES; i++) {
        sketches[i] = sketch_detector_create(UINT64_C(1000) << i, START, r);
    }
    burst_traffic_init(&t, background, START, r);
    while (truth.n < n_bursts) {
        struct true_burst burst;
        struct packet packet;

        if (burst_traffic_next(&t, &packet, &burst)) {
            findings_add(&truth, burst.start, burst.end);
        }
        for (unsigned int i = 0; i < N_GAPS; i++) {
            phantom_detector_feed(phantoms[i], &packet);
        }
        for (unsigned int i = 0; i < N_WINDOWS; i++) {
            window_detector_feed(counters[i], &packet);
        }
        for (unsigned int i = 0; i < N_SKETCHES; i++) {
            sketch_detector_feed(sketches[i], &packet);
        }
    }

    for (unsigned int i = 0; i < N_GAPS; i++) {
        char text[64] = "phantom queue";

        if (gaps[i]) {
            snprintf(text, sizeof text, "phantom queue, polls %"PRIu64" us",
                     gaps[i] / 1000);
        }
        phantom_detector_finish(phantoms[i], &f);
        score = evaluate(&truth, &f);
        print_score(name, text, &score);
        free(f.list);
    }
    print_sketches(name, sketches, &truth);
    for (unsigned int i = 0; i < N_WINDOWS; i++) {
        print_windows(name, windows[i], counters[i], &truth);
        window_detector_destroy(counters[i]);
    }
    free(truth.list);
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    uint64_t n = options.longer ? 20000 : 3000;
    struct proof_random r;

    proof_random_init(&r, options.seed);
    printf("Bursts at 0.6 to 1.0 of a line of 100 Gbps that are found, in "
           "%%,\n"
           "with %zu bytes a tenant; peak rate 40 Gbps, depth %u bytes\n\n"
           "%-11s %-30s", detector_memory, BURST_DEPTH, "background",
           "found by");
    for (unsigned int i = 0; i < N_BINS; i++) {
        char label[48];

        snprintf(label, sizeof label, "%"PRIu64"-%"PRIu64, bounds[i] / 1000,
                 bounds[i + 1] / 1000);
        printf(" %6s", i < N_BINS - 1 ? label : "50-100");
    }
    printf(" %8s %9s\n", ">=10 us", "precision");
    for (int i = 0; i < N_BACKGROUNDS; i++) {
        measure(i, n, &r);
    }
    burst_loop_print(options.longer, options.seed);
    return 0;
}
