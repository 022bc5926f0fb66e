/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/nearest.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "plan/plan.h"
#include "push/state.h"
#include "util.h"

struct tenant_names {
    struct hmap by_tag;         /* Of struct entries. */
};

struct entry {
    struct hmap_node node;
    uint64_t tag;
    char *tenant;               /* NULL if it is not one tenant's. */
};

struct tenant_names *
tenant_names_create(void)
{
    struct tenant_names *names = xmalloc(sizeof *names);

    hmap_init(&names->by_tag);
    return names;
}

void
tenant_names_destroy(struct tenant_names *names)
{
    if (names) {
        struct entry *e;

        HMAP_FOR_EACH_POP (e, node, &names->by_tag) {
            free(e->tenant);
            free(e);
        }
        hmap_destroy(&names->by_tag);
        free(names);
    }
}

static struct entry *
find_entry(const struct tenant_names *names, uint64_t tag)
{
    struct entry *e;

    HMAP_FOR_EACH_WITH_HASH (e, node, hash_uint64(tag), &names->by_tag) {
        if (e->tag == tag) {
            return e;
        }
    }
    return NULL;
}

void
tenant_names_add(struct tenant_names *names, uint64_t tag,
                 const char *tenant)
{
    struct entry *e = find_entry(names, tag);

    if (!tag) {
        return;
    } else if (!e) {
        e = xmalloc(sizeof *e);
        e->tag = tag;
        e->tenant = xstrdup(tenant);
        hmap_insert(&names->by_tag, &e->node, hash_uint64(tag));
    } else if (e->tenant && strcmp(e->tenant, tenant)) {
        free(e->tenant);
        e->tenant = NULL;
    }
}

void
tenant_names_add_plan(struct tenant_names *names, const struct plan *plan)
{
    for (size_t i = 0; i < plan->tenants.n; i++) {
        tenant_names_add(names, plan->tenants.v[i].number,
                         plan->tenants.v[i].name);
    }
}

/* Returns why a folder cannot be read, or NULL also if it is not there. */
static const char *
check_folder(const char *path, struct arena *arena)
{
    return (!access(path, R_OK | X_OK) || errno == ENOENT ? NULL
            : arena_printf(arena, "%s: %s", path, ovs_strerror(errno)));
}

static const char *
add_bridge(struct tenant_names *names, const char *root, const char *bridge,
           struct arena *arena)
{
    struct state state;

    state_read(&state, root, bridge, arena);
    if (state.current) {
        tenant_names_add_plan(names, state.current->plan);
        return NULL;
    }
    return (state.warnings.n ? state.warnings.v[0]
            : check_folder(state.dir, arena));
}

const char *
tenant_names_add_state(struct tenant_names *names, const char *root,
                       struct arena *arena)
{
    const char *reason = NULL;
    folder_vec bridges = VEC_INIT;

    if (root) {
        reason = check_folder(root, arena);
        ignore(folder_read(arena, root, &bridges));
    }
    for (size_t i = 0; i < bridges.n; i++) {
        const char *wrong = NULL;

        if (bridges.v[i].is_folder) {
            wrong = add_bridge(names, root, bridges.v[i].name, arena);
        }
        reason = wrong ? wrong : reason;
    }
    return reason;
}

size_t
tenant_names_count(const struct tenant_names *names)
{
    return hmap_count(&names->by_tag);
}

const char *
tenant_names_find(const struct tenant_names *names, uint64_t tag)
{
    const struct entry *e = find_entry(names, tag);

    return e ? e->tenant : NULL;
}

bool
tenant_names_try(const struct tenant_names *names, struct nearest *nearest)
{
    const struct entry *e;

    HMAP_FOR_EACH (e, node, &names->by_tag) {
        if (e->tenant && !strcmp(e->tenant, nearest->word)) {
            return true;
        } else if (e->tenant) {
            nearest_try(nearest, e->tenant);
        }
    }
    return false;
}

const char *
tenant_names_text(const struct tenant_names *names, uint64_t tag,
                  char buffer[32])
{
    const char *name = tenant_names_find(names, tag);

    if (name || !tag) {
        return name ? name : "(none)";
    }
    snprintf(buffer, 32, "tag:%"PRIu64, tag);
    return buffer;
}
