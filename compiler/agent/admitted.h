/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_ADMITTED_H
#define AGENT_ADMITTED_H 1

/* The interfaces whose packets the bridge lets in, and as whose: of what was
 * put last, not of what is compiled.  Those that are not the same any more are
 * to be cut off, whatever is proved. */

#include <stdbool.h>

#include "openvswitch/shash.h"
#include "smap.h"
#include "sset.h"

struct bridge_info;
struct compiled;

struct admitted {
    const char *bridge;         /* Its name. */
    struct smap as;             /* Interface -> to what it is bound... */
    struct sset claimed;        /* ...and those that have said so. */
    struct shash of;            /* By tenant: the "struct sset" of its
                                 * interfaces. */
    bool whole;                 /* Are these all of what is compiled, as of
                                 * these numbers? */
    unsigned int bound_seqno, bridge_seqno;
    unsigned int ports_seqno;   /* Of the interfaces that they were looked for
                                 * in. */
};

void admitted_init(struct admitted *, const char *bridge);
void admitted_destroy(struct admitted *);

/* What is compiled is to be put.  Adds to 'gone' which interfaces are to be
 * left out: what is compiled may be older than 'info', which 'bridge_seqno' is
 * of. */
void admitted_note(struct admitted *, const struct compiled *,
                   const struct bridge_info *info, unsigned int bridge_seqno,
                   struct sset *gone);

/* It is not to be put yet.  Moves to 'gone' those that are not there any more,
 * or are bound to something else, or to nothing, by now. */
void admitted_withdraw(struct admitted *, const struct compiled *,
                       const struct bridge_info *info, struct sset *gone);

/* 'interface' is left out of what is put next. */
void admitted_drop(struct admitted *, const char *interface);

#endif /* agent/admitted.h */
