/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_FLOWS_H
#define PUSH_FLOWS_H 1

/* Sets of flows and meters, from a plan or from a switch, and the messages
 * that turn one into the other. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "openvswitch/match.h"
#include "plan/plan.h"

struct ofputil_port_map;
struct vconn;

/* A flow.  Its key is (table, priority, match). */
struct flow_entry {
    struct hmap_node node;
    uint8_t table;
    uint16_t priority;
    uint64_t cookie;
    struct minimatch match;
    struct ofpact *ofpacts;
    size_t ofpacts_len;
    bool plain;                 /* No timeouts, flags or importance, as all
                                 * flows of a plan. */
    const char *text;           /* Of a plan's flow; NULL for a switch's. */
    uint64_t packets, bytes;    /* That have matched a switch's flow. */
};

struct meter_entry {
    struct hmap_node node;
    uint32_t id;
    bool simple;                /* Nothing that plan_meter cannot say. */
    struct plan_meter limit;    /* If 'simple'; without id and name. */
    bool used;                  /* By a flow of ours, or by the plan. */
    bool used_by_others;
};

struct switch_state {
    struct hmap flows;          /* Contains "struct flow_entry"s. */
    struct hmap meters;         /* Contains "struct meter_entry"s. */
};

void switch_state_init(struct switch_state *);
void switch_state_destroy(struct switch_state *);

/* Adds the flows of 'plan', its port names resolved by 'ports'.  Returns
 * NULL, or a reason in 'plan->arena'. */
const char *plan_to_flows(const struct plan *,
                          const struct ofputil_port_map *ports,
                          struct switch_state *);

/* Adds all flows, and the meters in Bulkhead's range, that the switch holds.
 * Returns 0 or a positive errno. */
int switch_to_flows(struct vconn *, long long int deadline,
                    struct switch_state *);

bool flow_is_ours(const struct flow_entry *);
struct flow_entry *flow_find(const struct switch_state *,
                             const struct flow_entry *key);
bool flow_same(const struct flow_entry *, const struct flow_entry *);
struct meter_entry *meter_find(const struct switch_state *, uint32_t id);

/* In 'flows', calls of meter 'from[i]' become calls of 'to[i]'. */
void flows_renumber_meters(struct switch_state *, const uint32_t *from,
                           const uint32_t *to, size_t n);

/* Sets 'used' of the meters that Bulkhead's flows of 'state' call, and
 * 'used_by_others' of those that other flows call. */
void flows_mark_meters(struct switch_state *);

/* Messages.  The caller owns them. */
struct ofpbuf *flow_add_message(const struct flow_entry *);
struct ofpbuf *flow_delete_message(const struct flow_entry *);
struct ofpbuf *meter_add_message(uint32_t id, const struct plan_meter *);
struct ofpbuf *meter_delete_message(uint32_t id);

#endif /* push/flows.h */
