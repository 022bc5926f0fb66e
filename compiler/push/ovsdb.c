/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/ovsdb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "flow.h"
#include "ovsdb-idl-provider.h"
#include "ovsdb-idl.h"
#include "push/ovsdb-private.h"
#include "push/push.h"
#include "socket-util.h"
#include "util.h"
#include "vswitch-idl.h"

/* All that is read.  What is not here, such as counters, wakes nobody. */
static const struct ovsdb_idl_column *const columns[] = {
    &ovsrec_open_vswitch_col_bridges,
    &ovsrec_open_vswitch_col_manager_options,
    &ovsrec_open_vswitch_col_other_config,
    &ovsrec_bridge_col_name,
    &ovsrec_bridge_col_ports,
    &ovsrec_bridge_col_fail_mode,
    &ovsrec_bridge_col_datapath_type,
    &ovsrec_bridge_col_protocols,
    &ovsrec_bridge_col_controller,
    &ovsrec_bridge_col_other_config,
    &ovsrec_bridge_col_mirrors,
    &ovsrec_port_col_name,
    &ovsrec_port_col_interfaces,
    &ovsrec_interface_col_name,
    &ovsrec_interface_col_ofport,
    &ovsrec_interface_col_type,
    &ovsrec_interface_col_options,
    &ovsrec_interface_col_external_ids,
    &ovsrec_mirror_col_name,
    &ovsrec_mirror_col_output_port,
    &ovsrec_mirror_col_output_vlan,
    &ovsrec_controller_col_target,
};

struct database *
database_open(const char *remote, bool again)
{
    struct database *db = xzalloc(sizeof *db);

    db->remote = xstrdup(remote);
    db->idl = ovsdb_idl_create(remote, &ovsrec_idl_class, false, again);
    ovsdb_idl_set_leader_only(db->idl, false);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        if (again) {
            ovsdb_idl_track_add_column(db->idl, columns[i]);
        } else {
            ovsdb_idl_add_column(db->idl, columns[i]);
        }
    }
    /* Its rows count, if none of their columns. */
    ovsdb_idl_add_table(db->idl, &ovsrec_table_manager);
    return db;
}

void
database_close(struct database *db)
{
    if (db) {
        ovsdb_idl_destroy(db->idl);
        free(db->remote);
        free(db);
    }
}

/* Is it new or gone, or is any column but 'except', which may be -1, another?
 * Rows are tracked, too, for what they refer to. */
static bool
is_changed(const struct ovsdb_idl_row *row, int except)
{
    const struct ovsdb_idl_table_class *class = row->table->class_;

    if (ovsdb_idl_row_get_seqno(row, OVSDB_IDL_CHANGE_INSERT)
        || ovsdb_idl_row_get_seqno(row, OVSDB_IDL_CHANGE_DELETE)) {
        return true;
    }
    for (int i = 0; i < class->n_columns; i++) {
        if (i != except
            && ovsdb_idl_track_is_updated(row, &class->columns[i])) {
            return true;
        }
    }
    return false;
}

/* Has anything changed but external_ids of interfaces that were there? */
static bool
has_changed_more(const struct database *db)
{
    static const struct ovsdb_idl_table_class *const tables[] = {
        &ovsrec_table_open_vswitch, &ovsrec_table_bridge, &ovsrec_table_port,
        &ovsrec_table_interface, &ovsrec_table_mirror,
    };

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        int except = (tables[i] == &ovsrec_table_interface
                      ? OVSREC_INTERFACE_COL_EXTERNAL_IDS : -1);
        const struct ovsdb_idl_row *row;

        for (row = ovsdb_idl_track_get_first(db->idl, tables[i]); row;
             row = ovsdb_idl_track_get_next(row)) {
            if (is_changed(row, except)) {
                return true;
            }
        }
    }
    return false;
}

enum database_news
database_run(struct database *db)
{
    unsigned int seqno;
    bool changed;

    ovsdb_idl_track_clear(db->idl);
    ovsdb_idl_run(db->idl);
    seqno = ovsdb_idl_get_seqno(db->idl);
    changed = seqno != db->seqno;
    db->seqno = seqno;
    return (!changed ? DATABASE_SAME
            : !ovsrec_interface_track_get_first(db->idl)
            || has_changed_more(db) ? DATABASE_CHANGED : DATABASE_ATTACHED);
}

