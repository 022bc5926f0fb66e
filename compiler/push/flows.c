/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "hash.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/ofpbuf.h"
#include "push/session.h"
#include "sema/ident.h"
#include "util.h"

void
switch_state_init(struct switch_state *state)
{
    hmap_init(&state->flows);
    hmap_init(&state->meters);
}

void
switch_state_destroy(struct switch_state *state)
{
    struct flow_entry *flow;
    struct meter_entry *meter;

    HMAP_FOR_EACH_POP (flow, node, &state->flows) {
        minimatch_destroy(&flow->match);
        free(flow->ofpacts);
        free(flow);
    }
    hmap_destroy(&state->flows);
    HMAP_FOR_EACH_POP (meter, node, &state->meters) {
        free(meter);
    }
    hmap_destroy(&state->meters);
}

static uint32_t
flow_entry_hash(const struct flow_entry *flow)
{
    return minimatch_hash(&flow->match,
                          hash_2words(flow->table, flow->priority));
}

static void
flow_entry_insert(struct switch_state *state, struct flow_entry *flow)
{
    hmap_insert(&state->flows, &flow->node, flow_entry_hash(flow));
}

struct flow_entry *
flow_find(const struct switch_state *state, const struct flow_entry *key)
{
    struct flow_entry *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, node, flow_entry_hash(key), &state->flows) {
        if (flow->table == key->table && flow->priority == key->priority
            && minimatch_equal(&flow->match, &key->match)) {
            return flow;
        }
    }
    return NULL;
}

bool
flow_is_ours(const struct flow_entry *flow)
{
    return (flow->cookie & COOKIE_MARK_MASK) == COOKIE_MARK;
}

bool
flow_same(const struct flow_entry *a, const struct flow_entry *b)
{
    /* The same actions may be encoded in more than one way. */
    return (a->cookie == b->cookie && a->plain == b->plain
            && ofpacts_equal_stringwise(a->ofpacts, a->ofpacts_len,
                                        b->ofpacts, b->ofpacts_len));
}

/* Turns 'fm' into what a switch would make of it: text and wire have more
 * than one way to say the same match.  Moves 'fm''s contents to 'flow'.
 * Returns NULL, or a reason that the caller must free. */
static char *
normalize_flow(struct ofputil_flow_mod *fm, struct flow_entry *flow)
{
    struct ofpbuf *msg = ofputil_encode_flow_mod(fm, SESSION_PROTOCOL);
    struct ofputil_flow_mod decoded;
    struct ofpbuf ofpacts;
    enum ofperr ofperr;

    ofpbuf_init(&ofpacts, 0);
    ofpmsg_update_length(msg);
    ofperr = ofputil_decode_flow_mod(&decoded, msg->data, SESSION_PROTOCOL,
                                     NULL, NULL, &ofpacts, OFPP_MAX,
                                     OFPTT_MAX);
    if (!ofperr) {
        flow->table = decoded.table_id;
        flow->priority = decoded.priority;
        flow->cookie = ntohll(decoded.new_cookie);
        flow->match = decoded.match;    /* Moves ownership. */
        flow->ofpacts = xmemdup(decoded.ofpacts, decoded.ofpacts_len);
        flow->ofpacts_len = decoded.ofpacts_len;
    }
    ofpbuf_uninit(&ofpacts);
    ofpbuf_delete(msg);
    minimatch_destroy(&fm->match);
    free(fm->ofpacts);
    return ofperr ? xstrdup(ofperr_to_string(ofperr)) : NULL;
}

/* Adds one flow of a plan.  Returns NULL, or a reason that the caller must
 * free. */
static char *
add_plan_flow(const char *text, const struct ofputil_port_map *ports,
              struct switch_state *state)
{
    enum ofputil_protocol usable;
    struct ofputil_flow_mod fm;
    char *error = parse_ofp_str(&fm, OFPFC_ADD, text, ports, NULL, &usable);

