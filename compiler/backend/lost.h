/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_LOST_H
#define BACKEND_LOST_H 1

/* What becomes of "microburst" where meters are those of an Open vSwitch
 * without Bulkhead's patches: the nearest drop band, and what that does not
 * keep. */

#include <stdint.h>

struct ir_meter;
struct ir_prog;
struct plan;

/* The burst of that band, in bytes: no more passes at once than asked for. */
uint64_t lost_drop_burst(const struct ir_meter *);

/* Adds to 'plan->differences' what it does not keep, for each tenant with
 * "microburst" and its uplink. */
void lost_note(const struct ir_prog *, struct plan *);

/* The same of bursts that are made what the rate gives in a millisecond, if
 * they are less (backend/kernel/meters.h). */
void lost_note_kernel(const struct ir_prog *, struct plan *);

#endif /* backend/lost.h */
