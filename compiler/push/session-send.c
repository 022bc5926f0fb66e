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
#include "openvswitch/ofp-bundle.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-util.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vconn.h"
#include "util.h"

/* Messages that were sent and may still be refused. */
struct sent {
    ovs_be32 *xids;
    bool *failed;               /* In parallel to the first, or NULL... */
    size_t n_failed;            /* ...of so many. */
    size_t n;
    struct session_error *error;
};

/* Notes an error message, if it is about one of 'sent'. */
static void
note_error(const struct ofpbuf *msg, enum ofperr ofperr,
           const struct sent *sent)
{
    for (size_t i = 0; i < sent->n; i++) {
        if (sent->xids[i] == session_xid(msg)) {
            if (sent->failed && i < sent->n_failed) {
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

/* Sends 'request' and waits for its reply of type 'wanted'.  Errors about it
 * or about 'sent' go to 'sent->error', those about 'sent' first. */
static int
transact(struct session *session, struct ofpbuf *request, enum ofptype wanted,
         long long int deadline, const struct sent *sent)
{
    ovs_be32 xid = session_xid(request);
    int error = session_send(session, request, deadline);

    while (!error) {
        struct ofpbuf *msg;
        enum ofptype type;

        error = session_recv(session, deadline, &msg, &type);
        if (error) {
            break;
        }

        bool about_this = session_xid(msg) == xid;
        if (about_this && type == wanted) {
            ofpbuf_delete(msg);
            return 0;
        } else if (type == OFPTYPE_ERROR && about_this) {
            if (!sent->error->ofperr) {
                sent->error->ofperr = session_ofperr(msg);
                sent->error->index = SIZE_MAX;
            }
            error = EPROTO;
        } else if (type == OFPTYPE_ERROR) {
            note_error(msg, session_ofperr(msg), sent);
        }
        ofpbuf_delete(msg);
    }
    return error;
}

/* Wraps 'msg', which it frees, for the bundle, keeping its xid. */
static struct ofpbuf *
wrap_for_bundle(struct ofpbuf *msg)
{
    struct ofputil_bundle_add_msg add = {
        .bundle_id = 1, .flags = OFPBF_ATOMIC | OFPBF_ORDERED,
    };
    struct ofpbuf *request;

    ofpmsg_update_length(msg);
    add.msg = msg->data;
    request = ofputil_encode_bundle_add(SESSION_VERSION, &add);
    ofpmsg_update_length(request);
    ofpbuf_delete(msg);
    return request;
}

static int
send_one(struct session *session, struct ofpbuf *msg, long long int deadline,
         struct sent *sent)
{
    sent->xids[sent->n++] = session_xid(msg);
    return session_send(session, msg, deadline);
}

static int
send_list(struct session *session, struct ovs_list *requests,
          long long int deadline, struct sent *sent)
{
    struct ofpbuf *msg;
    int error = 0;

    LIST_FOR_EACH_POP (msg, list_node, requests) {
        if (error) {
            ofpbuf_delete(msg);
        } else {
            error = send_one(session, msg, deadline, sent);
        }
    }
    return error;
}

/* Fills the bundle.  Many messages go together, so that the switch does not
 * wake up for each, but of a large bundle it has the first while the next are
 * made. */
static int
send_made(struct session *session, const struct session_source *source,
          long long int deadline, struct sent *sent)
{
    int error = 0;

    for (size_t i = 0; i < source->n && !error; i++) {
        struct ofpbuf *msg = source->make(source->aux, i);

        error = send_one(session, wrap_for_bundle(msg), deadline, sent);
    }
    return error;
}

/* Sends a barrier and waits for its reply, after which the switch has refused
 * what it refuses of 'sent'. */
static int
await_all(struct session *session, long long int deadline,
          const struct sent *sent)
{
    int error = transact(session,
                         ofputil_encode_barrier_request(SESSION_VERSION),
                         OFPTYPE_BARRIER_REPLY, deadline, sent);

    return error ? error : sent->error->ofperr ? EPROTO : 0;
}

static void
sent_init(struct sent *sent, size_t n, size_t n_failed,
          struct session_error *error, bool *failed)
{
    *error = (struct session_error) { .ofperr = 0 };
    sent->xids = xmalloc(MAX(1, n) * sizeof *sent->xids);
    sent->failed = failed;
    sent->n_failed = n_failed;
    sent->n = 0;
    sent->error = error;
}

int
session_send_all(struct session *session, struct ovs_list *requests,
                 long long int deadline, struct session_error *serror,
                 bool *failed)
{
    size_t n = ovs_list_size(requests);
    struct sent sent;
    int error;

    sent_init(&sent, n, n, serror, failed);
    vconn_set_cork(session->vconn, true);
    error = send_list(session, requests, deadline, &sent);
    vconn_set_cork(session->vconn, false);
    if (!error && n) {
        error = await_all(session, deadline, &sent);
    }
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

/* Opens the bundle and fills it. */
static int
fill_bundle(struct session *session, struct ovs_list *before,
            const struct session_source *source, long long int deadline,
            struct sent *sent)
{
    struct ofpbuf *open = bundle_request(OFPBCT_OPEN_REQUEST);
    int error;

    ovs_list_push_back(before, &open->list_node);
    vconn_set_cork(session->vconn, true);
    error = send_list(session, before, deadline, sent);
    if (!error) {
        error = send_made(session, source, deadline, sent);
    }
    vconn_set_cork(session->vconn, false);
    return error ? error : await_all(session, deadline, sent);
}

int
session_bundle(struct session *session, struct ovs_list *before,
               const struct session_source *source, long long int deadline,
               struct session_error *serror, bool *failed)
{
    struct session_error ignored = { .ofperr = 0 };
    struct sent nothing = { .error = &ignored };
    size_t n_before = ovs_list_size(before);
    struct sent sent;
    int error;

    sent_init(&sent, n_before + 1 + source->n, n_before, serror, failed);
    /* A message that the switch refuses is left out of the bundle, and the
     * rest could be committed: the barrier tells before it is too late. */
    error = fill_bundle(session, before, source, deadline, &sent);
    if (error) {
        bundle_control(session, OFPBCT_DISCARD_REQUEST, deadline, &nothing);
    } else {
        source->before_commit(source->aux);
        error = bundle_control(session, OFPBCT_COMMIT_REQUEST, deadline,
                               &sent);
        serror->unknown = error && !serror->ofperr;
    }
    /* What opened the bundle is none of the caller's requests. */
    if (serror->index == n_before) {
        serror->index = SIZE_MAX;
    } else if (serror->index > n_before && serror->index != SIZE_MAX) {
        serror->index--;
    }
    free(sent.xids);
    return error;
}

void
session_tell(struct session *session, struct ovs_list *requests,
             long long int deadline)
{
    struct ofpbuf *msg;
    int error = 0;

    LIST_FOR_EACH_POP (msg, list_node, requests) {
        if (error) {
            ofpbuf_delete(msg);
        } else {
            error = session_send(session, msg, deadline);
        }
    }
}
