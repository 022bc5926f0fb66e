/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/kernel/neighbors.h"

#include "backend/refuse.h"
#include "base/diag.h"
#include "ir/ir.h"
#include "packets.h"

void
kernel_warn_neighbors(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->endpoints.n; i++) {
        const struct ir_endpoint *ep = prog->endpoints.v[i];

        if (!ep->node && ir_has_ip6(ep)) {
            warn_of(diags, &ep->place, "addresses",
                    "the kernel's datapath cannot answer neighbor discovery: "
                    "with IPv6, endpoints reach only whom they have static "
                    "neighbor entries of, their gateway too");
            return;
        }
    }
}
