/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "unit-gcra.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct gcra_conf
make_conf(enum gcra_unit unit, uint64_t rate, uint64_t burst)
{
    struct gcra_conf conf;

    ck_assert_int_eq(gcra_conf_init(&conf, unit, rate, burst), 0);
    return conf;
}

void
unit_gcra_init(struct gcra *g, enum gcra_unit unit, uint64_t rate,
               uint64_t burst, uint64_t now)
{
    struct gcra_conf conf = make_conf(unit, rate, burst);

    gcra_init(g, &conf, now);
}

void
unit_gcra_pair(struct unit_gcra *u, enum gcra_unit unit, uint64_t rate,
               uint64_t burst, uint64_t now)
{
    unit_gcra_init(&u->g, unit, rate, burst, now);
    oracle_init(&u->o, unit == GCRA_PKTPS, rate, burst, now);
}

/* Depths are compared at times at which the oracle has one. */
static void
compare_depths(const struct unit_gcra *u, uint64_t now)
{
    uint64_t is, should;

    if (now < u->o.last) {
        now = u->o.last;
    }
    is = gcra_depth(&u->g, now);
    should = oracle_gcra_depth(&u->o, now);
    ck_assert_msg(is == should, "at %"PRIu64" the depth is %"PRIu64" instead "
                  "of %"PRIu64, now, is, should);
}

bool
unit_gcra_take(struct unit_gcra *u, uint64_t now, uint32_t n_packets,
               uint32_t n_bytes)
{
    bool is = gcra_admit(&u->g, now, n_packets, n_bytes);
    bool should = oracle_take(&u->o, now, n_packets, n_bytes);

    ck_assert_msg(is == should, "at %"PRIu64" %"PRIu32" packets of %"PRIu32
                  " bytes %s", now, n_packets, n_bytes,
                  is ? "were admitted but must not"
                     : "must be admitted but were not");
    compare_depths(u, now);
    return is;
}

void
unit_gcra_take_batch(struct unit_gcra *u, uint64_t now,
                     const uint32_t sizes[], uint32_t n)
{
    uint32_t is = gcra_admit_batch(&u->g, now, sizes, n);
    uint32_t should = 0;

    for (uint32_t i = 0; i < n; i++) {
        should |= (uint32_t) !oracle_take(&u->o, now, 1, sizes[i]) << i;
    }
    ck_assert_msg(is == should, "at %"PRIu64", of %"PRIu32" packets %#"PRIx32
                  " were refused instead of %#"PRIx32, now, n, is, should);
    compare_depths(u, now);
}

void
unit_gcra_reconfigure(struct unit_gcra *u, enum gcra_unit unit, uint64_t rate,
                      uint64_t burst, uint64_t now)
{
    struct gcra_conf conf = make_conf(unit, rate, burst);

    gcra_reconfigure(&u->g, &conf, now);
    oracle_reconfigure(&u->o, unit == GCRA_PKTPS, rate, burst, now);
    compare_depths(u, now);
}

void
unit_gcra_clone(struct unit_gcra *u, uint64_t now)
{
    struct gcra copy;

    gcra_clone(&copy, &u->g, now);
    gcra_init(&u->g, &(struct gcra_conf) { .rate = 1 }, now);
    gcra_clone(&u->g, &copy, now);
    compare_depths(u, now);
}

unsigned int
unit_gcra_seed(void)
{
    const char *s = getenv("UNIT_SEED");
    unsigned int seed = s ? strtoul(s, NULL, 10) : 1;

    printf("gcra: UNIT_SEED=%u\n", seed);
    fflush(stdout);
    return seed;
}
