/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef ALIKE_H
#define ALIKE_H 1

/* What tests share of proofs of an endpoint that came or went by others like
 * it (verify/base-symmetry.c): a tenant "t" of workers "w0" and so on, which
 * are alike, and of a server "s". */

#include "proving.h"

struct alike {
    int n;                      /* Workers, which are alike, and a server. */
    bool ip6;                   /* Have they addresses of IPv6, too? */
    const char *last;           /* What the last worker has of bandwidth, if
                                 * not the limit that all have: such as
                                 * ALIKE_BANDWIDTH(). */
    bool apart;                 /* Is the last worker not bound? */
    bool first_apart;           /* The first? */
    bool limited;               /* Has the tenant a limit? */
    const char *rules;          /* More rules. */
};

#define ALIKE_BANDWIDTH(LIMIT, MORE)                                    \
    "'bandwidth': {'limit': '" LIMIT "', 'burst': '64KiB'" MORE "}, "

/* As proving_begin() and proving_change(), with that tenant. */
void alike_begin(struct proving *, struct alike, void (*spoil)(struct plan *));
enum proving_by alike_change(struct proving *, struct alike,
                             void (*alter)(struct proving *, struct arena *,
                                           struct resident_diff *));

/* The number of the endpoint "name", as the flow that admits what it sends
 * sets it in 'reg', which is such as "->reg1"; of 'plan->arena'. */
const char *alike_number(const struct plan *plan, const char *name,
                         const char *reg);

#endif /* alike.h */
