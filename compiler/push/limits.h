/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_LIMITS_H
#define PUSH_LIMITS_H 1

/* How many connections the zones of connection tracking may hold; and, with
 * them, how many upcalls the ports of tenants may make (push/upcalls.h).
 *
 * OpenFlow has no message for that: ovs-vswitchd takes such limits by its
 * control socket, for a datapath, which all bridges of its type share, and
 * forgets them when it ends, as it does flows.  Which zones are Bulkhead's,
 * and what each may hold, flows say (push/flows.h); a zone without such a flow
 * is somebody else's.  Limits are set before the flows that count on them, and
 * deleted after them; a limit that is set anew counts from 0. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "openvswitch/hmap.h"
#include "push/upcalls.h"

struct plan;
struct push;
struct switch_state;

struct zone_limit {
    struct hmap_node node;
    uint16_t zone;
    uint32_t connections;
};

/* One that is to be set or deleted. */
struct limit_change {
    uint16_t zone;
    uint32_t was, is;           /* If 'had' and 'has'. */
    bool had, has;
};

struct limits {
    struct hmap live;           /* Contains "struct zone_limit"s. */
    VEC(struct limit_change) changes;   /* That are due, in an arena. */
    struct upcalls upcalls;
    bool unknown;               /* What there is: then nothing is due. */
};

void limits_init(struct limits *);
void limits_destroy(struct limits *);

/* Asks the switch what its zones may hold.  Returns NULL, or why that is not
 * known; where nothing of Bulkhead's has a limit, nobody needs to know. */
const char *limits_read(struct push *);

/* Does a flow of Bulkhead's among them say what a zone may hold, or how many
 * upcalls a port may make? */
bool limits_are_of(const struct switch_state *);

/* Nothing is due. */
void limits_forget(struct push *);

/* Compares that with what flows say, wanted and live ones, into 'changes'. */
void limits_compare(struct push *);

/* Is there such a difference? */
bool limits_differ(const struct limits *);

/* Sets the limits that are due.  Returns NULL, or why not: then they are what
 * they were. */
const char *limits_set(struct push *);
void limits_undo(struct push *);

/* Deletes those that nobody wants any more. */
void limits_settle(struct push *);

/* The tenant whose the zone of a change is, by the plan, or NULL. */
const char *limits_name(const struct plan *, const struct limit_change *);

/* For people: the changes, as "TENANT (connections)", by the push's plan or an
 * older one, which may be NULL, else "zone 5"; and "1000 connections", or NULL
 * if there is no limit. */
struct limit_words {
    const char *title, *before, *after;
};
VEC_TYPEDEF(limit_words_vec, struct limit_words);
limit_words_vec limits_describe(const struct push *, const struct plan *old);

/* "zone=5,limit=1000", as ovs-appctl takes it, in the arena. */
const char *limits_text(struct arena *, uint16_t zone, uint32_t connections);

#endif /* push/limits.h */
