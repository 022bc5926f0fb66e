/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/session.h"

#include <errno.h>
#include <stdlib.h>

#include "openvswitch/list.h"
#include "openvswitch/ofp-bundle.h"
#include "openvswitch/ofp-monitor.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-util.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vconn.h"
#include "socket-util.h"
#include "timeval.h"
#include "util.h"

struct session {
    struct vconn *vconn;
    bool monitors;              /* Has it a flow monitor? */
    struct ovs_list updates;    /* "struct ofpbuf"s, for session_pop(). */
};

enum {
    MONITOR_ID = 1,
    MAX_RECEIVE = 50,           /* Messages in a session_run(). */
};

int
session_open(const char *name, long long int deadline,
             struct session **sessionp)
{
    long long int timeout = MAX(1, deadline - time_msec());
    struct vconn *vconn;
    int error = vconn_open_block(name, 1u << SESSION_VERSION, DSCP_DEFAULT,
                                 timeout, &vconn);

    if (!error) {
        struct session *session = xzalloc(sizeof *session);

        session->vconn = vconn;
        ovs_list_init(&session->updates);
        *sessionp = session;
    }
    return error;
}

void
session_close(struct session *session)
{
    if (session) {
        vconn_close(session->vconn);
        ofpbuf_list_delete(&session->updates);
        free(session);
    }
}

static ovs_be32
message_xid(const struct ofpbuf *msg)
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

/* Takes ownership of 'msg'. */
static int
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
            && !message_xid(msg));
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
    } else {
        *msgp = msg;
    }
    return error;
}

/* Receives the next message that is not the switch's own idea. */
static int
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

/* Messages that were sent and may still be refused. */
struct sent {
    ovs_be32 *xids;
    bool *failed;               /* In parallel, or NULL. */
    size_t n;
    struct session_error *error;
};

/* Notes an error message, if it is about one of 'sent'. */
static void
note_error(const struct ofpbuf *msg, enum ofperr ofperr,
           const struct sent *sent)
{
    for (size_t i = 0; i < sent->n; i++) {
        if (sent->xids[i] == message_xid(msg)) {
            if (sent->failed) {
                sent->failed[i] = true;
            }
            if (!sent->error->ofperr) {
                sent->error->ofperr = ofperr;
                sent->error->index = i;
            }
            return;
        }
    }
}

static enum ofperr
decode_error(const struct ofpbuf *msg)
{
    struct ofpbuf payload;
    enum ofperr ofperr = ofperr_decode_msg(msg->data, &payload);

    if (!ofperr) {
        return OFPERR_OFPBRC_BAD_TYPE;  /* An error that we don't know. */
    }
    ofpbuf_uninit(&payload);
    return ofperr;
}

/* Sends 'request' and waits for its reply of type 'wanted'.  Errors about it
 * or about 'sent' go to 'sent->error', those about 'sent' first. */
static int
transact(struct session *session, struct ofpbuf *request, enum ofptype wanted,
         long long int deadline, const struct sent *sent)
{
    ovs_be32 xid = message_xid(request);
    int error = session_send(session, request, deadline);

    while (!error) {
        struct ofpbuf *msg;
        enum ofptype type;

        error = session_recv(session, deadline, &msg, &type);
        if (error) {
            break;
        }

        bool about_this = message_xid(msg) == xid;
        if (about_this && type == wanted) {
            ofpbuf_delete(msg);
            return 0;
        } else if (type == OFPTYPE_ERROR && about_this) {
            if (!sent->error->ofperr) {
                sent->error->ofperr = decode_error(msg);
                sent->error->index = SIZE_MAX;
            }
            error = EPROTO;
        } else if (type == OFPTYPE_ERROR) {
            note_error(msg, decode_error(msg), sent);
        }
        ofpbuf_delete(msg);
    }
    return error;
}

int
session_multipart(struct session *session, struct ofpbuf *request,
                  enum ofptype expected, long long int deadline,
                  struct ovs_list *replies)
{
    ovs_be32 xid = message_xid(request);
    int error = session_send(session, request, deadline);
    bool more = true;

