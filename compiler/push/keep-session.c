/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/keep-private.h"

#include <errno.h>

#include "push/session.h"
#include "reconnect.h"
#include "timeval.h"
#include "util.h"

/* The session with the switch, which is opened without waiting: a switch that
 * hangs must not keep others from an answer. */

/* A bridge that does not speak Bulkhead's version of OpenFlow hangs up. */
static const char *
why_not(struct keeper *k, int error)
{
    if (k->info_seqno && !k->push.info.has_openflow14) {
        keeper_begin(k);
        push_check_settings(&k->push);
        return push_unfit_reason(&k->push);
    }
    return push_not_connected(&k->push, error);
}

static void
fail(struct keeper *k, int error)
{
    keeper_set_trouble(k, why_not(k, error));
    session_close(k->connecting);
    k->connecting = NULL;
    reconnect_connect_failed(k->fsm, time_msec(), error);
}

static void
begin(struct keeper *k)
{
    int error;

    keeper_begin(k);
    reconnect_connecting(k->fsm, time_msec());
    error = session_begin(push_remote(&k->push), &k->connecting);
    if (error) {
        fail(k, error);
    }
}

/* The session is open: what the switch holds is to be followed. */
static void
follow(struct keeper *k)
{
    int error;

    keeper_begin(k);
    k->push.session = k->connecting;
    k->connecting = NULL;
    reconnect_connected(k->fsm, time_msec());
    k->counts.connections++;
    k->live_known = false;
    k->wants_plan = true;
    k->next_try = 0;
    /* It has just said hello: one that hangs now is not waited for. */
    error = session_monitor(k->push.session,
                            MIN(k->push.deadline,
                                time_msec() + KEEPER_MONITOR_MS));
    if (error) {
        keeper_set_trouble(k, push_errno(
            &k->push, "asking for changes of flows", error));
        keeper_disconnect(k, error);
    }
}

void
keeper_connect(struct keeper *k)
{
    enum reconnect_action action = reconnect_run(k->fsm, time_msec());
    int error;

    if (action == RECONNECT_CONNECT) {
        begin(k);
    }
    if (!k->connecting) {
        return;
    }
    error = session_connect(k->connecting);
    if (!error) {
        follow(k);
    } else if (error != EAGAIN) {
        fail(k, error);
    } else if (action == RECONNECT_DISCONNECT) {
        fail(k, ETIMEDOUT);
    }
}

void
keeper_connect_wait(struct keeper *k)
{
    reconnect_wait(k->fsm, time_msec());
    if (k->connecting) {
        session_connect_wait(k->connecting);
    }
}
