/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/walk.h"

#include <string.h>

#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"

/* Of Geneve (RFC 8926 section 3.3) and VXLAN (RFC 7348 section 5). */
enum { GENEVE_PORT = 6081, VXLAN_PORT = 4789 };

uint16_t
walker_tunnel_port(const struct plan *plan)
{
    return !strcmp(plan->tunnel.type, "geneve") ? GENEVE_PORT : VXLAN_PORT;
}

void
megaflow_put_match(const struct megaflow *megaflow, struct ds *ds)
{
    struct flow_wildcards wc = megaflow->wc;
    struct match match;

    match_init(&match, &megaflow->key, &wc);
    match_format(&match, NULL, ds, OFP_DEFAULT_PRIORITY);
}

void
megaflow_put_actions(const struct megaflow *megaflow, struct ds *ds)
{
    format_odp_actions(ds, megaflow->actions, megaflow->actions_len, NULL);
}
