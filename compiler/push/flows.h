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
struct session;

/* A flow.  Its key is (table, priority, match). */
struct flow_entry {
    struct hmap_node node;
    uint8_t table;
    uint16_t priority;
    uint64_t cookie;
    struct minimatch match;
    struct ofpact *ofpacts;
    size_t ofpacts_len;
    uint16_t idle_timeout, hard_timeout, importance;    /* A switch's. */
    bool plain;                 /* No timeouts, flags or importance, as all
                                 * flows of a plan. */
    char *text;                 /* Of a plan's flow; NULL for a switch's. */
    uint64_t packets, bytes;    /* That have matched a switch's flow. */
    uint32_t meter;             /* That it called when it was put, or 0. */
    struct hmap_node caller;    /* If it calls one. */
    uint16_t zone;              /* If it matches all of ct_zone and of
                                 * ct_mark: whose the zone is; else 0... */
    uint32_t connections;       /* ...and how many it may hold, if it has a
                                 * note of that; or 0. */
    struct hmap_node owner;     /* If 'zone' is not 0. */
    uint32_t limited;           /* If it matches all of in_port and has a note
                                 * of a limit of upcalls: the tenant; else
                                 * 0... */
    uint32_t upcall_rate, upcall_burst; /* ...and that limit. */
    char *port;                 /* The name of a plan's flow's in_port, if it
                                 * has that note; else NULL. */
    struct hmap_node limit;     /* If 'limited' is not 0. */
    uint32_t named;             /* Of a plan's flow: flow_named() of the
                                 * interface that it names, FLOW_NAMES_MORE, or
                                 * 0: none. */
    struct hmap_node name;      /* If it names any. */
    struct ovs_list changed;    /* For push/keep.c. */
};

struct meter_entry {
    struct hmap_node node;
    uint32_t id;
    bool simple;                /* Nothing that plan_meter cannot say. */
    struct plan_meter limit;    /* If 'simple'; without id and name. */
    uint32_t parent;            /* Its id, or 0. */
    bool used, used_by_others;  /* By flows, as meter_mark() found. */
    bool kept;                  /* The plan has it. */
};

struct switch_state {
    struct hmap flows;          /* Contains "struct flow_entry"s... */
    struct hmap callers;        /* ...and those that call a meter by its id. */
    struct hmap owners;         /* Those that say whose a zone is, by zone. */
    size_t n_connections;       /* Of these, ours with 'connections'. */
    struct hmap limits;         /* Those with a limit of upcalls, by tenant. */
    struct hmap named;          /* Those that name interfaces, by 'named'. */
    struct hmap meters;         /* Contains "struct meter_entry"s. */
    struct {
        size_t ours, others;
    } n_flows[UINT8_MAX + 1];   /* By table. */
};

void switch_state_init(struct switch_state *);
void switch_state_destroy(struct switch_state *);

/* Adds the flows of 'plan', its port names resolved by 'ports'.  Returns
 * NULL, or a reason in 'plan->arena'. */
const char *plan_to_flows(const struct plan *,
                          const struct ofputil_port_map *ports,
                          struct switch_state *);

/* The same for one flow, which the caller owns. */
const char *plan_flow_parse(const struct plan *, const struct plan_flow *,
                            const struct ofputil_port_map *ports,
                            struct flow_entry **);

/* The same for the text of a flow.  A reason is in the arena. */
const char *flow_parse(const char *text, const struct ofputil_port_map *ports,
                       struct arena *, struct flow_entry **);

/* Resolves the port names of a state of a plan's flows anew.  Returns NULL, or
 * a reason in the arena: then the state is as it was. */
const char *flows_resolve(struct switch_state *,
                          const struct ofputil_port_map *ports,
                          struct arena *);

/* Adds all flows, and the meters in Bulkhead's range, that the switch holds;
 * or the meters only.  Return 0 or a positive errno. */
int switch_to_flows(struct session *, long long int deadline,
                    struct switch_state *);
int switch_to_meters(struct session *, long long int deadline,
                     struct switch_state *);

/* The request of the latter, and what adds the meters of a reply.  Returns 0
 * or EPROTO. */
struct ofpbuf *meters_request(void);
int meters_decode(struct ofpbuf *reply, struct switch_state *);

/* Puts a flow, which becomes the state's, in the place of any of its key. */
void switch_state_put(struct switch_state *, struct flow_entry *);

/* Exchanges the flows of two states. */
void flows_swap(struct switch_state *, struct switch_state *);

/* Takes a flow of the state away and frees it. */
void switch_state_remove(struct switch_state *, struct flow_entry *);

bool flow_is_ours(const struct flow_entry *);

/* The note of 'n' bytes among the actions, or NULL. */
const uint8_t *flow_find_note(const struct flow_entry *, size_t n);

struct flow_entry *flow_find(const struct switch_state *,
                             const struct flow_entry *key);
bool flow_same(const struct flow_entry *, const struct flow_entry *);
struct meter_entry *meter_find(const struct switch_state *, uint32_t id);

/* By which 'named' flows are found that name one interface, or more. */
uint32_t flow_named(const char *interface, size_t len);
#define FLOW_NAMES_MORE 1

void flow_destroy(struct flow_entry *);      /* One that is in no state. */

/* A switch's flow like 'flow'. */
struct flow_entry *flow_clone(const struct flow_entry *flow);

/* Flows that called meter 'plan_id' when they were put call 'id' from now on.
 * Those for which that is another one go to the list 'changed', unless it is
 * NULL. */
void flows_set_meter(struct switch_state *, uint32_t plan_id, uint32_t id,
                     struct ovs_list *changed);

/* Adds a meter that the plan has. */
void meter_put(struct switch_state *, uint32_t id, const struct plan_meter *);

/* How many meters stand above it, less than METER_MAX_LEVELS.  One that others
 * borrow from cannot be deleted, nor one be added before its parent. */
enum { METER_MAX_LEVELS = 3 };
unsigned int meter_level(const struct switch_state *,
                         const struct meter_entry *);

/* Sets 'used' and 'used_by_others' of a meter of the state.  What lends to one
 * that is used is used. */
void meter_mark(const struct switch_state *, struct meter_entry *);

/* Messages.  The caller owns them. */
struct ofpbuf *flow_add_message(const struct flow_entry *);

/* Adds it if it has a text, which is one of the plan's, else deletes it. */
struct ofpbuf *flow_change_message(const struct flow_entry *);

struct ofpbuf *meter_add_message(uint32_t id, const struct plan_meter *);

/* The OFPUTIL_MICROBURST_* of what exceeds a meter (intent/exceed.h). */
uint8_t meter_band_exceed(uint8_t exceed);
struct ofpbuf *meter_delete_message(uint32_t id);

#endif /* push/flows.h */
