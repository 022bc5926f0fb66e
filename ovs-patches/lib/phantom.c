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
#include "phantom.h"

#include <errno.h>
#include <string.h>

#include "openvswitch/compiler.h"
#include "util.h"

/* Configuration. */

static uint64_t
threshold(uint32_t bytes)
{
    return bytes ? bytes * GCRA_BYTE : UINT64_MAX;
}

int
phantom_conf_init(struct phantom_conf *conf, uint64_t rate,
                  uint64_t peak_rate, uint32_t mark, uint32_t depth,
                  uint32_t limit, uint32_t tag)
{
    if (peak_rate < rate) {
        return EDOM;
    } else if (limit && (mark > limit || depth > limit)) {
        return ERANGE;
    }
    conf->cap = limit != 0;
    conf->mark = threshold(mark);
    conf->depth = threshold(depth);
    conf->tag = tag;
    return gcra_conf_init(&conf->queue, GCRA_KBPS, peak_rate,
                          UINT64_C(8) * (limit ? limit : PHANTOM_MAX_DEPTH));
}

static void
set_thresholds(struct phantom *p, const struct phantom_conf *conf)
{
    atomic_store_relaxed(&p->mark, conf->mark);
    atomic_store_relaxed(&p->depth, conf->depth);
    atomic_store_relaxed(&p->cap, conf->cap);
    atomic_store_relaxed(&p->tag, conf->tag);
}

void
phantom_init(struct phantom *p, const struct phantom_conf *conf,
             uint64_t now_ns)
{
    memset(p, 0, sizeof *p);
    gcra_init(&p->queue, &conf->queue, now_ns);
    set_thresholds(p, conf);
}

/* Numbers that several threads write. */

static uint64_t
get(const atomic_uint64_t *number)
{
    uint64_t value;

    atomic_read_relaxed(CONST_CAST(atomic_uint64_t *, number), &value);
    return value;
}

static void
add(atomic_uint64_t *number, uint64_t n)
{
    uint64_t before;

    atomic_add_relaxed(number, n, &before);
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

bool
burst_number_raise(atomic_uint64_t *number, uint64_t start_ns, uint64_t value,
                   bool (*is_open)(const void *aux, uint64_t start_ns),
                   const void *aux)
{
    uint64_t word = start_ns << 32 | MIN(value, UINT32_MAX);
    uint64_t before = get(number);

    while (before >> 32 == word >> 32 ? before < word
                                      : is_open(aux, start_ns)) {
        if (atomic_compare_exchange_weak_relaxed(number, &before, word)) {
            return true;
        }
    }
    return false;
}

uint64_t
burst_number_get(const atomic_uint64_t *number, uint64_t start_ns)
{
    uint64_t word = get(number);

    return word >> 32 == (uint32_t) start_ns ? (uint32_t) word : 0;
}

/* Bursts. */

static unsigned int
bucket(uint64_t value)
{
    return MIN(value ? log_2_floor(value) : 0, PHANTOM_BUCKETS - 1);
}

/* Writes '*event' over the oldest one.  If that is still being written, as by
 * a thread that was kept from running, then this one is not kept. */
static void
keep_event(struct phantom *p, const struct phantom_event *event)
{
    const uint64_t words[] = {
        event->start_ns, event->length_ns, event->rise_ns, event->peak_depth,
        event->bytes, event->gap_ns, event->tag,
    };
    struct phantom_slot *slot;
    uint64_t n, sequence;

    BUILD_ASSERT(sizeof words == sizeof *event);
    BUILD_ASSERT(sizeof words / sizeof words[0]
                 == sizeof slot->words / sizeof slot->words[0]);
    atomic_add_relaxed(&p->n_recorded, UINT64_C(1), &n);
    slot = &p->slots[n % PHANTOM_EVENTS];
    sequence = get(&slot->sequence);
    if (sequence & 1
        || !atomic_compare_exchange_strong_explicit(
               &slot->sequence, &sequence, 2 * n + 1,
               memory_order_acquire, memory_order_relaxed)) {
        return;
    }
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        atomic_store_relaxed(&slot->words[i], words[i]);
    }
    atomic_store_explicit(&slot->sequence, 2 * n + 2, memory_order_release);
}

