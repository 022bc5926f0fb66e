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

#ifndef PHANTOM_H
#define PHANTOM_H 1

/* Phantom queues: what a microburst is measured, marked and capped with
 * ====================================================================
 *
 * A phantom queue (Alizadeh et al., "Less is More: Trading a Little Bandwidth
 * for Ultra-Low Latency in the Data Center", NSDI 2012) holds no packets.  It
 * counts the bytes that would wait if the traffic of a meter left at a given
 * rate, the peak rate of the band.  It is a GCRA (gcra.h), whose depth that
 * is.
 *
 * The decision about a packet
 * ---------------------------
 *
 * A band with a phantom queue decides in this order; the first "drop" ends it:
 *
 *     check    state                                      result
 *     -------  -----------------------------------------  --------------------
 *     cap      depth, with the packet, is above 'limit'   drop; adds nothing
 *                                                         to this queue or any
 *                                                         schedule after it
 *     share    rate and burst of the band conform         admitted (green)
 *              else, its parent has it to spare           admitted (yellow)
 *              else (red)                                 'exceed' of the band
 *     observe  depth, with the packet, is above 'mark'    CE, if ECN-capable
 *              depth, with the packet, is above 'depth'   a burst opens
 *              queue is empty                             the burst closes
 *
 * This is "cap" and "observe".  The queue measures what is offered and not
 * capped: what "share" drops later stays in it.  "Observe" changes a packet
 * only if it is admitted.  Without 'limit', nothing is capped, and the queue
 * grows to PHANTOM_MAX_DEPTH, from where on packets add nothing to it.
 *
 * When packets came
 * -----------------
 *
 * Packets of one poll came at any time since the poll before it.  If all of
 * them counted as coming at once, smooth traffic would look like bursts.  So
 * all depths are those that the queue has for certain (gcra.h, "Arrivals
 * within a time"): traffic that keeps to the peak rate, and to a burst of
 * 'mark', 'depth' or 'limit', is never marked, never a burst and never capped,
 * however seldom it is polled, up to GCRA_MAX_SPREAD_NS.  In return, a depth
 * may be low by what drains in twice the gap between polls, and what lasts
 * less than that may go unseen.  So the longest gap is kept, for each burst
 * and for all time.  'mark', 'depth' and 'limit' should be no less than the
 * largest frame, as with any burst.
 *
 * Bursts
 * ------
 *
 * A burst starts at the time of the packets that open it and ends when the
 * queue is empty, so its length times the peak rate is the bytes that the
 * queue held at the start, and what was added since.  'rise' is when the queue
 * was deepest.  A burst ends too when the configuration changes.
 *
 * Thread-safety
 * -------------
 *
 * Any number of threads, none of which ever waits: one compare-and-swap a call
 * admits all that it admits, and never more than gcra.h says: what passes in
 * any interval is at most 'limit' and what drains in the interval and a gap
 * between polls.  A thread with an old time finds the queue deeper than it is
 * by what drains in the skew; phantom_admit() is there to read the clock again
 * first.  After the compare-and-swap, only numbers are written: if a thread is
 * kept from running right there, then the burst that it saw may be recorded
 * together with the next one, or with a lesser depth.  Only
 * phantom_reconfigure() needs its caller to exclude other reconfigurations.
 * phantom_observe() and phantom_read() may run beside all others. */

#include <stdbool.h>
#include <stdint.h>

#include "dp-counter.h"
#include "gcra.h"

