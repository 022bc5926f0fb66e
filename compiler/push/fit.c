/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/run.h"

#include <stdarg.h>
#include <string.h>

#include "openvswitch/ofp-meter.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-switch.h"
#include "openvswitch/ofpbuf.h"
#include "push/keep.h"
#include "push/session.h"
#include "timeval.h"
#include "util.h"

/* A frame of 64 bytes takes 512 ns at 1 Gbps. */
enum { MAX_METER_RESOLUTION_NS = 1000 };

void
push_unfit(struct push *push, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    *vec_push(push->arena, &push->diff->unfit) = arena_vprintf(push->arena,
                                                               format, args);
    va_end(args);
}

const char *
push_unfit_reason(const struct push *push)
{
    const plan_names *unfit = &push->diff->unfit;
    const char *lines = unfit->v[0];

    for (size_t i = 1; i < unfit->n; i++) {
        lines = arena_printf(push->arena, "%s\n%s", lines, unfit->v[i]);
    }
    return lines;
}

static void
check_datapath(struct push *push)
{
    const char *bridge = push->target->bridge;
    const char *type = push->info.datapath_type;
    const char *wanted = push->plan->kernel ? "system" : "netdev";

    if (strcmp(type, wanted) && strcmp(type, "dummy")) {
        push_unfit(push, "bridge %s is not of the %s datapath, for which the "
                   "plan is; ovs-vsctl set bridge %s datapath_type=%s, then "
                   "apply, or give the --target of the bridge", bridge,
                   push->plan->kernel ? "kernel's" : "userspace", bridge,
                   wanted);
    }
}

/* Settings of the bridge that let packets past the tables.  Open vSwitch
 * forgets all flows when the datapath or the fail mode changes. */
void
push_check_settings(struct push *push)
{
    const char *bridge = push->target->bridge;

    if (!push->info.has_openflow14) {
        push_unfit(push, "bridge %s does not speak OpenFlow 1.4; ovs-vsctl "
                   "add bridge %s protocols OpenFlow14", bridge, bridge);
    }
    if (push->action == ACTION_CLEAR) {
        return;
    }
    check_datapath(push);
    if (push->info.controllers) {
        /* It may change any flow at any time, of ours, too. */
        push_unfit(push, "bridge %s has a controller of somebody else (%s), "
                   "which may change its flows; ovs-vsctl del-controller %s",
                   bridge, push->info.controllers, bridge);
    }
    if (push->info.may_be_in_band) {
        /* connmgr's in-band flows stand above all others, let anyone talk to
         * the manager's address with NORMAL, and are hidden from OpenFlow. */
        push_unfit(push, "bridge %s has a manager that may be in-band, past "
                   "all tables; ovs-vsctl set bridge %s "
                   "other_config:disable-in-band=true", bridge, bridge);
    }
    if (strcmp(push->info.fail_mode, "secure")) {
        push_unfit(push, "bridge %s forwards by itself when it has no flows; "
                   "ovs-vsctl set-fail-mode %s secure, then apply", bridge,
                   bridge);
    }
}

/* A tunnel is anybody's who can send to the node, a patch port another
 * bridge's.  All types that are not known are taken for such. */
bool
push_is_station_type(const char *type)
{
    static const char *const types[] = {
        "", "system", "internal", "tap", "dpdk", "dpdkvhostuser",
        "dpdkvhostuserclient", "afxdp", "afxdp-nonpmd", "dummy", "dummy-pmd",
    };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (!strcmp(type, types[i])) {
            return true;
        }
    }
    return false;
}

bool
push_interface_is_fit(const struct bridge_info *info, const char *bridge,
                      const char *name)
{
    return (strcmp(name, bridge)
            && ofputil_port_map_get_number(&info->ports, name) != OFPP_NONE
            && push_is_station_type(smap_get_def(&info->types, name, "")));
}

static void
check_type(struct push *push, const char *name)
{
    const char *type = smap_get_def(&push->info.types, name, "");

    if (!push_is_station_type(type)) {
        push_unfit(push, "interface %s of bridge %s is of type '%s', which is "
                   "no endpoint's: others' packets would come in its name; "
                   "ovs-vsctl set interface %s type=system options={}, or "
                   "bind the endpoint to another", name, push->target->bridge,
                   type, name);
    }
}

