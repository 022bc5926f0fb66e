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
#include "dp-meter.h"

#include "coverage.h"
#include "dp-meter-private.h"
#include "dp-packet.h"
#include "ip-remark.h"
#include "timeval.h"
#include "util.h"

/* What a meter does with packets.
 *
 * The packets of a batch are bits of a bitmap, and 'sizes[]' are theirs. */

COVERAGE_DEFINE(datapath_drop_meter);
COVERAGE_DEFINE(datapath_drop_invalid_meter);

/* For gcra_admit_batch() and gcra_offer(). */
BUILD_ASSERT_DECL(NETDEV_MAX_BURST <= 32);

/* Reads the clock again, if 'm' may not refuse packets before, or if 'gcra'
 * has been used at a later time.  Returns true if it did. */
static bool
read_clock_again(const struct dp_meter *m, bool owner,
                 const struct gcra *gcra, struct dp_meter_clock *clock)
{
    if (may_refuse(m, owner, clock)
        && !gcra_is_behind(gcra, clock->now_ns)) {
        return false;
    }
    clock->now_ns = time_nsec();
    clock->reread = true;
    return true;
}

/* Decides about 'n' packets that do not conform to 'band' of 'm' together.
 * Returns those that do not conform each by itself. */
static uint32_t
refuse(const struct dp_meter *m, bool owner, struct dp_meter_band *band,
       const uint32_t sizes[], uint32_t n, struct dp_meter_clock *clock)
{
    if (!read_clock_again(m, owner, &band->gcra, clock) && n == 1) {
        return 1;
    }
    return gcra_admit_batch(&band->gcra, clock->now_ns, sizes, n);
}

/* Notes in 'packet' whether it was remarked. */
static void
note_remarked(struct dp_packet *packet, bool remarked)
{
    packet->md.tenant_flags |= remarked ? PKT_TENANT_REMARKED : 0;
}

/* Does to 'packet' what 'action' says.  Returns true if it is admitted
 * nevertheless. */
static bool
act_on_packet(const struct dp_band_action *action, struct dp_packet *packet)
{
    switch (action->verb) {
    case DP_BAND_DROP:
        return false;
    case DP_BAND_RAISE_DROP_PRECEDENCE:
        note_remarked(packet, ip_remark_drop_precedence(packet, action->arg));
        return true;
    case DP_BAND_SET_DSCP:
        note_remarked(packet, ip_remark_dscp(packet, action->arg));
        return true;
    case DP_BAND_MARK_CE:
        return ip_remark_knows_ce(packet);
    case DP_BAND_PASS:
        return true;
    }
    OVS_NOT_REACHED();
}

/* What bands acted on. */
struct acted_on {
    uint32_t packets;
    uint32_t bytes;
    uint32_t unlent;            /* Dropped, by bands that have a parent. */
};

/* Lets 'band' act on the packets in 'map', which it refused.  Returns those
 * that are to be dropped; adds those that are to be marked CE to '*marked',
 * and all to '*total'. */
static uint32_t
act(struct dp_meter_band *band, const struct dp_band_action *action,
    bool owner, struct dp_packet_batch *batch, uint32_t map,
    const uint32_t sizes[], uint32_t *marked, struct acted_on *total)
{
    uint32_t packets = count_1bits(map), bytes = sum_map(map, sizes);
    uint32_t dropped = map;

    if (action->verb != DP_BAND_DROP) {
        for (uint32_t left = map; left; left = zero_rightmost_1bit(left)) {
            uint32_t i = raw_ctz(left);

            if (act_on_packet(action, batch->packets[i])) {
                dropped &= ~(UINT32_C(1) << i);
            }
        }
        count_map(&band->admitted, map & ~dropped, sizes);
        if (action->verb == DP_BAND_MARK_CE) {
            *marked |= map & ~dropped;
        }
    }
    count_owned(&band->acted_on, owner, packets, bytes);
    total->packets += packets;
    total->bytes += bytes;
    total->unlent |= band->member ? dropped : 0;
    COVERAGE_ADD(datapath_drop_meter,
                 dropped == map ? packets : count_1bits(dropped));
    return dropped;
}

/* Lets the bands of 'm' act on what they refused, 'refused[i]' each.  Returns
 * the packets that are to be dropped; adds those to be marked CE to
 * 'marked[i]', and all to '*total'. */
