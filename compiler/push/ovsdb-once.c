/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/ovsdb.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "openvswitch/poll-loop.h"
#include "ovsdb-idl.h"
#include "push/ovsdb-private.h"
#include "push/push.h"
#include "timeval.h"
#include "util.h"
#include "vswitch-idl.h"

/* The database as who runs once reads it: waits until all is there. */

/* Returns 0 or a positive errno. */
static int
await_database(struct database *db, long long int deadline)
{
    for (;;) {
        int error;

        database_run(db);
        error = (time_msec() >= deadline ? ETIMEDOUT : database_error(db));
        if (error || database_is_known(db)) {
            return database_is_known(db) ? 0 : error;
        }
        database_wait(db);
        poll_timer_wait_until(deadline);
        poll_block();
    }
}

/* What bridge_info_read() has read last.  To get all of it costs more than
 * anything else that is done with it. */
static struct database *last;

/* What a thread reads meanwhile, which will be 'last'. */
static struct {
    struct database *db;        /* NULL if there is none. */
    long long int deadline;
    int error;
    pthread_t thread;
} expected;

/* Why one could not be read: what was made without it must not go where the
 * next would. */
static int failure;

static void *
await_expected(void *aux OVS_UNUSED)
{
    expected.error = await_database(expected.db, expected.deadline);
    return NULL;
}

void
bridge_info_expect(const char *remote, long long int deadline)
{
    if (!last && !expected.db) {
        expected.db = database_open(remote, false);
        expected.deadline = deadline;
        if (pthread_create(&expected.thread, NULL, await_expected, NULL)) {
            database_close(expected.db);
            expected.db = NULL;
        }
    }
}

/* Waits for what was expected, if anything is.  Returns 0 or a positive
 * errno. */
static int
take_expected(void)
{
    if (!expected.db) {
        return 0;
    }
    pthread_join(expected.thread, NULL);
    last = expected.db;
    expected.db = NULL;
    return expected.error;
}

void
bridge_info_forget(void)
{
    take_expected();
    database_close(last);
    last = NULL;
    failure = 0;
}

/* Waits until all that is in the database by now has come, which stands before
 * the answer to a transaction that is aborted.  Returns true if so. */
static bool
catch_up(struct database *db, long long int deadline)
{
    const struct ovsrec_open_vswitch *ovs = ovsrec_open_vswitch_first(db->idl);
    enum ovsdb_idl_txn_status status;
    struct ovsdb_idl_txn *txn;

    if (!ovs) {
        return false;
    }
    txn = ovsdb_idl_txn_create(db->idl);
    ovsdb_idl_txn_set_dry_run(txn);
    ovsdb_idl_txn_increment(txn, &ovs->header_,
                            &ovsrec_open_vswitch_col_next_cfg, true);
    while ((status = ovsdb_idl_txn_commit(txn)) == TXN_INCOMPLETE
           && time_msec() < deadline) {
        database_run(db);
        database_wait(db);
        ovsdb_idl_txn_wait(txn);
        poll_timer_wait_until(deadline);
        poll_block();
    }
    ovsdb_idl_txn_destroy(txn);
    return status == TXN_SUCCESS;
}

const char *
bridge_info_read(const char *remote, const char *bridge,
                 long long int deadline, struct arena *arena,
                 struct bridge_info *info)
{
    const char *reason;
    int error;

    if (failure) {
        return database_unreachable(remote, failure, arena);
    }
    error = take_expected();
    if (last && strcmp(last->remote, remote)) {
        bridge_info_forget();
        error = 0;
    }
    if (!error && (!last || !catch_up(last, deadline))) {
        bridge_info_forget();
        last = database_open(remote, false);
        error = await_database(last, deadline);
    }
    reason = (error ? database_unreachable(last->remote, error, arena)
              : database_bridge(last, bridge, arena, info));
    if (error) {
        bridge_info_forget();
        failure = error;
    }
    return reason;
}

const char *
push_lacks_bridge(const struct push_target *target, struct arena *arena)
{
    struct database *db = database_open(target->db, false);
    const char *reason = NULL;
    struct bridge_info info;

    bridge_info_init(&info);
    if (!await_database(db, time_msec() + target->timeout_ms)) {
        reason = database_bridge(db, target->bridge, arena, &info);
    }
    bridge_info_destroy(&info);
    database_close(db);
    return reason;
}
