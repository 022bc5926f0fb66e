/*
 * Copyright (c) 2026 Bulkhead developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#ifndef TENANT_QUEUE_SHM_H
#define TENANT_QUEUE_SHM_H 1

/* Tenants' queues: the layout of the file that ovs-vswitchd shares
 * ===============================================================
 *
 * A userspace datapath with telemetry writes "tenant-queues.<datapath>" in its
 * run directory.  Anyone who may read it can map it, read-only, and look as
 * often as wanted: nothing that a reader does is seen by the datapath.  This
 * header needs nothing of Open vSwitch's.
 *
 *     struct tq_header      at 0
 *     struct tq_port [n]    ports, 'port_size' bytes each, from 'port_offset'
 *     struct tq_queue[n]    counters, 'queue_size' each, from 'queue_offset'
 *
 * Everything but the header's first members is 64-bit words in the order of
 * bytes of the machine.  Times are those of CLOCK_MONOTONIC, in ns.
 *
 * Versions
 * --------
 *
 * A reader that does not know 'version' must stop.  Members may be added at
 * the end of a structure in a later version of the same number: readers take
 * the sizes and offsets from the header.
 *
 * Reading
 * -------
 *
 * Words that a sequence number stands before are written together: it is odd
 * meanwhile.  tq_copy() reads them.  A thread may be kept from running right
 * there, so a reader tries a few times and then takes the record for what it
 * read there before.  All other words stand for themselves; tq_get() reads
 * one.
 *
 * The file is at its place, complete, or not at all.  'closed' is set when
 * telemetry is switched off.  While it has a writer, an open file description
 * lock for writing is on all of the file, which F_OFD_GETLK sees from every
 * container; if ovs-vswitchd dies, it is gone.
 *
 * Each thread of the datapath that sends has counters of its own, so what
 * (port, tag, queue) has sent is the sum over all records that say so.  A
 * thread that goes leaves its records, with what they count, and the next one
 * that needs such a record takes it over: the sum never falls.  Records go
 * with the port that they are of.  A port that is deleted and added again is
 * another one: it has another 'generation'.
 *
 * What meters drop is counted for the port that the packet would have been
 * sent to next.  Where that is not known, as before recirculation, or where
 * there is none, the record is of no port: 'port' and 'generation' are
 * TQ_NO_PORT. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TQ_MAGIC "BKHTENQ"      /* 8 bytes, with the null. */
enum { TQ_VERSION = 1 };

enum { TQ_NAME_WORDS = 8 };     /* Of a port's name, null-terminated. */
enum { TQ_PORTS = 256 };
enum { TQ_QUEUES = 16384 };
enum { TQ_BUCKETS = 32 };       /* Of a histogram. */
enum { TQ_EVENTS = 32 };        /* Last bursts of a port. */
enum { TQ_SHARES = 8 };         /* Tenants that a burst names. */
enum { TQ_PERIODS = 64 };       /* Last periods of a port... */
#define TQ_PERIOD_NS UINT64_C(100000000)        /* ...of this length. */
#define TQ_NO_PORT UINT64_C(0x7fffffffffffffff)

/* Why a meter dropped a packet. */
enum tq_reason {
    TQ_RATE,                    /* Above its rate. */
    TQ_LIMIT,                   /* Above the limit of a phantom queue. */
    TQ_PARENT,                  /* Above its rate, and the parent did not
                                 * lend. */
    TQ_MISSING,                 /* The meter does not exist. */
    TQ_REASONS
};

static inline const char *
tq_reason_name(enum tq_reason reason)
{
    static const char *const names[TQ_REASONS] = {
        "rate", "limit", "parent", "missing",
    };

    return names[reason];
}

struct tq_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size;
    uint32_t port_offset, port_size, n_ports;
    uint32_t queue_offset, queue_size, n_queues;
    uint64_t file_size;
    uint64_t pid;               /* Of the writer, where it runs. */
    uint64_t closed;            /* Not zero when nobody writes any more. */
    uint64_t n_ports_used;      /* Records above these are free. */
    uint64_t n_queues_used;
    uint64_t n_left_out;        /* Ports and keys that have none. */
};

/* A tenant in a burst. */
struct tq_share {
    uint64_t tag;
    uint64_t bytes;
};

/* A burst.  Its shares are the bytes that were in the port's queue when it was
 * deepest, the most first: 'shares', 'other_bytes' and 'unknown_bytes' are
 * 'peak_depth' in all. */
struct tq_event {
    uint64_t start_ns;
    uint64_t length_ns;         /* Until the queue was empty. */
    uint64_t rise_ns;           /* From the start to the peak. */
    uint64_t peak_depth;        /* In bytes. */
    uint64_t bytes;             /* That the queue took and let go. */
    uint64_t gap_ns;            /* Longest time between polls. */
    uint64_t n_tenants;         /* With bytes in the queue at the peak. */
    uint64_t other_bytes;       /* Of tenants that 'shares' does not name. */
    uint64_t unknown_bytes;     /* Of packets too long ago to be known. */
    struct tq_share shares[TQ_SHARES];
};

