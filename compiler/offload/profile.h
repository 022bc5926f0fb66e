/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_PROFILE_H
#define OFFLOAD_PROFILE_H 1

/* What can carry a megaflow, as data.
 *
 * A megaflow goes from Open vSwitch to tc-flower, or to rte_flow where its
 * ports are DPDK's, from there to the driver, and from there to the device:
 * these are the layers of a profile, and each may refuse.  A fact about
 * a layer names the public source that says so.  Where none was found the fact
 * is "unknown", and what is unknown counts as refused: nothing is promised
 * that nobody has written down. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cap {
#define CAP(NAME, FLOWER, RTE, REMEDY) CAP_##NAME,
#include "offload/caps.def"
    N_CAPS,
};

struct cap_info {
    const char *name;           /* "MATCH_CT_NEW". */
    const char *flower, *rte;   /* 'rte' may be NULL. */
    const char *remedy;         /* Or NULL. */
};
extern const struct cap_info cap_infos[N_CAPS];

enum support {
    SUPPORT_UNKNOWN,            /* No source says. */
    SUPPORT_NO,
    SUPPORT_YES,
};

/* 'source' is a file and function of the program, or a document with its
 * version; NULL if and only if it is unknown. */
struct cap_fact {
    enum cap cap;
    enum support support;
    const char *source;
};

/* How much of a thing there is room for, or how fast it goes in. */
enum quota {
    QUOTA_FLOWS,                /* Megaflows. */
    QUOTA_CONNECTIONS,          /* That are tracked. */
    QUOTA_METERS,
    QUOTA_FLOW_RATE,            /* New megaflows a second. */
    QUOTA_CONNECTION_RATE,      /* New connections a second. */
    N_QUOTAS,
};
extern const char *const quota_names[N_QUOTAS];

/* 'n' is 0 if and only if 'source' is NULL: unknown. */
struct quota_fact {
    enum quota quota;
    uint64_t n;
    const char *source;
};

/* A layer says what it has, or else what 'base' has: a fact for each
 * capability in the end. */
struct layer {
    const char *name;           /* As reports say it: "the driver mlx5". */
    const struct layer *base;   /* NULL: none. */
    const struct cap_fact *facts;
    size_t n_facts;
    const struct quota_fact *quotas;
    size_t n_quotas;
};

enum { MAX_LAYERS = 4 };

struct profile {
    const char *name;           /* As --profile says it. */
    const char *title;
    const char *target;         /* Whose tables it is for. */
    bool hardware;              /* Else "in hardware" means "in tc". */
    bool rte_flow;              /* By rte_flow of DPDK, else by tc-flower. */
    const struct layer *layers[MAX_LAYERS];     /* A NULL may end it. */
};

extern const struct profile *const profiles[];
extern const size_t n_profiles;

/* The profile of this name for tables of this target, or NULL. */
const struct profile *profile_find(const char *name, const char *target);

/* 'cap' in the terms of those that the profile gives megaflows to. */
const char *profile_words(const struct profile *, enum cap);

/* What to change so that 'cap', which the profile refuses, is carried; or
 * NULL. */
const char *profile_remedy(const struct profile *, enum cap);

/* What 'layer' or its bases say; a fact without source if none does. */
struct cap_fact layer_fact(const struct layer *, enum cap);
struct quota_fact layer_quota(const struct layer *, enum quota);

/* The first layer that does not carry 'cap', and its fact; NULL if all do. */
const struct layer *profile_refusal(const struct profile *, enum cap,
                                    struct cap_fact *);

/* The least of what the layers have room for; without source if no layer
 * says. */
struct quota_fact profile_quota(const struct profile *, enum quota);

/* The layers, for those that make profiles. */
extern const struct layer layer_ovs, layer_tc, layer_mlx5, layer_ovs_dpdk;
extern const struct profile profile_kernel_tc, profile_kernel_tc_ext,
    profile_connectx5, profile_connectx6dx, profile_connectx7,
    profile_bluefield3, profile_connectx5_dpdk, profile_connectx6dx_dpdk,
    profile_connectx7_dpdk, profile_bluefield3_dpdk;
extern const struct layer layer_connectx5, layer_connectx6dx;

#endif /* offload/profile.h */
