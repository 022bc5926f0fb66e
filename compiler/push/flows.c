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
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/ofpbuf.h"
#include "push/session.h"
#include "sema/ident.h"
#include "unaligned.h"
#include "util.h"

void
switch_state_init(struct switch_state *state)
{
    hmap_init(&state->flows);
    hmap_init(&state->callers);
    hmap_init(&state->owners);
    state->n_connections = 0;
    hmap_init(&state->limits);
    hmap_init(&state->named);
    hmap_init(&state->meters);
    memset(state->n_flows, 0, sizeof state->n_flows);
}

void
flow_destroy(struct flow_entry *flow)
{
    ovs_list_remove(&flow->changed);
    minimatch_destroy(&flow->match);
    free(flow->ofpacts);
    free(flow->text);
    free(flow->port);
    free(flow);
}

void
switch_state_destroy(struct switch_state *state)
{
    struct flow_entry *flow;
    struct meter_entry *meter;

    HMAP_FOR_EACH_POP (flow, node, &state->flows) {
        flow_destroy(flow);
    }
    hmap_destroy(&state->flows);
    hmap_destroy(&state->callers);
    hmap_destroy(&state->owners);
    hmap_destroy(&state->limits);
    hmap_destroy(&state->named);
    HMAP_FOR_EACH_POP (meter, node, &state->meters) {
        free(meter);
    }
    hmap_destroy(&state->meters);
}

void
flows_swap(struct switch_state *a, struct switch_state *b)
{
    struct switch_state was = *a;

    hmap_swap(&a->flows, &b->flows);
    hmap_swap(&a->callers, &b->callers);
    hmap_swap(&a->owners, &b->owners);
    hmap_swap(&a->limits, &b->limits);
    hmap_swap(&a->named, &b->named);
    a->n_connections = b->n_connections;
    memcpy(a->n_flows, b->n_flows, sizeof a->n_flows);
    b->n_connections = was.n_connections;
    memcpy(b->n_flows, was.n_flows, sizeof b->n_flows);
}

static uint32_t
flow_entry_hash(const struct flow_entry *flow)
{
    return minimatch_hash(&flow->match,
                          hash_2words(flow->table, flow->priority));
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

const uint8_t *
flow_find_note(const struct flow_entry *flow, size_t n)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_NOTE && ofpact_get_NOTE(a)->length == n) {
            return ofpact_get_NOTE(a)->data;
        }
    }
    return NULL;
}

/* The number 'i' of a note (plan_limit_note(), plan_upcalls_note()). */
static uint32_t
read_note(const uint8_t *note, size_t i)
{
    return ntohl(get_unaligned_be32((const void *) (note + 2
                                                    + i * sizeof(ovs_be32))));
}

/* Sets 'zone' and 'connections' of the flow. */
static void
note_zone(struct flow_entry *flow)
{
    const struct miniflow *mask = &flow->match.mask->masks;
    const uint8_t *note;

    flow->zone = 0;
    flow->connections = 0;
    if (MINIFLOW_GET_U16(mask, ct_zone) != UINT16_MAX
        || MINIFLOW_GET_U32(mask, ct_mark) != UINT32_MAX) {
        return;
    }
    flow->zone = MINIFLOW_GET_U16(flow->match.flow, ct_zone);
    note = flow_find_note(flow, PLAN_NOTE_BYTES);
    if (note) {
        flow->connections = read_note(note, 0);
    }
}

/* Sets 'limited' of the flow, and what belongs to it. */
static void
note_upcalls(struct flow_entry *flow)
{
    const struct miniflow *mask = &flow->match.mask->masks;
    const uint8_t *note = flow_find_note(flow, PLAN_UPCALLS_NOTE_BYTES);

    flow->limited = 0;
    if (note && MINIFLOW_GET_U32(mask, in_port.ofp_port) == UINT16_MAX) {
        flow->limited = read_note(note, 0);
        flow->upcall_rate = read_note(note, 1);
        flow->upcall_burst = read_note(note, 2);
    }
}

static size_t *
count_of(struct switch_state *state, const struct flow_entry *flow)
{
    return (flow_is_ours(flow) ? &state->n_flows[flow->table].ours
            : &state->n_flows[flow->table].others);
}

static bool
limits_connections(const struct flow_entry *flow)
{
    return flow->connections && flow_is_ours(flow);
}

