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

#ifndef GCRA_H
#define GCRA_H 1

/* Generic cell rate algorithm
 * ===========================
 *
 * This is the virtual scheduling form of the GCRA (ITU-T I.371, annex A.1.2).
 * It admits and refuses exactly what the token bucket of OpenFlow 1.3, section
 * 5.7, and the committed bucket "Tc" of RFC 2697, section 3, do.  Its state is
 * one number, the theoretical arrival time (TAT): the time at which a queue
 * that drains at the rate, and that holds all that was admitted, is empty.
 * The depth of this queue is what the token bucket lacks to be full.  A packet
 * conforms if the depth, with it, is at most the burst; else it adds nothing.
 *
 * Units
 * -----
 *
 * All arithmetic is exact, in integers.  The TAT counts tokens, not ns:
 *
 *     unit of rate and burst        one token       tokens gained in 1 ns
 *     ----------------------------  --------------  ---------------------
 *     kbps and bits                 1e-6 bit        rate
 *     packets/s and packets         1e-9 packet     rate
 *
 * So 'now_ns * rate' is now in tokens, and neither a packet's cost nor a burst
 * is ever rounded, whatever the rate.  TATs are kept modulo 2**63, and another
 * word, the stamp, keeps them comparable: it is a time, at most the TAT, that
 * is renewed when it is 2**60 tokens old.  So a TAT is less than 2**62 tokens
 * away from now, in the past or in the future, unless the stamp is so old that
 * the queue must have drained since.  This holds for any rate below 2**32 and
 * any burst up to 2**61 tokens (2.3 Tbit), after years without a packet.
 *
 * Time
 * ----
 *
 * The functions read no clock: 'now_ns' is any monotonic time, e.g.
 * time_nsec().  Threads may have read it at different times, that are less
 * than 2**60 tokens apart (a quarter of a second at the highest rate, 11 s at
 * 100 Gbps).  Whatever their order, what is admitted in any interval, by the
 * times that were passed in, is at most the burst plus the rate times the
 * interval.
 *
 * A thread that comes with an old time sees the queue as deeper than it is, by
 * the rate times the skew: how far its time is behind the latest that was
 * passed in.  So a packet is refused only if it would be refused at the latest
 * time as well, under a burst that is smaller by that.  What is lost by this
 * is lost once: if there is always a packet that waits then, by any time, at
 * least the burst plus the rate times the time since, less the rate times the
 * skew and less one packet, was admitted.  A thread should read the clock
 * again before it refuses a packet for good: gcra_admit_batch() is for that.
 *
 * Nothing is admitted at a time that is behind by 2**60 tokens or more.  If it
 * is behind by a minute too, and was read just now, as gcra_admit_batch() and
 * gcra_reconfigure() take for granted, then the clock has stepped back, and
 * the bucket starts empty.
 *
 * Arrivals within a time
 * ----------------------
 *
 * Of packets that were received together, it is only known that they came
 * after one time, 'since_ns', and until another, 'now_ns'.  gcra_offer() finds
 * the depth that the queue has at 'now_ns' for certain: it takes them to have
 * come as early as they can have.  With each packet at its own time, the depth
 * would be at least that, but for the skew between threads, and at most that
 * and what drains in twice the longest gap between two such times.  So what
 * conforms when each packet comes at its own time, is not refused here either.
 *
 * What is admitted in any interval, by the times 'now_ns' that were passed in,
 * is at most the burst plus the rate times the sum of the interval and of the
 * largest 'now_ns' - 'since_ns'.
 *
 * Thread-safety
 * -------------
 *
 * Fully thread-safe and lock-free: what is admitted is one compare-and-swap,
 * whose failure means that another thread has made progress.  Only
 * gcra_reconfigure() needs its caller to exclude other reconfigurations, not
 * admissions.  A GCRA owns no memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "ovs-atomic.h"

#ifdef  __cplusplus
extern "C" {
#endif

enum gcra_unit {
    GCRA_KBPS,                  /* Counts bits: rate in kbps, burst in bits. */
    GCRA_PKTPS,                 /* Counts packets: rate in packets/s. */
};

/* A contract. */
struct gcra_conf {
    enum gcra_unit unit;
    uint32_t rate;              /* Tokens gained in a ns, nonzero. */
    uint64_t burst;             /* In tokens, at most GCRA_MAX_BURST. */
};

#define GCRA_MAX_BURST (UINT64_C(1) << 61)

/* Sets '*conf' to 'rate' and 'burst', which are in the units above.  Returns
 * 0, EDOM if the rate is zero or above UINT32_MAX, or ERANGE if the burst is
 * above GCRA_MAX_BURST.  A burst below the size of a packet refuses it. */
int gcra_conf_init(struct gcra_conf *conf, enum gcra_unit,
                   uint64_t rate, uint64_t burst);

struct gcra {
    atomic_uint64_t word;       /* TAT modulo 2**63, then the slot in force. */
    atomic_uint64_t stamp;      /* A time not after the TAT, in ns. */

    /* One contract in force, one to be: 'word' switches between them. */
    struct gcra_slot {
        atomic_uint32_t unit;
        atomic_uint32_t rate;
        atomic_uint64_t burst;
        atomic_uint64_t renew_ns; /* Age at which the stamp is renewed. */
    } slots[2];
};

/* Makes '*g' a full bucket. */
void gcra_init(struct gcra *g, const struct gcra_conf *, uint64_t now_ns);

/* Makes '*g' a copy of '*from': the same contract and depth. */
void gcra_clone(struct gcra *g, const struct gcra *from, uint64_t now_ns);

