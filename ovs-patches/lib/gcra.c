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

#include <config.h>
#include "gcra-private.h"

#include <errno.h>

/* A time that is older than the stamp by this, and by RENEW, shows that the
 * clock stepped back.  With less, it may be that of a thread that was kept
 * from running: to start anew would forget what others admitted since. */
#define STEP_NS (UINT64_C(60) * 1000 * 1000 * 1000)

int
gcra_conf_init(struct gcra_conf *conf, enum gcra_unit unit,
               uint64_t rate, uint64_t burst)
{
    uint64_t tokens = unit == GCRA_PKTPS ? TOKENS_PER_PACKET : TOKENS_PER_BIT;

    if (!rate || rate > UINT32_MAX) {
        return EDOM;
    }
    if (burst > GCRA_MAX_BURST / tokens) {
        return ERANGE;
    }
    conf->unit = unit;
    conf->rate = rate;
    conf->burst = burst * tokens;
    return 0;
}

static void
slot_write(struct gcra_slot *slot, const struct gcra_conf *conf)
{
    /* Who reads any of this sees also that the slot was taken out of force
     * before: see still_valid(). */
    atomic_thread_fence(memory_order_release);
    atomic_store_relaxed(&slot->unit, conf->unit);
    atomic_store_relaxed(&slot->rate, conf->rate);
    atomic_store_relaxed(&slot->burst, conf->burst);
    atomic_store_relaxed(&slot->renew_ns, RENEW / conf->rate);
}

void
gcra_init(struct gcra *g, const struct gcra_conf *conf, uint64_t now_ns)
{
    atomic_init(&g->word, make_word(now_ns * conf->rate, 0));
    atomic_init(&g->stamp, now_ns);
    slot_write(&g->slots[0], conf);
    slot_write(&g->slots[1], conf);
}

/* Sets the stamp to 'now_ns', with a queue of 'depth'.
 *
 * The TAT comes first, so that a thread that sees the new stamp sees a TAT
 * that is not before it, or fails to replace the old one.  A thread that sees
 * the new TAT with the old stamp only does the same again.  If another thread
 * has set the stamp meanwhile then this one's may be older, and is not
 * needed. */
static void
renew(struct gcra *g, const struct snapshot *s, uint64_t depth,
      uint64_t now_ns)
{
    uint64_t stamp = s->stamp;

    if (replace(g, s, depth)) {
        atomic_compare_exchange_strong_explicit(
            &g->stamp, &stamp, now_ns,
            memory_order_release, memory_order_relaxed);
    }
}

/* Makes the stamp fresh, if another thread does not.  If the clock stepped
 * back, and 'now_ns' was read from it just now, then starts an empty bucket.
 * Returns false if 'now_ns' is too old.  By itself, because it is rare: it
 * would take registers from those that call take_fresh(). */
static bool
refresh(struct gcra *g, uint64_t now_ns, bool clock_is_fresh)
{
    struct snapshot s;

    take_snapshot(g, now_ns, &s);
    if (s.age == AGE_RENEW || s.age == AGE_STALE) {
        renew(g, &s, s.depth, now_ns);
    } else if (s.age == AGE_BACK) {
        if (!clock_is_fresh || s.stamp - now_ns <= STEP_NS) {
            return false;
        }
        renew(g, &s, s.conf.burst, now_ns);
    }
    return true;
}

/* Reads '*g' into '*s', with a stamp that is fresh, unless 'now_ns' is too
 * old. */
static inline void
take_fresh(struct gcra *g, uint64_t now_ns, bool clock_is_fresh,
           struct snapshot *s)
{
    do {
        take_snapshot(g, now_ns, s);
        if (OVS_LIKELY(s->age == AGE_FRESH)) {
            return;
        }
    } while (refresh(g, now_ns, clock_is_fresh) || s->age != AGE_BACK);
}

static inline uint64_t
cost(const struct gcra_conf *conf, uint32_t n_packets, uint32_t n_bytes)
{
    return (conf->unit == GCRA_PKTPS
            ? n_packets * TOKENS_PER_PACKET
            : n_bytes * GCRA_BYTE);
}

bool
gcra_admit_to(struct gcra *g, uint64_t now_ns,
              uint32_t n_packets, uint32_t n_bytes, uint64_t limit)
{
    for (;;) {
        struct snapshot s;
        uint64_t depth;

        take_fresh(g, now_ns, false, &s);
        depth = s.depth + cost(&s.conf, n_packets, n_bytes);
        if (depth > MIN(s.conf.burst, limit)) {
            if (still_valid(g, &s)) {
                return false;
            }
        } else if (replace(g, &s, depth)) {
            return true;
        }
    }
}