/* Records the burst from 'start_ns' to '*end', unless another thread did. */
static void
close_burst(struct phantom *p, uint64_t start_ns, const struct gcra_end *end)
{
    struct phantom_event event = {
        .start_ns = start_ns,
        .peak_depth = burst_number_get(&p->peak, start_ns),
        .gap_ns = burst_number_get(&p->burst_gap_ns, start_ns),
    };
    uint64_t peak_ns = get(&p->peak_ns);
    uint32_t tag;

    if (!gcra_end_since(end, start_ns, &event.length_ns, &event.bytes)) {
        return;                 /* A burst that opened after this moment. */
    }
    if (!atomic_compare_exchange_strong(&p->open_ns, &start_ns,
                                        UINT64_C(0))) {
        return;
    }
    atomic_read_relaxed(&p->tag, &tag);
    event.tag = tag;
    event.rise_ns = peak_ns - MIN(peak_ns, event.start_ns);
    count(&p->bursts, 1, event.bytes);
    add(&p->lengths[bucket(event.length_ns)], 1);
    add(&p->depths[bucket(event.peak_depth)], 1);
    keep_event(p, &event);
}

static bool
is_open(const void *p_, uint64_t start_ns)
{
    const struct phantom *p = p_;

    return get(&p->open_ns) == start_ns;
}

/* Returns when the burst that is open at 'now_ns' began, 0 if there is none.
 * Opens one if 'depth', in tokens, is above the threshold. */
static uint64_t
get_open(struct phantom *p, uint64_t depth, uint64_t now_ns)
{
    uint64_t open_ns = get(&p->open_ns);

    if (!open_ns && depth > get(&p->depth)
        && atomic_compare_exchange_strong(&p->open_ns, &open_ns, now_ns)) {
        open_ns = now_ns;
    }
    return open_ns;
}

/* Takes note of how deep the queue was, and when. */
static void
note_depth(struct phantom *p, uint64_t depth, uint64_t now_ns,
           uint64_t gap_ns)
{
    uint64_t open_ns = get_open(p, depth, now_ns);

    if (open_ns) {
        if (burst_number_raise(&p->peak, open_ns, depth / GCRA_BYTE, is_open,
                               p)) {
            atomic_store_relaxed(&p->peak_ns, now_ns);
        }
        burst_number_raise(&p->burst_gap_ns, open_ns, gap_ns, is_open, p);
    }
    raise_to(&p->watermark, depth);
    raise_to(&p->gap_ns, gap_ns);
}

void
phantom_observe(struct phantom *p, uint64_t now_ns)
{
    uint64_t open_ns = get(&p->open_ns);
    struct gcra_end end;

    if (OVS_UNLIKELY(open_ns) && gcra_get_end(&p->queue, now_ns, &end)) {
        close_burst(p, open_ns, &end);
    }
}

void
phantom_reconfigure(struct phantom *p, const struct phantom_conf *conf,
                    uint64_t now_ns)
{
    uint64_t open_ns = get(&p->open_ns);

    if (open_ns) {
        struct gcra_end end;

        if (!gcra_get_end(&p->queue, now_ns, &end)) {
            end.work = (now_ns - end.stamp_ns) * end.rate;
        }
        close_burst(p, open_ns, &end);
    }
    gcra_reconfigure(&p->queue, &conf->queue, now_ns);
    set_thresholds(p, conf);
}

/* Packets. */

/* Says in '*b' what the depths in '*o' mean. */
static void
judge(struct phantom *p, const struct gcra_offer *o, struct phantom_batch *b)
{
    uint64_t mark = get(&p->mark);
    uint32_t cap;

    atomic_read_relaxed(&p->cap, &cap);
    b->capped = cap ? o->refused : 0;
    b->marked = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        if (o->depths[i] > mark) {
            b->marked |= UINT32_C(1) << i;
        }
    }
    b->marked &= ~b->capped;
}

