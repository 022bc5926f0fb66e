/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/flows.h"

#include <errno.h>
#include <stdlib.h>

#include "hash.h"
#include "intent/exceed.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofpbuf.h"
#include "push/session.h"
#include "util.h"

static uint16_t
meter_flags(const struct plan_meter *meter)
{
    return ((meter->packets ? OFPMF13_PKTPS : OFPMF13_KBPS)
            | OFPMF13_BURST | OFPMF13_STATS);
}

/* What the band does with packets that exceed it, and the other way round. */
static const uint8_t band_exceeds[] = {
    [EXCEED_DROP] = OFPUTIL_MICROBURST_DROP,
    [EXCEED_ECN] = OFPUTIL_MICROBURST_ECN,
    [EXCEED_PASS] = OFPUTIL_MICROBURST_PASS,
};

uint8_t
meter_band_exceed(uint8_t exceed)
{
    return (exceed >= EXCEED_DSCP ? OFPUTIL_MICROBURST_DSCP
            : exceed_is_valid(exceed) ? band_exceeds[exceed]
            : OFPUTIL_MICROBURST_DROP);
}

static uint8_t
exceed_of_band(const struct ofputil_microburst *mb)
{
    for (size_t i = 0; i < ARRAY_SIZE(band_exceeds); i++) {
        if (band_exceeds[i] == mb->exceed) {
            return i;
        }
    }
    return EXCEED_DSCP + mb->dscp;
}

/* If a meter of the switch is a microburst meter that 'limit' can say, puts it
 * there and returns true. */
static bool
read_microburst(const struct ofputil_meter_config *mc,
                struct plan_meter *limit)
{
    const struct ofputil_meter_band *band = &mc->bands[0];
    const struct ofputil_microburst *mb = &band->microburst;

    if (mc->n_bands != 1 || band->type != OFPMBT13_EXPERIMENTER
        || mc->flags != meter_flags(limit) || !mb->burst_bytes
        || !mb->weight != !mb->parent) {
        return false;
    }
    limit->microburst = true;
    limit->rate = band->rate;
    limit->burst = mb->burst_bytes;
    limit->exceed = exceed_of_band(mb);
    limit->mark = mb->mark;
    limit->depth = mb->depth;
    limit->limit = mb->limit;
    limit->tag = mb->tag;
    limit->peak = mb->peak_rate;
    limit->parent = mb->parent;
    limit->weight = mb->weight;
    return true;
}

static void
add_switch_meter(struct switch_state *state,
                 const struct ofputil_meter_config *mc)
{
    struct meter_entry *meter = xzalloc(sizeof *meter);

    meter->id = mc->meter_id;
    if (mc->n_bands && mc->bands[0].type == OFPMBT13_EXPERIMENTER) {
        meter->parent = mc->bands[0].microburst.parent;
    }
    meter->limit.packets = (mc->flags & OFPMF13_PKTPS) != 0;
    meter->simple = (mc->n_bands == 1 && mc->bands[0].type == OFPMBT13_DROP
                     && mc->flags == meter_flags(&meter->limit));
    if (meter->simple) {
        meter->limit.rate = mc->bands[0].rate;
        meter->limit.burst = mc->bands[0].burst_size;
    } else {
        meter->simple = read_microburst(mc, &meter->limit);
    }
    hmap_insert(&state->meters, &meter->node, hash_int(meter->id, 0));
}

struct ofpbuf *
meters_request(void)
{
    return ofputil_encode_meter_request(SESSION_VERSION, OFPUTIL_METER_CONFIG,
                                        OFPM13_ALL);
}

int
meters_decode(struct ofpbuf *reply, struct switch_state *state)
{
    struct ofputil_meter_config mc;
    struct ofpbuf bands;
    int retval;

    ofpbuf_init(&bands, 0);
    do {
        retval = ofputil_decode_meter_config(reply, &mc, &bands);
        if (!retval && plan_meter_is_ours(mc.meter_id)) {
            add_switch_meter(state, &mc);
        }
    } while (!retval);
    ofpbuf_uninit(&bands);
    return retval == EOF ? 0 : EPROTO;
}

int
switch_to_meters(struct session *session, long long int deadline,
                 struct switch_state *state)
{
    struct ovs_list replies;
    struct ofpbuf *reply;
    int error = session_multipart(session, meters_request(),
                                  OFPTYPE_METER_CONFIG_STATS_REPLY, deadline,
                                  &replies);

