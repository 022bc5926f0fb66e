/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "bystander-scenarios.h"

#include "util.h"

/* A tenant's limit and its burst, as the compiler writes them. */
#define TENANT(TRAFFIC, OVS31, KBPS, BURST, ...)                        \
    { .traffic = TRAFFIC, .n_senders = 8, .ovs31 = OVS31, .kbps = KBPS, \
      .band = { .burst_bytes = BURST, .peak_rate = KBPS, __VA_ARGS__ } }

#define ECN .exceed = OFPUTIL_MICROBURST_ECN

/* All bursts of 10 to 20 us of eight senders are 37.5 Gbps on average. */
#define BURSTS_KBPS 38000000
#define BULK_KBPS 60000000

/* The worst that waits in a FIFO of rate C behind a tenant that comes at rate
 * A and is kept to rate R and depth L: what has come above C by the time that
 * the depth is L.  A is 200 Gbps, C 98 Gbps without the bystander, and two
 * frames are in the way. */
#define BOUND_US(R, L) \
    ((L) * 8.0 * (200 - 98) / (200 - (R) / 1e6) / 100e3 + 0.24)

#define BURSTS_THAT_BORROW \
    { .traffic = TRAFFIC_BURSTS, .n_senders = 8, .ovs31 = 0, \
      .kbps = BURSTS_KBPS, .borrows = true, \
      .band = { .burst_bytes = 16384, .peak_rate = BURSTS_KBPS, \
                .mark = 24576, .limit = 32768, .weight = 1 } }
#define DCTCP_THAT_BORROWS \
    { .traffic = TRAFFIC_GREEDY, .n_senders = 8, .ovs31 = 1, \
      .kbps = 57000000, .borrows = true, \
      .band = { .burst_bytes = 262144, .peak_rate = 97600000, \
                .mark = 40960, .limit = 262144, .weight = 1 } }

const struct bystander_scenario bystander_scenarios[] = {
    {
        .name = "DCTCP",
        .conf = {
            .tenants = { TENANT(TRAFFIC_GREEDY, 0, 97600000, 65536,
                                .mark = 28672, .limit = 65536, ECN) },
            .n_tenants = 1, .ovs31_kbps = { 97600000 },
        },
        .max_ratio = 0.1, .min_used = 0.99, .min_got = { 0.99 },
    }, {
        .name = "senders that ignore ECN",
        .conf = {
            .tenants = { TENANT(TRAFFIC_DEAF, 0, 97600000, 65536,
                                .mark = 28672, .limit = 65536, ECN) },
            .n_tenants = 1, .ovs31_kbps = { 97600000 },
        },
        .max_ratio = 0.1, .min_used = 0.99, .min_got = { 0.99 },
    }, {
        .name = "steps",
        .conf = {
            .tenants = { TENANT(TRAFFIC_STEPS, 0, BURSTS_KBPS, 32768,
                                .mark = 24576, .limit = 32768) },
            .n_tenants = 1, .ovs31_kbps = { BURSTS_KBPS },
        },
        .max_ratio = 0.1, .min_got = { 0.98 },
    }, {
        .name = "steps, and DCTCP",
        .conf = {
            .tenants = {
                TENANT(TRAFFIC_STEPS, 0, BURSTS_KBPS, 32768,
                       .mark = 24576, .limit = 32768),
                TENANT(TRAFFIC_GREEDY, 1, BULK_KBPS, 131072,
                       .mark = 40960, .limit = 131072),
            },
            .n_tenants = 2, .ovs31_kbps = { BURSTS_KBPS, BULK_KBPS },
        },
        .max_ratio = 0.1, .min_used = 0.99, .min_got = { 0.98, 0.99 },
    }, {
        .name = "bursts that ignore ECN",
        .conf = {
            .tenants = { TENANT(TRAFFIC_BURSTS, 0, BURSTS_KBPS, 32768,
                                .mark = 24576, .limit = 32768, ECN) },
            .n_tenants = 1, .ovs31_kbps = { BURSTS_KBPS },
        },
        .max_ratio = 0.1, .bound_us = BOUND_US(BURSTS_KBPS, 32768),
    }, {
        .name = "the same, and some that borrow",
        .conf = {
            .tenants = {
                BURSTS_THAT_BORROW,
                { .traffic = TRAFFIC_DEAF, .n_senders = 8, .ovs31 = 1,
                  .kbps = 57000000, .borrows = true,
                  .band = { .burst_bytes = 16384, .weight = 1 } },
            },
            .n_tenants = 2, .ovs31_kbps = { BURSTS_KBPS, BULK_KBPS },
            .uplink_kbps = 99600000, .uplink_burst = 65536,
        },
        .max_ratio = 0.1, .min_used = 0.99, .min_got = { 0, 0.99 },
    }, {
        .name = "the same, and DCTCP that borrows",
        .conf = {
            .tenants = { BURSTS_THAT_BORROW, DCTCP_THAT_BORROWS },
            .n_tenants = 2, .ovs31_kbps = { BURSTS_KBPS, BULK_KBPS },
            .uplink_kbps = 99600000, .uplink_burst = 262144,
        },
        /* Its windows cannot follow what comes and goes within 80 us. */
        .max_ratio = 0.3, .min_used = 0.99, .min_got = { 0, 0.99 },
    }, {
        .name = "the same, behind a shallow uplink",
        .conf = {
            .tenants = { BURSTS_THAT_BORROW, DCTCP_THAT_BORROWS },
            .n_tenants = 2, .ovs31_kbps = { BURSTS_KBPS, BULK_KBPS },
            .uplink_kbps = 99600000, .uplink_burst = 65536,
        },
        .max_ratio = 0.1, .min_used = 0.84,
    },
};
const unsigned int n_bystander_scenarios = ARRAY_SIZE(bystander_scenarios);
