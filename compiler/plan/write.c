/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/differences.h"
#include "plan/dpdk.h"
#include "plan/earlier.h"
#include "plan/htb.h"
#include "plan/manifest.h"
#include "plan/nic.h"
#include "plan/record.h"
#include "plan/row.h"
#include "util.h"

static void
format_flows(const struct plan *plan, struct ds *ds)
{
    ds_put_format(ds, "# Flows of node %s: ovs-ofctl -O OpenFlow14 --bundle "
                  "replace-flows BRIDGE flows.txt\n"
                  "# The meters of meters.txt must be there first.\n",
                  plan->node);
    plan_format_differences(plan, ds);
    for (size_t i = 0; i < plan->flows.n; i++) {
        plan_put_flow(&plan->flows.v[i], ds);
        ds_put_char(ds, '\n');
    }
}

static void
format_meters(const struct plan *plan, struct ds *ds)
{
    for (size_t i = 0; i < plan->meters.n; i++) {
        ds_put_format(ds, "%s\n", plan_meter_string(plan,
                                                    &plan->meters.v[i]));
    }
}

static void
format_limits(const struct plan *plan, struct ds *ds)
{
    for (size_t i = 0; i < plan->limits.n; i++) {
        ds_put_format(ds, "zone=%"PRIu16",limit=%"PRIu32"\n",
                      plan->limits.v[i].zone, plan->limits.v[i].connections);
    }
}

/* Names of tenants and of interfaces are plain words. */
static void
format_upcalls(const struct plan *plan, struct ds *ds)
{
    for (size_t i = 0; i < plan->upcalls.n; i++) {
        const struct plan_upcalls *limit = &plan->upcalls.v[i];

        ds_put_format(ds, "%s %"PRIu32" %"PRIu32" %s\n", limit->name,
                      limit->rate, limit->burst, limit->interfaces);
    }
}

static const char settings[] =
    "# settings: what the switch reads of them when it starts.\n"
    "settings() {\n"
    "    ovs-vsctl --no-wait --if-exists get Open_vSwitch . \\\n"
    "        other_config:hw-offload other_config:tc-policy ||\n"
    "        fail \"$node\" 'the database does not answer'\n"
    "}\n"
    "before=$(settings)\n"
    "try \"$node\" ovs-vsctl --no-wait set Open_vSwitch . \\\n"
    "    other_config:hw-offload=true other_config:tc-policy=none\n"
    "if [ \"$before\" != \"$(settings)\" ] &&\n"
    "    ovs-appctl --timeout=10 version >/dev/null 2>&1; then\n"
    "    echo 'ovs-vsctl.sh: restart ovs-vswitchd: it reads hw-offload and "
    "tc-policy when' \\\n"
    "        'it starts, and they have changed' >&2\n"
    "fi\n";

/* No text of the intent gets here but the node's name and the type, which are
 * plain words, and an address that was parsed. */
static void
format_script(const struct plan *plan, struct ds *ds)
{
    plan_put_script_head(plan, "ovs-vsctl.sh", "Ports and settings of a "
                         "bridge", false, ds);
    ds_put_cstr(ds, "[ $# = 1 ] || {\n"
                "    echo 'usage: sh ovs-vsctl.sh BRIDGE' >&2\n"
                "    exit 2\n"
                "}\n"
                "export OVS_CTL_TIMEOUT=30\n");
    if (plan->tunnel.type || plan->telemetry || plan->nic) {
        ds_put_format(ds, "node='node %s'\n", plan->node);
    }
    if (plan->tunnel.type || plan->telemetry) {
        plan_put_running(ds);
        ds_put_cstr(ds, "running \"$node\"\n");
    }
    if (plan->tunnel.type) {
        ds_put_format(ds, "try \"$node\" %s\n",
                      plan_tunnel_command(plan, "\"$1\""));
    }
    if (plan->telemetry) {
        ds_put_cstr(ds, "try \"$node\" "PLAN_TELEMETRY_COMMAND"\n");
    }
    if (plan->nic) {
        ds_put_cstr(ds, settings);
    }
}

