/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_MEANING_EXTERNAL_H
#define SEMA_MEANING_EXTERNAL_H 1

/* The room behind meaning_judge() for what lies outside the fabric. */

#include <netinet/in.h>

#include "sema/meaning.h"

/* The external that 'ip' is an address of, or NULL. */
const struct policy_external *external_find(const struct policy *,
                                            const struct in6_addr *ip);

/* Do the ranges hold 'ip', which is the external's? */
bool external_is_in(const struct policy_external *, const struct in6_addr *ip,
                    const range_vec *);

/* The way out for the question's packet, which no endpoint gets; NULL if there
 * is none for its sender. */
const struct policy_attachment *external_way_out(
    const struct policy *, const struct meaning_question *);

/* Of a packet from outside. */

/* Is the attachment on the question's node? */
bool external_is_here(const struct meaning_question *);

/* Whom it reaches by its MAC and address, if policy lets it; or NULL. */
const struct policy_endpoint *external_receiver(
    const struct meaning_question *);

/* Is it the router's, with a source that is the external's? */
bool external_is_true(const struct policy *, const struct meaning_question *);

/* The end outside of its connection: for an ICMP error, which anybody on the
 * way may send, that of what opened the connection. */
struct in6_addr external_source(const struct meaning_question *);

/* Is that still the external's? */
bool external_has_source(const struct policy *,
                         const struct meaning_question *);

/* Of an ARP or neighbor discovery message: is it the router's request? */
bool external_is_request(const struct meaning_question *);

/* Is it for an address that the node answers for? */
bool external_is_gateway(const struct meaning_question *);

#endif /* sema/meaning-external.h */
