/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

/* Tenants that may have so many tracked connections and no more.
 *
 * A zone that is full notes no connection, and hands the packet on all the
 * same, as one that is new and has no mark (conn_not_found() and write_ct_md()
 * of lib/conntrack.c).  So what opens a connection of such a tenant comes back
 * to NOTED, where the mark tells whether it was noted. */

bool
has_connection_limits(const struct ir_prog *prog)
{
    for (size_t i = 0; i < prog->tenants.n; i++) {
        if (prog->tenants.v[i]->here && prog->tenants.v[i]->connections) {
            return true;
        }
    }
    return false;
}

const char *
connections_note(struct emitter *e, const struct ir_tenant *tenant)
{
    return (tenant->connections
            ? FORMAT(e, "%s,", plan_limit_note(e->arena, tenant->connections))
            : "");
}

/* As COMMIT(), and the packet comes back to NOTED. */
#define COMMIT_AND_LOOK(ZONE, OWNER)                                    \
    "ct(commit,table=%d,zone="ZONE",exec(move:"OWNER"->ct_mark))"

/* What is noted in one zone only. */
static void
emit_lone(struct emitter *e, const struct ir_tenant *tenant)
{
    const char *receivers = FORMAT(e, COMMIT_AND_LOOK(ZONE_FIELD,
                                                      REG_TO_TENANT),
                                   TABLE_NOTED);

    emit_ct_flow(e, TABLE_COMMIT, PRIORITY_DENY,
                 FORMAT(e, REG_PEER"=0,ct_state=+trk+new,"REG_CROSSING"=%d,"
                        REG_TENANT"=%#"PRIx32, CROSSING_NO, tenant->number),
                 FORMAT(e, COMMIT_AND_LOOK(ZONE_FIELD, REG_TENANT),
                        TABLE_NOTED));
    if (e->prog->encapsulation) {
        emit_ct_flow(e, TABLE_COMMIT, PRIORITY_DENY,
                     FORMAT(e, "in_port=\""PLAN_TUNNEL"\",ct_state=+trk+new,"
                            REG_TO_TENANT"=%#"PRIx32, tenant->number),
                     receivers);
    }
    if (e->prog->externals.n) {
        emit_ct_flow(e, TABLE_COMMIT, PRIORITY_DENY,
                     FORMAT(e, "ct_state=+trk+new,"REG_CROSSING"=%d,"
                            REG_TO_TENANT"=%#"PRIx32, CROSSING_EXTERNAL,
                            tenant->number), receivers);
    }
}

/* The flow of PEER_STATE for what goes forward to another tenant, in 'state'
 * there; 'reg' is the register of the side that is 'tenant'. */
static void
emit_peer_flow(struct emitter *e, enum of_priority priority,
               const char *state, enum of_crossing crossing, const char *reg,
               const struct ir_tenant *tenant, const char *actions)
{
    emit_ct_flow(e, TABLE_PEER_STATE, priority,
                 FORMAT(e, "ct_state=%s,"REG_DIRECTION"=%d,"REG_CROSSING"=%d,"
                        "%s=%#"PRIx32, state, DIRECTION_FORWARD, crossing,
                        reg, tenant->number), actions);
}

/* What is noted in the zones of two tenants: the sender's first, so that what
 * it may not open costs nobody else.  NOTED takes CROSSING_NEW for what the
 * receiver's zone has still to note. */
static void
emit_both(struct emitter *e, const struct ir_tenant *tenant)
{
    static const char is_new[] = "+trk+new-rel-inv";
    static const char is_known[] = "+trk+est-rpl-inv";
    const char *done = FORMAT(e, "set_field:%d->"REG_CROSSING, CROSSING_YES);
    const char *own = FORMAT(e, COMMIT_AND_LOOK(ZONE_FIELD, REG_TENANT),
                             TABLE_NOTED);
    const char *peers = FORMAT(e, "%s,"COMMIT_AND_LOOK(DEST_ZONE_FIELD,
                                                       REG_TO_TENANT),
                               done, TABLE_NOTED);

    emit_peer_flow(e, PRIORITY_DENY, is_new, CROSSING_NEW, REG_TENANT, tenant,
                   own);
    emit_peer_flow(e, PRIORITY_DENY, is_known, CROSSING_NEW, REG_TENANT,
                   tenant, FORMAT(e, "%s,%s", done, own));
    emit_peer_flow(e, PRIORITY_OWN, is_new, CROSSING_NEW, REG_TO_TENANT,
                   tenant, FORMAT(e, COMMIT(ZONE_FIELD, REG_TENANT)",%s",
                                  peers));
    emit_peer_flow(e, PRIORITY_OWN, is_new, CROSSING_YES, REG_TO_TENANT,
                   tenant, peers);
    emit_ct_flow(e, TABLE_NOTED, PRIORITY_OWN,
                 FORMAT(e, REG_CROSSING"=%d,"REG_TO_TENANT"=%#"PRIx32,
                        CROSSING_NEW, tenant->number), peers);
}

void
emit_connections(struct emitter *e)
{
    const char *to_class = FORMAT(e, "resubmit(,%d)", TABLE_CLASS);

    if (!has_connection_limits(e->prog)) {
        return;
    }
    for (size_t i = 0; i < e->prog->tenants.n; i++) {
        const struct ir_tenant *tenant = e->prog->tenants.v[i];

        if (tenant->here && tenant->connections) {
            emit_lone(e, tenant);
            emit_both(e, tenant);
            *vec_push(e->arena, &e->plan->limits) = (struct plan_limit) {
                tenant->name, tenant->zone, tenant->connections,
            };
        }
    }
    emit_flow(e, TABLE_NOTED, PRIORITY_DENY, REASON_CONNECTIONS, "ct_mark=0",
              "drop");
    emit_ct_flow(e, TABLE_NOTED, PRIORITY_ALLOW,
                 FORMAT(e, REG_CROSSING"=%d", CROSSING_NEW),
                 FORMAT(e, COMMIT(DEST_ZONE_FIELD, REG_TO_TENANT)",%s",
                        to_class));
    emit_flow(e, TABLE_NOTED, PRIORITY_DEFAULT, REASON_PIPELINE, "",
              to_class);
}
