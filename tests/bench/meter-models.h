/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef METER_MODELS_H
#define METER_MODELS_H 1

/* Schemes of policing, to compare with the GCRA.
 *
 * Each is written from its description, and configured to enforce one hard
 * limit as well as it can: where a scheme has two buckets, the one that does
 * not take part is out of the way. */

#include <stdbool.h>
#include <stdint.h>

#include "gcra.h"

/* Open vSwitch 3.1, lib/dpif-netdev.c: time in whole ms, bucket in bits, burst
 * in kbit, idle time cut at burst / rate in whole ms; under a mutex. */
struct ovs31 {
    uint64_t used_us;
    uint64_t bucket;
    uint64_t rate;
    uint64_t max;
    uint64_t max_delta_ms;
};

/* Open vSwitch 3.2 and later (commit c2433bdfc): the same with atomic
 * operations in place of the mutex. */
struct ovs32 {
    atomic_uint64_t used_ms;
    atomic_uint64_t bucket;
    uint64_t rate;
    uint64_t max;
    uint64_t max_delta_ms;
};

/* A bucket of RFC 2697, 2698 or 4115: bytes, one each 1 / rate.  'last_ns'
 * is when the latest byte came, with what remains as 'rest' of a byte. */
struct rfc_bucket {
    uint64_t last_ns;
    uint64_t bytes;
    uint64_t size;
    uint64_t rate;              /* In bytes/s. */
    uint64_t rest;              /* In 1e-9 byte. */
};

struct rfc_meter {
    struct rfc_bucket c;        /* Committed. */
    struct rfc_bucket other;    /* Excess or peak. */
};

/* RFC 2698, color-blind: 'c' is committed, 'other' the peak.  Rates are in
 * kbps, bursts in bytes. */
enum rfc_color { RFC_GREEN, RFC_YELLOW, RFC_RED };

void rfc2698_init(struct rfc_meter *, uint64_t cir, uint64_t cbs,
                  uint64_t pir, uint64_t pbs, uint64_t now_ns);
enum rfc_color rfc2698_color(struct rfc_meter *, uint64_t now_ns,
                             uint32_t bytes);

/* DPDK's rte_meter: some bytes every period, of a CPU clock of 2.5 GHz; a
 * period has 100 cycles or more, and is cut off to whole cycles. */
struct dpdk_bucket {
    uint64_t last;
    uint64_t bytes;
    uint64_t size;
    uint64_t period;
    uint64_t bytes_per_period;
};

union meter {
    struct gcra gcra;
    struct ovs31 ovs31;
    struct ovs32 ovs32;
    struct rfc_meter rfc;
    struct dpdk_bucket dpdk;
};

struct meter_model {
    const char *name;

    /* 'burst' is in bytes.  Returns what it became in the model's units. */
    uint64_t (*init)(union meter *, uint64_t kbps, uint64_t burst,
                     uint64_t now_ns);
    bool (*admit)(union meter *, uint64_t now_ns, uint32_t n_packets,
                  uint32_t bytes);
};

extern const struct meter_model meter_models[];
extern const unsigned int n_meter_models;

/* Those whose cost is compared. */
extern const struct meter_model meter_gcra, meter_ovs31, meter_ovs32;

#endif /* meter-models.h */
