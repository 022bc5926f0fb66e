/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/text/vfs.h"

#include <inttypes.h>

#include "intent/units.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"

enum { MBPS = 1000 * 1000 };

static void
put_rates(struct ds *ds, const struct ir_vf *vf)
{
    ds_put_cstr(ds, ", sends ");
    if (vf->max_mbps) {
        format_rate(vf->max_mbps * MBPS, ds);
    } else {
        ds_put_cstr(ds, "without limit");
    }
    if (vf->min_mbps) {
        ds_put_cstr(ds, ", guaranteed ");
        format_rate(vf->min_mbps * MBPS, ds);
    }
}

static void
put_vf(struct ds *ds, const struct ir_vf *vf)
{
    ds_put_format(ds, "  %-10s%s: VF %"PRIu16" of %s, "ETH_ADDR_FMT
                  ", VLAN %"PRIu16", priority %"PRIu16, "endpoint", vf->name,
                  vf->vf, vf->interface, ETH_ADDR_ARGS(vf->mac), vf->vlan,
                  vf->class ? vf->class->queue : 0);
    put_rates(ds, vf);
    for (size_t i = 0; i < vf->rules.n; i++) {
        ds_put_format(ds, "%s%s", i ? ", " : "; not kept: ", vf->rules.v[i]);
    }
    ds_put_char(ds, '\n');
}

void
text_put_vfs(struct ds *ds, const struct ir_prog *prog)
{
    if (prog->vfs.n) {
        ds_put_cstr(ds, "\nVFs in legacy mode: the NIC keeps no rule for "
                    "them, and each reaches all in its VLAN\n");
    }
    for (size_t i = 0; i < prog->vfs.n; i++) {
        put_vf(ds, prog->vfs.v[i]);
    }
}
