/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

const char *
nb_commit(struct nb_comparison *c, struct nb_database *db,
          uint64_t generation)
{
    for (;;) {
        unsigned int seqno = ovsdb_idl_get_seqno(db->idl);
        const char *reason;
        bool again;

        if (c->diff->unfit.n || !c->items.n) {
            return NULL;
        }
        reason = nb_writer_send(db, nb_operations(c, generation), &again);
        while (!reason && again && seqno == ovsdb_idl_get_seqno(db->idl)) {
            reason = nb_database_wait(db);
        }
        if (reason || !again) {
            return reason;
        }
        nb_comparison_destroy(c);
        nb_compare(c, db, c->plan, c->diff);
    }
}
