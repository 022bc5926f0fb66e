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

#include "hash.h"
#include "util.h"

void
tenant_log_add(struct tenant_burst_queue *q, const struct tenant_run runs[],
               uint32_t n, uint64_t *end)
{
    uint64_t first;

    atomic_add_relaxed(&q->n_runs, (uint64_t) n, &first);
    for (uint32_t i = 0; i < n; i++) {
        struct tenant_log_slot *slot = &q->log[(first + i) % TENANT_LOG];

        atomic_store_relaxed(&slot->sequence, UINT64_C(0));
        atomic_thread_fence(memory_order_release);
        atomic_store_relaxed(&slot->run,
                             (uint64_t) runs[i].tag << 32 | runs[i].bytes);
        atomic_store_explicit(&slot->sequence, first + i + 1,
                              memory_order_release);
    }
    *end = first + n;
}

/* Reads run 'i' into '*run'.  Returns its number plus 1, or that of another
 * one if it is not there anymore, or 0 if it is not there yet. */
static uint64_t
read_run(const struct tenant_burst_queue *q_, uint64_t i,
         struct tenant_run *run)
{
    struct tenant_burst_queue *q = CONST_CAST(struct tenant_burst_queue *,
                                              q_);
    struct tenant_log_slot *slot = &q->log[i % TENANT_LOG];
    uint64_t sequence, again, word;

    atomic_read_explicit(&slot->sequence, &sequence, memory_order_acquire);
    atomic_read_relaxed(&slot->run, &word);
    atomic_thread_fence(memory_order_acquire);
    atomic_read_relaxed(&slot->sequence, &again);
    run->tag = word >> 32;
    run->bytes = word;
    return sequence == again ? sequence : 0;
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
        struct tenant_run run;
        uint64_t found = read_run(q, i - 1, &run);

        if (found > i) {
            break;              /* Overwritten, and so are older ones. */
        } else if (found == i && run.bytes) {
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
