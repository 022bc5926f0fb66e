/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "burst-loop.h"

#include <stdio.h>

#include "proof/bystander-scenarios.h"

static void
print_meters(const struct bystander_scenario *s, enum bystander_meters meters,
             uint64_t ns, uint64_t seed)
{
    static const char *const names[N_METERS] = {
        "no meter", "Open vSwitch 3.1", "microburst bands",
    };
    struct bystander_conf conf = s->conf;
    struct bystander_result r;

    conf.meters = meters;
    conf.ns = ns;
    conf.seed = seed;
    r = bystander_run(&conf);
    printf("%-33s%-16s %8.2f %8.2f %8.2f %6.2f", meters ? "" : s->name,
           names[meters], r.median_us, r.p99_us, r.worst_us, 100 * r.used);
    for (unsigned int i = 0; i < conf.n_tenants; i++) {
        printf(" %6.2f %6.2f %6.2f", 100 * r.tenants[i].got,
               100 * r.tenants[i].dropped, 100 * r.tenants[i].marked);
    }
    putchar('\n');
}

void
burst_loop_print(bool longer, uint64_t seed)
{
    printf("\nWhat a bystander of 2 Gbps waits in a FIFO of 100 Gbps behind "
           "tenants of 8 senders, in us,\nand what each tenant got of the "
           "link, and of what it sent was dropped, and was marked, in %%\n\n"
           "%-33s%-16s %8s %8s %8s %6s %6s %6s %6s\n", "behind", "", "median",
           "p99", "worst", "link %", "got", "drop", "marked");
    for (unsigned int i = 0; i < n_bystander_scenarios; i++) {
        for (enum bystander_meters meters = 0; meters < N_METERS; meters++) {
            print_meters(&bystander_scenarios[i], meters,
                         UINT64_C(1000000) * (longer ? 400 : 50), seed);
        }
    }
}