static void
format_policy(const struct plan *plan, struct ds *ds)
{
    ds_put_cstr(ds, plan->policy);
}

/* What a plan is. */
enum shape {
    SHAPE_FLOWS,                /* For a switch. */
    SHAPE_POLICY,               /* A text for people. */
    SHAPE_NORTHBOUND,           /* Rows for OVN. */
};

static enum shape
plan_shape(const struct plan *plan)
{
    return (plan->policy ? SHAPE_POLICY
            : plan->northbound ? SHAPE_NORTHBOUND : SHAPE_FLOWS);
}

#define MANIFEST "manifest.json"        /* The last of its shape. */
#define MANIFEST_OLD MANIFEST".old"

static bool
has_limits(const struct plan *plan)
{
    return plan->limits.n > 0;
}

static bool
has_upcalls(const struct plan *plan)
{
    return plan->upcalls.n > 0;
}

static bool
has_nic(const struct plan *plan)
{
    return plan->nic != NULL;
}

static bool
has_vfs(const struct plan *plan)
{
    return plan->vfs != NULL;
}

static bool
has_htb(const struct plan *plan)
{
    return plan->htb != NULL;
}

static bool
has_dpdk(const struct plan *plan)
{
    return plan->dpdk != NULL;
}

static const struct {
    const char *name;
    void (*format)(const struct plan *, struct ds *);
    enum shape shape;           /* Of plans that have it, ... */
    bool (*has)(const struct plan *);   /* ...if this is so.  NULL: it is. */
} files[] = {
    { "ct-limits.txt", format_limits, SHAPE_FLOWS, has_limits },
    { "upcall-limits.txt", format_upcalls, SHAPE_FLOWS, has_upcalls },
    { "meters.txt", format_meters, SHAPE_FLOWS, NULL },
    { "flows.txt", format_flows, SHAPE_FLOWS, NULL },
    { "ovs-vsctl.sh", format_script, SHAPE_FLOWS, NULL },
    { "devlink.sh", plan_format_devlink, SHAPE_FLOWS, has_nic },
    { "dcb.sh", plan_format_dcb, SHAPE_FLOWS, has_nic },
    { "vf.sh", plan_format_vfs, SHAPE_FLOWS, has_vfs },
    { "qos.sh", plan_format_qos, SHAPE_FLOWS, has_htb },
    { "dpdk.sh", plan_format_dpdk, SHAPE_FLOWS, has_dpdk },
    { MANIFEST, plan_format_manifest, SHAPE_FLOWS, NULL },
    { "policy.txt", format_policy, SHAPE_POLICY, NULL },
    { "ovn-nbctl.sh", plan_format_nbctl, SHAPE_NORTHBOUND, NULL },
    { "ovn-nb.json", plan_format_transaction, SHAPE_NORTHBOUND, NULL },
};

static bool
has_file(const struct plan *plan, size_t i)
{
    return (files[i].shape == plan_shape(plan)
            && (!files[i].has || files[i].has(plan)));
}

struct json *
plan_files_to_json(const struct plan *plan)
{
    struct json *object = json_object_create();

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        struct ds ds = DS_EMPTY_INITIALIZER;

        if (files[i].has && has_file(plan, i)) {
            files[i].format(plan, &ds);
            json_object_put_string(object, files[i].name,
                                   plan_hash(plan->arena, ds_cstr(&ds),
                                             ds.length));
        }
        ds_destroy(&ds);
    }
    return object;
}

void
plan_print(const struct plan *plan, struct ds *ds)
{
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        if (has_file(plan, i)) {
            ds_put_format(ds, "# %s\n", files[i].name);
            files[i].format(plan, ds);
        }
    }
}

/* The files of a plan on their way into a folder. */
struct folder {
    const struct plan *plan;
    const char *dir;
    const char *staged[ARRAY_SIZE(files)];      /* Their names until all are
                                                 * there; NULL: none. */
    plan_names earlier;         /* Files of the earlier plan that this one
                                 * does not have. */
};

static const char *
file_path(const struct folder *f, const char *name)
{
    return arena_printf(f->plan->arena, "%s/%s", f->dir, name);
}

