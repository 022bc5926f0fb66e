/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_WITNESS_H
#define VERIFY_WITNESS_H 1

/* One packet that shows a difference. */

#include "verify/compare.h"
#include "verify/entry.h"

struct witness {
    const struct entry *entry;  /* Where it comes in. */
    const struct ofputil_port_map *ports;
    const u128 *values;         /* Of its fields. */
};

/* The packet and what connection tracking knows of it, as the arguments of
 * ofproto/trace; of both in 'arena'. */
const char *witness_packet(const struct witness *, struct arena *);
const char *witness_ct_next(const struct witness *, const struct effect *,
                            size_t n, struct arena *);

/* What sema/meaning.h says itself about the packet.  Returns NULL if that is
 * 'expect', else how not: then the diagram is wrong and not the tables.
 * 'marks' are as in struct judge. */
const char *witness_confirm(const struct witness *, const struct judge *,
                            const struct expect *, struct arena *);

#endif /* verify/witness.h */
