/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/session-private.h"

#include <errno.h>
#include <stdlib.h>

#include "openvswitch/list.h"
#include "openvswitch/ofp-monitor.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-util.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vconn.h"
#include "socket-util.h"
#include "timeval.h"
#include "util.h"

enum {
    MONITOR_ID = 1,
    MAX_RECEIVE = 50,           /* Messages in a session_run(). */
};

static struct session *
create(struct vconn *vconn)
{
    struct session *session = xzalloc(sizeof *session);

    session->vconn = vconn;
    ovs_list_init(&session->updates);
    ovs_list_init(&session->answers);
    return session;
}

int
session_open(const char *name, long long int deadline,
             struct session **sessionp)
{
    long long int timeout = MAX(1, deadline - time_msec());
    struct vconn *vconn;
    int error = vconn_open_block(name, 1u << SESSION_VERSION, DSCP_DEFAULT,
                                 timeout, &vconn);

    if (!error) {
        *sessionp = create(vconn);
    }
    return error;
}

int
session_begin(const char *name, struct session **sessionp)
{
    struct vconn *vconn;
    int error = vconn_open(name, 1u << SESSION_VERSION, DSCP_DEFAULT, &vconn);

    if (!error) {
        *sessionp = create(vconn);
    }
    return error;
}

int
session_connect(struct session *session)
{
    vconn_run(session->vconn);
    return vconn_connect(session->vconn);
}

void
session_connect_wait(struct session *session)
{
    vconn_run_wait(session->vconn);
    vconn_connect_wait(session->vconn);
}

void
session_close(struct session *session)
{
    if (session) {
        vconn_close(session->vconn);
        ofpbuf_list_delete(&session->updates);
        ofpbuf_list_delete(&session->answers);
        free(session);
    }
}

ovs_be32
session_xid(const struct ofpbuf *msg)
{
    const struct ofp_header *oh = msg->data;

    return oh->xid;
}

static int
wait_until(struct session *session, enum vconn_wait_type type,
           long long int deadline)
{
    if (time_msec() >= deadline) {
        return ETIMEDOUT;
    }
    vconn_run_wait(session->vconn);
    vconn_wait(session->vconn, type);
    poll_timer_wait_until(deadline);
    poll_block();
    return 0;
}

int
session_send(struct session *session, struct ofpbuf *msg,
             long long int deadline)
{
    int error;

    for (;;) {
        vconn_run(session->vconn);
        error = vconn_send(session->vconn, msg);
        if (error != EAGAIN) {
            break;
        }
        error = wait_until(session, WAIT_SEND, deadline);
        if (error) {
            break;
        }
    }
    if (error) {
        ofpbuf_delete(msg);
    }
    return error;
}

/* Is it about changes of flows, for session_pop()?  Replies to requests have
 * their transaction id. */
static bool
is_update(const struct session *session, const struct ofpbuf *msg,
          enum ofptype type)
{
    return (session->monitors && type == OFPTYPE_FLOW_MONITOR_STATS_REPLY
            && !session_xid(msg));
}

enum ofperr
session_ofperr(const struct ofpbuf *msg)
{
    struct ofpbuf payload;
    enum ofperr ofperr = ofperr_decode_msg(msg->data, &payload);

    if (!ofperr) {
        return OFPERR_OFPBRC_BAD_TYPE;  /* An error that we don't know. */
    }
    ofpbuf_uninit(&payload);
    return ofperr;
}

/* Takes ownership of 'msg' and returns true if it is for session_answer().
 * Answers come in the order of what was asked. */
static bool
take_answer(struct session *session, struct ofpbuf *msg, enum ofptype type)
{
    for (size_t i = 0; i < session->n_asked; i++) {
        if (session->asked[i] != session_xid(msg)) {
            continue;
        }
        bool last = i == session->n_asked - 1;
        if (type == OFPTYPE_ERROR) {
            session->refused = (session->refused ? session->refused
                                : session_ofperr(msg));
            session->answered = last;
            ofpbuf_delete(msg);
        } else {
            session->answered = last && !(ofpmsg_is_stat(msg->data)
                                          && ofpmp_more(msg->data));
            ovs_list_push_back(&session->answers, &msg->list_node);
        }
        return true;
    }
    return false;
}

/* Receives a message, or if there is none, returns EAGAIN.  '*msgp' becomes
 * NULL if it is one that needs nothing more. */
static int
receive(struct session *session, long long int deadline,
        struct ofpbuf **msgp, enum ofptype *type)
{
    struct ofpbuf *msg;
    int error;

    *msgp = NULL;
    vconn_run(session->vconn);
    error = vconn_recv(session->vconn, &msg);
    if (error) {
        return error == EOF ? ECONNRESET : error;
    } else if (ofptype_decode(type, msg->data)) {
        ofpbuf_delete(msg);
        return EPROTO;
    } else if (*type == OFPTYPE_ECHO_REQUEST) {
        error = session_send(session, ofputil_encode_echo_reply(msg->data),
                             deadline);
        ofpbuf_delete(msg);
    } else if (is_update(session, msg, *type)) {
        ovs_list_push_back(&session->updates, &msg->list_node);
    } else if (!take_answer(session, msg, *type)) {
        *msgp = msg;
    }
    return error;
}

