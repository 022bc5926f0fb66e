/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/profile.h"

#include <string.h>

#include "util.h"

const struct cap_info cap_infos[N_CAPS] = {
#define CAP(NAME, FLOWER, RTE, REMEDY) { #NAME, FLOWER, RTE, REMEDY },
#include "offload/caps.def"
};

const char *const quota_names[N_QUOTAS] = {
    [QUOTA_FLOWS] = "flows",
    [QUOTA_CONNECTIONS] = "connections",
    [QUOTA_METERS] = "meters",
    [QUOTA_FLOW_RATE] = "flows a second",
    [QUOTA_CONNECTION_RATE] = "connections a second",
};

const struct profile *const profiles[] = {
    &profile_connectx5,
    &profile_connectx6dx,
    &profile_connectx7,
    &profile_bluefield3,
    &profile_kernel_tc,
    &profile_kernel_tc_ext,
    &profile_connectx5_dpdk,
    &profile_connectx6dx_dpdk,
    &profile_connectx7_dpdk,
    &profile_bluefield3_dpdk,
};
const size_t n_profiles = ARRAY_SIZE(profiles);

const struct profile *
profile_find(const char *name, const char *target)
{
    for (size_t i = 0; i < n_profiles; i++) {
        if (!strcmp(profiles[i]->name, name)
            && !strcmp(profiles[i]->target, target)) {
            return profiles[i];
        }
    }
    return NULL;
}

const char *
profile_words(const struct profile *profile, enum cap cap)
{
    const struct cap_info *info = &cap_infos[cap];

    return profile->rte_flow && info->rte ? info->rte : info->flower;
}

const char *
profile_remedy(const struct profile *profile, enum cap cap)
{
    const struct profile *tc = profile_find(profile->name, "asap2");
    struct cap_fact fact;

    return (tc && !profile_refusal(tc, cap, &fact)
            ? "compile for the target asap2, where it is carried"
            : cap_infos[cap].remedy);
}

struct cap_fact
layer_fact(const struct layer *layer, enum cap cap)
{
    for (; layer; layer = layer->base) {
        for (size_t i = 0; i < layer->n_facts; i++) {
            if (layer->facts[i].cap == cap) {
                return layer->facts[i];
            }
        }
    }
    return (struct cap_fact) { cap, SUPPORT_UNKNOWN, NULL };
}

struct quota_fact
layer_quota(const struct layer *layer, enum quota quota)
{
    for (; layer; layer = layer->base) {
        for (size_t i = 0; i < layer->n_quotas; i++) {
            if (layer->quotas[i].quota == quota) {
                return layer->quotas[i];
            }
        }
    }
    return (struct quota_fact) { quota, 0, NULL };
}

const struct layer *
profile_refusal(const struct profile *profile, enum cap cap,
                struct cap_fact *fact)
{
    for (size_t i = 0; i < MAX_LAYERS && profile->layers[i]; i++) {
        *fact = layer_fact(profile->layers[i], cap);
        if (fact->support != SUPPORT_YES) {
            return profile->layers[i];
        }
    }
    return NULL;
}

struct quota_fact
profile_quota(const struct profile *profile, enum quota quota)
{
    struct quota_fact least = { quota, 0, NULL };

    for (size_t i = 0; i < MAX_LAYERS && profile->layers[i]; i++) {
        struct quota_fact fact = layer_quota(profile->layers[i], quota);

        if (fact.n && (!least.n || fact.n < least.n)) {
            least = fact;
        }
    }
    return least;
}