void
switch_state_put(struct switch_state *state, struct flow_entry *flow)
{
    const struct ofpact_meter *meter = flow_meter(flow);
    struct flow_entry *old = flow_find(state, flow);

    if (old) {
        switch_state_remove(state, old);
    }
    hmap_insert(&state->flows, &flow->node, flow_entry_hash(flow));
    ++*count_of(state, flow);
    flow->meter = meter ? meter->meter_id : 0;
    if (meter) {
        hmap_insert(&state->callers, &flow->caller, hash_int(flow->meter, 0));
    }
    note_zone(flow);
    if (flow->zone) {
        hmap_insert(&state->owners, &flow->owner, hash_int(flow->zone, 0));
        state->n_connections += limits_connections(flow);
    }
    note_upcalls(flow);
    if (flow->limited) {
        hmap_insert(&state->limits, &flow->limit, hash_int(flow->limited, 0));
    }
    if (flow->named) {
        hmap_insert(&state->named, &flow->name, flow->named);
    }
}

void
switch_state_remove(struct switch_state *state, struct flow_entry *flow)
{
    hmap_remove(&state->flows, &flow->node);
    --*count_of(state, flow);
    if (flow->meter) {
        hmap_remove(&state->callers, &flow->caller);
    }
    if (flow->zone) {
        hmap_remove(&state->owners, &flow->owner);
        state->n_connections -= limits_connections(flow);
    }
    if (flow->limited) {
        hmap_remove(&state->limits, &flow->limit);
    }
    if (flow->named) {
        hmap_remove(&state->named, &flow->name);
    }
    flow_destroy(flow);
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

struct flow_entry *
flow_clone(const struct flow_entry *flow)
{
    struct flow_entry *clone = xmemdup(flow, sizeof *flow);

    ovs_list_init(&clone->changed);
    minimatch_clone(&clone->match, &flow->match);
    clone->ofpacts = xmemdup(flow->ofpacts, flow->ofpacts_len);
    clone->text = NULL;
    clone->named = 0;
    clone->port = NULL;
    return clone;
}

static void
add_switch_flow(struct switch_state *state,
                const struct ofputil_flow_stats *fs)
{
    struct flow_entry *flow = xzalloc(sizeof *flow);

    ovs_list_init(&flow->changed);
    flow->table = fs->table_id;
    flow->priority = fs->priority;
    flow->cookie = ntohll(fs->cookie);
    minimatch_init(&flow->match, &fs->match);
    flow->ofpacts = xmemdup(fs->ofpacts, fs->ofpacts_len);
    flow->ofpacts_len = fs->ofpacts_len;
    flow->idle_timeout = fs->idle_timeout;
    flow->hard_timeout = fs->hard_timeout;
    flow->importance = fs->importance;
    flow->plain = !(fs->idle_timeout || fs->hard_timeout || fs->importance
                    || fs->flags);
    flow->packets = fs->packet_count;
    flow->bytes = fs->byte_count;
    switch_state_put(state, flow);
}

static int
read_flows(struct session *session, long long int deadline,
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
        session, ofputil_encode_flow_stats_request(&request, SESSION_PROTOCOL),
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

int
switch_to_flows(struct session *session, long long int deadline,
                struct switch_state *state)
{
    int error = read_flows(session, deadline, state);

    return error ? error : switch_to_meters(session, deadline, state);
}

void
flows_set_meter(struct switch_state *state, uint32_t plan_id, uint32_t id,
                struct ovs_list *changed)
{
    struct flow_entry *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, caller, hash_int(plan_id, 0),
                             &state->callers) {
        if (flow->meter == plan_id && flow_meter(flow)->meter_id != id) {
            flow_meter(flow)->meter_id = id;
            if (changed) {
                ovs_list_remove(&flow->changed);
                ovs_list_push_back(changed, &flow->changed);
            }
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
        /* Only if it is still the flow that we saw.  But for one bit, since
         * Open vSwitch looks up a cookie without a mask among all flows of
         * that cookie, which can be thousands, instead of the match. */
        fm.cookie = htonll(flow->cookie & ~UINT64_C(1));
        fm.cookie_mask = htonll(~UINT64_C(1));
    }
    return ofputil_encode_flow_mod(&fm, SESSION_PROTOCOL);
}

struct ofpbuf *
flow_add_message(const struct flow_entry *flow)
{
    return flow_message(flow, OFPFC_ADD);
}

struct ofpbuf *
flow_change_message(const struct flow_entry *flow)
{
    return flow_message(flow, flow->text ? OFPFC_ADD : OFPFC_DELETE_STRICT);
}