#ifdef  __cplusplus
extern "C" {
#endif

/* In bytes: what the members of a band can say. */
#define PHANTOM_MAX_DEPTH UINT32_MAX

struct phantom_conf {
    struct gcra_conf queue;
    bool cap;                   /* Has a limit? */
    uint64_t mark;              /* In tokens, UINT64_MAX if none. */
    uint64_t depth;             /* In tokens, UINT64_MAX if none. */
    uint32_t tag;
};

/* Sets '*conf' to a queue that drains at 'peak_rate' kbps, with depths in
 * bytes, 0 for none, in a band of 'rate' kbps.  Returns 0, EDOM if the peak
 * rate is zero, below 'rate', or above UINT32_MAX, or ERANGE if 'mark' or
 * 'depth' is above 'limit'. */
int phantom_conf_init(struct phantom_conf *conf, uint64_t rate,
                      uint64_t peak_rate, uint32_t mark, uint32_t depth,
                      uint32_t limit, uint32_t tag);

enum { PHANTOM_EVENTS = 16 };           /* Bursts that are kept. */
enum { PHANTOM_BUCKETS = 32 };          /* Of a histogram. */

/* A burst. */
struct phantom_event {
    uint64_t start_ns;          /* As time_nsec(). */
    uint64_t length_ns;
    uint64_t rise_ns;           /* From the start to the peak, to the byte. */
    uint64_t peak_depth;        /* In bytes. */
    uint64_t bytes;
    uint64_t gap_ns;            /* Longest time between polls. */
    uint64_t tag;
};

struct phantom_stats {
    uint64_t n_bursts, burst_bytes;
    uint64_t depth;             /* Now, in bytes. */
    uint64_t watermark;         /* Greatest depth, in bytes. */
    uint64_t gap_ns;            /* Longest time between polls. */

    /* Bursts whose length in ns, and greatest depth in bytes, is at least
     * 2**i and, but in the last bucket, less than 2**(i + 1). */
    uint64_t lengths[PHANTOM_BUCKETS];
    uint64_t depths[PHANTOM_BUCKETS];

    /* The last bursts, oldest first. */
    uint32_t n_events;
    struct phantom_event events[PHANTOM_EVENTS];
};

/* An opaque object, which the caller allocates on a cache line. */
struct phantom {
    struct gcra queue;

    /* One cache line that is mostly read. */
    atomic_uint64_t mark;       /* In tokens, as in the configuration. */
    atomic_uint64_t depth;
    atomic_uint32_t cap;
    atomic_uint32_t tag;
    atomic_uint64_t open_ns;    /* Start of the open burst, 0 if none. */
    atomic_uint64_t watermark;  /* In tokens. */
    atomic_uint64_t gap_ns;

    /* The open burst. */
    atomic_uint64_t peak;       /* In bytes: see burst_number_raise(). */
    atomic_uint64_t peak_ns;    /* When it was that deep. */
    atomic_uint64_t burst_gap_ns; /* As 'peak'. */

    struct dp_counter capped;
    struct dp_counter bursts;   /* Of bursts, not packets. */
    atomic_uint64_t lengths[PHANTOM_BUCKETS];
    atomic_uint64_t depths[PHANTOM_BUCKETS];

    /* Each event has a sequence number, odd while it is written. */
    atomic_uint64_t n_recorded;
    struct phantom_slot {
        atomic_uint64_t sequence;
        atomic_uint64_t words[7]; /* A 'struct phantom_event'. */
    } slots[PHANTOM_EVENTS];
};

/* Numbers of the burst that is open, which several threads raise: the low half
 * of its start before the greatest value, so that what is left from another
 * burst needs no reset, which might come late. */

/* Raises '*number' of the burst that began at 'start_ns' to 'value', at most
 * UINT32_MAX.  Returns false if it was that already, or if that burst is not
 * open any more, which 'is_open(aux, start_ns)' tells. */
bool burst_number_raise(atomic_uint64_t *number, uint64_t start_ns,
                        uint64_t value,
                        bool (*is_open)(const void *aux, uint64_t start_ns),
                        const void *aux);

/* Returns '*number' of the burst that began at 'start_ns', 0 if it has
 * none. */
uint64_t burst_number_get(const atomic_uint64_t *number, uint64_t start_ns);

/* Makes '*p' an empty queue. */
void phantom_init(struct phantom *p, const struct phantom_conf *,
                  uint64_t now_ns);

/* Puts '*p' under another configuration.  The depth stays as it is, but at
 * most the new limit, and so do all counters. */
void phantom_reconfigure(struct phantom *p, const struct phantom_conf *,
                         uint64_t now_ns);

/* If none of 'n' packets of 'bytes' bytes in all, which came after 'since_ns'
 * and until 'now_ns', is capped, marked or part of a burst that they open,
 * then offers them to '*p' and returns true.  Otherwise returns false, and
 * '*p' has not changed: the caller may have a later time for
 * phantom_offer(). */
bool phantom_admit(struct phantom *p, uint64_t since_ns, uint64_t now_ns,
                   uint32_t n, uint32_t bytes);

/* If no burst is open, asks '*p' and 'share' what gcra_admit_both() asks two
 * GCRAs, about packets that came after 'since_ns'.  Sets 'b->since_ns' and
 * 'b->watch'. */
enum gcra_answer phantom_admit_both(struct phantom *p, struct gcra *share,
                                    uint64_t since_ns, struct gcra_both *b);

/* A question to a phantom queue, and its answer. */
struct phantom_batch {
    uint64_t since_ns;          /* The packets came after this time... */
    uint64_t now_ns;            /* ...until this, which is not 0. */

    uint32_t capped;            /* Bit i is set if packet i was capped... */
    uint32_t marked;            /* ...or was not, but is to be marked. */
};

/* Offers 'n' packets of 'sizes[]' bytes, at most 32, to '*p', one after the
 * other. */
void phantom_offer(struct phantom *p, struct phantom_batch *b,
                   const uint32_t sizes[], uint32_t n);

/* Closes the burst that is open, if the queue is empty at 'now_ns'. */
void phantom_observe(struct phantom *p, uint64_t now_ns);

/* Reads the counters and the last bursts. */
void phantom_read(const struct phantom *p, uint64_t now_ns,
                  struct phantom_stats *stats);

#ifdef  __cplusplus
}
#endif

#endif /* phantom.h */
