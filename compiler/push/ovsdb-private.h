/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_OVSDB_PRIVATE_H
#define PUSH_OVSDB_PRIVATE_H 1

struct arena;
struct bridge_info;
struct ovsdb_idl;
struct ovsrec_bridge;

struct database {
    char *remote;
    struct ovsdb_idl *idl;
    unsigned int seqno;         /* Of what database_run() has told. */
};

/* Sets the controllers and the mirrors of '*info', which has none yet. */
void ovsdb_read_others(const struct ovsrec_bridge *, struct arena *,
                       struct bridge_info *);

#endif /* push/ovsdb-private.h */
