/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/session.h"

#include <errno.h>

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

/* Notes an error message about one of the messages 'xids[0..n-1]'. */
static void
note_error(const struct ofpbuf *msg, const ovs_be32 *xids, size_t n,
           struct session_error *error)
{
    struct ofpbuf payload;
    enum ofperr ofperr = ofperr_decode_msg(msg->data, &payload);

    if (!ofperr) {
        ofperr = OFPERR_OFPBRC_BAD_TYPE;    /* An error that we don't know. */
    } else {
        ofpbuf_uninit(&payload);
    }
    for (size_t i = 0; i < n && !error->ofperr; i++) {
        if (xids[i] == message_xid(msg)) {
            error->ofperr = ofperr;
            error->index = i;
        }
    }
}

/* Waits for the reply of type 'wanted' to message 'xid'; errors about it or
 * about 'xids' go to 'serror'. */
static int
wait_reply(struct vconn *vconn, enum ofptype wanted, ovs_be32 xid,
           const ovs_be32 *xids, size_t n, long long int deadline,
           struct session_error *serror, struct ofpbuf **replyp)
{
    for (;;) {
        struct ofpbuf *msg;
        enum ofptype type;
        int error = session_recv(vconn, deadline, &msg, &type);

        if (error) {
            return error;
        } else if (type == wanted && message_xid(msg) == xid) {
            *replyp = msg;
            return 0;
        } else if (type == OFPTYPE_ERROR) {
            bool fatal = message_xid(msg) == xid;

            note_error(msg, fatal ? &xid : xids, fatal ? 1 : n, serror);
            if (fatal) {
                serror->index = n;
                ofpbuf_delete(msg);
                return EPROTO;
            }
        }
        ofpbuf_delete(msg);
    }
}

int
session_multipart(struct vconn *vconn, struct ofpbuf *request,
                  long long int deadline, struct ovs_list *replies)
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
        } else if (!ofpmsg_is_stat_reply(msg->data)) {
            ofpbuf_delete(msg);
            error = EPROTO;
        } else {
            more = ofpmp_more(msg->data);
            ovs_list_push_back(replies, &msg->list_node);
        }
    }
    if (error) {
        ofpbuf_list_delete(replies);
        ovs_list_init(replies);
    }
    return error;
}

/* Sends a barrier and waits for its reply. */
static int
session_barrier(struct vconn *vconn, const ovs_be32 *xids, size_t n,
                long long int deadline, struct session_error *serror)
{
    struct ofpbuf *barrier = ofputil_encode_barrier_request(SESSION_VERSION);
    ovs_be32 xid = message_xid(barrier);
    struct ofpbuf *reply;
    int error = session_send(vconn, barrier, deadline);

    if (!error) {
        error = wait_reply(vconn, OFPTYPE_BARRIER_REPLY, xid, xids, n,
                           deadline, serror, &reply);
    }
    if (!error) {
        ofpbuf_delete(reply);
    }
    return error ? error : serror->ofperr ? EPROTO : 0;
}

int
session_send_all(struct vconn *vconn, struct ovs_list *requests,
                 long long int deadline, struct session_error *serror)
{
    ovs_be32 *xids = xmalloc(MAX(1, ovs_list_size(requests)) * sizeof *xids);
    struct ofpbuf *msg;
    size_t n = 0;
    int error = 0;

    *serror = (struct session_error) { .ofperr = 0 };
    LIST_FOR_EACH_POP (msg, list_node, requests) {
        if (error) {
            ofpbuf_delete(msg);
            continue;
        }
        xids[n++] = message_xid(msg);
        error = session_send(vconn, msg, deadline);
    }
    if (!error) {
        error = session_barrier(vconn, xids, n, deadline, serror);
    }
    free(xids);
    return error;
}

static int
bundle_control(struct vconn *vconn, uint16_t type, long long int deadline,
               struct session_error *serror)
{
    struct ofputil_bundle_ctrl_msg bc = {
        .bundle_id = 1, .type = type, .flags = OFPBF_ATOMIC | OFPBF_ORDERED,
    };
    struct ofpbuf *request = ofputil_encode_bundle_ctrl_request(
        SESSION_VERSION, &bc);
    ovs_be32 xid;
    struct ofpbuf *reply;
    int error;

    ofpmsg_update_length(request);
    xid = message_xid(request);
    error = session_send(vconn, request, deadline);
    if (!error) {
        error = wait_reply(vconn, OFPTYPE_BUNDLE_CONTROL, xid, NULL, 0,
                           deadline, serror, &reply);
    }
    if (!error) {
        ofpbuf_delete(reply);
    }
    return error;
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
    struct ovs_list wrapped;
    int error;

    *serror = (struct session_error) { .ofperr = 0 };
    wrap_for_bundle(requests, &wrapped);
    error = bundle_control(vconn, OFPBCT_OPEN_REQUEST, deadline, serror);
    if (error) {
        ofpbuf_list_delete(&wrapped);
        return error;
    }

    /* A message that the switch refuses is left out of the bundle, and the
     * rest could be committed: the barrier tells before it is too late. */
    error = session_send_all(vconn, &wrapped, deadline, serror);
    if (!error) {
        error = bundle_control(vconn, OFPBCT_COMMIT_REQUEST, deadline,
                               serror);
        serror->unknown = error && !serror->ofperr;
        return error;
    }
    bundle_control(vconn, OFPBCT_DISCARD_REQUEST, deadline, &ignored);
    return error;
}