int
session_recv(struct session *session, long long int deadline,
             struct ofpbuf **msgp, enum ofptype *type)
{
    for (;;) {
        int error;

        if (time_msec() >= deadline) {
            return ETIMEDOUT;   /* Also if the switch never stops talking. */
        }
        error = receive(session, deadline, msgp, type);
        if (error == EAGAIN) {
            error = wait_until(session, WAIT_RECV, deadline);
        }
        if (error || *msgp) {
            return error;
        }
    }
}

int
session_multipart(struct session *session, struct ofpbuf *request,
                  enum ofptype expected, long long int deadline,
                  struct ovs_list *replies)
{
    ovs_be32 xid = session_xid(request);
    int error = session_send(session, request, deadline);
    bool more = true;

    ovs_list_init(replies);
    while (!error && more) {
        struct ofpbuf *msg;
        enum ofptype type;

        error = session_recv(session, deadline, &msg, &type);
        if (error) {
            break;
        } else if (session_xid(msg) != xid) {
            ofpbuf_delete(msg);
        } else if (type == OFPTYPE_ERROR) {
            error = session_ofperr(msg);
            ofpbuf_delete(msg);
        } else if (type != expected) {
            /* The decoders of one type take nothing else for granted. */
            ofpbuf_delete(msg);
            error = EPROTO;
        } else {
            more = ofpmsg_is_stat(msg->data) && ofpmp_more(msg->data);
            ovs_list_push_back(replies, &msg->list_node);
        }
    }
    if (error) {
        ofpbuf_list_delete(replies);
        ovs_list_init(replies);
    }
    return error;
}

void
session_forget(struct session *session)
{
    ofpbuf_list_delete(&session->answers);
    ovs_list_init(&session->answers);
    session->n_asked = 0;
    session->answered = false;
    session->refused = 0;
}

void
session_ask(struct session *session, struct ovs_list *requests,
            long long int deadline)
{
    const struct ofpbuf *request;

    session_forget(session);
    LIST_FOR_EACH (request, list_node, requests) {
        ovs_assert(session->n_asked < SESSION_MAX_ASKED);
        session->asked[session->n_asked++] = session_xid(request);
    }
    session_tell(session, requests, deadline);
}

int
session_answer(struct session *session, long long int deadline,
               struct ovs_list *replies)
{
    int error = session->n_asked ? 0 : ENOENT;

    ovs_list_init(replies);
    while (!error && !session->answered) {
        struct ofpbuf *msg;
        enum ofptype type;

        error = (!deadline ? EAGAIN
                 : time_msec() >= deadline ? ETIMEDOUT
                 : receive(session, deadline, &msg, &type));
        if (!error) {
            ofpbuf_delete(msg);
        } else if (error == EAGAIN && deadline) {
            error = wait_until(session, WAIT_RECV, deadline);
        }
    }
    if (!error) {
        error = session->refused;
        ovs_list_push_back_all(replies, &session->answers);
        session_forget(session);
    }
    return error;
}

int
session_monitor(struct session *session, long long int deadline)
{
    struct ofputil_flow_monitor_request request = {
        .id = MONITOR_ID, .command = OFPFMC_ADD,
        .flags = (OFPFMF_ADD | OFPFMF_REMOVED | OFPFMF_MODIFY
                  | OFPFMF_INSTRUCTIONS),
        .out_port = OFPP_ANY, .out_group = OFPG_ANY, .table_id = OFPTT_ALL,
    };
    struct ofpbuf *msg = ofpbuf_new(0);
    struct ovs_list replies;
    int error;

    match_init_catchall(&request.match);
    ofputil_append_flow_monitor_request(&request, msg, SESSION_PROTOCOL);
    session->monitors = true;
    error = session_multipart(session, msg, OFPTYPE_FLOW_MONITOR_STATS_REPLY,
                              deadline, &replies);
    ofpbuf_list_delete(&replies);
    return error;
}

int
session_run(struct session *session)
{
    int error = 0;

    for (int i = 0; i < MAX_RECEIVE && !error; i++) {
        struct ofpbuf *msg;
        enum ofptype type;

        error = receive(session, time_msec(), &msg, &type);
        ofpbuf_delete(msg);
    }
    return error == EAGAIN ? 0 : error;
}

void
session_wait(struct session *session)
{
    vconn_run_wait(session->vconn);
    vconn_recv_wait(session->vconn);
    if (!ovs_list_is_empty(&session->updates) || session->answered) {
        poll_immediate_wake();
    }
}

struct ofpbuf *
session_pop(struct session *session)
{
    return (ovs_list_is_empty(&session->updates) ? NULL
            : ofpbuf_from_list(ovs_list_pop_front(&session->updates)));
}
