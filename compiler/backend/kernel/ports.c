/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/kernel/ports.h"

#include "backend/refuse.h"
#include "ir/ir.h"

bool
kernel_check_ports(const struct ir_prog *prog, struct diags *diags)
{
    bool fits = true;

    for (size_t i = 0; i < prog->dpdk_ports.n; i++) {
        const struct ir_dpdk_port *port = prog->dpdk_ports.v[i];

        if (port->socket) {
            refuse(diags, &port->place, NULL, "give it an interface of the "
                   "kernel, or choose the target userspace", "the kernel's "
                   "datapath has no ports of vhost-user");
            fits = false;
        }
    }
    if (prog->dpdk.n && fits) {
        warn_of(diags, &prog->dpdk.v[0]->place, NULL, "the kernel's datapath "
                "does not use DPDK: nothing is done with this");
    }
    return fits;
}