/* What came of packets that were decided about one after the other. */
struct turns {
    uint32_t refused;           /* Bit i is set if packet i was. */
    uint64_t bytes;             /* Of the others. */
    uint64_t depth;             /* With these. */
};

/* Packets that cost alike: the first ones conform. */
static struct turns
take_packet_turns(const struct snapshot *s, uint64_t room,
                  const uint32_t sizes[], uint32_t n)
{
    uint32_t n_admitted = MIN(n, room / TOKENS_PER_PACKET);
    struct turns t = {
        .refused = (UINT64_C(1) << n) - (UINT64_C(1) << n_admitted),
        .depth = s->depth + n_admitted * TOKENS_PER_PACKET,
    };

    for (uint32_t i = 0; i < n_admitted; i++) {
        t.bytes += sizes[i];
    }
    return t;
}

/* Decides about 'n' packets of 'sizes[]' bytes, at most 32, at the time of
 * '*s'.  Room is counted in whole bytes, as a part of one admits nothing. */
static inline struct turns
take_turns(const struct snapshot *s, const uint32_t sizes[], uint32_t n)
{
    struct turns t = { .depth = s->depth };
    uint64_t room = s->conf.burst - s->depth;
    uint64_t left = room / GCRA_BYTE;
    uint32_t i = 0;

    if (OVS_UNLIKELY(s->depth > s->conf.burst)) {
        t.refused = (UINT64_C(1) << n) - 1;
        return t;
    } else if (s->conf.unit == GCRA_PKTPS) {
        return take_packet_turns(s, room, sizes, n);
    }

    /* Mostly, what conforms comes first. */
    for (; i < n && sizes[i] <= left; i++) {
        left -= sizes[i];
    }
    for (; i < n; i++) {
        if (OVS_UNLIKELY(sizes[i] <= left)) {
            left -= sizes[i];
        } else {
            t.refused |= UINT32_C(1) << i;
        }
    }
    t.bytes = room / GCRA_BYTE - left;
    t.depth += t.bytes * GCRA_BYTE;
    return t;
}

uint32_t
gcra_admit_batch(struct gcra *g, uint64_t now_ns,
                 const uint32_t sizes[], uint32_t n)
{
    for (;;) {
        struct snapshot s;
        struct turns t;

        take_fresh(g, now_ns, true, &s);
        t = take_turns(&s, sizes, n);
        if (t.depth == s.depth ? still_valid(g, &s)
                               : replace(g, &s, t.depth)) {
            return t.refused;
        }
    }
}

/* Computes what '*o' comes to, from the depth at 'since_ns' in '*s' and what
 * drains until 'now_ns'.  Returns the depth at 'since_ns' that is left. */
static uint64_t
pass_through(const struct snapshot *s, uint64_t drained, struct gcra_offer *o)
{
    uint64_t packet = cost(&s->conf, 1, 0);
    uint64_t byte = cost(&s->conf, 0, 1);
    uint64_t depth = s->depth;

    o->refused = 0;
    o->max_depth = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        uint64_t next = depth + packet + o->sizes[i] * byte;

        if (next - MIN(next, drained) > s->conf.burst) {
            o->refused |= UINT32_C(1) << i;
        } else {
            depth = next;
            o->max_depth = MAX(o->max_depth, depth - MIN(depth, drained));
        }
        o->depths[i] = depth - MIN(depth, drained);
    }
    return depth;
}

void
gcra_offer(struct gcra *g, struct gcra_offer *o)
{
    uint64_t gap_ns = o->now_ns - o->since_ns;
    struct snapshot s;
    uint64_t depth;

    do {
        take_fresh(g, o->since_ns, true, &s);
        depth = pass_through(&s, gap_ns * s.conf.rate, o);
    } while (!(depth == s.depth ? still_valid(g, &s)
                                : replace(g, &s, depth)));
}

bool
gcra_admit_below(struct gcra *g, uint64_t since_ns, uint64_t now_ns,
                 uint32_t n_packets, uint32_t n_bytes, uint64_t watch,
                 uint64_t *max_depth)
{
    for (;;) {
        struct snapshot s;
        uint64_t drained, depth;

        take_fresh(g, since_ns, true, &s);
        drained = (now_ns - since_ns) * s.conf.rate;
        depth = s.depth + cost(&s.conf, n_packets, n_bytes);

        /* The last packet finds it deepest. */
        *max_depth = depth - MIN(depth, drained);
        if (*max_depth > MIN(watch, s.conf.burst)) {
            if (still_valid(g, &s)) {
                return false;
            }
        } else if (replace(g, &s, depth)) {
            return true;
        }
    }
}

/* All is read and computed before the first compare-and-swap, as that waits,
 * and what comes after it waits for it. */
