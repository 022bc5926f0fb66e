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
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-util.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vconn.h"
#include "socket-util.h"
#include "timeval.h"
#include "util.h"

int
session_open(const char *name, long long int deadline, struct vconn **vconnp)
{
    long long int timeout = MAX(1, deadline - time_msec());

    return vconn_open_block(name, 1u << SESSION_VERSION, DSCP_DEFAULT,
                            timeout, vconnp);
}

static ovs_be32
message_xid(const struct ofpbuf *msg)
{
    const struct ofp_header *oh = msg->data;

    return oh->xid;
}

static int
session_wait(struct vconn *vconn, enum vconn_wait_type type,
             long long int deadline)
{
    if (time_msec() >= deadline) {
        return ETIMEDOUT;
    }
    vconn_run_wait(vconn);
    vconn_wait(vconn, type);
    poll_timer_wait_until(deadline);
    poll_block();
    return 0;
}

/* Takes ownership of 'msg'. */
static int
session_send(struct vconn *vconn, struct ofpbuf *msg, long long int deadline)
{
    int error;

    for (;;) {
        vconn_run(vconn);
        error = vconn_send(vconn, msg);
        if (error != EAGAIN) {
            break;
        }
        error = session_wait(vconn, WAIT_SEND, deadline);
        if (error) {
            break;
        }
    }
    if (error) {
        ofpbuf_delete(msg);
    }
    return error;
}

/* Receives the next message that is not the switch's own idea. */
static int
session_recv(struct vconn *vconn, long long int deadline,
             struct ofpbuf **msgp, enum ofptype *type)
{
    for (;;) {
        struct ofpbuf *msg;
        int error;

        if (time_msec() >= deadline) {
            return ETIMEDOUT;   /* Also if the switch never stops talking. */
        }
        vconn_run(vconn);
        error = vconn_recv(vconn, &msg);
        if (error == EAGAIN) {
            error = session_wait(vconn, WAIT_RECV, deadline);
            if (!error) {
                continue;
            }
        }
        if (error) {
            return error == EOF ? ECONNRESET : error;
        }
        if (ofptype_decode(type, msg->data)) {
            ofpbuf_delete(msg);
            return EPROTO;
        } else if (*type == OFPTYPE_ECHO_REQUEST) {
            session_send(vconn, ofputil_encode_echo_reply(msg->data),
                         deadline);
            ofpbuf_delete(msg);
        } else {
            *msgp = msg;
            return 0;
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
transact(struct vconn *vconn, struct ofpbuf *request, enum ofptype wanted,
         long long int deadline, const struct sent *sent)
{
    ovs_be32 xid = message_xid(request);
    int error = session_send(vconn, request, deadline);

    while (!error) {
        struct ofpbuf *msg;
        enum ofptype type;

        error = session_recv(vconn, deadline, &msg, &type);
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
session_multipart(struct vconn *vconn, struct ofpbuf *request,
                  enum ofptype expected, long long int deadline,
                  struct ovs_list *replies)
{
    ovs_be32 xid = message_xid(request);
    int error = session_send(vconn, request, deadline);
    bool more = true;

    ovs_list_init(replies);
    while (!error && more) {
        struct ofpbuf *msg;
        enum ofptype type;

        error = session_recv(vconn, deadline, &msg, &type);
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
send_all(struct vconn *vconn, struct ovs_list *requests,
         long long int deadline, struct sent *sent)
{
    struct ofpbuf *msg;
    int error = 0;

    *sent->error = (struct session_error) { .ofperr = 0 };
    LIST_FOR_EACH_POP (msg, list_node, requests) {
        if (error) {
            ofpbuf_delete(msg);
            continue;
        }
        sent->xids[sent->n++] = message_xid(msg);
        error = session_send(vconn, msg, deadline);
    }
    if (!error) {
        error = transact(vconn,
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
session_send_all(struct vconn *vconn, struct ovs_list *requests,
                 long long int deadline, struct session_error *serror,
                 bool *failed)
{
    struct sent sent;
    int error;

    sent_init(&sent, requests, serror, failed);
    error = send_all(vconn, requests, deadline, &sent);
    free(sent.xids);
    return error;
}

static int
bundle_control(struct vconn *vconn, uint16_t type, long long int deadline,
               const struct sent *sent)
{
    struct ofputil_bundle_ctrl_msg bc = {
        .bundle_id = 1, .type = type, .flags = OFPBF_ATOMIC | OFPBF_ORDERED,
    };
    struct ofpbuf *request = ofputil_encode_bundle_ctrl_request(
        SESSION_VERSION, &bc);

    ofpmsg_update_length(request);
    return transact(vconn, request, OFPTYPE_BUNDLE_CONTROL, deadline, sent);
}

/* Wraps 'requests' for a bundle, keeping their xids. */
static void
wrap_for_bundle(struct ovs_list *requests, struct ovs_list *wrapped)
{
    struct ofpbuf *msg;

    ovs_list_init(wrapped);
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
session_bundle(struct vconn *vconn, struct ovs_list *requests,
               long long int deadline, struct session_error *serror)
{
    struct session_error ignored = { .ofperr = 0 };
    struct sent nothing = { .error = &ignored };
    struct ovs_list wrapped;
    struct sent sent;
    int error;

    *serror = (struct session_error) { .ofperr = 0 };
    wrap_for_bundle(requests, &wrapped);
    sent_init(&sent, &wrapped, serror, NULL);
    error = bundle_control(vconn, OFPBCT_OPEN_REQUEST, deadline, &sent);
    if (error) {
        ofpbuf_list_delete(&wrapped);
        free(sent.xids);
        return error;
    }

    /* A message that the switch refuses is left out of the bundle, and the
     * rest could be committed: the barrier tells before it is too late. */
    error = send_all(vconn, &wrapped, deadline, &sent);
    if (error) {
        bundle_control(vconn, OFPBCT_DISCARD_REQUEST, deadline, &nothing);
    } else {
        error = bundle_control(vconn, OFPBCT_COMMIT_REQUEST, deadline, &sent);
        serror->unknown = error && !serror->ofperr;
    }
    free(sent.xids);
    return error;
}