    if (error) {
        return error;
    }

    struct flow_entry *flow = xzalloc(sizeof *flow);
    error = normalize_flow(&fm, flow);
    if (error) {
        free(flow);
        return error;
    }
    flow->plain = true;
    flow->text = text;
    flow_entry_insert(state, flow);
    return usable & SESSION_PROTOCOL
           ? NULL : xstrdup("needs another version of OpenFlow");
}

const char *
plan_to_flows(const struct plan *plan, const struct ofputil_port_map *ports,
              struct switch_state *state)
{
    for (size_t i = 0; i < plan->flows.n; i++) {
        const char *text = plan_flow_string(plan, &plan->flows.v[i]);
        char *error = add_plan_flow(text, ports, state);

        if (error) {
            const char *reason = arena_printf(plan->arena, "flow '%s': %s",
                                              text, error);
            free(error);
            return reason;
        }
    }
    return NULL;
}

static void
add_switch_flow(struct switch_state *state,
                const struct ofputil_flow_stats *fs)
{
    struct flow_entry *flow = xzalloc(sizeof *flow);

    flow->table = fs->table_id;
    flow->priority = fs->priority;
    flow->cookie = ntohll(fs->cookie);
    minimatch_init(&flow->match, &fs->match);
    flow->ofpacts = xmemdup(fs->ofpacts, fs->ofpacts_len);
    flow->ofpacts_len = fs->ofpacts_len;
    flow->plain = !(fs->idle_timeout || fs->hard_timeout || fs->importance
                    || fs->flags);
    flow->packets = fs->packet_count;
    flow->bytes = fs->byte_count;
    flow_entry_insert(state, flow);
}

static int
read_flows(struct vconn *vconn, long long int deadline,
           struct switch_state *state)
{
    struct ofputil_flow_stats_request request = {
        .out_port = OFPP_ANY, .out_group = OFPG_ANY, .table_id = OFPTT_ALL,
    };
    struct ovs_list replies;
    struct ofpbuf ofpacts, *msg;
    int error;

    match_init_catchall(&request.match);
    error = session_multipart(
        vconn, ofputil_encode_flow_stats_request(&request, SESSION_PROTOCOL),
        OFPTYPE_FLOW_STATS_REPLY, deadline, &replies);
    ofpbuf_init(&ofpacts, 0);
    LIST_FOR_EACH_POP (msg, list_node, &replies) {
        struct ofputil_flow_stats fs;
        int retval = 0;

        while (!error && !retval) {
            retval = ofputil_decode_flow_stats_reply(&fs, msg, false,
                                                     &ofpacts);
            if (!retval) {
                add_switch_flow(state, &fs);
            }
        }
        error = error ? error : retval == EOF ? 0 : EPROTO;
        ofpbuf_delete(msg);
    }
    ofpbuf_uninit(&ofpacts);
    return error;
}

static uint16_t
meter_flags(const struct plan_meter *meter)
{
    return ((meter->packets ? OFPMF13_PKTPS : OFPMF13_KBPS)
            | OFPMF13_BURST | OFPMF13_STATS);
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
        || mb->peak_rate != band->rate || mb->parent || mb->weight
        || (mb->exceed != OFPUTIL_MICROBURST_DROP
            && mb->exceed != OFPUTIL_MICROBURST_ECN)) {
        return false;
    }
    limit->microburst = true;
    limit->rate = band->rate;
    limit->burst = mb->burst_bytes;
    limit->ecn = mb->exceed == OFPUTIL_MICROBURST_ECN;
    limit->mark = mb->mark;
    limit->depth = mb->depth;
    limit->limit = mb->limit;
    limit->tag = mb->tag;
    return true;
}