    ovs_list_init(replies);
    while (!error && more) {
        struct ofpbuf *msg;
        enum ofptype type;

        error = session_recv(session, deadline, &msg, &type);
        if (error) {
            break;
        } else if (message_xid(msg) != xid) {
            ofpbuf_delete(msg);
        } else if (type == OFPTYPE_ERROR) {
            error = decode_error(msg);
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

/* Sends all of 'requests', then a barrier, and waits for its reply. */
static int
send_all(struct session *session, struct ovs_list *requests,
         long long int deadline, struct sent *sent)
{
    struct ofpbuf *msg;
    int error = 0;

    *sent->error = (struct session_error) { .ofperr = 0 };
    if (ovs_list_is_empty(requests)) {
        return 0;
    }
    LIST_FOR_EACH_POP (msg, list_node, requests) {
        if (error) {
            ofpbuf_delete(msg);
            continue;
        }
        sent->xids[sent->n++] = message_xid(msg);
        error = session_send(session, msg, deadline);
    }
    if (!error) {
        error = transact(session,
                         ofputil_encode_barrier_request(SESSION_VERSION),
                         OFPTYPE_BARRIER_REPLY, deadline, sent);
    }
    return error ? error : sent->error->ofperr ? EPROTO : 0;
}

static void
sent_init(struct sent *sent, const struct ovs_list *requests,
          struct session_error *error, bool *failed)
{
    sent->xids = xmalloc(MAX(1, ovs_list_size(requests))
                         * sizeof *sent->xids);
    sent->failed = failed;
    sent->n = 0;
    sent->error = error;
}

int
session_send_all(struct session *session, struct ovs_list *requests,
                 long long int deadline, struct session_error *serror,
                 bool *failed)
{
    struct sent sent;
    int error;

    sent_init(&sent, requests, serror, failed);
    error = send_all(session, requests, deadline, &sent);
    free(sent.xids);
    return error;
}

static struct ofpbuf *
bundle_request(uint16_t type)
{
    struct ofputil_bundle_ctrl_msg bc = {
        .bundle_id = 1, .type = type, .flags = OFPBF_ATOMIC | OFPBF_ORDERED,
    };
    struct ofpbuf *request = ofputil_encode_bundle_ctrl_request(
        SESSION_VERSION, &bc);

    ofpmsg_update_length(request);
    return request;
}

static int
bundle_control(struct session *session, uint16_t type, long long int deadline,
               const struct sent *sent)
{
    return transact(session, bundle_request(type), OFPTYPE_BUNDLE_CONTROL,
                    deadline, sent);
}

/* Wraps 'requests' for a bundle, keeping their xids, after what opens it. */
static void
wrap_for_bundle(struct ovs_list *requests, struct ovs_list *wrapped)
{
    struct ofpbuf *msg;

    ovs_list_init(wrapped);
    ovs_list_push_back(wrapped,
                       &bundle_request(OFPBCT_OPEN_REQUEST)->list_node);
    LIST_FOR_EACH_POP (msg, list_node, requests) {
        ofpmsg_update_length(msg);

        struct ofputil_bundle_add_msg add = {
            .bundle_id = 1, .flags = OFPBF_ATOMIC | OFPBF_ORDERED,
            .msg = msg->data,
        };
        struct ofpbuf *request = ofputil_encode_bundle_add(SESSION_VERSION,
                                                           &add);
        ofpmsg_update_length(request);
        ovs_list_push_back(wrapped, &request->list_node);
        ofpbuf_delete(msg);
    }
}

int
session_bundle(struct session *session, struct ovs_list *requests,
               long long int deadline, struct session_error *serror)
{
    struct session_error ignored = { .ofperr = 0 };
    struct sent nothing = { .error = &ignored };
    struct ovs_list wrapped;
    struct sent sent;
    int error;

    wrap_for_bundle(requests, &wrapped);
    sent_init(&sent, &wrapped, serror, NULL);
    /* A message that the switch refuses is left out of the bundle, and the
     * rest could be committed: the barrier tells before it is too late. */
    error = send_all(session, &wrapped, deadline, &sent);
    if (error) {
        bundle_control(session, OFPBCT_DISCARD_REQUEST, deadline, &nothing);
    } else {
        error = bundle_control(session, OFPBCT_COMMIT_REQUEST, deadline,
                               &sent);
        serror->unknown = error && !serror->ofperr;
    }
    /* What opened the bundle is none of the caller's requests. */
    serror->index = (serror->index && serror->index != SIZE_MAX
                     ? serror->index - 1 : SIZE_MAX);
    free(sent.xids);
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
    if (!ovs_list_is_empty(&session->updates)) {
        poll_immediate_wake();
    }
}

struct ofpbuf *
session_pop(struct session *session)
{
    return (ovs_list_is_empty(&session->updates) ? NULL
            : ofpbuf_from_list(ovs_list_pop_front(&session->updates)));
}
