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

#ifndef DP_COUNTER_H
#define DP_COUNTER_H 1

/* Counters of packets and bytes that several threads write.  A packet's two
 * additions are not one: a reader may see the first without the second. */

#include <stdint.h>

#include "ovs-atomic.h"
#include "util.h"

struct dp_counter {
    atomic_uint64_t packets;
    atomic_uint64_t bytes;
};

static inline void
count(struct dp_counter *c, uint64_t packets, uint64_t bytes)
{
    uint64_t orig;

    atomic_add_relaxed(&c->packets, packets, &orig);
    atomic_add_relaxed(&c->bytes, bytes, &orig);
}

static inline void
read_counter(const struct dp_counter *c_, uint64_t *packets, uint64_t *bytes)
{
    struct dp_counter *c = CONST_CAST(struct dp_counter *, c_);

    atomic_read_relaxed(&c->packets, packets);
    atomic_read_relaxed(&c->bytes, bytes);
}

/* Adds what 'from' has counted. */
static inline void
add_counter(struct dp_counter *c, const struct dp_counter *from)
{
    uint64_t packets, bytes;

    read_counter(from, &packets, &bytes);
    count(c, packets, bytes);
}

/* The sum of 'sizes[]' over bitmap 'map'. */
static inline uint32_t
sum_map(uint32_t map, const uint32_t sizes[])
{
    uint32_t sum = 0;

    for (; map; map >>= 1) {
        sum += *sizes++ & -(map & 1);
    }
    return sum;
}

/* Counts the packets in bitmap 'map', of 'sizes[]' bytes. */
static inline void
count_map(struct dp_counter *c, uint32_t map, const uint32_t sizes[])
{
    if (map) {
        count(c, count_1bits(map), sum_map(map, sizes));
    }
}

/* Removes the bits in 'out', and moves the others down. */
static inline uint32_t
squeeze(uint32_t map, uint32_t out)
{
    uint32_t result = 0, n = 0;

    for (uint32_t left = ~out; left; left = zero_rightmost_1bit(left)) {
        result |= (map >> raw_ctz(left) & 1) << n++;
    }
    return result;
}

/* A counter that one thread, its owner, writes without a locked instruction,
 * and the others as any. */
struct dp_owned_counter {
    struct dp_counter own;
    struct dp_counter others;
};

/* 'owner' says whether the caller is the owner. */
static inline void
count_owned(struct dp_owned_counter *c, bool owner,
            uint64_t packets, uint64_t bytes)
{
    if (OVS_LIKELY(owner)) {
        uint64_t own_packets, own_bytes;

        read_counter(&c->own, &own_packets, &own_bytes);
        atomic_store_relaxed(&c->own.packets, own_packets + packets);
        atomic_store_relaxed(&c->own.bytes, own_bytes + bytes);
    } else {
        count(&c->others, packets, bytes);
    }
}

static inline void
read_owned_counter(const struct dp_owned_counter *c,
                   uint64_t *packets, uint64_t *bytes)
{
    uint64_t own_packets, own_bytes;

    read_counter(&c->own, &own_packets, &own_bytes);
    read_counter(&c->others, packets, bytes);
    *packets += own_packets;
    *bytes += own_bytes;
}

/* Adds what 'from' has counted, as others do. */
static inline void
add_owned_counter(struct dp_owned_counter *c,
                  const struct dp_owned_counter *from)
{
    uint64_t packets, bytes;

    read_owned_counter(from, &packets, &bytes);
    count(&c->others, packets, bytes);
}

#endif /* dp-counter.h */
