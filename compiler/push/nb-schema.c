/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "ovsdb-session.h"
#include "push/nb-idl.h"
#include "svec.h"
#include "timeval.h"
#include "util.h"

/* The schema, which the copy of the database does not tell. */

/* Asks for it.  Returns 0 or a positive errno; the answer is then a reply or
 * an error. */
static int
ask(struct jsonrpc_session *session, long long int deadline,
    struct jsonrpc_msg **answer)
{
    unsigned int asked = jsonrpc_session_get_seqno(session);

    for (;;) {
        jsonrpc_session_run(session);
        if (jsonrpc_session_is_connected(session)
            && jsonrpc_session_get_seqno(session) != asked) {
            asked = jsonrpc_session_get_seqno(session);
            jsonrpc_session_send(session, jsonrpc_create_request(
                "get_schema",
                json_array_create_1(json_string_create(
                    nbrec_idl_class.database)),
                NULL));
        }
        *answer = jsonrpc_session_recv(session);
        if (*answer && ((*answer)->type == JSONRPC_REPLY
                        || (*answer)->type == JSONRPC_ERROR)) {
            return 0;
        }
        jsonrpc_msg_destroy(*answer);
        if (!jsonrpc_session_is_alive(session) || time_msec() >= deadline) {
            int error = jsonrpc_session_get_last_error(session);

            return (error && error != EOF ? error
                    : jsonrpc_session_is_alive(session) ? ETIMEDOUT
                    : ECONNRESET);
        }
        jsonrpc_session_wait(session);
        jsonrpc_session_recv_wait(session);
        poll_timer_wait_until(deadline);
        poll_block();
    }
}

/* A member of a JSON object, or NULL. */
static const struct json *
member(const struct json *object, const char *name)
{
    return (object && object->type == JSON_OBJECT
            ? shash_find_data(json_object(object), name) : NULL);
}

/* Is version 'a', "7.0.0", before 'b'? */
static bool
is_older(const char *a, const char *b)
{
    unsigned int x[3] = { 0, 0, 0 }, y[3] = { 0, 0, 0 };

    sscanf(a, "%u.%u.%u", &x[0], &x[1], &x[2]);
    sscanf(b, "%u.%u.%u", &y[0], &y[1], &y[2]);
    for (size_t i = 0; i < ARRAY_SIZE(x); i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i];
        }
    }
    return false;
}

/* Names the table or column if it is not there, or returns NULL. */
static const char *
find_column_lack(const struct nb_database *db, const struct json *tables,
                 const struct ovsdb_idl_table_class *class,
                 const struct ovsdb_idl_column *column)
{
    const struct json *table = member(tables, class->name);

    return (!table ? arena_printf(db->arena, "table %s", class->name)
            : !member(member(table, "columns"), column->name)
            ? arena_printf(db->arena, "column %s in table %s", column->name,
                           class->name) : NULL);
}

/* Names what is not there of all that is looked at, or returns NULL. */
static const char *
find_lack(const struct nb_database *db, const struct json *schema)
{
    const struct json *tables = member(schema, "tables");
    const char *lack = NULL;

    for (size_t i = 0; i < NB_N_TABLES; i++) {
        const struct ovsdb_idl_table_class *class = nb_tables[i];

        for (size_t j = 0; j < class->n_columns && !lack; j++) {
            lack = find_column_lack(db, tables, class, &class->columns[j]);
        }
    }
    for (size_t i = 0; i < NB_N_NAMINGS && !lack; i++) {
        lack = find_column_lack(db, tables, nb_namings[i].table,
                                nb_namings[i].column);
    }
    return lack;
}

static const char *
check(const struct nb_database *db, const struct json *schema)
{
    const struct json *json = member(schema, "version");
    const char *version = (json && json->type == JSON_STRING
                           ? json_string(json) : "0");
    const char *built = nbrec_get_db_version(), *lack;

    if (is_older(version, built)) {
        return arena_printf(
            db->arena, "%s has schema %s, older than %s, with which Bulkhead "
            "was built; upgrade OVN, or build Bulkhead with its schema "
            "(configure --with-ovn-nb-schema)", db->place, version, built);
    }
    lack = find_lack(db, schema);
    return (!lack ? NULL
            : arena_printf(
                db->arena, "%s has schema %s, without the %s that %s has, "
                "with which Bulkhead was built; build Bulkhead with its "
                "schema (configure --with-ovn-nb-schema)", db->place, version,
                lack, built));
}

const char *
nb_schema_check(const struct nb_database *db)
{
    struct svec remotes = SVEC_EMPTY_INITIALIZER;
    struct jsonrpc_session *session;
    struct jsonrpc_msg *answer = NULL;
    const char *reason;
    struct uuid cid;
    int error;

    ovsdb_session_parse_remote(db->target->db, &remotes, &cid);
    session = jsonrpc_session_open_multiple(&remotes, remotes.n > 1);
    svec_destroy(&remotes);
    error = ask(session, db->deadline, &answer);
    reason = (error ? arena_printf(
                  db->arena, "%s: %s; is its ovsdb-server running there? see "
                  "--db and OVN_NB_DB", db->place, ovs_retval_to_string(error))
              : answer->type == JSONRPC_ERROR ? arena_printf(
                  db->arena, "%s: there is no such database; is that the "
                  "address of another, as of the southbound?", db->place)
              : check(db, answer->result));
    jsonrpc_msg_destroy(answer);
    jsonrpc_session_close(session);
    return reason;
}
