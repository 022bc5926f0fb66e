/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "ovsdb-cs.h"
#include "push/nb-idl.h"
#include "util.h"

/* The session that has the lock, and sends transactions. */

/* Of a lock that ovsdb-server keeps, for all of Bulkhead's that write. */
#define LOCK "bulkhead"

/* A session always follows something: here what hardly ever changes. */
static struct json *
follow_little(const struct json *schema OVS_UNUSED, void *aux OVS_UNUSED)
{
    struct json *requests = json_object_create();
    struct json *request = json_object_create();

    json_object_put(request, "columns", json_array_create_1(
        json_string_create(nbrec_nb_global_col_name.name)));
    json_object_put(requests, nbrec_table_nb_global.name,
                    json_array_create_1(request));
    return requests;
}

/* Runs the session.  Returns the answer to transaction 'id', or NULL; sets
 * '*lost' if there will be none. */
static struct jsonrpc_msg *
run(struct ovsdb_cs *session, const struct json *id, bool *lost)
{
    struct jsonrpc_msg *answer = NULL;
    struct ovsdb_cs_event *event;
    struct ovs_list events;

    ovsdb_cs_run(session, &events);
    LIST_FOR_EACH_POP (event, list_node, &events) {
        if (event->type == OVSDB_CS_EVENT_TYPE_RECONNECT) {
            *lost = true;
        } else if (event->type == OVSDB_CS_EVENT_TYPE_TXN_REPLY && id
                   && json_equal(event->txn_reply->id, id)) {
            answer = event->txn_reply;
            event->txn_reply = NULL;
        }
        ovsdb_cs_event_destroy(event);
    }
    return answer;
}

/* Waits for news.  Returns NULL, or why there will be none. */
static const char *
await_news(struct nb_database *db)
{
    const char *reason = nb_database_trouble(
        db, ovsdb_cs_is_alive(db->writer),
        ovsdb_cs_get_last_error(db->writer));

    if (reason) {
        return reason;
    }
    ovsdb_cs_wait(db->writer);
    poll_timer_wait_until(db->deadline);
    poll_block();
    return NULL;
}

const char *
nb_writer_open(struct nb_database *db)
{
    static const struct ovsdb_cs_ops ops = { follow_little };
    const char *reason = NULL;
    bool lost = false;

    db->writer = ovsdb_cs_create(nbrec_idl_class.database, 3, &ops, NULL);
    ovsdb_cs_set_lock(db->writer, LOCK);
    ovsdb_cs_set_remote(db->writer, db->target->db,
                        strchr(db->target->db, ',') != NULL);
    run(db->writer, NULL, &lost);
    while (!reason && !ovsdb_cs_may_send_transaction(db->writer)) {
        reason = await_news(db);
        run(db->writer, NULL, &lost);
    }
    return (reason && ovsdb_cs_is_lock_contended(db->writer)
            ? arena_printf(db->arena, "%s: another Bulkhead is changing it, "
                           "and has its lock \"%s\": try again when that has "
                           "ended, or with a longer --timeout", db->place,
                           LOCK)
            : reason);
}

void
nb_writer_close(struct nb_database *db)
{
    ovsdb_cs_destroy(db->writer);
}

/* The error of an operation, or NULL. */
static const char *
operation_error(const struct json *result)
{
    const struct json *error = (result->type == JSON_OBJECT
                                ? shash_find_data(json_object(result),
                                                  "error") : NULL);

    return error && error->type == JSON_STRING ? json_string(error) : NULL;
}

/* What the server says of the operation that failed. */
static const char *
refusal(struct nb_database *db, const struct json *result)
{
    char *s = json_to_string(result, JSSF_SORT);
    const char *reason = arena_printf(db->arena, "%s refused the change, and "
                                      "holds what it held: %s", db->place, s);

    free(s);
    return reason;
}

/* Of an answer, as nb_writer_send(). */
static const char *
judge(struct nb_database *db, const struct jsonrpc_msg *answer, bool *again)
{
    const struct json *results = answer->result;

    if (answer->type == JSONRPC_ERROR) {
        return refusal(db, answer->error);
    } else if (results->type != JSON_ARRAY) {
        return refusal(db, results);
    }
    for (size_t i = 0; i < results->array.n; i++) {
        const char *error = operation_error(results->array.elems[i]);

        if (error && !strcmp(error, "timed out")) {
            *again = true;
            return NULL;
        } else if (error && !strcmp(error, "not owner")) {
            return arena_printf(db->arena, "%s: another has taken the lock; "
                                "nothing was changed", db->place);
        } else if (error) {
            return refusal(db, results->array.elems[i]);
        }
    }
    return NULL;
}

static const char *
doubt(const struct nb_database *db, const char *reason)
{
    return arena_printf(db->arena, "%s, before it answered: it has taken all "
                        "of the change or nothing; 'bulkhead status "
                        "--target=ovn' says which", reason);
}

const char *
nb_writer_send(struct nb_database *db, struct json *operations, bool *again)
{
    struct json *id = ovsdb_cs_send_transaction(db->writer, operations);
    struct jsonrpc_msg *answer = NULL;
    const char *reason = NULL;
    bool lost = false;

    *again = false;
    if (!id) {
        return arena_printf(db->arena, "%s: the connection, or the lock, is "
                            "lost; nothing was changed", db->place);
    }
    while (!answer && !reason) {
        answer = run(db->writer, id, &lost);
        if (!answer && lost) {
            reason = nb_database_reason(db, ECONNRESET);
        } else if (!answer) {
            reason = await_news(db);
        }
    }
    reason = answer ? judge(db, answer, again) : doubt(db, reason);
    jsonrpc_msg_destroy(answer);
    json_destroy(id);
    return reason;
}
