/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H 1

/* Targets: what turns the program of a node into its plan.
 *
 * A backend never drops a match that its target lacks, for isolation would
 * widen silently: what the target cannot keep it refuses, at the place in the
 * intent that asks for it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct diags;
struct ir_prog;
struct plan;

/* What a target holds on one node; 0 where it has none of a thing. */
struct backend_caps {
    size_t n_tables;            /* Of flows. */
    size_t n_flows;             /* In one table. */
    size_t n_ports;
    size_t n_zones;             /* Of connection tracking. */
    size_t n_meters;
    uint64_t meter_kbps;        /* What may have more has no meter; 0: any
                                 * rate has one. */
    size_t n_members;           /* Meters below one. */
    size_t n_queues;            /* Of tenants, for what goes by tunnel. */
    size_t n_conjunctions;      /* Ids. */
    size_t action_bytes;        /* Of one flow. */
    bool queues;                /* Has set_queue a use? */
    bool whole_packets;         /* What conntrack hands on is no fragment, and
                                 * has its ports: the kernel's does so. */
    bool kernel;                /* Its bridges are of the kernel's datapath. */
};

struct backend {
    const char *name;           /* As --target says it. */
    bool fabric;                /* Takes the program of the whole fabric, not
                                 * of a node. */
    const struct backend_caps *caps;

    /* Adds an error, or a warning where nothing is lost but what was asked
     * for, for all that the target cannot keep, as far as the
     * program shows it.  Returns true if there is none. */
    bool (*check)(const struct ir_prog *, const struct backend_caps *,
                  struct diags *);

    /* Notes in 'plan->differences' what of the program, which has passed
     * 'check', the target does not keep.  NULL: it keeps all. */
    void (*note)(const struct ir_prog *, struct plan *);

    /* Rewrites the program, which means the same then, to what is best for
     * the target.  NULL: it is taken as it is. */
    void (*lower)(struct ir_prog *, struct arena *);

    /* Fills 'plan'; adds an error for what turns out to be too much only in
     * the target's own terms.  The program has passed 'check', and
     * 'lower' has rewritten it. */
    void (*emit)(const struct ir_prog *, const struct backend_caps *,
                 struct plan *, struct diags *);
};

extern const struct backend *const backends[];  /* The first is the default. */
extern const size_t n_backends;

/* The backend of this name, or NULL. */
const struct backend *backend_find(const char *name);

/* Makes 'plan', in the arena, of a valid program, which is then as the target
 * lowers it.  Returns false after adding at least one error to 'diags' if the
 * target cannot hold it. */
bool backend_compile(const struct backend *, struct ir_prog *, struct arena *,
                     struct diags *, struct plan *);

#endif /* backend/backend.h */
