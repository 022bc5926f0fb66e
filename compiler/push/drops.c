/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/drops.h"

#include <errno.h>
#include <stdlib.h>

#include "openvswitch/ofp-meter.h"
#include "openvswitch/ofpbuf.h"
#include "push/run.h"
#include "push/session.h"
#include "sema/ident.h"
#include "sema/reason.h"
#include "timeval.h"
#include "util.h"

static int
compare_cookies(const void *a_, const void *b_)
{
    const struct push_drop *a = a_, *b = b_;

    return a->cookie < b->cookie ? -1 : a->cookie > b->cookie;
}

/* Appends 'flows' to 'drops', those of one cookie as one. */
static void
merge_cookies(struct arena *arena, const push_drops_vec *flows,
              push_drops_vec *drops)
{
    struct push_drop *last = NULL;

    for (size_t i = 0; i < flows->n; i++) {
        const struct push_drop *flow = &flows->v[i];

        if (!last || last->cookie != flow->cookie) {
            last = vec_push(arena, drops);
            last->cookie = flow->cookie;
        }
        last->packets += flow->packets;
        last->bytes += flow->bytes;
    }
}

static void
add_flows(struct push *push, push_drops_vec *drops)
{
    push_drops_vec all = VEC_INIT;
    struct flow_entry *flow;

    HMAP_FOR_EACH (flow, node, &push->live.flows) {
        if (flow_is_ours(flow) && !flow->ofpacts_len
            && flow->cookie != (COOKIE_MARK | REASON_PIPELINE)) {
            *vec_push(push->arena, &all) = (struct push_drop) {
                .cookie = flow->cookie, .packets = flow->packets,
                .bytes = flow->bytes,
            };
        }
    }
    if (all.n) {
        qsort(all.v, all.n, sizeof *all.v, compare_cookies);
    }
    merge_cookies(push->arena, &all, drops);
}

static void
add_meter(struct arena *arena, push_drops_vec *drops,
          const struct ofputil_meter_stats *stats)
{
    struct push_drop drop = { .meter = stats->meter_id };

    for (size_t i = 0; i < stats->n_bands; i++) {
        drop.packets += stats->bands[i].packet_count;
        drop.bytes += stats->bands[i].byte_count;
    }
    if (plan_meter_is_ours(drop.meter)) {
        *vec_push(arena, drops) = drop;
    }
}

static int
add_meters(struct push *push, push_drops_vec *drops)
{
    struct ovs_list replies;
    struct ofpbuf bands, *msg;
    int error = session_multipart(
        push->session, ofputil_encode_meter_request(
            SESSION_VERSION, OFPUTIL_METER_STATS, OFPM13_ALL),
        OFPTYPE_METER_STATS_REPLY, push->deadline, &replies);

    ofpbuf_init(&bands, 0);
    LIST_FOR_EACH_POP (msg, list_node, &replies) {
        struct ofputil_meter_stats stats;
        int retval = 0;

        while (!error && !retval) {
            retval = ofputil_decode_meter_stats(msg, &stats, &bands);
            if (!retval) {
                add_meter(push->arena, drops, &stats);
            }
        }
        error = error ? error : retval == EOF ? 0 : EPROTO;
        ofpbuf_delete(msg);
    }
    ofpbuf_uninit(&bands);
    return error;
}

/* Corrects what is in '*drops' for a microburst meter: not all packets that
 * exceed it are dropped. */
static void
correct_meter(push_drops_vec *drops,
              const struct ofputil_microburst_meter_stats *stats)
{
    for (size_t i = 0; i < drops->n; i++) {
        struct push_drop *drop = &drops->v[i];

        if (drop->meter == stats->meter_id) {
            drop->packets = drop->bytes = 0;
            for (size_t j = 0; j < stats->n_bands; j++) {
                const struct ofputil_microburst_stats *s
                    = &stats->bands[j].stats;

                drop->packets += s->dropped.packets + s->capped.packets;
                drop->bytes += s->dropped.bytes + s->capped.bytes;
            }
        }
    }
}

/* A switch that has no microburst meters may not know the request. */
static int
correct_meters(struct push *push, push_drops_vec *drops)
{
    struct ovs_list replies;
    struct ofpbuf bands, *msg;
    int error = session_multipart(
        push->session, ofputil_encode_meter_request(
            SESSION_VERSION, OFPUTIL_MICROBURST_STATS, OFPM13_ALL),
        OFPTYPE_MICROBURST_STATS_REPLY, push->deadline, &replies);

    ofpbuf_init(&bands, 0);
    LIST_FOR_EACH_POP (msg, list_node, &replies) {
        struct ofputil_microburst_meter_stats stats;
        int retval = 0;

        while (!error && !retval) {
            retval = ofputil_decode_microburst_stats(msg, &stats, &bands);
            if (!retval) {
                correct_meter(drops, &stats);
            }
        }
        error = error ? error : retval == EOF ? 0 : EPROTO;
        ofpbuf_delete(msg);
    }
    ofpbuf_uninit(&bands);
    return ofperr_is_valid(error) ? 0 : error;
}

static const char *
add_upcalls(struct push *push, push_drops_vec *drops)
{
    const char *reason = upcalls_read(push);
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &push->limits.upcalls.live) {
        const struct upcall_limit *limit = node->data;

        *vec_push(push->arena, drops) = (struct push_drop) {
            .tenant = upcalls_tenant(node->name), .packets = limit->dropped,
        };
    }
    return reason;
}

static const char *
read_drops(struct push *push, push_drops_vec *drops)
{
    const char *reason = bridge_info_read(push->target->db,
                                          push->target->bridge,
                                          push->deadline, push->arena,
                                          &push->info);
    int error;

    reason = reason ? reason : push_connect(push);
    if (reason) {
        return reason;
    }
    error = switch_to_flows(push->session, push->deadline, &push->live);
    if (error) {
        return push_errno(push, "reading flows", error);
    }
    add_flows(push, drops);
    error = add_meters(push, drops);
    error = error ? error : correct_meters(push, drops);
    return (error ? push_errno(push, "reading meters", error)
            : add_upcalls(push, drops));
}

const char *
push_drops(const struct push_target *target, struct arena *arena,
           push_drops_vec *drops)
{
    struct push push = {
        .target = target, .arena = arena,
        .deadline = time_msec() + target->timeout_ms,
    };
    const char *reason;

    *drops = (push_drops_vec) VEC_INIT;
    switch_state_init(&push.wanted);
    switch_state_init(&push.live);
    limits_init(&push.limits);
    bridge_info_init(&push.info);
    reason = read_drops(&push, drops);
    session_close(push.session);
    switch_state_destroy(&push.wanted);
    switch_state_destroy(&push.live);
    limits_destroy(&push.limits);
    bridge_info_destroy(&push.info);
    return reason;
}
