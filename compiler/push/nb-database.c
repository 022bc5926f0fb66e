/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "push/nb-idl.h"
#include "timeval.h"
#include "util.h"

const char *
nb_database_reason(const struct nb_database *db, int error)
{
    const char *cause = ovs_retval_to_string(error == EOF ? ECONNRESET
                                             : error);

    return (db->open ? arena_printf(db->arena, "%s: %s", db->place, cause)
            : db->lack ? arena_printf(db->arena, "%s: %s", db->place, db->lack)
            : arena_printf(db->arena, "%s: %s; it may have ended, be busy "
                           "(see --timeout), be a read-only backup, or have "
                           "lost its cluster, of which --db must name all "
                           "servers",
                           db->place, cause));
}

const char *
nb_database_trouble(const struct nb_database *db, bool alive, int error)
{
    return (!alive ? nb_database_reason(db, error ? error : ECONNRESET)
            : time_msec() >= db->deadline
            ? nb_database_reason(db, error ? error : ETIMEDOUT)
            : NULL);
}

const char *
nb_database_wait(struct nb_database *db)
{
    const char *reason = nb_database_trouble(
        db, ovsdb_idl_is_alive(db->idl), ovsdb_idl_get_last_error(db->idl));

    if (reason) {
        return reason;
    }
    ovsdb_idl_wait(db->idl);
    poll_timer_wait_until(db->deadline);
    poll_block();
    ovsdb_idl_run(db->idl);
    return NULL;
}

static void
make_copy(struct nb_database *db)
{
    bool again = strchr(db->target->db, ',') != NULL;

    db->idl = ovsdb_idl_create(db->target->db, &nbrec_idl_class, false, again);
    for (size_t i = 0; i < NB_N_TABLES; i++) {
        for (size_t j = 0; j < nb_tables[i]->n_columns; j++) {
            ovsdb_idl_add_column(db->idl, &nb_tables[i]->columns[j]);
        }
    }
    for (size_t i = 0; i < NB_N_NAMINGS; i++) {
        ovsdb_idl_add_column(db->idl, nb_namings[i].column);
    }
    ovsdb_idl_add_table(db->idl, &nbrec_table_nb_global);
    ovsdb_idl_add_column(db->idl, &nbrec_nb_global_col_options);
}

const char *
nb_database_open(struct nb_database *db, const struct nb_target *target,
                 bool write, struct arena *arena)
{
    struct json *schema;
    const char *reason;

    *db = (struct nb_database) {
        .target = target, .arena = arena,
        .deadline = time_msec() + target->timeout_ms,
        .place = arena_printf(arena, "%s at %s", nbrec_idl_class.database,
                              target->db),
    };
    reason = nb_server_ask(db, write, &schema);
    reason = reason ? reason : nb_schema_check(db, schema);
    json_destroy(schema);
    reason = reason || !write ? reason : nb_writer_open(db);
    if (reason) {
        return reason;
    }
    make_copy(db);
    ovsdb_idl_run(db->idl);
    while (!reason && !ovsdb_idl_has_ever_connected(db->idl)) {
        reason = nb_database_wait(db);
    }
    if (!reason && !nbrec_nb_global_first(db->idl)) {
        reason = arena_printf(arena, "%s is not initialized: start "
                              "ovn-northd, or 'ovn-nbctl init'", db->place);
    }
    db->open = !reason;
    return reason;
}

void
nb_database_close(struct nb_database *db)
{
    ovsdb_idl_destroy(db->idl);
    nb_writer_close(db);
}
