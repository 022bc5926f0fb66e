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

/* Not "[ConnectX-6 Dx and above]: representor metering" of MLNX_OFED 5.7: that
 * is of ports, not of flows. */
#define ASO                                                             \
    "Linux 6.0: en/tc/meter.c, mlx5e_aso_send_flow_meter_aso(), bytes " \
    "and packets, of devices with ASO meters; DPDK 22.11: "             \
    "doc/guides/nics/mlx5.rst, ASO Metering, E-Switch: ConnectX-6 Dx"

static const struct cap_fact facts[] = {
    { CAP_METER, SUPPORT_YES, ASO },
    { CAP_METER_PACKETS, SUPPORT_YES, ASO },
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
    .target = "asap2",
    .hardware = true,
    .layers = { &layer_ovs, &layer_tc, &layer_mlx5, &layer_connectx7 },
};
