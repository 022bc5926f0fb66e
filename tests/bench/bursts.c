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
#include <math.h>
#include <stdbool.h>
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
print_score(enum background background, const char *name, size_t bytes,
            const struct score *s)
{
    printf("%-11s %-29s %5zu", background_names[background], name, bytes);
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

/* Is 'a' better than 'b': by f1() to a tenth of a percent, as less is chance,
 * and where that is the same, by how many bursts of any length it finds? */
static bool
is_better(const struct score *a, const struct score *b)
{
    double f1_a = round(10 * f1(a)), f1_b = round(10 * f1(b));

    return f1_a > f1_b || (f1_a == f1_b && a->n_right > b->n_right);
}

static const uint64_t gaps[] = { 0, 2000, 5000 };
static const uint64_t windows[] = { 25000, 100000, 1000000 };
static const unsigned int pieces[] = { 1, 400 };
enum {
    N_GAPS = sizeof gaps / sizeof gaps[0],
    N_SKETCHES = 6,             /* Snapshots of 1 us, 2 us, and so on. */
    N_PIECES = sizeof pieces / sizeof pieces[0],
    N_WINDOWS = sizeof windows / sizeof windows[0] * N_PIECES,
    N_WAYS = 1 + N_WINDOWS,
};

/* Ways that have a threshold: ConQuest, and windows of each kind. */
static struct way {
    size_t bytes;
    unsigned int n;
    struct candidate {
        char name[48];
        struct score scores[N_BACKGROUNDS];
    } candidates[N_SKETCHES * SKETCH_DEPTHS];
} ways[N_WAYS];

/* Evaluates the next candidate of 'way', and returns it for its name. */
static struct candidate *
add_candidate(struct way *way, enum background background,
              const struct findings *truth, struct findings *f)
{
    struct candidate *c = &way->candidates[way->n++];

    c->scores[background] = evaluate(truth, f);
    free(f->list);
    return c;
}

static void
judge_sketches(struct sketch_detector *sketches[], enum background background,
               const struct findings *truth)
{
    struct way *way = &ways[0];

    way->bytes = detector_memory;
    way->n = 0;
    for (unsigned int i = 0; i < N_SKETCHES; i++) {
        struct findings f[SKETCH_DEPTHS];

        sketch_detector_finish(sketches[i], f);
        for (unsigned int j = 0; j < SKETCH_DEPTHS; j++) {
            struct candidate *c = add_candidate(way, background, truth, &f[j]);

            snprintf(c->name, sizeof c->name, "ConQuest, %u us, > %"PRIu64,
                     1u << i, sketch_depth(j));
        }
    }
}

static void
judge_windows(struct window_detector *counters[], enum background background,
              const struct findings *truth)
{
    for (unsigned int i = 0; i < N_WINDOWS; i++) {
        unsigned int n_pieces = pieces[i % N_PIECES];
        struct findings f[WINDOW_SHARES];
        struct way *way = &ways[1 + i];

        way->bytes = n_pieces * sizeof(uint32_t);
        way->n = 0;
        window_detector_finish(counters[i], f);
        for (unsigned int j = 0; j < WINDOW_SHARES; j++) {
            struct candidate *c = add_candidate(way, background, truth, &f[j]);

            snprintf(c->name, sizeof c->name, "%"PRIu64" us%s, > %.2f line",
                     windows[i / N_PIECES] / 1000,
                     n_pieces > 1 ? " sliding" : " windows", window_share(j));
        }
    }
}

static void
judge_phantoms(struct phantom_detector *phantoms[],
               enum background background, const struct findings *truth)
{
    for (unsigned int i = 0; i < N_GAPS; i++) {
        char text[64] = "phantom queue";
        struct findings f;
        struct score score;

        if (gaps[i]) {
            snprintf(text, sizeof text, "phantom queue, polls %"PRIu64" us",
                     gaps[i] / 1000);
        }
        phantom_detector_finish(phantoms[i], &f);
        score = evaluate(truth, &f);
        print_score(background, text, detector_memory, &score);
        free(f.list);
    }
}

/* Prints the candidate of each way that does best in 'background'. */
static void
print_best(enum background background)
{
    for (const struct way *way = ways; way < &ways[N_WAYS]; way++) {
        const struct candidate *best = way->candidates;

        for (unsigned int i = 1; i < way->n; i++) {
            const struct candidate *c = &way->candidates[i];

            if (is_better(&c->scores[background],
                          &best->scores[background])) {
                best = c;
            }
        }
        print_score(background, best->name, way->bytes,
                    &best->scores[background]);
    }
}

/* The mean of f1() in all backgrounds. */
static double
mean_f1(const struct candidate *c)
{
    double sum = 0;

    for (int i = 0; i < N_BACKGROUNDS; i++) {
        sum += f1(&c->scores[i]);
    }
    return sum / N_BACKGROUNDS;
}

/* Prints, for each way, the candidate that does best over all backgrounds. */
static void
print_constant(void)
{
    const struct candidate *best[N_WAYS];

    for (unsigned int i = 0; i < N_WAYS; i++) {
        best[i] = ways[i].candidates;
        for (unsigned int j = 1; j < ways[i].n; j++) {
            if (mean_f1(&ways[i].candidates[j]) > mean_f1(best[i])) {
                best[i] = &ways[i].candidates[j];
            }
        }
    }
    for (int i = 0; i < N_BACKGROUNDS; i++) {
        for (unsigned int j = 0; j < N_WAYS; j++) {
            print_score(i, best[j]->name, ways[j].bytes, &best[j]->scores[i]);
        }
    }
}

static void
measure(enum background background, uint64_t n_bursts, struct proof_random *r)
{
    struct phantom_detector *phantoms[N_GAPS];
    struct window_detector *counters[N_WINDOWS];
    struct sketch_detector *sketches[N_SKETCHES];
    struct findings truth = { NULL, 0, 0 };
    struct burst_traffic t;

    for (unsigned int i = 0; i < N_GAPS; i++) {
        phantoms[i] = phantom_detector_create(gaps[i], START);
    }
    for (unsigned int i = 0; i < N_WINDOWS; i++) {
        counters[i] = window_detector_create(windows[i / N_PIECES],
                                             pieces[i % N_PIECES], START);
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
    judge_phantoms(phantoms, background, &truth);
    judge_sketches(sketches, background, &truth);
    judge_windows(counters, background, &truth);
    print_best(background);
    free(truth.list);
}

static void
print_head(const char *title)
{
    printf("%s\n\n%-11s %-29s %5s", title, "background", "found by", "bytes");
    for (unsigned int i = 0; i < N_BINS; i++) {
        char label[48];

        snprintf(label, sizeof label, "%"PRIu64"-%"PRIu64, bounds[i] / 1000,
                 bounds[i + 1] / 1000);
        printf(" %6s", i < N_BINS - 1 ? label : "50-100");
    }
    printf(" %8s %9s\n", ">=10 us", "precision");
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    uint64_t n = options.longer ? 20000 : 3000;
    struct proof_random r;

    proof_random_init(&r, options.seed);
    printf("Bursts at 0.6 to 1.0 of a line of 100 Gbps that are found, in "
           "%%;\n"
           "'bytes' a tenant; peak rate 40 Gbps, depth %u bytes.  ",
           BURST_DEPTH);
    print_head("What has a threshold\nhas the best one, background by "
               "background:");
    for (int i = 0; i < N_BACKGROUNDS; i++) {
        measure(i, n, &r);
    }
    putchar('\n');
    print_head("The same with one threshold, the best one for all together:");
    print_constant();
    burst_loop_print(options.longer, options.seed);
    return 0;
}
