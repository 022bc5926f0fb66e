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

#include "coverage.h"
#include "dp-packet.h"
#include "gcra.h"
#include "ip-remark.h"
#include "openvswitch/ofp-meter.h"
#include "ovs-rcu.h"
#include "timeval.h"
#include "util.h"

COVERAGE_DEFINE(datapath_drop_meter);
COVERAGE_DEFINE(datapath_drop_invalid_meter);

BUILD_ASSERT_DECL(NETDEV_MAX_BURST <= 32); /* For gcra_admit_batch(). */

struct dp_counter {
    atomic_uint64_t packets;
    atomic_uint64_t bytes;
};

OVS_ALIGNED_STRUCT(CACHE_LINE_SIZE, dp_meter_band) {
    struct gcra gcra;
    atomic_uint64_t action;     /* A packed 'struct dp_band_action'. */
    struct dp_counter before;   /* Passed the meter before it had this band. */
    struct dp_counter acted_on; /* Did not conform. */
    struct dp_counter admitted; /* Of these, those not dropped. */
    struct dp_counter marked;   /* Of these, marked CE. */
    struct dp_counter elsewhere; /* Nor these, but another band acted. */
};

struct dp_meter {
    struct cmap_node node;      /* In struct dp_meters's 'table'. */
    uint32_t id;
    uint32_t n_bands;
    struct dp_counter in;       /* All packets. */
    struct dp_meter_band bands[];
};

/* A packet that exceeds a band, while the bands are still being tried. */
struct excess {
    struct dp_meter_band *band; /* The one that acts on it. */
    struct dp_band_action action;
};

static void
count(struct dp_counter *c, uint64_t packets, uint64_t bytes)
{
    uint64_t orig;

    atomic_add_relaxed(&c->packets, packets, &orig);
    atomic_add_relaxed(&c->bytes, bytes, &orig);
}

static void
read_counter(const struct dp_counter *c_, uint64_t *packets, uint64_t *bytes)
{
    struct dp_counter *c = CONST_CAST(struct dp_counter *, c_);

    atomic_read_relaxed(&c->packets, packets);
    atomic_read_relaxed(&c->bytes, bytes);
}

/* Reads what of 'c' is not in 'part'.  Other threads may be counting, so it
 * does not rely on 'part' being smaller. */
static void
read_rest(const struct dp_counter *c, uint64_t part_packets,
          uint64_t part_bytes, struct ofputil_microburst_counter *rest)
{
    read_counter(c, &rest->packets, &rest->bytes);
    rest->packets -= MIN(rest->packets, part_packets);
    rest->bytes -= MIN(rest->bytes, part_bytes);
}

static void
init_counter(struct dp_counter *c, const struct dp_counter *from)
{
    uint64_t packets = 0, bytes = 0;

    if (from) {
        read_counter(from, &packets, &bytes);
    }
    atomic_init(&c->packets, packets);
    atomic_init(&c->bytes, bytes);
}

static uint64_t
pack_action(const struct dp_band_action *action)
{
    return (uint64_t) action->rate << 32 | action->verb << 8 | action->arg;
}

static struct dp_band_action
get_action(struct dp_meter_band *band)
{
    struct dp_band_action action;
    uint64_t word;

    atomic_read_relaxed(&band->action, &word);
    action.rate = word >> 32;
    action.verb = word >> 8 & 0xff;
    action.arg = word;
    return action;
}

void
dp_meters_init(struct dp_meters *ms, enum dp_meter_types types)
{
    cmap_init(&ms->table);
    ovs_mutex_init(&ms->mutex);
    ms->types = types;
}

/* Provider ids are small and consecutive: no hash spreads better. */
static uint32_t
hash_id(uint32_t id)
{
    return id;
}

