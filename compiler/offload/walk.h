/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_WALK_H
#define OFFLOAD_WALK_H 1

/* A packet's way through the tables, collapsed into the megaflows that the
 * datapath would hold for it.
 *
 * A megaflow is one pass: until the packet has gone out, is dropped, or goes
 * through ct() and comes back with what connection tracking knows of it.  Its
 * match is what all tables of the pass have looked at, its actions are those
 * of the datapath.  This is what ofproto-dpif-xlate does in a switch, for the
 * actions that plans have, with the same classifier and the same functions for
 * the datapath's actions (lib/odp-util.h). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "openvswitch/flow.h"
#include "plan/plan.h"

struct ds;
struct ir_prog;
struct nlattr;
struct walker;

struct megaflow {
    struct flow key;
    struct flow_wildcards wc;
    uint32_t chain;             /* 0: the packet comes from its port. */
    const struct nlattr *actions;       /* OVS_ACTION_ATTR_*; none: drop. */
    size_t actions_len;         /* In bytes. */
};

VEC_TYPEDEF(megaflow_vec, struct megaflow);

/* Append match and actions as ofproto/trace prints them, but for numbers that
 * only a switch gives: of ports, meters and recirculations. */
void megaflow_put_match(const struct megaflow *, struct ds *);
void megaflow_put_actions(const struct megaflow *, struct ds *);

/* What connection tracking would say, in every zone that it is asked for. */
enum walk_state {
    WALK_OPENS,                 /* Nothing is known: it opens a connection. */
    WALK_FORWARD,               /* Of one, from the side that opened it. */
    WALK_REPLY,                 /* Of one, from the other side. */
};

struct walk {
    megaflow_vec megaflows;
    bool tracked;               /* Did it pass through ct()? */
    size_t n_outputs;
    uint64_t cookie;            /* Of the last flow that it met. */
    uint64_t rule;              /* Of the last that is a rule's; 0: none. */
    const char *broken;         /* Why it has no way; NULL: it has. */
};

/* Returns NULL and a reason in the plan's arena if the flows cannot be loaded.
 * Program and plan must outlive the walker. */
struct walker *walker_create(const struct ir_prog *, const struct plan *,
                             const char **reason);
void walker_destroy(struct walker *);       /* Accepts NULL. */

/* The number that a port has in packets, 0 if there is none, and back. */
uint32_t walker_port(const struct walker *, const char *name);
const char *walker_port_name(const struct walker *, uint32_t port);

/* The UDP port of the plan's tunnels. */
uint16_t walker_tunnel_port(const struct plan *);

/* Fills 'walk', in the arena. */
void walker_run(struct walker *, const struct flow *packet, enum walk_state,
                struct arena *, struct walk *walk);

#endif /* offload/walk.h */
