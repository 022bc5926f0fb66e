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

#include <errno.h>

#include "dp-meter-private.h"
#include "openvswitch/ofp-meter.h"
#include "ovs-rcu.h"
#include "timeval.h"
#include "util.h"

/* Takes a part off 'c'.  Other threads may be counting, so it does not rely on
 * the part being smaller. */
static void
subtract(struct ofputil_microburst_counter *c, uint64_t packets,
         uint64_t bytes)
{
    c->packets -= MIN(c->packets, packets);
    c->bytes -= MIN(c->bytes, bytes);
}

/* Reads all that came to 'm'. */
static void
read_in(const struct dp_meter *m, uint64_t *packets, uint64_t *bytes)
{
    read_owned_counter(&m->conforming, packets, bytes);
    for (uint32_t i = 0; i < m->n_bands; i++) {
        uint64_t band_packets, band_bytes;

        read_owned_counter(&m->bands[i].acted_on, &band_packets, &band_bytes);
        *packets += band_packets;
        *bytes += band_bytes;
    }
}

static uint64_t
pack_action(const struct dp_band_action *action)
{
    return (uint64_t) action->rate << 32 | action->verb << 8 | action->arg;
}

void
dp_meters_init(struct dp_meters *ms, enum dp_meter_types types)
{
    atomic_count_init(&ms->n_phantoms, 0);
    ms->types = types;
    ovs_mutex_init(&ms->mutex);
    for (size_t i = 0; i < ARRAY_SIZE(ms->pages); i++) {
        atomic_init(&ms->pages[i], NULL);
    }
}

/* Frees 'm' once no packet uses it, and its phantoms, members and pool but for
 * those that 'heir' (may be NULL) has. */
static void
free_meter(struct dp_meter *m, const struct dp_meter *heir)
{
    for (uint32_t i = 0; i < m->n_bands; i++) {
        struct phantom *phantom = m->bands[i].phantom;

        if (phantom && !(heir && i < heir->n_bands
                         && heir->bands[i].phantom == phantom)) {
            ovsrcu_postpone(free_cacheline, phantom);
        }
    }
    dp_meter_leave_pools(m, heir, time_nsec());
    ovsrcu_postpone(free_cacheline, m);
}

/* Makes 'm' (may be NULL) the meter 'id'. */
static void
put_meter(struct dp_meters *ms, uint32_t id, struct dp_meter *m)
{
    struct dp_meter_page *page = dp_meter_page(ms, id);

    if (!page) {
        page = xzalloc(sizeof *page);
        atomic_store_explicit(&ms->pages[id / DP_METER_PAGE], page,
                              memory_order_release);
    }
    atomic_store_explicit(&page->meters[id % DP_METER_PAGE], m,
                          memory_order_release);
}

struct dp_meter *
dp_meter_next(const struct dp_meters *ms, uint32_t id)
{
    struct dp_meter *m = NULL;

    while (!m && id < DP_METER_MAX) {
        m = dp_meter_lookup(ms, id);
        id += dp_meter_page(ms, id) ? 1 : DP_METER_PAGE - id % DP_METER_PAGE;
    }
    return m;
}

void
dp_meters_destroy(struct dp_meters *ms)
{
    struct dp_meter *m;

    ovs_mutex_lock(&ms->mutex);
    for (uint32_t id = 0; (m = dp_meter_next(ms, id)); id = m->id + 1) {
        put_meter(ms, m->id, NULL);
        free_meter(m, NULL);
    }
    for (uint32_t id = 0; id < DP_METER_MAX; id += DP_METER_PAGE) {
        struct dp_meter_page *page = dp_meter_page(ms, id);

        if (page) {
            ovsrcu_postpone(free, page);
        }
    }
    ovs_mutex_unlock(&ms->mutex);
    ovs_mutex_destroy(&ms->mutex);
}

void
dp_meters_get_features(const struct dp_meters *ms,
                       struct ofputil_meter_features *features)
{
    dp_meter_conf_features(ms->types, features);
}

static uint32_t
phantom_map(const struct dp_band_conf bcs[], uint16_t n_bands)
{
    uint32_t map = 0;

    for (uint16_t i = 0; i < n_bands; i++) {
        map |= bcs[i].has_phantom ? UINT32_C(1) << i : 0;
    }
    return map;
}

static struct phantom *
new_phantom(const struct phantom_conf *conf, uint64_t now_ns)
{
    struct phantom *phantom = xmalloc_cacheline(sizeof *phantom);

    phantom_init(phantom, conf, now_ns);
    return phantom;
}

static void
init_band(struct dp_meter_band *band, const struct dp_band_conf *bc,
          const struct dp_meter_band *old, struct borrow_member *member,
          uint64_t now_ns)
{
    if (old) {
        gcra_clone(&band->gcra, &old->gcra, now_ns);
    } else {
        gcra_init(&band->gcra, &bc->gcra, now_ns);
    }
    if (bc->has_phantom) {
        band->phantom = (old && old->phantom ? old->phantom
                         : new_phantom(&bc->phantom, now_ns));
    }
    band->member = member;
}