void
dp_meters_destroy(struct dp_meters *ms)
{
    struct dp_meter *m;

    ovs_mutex_lock(&ms->mutex);
    CMAP_FOR_EACH (m, node, &ms->table) {
        cmap_remove(&ms->table, &m->node, hash_id(m->id));
        ovsrcu_postpone(free_cacheline, m);
    }
    cmap_destroy(&ms->table);
    ovs_mutex_unlock(&ms->mutex);
    ovs_mutex_destroy(&ms->mutex);
}

static struct dp_meter *
lookup(const struct dp_meters *ms, uint32_t id)
{
    struct dp_meter *m;

    CMAP_FOR_EACH_WITH_HASH (m, node, hash_id(id), &ms->table) {
        if (m->id == id) {
            return m;
        }
    }
    return NULL;
}

/* Configuration. */

void
dp_meters_get_features(const struct dp_meters *ms,
                       struct ofputil_meter_features *features)
{
    dp_meter_conf_features(ms->types, features);
}

/* Returns a new meter.  What 'old' (may be NULL) has counted, and holds in its
 * first 'n_bands' queues, goes over to it, under the contracts of 'old'. */
static struct dp_meter *
new_meter(uint32_t id, const struct dp_band_conf bcs[], uint16_t n_bands,
          const struct dp_meter *old, uint64_t now_ns)
{
    struct dp_meter *m = xzalloc_cacheline(sizeof *m
                                           + n_bands * sizeof *m->bands);

    m->id = id;
    m->n_bands = n_bands;
    init_counter(&m->in, old ? &old->in : NULL);
    for (uint16_t i = 0; i < n_bands; i++) {
        const struct dp_meter_band *ob = (old && i < old->n_bands
                                          ? &old->bands[i] : NULL);
        struct dp_meter_band *band = &m->bands[i];

        if (ob) {
            gcra_clone(&band->gcra, &ob->gcra, now_ns);
        } else {
            gcra_init(&band->gcra, &bcs[i].gcra, now_ns);
        }
        init_counter(&band->before, ob ? &ob->before : &m->in);
        init_counter(&band->acted_on, ob ? &ob->acted_on : NULL);
        init_counter(&band->admitted, ob ? &ob->admitted : NULL);
        init_counter(&band->marked, ob ? &ob->marked : NULL);
        init_counter(&band->elsewhere, ob ? &ob->elsewhere : NULL);
    }
    return m;
}

int
dp_meters_set(struct dp_meters *ms, uint32_t id,
              const struct ofputil_meter_config *config)
{
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
    m = old = lookup(ms, id);
    if (!old || old->n_bands != config->n_bands) {
        m = new_meter(id, bcs, config->n_bands, old, now_ns);
    }
    for (uint16_t i = 0; i < config->n_bands; i++) {
        atomic_store_relaxed(&m->bands[i].action,
                             pack_action(&bcs[i].action));
        gcra_reconfigure(&m->bands[i].gcra, &bcs[i].gcra, now_ns);
    }
    if (!old) {
        cmap_insert(&ms->table, &m->node, hash_id(id));
    } else if (m != old) {
        cmap_replace(&ms->table, &old->node, &m->node, hash_id(id));
        ovsrcu_postpone(free_cacheline, old);
    }
    ovs_mutex_unlock(&ms->mutex);

    return 0;
}

static void
read_band(const struct dp_meter *m, const struct dp_meter_band *band,
          struct ofputil_meter_band_stats *stats)
{
    struct ofputil_microburst_stats *mb = &stats->microburst;
    struct ofputil_microburst_counter before, elsewhere;

    memset(mb, 0, sizeof *mb);
    read_counter(&band->acted_on, &stats->packet_count, &stats->byte_count);
    read_counter(&band->admitted, &mb->exceeded.packets, &mb->exceeded.bytes);
    read_counter(&band->marked, &mb->marked.packets, &mb->marked.bytes);
    read_rest(&band->acted_on, mb->exceeded.packets, mb->exceeded.bytes,
              &mb->dropped);

