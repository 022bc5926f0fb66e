/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_SESSION_H
#define PUSH_SESSION_H 1

/* An OpenFlow 1.4 session with one bridge, every step under one deadline.
 *
 * libopenvswitch's blocking vconn functions have no timeout, so that a switch
 * that stops answering would hang them; these do not.  All return 0 or a
 * positive errno; EPROTO for an answer that makes no sense. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/list.h"
#include "openvswitch/ofp-errors.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-protocol.h"

struct ofpbuf;
struct session;

#define SESSION_PROTOCOL OFPUTIL_P_OF14_OXM
#define SESSION_VERSION OFP14_VERSION

/* What a switch answered to a group of messages. */
struct session_error {
    enum ofperr ofperr;         /* Of the first error; 0: none. */
    size_t index;               /* Of its message, from 0; SIZE_MAX if it is
                                 * about none of them. */
    bool unknown;               /* A commit was sent but not answered. */
};

int session_open(const char *name, long long int deadline, struct session **);

/* The same without waiting: session_connect() returns EAGAIN until it is open,
 * or cannot be. */
int session_begin(const char *name, struct session **);
int session_connect(struct session *);
void session_connect_wait(struct session *);
void session_close(struct session *);   /* Accepts NULL. */

/* Sends 'request', takes ownership of it, and stores the reply, of type
 * 'expected', or all parts of it ("struct ofpbuf"s) in 'replies'; the caller
 * frees them.  If the switch refuses the request then the error is its
 * OFPERR_*. */
int session_multipart(struct session *, struct ofpbuf *request,
                      enum ofptype expected, long long int deadline,
                      struct ovs_list *replies);

/* Sends 'requests', takes ownership of them, and waits until the switch has
 * dealt with all.  If 'failed' is not null, it has an element a request, which
 * becomes true if the switch refused that one. */
int session_send_all(struct session *, struct ovs_list *requests,
                     long long int deadline, struct session_error *,
                     bool *failed);

/* Messages that are made one by one, when they are sent. */
struct session_source {
    size_t n;
    struct ofpbuf *(*make)(const void *aux, size_t i);
    void (*before_commit)(const void *aux);     /* When all else is done. */
    const void *aux;
};

/* The same of 'before', and of a source in one bundle (ordered, atomic), of
 * which all take effect at once, or none: none if the switch refused one of
 * 'before'.  The error's index counts both, 'before' first; 'failed' is for
 * 'before' only.  Both are sent at once, so that there are two answers to wait
 * for, whatever is sent. */
int session_bundle(struct session *, struct ovs_list *before,
                   const struct session_source *, long long int deadline,
                   struct session_error *, bool *failed);

/* Sends 'requests', takes ownership of them, and does not ask what becomes of
 * them. */
void session_tell(struct session *, struct ovs_list *requests,
                  long long int deadline);

/* Sends 'requests', for multipart replies, and takes ownership of them.  All
 * answers are kept until session_answer(), while other things are sent and
 * received.  What was asked before is forgotten. */
enum { SESSION_MAX_ASKED = 2 };
void session_ask(struct session *, struct ovs_list *requests,
                 long long int deadline);

/* Stores in 'replies' the answers to all that session_ask() has sent, in their
 * order; the caller frees them.  Until they are there, waits for them if
 * 'deadline' is not 0, else returns EAGAIN.  ENOENT: nothing was asked. */
int session_answer(struct session *, long long int deadline,
                   struct ovs_list *replies);

/* Nobody wants the answers any more. */
void session_forget(struct session *);

/* Asks the switch to tell of every change of a flow that is not made in this
 * session. */
int session_monitor(struct session *, long long int deadline);

/* Takes what has come unasked.  Never waits. */
int session_run(struct session *);
void session_wait(struct session *);

/* The next message about changes of flows, a flow monitor reply, which the
 * caller frees; or NULL. */
struct ofpbuf *session_pop(struct session *);

#endif /* push/session.h */
