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

#ifndef BORROW_PRIVATE_H
#define BORROW_PRIVATE_H 1

/* What borrow.c, which is about packets, and borrow-round.c, which is about
 * time, share. */

#include "borrow.h"
#include "openvswitch/compiler.h"
#include "util.h"

/* Units
 * -----
 *
 * Virtual time counts what is served to a weight of 1, in 2**-20 bytes, modulo
 * 2**64.  So a weight times a difference of tags is bytes in the same unit.
 * Tags of borrowers are less than 2**53 ahead of virtual time: a reach is at
 * most 4 GiB.  The speed of virtual time has 12 more bits. */
#define BORROW_SCALE 20
#define BORROW_SPEED_SCALE 12
#define BORROW_MAX_AHEAD (UINT64_C(1) << 53)

/* What of 'ahead', a difference of tags, fits into 63 bits with 'weight': all
 * of BORROW_MAX_CLAIM does with any.  A tag that is too far ahead is so for a
 * moment, as its weight changes or virtual time slows down. */
#define BORROW_MAX_CLAIM (UINT64_C(1) << 47)

static inline uint64_t
borrow_fit(uint64_t ahead, uint32_t weight)
{
    return (OVS_UNLIKELY(ahead > BORROW_MAX_CLAIM)
            ? MIN(ahead, UINT64_MAX / 2 / weight) : ahead);
}

static inline uint64_t
borrow_get(const atomic_uint64_t *number)
{
    uint64_t value;

    atomic_read_relaxed(CONST_CAST(atomic_uint64_t *, number), &value);
    return value;
}

static inline uint32_t
borrow_get32(const atomic_uint32_t *number)
{
    uint32_t value;

    atomic_read_relaxed(CONST_CAST(atomic_uint32_t *, number), &value);
    return value;
}

static inline struct borrow_pool *
borrow_get_below(struct borrow_member *m)
{
    struct borrow_pool *below;

    atomic_read_explicit(&m->below, &below, memory_order_acquire);
    return below;
}

static inline struct borrow_member *
borrow_get_self(const struct borrow_pool *p)
{
    struct borrow_member *self;

    atomic_read_explicit(&CONST_CAST(struct borrow_pool *, p)->self, &self,
                         memory_order_acquire);
    return self;
}

static inline struct borrow_member *
borrow_get_member(const struct borrow_pool *p, uint32_t index)
{
    struct borrow_member *m;

    atomic_read_explicit(&CONST_CAST(struct borrow_pool *, p)->members[index],
                         &m, memory_order_acquire);
    return m;
}

/* Is 'tag', which is 0 if there is none, ahead of 'virtual'? */
static inline bool
borrow_is_ahead(uint64_t tag, uint64_t virtual)
{
    return tag && tag - virtual - 1 < BORROW_MAX_AHEAD;
}

/* Notes that a member may have a tag. */
static inline void
borrow_set(struct borrow_pool *p, uint32_t index)
{
    atomic_uint64_t *word = &p->borrowers[index / 64];
    uint64_t bit = UINT64_C(1) << index % 64, before;

    if (!(borrow_get(word) & bit)) {
        atomic_or(word, bit, &before);
    }
}

/* A copy of the round in force. */
struct borrow_now {
    uint64_t start_ns, virtual, speed, alone_ns;
};

static inline struct borrow_now
borrow_get_round(const struct borrow_pool *p)
{
    atomic_uint32_t *version = CONST_CAST(atomic_uint32_t *, &p->version);
    uint32_t before, after;
    struct borrow_now r;

    do {
        const struct borrow_round *from;

        atomic_read_explicit(version, &before, memory_order_acquire);
        from = &p->rounds[before & 1];
        r = (struct borrow_now) {
            borrow_get(&from->start_ns), borrow_get(&from->virtual),
            borrow_get(&from->speed), borrow_get(&from->alone_ns),
        };
        atomic_thread_fence(memory_order_acquire);
        atomic_read_relaxed(version, &after);
    } while (before != after);
    return r;
}

/* Closes the round of 'p', which is in no other pool, if it is over and nobody
 * else does, and the rounds of all pools below it. */
void borrow_close_round(struct borrow_pool *p, uint64_t now_ns);

#endif /* borrow-private.h */
