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

#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "ovsdb-session.h"
#include "push/nb-idl.h"
#include "svec.h"
#include "timeval.h"
#include "util.h"

/* What the server tells of itself and of the database, before that is read:
 * whoever only follows the database never hears why nothing comes. */

const struct json *
nb_member(const struct json *object, const char *name)
{
    return (object && object->type == JSON_OBJECT
            ? shash_find_data(json_object(object), name) : NULL);
}

/* Asks it, and takes 'params'.  Returns 0 or a positive errno; the answer is
 * then a reply or an error. */
static int
ask(struct jsonrpc_session *session, long long int deadline,
    const char *method, struct json *params, struct jsonrpc_msg **answer)
{
    unsigned int asked = 0;
    bool has_asked = false;
    int error = 0;

    for (;;) {
        unsigned int seqno;

        jsonrpc_session_run(session);
        seqno = jsonrpc_session_get_seqno(session);
        if (jsonrpc_session_is_connected(session)
            && (!has_asked || asked != seqno)) {
            has_asked = true;
            asked = seqno;
            jsonrpc_session_send(session, jsonrpc_create_request(
                method, json_clone(params), NULL));
        }
        *answer = jsonrpc_session_recv(session);
        if (*answer && ((*answer)->type == JSONRPC_REPLY
                        || (*answer)->type == JSONRPC_ERROR)) {
            break;
        }
        jsonrpc_msg_destroy(*answer);
        *answer = NULL;
        if (!jsonrpc_session_is_alive(session) || time_msec() >= deadline) {
            error = jsonrpc_session_get_last_error(session);
            error = (error && error != EOF ? error
                     : jsonrpc_session_is_alive(session) ? ETIMEDOUT
                     : ECONNRESET);
            break;
        }
        jsonrpc_session_wait(session);
        jsonrpc_session_recv_wait(session);
        poll_timer_wait_until(deadline);
        poll_block();
    }
    json_destroy(params);
    return error;
}

/* The first of an array, or NULL. */
static const struct json *
first_element(const struct json *json)
{
    return (json && json->type == JSON_ARRAY && json->array.n
            ? json->array.elems[0] : NULL);
}

/* The row of the server's own database that speaks of the database. */
static struct json *
select_database(void)
{
    return json_from_string(
        "[\"_Server\", {\"op\": \"select\", \"table\": \"Database\","
        "\"where\": [[\"name\", \"==\", \"OVN_Northbound\"]],"
        "\"columns\": [\"model\", \"connected\", \"leader\"]}]");
}

/* What the answer to that says is in the way; NULL: nothing, or nothing that
 * is known.  Sets '*alone' if the server is of no cluster. */
static const char *
find_lack(const struct jsonrpc_msg *answer, bool several, bool *alone)
{
    const struct json *row = first_element(
        nb_member(first_element(answer->result), "rows"));
    const struct json *model = nb_member(row, "model");
    const struct json *connected = nb_member(row, "connected");
    const struct json *leader = nb_member(row, "leader");
    const char *name = (model && model->type == JSON_STRING
                        ? json_string(model) : "");

    *alone = strcmp(name, "clustered") && strcmp(name, "relay");
    return (*alone ? NULL
            : !strcmp(name, "relay")
            ? "this is a relay; name the servers that it relays in --db"
            : !connected || connected->type != JSON_TRUE
            ? "the server that answers has lost its cluster, or not joined "
              "it yet; most of the cluster's servers must run, and reach each "
              "other"
            : leader && leader->type == JSON_TRUE ? NULL
            : several
            ? "the server that answers is not the leader of its cluster, and "
              "no other is to be had; most of the cluster's servers must run, "
              "and --db name all of them"
            : "this server is not the leader of its cluster; name all servers "
              "of the cluster in --db, with commas between");
}

/* Whoever may not write gets no lock.  This one is nobody's, and goes with the
 * session. */
static bool
is_read_only(struct jsonrpc_session *session, long long int deadline)
{
    struct jsonrpc_msg *answer;
    bool refused;

    if (ask(session, deadline, "lock",
            json_array_create_1(json_string_create("bulkhead_probe")),
            &answer)) {
        return false;
    }
    refused = answer->type == JSONRPC_ERROR;
    jsonrpc_msg_destroy(answer);
    return refused;
}

/* Asks of the server itself. */
static void
look_at_server(struct nb_database *db, struct jsonrpc_session *session,
               bool write)
{
    bool several = strchr(db->target->db, ',') != NULL;
    struct jsonrpc_msg *answer;
    bool alone = false;

    if (!ask(session, db->deadline, "transact", select_database(), &answer)) {
        db->lack = find_lack(answer, several, &alone);
        jsonrpc_msg_destroy(answer);
    }
    if (alone && write && is_read_only(session, db->deadline)) {
        db->lack = "it is read only here, as a backup is; name the active "
                   "server in --db, or an address where it takes changes";
    }
}

/* Asks for the schema.  Returns NULL, or why there is none. */
static const char *
get_schema(struct nb_database *db, struct jsonrpc_session *session,
           struct json **schema)
{
    struct jsonrpc_msg *answer = NULL;
    int error = ask(session, db->deadline, "get_schema",
                    json_array_create_1(json_string_create(
                        nbrec_idl_class.database)), &answer);
    const char *reason = NULL;

    if (error == ENOPROTOOPT) {
        reason = arena_printf(db->arena, "%s: TLS cannot start; "
                              "--private-key, --certificate and --ca-cert "
                              "must be PEM files, and the key that of the "
                              "certificate",
                              db->place);
    } else if (error) {
        reason = arena_printf(db->arena, "%s: %s; is its ovsdb-server running "
                              "there? see --db and OVN_NB_DB", db->place,
                              ovs_retval_to_string(error));
    } else if (answer->type == JSONRPC_REPLY) {
        *schema = json_clone(answer->result);
    } else if (!db->lack) {
        reason = arena_printf(db->arena, "%s: there is no such database; is "
                              "that the address of another, as of the "
                              "southbound?", db->place);
    }
    jsonrpc_msg_destroy(answer);
    return reason;
}

const char *
nb_server_ask(struct nb_database *db, bool write, struct json **schema)
{
    struct svec remotes = SVEC_EMPTY_INITIALIZER;
    struct jsonrpc_session *session;
    const char *reason;
    struct uuid cid;

    *schema = NULL;
    ovsdb_session_parse_remote(db->target->db, &remotes, &cid);
    session = jsonrpc_session_open_multiple(&remotes, remotes.n > 1);
    look_at_server(db, session, write);
    reason = get_schema(db, session, schema);
    if (!reason && db->lack && (remotes.n == 1 || !*schema)) {
        reason = arena_printf(db->arena, "%s: %s", db->place, db->lack);
    }
    jsonrpc_session_close(session);
    svec_destroy(&remotes);
    return reason;
}