void
database_wait(struct database *db)
{
    ovsdb_idl_wait(db->idl);
}

bool
database_is_known(const struct database *db)
{
    return ovsdb_idl_has_ever_connected(db->idl);
}

int
database_error(const struct database *db)
{
    int error = ovsdb_idl_get_last_error(db->idl);

    return (error == EOF ? ECONNRESET : error ? error
            : ovsdb_idl_is_alive(db->idl) ? 0 : ECONNRESET);
}

static const char *
copy(struct arena *arena, const char *s)
{
    return s ? arena_strdup(arena, s) : NULL;
}

/* Others name their ports by iface-id, too, and without a slash. */
const char *
interface_endpoint(const struct smap *ids, bool *by_id)
{
    const char *endpoint = smap_get(ids, "bulkhead-endpoint");
    const char *iface_id = smap_get(ids, "iface-id");

    *by_id = !endpoint && iface_id && strchr(iface_id, '/');
    return *by_id ? iface_id : endpoint;
}

static void
read_attachment(const struct ovsrec_interface *iface, struct arena *arena,
                struct bridge_info *info)
{
    const struct smap *ids = &iface->external_ids;
    const char *mac = smap_get(ids, "bulkhead-mac");
    bool by_id;
    const char *endpoint = interface_endpoint(ids, &by_id);

    if (endpoint) {
        *vec_push(arena, &info->attachments) = (struct bridge_attachment) {
            .interface = arena_strdup(arena, iface->name),
            .endpoint = arena_strdup(arena, endpoint),
            .mac = copy(arena, mac ? mac : smap_get(ids, "attached-mac")),
            .addresses = copy(arena, smap_get(ids, "bulkhead-addresses")),
            .by_id = by_id,
        };
        smap_replace(&info->endpoints, iface->name, endpoint);
    }
}

static int
compare_attachments(const void *a_, const void *b_)
{
    const struct bridge_attachment *a = a_, *b = b_;
    int order = strcmp(a->endpoint, b->endpoint);

    return order ? order : strcmp(a->interface, b->interface);
}

/* Puts the attachments in order, of which all but the last few are.  (Sorting
 * by insertion, whose cost is by how many are not.) */
static void
sort_attachments(struct bridge_info *info, size_t n_sorted)
{
    for (size_t i = n_sorted; i < info->attachments.n; i++) {
        struct bridge_attachment moved = info->attachments.v[i];
        size_t j = i;

        while (j > 0 && compare_attachments(&info->attachments.v[j - 1],
                                            &moved) > 0) {
            info->attachments.v[j] = info->attachments.v[j - 1];
            j--;
        }
        info->attachments.v[j] = moved;
    }
}

/* Takes away what 'interface' said. */
static void
remove_attachment(struct bridge_info *info, const char *interface)
{
    size_t n = 0;

    for (size_t i = 0; i < info->attachments.n; i++) {
        if (strcmp(info->attachments.v[i].interface, interface)) {
            info->attachments.v[n++] = info->attachments.v[i];
        }
    }
    info->attachments.n = n;
    smap_remove(&info->endpoints, interface);
}

void
database_attached(const struct database *db, struct arena *arena,
                  struct bridge_info *info)
{
    const struct ovsrec_interface *iface;

    OVSREC_INTERFACE_FOR_EACH_TRACKED (iface, db->idl) {
        if (smap_get(&info->types, iface->name)) {
            size_t n;

            remove_attachment(info, iface->name);
            n = info->attachments.n;
            read_attachment(iface, arena, info);
            sort_attachments(info, n);
        }
    }
}

static void
read_interface(const struct ovsrec_interface *iface, struct arena *arena,
               struct bridge_info *info)
{
    smap_replace(&info->types, iface->name, iface->type);
    read_attachment(iface, arena, info);
    if (!strcmp(iface->name, PLAN_TUNNEL)) {
        smap_destroy(&info->tunnel_options);
        smap_clone(&info->tunnel_options, &iface->options);
    }
    /* An ofport of -1 is an interface that could not be opened. */
    if (iface->n_ofport && iface->ofport[0] > 0
        && iface->ofport[0] < ofp_to_u16(OFPP_MAX)) {
        ofputil_port_map_put(&info->ports, u16_to_ofp(iface->ofport[0]),
                             iface->name);
    }
}

