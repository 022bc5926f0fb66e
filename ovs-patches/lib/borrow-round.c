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
#include "borrow-private.h"

/* A round that nobody has closed for this many times its length is not
 * continued: nobody has borrowed since. */
#define MAX_ROUNDS 100

/* Feedback, in 1/1024: how much more than what seems spare is served when the
 * queue is below its target, and the idle share of a round from which on the
 * borrowers are served faster. */
#define MAX_BOOST 1229          /* 1.2 */
#define IDLE_SHARE 102          /* 0.1 */

/* Rounds in which it empties a queue, and that of a pool below another one at
 * least. */
#define FEEDBACK_ROUNDS 20
#define BELOW_ROUNDS 4

/* Virtual time goes on for this many rounds at most by itself. */
#define MAX_ALONE 2

/* Virtual time of this, or less, fits into 63 bits with BORROW_SPEED_SCALE in
 * MAX_ALONE rounds. */
#define MAX_NEXT (UINT64_C(1) << 50)

/* The target is this part of the limit of a queue.  In another part below the
 * limit less and less is served, and at the limit nothing. */
#define TARGET_PART 6
#define CUT_PART 3

/* Rounds that 'shares' of a pool remembers, and what part of its own rate the
 * pool above has to have for it, so that its queue is to be full. */
#define SHARE_ROUNDS 8
#define SHARE_PART 64

/* For the thread that closes a round. */
static void
set_round(struct borrow_pool *p, const struct borrow_now *r)
{
    uint32_t version;
    struct borrow_round *to;

    atomic_read_relaxed(&p->version, &version);
    to = &p->rounds[++version & 1];
    atomic_thread_fence(memory_order_release);
    atomic_store_relaxed(&to->start_ns, r->start_ns);
    atomic_store_relaxed(&to->virtual, r->virtual);
    atomic_store_relaxed(&to->speed, r->speed);
    atomic_store_relaxed(&to->alone_ns, r->alone_ns);
    atomic_store_explicit(&p->version, version, memory_order_release);
}

/* Members that have borrowed. */

static bool
has_borrowers(const struct borrow_pool *p)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(p->borrowers); i++) {
        if (borrow_get(&p->borrowers[i])) {
            return true;
        }
    }
    return false;
}

/* Sets '*c' to what 'm' claims.  If that is nothing, forgets the tag, which
 * virtual time could go round until it is used again, and returns false.
 *
 * The bit of 'm' was cleared before, and a member sets it after its tag, so
 * the tag is read by an atomic addition: whoever sets it later than that sees
 * the bit cleared. */
static bool
get_claim(struct borrow_member *m, uint64_t virtual, struct borrow_claim *c)
{
    uint32_t weight = borrow_get32(&m->weight);
    const struct borrow_pool *below;
    uint64_t tag;

    atomic_add(&m->tag, UINT64_C(0), &tag);
    while (tag && !borrow_is_ahead(tag, virtual)) {
        if (atomic_compare_exchange_strong(&m->tag, &tag, 0)) {
            tag = 0;
        }
    }
    *c = (struct borrow_claim) {
        .member = m,
        .ahead = tag ? borrow_fit(tag - virtual, weight) : 0,
        .weight = weight,
    };
    below = borrow_get_below(m);
    return tag || (below && has_borrowers(below));
}

/* Gathers the claims of all members that have any.  Returns their number. */
static size_t
gather_claims(struct borrow_pool *p, uint64_t virtual)
{
    size_t n = 0;

    for (uint32_t i = 0; i < ARRAY_SIZE(p->borrowers); i++) {
        uint64_t bits = 0, kept = 0;

        if (borrow_get(&p->borrowers[i])) {
            atomic_and(&p->borrowers[i], UINT64_C(0), &bits);
        }
        for (; bits; bits = zero_rightmost_1bit(bits)) {
            uint32_t index = i * 64 + raw_ctz(bits);
            struct borrow_member *m = borrow_get_member(p, index);

            if (m && get_claim(m, virtual, &p->claims[n])) {
                kept |= rightmost_1bit(bits);
                n++;
            }
        }
        if (kept) {
            atomic_or(&p->borrowers[i], kept, &bits);
        }
    }
    return n;
}

/* Bytes that the claims come to. */
static uint64_t
sum_claims(const struct borrow_pool *p, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += p->claims[i].ahead * p->claims[i].weight >> BORROW_SCALE;
    }
    return sum;
}

/* Virtual time in which 'n' claims are served 'bytes', which is less than all
 * that they come to.
 *
 * Newton's method from zero: each step takes only those for done that are,
 * so it ends. */
static uint64_t
serve_claims(const struct borrow_pool *p, size_t n, uint64_t bytes)
{
    uint64_t served = 0, before;

    do {
        uint64_t left = bytes << BORROW_SCALE, weight = 0;

        before = served;
        for (size_t i = 0; i < n; i++) {
            const struct borrow_claim *c = &p->claims[i];

            if (c->ahead <= before) {
                left -= MIN(left, c->ahead * c->weight);
            } else {
                weight += c->weight;
            }
        }
        served = weight ? MAX(left / weight, before) : before;
    } while (served > before);
    return served;
}

