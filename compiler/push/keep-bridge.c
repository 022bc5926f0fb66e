/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/keep-private.h"

#include <stdlib.h>

#include "util.h"

/* What the database says of the bridge. */

/* Names stay when their interface has gone: flows that name it have to be
 * deleted.  A number that changes makes flows of the plan others. */
static void
note_ports(struct keeper *k)
{
    const struct smap_node *node;

    SMAP_FOR_EACH (node, &k->push.info.types) {
        ofp_port_t was = ofputil_port_map_get_number(&k->ports, node->key);
        ofp_port_t is = ofputil_port_map_get_number(&k->push.info.ports,
                                                    node->key);

        if (was == OFPP_NONE && is != OFPP_NONE) {
            ofputil_port_map_put(&k->ports, is, node->key);
        } else if (is != OFPP_NONE && was != is) {
            k->wants_plan = true;
        }
    }
}

/* Takes what interfaces say of endpoints.  Returns false if all is to be read,
 * so that the arena does not grow without end. */
static bool
read_attached(struct keeper *k)
{
    if (!k->info_seqno || ++k->n_attached > KEEPER_MAX_ATTACHED) {
        return false;
    }
    database_attached(k->db, k->info_arena, &k->push.info);
    k->info_seqno++;
    return true;
}

/* A bridge that is unfit, or was, is looked at as a whole. */
static void
check_settings(struct keeper *k)
{
    keeper_begin(k);
    push_check_settings(&k->push);
    if (k->diff.unfit.n && !k->refusal && k->accepted) {
        keeper_set_refusal(k, push_carry_out(&k->push));
        k->owed = true;
    } else if (k->diff.unfit.n && !k->accepted) {
        k->wants_plan = true;
    }
    k->retry_ms = KEEPER_RETRY_MS;
    k->plan_at = 0;
}

static void
read_bridge(struct keeper *k)
{
    unsigned int ports_seqno = k->push.info.ports_seqno + 1;
    const char *reason;

    k->n_attached = 0;
    bridge_info_destroy(&k->push.info);
    arena_destroy(k->info_arena);
    bridge_info_init(&k->push.info);
    k->push.info.ports_seqno = ports_seqno;
    k->info_arena = arena_create();
    reason = database_bridge(k->db, k->target.bridge, k->info_arena,
                             &k->push.info);
    free(k->no_bridge);
    k->no_bridge = nullable_xstrdup(reason);
    if (reason) {               /* No bridge, no flows. */
        keeper_set_trouble(k, reason);
        k->wants_plan = true;
        return;
    }
    k->info_seqno++;
    k->next_try = 0;
    note_ports(k);
    check_settings(k);
}

bool
keeper_has_database(const struct keeper *k)
{
    return database_is_connected(k->db);
}

const char *
keeper_database_trouble(const struct keeper *k, struct arena *arena)
{
    return keeper_has_database(k) ? NULL : database_trouble(k->db, arena);
}

void
keeper_follow_database(struct keeper *k)
{
    enum database_news news = database_run(k->db);

    if (news == DATABASE_CHANGED
        || (news == DATABASE_ATTACHED && !read_attached(k))) {
        read_bridge(k);
    }
}
