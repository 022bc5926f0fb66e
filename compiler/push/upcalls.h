/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_UPCALLS_H
#define PUSH_UPCALLS_H 1

/* How many upcalls the ports of a tenant may make: for push/limits.c.
 *
 * The switch has groups of ports for that, which it takes by its control
 * socket for a datapath, and forgets when it ends.  Those of a bridge that are
 * Bulkhead's are named "bulkhead/BRIDGE/NUMBER", by the number of the tenant.
 * What they are to be flows say (push/flows.h).  A switch without Bulkhead's
 * patches has none. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "openvswitch/shash.h"

struct plan;
struct push;
struct switch_state;

/* Such a group, in an arena. */
struct upcall_limit {
    uint32_t rate, burst;       /* Upcalls a second; at once. */
    const char *ports;          /* Their names, sorted, with spaces between. */
    uint64_t dropped;           /* Of a live one: packets, so far. */
};

/* One that is to be set or deleted. */
struct upcall_change {
    const char *group;
    uint32_t tenant;            /* The number. */
    const struct upcall_limit *was, *is;        /* NULL: none. */
};

struct upcalls {
    struct arena *arena;        /* Holds the live ones; NULL: none. */
    struct shash live;          /* Contains "struct upcall_limit"s by group. */
    VEC(struct upcall_change) changes;  /* That are due, in an arena. */
};

void upcalls_init(struct upcalls *);
void upcalls_destroy(struct upcalls *);

/* Each does for these limits what that of push/limits.h does, but that
 * upcalls_set() takes nothing back. */
const char *upcalls_read(struct push *);
bool upcalls_are_of(const struct switch_state *);
void upcalls_forget(struct push *);
void upcalls_compare(struct push *);
const char *upcalls_set(struct push *);
void upcalls_undo(struct push *, long long int deadline);
void upcalls_settle(struct push *);

/* The number of the tenant whose the group is, by its name. */
uint32_t upcalls_tenant(const char *group);

/* The tenant whose the change is, by the plan, or NULL. */
const char *upcalls_name(const struct plan *, const struct upcall_change *);

/* For people: "TENANT (upcalls)", by the push's plan or an older one, which
 * may be NULL, else the group; and "1kpps, burst 64pkt, 2 interfaces", or
 * NULL if there is no limit. */
const char *upcalls_title(const struct push *, const struct plan *old,
                          const struct upcall_change *);
const char *upcalls_words(struct arena *, const struct upcall_limit *);

/* "GROUP RATE BURST PORT...", as ovs-appctl takes it, in the arena. */
const char *upcalls_text(struct arena *, const struct upcall_change *,
                         const struct upcall_limit *);

#endif /* push/upcalls.h */