static void
add_switch_meter(struct switch_state *state,
                 const struct ofputil_meter_config *mc)
{
    struct meter_entry *meter = xzalloc(sizeof *meter);

    meter->id = mc->meter_id;
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

static int
read_meters(struct vconn *vconn, long long int deadline,
            struct switch_state *state)
{
    struct ovs_list replies;
    struct ofpbuf bands, *msg;
    int error = session_multipart(
        vconn, ofputil_encode_meter_request(SESSION_VERSION,
                                            OFPUTIL_METER_CONFIG, OFPM13_ALL),
        OFPTYPE_METER_CONFIG_STATS_REPLY, deadline, &replies);

    ofpbuf_init(&bands, 0);
    LIST_FOR_EACH_POP (msg, list_node, &replies) {
        struct ofputil_meter_config mc;
        int retval = 0;

        while (!error && !retval) {
            retval = ofputil_decode_meter_config(msg, &mc, &bands);
            if (!retval && plan_meter_is_ours(mc.meter_id)) {
                add_switch_meter(state, &mc);
            }
        }
        error = error ? error : retval == EOF ? 0 : EPROTO;
        ofpbuf_delete(msg);
    }
    ofpbuf_uninit(&bands);
    return error;
}

int
switch_to_flows(struct vconn *vconn, long long int deadline,
                struct switch_state *state)
{
    int error = read_flows(vconn, deadline, state);

    return error ? error : read_meters(vconn, deadline, state);
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

/* The meter action of 'flow', or NULL. */
static struct ofpact_meter *
flow_meter(struct flow_entry *flow)
{
    struct ofpact *a;

    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_METER) {
            return ofpact_get_METER(a);
        }
    }
    return NULL;
}

void
flows_renumber_meters(struct switch_state *state, const uint32_t *from,
                      const uint32_t *to, size_t n)
{
    struct flow_entry *flow;

    HMAP_FOR_EACH (flow, node, &state->flows) {
        struct ofpact_meter *meter = flow_meter(flow);

        for (size_t i = 0; meter && i < n; i++) {
            if (meter->meter_id == from[i]) {
                meter->meter_id = to[i];
                break;
            }
        }
    }
}

void
flows_mark_meters(struct switch_state *state)
{
    struct flow_entry *flow;

    HMAP_FOR_EACH (flow, node, &state->flows) {
        struct ofpact_meter *action = flow_meter(flow);
        struct meter_entry *meter = (action ? meter_find(state,
                                                         action->meter_id)
                                     : NULL);

        if (meter && flow_is_ours(flow)) {
            meter->used = true;
        } else if (meter) {
            meter->used_by_others = true;
        }
    }
}

static struct ofpbuf *
flow_message(const struct flow_entry *flow, uint16_t command)
{
    struct ofputil_flow_mod fm = {
        .match = flow->match,
        .priority = flow->priority,
        .table_id = flow->table,
        .command = command,
        .buffer_id = UINT32_MAX,
        .out_port = OFPP_ANY,
        .out_group = OFPG_ANY,
    };

    if (command == OFPFC_ADD) {
        fm.new_cookie = htonll(flow->cookie);
        fm.ofpacts = flow->ofpacts;
        fm.ofpacts_len = flow->ofpacts_len;
    } else {
        /* Only if it is still the flow that we saw. */
        fm.cookie = htonll(flow->cookie);
        fm.cookie_mask = OVS_BE64_MAX;
    }
    return ofputil_encode_flow_mod(&fm, SESSION_PROTOCOL);
}

struct ofpbuf *
flow_add_message(const struct flow_entry *flow)
{
    return flow_message(flow, OFPFC_ADD);
}

struct ofpbuf *
flow_delete_message(const struct flow_entry *flow)
{
    return flow_message(flow, OFPFC_DELETE_STRICT);
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
            .exceed = (meter->ecn ? OFPUTIL_MICROBURST_ECN
                       : OFPUTIL_MICROBURST_DROP),
            .burst_bytes = meter->burst, .peak_rate = meter->rate,
            .mark = meter->mark, .depth = meter->depth,
            .limit = meter->limit, .tag = meter->tag,
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