    read_counter(&band->before, &before.packets, &before.bytes);
    read_counter(&band->elsewhere, &elsewhere.packets, &elsewhere.bytes);
    read_rest(&m->in,
              before.packets + elsewhere.packets + stats->packet_count,
              before.bytes + elsewhere.bytes + stats->byte_count, &mb->green);
}

int
dp_meters_get(const struct dp_meters *ms, uint32_t id,
              struct ofputil_meter_stats *stats, uint16_t n_bands)
{
    const struct dp_meter *m;

    if (id >= DP_METER_MAX) {
        return EFBIG;
    }
    m = lookup(ms, id);
    if (!m) {
        return ENOENT;
    }
    if (stats) {
        read_counter(&m->in, &stats->packet_in_count, &stats->byte_in_count);
        stats->n_bands = MIN(n_bands, m->n_bands);
        for (uint16_t i = 0; i < stats->n_bands; i++) {
            read_band(m, &m->bands[i], &stats->bands[i]);
        }
    }
    return 0;
}

int
dp_meters_del(struct dp_meters *ms, uint32_t id,
              struct ofputil_meter_stats *stats, uint16_t n_bands)
{
    int error;

    ovs_mutex_lock(&ms->mutex);
    error = dp_meters_get(ms, id, stats, n_bands);
    if (!error) {
        struct dp_meter *m = lookup(ms, id);

        cmap_remove(&ms->table, &m->node, hash_id(id));
        ovsrcu_postpone(free_cacheline, m);
    }
    ovs_mutex_unlock(&ms->mutex);
    return error;
}

/* Packets. */

/* Decides about the packets of a batch that do not conform to 'band' together.
 * Returns a bitmap of those that do not conform each by itself. */
static uint32_t
refuse(struct dp_meter_band *band, const struct dp_packet_batch *batch,
       uint32_t n, struct dp_meter_clock *clock)
{
    uint32_t sizes[NETDEV_MAX_BURST];
    struct dp_packet *packet;

    if (!clock->reread || gcra_is_behind(&band->gcra, clock->now_ns)) {
        clock->now_ns = time_nsec();
        clock->reread = true;
    } else if (n == 1) {
        return 1;
    }

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        sizes[i] = dp_packet_size(packet);
    }
    return gcra_admit_batch(&band->gcra, clock->now_ns, sizes, n);
}

/* Offers the packets, 'n' of them with 'bytes' in all, to 'band'.  For each
 * that does not conform, makes the band the one that acts on it, unless there
 * is one already, by 'excess_map', that has a rate as high.  Returns a bitmap
 * of the packets that do not conform. */
static uint32_t
try_band(struct dp_meter_band *band, const struct dp_packet_batch *batch,
         uint32_t n, uint32_t bytes, struct dp_meter_clock *clock,
         uint32_t excess_map, struct excess excess[])
{
    struct dp_band_action action;
    uint32_t refused;

    if (OVS_LIKELY(gcra_admit(&band->gcra, clock->now_ns, n, bytes))) {
        return 0;
    }

    refused = refuse(band, batch, n, clock);
    action = get_action(band);
    for (uint32_t left = refused; left; left = zero_rightmost_1bit(left)) {
        uint32_t bit = raw_ctz(left);

        if (!(excess_map & UINT32_C(1) << bit)
            || action.rate > excess[bit].action.rate) {
            excess[bit].band = band;
            excess[bit].action = action;
        }
    }
    return refused;
}

/* What one band did with packets of a batch, counted at once. */
struct tally {
    struct dp_meter_band *band;
    uint32_t packets, bytes;
    uint32_t admitted_packets, admitted_bytes;
    uint32_t marked_packets, marked_bytes;
};

static void
tally_flush(struct tally *t)
{
    if (t->packets) {
        count(&t->band->acted_on, t->packets, t->bytes);
        COVERAGE_ADD(datapath_drop_meter, t->packets - t->admitted_packets);
    }
    if (t->admitted_packets) {
        count(&t->band->admitted, t->admitted_packets, t->admitted_bytes);
    }
    if (t->marked_packets) {
        count(&t->band->marked, t->marked_packets, t->marked_bytes);
    }
    *t = (struct tally) { .band = NULL };
}