/* Puts '*g' under a new contract.  The depth stays as it is, but at most the
 * new burst; if the unit changes then the bucket starts empty.  Every
 * admission is under exactly one of the two contracts.  One with a time that
 * is older than the change may find its depth wrong by that age times the
 * difference of the rates. */
void gcra_reconfigure(struct gcra *g, const struct gcra_conf *,
                      uint64_t now_ns);

/* If 'n_packets' packets of 'n_bytes' bytes in all conform, under a burst of
 * 'depth' tokens if that is less, then admits them and returns true.
 * Otherwise admits none of them and returns false. */
bool gcra_admit_to(struct gcra *g, uint64_t now_ns,
                   uint32_t n_packets, uint32_t n_bytes, uint64_t depth);

/* The same, under the burst of the contract. */
static inline bool
gcra_admit(struct gcra *g, uint64_t now_ns,
           uint32_t n_packets, uint32_t n_bytes)
{
    return gcra_admit_to(g, now_ns, n_packets, n_bytes, UINT64_MAX);
}

/* Decides about the 'n' packets of 'sizes[]' bytes, at most 32, one after the
 * other, and admits those that conform.  Bit i of the return value is set if
 * packet i was refused. */
uint32_t gcra_admit_batch(struct gcra *g, uint64_t now_ns,
                          const uint32_t sizes[], uint32_t n);

/* What gcra_offer() is to do, and what it found. */
struct gcra_offer {
    uint64_t since_ns;          /* The packets came after this time... */
    uint64_t now_ns;            /* ...until this. */
    const uint32_t *sizes;      /* Their bytes. */
    uint32_t n;                 /* At most 32. */

    uint32_t refused;           /* Bit i is set if packet i was. */
    uint64_t depths[32];        /* At 'now_ns', with the packet if it was not
                                 * refused.  At an old time, one that was
                                 * may have found more than the burst. */
    uint64_t max_depth;         /* With one that was not refused, at most. */
};

/* The same as gcra_admit_batch(), for packets that came between two times,
 * 'now_ns' - 'since_ns' being from 0 to GCRA_MAX_SPREAD_NS. */
void gcra_offer(struct gcra *g, struct gcra_offer *);

/* Does what gcra_offer() does, with 'n_packets' packets of 'n_bytes' bytes in
 * all, if it refuses none of them and no depth is above 'watch'; then sets
 * '*max_depth' and returns true.  Otherwise admits none and returns false. */
bool gcra_admit_below(struct gcra *g, uint64_t since_ns, uint64_t now_ns,
                      uint32_t n_packets, uint32_t n_bytes, uint64_t watch,
                      uint64_t *max_depth);

#define GCRA_MAX_SPREAD_NS (UINT64_C(100) * 1000 * 1000)

/* A question to two GCRAs, and its answer. */
struct gcra_both {
    uint64_t since_ns, now_ns;  /* For the first, as in 'struct gcra_offer'. */
    uint64_t watch;             /* It admits nothing above this depth. */
    uint64_t second_ns;         /* The time for the second. */
    bool in_turn;               /* If that does not admit all together, does
                                 * it decide about one after the other? */
    const uint32_t *sizes;      /* Of the packets, in bytes. */
    uint32_t n;                 /* At most 32. */
    uint32_t bytes;             /* Of all of them. */

    uint64_t max_depth;         /* Of the first, as gcra_admit_below() says,
                                 * if that has admitted them. */
    uint32_t refused;           /* If GCRA_BOTH: bit i is set if packet i was,
                                 * by the second. */
    uint32_t admitted_bytes;    /* Of the others. */
};

enum gcra_answer {
    GCRA_UNDECIDED,             /* Nothing has changed. */
    GCRA_NOT_ALL,               /* The same: the second does not admit all, and
                                 * was not to decide in turn. */
    GCRA_FIRST,                 /* The first has admitted all, the second is
                                 * undecided. */
    GCRA_BOTH,                  /* The first has admitted all, the second has
                                 * decided. */
};

/* Offers packets to 'first' as gcra_admit_below() does, and if it admits them,
 * to 'second' as gcra_admit() or gcra_admit_batch() does.  This takes less
 * time, and decides what is frequent: the caller asks one by one what is
 * undecided. */
enum gcra_answer gcra_admit_both(struct gcra *first, struct gcra *second,
                                 struct gcra_both *);

/* When a queue is or was empty: 'work' tokens, at 'rate', after 'stamp_ns'. */
struct gcra_end {
    uint64_t stamp_ns;
    uint64_t work;
    uint32_t rate;
};

/* Sets '*end' to when the queue is empty, if nothing is added to it.  Returns
 * true if it is at 'now_ns'; then '*end' is when it became so, unless it was
 * reconfigured or offered a packet since. */
bool gcra_get_end(const struct gcra *g, uint64_t now_ns,
                  struct gcra_end *end);

/* Tokens in a byte. */
#define GCRA_BYTE UINT64_C(8000000)

/* Sets '*length_ns' to the time from 'start_ns' to '*end', rounded up, and
 * '*bytes' to what drains in it, rounded down.  Returns false, and sets
 * nothing, if '*end' was before 'start_ns'. */
bool gcra_end_since(const struct gcra_end *end, uint64_t start_ns,
                    uint64_t *length_ns, uint64_t *bytes);

/* Returns true if the depth shows that another thread has admitted packets at
 * a time after 'now_ns'. */
bool gcra_is_behind(const struct gcra *g, uint64_t now_ns);

/* Depth of the queue at 'now_ns', in tokens.  At an old time it may be above
 * the burst. */
uint64_t gcra_depth(const struct gcra *g, uint64_t now_ns);

#ifdef  __cplusplus
}
#endif

#endif /* gcra.h */
