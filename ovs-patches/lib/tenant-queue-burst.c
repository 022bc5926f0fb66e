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

#include <string.h>

#include "phantom.h"
#include "util.h"

/* Numbers that several threads write. */

static uint64_t
get(const atomic_uint64_t *number)
{
    uint64_t value;

    atomic_read_relaxed(CONST_CAST(atomic_uint64_t *, number), &value);
    return value;
}

/* Raises '*number' to 'value'.  Returns false if it was that already. */
static bool
raise_to(atomic_uint64_t *number, uint64_t value)
{
    uint64_t before = get(number);

    while (value > before) {
        if (atomic_compare_exchange_weak_relaxed(number, &before, value)) {
            return true;
        }
    }
    return false;
}

/* The same in the file. */

static bool
replace(uint64_t *word, uint64_t *before, uint64_t value)
{
    return __atomic_compare_exchange_n(word, before, value, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static void
raise_word_to(uint64_t *word, uint64_t value)
{
    uint64_t before = tq_get(word);

    while (value > before && !replace(word, &before, value)) {
        continue;
    }
}

static void
add(uint64_t *word, uint64_t n)
{
    __atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

/* Is the burst open that began at 'start_ns'? */
static bool
is_open(const void *q_, uint64_t start_ns)
{
    const struct tenant_burst_queue *q = q_;

    return tq_get(&q->shm->open_ns) == start_ns;
}

/* Configuration. */

void
tenant_burst_queue_init(struct tenant_burst_queue *q, struct tq_port *shm,
                        uint64_t now_ns)
{
    struct gcra_conf conf;

    memset(q, 0, sizeof *q);
    gcra_conf_init(&conf, GCRA_KBPS, 1, UINT64_C(8) * PHANTOM_MAX_DEPTH);
    gcra_init(&q->gcra, &conf, now_ns);
    q->shm = shm;
    ovs_mutex_init(&q->mutex);
}

void
tenant_burst_queue_uninit(struct tenant_burst_queue *q)
{
    ovs_mutex_destroy(&q->mutex);
}

uint64_t
tenant_burst_queue_depth(const struct tenant_burst_queue *q, uint64_t now_ns)
{
    return gcra_depth(&q->gcra, now_ns) / GCRA_BYTE;
}

/* Bursts. */

static unsigned int
bucket(uint64_t value)
{
    return MIN(value ? log_2_floor(value) : 0, TQ_BUCKETS - 1);
}

/* Sets what '*event' says of shares, for the peak of 'depth' bytes before
 * number 'end' of the log. */
static void
find_shares(struct tenant_burst_queue *q, uint64_t end, uint64_t depth,
            struct tq_event *event)
{
    bool kept = false;

    if (!ovs_mutex_trylock(&q->mutex)) {
        kept = q->kept.end == end && q->kept.depth == depth;
        if (kept) {
            *event = q->kept.event;
        }
        ovs_mutex_unlock(&q->mutex);
    }
    if (!kept) {
        tenant_log_tally(q, end, depth, event);
    }
}

/* Keeps the shares of the peak of the burst that opened at 'open_ns', which
 * the log is about to lose. */
static void
keep_shares(struct tenant_burst_queue *q, uint64_t open_ns)
{
    uint64_t end = get(&q->peak_end);
    uint64_t depth = burst_number_get(&q->peak, open_ns);

    if (!ovs_mutex_trylock(&q->mutex)) {
        if (q->kept.end != end || q->kept.depth != depth) {
            tenant_log_tally(q, end, depth, &q->kept.event);
            q->kept.end = end;
            q->kept.depth = depth;
        }
        ovs_mutex_unlock(&q->mutex);
    }
}

/* Writes '*event' over the oldest one.  If that is still being written, or a
 * later one is there already, then this one is not kept. */
static void
record_event(struct tq_port *shm, const struct tq_event *event)
{
    uint64_t n = __atomic_fetch_add(&shm->n_events, 1, __ATOMIC_RELAXED);
    struct tq_event_slot *slot = &shm->events[n % TQ_EVENTS];
    uint64_t sequence = tq_get(&slot->sequence);

    if (sequence & 1 || sequence > 2 * n
        || !replace(&slot->sequence, &sequence, 2 * n + 1)) {
        return;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    tq_put(&slot->event, event, sizeof *event);
    __atomic_store_n(&slot->sequence, 2 * n + 2, __ATOMIC_RELEASE);
}

/* Records the burst from 'start_ns' to '*end', unless another thread did. */
static void
close_burst(struct tenant_burst_queue *q, uint64_t start_ns,
            const struct gcra_end *end)
{
    uint64_t peak_ns = get(&q->peak_ns), peak_end = get(&q->peak_end);
    struct tq_event event = {
        .start_ns = start_ns,
        .rise_ns = peak_ns - MIN(peak_ns, start_ns),
        .peak_depth = burst_number_get(&q->peak, start_ns),
        .gap_ns = burst_number_get(&q->burst_gap_ns, start_ns),
    };
    struct tq_event shares = { .n_tenants = 0 };

    if (!gcra_end_since(end, start_ns, &event.length_ns, &event.bytes)) {
        return;                 /* A burst that opened after this moment. */
    }
    if (!replace(&q->shm->open_ns, &start_ns, 0)) {
        return;
    }
    find_shares(q, peak_end, event.peak_depth, &shares);
    event.n_tenants = shares.n_tenants;
    event.other_bytes = shares.other_bytes;
    event.unknown_bytes = shares.unknown_bytes;
    memcpy(event.shares, shares.shares, sizeof event.shares);

    add(&q->shm->n_bursts, 1);
    add(&q->shm->burst_bytes, event.bytes);
    add(&q->shm->lengths[bucket(event.length_ns)], 1);
    add(&q->shm->depths[bucket(event.peak_depth)], 1);
    record_event(q->shm, &event);
}

void
tenant_burst_queue_observe(struct tenant_burst_queue *q, uint64_t now_ns)
{
    uint64_t open_ns = tq_get(&q->shm->open_ns);
    struct gcra_end end;

    if (OVS_UNLIKELY(open_ns) && gcra_get_end(&q->gcra, now_ns, &end)) {
        close_burst(q, open_ns, &end);
    }
}

void
tenant_burst_queue_reconfigure(struct tenant_burst_queue *q, uint32_t rate,
                               uint32_t threshold, uint64_t now_ns)
{
    uint64_t open_ns = tq_get(&q->shm->open_ns);
    struct gcra_conf conf;

    if (open_ns) {
        struct gcra_end end;

        if (!gcra_get_end(&q->gcra, now_ns, &end)) {
            end.work = (now_ns - end.stamp_ns) * end.rate;
        }
        close_burst(q, open_ns, &end);
    }
    if (rate) {
        gcra_conf_init(&conf, GCRA_KBPS, rate,
                       UINT64_C(8) * PHANTOM_MAX_DEPTH);
        gcra_reconfigure(&q->gcra, &conf, now_ns);
    }
    atomic_store_relaxed(&q->threshold, threshold * GCRA_BYTE);
    atomic_store_relaxed(&q->rate, rate);
    tq_set(&q->shm->empty_ns, now_ns);
}

/* Raises the greatest depth of the period of 'now_ns' to 'bytes'. */
static void
note_period(struct tq_port *shm, uint64_t now_ns, uint64_t bytes)
{
    uint64_t period = now_ns / TQ_PERIOD_NS;
    uint64_t *word = &shm->periods[period % TQ_PERIODS];
    uint64_t value = period << 32 | MIN(bytes, UINT32_MAX);

    raise_word_to(word, value);
}

/* Returns when the burst that is open at 'now_ns' began, 0 if there is none.
 * Opens one if 'depth', in tokens, is above the threshold. */
static uint64_t
get_open(struct tenant_burst_queue *q, uint64_t depth, uint64_t now_ns)
{
    uint64_t open_ns = tq_get(&q->shm->open_ns);

    if (!open_ns && depth > get(&q->threshold)
        && replace(&q->shm->open_ns, &open_ns, now_ns)) {
        open_ns = now_ns;
    }
    return open_ns;
}

/* Takes note of how deep the queue was, and when.  'end' is where the log
 * ended then. */
static void
note_depth(struct tenant_burst_queue *q, uint64_t depth, uint64_t now_ns,
           uint64_t gap_ns, uint64_t end)
{
    uint64_t open_ns = get_open(q, depth, now_ns);
    uint64_t bytes = depth / GCRA_BYTE;
    struct tq_port *shm = q->shm;

    if (open_ns) {
        if (burst_number_raise(&q->peak, open_ns, bytes, is_open, q)) {
            atomic_store_relaxed(&q->peak_ns, now_ns);
            atomic_store_relaxed(&q->peak_end, end);
        } else if (end - get(&q->peak_end) > TENANT_LOG / 2) {
            keep_shares(q, open_ns);
        }
        burst_number_raise(&q->burst_gap_ns, open_ns, gap_ns, is_open, q);
    }
    raise_to(&q->recent, bytes);
    raise_word_to(&shm->watermark, bytes);
    raise_word_to(&shm->gap_ns, gap_ns);
    note_period(shm, now_ns, bytes);
}

void
tenant_burst_queue_add(struct tenant_burst_queue *q,
                       const uint64_t runs[], uint32_t n,
                       uint32_t n_packets, uint32_t bytes,
                       uint64_t since_ns, uint64_t now_ns)
{
    uint64_t gap_ns = now_ns - MIN(since_ns, now_ns);
    uint64_t depth, end;
    uint32_t rate;

    atomic_read_relaxed(&q->rate, &rate);
    if (!rate) {
        return;
    }
    since_ns = now_ns - MIN(gap_ns, GCRA_MAX_SPREAD_NS);
    tenant_burst_queue_observe(q, since_ns);
    tenant_log_add(q, runs, n, &end);
    if (!gcra_admit_below(&q->gcra, since_ns, now_ns, n_packets, bytes,
                          UINT64_MAX, &depth)) {
        depth = gcra_depth(&q->gcra, now_ns);   /* It is full. */
    }
    note_depth(q, depth, now_ns, gap_ns, end);
    if (depth) {
        raise_word_to(&q->shm->empty_ns, now_ns + DIV_ROUND_UP(depth, rate));
    }
}
