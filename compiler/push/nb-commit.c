/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

#include "openvswitch/shash.h"
#include "sema/northbound.h"

/* Are the rows as planned, and does the database say so?  Who else writes our
 * rows, as ovn-nbctl.sh does, says no generation. */
static bool
is_done(const struct nb_comparison *c, uint64_t generation)
{
    return (!c->items.n
            && (c->diff->generation == generation
                || !shash_find(&c->index.ours[nb_table("Port_Group")],
                               NB_EVERYBODY)));
}

const char *
nb_commit(struct nb_comparison *c, struct nb_database *db,
          uint64_t generation)
{
    for (;;) {
        unsigned int seqno = ovsdb_idl_get_seqno(db->idl);
        const char *reason;
        bool again;

        if (c->diff->unfit.n || is_done(c, generation)) {
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
