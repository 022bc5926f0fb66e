/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/record-lists.h"

static const struct shape flow_shape = {
    sizeof(struct plan_flow), 5, {
        MEMBER(plan_flow, table, NUMBER_8),
        MEMBER(plan_flow, priority, NUMBER_16),
        MEMBER(plan_flow, cookie, COOKIE),
        MEMBER(plan_flow, match, TEXT),
        MEMBER(plan_flow, actions, TEXT),
    },
};

static const struct shape meter_shape = {
    sizeof(struct plan_meter), 25, {
        MEMBER(plan_meter, id, NUMBER_32),
        MEMBER(plan_meter, name, TEXT),
        MEMBER(plan_meter, lends, FLAG),
        MEMBER(plan_meter, split, FLAG),
        MEMBER(plan_meter, rest, FLAG),
        MEMBER(plan_meter, limits, FLAG),
        MEMBER(plan_meter, endpoint, TEXT_OR_NULL),
        MEMBER(plan_meter, class, TEXT_OR_NULL),
        MEMBER(plan_meter, dscp_in, FLAG),
        MEMBER(plan_meter, uplink, TEXT_OR_NULL),
        MEMBER(plan_meter, receive, FLAG),
        MEMBER(plan_meter, packets, FLAG),
        MEMBER(plan_meter, rate, NUMBER_64),
        MEMBER(plan_meter, burst, NUMBER_32),
        MEMBER(plan_meter, microburst, FLAG),
        MEMBER(plan_meter, exceed, NUMBER_8),
        MEMBER(plan_meter, peak, NUMBER_64),
        MEMBER(plan_meter, mark, NUMBER_32),
        MEMBER(plan_meter, depth, NUMBER_32),
        MEMBER(plan_meter, limit, NUMBER_32),
        MEMBER(plan_meter, tag, NUMBER_32),
        MEMBER(plan_meter, parent, NUMBER_32),
        MEMBER(plan_meter, weight, NUMBER_16),
        MEMBER(plan_meter, place, TEXT_OR_NULL),
        MEMBER(plan_meter, tags, FLAG),
    }, .n_first = 24,
};

static const struct shape cookie_shape = {
    sizeof(struct plan_cookie), 4, {
        MEMBER(plan_cookie, cookie, COOKIE),
        MEMBER(plan_cookie, kind, TEXT),
        MEMBER(plan_cookie, name, TEXT),
        MEMBER(plan_cookie, text, TEXT),
    },
};

static const struct shape port_shape = {
    sizeof(struct plan_port), 3, {
        MEMBER(plan_port, interface, TEXT),
        MEMBER(plan_port, endpoint, TEXT_OR_NULL),
        MEMBER(plan_port, said, TEXT_OR_NULL),
    }, .n_first = 1,
};

static const struct shape number_shape = {
    sizeof(struct plan_number), 3, {
        MEMBER(plan_number, name, TEXT),
        MEMBER(plan_number, number, NUMBER_32),
        MEMBER(plan_number, zone, NUMBER_16),
    },
};

static const struct shape network_shape = {
    sizeof(struct plan_network), 3, {
        MEMBER(plan_network, name, TEXT),
        MEMBER(plan_network, vni, NUMBER_32),
        MEMBER(plan_network, mtu, NUMBER_16),
    },
};

const struct shape name_shape = {
    sizeof(const char *), 1, { { 0, TEXT } },
};

const struct shape plan_shape = {
    sizeof(struct plan), 6, {
        MEMBER(plan, node, TEXT),
        MEMBER(plan, target, TEXT),
        MEMBER(plan, tunnel.type, TEXT_OR_NULL),
        MEMBER(plan, tunnel.local_ip, TEXT_OR_NULL),
        MEMBER(plan, kernel, FLAG),
        MEMBER(plan, telemetry, FLAG),
    },
};

const struct shape edit_shape = {
    sizeof(struct plan_record), 2, {
        MEMBER(plan_record, time, TEXT),
        MEMBER(plan_record, partial, FLAG),
    },
};

const struct record_list record_lists[N_RECORD_LISTS] = {
    { "flows", offsetof(struct plan, flows), &flow_shape },
    { "meters", offsetof(struct plan, meters), &meter_shape },
    { "cookies", offsetof(struct plan, cookies), &cookie_shape },
    { "ports", offsetof(struct plan, ports), &port_shape },
    { "tenants", offsetof(struct plan, tenants), &number_shape },
    { "endpoints", offsetof(struct plan, endpoints), &number_shape },
    { "networks", offsetof(struct plan, networks), &network_shape },
    { "by_tunnel", offsetof(struct plan, by_tunnel), &name_shape },
    { "elsewhere", offsetof(struct plan, elsewhere), &name_shape },
    { "unbound", offsetof(struct plan, unbound), &name_shape },
};

const any_vec *
record_list_of(const struct plan *plan, size_t i)
{
    const void *list = (const char *) plan + record_lists[i].offset;

    return list;
}
