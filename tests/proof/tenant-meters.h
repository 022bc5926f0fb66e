/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TENANT_METERS_H
#define TENANT_METERS_H 1

/* What meters drop and remark, as telemetry has it. */

#include <stdint.h>

struct proof_random;

/* Sends 'n_batches' batches through meters, in virtual time, and compares the
 * counters of each port with what was offered, and their sums with what the
 * meters themselves have counted. */
void tenant_meters(uint64_t n_batches, struct proof_random *);

#endif /* tenant-meters.h */
