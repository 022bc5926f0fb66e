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

/* Packets.
 *
 * The packets of a batch are bits of a bitmap, and 'sizes[]' are theirs. */

/* Decides about 'n' packets that do not conform to 'band' together.  Returns
 * those that do not conform each by itself. */
static uint32_t
refuse(struct dp_meter_band *band, const uint32_t sizes[], uint32_t n,
       struct dp_meter_clock *clock)
{
    if (!clock->reread || gcra_is_behind(&band->gcra, clock->now_ns)) {
        clock->now_ns = time_nsec();
        clock->reread = true;
    } else if (n == 1) {
        return 1;
    }
    return gcra_admit_batch(&band->gcra, clock->now_ns, sizes, n);
}

static void
count_map(struct dp_counter *c, uint32_t map, const uint32_t sizes[])
{
    uint32_t bytes = 0;

    if (map) {
        for (uint32_t left = map; left; left = zero_rightmost_1bit(left)) {
            bytes += sizes[raw_ctz(left)];
        }
        count(c, count_1bits(map), bytes);
    }
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
        ip_remark_drop_precedence(packet, action->arg);
        return true;
    case DP_BAND_SET_DSCP:
        ip_remark_dscp(packet, action->arg);
        return true;
    case DP_BAND_MARK_CE:
        return ip_remark_ce(packet);
    case DP_BAND_PASS:
        return true;
    }
    OVS_NOT_REACHED();
}

/* Lets 'band' act on the packets in 'map', which it refused.  Returns those
 * that are to be dropped. */
static uint32_t
act(struct dp_meter_band *band, const struct dp_band_action *action,
    struct dp_packet_batch *batch, uint32_t map, const uint32_t sizes[])
{
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
            count_map(&band->marked, map & ~dropped, sizes);
        }
    }
    count_map(&band->acted_on, map, sizes);
    COVERAGE_ADD(datapath_drop_meter, count_1bits(dropped));
    return dropped;
}

/* Lets the bands of 'm' act on what they refused, 'refused[i]' each.  Returns
 * the packets that are to be dropped. */
static uint32_t
act_on_refused(struct dp_meter *m, struct dp_packet_batch *batch,
               const uint32_t refused[], const uint32_t sizes[])
{
    struct dp_band_action actions[DP_METER_MAX_BANDS];
    uint32_t mine[DP_METER_MAX_BANDS];  /* What each one acts on. */
    uint32_t dropped = 0;

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
            dropped |= act(&m->bands[i], &actions[i], batch, mine[i], sizes);
        }
        count_map(&m->bands[i].elsewhere, refused[i] & ~mine[i], sizes);
    }
    return dropped;
}

static void
drop(struct dp_packet_batch *batch, size_t n, uint32_t map)
{
    struct dp_packet *packet;
    size_t i;

    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n, packet, batch) {
        if (map & UINT32_C(1) << i) {
            dp_packet_delete(packet);
        } else {
            dp_packet_batch_refill(batch, packet, i);
        }
    }
}

void
dp_meters_run(struct dp_meters *ms, uint32_t id,
              struct dp_packet_batch *batch, struct dp_meter_clock *clock)
{
    const size_t n = dp_packet_batch_size(batch);
    struct dp_meter *m = lookup(ms, id);
    uint32_t refused[DP_METER_MAX_BANDS];
    uint32_t sizes[NETDEV_MAX_BURST];
    uint32_t any = 0, bytes = 0;
    struct dp_packet *packet;

    if (OVS_UNLIKELY(!m)) {
        COVERAGE_ADD(datapath_drop_invalid_meter, n);
        dp_packet_delete_batch(batch, true);
        return;
    }

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        sizes[i] = dp_packet_size(packet);
        bytes += sizes[i];
    }
    count(&m->in, n, bytes);
    for (uint32_t i = 0; i < m->n_bands; i++) {
        struct dp_meter_band *band = &m->bands[i];

        refused[i] = (gcra_admit(&band->gcra, clock->now_ns, n, bytes)
                      ? 0 : refuse(band, sizes, n, clock));
        any |= refused[i];
    }
    if (OVS_UNLIKELY(any)) {
        drop(batch, n, act_on_refused(m, batch, refused, sizes));
    }
}
