/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_TALLY_H
#define TELEMETRY_TALLY_H 1

/* How often each tenant has filled a port's queue, or waited in it: what is
 * seen of bursts, added up. */

#include "openvswitch/hmap.h"
#include "telemetry/sample.h"

struct tally_entry {
    struct hmap_node node;
    char *port;
    uint64_t tag;
    uint64_t there_ns;          /* When the port was seen last, by the samples'
                                 * 'clock_ns'; 0: not looked yet. */
    struct tally_role {
        uint64_t n, bytes;      /* Bursts, and what was in the queue. */
    } culprit, victim;
};

struct tally {
    struct hmap entries;        /* Of struct tally_entry. */
    uint64_t n_bursts, n_missed;
    uint64_t swept_ns;          /* When ports were looked for last. */
};

void tally_init(struct tally *);
void tally_destroy(struct tally *);

void tally_add(struct tally *, const struct burst *);

/* Entries whose port is in no sample for a quarter of an hour are dropped. */
void tally_add_sample(struct tally *, const struct sample *);

/* The entry, or NULL. */
const struct tally_entry *tally_find(const struct tally *, const char *port,
                                     uint64_t tag);

#endif /* telemetry/tally.h */
