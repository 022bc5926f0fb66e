/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include "backend/backend.h"
#include "openvswitch/dynamic-string.h"

static bool
takes(const struct cli_command *command, const struct backend *target)
{
    if (command->options & OPTION_SWITCH) {
        return target->fabric || target->caps->n_tables;
    } else if (command->options & OPTION_PROFILE) {     /* Those of NICs. */
        return !target->fabric && target->caps->n_tables;
    }
    return true;
}

const struct backend *
cli_find_target(const struct cli_command *command, const char *name)
{
    const struct backend *target = backend_find(name);

    return target && takes(command, target) ? target : NULL;
}

char *
cli_target_names(const struct cli_command *command)
{
    const struct backend *last = NULL;
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < n_backends; i++) {
        if (takes(command, backends[i])) {
            if (last) {
                ds_put_format(&ds, "%s%s", ds.length ? ", " : "", last->name);
            }
            last = backends[i];
        }
    }
    ds_put_format(&ds, " or %s", last->name);
    return ds_steal_cstr(&ds);
}
