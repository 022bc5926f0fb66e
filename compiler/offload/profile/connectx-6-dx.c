/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/profile.h"

#include "util.h"

/* The NIC NVIDIA ConnectX-6 Dx: what sources say of ConnectX-5 "and above",
 * and meters. */

#define OFED54                                                          \
    "NVIDIA MLNX_OFED 5.4-2.4.1.3, Changes and New Features, "          \
    "[ConnectX-6 Dx]: CTC Metering, per flow, using OVS or TC, PPS and BPS"
#define HIERARCHY                                                       \
    "DPDK 22.11: doc/guides/nics/mlx5.rst, Metering Hierarchy (several " \
    "meters on one flow), E-Switch: ConnectX-6 Dx"

static const struct cap_fact facts[] = {
    { CAP_METER, SUPPORT_YES, OFED54 },
    { CAP_METER_PACKETS, SUPPORT_YES, OFED54 },
    { CAP_METER_DROP, SUPPORT_UNKNOWN, NULL },
    { CAP_METERS, SUPPORT_YES, HIERARCHY },
};

const struct layer layer_connectx6dx = {
    .name = "ConnectX-6 Dx",
    .base = &layer_connectx5,
    .facts = facts,
    .n_facts = ARRAY_SIZE(facts),
};

const struct profile profile_connectx6dx = {
    .name = "connectx-6-dx",
    .title = "NVIDIA ConnectX-6 Dx",
    .target = "asap2",
    .hardware = true,
    .layers = { &layer_ovs, &layer_tc, &layer_mlx5, &layer_connectx6dx },
};
