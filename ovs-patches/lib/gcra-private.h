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

#ifndef GCRA_PRIVATE_H
#define GCRA_PRIVATE_H 1

/* How a GCRA is read and replaced, for gcra.c alone. */

#include "gcra.h"
#include "openvswitch/compiler.h"
#include "util.h"

/* Tokens in a bit, a byte and a packet. */
#define TOKENS_PER_BIT    UINT64_C(1000000)
#define TOKENS_PER_PACKET UINT64_C(1000000000)

/* TATs are kept modulo 2**63. */
#define TAT_MASK (UINT64_MAX >> 1)
#define TAT_HALF (UINT64_C(1) << 62)

/* Age of a stamp, in tokens, at which it is renewed.  A stamp that is older
 * than RENEW + GCRA_MAX_BURST = 3 * RENEW belongs to an empty queue, because
 * nothing is admitted above the age of RENEW.  Below that, and if the clock
 * did not step back by RENEW, the TAT is within TAT_HALF = 4 * RENEW of
 * now. */
#define RENEW (UINT64_C(1) << 60)

/* One reading of a GCRA. */
struct snapshot {
    uint64_t word;
    uint64_t stamp;
    struct gcra_conf conf;
    uint64_t renew_ns;
    uint64_t now;               /* In tokens, modulo 2**64. */
    uint64_t depth;             /* In tokens, if 'age' is AGE_FRESH. */
    enum {
        AGE_FRESH,              /* 'depth' is valid. */
        AGE_RENEW,              /* The same, but the stamp is to be renewed. */
        AGE_STALE,              /* The queue is empty, as 'depth' says. */
        AGE_BACK,               /* Too old a time: nothing conforms. */
    } age;
};

static inline uint64_t
make_word(uint64_t tat, unsigned int slot)
{
    return tat << 1 | slot;
}

static inline uint64_t
tat_to_depth(uint64_t tat, uint64_t now)
{
    uint64_t depth = (tat - now) & TAT_MASK;

    return depth < TAT_HALF ? depth : 0;
}

/* Reads '*g' into '*s'.  What is computed from it is valid if 'word' is still
 * there when it is replaced, or read again.  (That the same word came back
 * meanwhile does no harm, unless it did so by a wrap-around to the very token,
 * or by two reconfigurations, to another unit, in one ns.) */
static inline void
take_snapshot(const struct gcra *g_, uint64_t now_ns, struct snapshot *s)
{
    struct gcra *g = CONST_CAST(struct gcra *, g_);
    struct gcra_slot *slot;
    uint32_t unit;
    int64_t age;

    /* The stamp must not be older than the word: see renew(). */
    atomic_read_explicit(&g->word, &s->word, memory_order_acquire);
    atomic_read_relaxed(&g->stamp, &s->stamp);

    slot = &g->slots[s->word & 1];
    atomic_read_relaxed(&slot->unit, &unit);
    atomic_read_relaxed(&slot->rate, &s->conf.rate);
    atomic_read_relaxed(&slot->burst, &s->conf.burst);
    atomic_read_relaxed(&slot->renew_ns, &s->renew_ns);
    s->conf.unit = unit;

    s->now = now_ns * s->conf.rate;
    s->depth = tat_to_depth(s->word >> 1, s->now);

    /* From -renew_ns, but not that, to renew_ns. */
    age = now_ns - s->stamp;
    if (OVS_LIKELY(age + s->renew_ns - 1 < 2 * s->renew_ns)) {
        s->age = AGE_FRESH;
    } else if (age < 0) {
        s->age = AGE_BACK;
        s->depth = TAT_HALF;
    } else if (age <= (int64_t) (3 * s->renew_ns + 1)) {
        s->age = AGE_RENEW;
    } else {
        s->age = AGE_STALE;
        s->depth = 0;
    }
}

/* Tries to replace what '*s' was read from by a queue of 'depth'. */
static inline bool
replace(struct gcra *g, const struct snapshot *s, uint64_t depth)
{
    uint64_t word = s->word;

    return atomic_compare_exchange_strong_explicit(
        &g->word, &word, make_word(s->now + depth, s->word & 1),
        memory_order_acq_rel, memory_order_relaxed);
}

/* Returns true if nobody has changed '*g' since '*s' was read. */
static inline bool
still_valid(const struct gcra *g_, const struct snapshot *s)
{
    struct gcra *g = CONST_CAST(struct gcra *, g_);
    uint64_t word;

    atomic_thread_fence(memory_order_acquire);
    atomic_read_relaxed(&g->word, &word);
    return word == s->word;
}

#endif /* gcra-private.h */
