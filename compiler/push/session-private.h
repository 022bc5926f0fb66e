/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_SESSION_PRIVATE_H
#define PUSH_SESSION_PRIVATE_H 1

/* Between session.c, which connects, asks and receives, and session-send.c,
 * which sends what changes the switch. */

#include "push/session.h"

struct session {
    struct vconn *vconn;
    bool monitors;              /* Has it a flow monitor? */
    struct ovs_list updates;    /* "struct ofpbuf"s, for session_pop(). */

    /* For session_answer(). */
    ovs_be32 asked[SESSION_MAX_ASKED];
    size_t n_asked;
    struct ovs_list answers;    /* "struct ofpbuf"s. */
    bool answered;              /* To the last one? */
    enum ofperr refused;        /* The first error, or 0. */
};

ovs_be32 session_xid(const struct ofpbuf *);

/* What an error message says. */
enum ofperr session_ofperr(const struct ofpbuf *);

/* Takes ownership of 'msg'. */
int session_send(struct session *, struct ofpbuf *msg, long long int deadline);

/* Receives the next message that is neither the switch's own idea nor for
 * session_answer(). */
int session_recv(struct session *, long long int deadline,
                 struct ofpbuf **msgp, enum ofptype *type);

#endif /* push/session-private.h */