bool
phantom_admit(struct phantom *p, uint64_t since_ns, uint64_t now_ns,
              uint32_t n, uint32_t bytes)
{
    uint64_t gap_ns = now_ns - MIN(since_ns, now_ns);
    uint64_t depth;

    since_ns = now_ns - MIN(gap_ns, GCRA_MAX_SPREAD_NS);
    phantom_observe(p, since_ns);
    if (!gcra_admit_below(&p->queue, since_ns, now_ns, n, bytes,
                          MIN(get(&p->mark), get(&p->depth)), &depth)) {
        return false;
    }
    note_depth(p, depth, now_ns, gap_ns);
    return true;
}

enum gcra_answer
phantom_admit_both(struct phantom *p, struct gcra *share, uint64_t since_ns,
                   struct gcra_both *b)
{
    uint64_t gap_ns = b->now_ns - MIN(since_ns, b->now_ns);
    enum gcra_answer answer;

    if (OVS_UNLIKELY(get(&p->open_ns))) {
        return GCRA_UNDECIDED;
    }
    b->since_ns = b->now_ns - MIN(gap_ns, GCRA_MAX_SPREAD_NS);
    b->watch = MIN(get(&p->mark), get(&p->depth));
    answer = gcra_admit_both(&p->queue, share, b);
    if (answer >= GCRA_FIRST) {
        note_depth(p, b->max_depth, b->now_ns, gap_ns);
    }
    return answer;
}

void
phantom_offer(struct phantom *p, struct phantom_batch *b,
              const uint32_t sizes[], uint32_t n)
{
    uint64_t gap_ns = b->now_ns - MIN(b->since_ns, b->now_ns);
    struct gcra_offer o = {
        .since_ns = b->now_ns - MIN(gap_ns, GCRA_MAX_SPREAD_NS),
        .now_ns = b->now_ns,
        .sizes = sizes,
        .n = n,
    };

    phantom_observe(p, o.since_ns);
    gcra_offer(&p->queue, &o);
    judge(p, &o, b);
    count_map(&p->capped, b->capped, sizes);
    note_depth(p, o.max_depth, b->now_ns, gap_ns);
}

/* Statistics. */

/* Reads the event that was recorded as number 'n'.  Returns false if it is
 * not there anymore, or not yet. */
static bool
read_event(const struct phantom *p_, uint64_t n, struct phantom_event *event)
{
    struct phantom *p = CONST_CAST(struct phantom *, p_);
    struct phantom_slot *slot = &p->slots[n % PHANTOM_EVENTS];
    uint64_t words[7], sequence;

    atomic_read_explicit(&slot->sequence, &sequence, memory_order_acquire);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        words[i] = get(&slot->words[i]);
    }
    atomic_thread_fence(memory_order_acquire);
    *event = (struct phantom_event) {
        .start_ns = words[0], .length_ns = words[1], .rise_ns = words[2],
        .peak_depth = words[3], .bytes = words[4], .gap_ns = words[5],
        .tag = words[6],
    };
    return sequence == 2 * n + 2 && get(&slot->sequence) == sequence;
}

void
phantom_read(const struct phantom *p, uint64_t now_ns,
             struct phantom_stats *stats)
{
    uint64_t n = get(&p->n_recorded);

    memset(stats, 0, sizeof *stats);
    read_counter(&p->bursts, &stats->n_bursts, &stats->burst_bytes);
    stats->depth = gcra_depth(&p->queue, now_ns) / GCRA_BYTE;
    stats->watermark = get(&p->watermark) / GCRA_BYTE;
    stats->gap_ns = get(&p->gap_ns);
    for (size_t i = 0; i < PHANTOM_BUCKETS; i++) {
        stats->lengths[i] = get(&p->lengths[i]);
        stats->depths[i] = get(&p->depths[i]);
    }
    for (uint64_t i = n - MIN(n, PHANTOM_EVENTS); i < n; i++) {
        stats->n_events += read_event(p, i,
                                      &stats->events[stats->n_events]);
    }
}