/* Returns a new meter with 'members[]', which has counted nothing.  What 'old'
 * (may be NULL) holds in its first 'n_bands' queues goes over to it, under the
 * contracts of 'old', and so does its pool. */
static struct dp_meter *
new_meter(uint32_t id, const struct dp_band_conf bcs[], uint16_t n_bands,
          const struct dp_meter *old, struct borrow_member *const members[],
          uint64_t now_ns)
{
    struct dp_meter *m = xzalloc_cacheline(sizeof *m
                                           + n_bands * sizeof *m->bands);

    m->id = id;
    m->n_bands = n_bands;
    m->phantoms = phantom_map(bcs, n_bands);
    for (uint16_t i = 0; i < n_bands; i++) {
        m->borrows |= members[i] != NULL;
    }
    atomic_init(&m->pool, old ? dp_meter_get_pool(old) : NULL);
    atomic_init(&m->owner, OVSTHREAD_ID_UNSET);
    atomic_init(&m->shared, false);
    for (uint16_t i = 0; i < n_bands; i++) {
        init_band(&m->bands[i], &bcs[i],
                  old && i < old->n_bands ? &old->bands[i] : NULL, members[i],
                  now_ns);
    }
    if (n_bands == 1 && !m->borrows) {
        m->phantom = m->bands[0].phantom;
    }
    return m;
}

static void
take_band_counts(struct dp_meter_band *band, const struct dp_meter_band *old)
{
    add_counter(&band->before, &old->before);
    add_owned_counter(&band->acted_on, &old->acted_on);
    add_counter(&band->admitted, &old->admitted);
    add_counter(&band->marked, &old->marked);
    add_counter(&band->elsewhere, &old->elsewhere);
    add_counter(&band->borrowed, &old->borrowed);
}

/* Adds what 'old' has counted to 'm', which has taken its place: so nothing is
 * lost that came while 'm' was made, but for batches that 'old' has not
 * counted yet. */
static void
take_counts(struct dp_meter *m, const struct dp_meter *old)
{
    uint64_t packets, bytes;

    read_in(old, &packets, &bytes);
    add_owned_counter(&m->conforming, &old->conforming);
    for (uint32_t i = 0; i < MIN(m->n_bands, old->n_bands); i++) {
        take_band_counts(&m->bands[i], &old->bands[i]);
    }
    for (uint32_t i = old->n_bands; i < m->n_bands; i++) {
        count(&m->bands[i].before, packets, bytes);
    }

    /* Bands that are gone acted on packets that came, nevertheless. */
    for (uint32_t i = m->n_bands; i < old->n_bands; i++) {
        add_owned_counter(&m->conforming, &old->bands[i].acted_on);
    }
}

/* Can 'old' (may be NULL) become, by a change of numbers, a meter of these
 * bands and members? */
static bool
is_alike(const struct dp_meter *old, const struct dp_band_conf bcs[],
         uint16_t n_bands, struct borrow_member *const members[])
{
    if (!old || old->n_bands != n_bands
        || old->phantoms != phantom_map(bcs, n_bands)) {
        return false;
    }
    for (uint16_t i = 0; i < n_bands; i++) {
        if (old->bands[i].member != members[i]) {
            return false;
        }
    }
    return true;
}

static uint32_t
find_tag(const struct dp_band_conf bcs[], uint16_t n_bands)
{
    for (uint16_t i = 0; i < n_bands; i++) {
        if (bcs[i].tag) {
            return bcs[i].tag;
        }
    }
    return 0;
}

int
dp_meters_set(struct dp_meters *ms, uint32_t id,
              const struct ofputil_meter_config *config)
{
    struct borrow_member *members[DP_METER_MAX_BANDS] = { NULL };
    struct dp_band_conf bcs[DP_METER_MAX_BANDS];
    struct dp_meter *old, *m;
    uint64_t now_ns;
    int error;

    if (id >= DP_METER_MAX) {
        return EFBIG;
    }
    error = dp_meter_conf_parse(config, ms->types, bcs);
    if (error) {
        return error;
    }

    ovs_mutex_lock(&ms->mutex);
    now_ns = time_nsec();
    m = old = dp_meter_lookup(ms, id);
    error = dp_meter_join_parents(ms, id, bcs, config->n_bands, old, members,
                                  now_ns);
    if (error) {
        ovs_mutex_unlock(&ms->mutex);
        return error;
    }
    if (!is_alike(old, bcs, config->n_bands, members)) {
        m = new_meter(id, bcs, config->n_bands, old, members, now_ns);
    }
    for (uint16_t i = 0; i < config->n_bands; i++) {
        atomic_store_relaxed(&m->bands[i].action,
                             pack_action(&bcs[i].action));
        gcra_reconfigure(&m->bands[i].gcra, &bcs[i].gcra, now_ns);
        if (m->bands[i].phantom) {
            phantom_reconfigure(m->bands[i].phantom, &bcs[i].phantom, now_ns);
        }
    }
    atomic_store_relaxed(&m->tag, find_tag(bcs, config->n_bands));
    dp_meter_reconfigure_pools(m, bcs, now_ns);
    if (m->phantoms && !(old && old->phantoms)) {
        atomic_count_inc(&ms->n_phantoms);
    } else if (!m->phantoms && old && old->phantoms) {
        atomic_count_dec(&ms->n_phantoms);
    }
    if (m != old) {
        put_meter(ms, id, m);
    }
    if (old && m != old) {
        take_counts(m, old);
        free_meter(old, m);
    }
    ovs_mutex_unlock(&ms->mutex);

    return 0;
}