static uint32_t
act_on_refused(struct dp_meter *m, bool owner, struct dp_packet_batch *batch,
               const uint32_t refused[], const uint32_t sizes[],
               uint32_t marked[], struct acted_on *total)
{
    struct dp_band_action actions[DP_METER_MAX_BANDS];
    uint32_t mine[DP_METER_MAX_BANDS];  /* What each one acts on. */
    uint32_t dropped = 0;

    if (OVS_LIKELY(m->n_bands == 1)) {
        actions[0] = get_action(&m->bands[0]);
        return act(&m->bands[0], &actions[0], owner, batch, refused[0], sizes,
                   &marked[0], total);
    }
    for (uint32_t i = 0; i < m->n_bands; i++) {
        mine[i] = refused[i];
        actions[i] = get_action(&m->bands[i]);
        for (uint32_t j = 0; j < i; j++) {
            if (actions[i].rate > actions[j].rate) {
                mine[j] &= ~mine[i];
            } else {
                mine[i] &= ~mine[j];
            }
        }
    }
    for (uint32_t i = 0; i < m->n_bands; i++) {
        if (mine[i]) {
            dropped |= act(&m->bands[i], &actions[i], owner, batch, mine[i],
                           sizes, &marked[i], total);
        }
        count_map(&m->bands[i].elsewhere, refused[i] & ~mine[i], sizes);
    }
    return dropped;
}

/* Marks the packets in 'map' CE, or those of them that are ECN-capable and do
 * not have it yet. */
static void
mark(struct dp_meter_band *band, struct dp_packet_batch *batch, uint32_t map,
     const uint32_t sizes[])
{
    for (uint32_t left = map; left; left = zero_rightmost_1bit(left)) {
        uint32_t i = raw_ctz(left);

        if (ip_remark_ce(batch->packets[i])) {
            batch->packets[i]->md.tenant_flags |= PKT_TENANT_MARKED;
        } else {
            map &= ~(UINT32_C(1) << i);
        }
    }
    count_map(&band->marked, map, sizes);
}

/* Lets 'm' borrow for the packets in 'map', of 'bytes' bytes in all: for all
 * of them at once, or else for one after the other.  Returns those for which
 * it does. */
static uint32_t
borrow_map(struct borrow_member *m, const uint32_t sizes[], uint32_t bytes,
           uint32_t map, uint64_t now_ns)
{
    uint32_t borrowed = 0;

    if (borrow_admit(m, now_ns, bytes)) {
        return map;
    }
    for (uint32_t left = is_pow2(map) ? 0 : map; left;
         left = zero_rightmost_1bit(left)) {
        if (borrow_admit(m, now_ns, sizes[raw_ctz(left)])) {
            borrowed |= rightmost_1bit(left);
        }
    }
    return borrowed;
}

/* Notes in the packets in 'map' that they passed thanks to a parent. */
static void
note_borrowed(struct dp_packet_batch *batch, uint32_t map)
{
    for (uint32_t left = map; left; left = zero_rightmost_1bit(left)) {
        batch->packets[raw_ctz(left)]->md.tenant_flags |= PKT_TENANT_BORROWED;
    }
}

/* Counts what 'band', which is band 'i' of 'm', is owed, in the pools that it
 * is of, and lets it borrow for the packets in 'map', which it refused.
 * Returns those that it does not admit. */
static uint32_t
run_pools(struct dp_meter *m, uint32_t i, struct dp_packet_batch *batch,
          const uint32_t sizes[], uint32_t bytes, uint32_t map,
          const struct dp_meter_clock *clock)
{
    struct dp_meter_band *band = &m->bands[i];
    struct borrow_pool *own = i ? NULL : dp_meter_get_pool(m);
    uint32_t refused_bytes, borrowed = 0;

    if (!own && !band->member) {
        return map;
    }
    refused_bytes = sum_map(map, sizes);
    if (bytes > refused_bytes) {
        borrow_debit(own ? own : band->member->pool, clock->now_ns,
                     bytes - refused_bytes);
    }
    if (band->member && map) {
        borrowed = borrow_map(band->member, sizes, refused_bytes, map,
                              clock->now_ns);
        count_map(&band->borrowed, borrowed, sizes);
        note_borrowed(batch, borrowed);
    }
    return map & ~borrowed;
}

/* Offers 'n' packets of 'bytes' bytes in all to 'phantom', one of 'm'.
 * Returns true if none of them is above a threshold; otherwise, sets '*b' to
 * what is. */
static bool
offer_to_phantom(const struct dp_meter *m, bool owner,
                 struct phantom *phantom, struct phantom_batch *b,
                 const uint32_t sizes[], uint32_t n, uint32_t bytes,
                 struct dp_meter_clock *clock)
{
    uint64_t since_ns = clock->since_ns ? clock->since_ns : clock->now_ns;