static void
abandon(struct folder *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        if (f->staged[i]) {
            unlink(f->staged[i]);
        }
    }
}

/* Writes them all beside those that are there. */
static const char *
stage_files(struct folder *f)
{
    const char *error = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(files) && !error; i++) {
        struct ds ds = DS_EMPTY_INITIALIZER;
        const char *new;

        if (!has_file(f->plan, i)) {
            continue;
        }
        files[i].format(f->plan, &ds);
        ds_cstr(&ds);
        error = file_stage(f->plan->arena, file_path(f, files[i].name),
                           ds.string, ds.length, 0666, &new);
        ds_destroy(&ds);
        f->staged[i] = error ? NULL : new;
    }
    return error;
}

/* Removes a file of an earlier plan. */
static const char *
remove_file(const struct folder *f, const char *name)
{
    const char *path = file_path(f, name);

    return (!unlink(path) || errno == ENOENT ? NULL
            : arena_printf(f->plan->arena, "cannot remove %s, of an earlier "
                           "plan: %s", path, ovs_strerror(errno)));
}

/* Finds what an earlier plan has left that this one does not have.  Refuses
 * what is not as that has left it. */
static const char *
find_earlier(struct folder *f)
{
    struct arena *arena = f->plan->arena;
    struct earlier earlier = { .files = VEC_INIT };
    const char *error = earlier_read(&earlier, arena,
                                     file_path(f, MANIFEST));

    error = error ? error : earlier_read(&earlier, arena,
                                         file_path(f, MANIFEST_OLD));
    for (size_t i = 0; i < ARRAY_SIZE(files) && !error; i++) {
        bool found = false;

        if (files[i].has && !has_file(f->plan, i)) {
            error = earlier_find(&earlier, arena,
                                 file_path(f, files[i].name), files[i].name,
                                 &found);
        }
        if (found) {
            *vec_push(arena, &f->earlier) = files[i].name;
        }
    }
    return error;
}

/* Takes the manifest of an earlier plan away, and then what this one does not
 * have.  It keeps that in mind by MANIFEST_OLD until all is done. */
static const char *
clear_earlier(const struct folder *f)
{
    const char *old = file_path(f, MANIFEST_OLD), *error = NULL;

    if (rename(file_path(f, MANIFEST), old) && errno != ENOENT) {
        return arena_printf(f->plan->arena, "cannot write %s: %s", old,
                            ovs_strerror(errno));
    }
    for (size_t i = 0; i < f->earlier.n && !error; i++) {
        error = remove_file(f, f->earlier.v[i]);
    }
    return error;
}

/* Puts them in place of those that are there. */
static const char *
settle_files(struct folder *f)
{
    bool manifest = plan_shape(f->plan) == SHAPE_FLOWS;
    const char *error = manifest ? clear_earlier(f) : NULL;

    for (size_t i = 0; i < ARRAY_SIZE(files) && !error; i++) {
        if (f->staged[i]) {
            error = file_settle(f->plan->arena, file_path(f, files[i].name),
                                f->staged[i]);
            f->staged[i] = NULL;
        }
    }
    if (error && manifest) {
        return arena_printf(f->plan->arena, "%s; %s has no "MANIFEST" now: "
                            "its files may be of two plans", error, f->dir);
    }
    return error || !manifest ? error : remove_file(f, MANIFEST_OLD);
}

const char *
plan_write(const struct plan *plan, const char *dir)
{
    struct folder f = { .plan = plan, .dir = dir };
    const char *error;

    if (mkdir(dir, 0777) && errno != EEXIST) {
        return arena_printf(plan->arena, "cannot make the folder %s: %s%s",
                            dir, ovs_strerror(errno), errno == ENOENT
                            ? "; make the one that it is to be in first" : "");
    }
    error = plan_shape(plan) == SHAPE_FLOWS ? find_earlier(&f) : NULL;
    error = error ? error : stage_files(&f);
    error = error ? error : settle_files(&f);
    if (error) {
        abandon(&f);
    }
    return error;
}