/* A tenant with more than an even share of the queue at its peak made the
 * others wait.  So did the only one. */
static inline bool
tq_is_culprit(const struct tq_event *e, const struct tq_share *share)
{
    uint64_t known = e->peak_depth - e->unknown_bytes;

    return e->n_tenants == 1 || share->bytes * e->n_tenants > known;
}

/* What a port is. */
struct tq_port_id {
    uint64_t generation;        /* 0 if the record is free. */
    uint64_t number;            /* Of the datapath. */
    uint64_t rate;              /* In kbps, 0 if unknown: no queue then. */
    uint64_t threshold;         /* A burst begins above so many bytes. */
    uint64_t name[TQ_NAME_WORDS];
};

struct tq_port {
    uint64_t sequence;          /* Of 'id'. */
    struct tq_port_id id;

    /* The port's phantom queue: what would wait for the wire. */
    uint64_t empty_ns;          /* When it is empty, if nothing is added. */
    uint64_t open_ns;           /* Start of the open burst, 0 if none. */
    uint64_t watermark;         /* Greatest depth, in bytes. */
    uint64_t gap_ns;            /* Longest time between polls. */
    uint64_t n_bursts;
    uint64_t burst_bytes;

    /* Bursts whose length in ns, and greatest depth in bytes, is at least
     * 2**i and, but in the last bucket, less than 2**(i + 1). */
    uint64_t lengths[TQ_BUCKETS];
    uint64_t depths[TQ_BUCKETS];

    /* Number of the period (its time / TQ_PERIOD_NS) in the high 32 bits, the
     * greatest depth in it below.  Period i is at i % TQ_PERIODS. */
    uint64_t periods[TQ_PERIODS];

    uint64_t n_events;          /* Number i, from 0, is at i % TQ_EVENTS. */
    struct tq_event_slot {
        uint64_t sequence;      /* 2 * (i + 1) when event i is there. */
        struct tq_event event;
    } events[TQ_EVENTS];
    uint64_t reserved[4];
};

/* What a thread sent to (port, tag, queue), and what of it meters dropped
 * before. */
struct tq_counter {
    uint64_t packets, bytes;
};

struct tq_counts {
    struct tq_counter sent;     /* Handed to the port. */
    struct tq_counter dropped;  /* Of these, those that it dropped... */
    struct tq_counter marked;   /* ...that a meter set CE in... */
    struct tq_counter borrowed; /* ...that passed thanks to a parent... */
    struct tq_counter remarked; /* ...or whose DSCP a meter changed. */

    /* Dropped by a meter: not sent.  Bytes are those that the meter saw. */
    struct tq_counter metered[TQ_REASONS];
};

struct tq_queue_data {
    uint64_t generation;        /* Of the port, 0 if the record is free. */
    uint64_t port;              /* Index of its record. */
    uint64_t tag;
    uint64_t queue;
    uint64_t core;              /* Of the thread, UINT64_MAX if none now. */
    struct tq_counts counts;
};

struct tq_queue {               /* Three cache lines. */
    uint64_t sequence;          /* Of 'data'. */
    struct tq_queue_data data;
};

/* The smallest 'queue_size' of this version: 'metered' is not there, and
 * 'remarked' is 0. */
#define TQ_QUEUE_LEAST offsetof(struct tq_queue, data.counts.metered)

/* Words that stand for themselves. */

static inline uint64_t
tq_get(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void
tq_set(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Words that belong together. */

/* Copies 'size' bytes of words at 'from', which '*sequence' guards, to 'to'.
 * Returns false if they were being written. */
static inline bool
tq_copy(const uint64_t *sequence, const void *from_, void *to_, size_t size)
{
    uint64_t before = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    const uint64_t *from = (const uint64_t *) from_;
    uint64_t *to = (uint64_t *) to_;

    for (size_t i = 0; i < size / sizeof *from; i++) {
        to[i] = tq_get(&from[i]);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return !(before & 1) && tq_get(sequence) == before;
}

/* The writer, of which there is one at a time. */

static inline void
tq_begin(uint64_t *sequence)
{
    tq_set(sequence, tq_get(sequence) + 1);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void
tq_end(uint64_t *sequence)
{
    __atomic_store_n(sequence, tq_get(sequence) + 1, __ATOMIC_RELEASE);
}

static inline void
tq_put(void *to_, const void *from_, size_t size)
{
    const uint64_t *from = (const uint64_t *) from_;
    uint64_t *to = (uint64_t *) to_;

    for (size_t i = 0; i < size / sizeof *from; i++) {
        tq_set(&to[i], from[i]);
    }
}

#endif /* tenant-queue-shm.h */