/* Closing a round. */

/* A round may last minutes, as it does at 1 kbps, and a pool below may have
 * 4 Tbps: then it has what fits, 2 TB. */
static uint64_t
bytes_in(uint32_t rate, uint64_t ns)
{
    return MIN(ns, UINT64_MAX / rate) * rate / GCRA_BYTE;
}

static uint64_t
depth_of(const struct borrow_pool *p, uint64_t now_ns)
{
    return gcra_depth(&p->queue, now_ns) / GCRA_BYTE;
}

/* What a round is closed with: what there was to serve its members with, and
 * how deep what it fills is. */
struct supply {
    uint64_t ns;                /* Length of the round... */
    uint64_t round_ns;          /* ...and what it should be. */
    uint64_t bytes;             /* At the pool's own rate... */
    uint64_t owed;              /* ...less what is paid of these first. */
    uint64_t share;             /* And those of the pool above. */
    uint64_t depth, target;     /* The depth and what it is kept near. */
    uint64_t room;              /* Above the target: too much. */
    int64_t most;               /* The feedback at most. */
    uint32_t idle;              /* In 1/1024: what nobody used. */
};

/* What is spare for claims of so much.  They may be of members that have
 * stopped: then the link would be idle until all of that is served. */
static uint64_t
spare_of(const struct supply *s, uint64_t claimed)
{
    uint64_t spare = s->bytes - MIN(s->bytes, s->owed) + s->share;
    int64_t boost = 1024 - ((int64_t) (s->depth - s->target) * 1024
                            / (int64_t) s->room);

    spare = spare * MIN(MAX(boost, 0), s->most) >> 10;
    if (s->idle > IDLE_SHARE && claimed > spare) {
        spare += claimed * (s->idle - IDLE_SHARE) / (1024 - IDLE_SHARE);
    }
    return spare;
}

static uint64_t
target_of(uint64_t limit)
{
    return limit / TARGET_PART;
}

static uint64_t
blend(uint64_t a, uint64_t b, uint64_t share)
{
    return (a * (1024 - share) + b * share) >> 10;
}

/* What became of a round, for the pools below. */
struct outcome {
    uint64_t now_ns;
    uint64_t ns, round_ns;      /* As of struct supply. */
    uint64_t served;            /* Virtual time. */
    uint64_t bytes;             /* That there were, owed ones included... */
    uint64_t spare;             /* ...and that were not owed. */
    bool enough;                /* Nobody wanted more? */
};

/* What there is for pool 'below', whose claim was 'c': its own rate, and its
 * share of the pool above.
 *
 * It borrows only when its own queue is full.  So if there is something to be
 * borrowed, the target is a full queue and to be ahead by a part of the reach.
 * If there is nothing, the target is that of any queue: at its limit, who
 * comes first would get all, and borrowing in vain must not look idle. */
static struct supply
supply_below(struct borrow_pool *below, const struct borrow_claim *c,
             const struct outcome *o)
{
    uint64_t own = bytes_in(borrow_get32(&below->rate), o->ns);
    uint64_t share = (o->enough ? MIN(o->spare, o->bytes - MIN(o->bytes, own))
                      : o->served * c->weight >> BORROW_SCALE);
    uint64_t limit = borrow_get(&below->limit) / GCRA_BYTE;
    uint64_t reach = borrow_get(&c->member->reach) >> BORROW_SCALE;
    uint64_t claim = c->ahead * c->weight >> BORROW_SCALE;
    uint64_t ahead = c->ahead - MIN(c->ahead, o->served);
    uint64_t lent;              /* In 1/1024: is there something? */

    below->shares += share - below->shares / SHARE_ROUNDS;
    lent = MIN(below->shares * (SHARE_PART / SHARE_ROUNDS) * 1024
               / MAX(own, 1), 1024);
    return (struct supply) {
        .ns = o->ns,
        .round_ns = o->round_ns,
        .bytes = own,
        .share = share,
        .depth = (MIN(depth_of(below, o->now_ns), limit)
                  + (ahead * c->weight >> BORROW_SCALE)),
        .target = blend(target_of(limit), limit + reach / 2, lent),
        .room = 1 + blend(
            MAX(limit - target_of(limit), BELOW_ROUNDS * own),
            MAX(limit + reach, 2 * BELOW_ROUNDS * (own + share)), lent),
        .most = MAX_BOOST,
        .idle = (share - MIN(share, claim)) * 1024 / MAX(own + share, 1),
    };
}

static void close_round_below(struct borrow_pool *,
                              const struct borrow_claim *,
                              const struct outcome *);

/* Closes the rounds of those members that are pools. */
static void
close_rounds_below(struct borrow_pool *p, size_t n, const struct outcome *o)
{
    for (size_t i = 0; i < n; i++) {
        const struct borrow_claim *c = &p->claims[i];
        struct borrow_pool *below = borrow_get_below(c->member);

        if (below) {
            close_round_below(below, c, o);
        }
    }
}

