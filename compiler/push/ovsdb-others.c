/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/ovsdb-private.h"

#include <inttypes.h>

#include "push/ovsdb.h"
#include "vswitch-idl.h"

/* What others have put on a bridge that goes past its policy. */

/* Where a mirror copies to: "PORT", "VLAN N", or NULL for nowhere. */
static const char *
mirror_output(const struct ovsrec_mirror *mirror, struct arena *arena)
{
    return (mirror->output_port ? mirror->output_port->name
            : mirror->n_output_vlan
            ? arena_printf(arena, "VLAN %"PRId64, mirror->output_vlan[0])
            : NULL);
}

static void
read_mirrors(const struct ovsrec_bridge *br, struct arena *arena,
             struct bridge_info *info)
{
    for (size_t i = 0; i < br->n_mirrors; i++) {
        const char *output = mirror_output(br->mirrors[i], arena);

        if (output) {
            info->mirrors = arena_printf(
                arena, "%s%s%s to %s", info->mirrors ? info->mirrors : "",
                info->mirrors ? ", " : "", br->mirrors[i]->name, output);
        }
    }
}

static void
read_controllers(const struct ovsrec_bridge *br, struct arena *arena,
                 struct bridge_info *info)
{
    for (size_t i = 0; i < br->n_controller; i++) {
        info->controllers = arena_printf(
            arena, "%s%s%s", info->controllers ? info->controllers : "",
            info->controllers ? ", " : "", br->controller[i]->target);
    }
}

void
ovsdb_read_others(const struct ovsrec_bridge *br, struct arena *arena,
                  struct bridge_info *info)
{
    read_controllers(br, arena, info);
    read_mirrors(br, arena, info);
}