/* Appends 'name' to '*missing' if the bridge does not have it. */
static void
check_port(struct push *push, const char *name, const char **missing)
{
    if (!strcmp(name, push->target->bridge)) {
        push_unfit(push, "bridge %s is itself an interface that the intent "
                   "binds, which has the node's own traffic; bind the "
                   "endpoint to another", name);
        push->comparable = false;
    } else if (ofputil_port_map_get_number(&push->info.ports, name)
               == OFPP_NONE) {
        const char *place = plan_port_place(push->plan, name);

        *missing = arena_printf(push->arena, "%s %s%s%s%s", *missing, name,
                                place ? " (" : "", place ? place : "",
                                place ? ")" : "");
    }
}

bool
push_is_uncounted(const struct push *push)
{
    return push->plan->telemetry && !push->info.telemetry;
}

void
push_check_bridge(struct push *push)
{
    const char *missing = "", *reason;

    push->comparable = push->info.has_openflow14;
    push_check_settings(push);
    for (size_t i = 0; i < push->plan->ports.n; i++) {
        check_port(push, push->plan->ports.v[i].interface, &missing);
        check_type(push, push->plan->ports.v[i].interface);
    }
    if (missing[0]) {
        push_unfit(push, "bridge %s lacks interfaces that the intent binds:%s;"
                   " ovs-vsctl add-port them, take \"interface\" off their "
                   "endpoints, or leave them out with --partial",
                   push->target->bridge, missing);
        push->comparable = false;
    }
    reason = push_check_tunnel(push);
    if (reason) {
        push_unfit(push, "%s", reason);
        push->comparable = false;
    }
}

const char *
push_read_bridge(struct push *push)
{
    const char *reason = bridge_info_read(push->target->db,
                                          push->target->bridge,
                                          push->deadline, push->arena,
                                          &push->info);

    if (!reason) {
        push->diff->mirrors = push->info.mirrors;
        push->diff->uncounted = (push->action != ACTION_CLEAR
                                 && push_is_uncounted(push));
        push_check_bridge(push);
    }
    return reason;
}

const char *
push_check_database(const struct push_target *target,
                    const struct plan *plan)
{
    struct push_diff diff;
    struct push push;
    const char *reason;

    push_init(&push, target, ACTION_PLAN);
    push_set_plan(&push, plan);
    push_begin(&push, plan->arena, &diff);
    reason = push_read_bridge(&push);
    if (!reason && diff.unfit.n) {
        reason = push_unfit_reason(&push);
    }
    push_destroy(&push);
    return reason;
}

/* The first meter of 'plan' that borrows, or NULL. */
static const struct plan_meter *
find_borrower(const struct plan *plan)
{
    for (size_t i = 0; i < plan->meters.n; i++) {
        if (plan->meters.v[i].parent) {
            return &plan->meters.v[i];
        }
    }
    return NULL;
}

static void
check_borrowing(struct push *push,
                const struct ofputil_microburst_features *features)
{
    const uint32_t members = OFPUTIL_MICROBURST_M_PARENT
                             | OFPUTIL_MICROBURST_M_WEIGHT;
    const struct plan_meter *borrower = find_borrower(push->plan);

    if (borrower && (features->members & members) != members) {
        push_unfit(push, "bridge %s is on an Open vSwitch whose meters cannot "
                   "borrow from a parent, as tenants that share an uplink do "
                   "(%s%s%s; \"ovs-ofctl -O OpenFlow14 microburst-features "
                   "%s\"); run the ovs-vswitchd with Bulkhead's patches "
                   "there, then apply", push->target->bridge,
                   plan_meter_title(push->plan, borrower),
                   borrower->place ? ", " : "",
                   borrower->place ? borrower->place : "",
                   push->target->bridge);
    }
}

/* Returns true if the switch has all that the microburst meters of 'plan'
 * say. */
static bool
keeps_microbursts(const struct plan *plan,
                  const struct ofputil_microburst_features *features)
{
    const uint32_t members = OFPUTIL_MICROBURST_M_BURST_BYTES
                             | OFPUTIL_MICROBURST_M_PEAK_RATE
                             | OFPUTIL_MICROBURST_M_MARK
                             | OFPUTIL_MICROBURST_M_DEPTH
                             | OFPUTIL_MICROBURST_M_LIMIT
                             | OFPUTIL_MICROBURST_M_TAG;

    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *meter = &plan->meters.v[i];

        if (meter->microburst
            && ((features->members & members) != members
                || !(features->exceed
                     & 1u << meter_band_exceed(meter->exceed)))) {
            return false;
        }
    }
    return true;
}