/* Serves 'n' claims of so much with the spare bytes of '*o'.  Returns virtual
 * time for the next round, in which as many bytes are served if they are
 * claimed by the same members, and what is left by the one that is the
 * furthest ahead. */
static uint64_t
serve_round(const struct borrow_pool *p, size_t n, uint64_t claimed,
            struct outcome *o)
{
    uint32_t weight = 1;

    o->enough = o->spare >= claimed;
    if (!o->enough) {
        return o->served = serve_claims(p, n, o->spare);
    }
    for (size_t i = 0; i < n; i++) {
        if (p->claims[i].ahead >= o->served) {
            o->served = p->claims[i].ahead;
            weight = p->claims[i].weight;
        }
    }
    return o->served + ((o->spare - claimed) << BORROW_SCALE) / weight;
}

static void
close_round_with(struct borrow_pool *p, struct borrow_now *r, uint64_t now_ns,
                 const struct supply *s)
{
    size_t n = gather_claims(p, r->virtual);
    uint64_t claimed = sum_claims(p, n);
    struct outcome o = {
        .now_ns = now_ns, .ns = s->ns, .round_ns = s->round_ns,
        .bytes = s->bytes + s->share, .spare = spare_of(s, claimed),
    };
    uint64_t next = serve_round(p, n, claimed, &o);

    r->start_ns = now_ns;
    r->virtual += o.served;
    r->speed = (MIN(next, MAX_NEXT) << BORROW_SPEED_SCALE) / s->ns;
    r->alone_ns = MAX_ALONE * s->round_ns;
    set_round(p, r);
    close_rounds_below(p, n, &o);
}

/* Closes the round of 'p' with what supply_below() says.  If more is owed than
 * there is, 'p' remembers it; the queue of a pool that is in no other does so
 * by itself. */
static void
close_round_below(struct borrow_pool *p, const struct borrow_claim *c,
                  const struct outcome *o)
{
    uint64_t green, limit = borrow_get(&p->limit) / GCRA_BYTE;
    struct borrow_now r;
    struct supply s;

    /* One that changes from pool to pool may be below two for a moment. */
    if (atomic_flag_test_and_set_explicit(&p->closing,
                                          memory_order_acquire)) {
        return;
    }
    r = borrow_get_round(p);
    if (o->now_ns <= r.start_ns) {
        goto out;               /* The other has closed this round. */
    }
    green = borrow_get(&p->green);
    if (o->now_ns - r.start_ns > 2 * o->ns) {
        /* Nobody borrowed before. */
        p->last_green = green;
        p->debt = p->shares = 0;
    }
    s = supply_below(p, c, o);
    s.owed = green - p->last_green + p->debt;
    p->debt = MIN(s.owed - MIN(s.owed, s.bytes), limit);
    p->last_green = green;
    close_round_with(p, &r, o->now_ns, &s);

out:
    atomic_flag_clear_explicit(&p->closing, memory_order_release);
}

/* Closes the round of 'p', which is in no other pool, as round 'r' is over. */
static void
close_top_round(struct borrow_pool *p, struct borrow_now *r, uint64_t now_ns)
{
    uint64_t round_ns = borrow_get(&p->round_ns);
    uint64_t depth = depth_of(p, now_ns);
    uint64_t green = borrow_get(&p->green);
    uint64_t other = borrow_get(&p->other), used;
    uint64_t limit = borrow_get(&p->limit) / GCRA_BYTE;
    uint32_t rate = borrow_get32(&p->rate);
    struct supply s = {
        .ns = now_ns - r->start_ns,
        .round_ns = round_ns,
        .depth = depth,
        .target = target_of(limit),
        .room = 1 + bytes_in(rate, FEEDBACK_ROUNDS * round_ns),
        .most = MIN((limit - MIN(limit, depth)) * 1024
                    / MAX(limit / CUT_PART, 1), MAX_BOOST),
    };

    if (s.ns > MAX_ROUNDS * round_ns) {
        s.ns = round_ns;
        p->last_green = green;
        p->last_other = other;
        p->last_depth = depth;
    }
    /* While the pool is reconfigured, the rate may be less than goes with the
     * length of the round. */
    s.bytes = MAX(bytes_in(rate, s.ns), 1);
    used = p->last_depth + green - p->last_green + other - p->last_other;
    used -= MIN(used, depth);
    s.idle = 1024 - MIN(used * 1024 / s.bytes, 1024);
    s.owed = green - p->last_green;
    p->last_green = green;
    p->last_depth = depth;
    p->last_other = other;
    close_round_with(p, r, now_ns, &s);
}

void
borrow_close_round(struct borrow_pool *p, uint64_t now_ns)
{
    uint64_t round_ns = borrow_get(&p->round_ns);
    struct borrow_now r = borrow_get_round(p);

    if (now_ns >= r.start_ns + round_ns
        && !atomic_flag_test_and_set_explicit(&p->closing,
                                              memory_order_acquire)) {
        r = borrow_get_round(p);
        if (now_ns >= r.start_ns + round_ns) {
            close_top_round(p, &r, now_ns);
        }
        atomic_flag_clear_explicit(&p->closing, memory_order_release);
    }
}