    if (OVS_LIKELY(phantom_admit(phantom, since_ns, clock->now_ns,
                                 n, bytes))) {
        return true;
    }
    read_clock_again(m, owner, &phantom->queue, clock);
    b->since_ns = since_ns;
    b->now_ns = clock->now_ns;
    phantom_offer(phantom, b, sizes, n);
    return false;
}

/* Offers 'batch', of '*bytes' bytes in all, to the phantoms of 'm', one after
 * the other, and drops what they cap.  Sets 'marked[i]' to what is to be
 * marked for band i, if it is admitted.  Returns true if there is any. */
static bool
run_phantoms(struct dp_meter *m, bool owner, struct dp_packet_batch *batch,
             uint32_t sizes[], uint32_t *bytes, uint32_t marked[],
             struct dp_meter_clock *clock, struct dp_meter_drops *drops)
{
    uint32_t any = 0;

    for (uint32_t map = m->phantoms; map; map = zero_rightmost_1bit(map)) {
        uint32_t i = raw_ctz(map);
        uint32_t n = dp_packet_batch_size(batch), n_left = 0;
        struct phantom_batch b;

        if (offer_to_phantom(m, owner, m->bands[i].phantom, &b, sizes, n,
                             *bytes, clock)) {
            continue;
        }
        marked[i] = b.marked;
        any |= b.marked;
        if (!b.capped) {
            continue;
        }

        for (uint32_t j = 0; j < m->n_bands; j++) {
            if (j == i) {
                count_owned(&m->bands[j].acted_on, owner,
                            count_1bits(b.capped), sum_map(b.capped, sizes));
            } else {
                count_map(&m->bands[j].elsewhere, b.capped, sizes);
            }
            marked[j] = squeeze(marked[j], b.capped);
        }
        COVERAGE_ADD(datapath_drop_meter, count_1bits(b.capped));
        dp_meter_drop(drops, batch, b.capped, 0, DP_REASON_LIMIT);
        *bytes = 0;
        for (uint32_t j = 0; j < n; j++) {
            if (!(b.capped & UINT32_C(1) << j)) {
                *bytes += sizes[j];
                sizes[n_left++] = sizes[j];
            }
        }
        if (!n_left) {
            return false;
        }
    }
    return any;
}

/* Is the caller the thread that owns the counters of 'm'?  The first one that
 * asks becomes it. */
static bool
is_owner(struct dp_meter *m)
{
    unsigned int self = ovsthread_id_self();
    unsigned int owner;

    atomic_read_relaxed(&m->owner, &owner);
    return (owner == self
            || (OVS_UNLIKELY(owner == OVSTHREAD_ID_UNSET)
                && atomic_compare_exchange_strong(&m->owner, &owner, self)));
}

/* Offers 'batch', of 'bytes' bytes in all, to the bands of 'm'.  Sets
 * 'refused[i]' to what band i does not admit, and returns the union. */
static uint32_t
run_bands(struct dp_meter *m, bool owner, struct dp_packet_batch *batch,
          const uint32_t sizes[], uint32_t bytes, uint32_t refused[],
          struct dp_meter_clock *clock)
{
    bool pools = m->borrows || dp_meter_get_pool(m);
    uint32_t n = dp_packet_batch_size(batch);
    uint32_t any = 0;

    for (uint32_t i = 0; i < m->n_bands; i++) {
        struct dp_meter_band *band = &m->bands[i];

        refused[i] = (gcra_admit(&band->gcra, clock->now_ns, n, bytes)
                      ? 0 : refuse(m, owner, band, sizes, n, clock));
        if (OVS_UNLIKELY(pools)) {
            refused[i] = run_pools(m, i, batch, sizes, bytes, refused[i],
                                   clock);
        }
        any |= refused[i];
    }
    return any;
}

/* Sets 'sizes[]' to those of the packets in 'batch', and gives these the tag
 * of 'm'.  Returns the sum. */
static uint32_t
measure(struct dp_meter *m, struct dp_packet_batch *batch, uint32_t sizes[])
{
    size_t n = dp_packet_batch_size(batch);
    uint32_t bytes = 0, tag;

    atomic_read_relaxed(&m->tag, &tag);
    for (size_t i = 0; i < n; i++) {
        struct dp_packet *packet = batch->packets[i];

        sizes[i] = dp_packet_size(packet);
        bytes += sizes[i];
        if (tag) {
            packet->md.tenant_tag = tag;
        }
    }
    return bytes;
}

