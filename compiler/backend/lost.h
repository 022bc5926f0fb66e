/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_LOST_H
#define BACKEND_LOST_H 1

/* What becomes of bursts where meters are those of an Open vSwitch without
 * Bulkhead's patches: of "microburst" the nearest drop band, and what that
 * does not keep.
 *
 * Such meters are refilled by whole milliseconds, and one whose burst is less
 * than its rate gives in one never is (Open vSwitch 3.1: lib/dpif-netdev.c,
 * dpif_netdev_meter_set(); Linux 6.1: net/openvswitch/meter.c,
 * dp_meter_create(); "max_delta_t"): so its burst is made that large. */

#include <stdbool.h>
#include <stdint.h>

struct diags;
struct ir_meter;
struct ir_prog;
struct plan;

/* What a target makes of meters. */
struct lost_meters {
    const char *whose;          /* "the kernel's". */
    uint64_t max_kbps;          /* What is to have more has no meter; 0: there
                                 * is no such rate. */
    unsigned int kbit_bytes;    /* That a kbit of a burst lets pass. */
};

/* What a rate gives in a millisecond, in bytes and in packets. */
uint64_t lost_least_burst(uint64_t kbps);
uint32_t lost_least_packets(uint32_t rate);

/* A rate of the meter, without what endpoints that do not borrow have, which
 * is not their tenant's to share. */
uint64_t lost_own_kbps(uint64_t kbps, const struct ir_meter *);

/* At which a meter, lowered or not, drops what exceeds it. */
uint64_t lost_drop_kbps(const struct ir_meter *);

/* Is that more than the target has meters for? */
bool lost_is_too_fast(const struct lost_meters *, const struct ir_meter *);

/* The burst that the intent asks of it, in bytes: no more than the cap. */
uint64_t lost_asked_burst(const struct ir_meter *);

/* The burst of that band, in bytes: no more passes at once than asked for,
 * unless that is less than the least. */
uint64_t lost_drop_burst(const struct ir_meter *);

/* Of a program that is not lowered yet, is it one of the meters that such a
 * target keeps? */
bool lost_is_kept(const struct ir_meter *);

/* Adds a warning at the first place that asks for less than the least. */
void lost_warn_bursts(const struct ir_prog *, struct diags *,
                      const struct lost_meters *);

/* Adds to 'plan->differences' what the band does not keep, for each tenant
 * with "microburst" and its uplink, and each limit that has no meter. */
void lost_note(const struct ir_prog *, struct plan *,
               const struct lost_meters *);

#endif /* backend/lost.h */