enum gcra_answer
gcra_admit_both(struct gcra *first, struct gcra *second, struct gcra_both *b)
{
    struct snapshot f, s;
    uint64_t first_depth;
    struct turns t;

    take_snapshot(second, b->second_ns, &s);
    t = (struct turns) {
        .bytes = b->bytes,
        .depth = s.depth + cost(&s.conf, b->n, b->bytes),
    };
    if (t.depth > s.conf.burst) {
        if (!b->in_turn) {
            return GCRA_NOT_ALL;
        } else if (s.depth > s.conf.burst) {
            return GCRA_UNDECIDED;      /* Perhaps an old time. */
        }
        t = take_turns(&s, b->sizes, b->n);
    }

    take_snapshot(first, b->since_ns, &f);
    first_depth = f.depth + cost(&f.conf, b->n, b->bytes);
    b->max_depth = first_depth - MIN(first_depth, (b->now_ns - b->since_ns)
                                                  * f.conf.rate);
    if (f.age != AGE_FRESH || s.age != AGE_FRESH
        || b->max_depth > MIN(b->watch, f.conf.burst)
        || !replace(first, &f, first_depth)) {
        return GCRA_UNDECIDED;
    }
    if (!(t.depth == s.depth ? still_valid(second, &s)
                             : replace(second, &s, t.depth))) {
        return GCRA_FIRST;
    }
    b->refused = t.refused;
    b->admitted_bytes = t.bytes;
    return GCRA_BOTH;
}

/* However long ago the stamp is, the TAT is less than TAT_HALF after it. */
bool
gcra_get_end(const struct gcra *g, uint64_t now_ns, struct gcra_end *end)
{
    struct snapshot s;

    do {
        take_snapshot(g, now_ns, &s);
    } while (!still_valid(g, &s));
    end->stamp_ns = s.stamp;
    end->work = ((s.word >> 1) - s.stamp * s.conf.rate) & TAT_MASK;
    end->rate = s.conf.rate;
    return !s.depth;
}

/* A queue may have drained more than 2**64 tokens without being empty, but
 * less than 2**62 of them since its stamp. */
bool
gcra_end_since(const struct gcra_end *end, uint64_t start_ns,
               uint64_t *length_ns, uint64_t *bytes)
{
    uint64_t ns = end->stamp_ns + DIV_ROUND_UP(end->work, end->rate)
                  - start_ns;
    uint64_t before = (end->stamp_ns > start_ns
                       ? end->stamp_ns - start_ns : 0);
    uint64_t after = start_ns + before - end->stamp_ns;

    if ((int64_t) ns < 0 || end->work < after * end->rate) {
        return false;
    }
    *length_ns = ns;
    *bytes = (before / GCRA_BYTE * end->rate
              + (before % GCRA_BYTE * end->rate
                 + end->work - after * end->rate) / GCRA_BYTE);
    return true;
}

void
gcra_reconfigure(struct gcra *g, const struct gcra_conf *conf,
                 uint64_t now_ns)
{
    struct snapshot s;
    uint64_t word, depth;

    do {
        /* The new contract may renew stamps more often than the old one.  And
         * other threads may have passed in later times already: so they did if
         * the queue is too deep for 'now_ns'. */
        for (;;) {
            take_fresh(g, now_ns, true, &s);
            if (now_ns > s.stamp) {
                renew(g, &s, s.depth, now_ns);
            } else if (now_ns < s.stamp) {
                now_ns = s.stamp;
            } else if (s.depth <= s.conf.burst) {
                break;
            } else if (still_valid(g, &s)) {
                now_ns += (s.depth - s.conf.burst - 1) / s.conf.rate + 1;
            }
        }

        depth = s.conf.unit == conf->unit ? s.depth : conf->burst;
        depth = MIN(depth, conf->burst);
        slot_write(&g->slots[!(s.word & 1)], conf);
        word = make_word(now_ns * conf->rate + depth, !(s.word & 1));
    } while (!atomic_compare_exchange_strong_explicit(
                 &g->word, &s.word, word,
                 memory_order_acq_rel, memory_order_relaxed));
}

void
gcra_clone(struct gcra *g, const struct gcra *from, uint64_t now_ns)
{
    struct snapshot s;

    do {
        take_snapshot(from, now_ns, &s);
    } while (!still_valid(from, &s));
    gcra_init(g, &s.conf, s.stamp);
    atomic_init(&g->word, make_word(s.word >> 1, 0));
}

bool
gcra_is_behind(const struct gcra *g, uint64_t now_ns)
{
    struct snapshot s;

    take_snapshot(g, now_ns, &s);
    return s.age == AGE_BACK || s.depth > s.conf.burst;
}

uint64_t
gcra_depth(const struct gcra *g, uint64_t now_ns)
{
    struct snapshot s;

    do {
        take_snapshot(g, now_ns, &s);
    } while (!still_valid(g, &s));
    return s.depth;
}
