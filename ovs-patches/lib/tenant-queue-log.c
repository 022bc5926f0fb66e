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
#include "tenant-queue-private.h"

#include <stdlib.h>
#include <string.h>

#include "dp-packet.h"
#include "hash.h"
#include "util.h"

/* The last bits of a run in the log are those of the number of times that it
 * was begun anew, from 1. */
#define LAP_MASK ((UINT64_C(1) << TENANT_LAP_BITS) - 1)

/* A full batch of the largest packets. */
BUILD_ASSERT_DECL(NETDEV_MAX_BURST * 65549 <= TENANT_RUN_BYTES);

struct run {
    uint32_t tag;
    uint32_t bytes;
};

static uint64_t
lap(uint64_t i)
{
    return i / TENANT_LOG + 1;
}

void
tenant_log_add(struct tenant_burst_queue *q, const uint64_t runs[],
               uint32_t n, uint64_t *end)
{
    uint64_t first;

    atomic_add_relaxed(&q->n_runs, (uint64_t) n, &first);
    *end = first + n;
    while (n) {                 /* Once more, if the log begins anew. */
        atomic_uint64_t *words = &q->log[first % TENANT_LOG];
        uint32_t n_here = MIN(n, TENANT_LOG - first % TENANT_LOG);
        uint64_t this_lap = lap(first) & LAP_MASK;

        for (uint32_t i = 0; i < n_here; i++) {
            atomic_store_relaxed(&words[i], runs[i] | this_lap);
        }
        runs += n_here;
        n -= n_here;
        first += n_here;
    }
}

/* Reads run 'i' into '*run'; without bytes, if it is not there yet.  Returns
 * false if another one is there by now. */
static bool
read_run(const struct tenant_burst_queue *q, uint64_t i, struct run *run)
{
    uint64_t word, newer;

    atomic_read_relaxed(&CONST_CAST(struct tenant_burst_queue *, q)
                        ->log[i % TENANT_LOG], &word);
    newer = (word - lap(i)) & LAP_MASK;
    run->tag = word >> 32;
    run->bytes = newer ? 0 : tenant_run_bytes(word);
    return !newer || newer > LAP_MASK / 2;
}

/* What each tenant had in the queue. */
enum { TALLY = 512 };           /* A power of 2. */

struct tally {
    struct tq_share shares[TALLY];      /* Hashed by tag; free if no bytes. */
    uint32_t n;
};

/* Adds 'bytes' of 'tag' to '*t'; returns false if that is full. */
static bool
tally_add(struct tally *t, uint32_t tag, uint64_t bytes)
{
    for (uint32_t i = hash_int(tag, 0);; i++) {
        struct tq_share *share = &t->shares[i % TALLY];

        if (!share->bytes) {
            if (t->n >= TALLY * 3 / 4) {
                return false;
            }
            t->n++;
            share->tag = tag;
        } else if (share->tag != tag) {
            continue;
        }
        share->bytes += bytes;
        return true;
    }
}

static int
compare_shares(const void *a_, const void *b_)
{
    const struct tq_share *a = a_, *b = b_;

    if (a->bytes != b->bytes) {
        return a->bytes > b->bytes ? -1 : 1;
    }
    return a->tag < b->tag ? -1 : a->tag > b->tag;
}

void
tenant_log_tally(const struct tenant_burst_queue *q, uint64_t end,
                 uint64_t depth, struct tq_event *event)
{
    uint64_t oldest = end - MIN(end, TENANT_LOG);
    uint64_t left = depth, other = 0;
    struct tally t;

    memset(&t, 0, sizeof t);
    for (uint64_t i = end; i > oldest && left; i--) {
        struct run run;

        if (!read_run(q, i - 1, &run)) {
            break;              /* Overwritten, and so are older ones. */
        } else if (run.bytes) {
            uint64_t bytes = MIN(left, run.bytes);

            left -= bytes;
            other += tally_add(&t, run.tag, bytes) ? 0 : bytes;
        }
    }

    qsort(t.shares, TALLY, sizeof t.shares[0], compare_shares);
    event->n_tenants = t.n;
    event->unknown_bytes = left;
    event->other_bytes = other;
    for (uint32_t i = 0; i < t.n; i++) {
        if (i < TQ_SHARES) {
            event->shares[i] = t.shares[i];
        } else {
            event->other_bytes += t.shares[i].bytes;
        }
    }
    for (uint32_t i = t.n; i < TQ_SHARES; i++) {
        event->shares[i] = (struct tq_share) { 0, 0 };
    }
}
