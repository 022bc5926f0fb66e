/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "shares-known.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "meter-models.h"
#include "proof/cluster.h"
#include "shares.h"
#include "util.h"

enum { N_PROBES = 8 };

/* A line of the table: what it is about, what was published of that, and what
 * ours does. */
static void
print_line(const char *what, const char *published, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
print_line(const char *what, const char *published, const char *format, ...)
{
    va_list args;

    printf("  %-46s %13s  ", what, published);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static void
print_number_line(const char *what, double published, double ours,
                  const char *unit)
{
    char text[32];

    snprintf(text, sizeof text, "%.1f %s", published, unit);
    print_line(what, text, "%.1f %s", ours, unit);
}

/* trTCM, by hand.  CIR is 1000 bytes/s, CBS 2000 bytes, PIR 2000 bytes/s, PBS
 * 3000 bytes.  Tc and Tp are what the buckets have when the packet comes.
 * Returns how many of '*n' packets have the color that they should. */
static unsigned int
count_colors(unsigned int *n)
{
    static const struct {
        unsigned int ms, bytes;
        enum rfc_color color;
    } rows[] = {
        { 0, 1500, RFC_GREEN },         /* Tc 2000, Tp 3000. */
        { 0, 1000, RFC_YELLOW },        /* Tc  500, Tp 1500. */
        { 0, 600, RFC_RED },            /* Tc  500, Tp  500. */
        { 0, 500, RFC_GREEN },          /* Tc  500, Tp  500. */
        { 500, 900, RFC_YELLOW },       /* Tc  500, Tp 1000. */
        { 500, 101, RFC_RED },          /* Tc  500, Tp  100. */
        { 1000, 1000, RFC_GREEN },      /* Tc 1000, Tp 1100. */
        { 1000, 100, RFC_YELLOW },      /* Tc    0, Tp  100. */
        { 9000, 2000, RFC_GREEN },      /* Tc 2000, Tp 3000: full. */
        { 9000, 1000, RFC_YELLOW },     /* Tc    0, Tp 1000. */
    };
    unsigned int n_same = 0;
    struct rfc_meter m;

    rfc2698_init(&m, 8, 2000, 16, 3000, 0);
    *n = ARRAY_SIZE(rows);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint64_t now = rows[i].ms * UINT64_C(1000000);

        n_same += rfc2698_color(&m, now, rows[i].bytes) == rows[i].color;
    }
    return n_same;
}

/* What 10 s of frames at 100 Mbps get, with a CIR of 10 and a PIR of 40. */
static void
print_trtcm(void)
{
    const uint32_t cir = 10000, cbs = 20000, pir = 40000, pbs = 30000;
    const double seconds = 10;
    double bytes[] = { [RFC_GREEN] = 0, [RFC_YELLOW] = 0, [RFC_RED] = 0 };
    unsigned int n, n_same = count_colors(&n);
    struct rfc_meter m;

    rfc2698_init(&m, cir, cbs, pir, pbs, 0);
    for (double now = 0; now < seconds * 1e9; now += 1000 * 8e6 / 100000) {
        bytes[rfc2698_color(&m, now, 1000)] += 1000;
    }
    printf("\ntrTCM\n");
    print_number_line("RFC 2698, 3: green in 10 s, CBS + CIR * 10 s",
                      (cbs + cir / 8.0 * seconds * 1000) / 1000,
                      bytes[RFC_GREEN] / 1000, "KB");
    print_number_line("RFC 2698, 3: not red, PBS + PIR * 10 s",
                      (pbs + pir / 8.0 * seconds * 1000) / 1000,
                      (bytes[RFC_GREEN] + bytes[RFC_YELLOW]) / 1000, "KB");
    print_line("RFC 2698, 3: colors of packets, by hand", "10 of 10",
               "%u of %u", n_same, n);
}

/* A cluster of leaves that are owed nothing. */
static struct cluster *
equals(uint32_t kbps, uint64_t burst, unsigned int n_tenants, unsigned int n,
       bool tree, uint64_t reach)
{
    struct cluster *c = xzalloc(sizeof *c);

    c->conf = (struct cluster_conf) {
        .kbps = kbps, .burst = burst, .n_tenants = n_tenants, .n_classes = n,
        .tree = tree, .seed = 1,
    };
    c->n = n_tenants * n;
    for (unsigned int i = 0; i < c->n; i++) {
        c->leaves[i] = (struct cluster_share) { .weight = 1, .reach = reach };
        c->tenants[i / n].weight = 1;
    }
    return c;
}

/* Leaf i sends 'rates[i]' Mbps, evenly, in frames of 1000 bytes; 'got[i]' is
 * what it gets in the last ten of twenty seconds. */
static void
send_evenly(const struct shares *shares, const struct cluster *c,
            const double rates[], double got[])
{
    double next[CLUSTER_MAX_LEAVES];
    void *scheme = shares->create(c);

    for (unsigned int i = 0; i < c->n; i++) {
        next[i] = rates[i] ? 1e6 * i / 7 : INFINITY;
        got[i] = 0;
    }
    for (;;) {
        unsigned int first = 0;

        for (unsigned int i = 1; i < c->n; i++) {
            first = next[i] < next[first] ? i : first;
        }
        if (next[first] >= 20e9) {
            break;
        }
        if (shares->admit(scheme, next[first], first, 1000, false)
            && next[first] >= 10e9) {
            got[first] += 1000 * 8 / 10e6;
        }
        next[first] += 8e6 / rates[first];
    }
    free(scheme);
}

/* A flow that sends some times its fair share for 3 K, after 10 K without a
 * packet, again and again. */
struct probe {
    double next, start, got, excess;    /* In ns, and in bytes. */
    unsigned int n;             /* Times that it did. */
};

static void
probe_send(struct probe *p, void *scheme, unsigned int leaf, double fair,
           double factor, double k)
{
    if (p->next >= p->start + 3 * k) {
        if (p->n++) {           /* The first time, others begin, too. */
            p->excess += p->got - fair * 3 * k;
        }
        p->start = p->next += 10 * k;
        p->got = 0;
        return;
    }
    if (shares_hcsfq.admit(scheme, p->next, leaf, 1000, false)) {
        p->got += 1000;
    }
    p->next += 1000 / fair / factor;
}

/* Returns how many bytes such flows get above their share, on average, among
 * as many others as there are leaves, who send twice theirs. */
static double
measure_excess(const struct cluster *c, double factor)
{
    const double k = shares_hcsfq_average_ns(c);
    const double fair = c->conf.kbps / 8e6 / c->n;
    const double gap = 1000 / fair / 2 / c->n;
    struct probe probes[N_PROBES];
    void *scheme = shares_hcsfq.create(c);
    double excess = 0;
    unsigned int n = 0;

    for (unsigned int i = 0; i < N_PROBES; i++) {
        probes[i] = (struct probe) { .next = i * k, .start = i * k };
    }
    for (uint64_t frame = 0; frame * gap < 80 * k; frame++) {
        unsigned int leaf = frame % (c->n - N_PROBES) + N_PROBES;

        shares_hcsfq.admit(scheme, frame * gap, leaf, 1000, false);
        for (unsigned int i = 0; i < N_PROBES; i++) {
            while (probes[i].next < (frame + 1) * gap) {
                probe_send(&probes[i], scheme, i, fair, factor, k);
            }
        }
    }
    for (unsigned int i = 0; i < N_PROBES; i++) {
        excess += probes[i].excess;
        n += probes[i].n - 1;
    }
    free(scheme);
    return excess / n;
}

/* The excess service of CSFQ is at most r K (1 + ln(R / r)) and a packet, for
 * a flow of fair rate r that sends at R (SIGCOMM 1998, theorem 1). */
static void
print_excess(void)
{
    struct cluster *c = equals(10000, 50000, 1, 512, false, 0);
    double unit = (c->conf.kbps / 8e6 / c->n) * shares_hcsfq_average_ns(c);

    for (double factor = 2; factor <= 32; factor *= 4) {
        char what[64];

        snprintf(what, sizeof what, "theorem 1: excess at %.0f times the fair "
                 "rate", factor);
        print_number_line(what, (unit * (1 + log(factor)) + 1000) / 1000,
                          measure_excess(c, factor) / 1000, "KB");
    }
    free(c);
}

static void
print_csfq(void)
{
    struct cluster *c = equals(10000, 50000, 1, 32, false, 0);
    double rates[CLUSTER_MAX_LEAVES] = { 0 }, got[CLUSTER_MAX_LEAVES];
    double least = INFINITY, most = 0;

    for (unsigned int i = 0; i < 32; i++) {
        rates[i] = 0.3125 * (i + 1);
    }
    send_evenly(&shares_hcsfq, c, rates, got);
    for (unsigned int i = 0; i < 32; i++) {
        least = fmin(least, got[i]);
        most = fmax(most, got[i]);
    }
    print_line("32 flows, number i at i times its fair share", "0.3125 Mbps",
               "%.3f to %.3f Mbps", least, most);
    free(c);
}

static void
print_hcsfq(void)
{
    struct cluster *c = equals(10000, 50000, 2, 8, true, 0);
    double rates[CLUSTER_MAX_LEAVES] = { 0 }, got[CLUSTER_MAX_LEAVES];
    double sum = 0;

    printf("\nHCSFQ; with one level, CSFQ of SIGCOMM 1998\n");
    print_csfq();
    print_excess();
    c->tenants[1].weight = 3;
    for (unsigned int i = 0; i < 16; i++) {
        rates[i] = i == 0 ? 10 : i < 8 ? 0 : 2;
    }
    send_evenly(&shares_hcsfq, c, rates, got);
    for (unsigned int i = 8; i < 16; i++) {
        sum += got[i];
    }
    print_line("two tenants of weights 1 and 3, 1 and 8 flows", "not there",
               "%.2f and %.2f of 10 Mbps", got[0], sum);
    print_line("NSDI 2021: figures", "not at hand", "-");
    free(c);
}

/* One flow of TCP Reno behind a policer, in rounds of one RTT: its window
 * grows by one frame a round, and is halved after one that loses a frame; what
 * the next loses is the same loss.  It
 * swings between 2/3 and 4/3 of what the rate has room for in an RTT (the BDP,
 * here in frames) if the queue holds what it sends too much meanwhile: BDP / 3
 * rounds, in which it is on average BDP / 6 above, so BDP**2 / 18 frames.
 * Returns the part of the rate that it gets. */
static double
run_reno(double bdp, double frames)
{
    const double rtt = 1e7, rate = bdp * 1500 / rtt;
    struct cluster *c = equals(rate * 8e6, 0, 1, 1, false, frames * 1500);
    void *scheme = shares_pqp.create(c);
    double window = bdp, got = 0;
    const int n_rounds = 5000;
    bool halved = false;

    for (int round = 0; round < n_rounds; round++) {
        bool lost = false;

        for (int i = 0; i < (int) window; i++) {
            double now = (round + i / window) * rtt;

            if (shares_pqp.admit(scheme, now, 0, 1500, false)) {
                got += round >= n_rounds / 2 ? 1500 : 0;
            } else {
                lost = true;
            }
        }
        halved = lost && !halved;
        window = halved ? fmax(window / 2, 1) : window + 1;
    }
    free(scheme);
    free(c);
    return got / (rate * rtt * (n_rounds - n_rounds / 2));
}

/* What a sender at four times the rate gets in the first 10 ms beyond the
 * rate, in KB, if the queue holds 100 ms. */
static double
run_burst(const struct shares *shares)
{
    struct cluster *c = equals(100000, 0, 1, 1, false, 1250000);
    void *scheme = shares->create(c);
    double got = 0;

    for (double now = 0; now < 10e6; now += 1500 * 8e6 / 400000) {
        got += shares->admit(scheme, now, 0, 1500, false) ? 1500 : 0;
    }
    free(scheme);
    free(c);
    return got / 1000 - 125;
}

/* The smallest queue, in frames, with which a flow of Reno gets 99 % of the
 * rate. */
static double
least_queue(double bdp)
{
    double low = 0, high = bdp * bdp;

    while (high - low > bdp / 10) {
        double middle = (low + high) / 2;

        *(run_reno(bdp, middle) < 0.99 ? &low : &high) = middle;
    }
    return high;
}

static void
print_bc_pqp(void)
{
    static const double queues[] = { 130000, 1000000, 4000000 };
    const double bdp = 10e6 / 8 * 0.1 / 1500;   /* 10 Mbps, 100 ms. */

    printf("\nBC-PQP (settings are those of "
           "github.com/PhantomQueuePolicer/BCPQP)\n");
    print_number_line("testbed/scripts/parameters.py: what Reno needs",
                      bdp * bdp / 18 * 1.5, least_queue(bdp) * 1.5, "KB");
    for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
        char what[64];

        snprintf(what, sizeof what, "figure 4: Reno at 10 Mbps, a queue of "
                 "%.0f KB", queues[i] / 1000);
        print_line(what, "not at hand", "%.1f %% of the rate",
                   100 * run_reno(bdp, queues[i] / 1500));
    }
    print_line("four times the rate: ahead after 10 ms", "not there",
               "%.0f KB, without burst control %.0f",
               run_burst(&shares_bc_pqp), run_burst(&shares_pqp));
}

void
shares_print_known(void)
{
    printf("\n  %-46s %13s  %s\n", "", "as published", "ours");
    print_trtcm();
    print_hcsfq();
    print_bc_pqp();
}
