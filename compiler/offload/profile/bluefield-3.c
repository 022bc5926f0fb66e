/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/profile.h"

#include "util.h"

/* The DPU NVIDIA BlueField-3, Open vSwitch on its own cores: what sources say
 * of ConnectX-5 "and above", and of BlueField; of its meters, none does. */

#define DOCA                                                            \
    "NVIDIA DOCA 3.0.0, Virtual Switch on BlueField: connection tracking " \
    "offload of established connections"

static const struct cap_fact facts[] = {
    { CAP_CT, SUPPORT_YES, DOCA },
    { CAP_CT_TCP_UDP, SUPPORT_YES, DOCA },
    { CAP_METER, SUPPORT_UNKNOWN, NULL },
    { CAP_METER_PACKETS, SUPPORT_UNKNOWN, NULL },
    { CAP_METER_DROP, SUPPORT_UNKNOWN, NULL },
    { CAP_METERS, SUPPORT_UNKNOWN, NULL },
};

static const struct layer layer_bluefield3 = {
    .name = "BlueField-3",
    .base = &layer_connectx6dx,
    .facts = facts,
    .n_facts = ARRAY_SIZE(facts),
};

const struct profile profile_bluefield3 = {
    .name = "bluefield-3",
    .title = "NVIDIA BlueField-3",
    .target = "asap2",
    .hardware = true,
    .layers = { &layer_ovs, &layer_tc, &layer_mlx5, &layer_bluefield3 },
};
