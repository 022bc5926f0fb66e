/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef UNIT_GCRA_H
#define UNIT_GCRA_H 1

/* A GCRA beside the oracle of tests/proof/: both must do the same. */

#include "gcra.h"
#include "proof/oracle.h"

struct unit_gcra {
    struct gcra g;
    struct oracle o;
};

/* Fail the test if the contract is refused. */
void unit_gcra_init(struct gcra *, enum gcra_unit, uint64_t rate,
                    uint64_t burst, uint64_t now);
void unit_gcra_pair(struct unit_gcra *, enum gcra_unit, uint64_t rate,
                    uint64_t burst, uint64_t now);

/* Do it to both, and fail the test if they differ, in what they decide or in
 * their depths. */
bool unit_gcra_take(struct unit_gcra *, uint64_t now, uint32_t n_packets,
                    uint32_t n_bytes);
void unit_gcra_take_batch(struct unit_gcra *, uint64_t now,
                          const uint32_t sizes[], uint32_t n);
/* Replaces the GCRA by a copy. */
void unit_gcra_clone(struct unit_gcra *, uint64_t now);

void unit_gcra_reconfigure(struct unit_gcra *, enum gcra_unit, uint64_t rate,
                           uint64_t burst, uint64_t now);

/* The seed of this run: UNIT_SEED, or 1; always said. */
unsigned int unit_gcra_seed(void);

#endif /* unit-gcra.h */