/* No protocol stands for Open vSwitch's default, which has it. */
static bool
has_openflow14(const struct ovsrec_bridge *br)
{
    for (size_t i = 0; i < br->n_protocols; i++) {
        if (!strcmp(br->protocols[i], "OpenFlow14")) {
            return true;
        }
    }
    return !br->n_protocols;
}

static void
read_bridge(const struct ovsrec_open_vswitch *ovs,
            const struct ovsrec_bridge *br, struct arena *arena,
            struct bridge_info *info)
{
    info->datapath_type = (br->datapath_type[0]
                           ? arena_strdup(arena, br->datapath_type)
                           : "system");
    info->fail_mode = arena_strdup(arena, br->fail_mode ? br->fail_mode : "");
    info->may_be_in_band = (ovs->n_manager_options
                            && !smap_get_bool(&br->other_config,
                                              "disable-in-band", false));
    info->has_openflow14 = has_openflow14(br);
    info->telemetry = smap_get_bool(&ovs->other_config, PLAN_TELEMETRY,
                                    false);
    for (size_t i = 0; i < br->n_ports; i++) {
        for (size_t j = 0; j < br->ports[i]->n_interfaces; j++) {
            read_interface(br->ports[i]->interfaces[j], arena, info);
        }
    }
    if (info->attachments.n) {
        qsort(info->attachments.v, info->attachments.n,
              sizeof *info->attachments.v, compare_attachments);
    }
    ovsdb_read_others(br, arena, info);
}

void
bridge_info_init(struct bridge_info *info)
{
    *info = (struct bridge_info) { .datapath_type = "", .fail_mode = "" };
    ofputil_port_map_init(&info->ports);
    smap_init(&info->types);
    smap_init(&info->tunnel_options);
    smap_init(&info->endpoints);
}

static const char *
find_bridge(const struct database *db, const char *bridge,
            struct arena *arena, struct bridge_info *info)
{
    const struct ovsrec_open_vswitch *ovs = ovsrec_open_vswitch_first(db->idl);
    struct nearest nearest = nearest_init(bridge);

    for (size_t i = 0; ovs && i < ovs->n_bridges; i++) {
        if (!strcmp(ovs->bridges[i]->name, bridge)) {
            read_bridge(ovs, ovs->bridges[i], arena, info);
            return NULL;
        }
        nearest_try(&nearest, ovs->bridges[i]->name);
    }
    return arena_printf(arena, "database %s: there is no bridge %s; %s%s%s",
                        db->remote, bridge,
                        nearest.best ? "did you mean " : "ovs-vsctl "
                        "list-br lists them", nearest.best ? nearest.best : "",
                        nearest.best ? "?" : "");
}

const char *
database_unreachable(const char *remote, int error, struct arena *arena)
{
    return arena_printf(arena, "database %s: %s; is ovsdb-server running "
                        "there? see --db and OVS_RUNDIR", remote,
                        ovs_retval_to_string(error));
}

bool
database_is_connected(const struct database *db)
{
    return ovsdb_idl_is_connected(db->idl);
}

const char *
database_trouble(const struct database *db, struct arena *arena)
{
    int error = database_error(db);

    return database_unreachable(db->remote, error ? error : EAGAIN, arena);
}

const char *
database_bridge(const struct database *db, const char *bridge,
                struct arena *arena, struct bridge_info *info)
{
    int error = database_error(db);

    return (database_is_known(db) ? find_bridge(db, bridge, arena, info)
            : database_unreachable(db->remote, error ? error : EAGAIN,
                                   arena));
}

void
bridge_info_destroy(struct bridge_info *info)
{
    ofputil_port_map_destroy(&info->ports);
    smap_destroy(&info->types);
    smap_destroy(&info->tunnel_options);
    smap_destroy(&info->endpoints);
}