/* Asks the phantom of 'm' and its only band in one go.  Returns GCRA_BOTH if
 * they have decided, and then what the band refuses is dropped; else the
 * phantom has admitted all, if GCRA_FIRST, or nothing has changed. */
static enum gcra_answer
run_both(struct dp_meter *m, bool owner, struct dp_packet_batch *batch,
         const uint32_t sizes[], uint32_t bytes,
         struct dp_meter_clock *clock, struct dp_meter_drops *drops)
{
    struct dp_meter_band *band = &m->bands[0];
    uint64_t since_ns = clock->since_ns ? clock->since_ns : clock->now_ns;
    uint32_t n = dp_packet_batch_size(batch), n_refused;
    bool refusing = get_action(band).verb == DP_BAND_DROP;
    struct gcra_both b = {
        .now_ns = clock->now_ns,
        .second_ns = clock->now_ns,
        .in_turn = refusing && may_refuse(m, owner, clock),
        .sizes = sizes,
        .n = n,
        .bytes = bytes,
    };
    enum gcra_answer answer = phantom_admit_both(m->phantom, &band->gcra,
                                                 since_ns, &b);

    if (answer == GCRA_NOT_ALL && refusing) {
        b.second_ns = clock->now_ns = time_nsec();
        b.in_turn = clock->reread = true;
        answer = phantom_admit_both(m->phantom, &band->gcra, since_ns, &b);
    }
    if (answer != GCRA_BOTH) {
        return answer;
    }
    if (OVS_LIKELY(!b.refused)) {
        count_owned(&m->conforming, owner, n, bytes);
        return answer;
    }
    n_refused = count_1bits(b.refused);
    count_owned(&m->conforming, owner, n - n_refused, b.admitted_bytes);
    count_owned(&band->acted_on, owner, n_refused, bytes - b.admitted_bytes);
    COVERAGE_ADD(datapath_drop_meter, n_refused);
    dp_meter_drop(drops, batch, b.refused, 0, DP_REASON_RATE);
    return answer;
}

void
dp_meters_run_into(struct dp_meters *ms, uint32_t id,
                   struct dp_packet_batch *batch,
                   struct dp_meter_clock *clock, struct dp_meter_drops *drops)
{
    size_t n = dp_packet_batch_size(batch);
    struct dp_meter *m = dp_meter_lookup(ms, id);
    uint32_t refused[DP_METER_MAX_BANDS];
    uint32_t marked[DP_METER_MAX_BANDS] = { 0 };
    uint32_t sizes[NETDEV_MAX_BURST];
    uint32_t any, bytes, dropped = 0;
    struct acted_on total = { 0, 0, 0 };
    enum gcra_answer answer = GCRA_UNDECIDED;
    bool any_marked = false, owner;

    if (OVS_UNLIKELY(!m)) {
        COVERAGE_ADD(datapath_drop_invalid_meter, n);
        dp_meter_drop(drops, batch, UINT32_MAX, 0, DP_REASON_MISSING);
        return;
    }

    owner = is_owner(m);
    if (!owner) {
        atomic_store_relaxed(&m->shared, true);
    }
    bytes = measure(m, batch, sizes);
    if (m->phantom && !dp_meter_get_pool(m)) {
        answer = run_both(m, owner, batch, sizes, bytes, clock, drops);
        if (answer == GCRA_BOTH) {
            return;
        }
    }
    if (m->phantoms && answer != GCRA_FIRST) {
        any_marked = run_phantoms(m, owner, batch, sizes, &bytes, marked,
                                  clock, drops);
        n = dp_packet_batch_size(batch);
        if (OVS_UNLIKELY(!n)) {
            return;
        }
    }
    any = run_bands(m, owner, batch, sizes, bytes, refused, clock);
    if (any) {
        dropped = act_on_refused(m, owner, batch, refused, sizes, marked,
                                 &total);
    }
    if (total.packets < n) {
        count_owned(&m->conforming, owner,
                    n - total.packets, bytes - total.bytes);
    }
    if (any_marked || any) {
        for (uint32_t i = 0; i < m->n_bands; i++) {
            if (OVS_UNLIKELY(marked[i] & ~dropped)) {
                mark(&m->bands[i], batch, marked[i] & ~dropped, sizes);
            }
        }
    }
    if (dropped) {
        dp_meter_drop(drops, batch, dropped, total.unlent, DP_REASON_RATE);
    }
}
