/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "shares-known.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "meter-models.h"
#include "proof/cluster.h"
#include "shares.h"
#include "util.h"

/* trTCM, by hand.  CIR is 1000 bytes/s, CBS 2000 bytes, PIR 2000 bytes/s, PBS
 * 3000 bytes.  Tc and Tp are what the buckets have when the packet comes. */

static void
print_trtcm(void)
{
    static const char *const names[] = { "green", "yellow", "red" };
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
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint64_t now = rows[i].ms * UINT64_C(1000000);

        n_same += rfc2698_color(&m, now, rows[i].bytes) == rows[i].color;
    }
    printf("\ntrTCM: of %zu packets whose colors were computed by hand from "
           "RFC 2698 (%s,\n%s, %s, ...), %u have them.\n", ARRAY_SIZE(rows),
           names[rows[0].color], names[rows[1].color], names[rows[2].color],
           n_same);
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

static void
print_hcsfq(void)
{
    struct cluster *c = equals(10000, 50000, 1, 32, false, 0);
    double rates[CLUSTER_MAX_LEAVES] = { 0 }, got[CLUSTER_MAX_LEAVES];
    double least = INFINITY, most = 0, sum = 0;

    for (unsigned int i = 0; i < 32; i++) {
        rates[i] = 0.3125 * (i + 1);
    }
    send_evenly(&shares_hcsfq, c, rates, got);
    for (unsigned int i = 0; i < 32; i++) {
        least = fmin(least, got[i]);
        most = fmax(most, got[i]);
        sum += got[i];
    }
    printf("\nHCSFQ of one level, 32 flows on 10 Mbps, flow i at i times its "
           "fair share of\n0.3125 Mbps: from %.3f to %.3f Mbps each, %.2f in "
           "all.\n", least, most, sum);
    free(c);

    c = equals(10000, 50000, 2, 8, true, 0);
    c->tenants[1].weight = 3;
    for (unsigned int i = 0; i < 16; i++) {
        rates[i] = i == 0 ? 10 : i < 8 ? 0 : 2;
    }
    send_evenly(&shares_hcsfq, c, rates, got);
    sum = 0;
    for (unsigned int i = 8; i < 16; i++) {
        sum += got[i];
    }
    printf("Of two levels, one flow of a tenant, and eight of one of three "
           "times its weight:\n%.2f Mbps and %.2f; fair are 2.50 and 7.50.\n",
           got[0], sum);
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

static void
print_bc_pqp(void)
{
    static const double parts[] = { 0.1, 0.25, 0.5, 1, 2 };
    const double bdp = 60;

    printf("\nBC-PQP: what a flow of TCP Reno gets of the rate, with a "
           "phantom queue of so many\ntimes BDP**2/18: ");
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        printf("%s%g: %.1f %%", i ? ", " : "", parts[i],
               100 * run_reno(bdp, parts[i] * bdp * bdp / 18));
    }
    printf(".\nA sender at four times the rate gets %.0f KB above it in the "
           "first 10 ms without\nburst control, %.0f with it.\n",
           run_burst(&shares_pqp), run_burst(&shares_bc_pqp));
}

void
shares_print_known(void)
{
    print_trtcm();
    print_hcsfq();
    print_bc_pqp();
}
