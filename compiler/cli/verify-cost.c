/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/verify.h"
#include "timeval.h"
#include "util.h"

static double
cpu_ms(int who)
{
    struct rusage usage;

    getrusage(who, &usage);
    return timeval_to_msec(&usage.ru_utime) + timeval_to_msec(&usage.ru_stime)
           + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) % 1000 / 1e3;
}

static size_t
peak_kib(int who)
{
    struct rusage usage;

    getrusage(who, &usage);
    return usage.ru_maxrss;
}

static size_t
resident_kib(void)
{
    FILE *statm = fopen("/proc/self/statm", "r");
    size_t pages = 0;

    if (statm) {
        ignore(fscanf(statm, "%*u %zu", &pages));
        fclose(statm);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

struct verify_cost
verify_cost_begin(void)
{
    return (struct verify_cost) {
        .cpu = cpu_ms(RUSAGE_SELF) + cpu_ms(RUSAGE_CHILDREN),
        .wall = time_msec(),
        .kib = resident_kib(),
    };
}

/* Each process has at first what this one has, and then as much more as the
 * largest. */
struct verify_cost
verify_cost_since(const struct verify_cost *start, size_t n_jobs)
{
    size_t peak = MAX(peak_kib(RUSAGE_SELF), start->kib);
    size_t of_jobs = MAX(peak_kib(RUSAGE_CHILDREN), start->kib);
    struct verify_cost now = verify_cost_begin();

    return (struct verify_cost) {
        .cpu = now.cpu - start->cpu,
        .wall = now.wall - start->wall,
        .kib = peak - start->kib + n_jobs * (of_jobs - start->kib),
    };
}
