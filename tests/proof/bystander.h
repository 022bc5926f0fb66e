/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BYSTANDER_H
#define BYSTANDER_H 1

/* A closed loop: tenants, each with a meter in front of it, and a bystander
 * share a FIFO of 100 Gbps, in virtual time.
 *
 * Packets are real ones, which dp-meter.c drops, or marks CE in their IPv4
 * headers; senders of DCTCP see that one round trip later.  Each sender is
 * behind 25 Gbps of its own, and sends frames of 1500 bytes, so that eight of
 * them come at twice the rate of the FIFO.  The bystander sends 2 Gbps in
 * frames of 250 bytes, as Poisson.  The round trip takes 10 us and what the
 * FIFO holds. */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/ofp-meter.h"

enum bystander_traffic {
    TRAFFIC_GREEDY,             /* DCTCP (RFC 8257), always more to send. */
    TRAFFIC_STEPS,              /* DCTCP: every 80 us what takes 10 to 20 us
                                 * at 25 Gbps, all at the same moment; what was
                                 * lost is sent again. */
    TRAFFIC_DEAF,               /* 18.75 Gbps each, whatever happens. */
    TRAFFIC_BURSTS,             /* 25 Gbps each for 10 to 20 us of 80 us, all
                                 * at the same moment, whatever happens. */
};

enum bystander_meters {
    METERS_NONE,
    METERS_OVS31,               /* Drop bands of Open vSwitch 3.1, of a burst
                                 * of what comes in a ms: with less, they pass
                                 * nothing. */
    METERS_MICROBURST,
    N_METERS
};

struct bystander_tenant {
    enum bystander_traffic traffic;
    unsigned int n_senders;

    unsigned int ovs31;         /* Which meter of Open vSwitch 3.1. */
    uint32_t kbps;              /* 'rate' of its microburst band. */
    struct ofputil_microburst band;
    bool borrows;               /* From the uplink. */
};

enum { BYSTANDER_MAX_TENANTS = 2, BYSTANDER_MAX_SENDERS = 16 };

struct bystander_conf {
    enum bystander_meters meters;
    struct bystander_tenant tenants[BYSTANDER_MAX_TENANTS];
    unsigned int n_tenants;
    uint32_t ovs31_kbps[BYSTANDER_MAX_TENANTS];
    uint32_t uplink_kbps;       /* Of the meter that lends; 0: none. */
    uint32_t uplink_burst;      /* In bytes. */
    uint64_t ns;                /* The first fifth is not counted. */
    uint64_t seed;
};

struct bystander_result {
    double median_us, p99_us, worst_us; /* What the bystander's packets wait
                                         * in the FIFO. */
    uint64_t n_refused;         /* Of its packets. */
    double used;                /* Of the FIFO's rate. */
    struct {
        double got;             /* Of the FIFO's rate. */
        double dropped, marked; /* Of what it sent. */
    } tenants[BYSTANDER_MAX_TENANTS];
};

struct bystander_result bystander_run(const struct bystander_conf *);

#endif /* bystander.h */