/* Meters of the switch must keep a burst of a few frames.  Those of Open
 * vSwitch without our patches pass nothing if the burst is less than what the
 * rate delivers in a millisecond. */
static const char *
check_meters(struct push *push)
{
    struct ofputil_microburst_features features = { .resolution_ns = 0 };
    struct ovs_list replies;
    int error = session_multipart(
        push->session, ofputil_encode_meter_request(
            SESSION_VERSION, OFPUTIL_MICROBURST_FEATURES, 0),
        OFPTYPE_MICROBURST_FEATURES_STATS_REPLY, push->deadline, &replies);
    struct ofpbuf *reply;

    if (error && !ofperr_is_valid(error)) {
        return push_errno(push, "asking what its meters can do", error);
    }
    LIST_FOR_EACH (reply, list_node, &replies) {
        ofputil_decode_microburst_features(reply->data, &features);
    }
    ofpbuf_list_delete(&replies);
    if (!features.resolution_ns
        || features.resolution_ns > MAX_METER_RESOLUTION_NS) {
        push_unfit(push, "bridge %s is on an Open vSwitch whose meters "
                   "cannot keep bursts below a millisecond (\"ovs-ofctl -O "
                   "OpenFlow14 microburst-features %s\"); run the "
                   "ovs-vswitchd with Bulkhead's patches there, then apply",
                   push->target->bridge, push->target->bridge);
        push->comparable = false;
    } else if (!keeps_microbursts(push->plan, &features)) {
        push_unfit(push, "bridge %s is on an Open vSwitch whose meters have "
                   "no phantom queue, which a tenant's \"microburst\" needs "
                   "(\"ovs-ofctl -O OpenFlow14 microburst-features %s\"); run "
                   "the ovs-vswitchd with Bulkhead's patches there, then "
                   "apply", push->target->bridge, push->target->bridge);
    } else {
        check_borrowing(push, &features);
    }
    return NULL;
}

/* In any mode but the normal one, fragments other than the first have ports of
 * 0 or do not reach the tables at all. */
static const char *
check_fragments(struct push *push)
{
    struct ofputil_switch_config config;
    struct ovs_list replies;
    int error = session_multipart(
        push->session, ofpraw_alloc(OFPRAW_OFPT_GET_CONFIG_REQUEST,
                                  SESSION_VERSION, 0),
        OFPTYPE_GET_CONFIG_REPLY, push->deadline, &replies);

    if (error) {
        return push_errno(push, "asking what it does with fragments", error);
    }
    ofputil_decode_get_config_reply(
        ofpbuf_from_list(ovs_list_front(&replies))->data, &config);
    ofpbuf_list_delete(&replies);
    if (config.frag != OFPUTIL_FRAG_NORMAL) {
        push_unfit(push, "bridge %s handles fragments as '%s', so that they "
                   "are not judged with their connection; ovs-ofctl -O "
                   "OpenFlow14 set-frags %s normal", push->target->bridge,
                   ofputil_frag_handling_to_string(config.frag),
                   push->target->bridge);
    }
    return NULL;
}

const char *
push_check_switch(struct push *push)
{
    /* Those of the kernel's datapath are stock. */
    const char *reason = push->plan->kernel ? NULL : check_meters(push);

    return reason ? reason : check_fragments(push);
}

const char *
push_missing(const struct push_target *target, const plan_names *wanted,
             struct arena *arena, plan_names *missing)
{
    struct bridge_info info;
    const char *reason;

    bridge_info_init(&info);
    reason = bridge_info_read(target->db, target->bridge,
                              time_msec() + target->timeout_ms, arena, &info);
    for (size_t i = 0; !reason && i < wanted->n; i++) {
        if (ofputil_port_map_get_number(&info.ports, wanted->v[i])
            == OFPP_NONE) {
            *vec_push(arena, missing) = wanted->v[i];
        }
    }
    bridge_info_destroy(&info);
    return reason;
}
