/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/profile.h"

#include "util.h"

/* The NIC NVIDIA ConnectX-7: what sources say of ConnectX-5 and of ConnectX-6
 * Dx "and above". */

#define OFED57                                                          \
    "NVIDIA MLNX_OFED 5.7-1.0.2.0, [ConnectX-6 Dx and above and "       \
    "BlueField-2]: representor metering; DPDK 26.11: "                  \
    "doc/guides/nics/mlx5.rst, Metering: from ConnectX-6 Dx on"

static const struct cap_fact facts[] = {
    { CAP_METER, SUPPORT_YES, OFED57 },
    { CAP_METER_PACKETS, SUPPORT_YES, OFED57 },
    { CAP_METERS, SUPPORT_YES, OFED57 },
};

static const struct layer layer_connectx7 = {
    .name = "ConnectX-7",
    .base = &layer_connectx6dx,
    .facts = facts,
    .n_facts = ARRAY_SIZE(facts),
};

const struct profile profile_connectx7 = {
    .name = "connectx-7",
    .title = "NVIDIA ConnectX-7",
    .hardware = true,
    .layers = { &layer_ovs, &layer_tc, &layer_mlx5, &layer_connectx7 },
};