/* Returns true if 'packet' is admitted nevertheless. */
static bool
act_on_excess(const struct excess *excess, struct dp_packet *packet,
              struct tally *t)
{
    uint32_t size = dp_packet_size(packet);
    bool admitted = true;
    bool marked = false;

    switch (excess->action.verb) {
    case DP_BAND_DROP:
        admitted = false;
        break;
    case DP_BAND_RAISE_DROP_PRECEDENCE:
        ip_remark_drop_precedence(packet, excess->action.arg);
        break;
    case DP_BAND_SET_DSCP:
        ip_remark_dscp(packet, excess->action.arg);
        break;
    case DP_BAND_MARK_CE:
        admitted = marked = ip_remark_ce(packet);
        break;
    case DP_BAND_PASS:
        break;
    }

    if (t->band != excess->band) {
        tally_flush(t);
        t->band = excess->band;
    }
    t->packets++;
    t->bytes += size;
    t->admitted_packets += admitted;
    t->admitted_bytes += admitted ? size : 0;
    t->marked_packets += marked;
    t->marked_bytes += marked ? size : 0;
    return admitted;
}

static void
act_on_batch(struct dp_packet_batch *batch, size_t n, uint32_t excess_map,
             const struct excess excess[])
{
    struct tally tally = { .band = NULL };
    struct dp_packet *packet;
    size_t i;

    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n, packet, batch) {
        if (!(excess_map & UINT32_C(1) << i)
            || act_on_excess(&excess[i], packet, &tally)) {
            dp_packet_batch_refill(batch, packet, i);
        } else {
            dp_packet_delete(packet);
        }
    }
    tally_flush(&tally);
}

/* Counts what 'm->bands[i]' refused, as a bitmap in 'refused[i]', and what
 * another band acted on. */
static void
count_elsewhere(struct dp_meter *m, const struct dp_packet_batch *batch,
                const uint32_t refused[], const struct excess excess[])
{
    for (uint32_t i = 0; i < m->n_bands; i++) {
        struct dp_meter_band *band = &m->bands[i];
        uint32_t packets = 0, bytes = 0;
        struct dp_packet *packet;

        DP_PACKET_BATCH_FOR_EACH (j, packet, batch) {
            if (refused[i] & UINT32_C(1) << j && excess[j].band != band) {
                packets++;
                bytes += dp_packet_size(packet);
            }
        }
        if (packets) {
            count(&band->elsewhere, packets, bytes);
        }
    }
}

void
dp_meters_run(struct dp_meters *ms, uint32_t id,
              struct dp_packet_batch *batch, struct dp_meter_clock *clock)
{
    const size_t n = dp_packet_batch_size(batch);
    struct dp_meter *m = lookup(ms, id);
    struct excess excess[NETDEV_MAX_BURST];
    uint32_t refused[DP_METER_MAX_BANDS];
    uint32_t excess_map = 0, bytes = 0;
    struct dp_packet *packet;

    if (OVS_UNLIKELY(!m)) {
        COVERAGE_ADD(datapath_drop_invalid_meter, n);
        dp_packet_delete_batch(batch, true);
        return;
    }

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        bytes += dp_packet_size(packet);
    }
    count(&m->in, n, bytes);
    for (uint32_t i = 0; i < m->n_bands; i++) {
        refused[i] = try_band(&m->bands[i], batch, n, bytes, clock,
                              excess_map, excess);
        excess_map |= refused[i];
    }
    if (OVS_UNLIKELY(excess_map)) {
        if (m->n_bands > 1) {
            count_elsewhere(m, batch, refused, excess);
        }
        act_on_batch(batch, n, excess_map, excess);
    }
}