    LIST_FOR_EACH_POP (reply, list_node, &replies) {
        error = error ? error : meters_decode(reply, state);
        ofpbuf_delete(reply);
    }
    return error;
}

void
meter_put(struct switch_state *state, uint32_t id,
          const struct plan_meter *limit)
{
    struct meter_entry *meter = xzalloc(sizeof *meter);

    meter->id = id;
    meter->simple = meter->kept = true;
    meter->limit = *limit;
    meter->limit.name = meter->limit.uplink = NULL;
    meter->limit.endpoint = meter->limit.place = meter->limit.class = NULL;
    meter->parent = limit->parent;
    hmap_insert(&state->meters, &meter->node, hash_int(id, 0));
}

struct meter_entry *
meter_find(const struct switch_state *state, uint32_t id)
{
    struct meter_entry *meter;

    HMAP_FOR_EACH_WITH_HASH (meter, node, hash_int(id, 0), &state->meters) {
        if (meter->id == id) {
            return meter;
        }
    }
    return NULL;
}

unsigned int
meter_level(const struct switch_state *state, const struct meter_entry *meter)
{
    unsigned int level = 0;

    while (meter && meter->parent && level < METER_MAX_LEVELS - 1) {
        meter = meter_find(state, meter->parent);
        level++;
    }
    return level;
}

static void
mark_called(const struct switch_state *state, struct meter_entry *meter)
{
    const struct flow_entry *flow;

    meter->used = meter->used_by_others = false;
    HMAP_FOR_EACH_WITH_HASH (flow, caller, hash_int(meter->id, 0),
                             &state->callers) {
        if (flow->meter != meter->id) {
            continue;
        } else if (flow_is_ours(flow)) {
            meter->used = true;
        } else {
            meter->used_by_others = true;
        }
    }
}

/* Can others borrow from it, as from an uplink's or a tenant's? */
static bool
may_lend(const struct meter_entry *meter)
{
    return (!meter->simple
            || (meter->limit.microburst && !meter->limit.peak
                && !plan_meter_tags(&meter->limit)));
}

/* Of 'n_levels' levels of those that borrow from it. */
static void
mark_used(const struct switch_state *state, struct meter_entry *meter,
          unsigned int n_levels)
{
    struct meter_entry *child;

    mark_called(state, meter);
    if (n_levels && may_lend(meter)) {
        HMAP_FOR_EACH (child, node, &state->meters) {
            if (child->parent == meter->id) {
                mark_used(state, child, n_levels - 1);
                meter->used |= child->used;
            }
        }
    }
}

void
meter_mark(const struct switch_state *state, struct meter_entry *meter)
{
    mark_used(state, meter, METER_MAX_LEVELS - 1);
}

struct ofpbuf *
meter_add_message(uint32_t id, const struct plan_meter *meter)
{
    struct ofputil_meter_band drop = {
        .type = OFPMBT13_DROP, .rate = meter->rate,
        .burst_size = meter->burst,
    };
    struct ofputil_meter_band microburst = {
        .type = OFPMBT13_EXPERIMENTER, .rate = meter->rate,
        .microburst = {
            .exceed = meter_band_exceed(meter->exceed),
            .dscp = (meter->exceed >= EXCEED_DSCP
                     ? (meter->exceed - EXCEED_DSCP) & 63 : 0),
            .burst_bytes = meter->burst, .peak_rate = meter->peak,
            .mark = meter->mark, .depth = meter->depth,
            .limit = meter->limit, .tag = meter->tag,
            .parent = meter->parent, .weight = meter->weight,
        },
    };
    struct ofputil_meter_mod mm = {
        .command = OFPMC13_ADD,
        .meter = {
            .meter_id = id,
            .flags = meter_flags(meter),
            .n_bands = 1,
            .bands = meter->microburst ? &microburst : &drop,
        },
    };

    return ofputil_encode_meter_mod(SESSION_VERSION, &mm);
}

struct ofpbuf *
meter_delete_message(uint32_t id)
{
    struct ofputil_meter_mod mm = {
        .command = OFPMC13_DELETE,
        .meter = { .meter_id = id },
    };

    return ofputil_encode_meter_mod(SESSION_VERSION, &mm);
}
