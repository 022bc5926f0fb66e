/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_HELD_H
#define OFFLOAD_HELD_H 1

/* What a switch has made of the megaflows that it holds, against what a
 * profile predicts of them.
 *
 * The switch says of each megaflow where it is (dpctl/dump-flows of
 * ovs-vswitchd(8), "offloaded" and "dp").  What it needs is read from its own
 * match and actions, as offload_explain() does of those that tables make, so
 * the profile is held against a driver and a device, packet by packet. */

#include "offload/offload.h"

enum held_where {
    HELD_SOFTWARE,
    HELD_MARKED,                /* See struct offload_pass. */
    HELD_HARDWARE,              /* In tc, if the profile has no hardware. */
    N_HELD,
};
extern const char *const held_where_names[N_HELD];

/* A megaflow that is not where it was to be, or that is not understood. */
struct held_flow {
    const char *tenant;         /* The name of its row. */
    const char *text;           /* As dpctl prints it. */
    enum held_where predicted, actual;
    cap_set refused;            /* By the profile. */
    const char *unread;         /* Why nothing is predicted, or NULL. */
};

/* The megaflows of packets that come from a tenant, by its endpoints here or
 * by tunnel, or from an external: their numbers. */
struct held_row {
    const char *name;           /* "TENANT", "external:NAME". */
    size_t predicted[N_HELD], actual[N_HELD];
    size_t n_lost;              /* Not as far in hardware as predicted. */
    size_t n_gained;            /* Further. */
    size_t n_in_tc;             /* In tc, but not in hardware. */
    size_t n_unread;
};

struct held_report {
    const struct profile *profile;
    VEC(struct held_row) rows;  /* Each tenant that is here, then externals. */
    VEC(struct held_flow) flows;
    struct held_row all;        /* The sum. */
    size_t n_others;            /* Megaflows of no row: not counted. */
};

/* Fills 'report', in the arena, from what dpctl/show, and dpctl/dump-flows
 * with "-m --no-names", answer for the datapath of the bridge that holds
 * 'plan', which a backend has made of 'prog'. */
void offload_hold(const struct ir_prog *, const struct plan *,
                  const struct profile *, const char *show, const char *dump,
                  struct arena *, struct held_report *report);

#endif /* offload/held.h */
