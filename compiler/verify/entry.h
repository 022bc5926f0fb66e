/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_ENTRY_H
#define VERIFY_ENTRY_H 1

/* All ways by which packets come into the tables of a node: the ports of its
 * endpoints and externals, that of tunnels, every other port that has a name
 * or that a flow matches, those that OpenFlow reserves, and one that stands
 * for all that no flow knows of.
 *
 * What comes by a port that is nobody's may have any outer header: it could be
 * one of tunnels. */

#include "verify/verify.h"

struct entry {
    const struct policy_endpoint *endpoint;
    const struct policy_attachment *external;
    bool tunnel;                /* It is the port of tunnels. */
    const char *name;           /* "inference/model0", "port eth0". */
    struct ingress ingress;
    enum layout layout;         /* That its diagrams are in. */
    bool asked;                 /* Is it proved? */
    bool probed;                /* Else does it tell a zone that counts? */
    bool cut;                   /* To real packets. */
    bool differs;
    dd_t within;                /* Only these packets are asked about. */
    dd_t effects;               /* Leaves of effect.h. */
    dd_t expect;                /* Leaves of expect.h. */
};
VEC_TYPEDEF(entry_vec, struct entry);

struct limits;

/* Adds all to '*entries', or those that a change is limited to, and counts
 * them in '*result'.  'limits' may be NULL.  Returns NULL, or why they are not
 * known. */
const char *entries_list(const struct verify_task *, const struct limits *,
                         struct arena *,
                         struct verify_result *, entry_vec *entries);

#endif /* verify/entry.h */
