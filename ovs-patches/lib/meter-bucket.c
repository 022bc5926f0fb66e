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
#include "meter-bucket.h"

/* Tokens in a kbit (1000 bits of 1e6 tokens), a byte and a packet. */
#define TOKENS_PER_KBIT   UINT64_C(1000000000)
#define TOKENS_PER_BYTE   UINT64_C(8000000)
#define TOKENS_PER_PACKET UINT64_C(1000000000)

void
meter_bucket_init(struct meter_bucket *b, enum meter_bucket_unit unit,
                  uint32_t rate, uint32_t size, uint64_t now_ns)
{
    bool pktps = unit == METER_BUCKET_PKTPS;

    b->rate = rate;
    b->max = size * (pktps ? TOKENS_PER_PACKET : TOKENS_PER_KBIT);
    b->tokens = b->max;
    b->used_ns = now_ns;
    b->fill_ns = rate ? b->max / rate : UINT64_MAX;
    b->packet_cost = pktps ? TOKENS_PER_PACKET : 0;
    b->byte_cost = pktps ? 0 : TOKENS_PER_BYTE;
}

void
meter_bucket_refill(struct meter_bucket *b, uint64_t now_ns)
{
    uint64_t idle_ns, missing, gained;

    if (now_ns <= b->used_ns) {
        /* Another thread with a later reading of the clock came first.  It
         * has credited this time already. */
        return;
    }
    idle_ns = now_ns - b->used_ns;
    b->used_ns = now_ns;

    if (idle_ns > b->fill_ns) {
        b->tokens = b->max;
        return;
    }

    /* At most 'max', because idle_ns <= max / rate. */
    gained = idle_ns * b->rate;
    missing = b->max - b->tokens;
    b->tokens += gained < missing ? gained : missing;
}

bool
meter_bucket_take(struct meter_bucket *b, uint32_t packets, uint32_t bytes)
{
    uint64_t cost = packets * b->packet_cost + bytes * b->byte_cost;

    if (cost > b->tokens) {
        return false;
    }
    b->tokens -= cost;
    return true;
}