/* Reads what 'phantom' has seen, after closing a burst that has ended. */
static void
read_bursts(struct phantom *phantom, struct ofputil_microburst_bursts *bursts)
{
    uint64_t now_ns = time_nsec();
    struct phantom_stats stats;

    BUILD_ASSERT(sizeof bursts->lengths == sizeof stats.lengths);
    BUILD_ASSERT(sizeof bursts->events == sizeof stats.events);
    phantom_observe(phantom, now_ns);
    phantom_read(phantom, now_ns, &stats);
    bursts->now_ns = now_ns;
    bursts->depth = stats.depth;
    bursts->max_depth = stats.watermark;
    bursts->max_gap_ns = stats.gap_ns;
    bursts->n_bursts = stats.n_bursts;
    bursts->n_bytes = stats.burst_bytes;
    memcpy(bursts->lengths, stats.lengths, sizeof stats.lengths);
    memcpy(bursts->depths, stats.depths, sizeof stats.depths);
    bursts->n_events = stats.n_events;
    for (uint32_t i = 0; i < stats.n_events; i++) {
        const struct phantom_event *e = &stats.events[i];

        bursts->events[i] = (struct ofputil_microburst_event) {
            .start_ns = e->start_ns,
            .length_ns = e->length_ns,
            .rise_ns = e->rise_ns,
            .max_depth = e->peak_depth,
            .bytes = e->bytes,
            .max_gap_ns = e->gap_ns,
            .tag = e->tag,
        };
    }
}

static void
read_band(const struct dp_meter *m, const struct dp_meter_band *band,
          struct ofputil_meter_band_stats *stats)
{
    struct ofputil_microburst_stats *mb = &stats->microburst;
    struct ofputil_microburst_counter before, elsewhere;

    memset(mb, 0, sizeof *mb);
    read_owned_counter(&band->acted_on,
                       &stats->packet_count, &stats->byte_count);
    read_counter(&band->admitted, &mb->exceeded.packets, &mb->exceeded.bytes);
    read_counter(&band->marked, &mb->marked.packets, &mb->marked.bytes);
    read_counter(&band->borrowed, &mb->borrowed.packets, &mb->borrowed.bytes);
    if (band->phantom) {
        read_counter(&band->phantom->capped,
                     &mb->capped.packets, &mb->capped.bytes);
        read_bursts(band->phantom, &mb->bursts);
    }
    mb->dropped.packets = stats->packet_count;
    mb->dropped.bytes = stats->byte_count;
    subtract(&mb->dropped, mb->exceeded.packets + mb->capped.packets,
             mb->exceeded.bytes + mb->capped.bytes);

    read_counter(&band->before, &before.packets, &before.bytes);
    read_counter(&band->elsewhere, &elsewhere.packets, &elsewhere.bytes);
    read_in(m, &mb->green.packets, &mb->green.bytes);
    subtract(&mb->green,
             before.packets + elsewhere.packets + mb->borrowed.packets
             + stats->packet_count,
             before.bytes + elsewhere.bytes + mb->borrowed.bytes
             + stats->byte_count);
}

static int
get_stats(const struct dp_meters *ms, uint32_t id,
          struct ofputil_meter_stats *stats, uint16_t n_bands)
{
    const struct dp_meter *m;

    if (id >= DP_METER_MAX) {
        return EFBIG;
    }
    m = dp_meter_lookup(ms, id);
    if (!m) {
        return ENOENT;
    }
    if (stats) {
        read_in(m, &stats->packet_in_count, &stats->byte_in_count);
        stats->n_bands = MIN(n_bands, m->n_bands);
        for (uint16_t i = 0; i < stats->n_bands; i++) {
            read_band(m, &m->bands[i], &stats->bands[i]);
        }
    }
    return 0;
}

int
dp_meters_get(const struct dp_meters *ms, uint32_t id,
              struct ofputil_meter_stats *stats, uint16_t n_bands)
{
    int error;

    ovs_mutex_lock(&ms->mutex); /* Not between two meters: take_counts(). */
    error = get_stats(ms, id, stats, n_bands);
    ovs_mutex_unlock(&ms->mutex);
    return error;
}

int
dp_meters_del(struct dp_meters *ms, uint32_t id,
              struct ofputil_meter_stats *stats, uint16_t n_bands)
{
    int error;

    ovs_mutex_lock(&ms->mutex);
    error = get_stats(ms, id, stats, n_bands);
    if (!error) {
        struct dp_meter *m = dp_meter_lookup(ms, id);

        put_meter(ms, id, NULL);
        if (m->phantoms) {
            atomic_count_dec(&ms->n_phantoms);
        }
        free_meter(m, NULL);
    }
    ovs_mutex_unlock(&ms->mutex);
    return error;
}
