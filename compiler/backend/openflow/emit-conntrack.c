/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>
#include <netinet/in.h>

#include "util.h"

/* Services that cannot be tracked go round conntrack. */
static void
emit_stateless(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->services.n; i++) {
        const struct ir_service *service = e->prog->services.v[i];

        for (size_t j = 0; service->symmetric && j < service->matches.n;
             j++) {
            const struct ir_match *m = &service->matches.v[j];
            const char *actions = FORMAT(
                e, "set_field:%d->"REG_DIRECTION",set_field:%#"PRIx32"->"
                REG_SERVICE",goto_table:%d", DIRECTION_STATELESS,
                SERVICE_STATELESS | SERVICE_PROTOCOL(m->protocol)
                | m->first, TABLE_ROUTE);

            ovs_assert(m->protocol == IPPROTO_UDP && m->first == m->last);
            emit_flow(e, TABLE_TRACK, PRIORITY_ALLOW, REASON_PIPELINE,
                      FORMAT(e, "udp,tp_dst=%u", m->first), actions);
            emit_flow(e, TABLE_TRACK, PRIORITY_ALLOW, REASON_PIPELINE,
                      FORMAT(e, "udp6,tp_dst=%u", m->first), actions);
        }
    }
}

void
emit_ct_flow(struct emitter *e, enum of_table table, enum of_priority priority,
             const char *match, const char *actions)
{
    const char *comma = match[0] ? "," : "";

    emit_flow(e, table, priority, REASON_PIPELINE,
              FORMAT(e, "ip%s%s", comma, match), actions);
    emit_flow(e, table, priority, REASON_PIPELINE,
              FORMAT(e, "ipv6%s%s", comma, match), actions);
}

static void
emit_track(struct emitter *e)
{
    const char *ct = FORMAT(e, "ct(table=%d,zone="ZONE_FIELD")", TABLE_OWNER);

    emit_flow(e, TABLE_TRACK, PRIORITY_DEFAULT, REASON_PIPELINE, "ip", ct);
    emit_flow(e, TABLE_TRACK, PRIORITY_DEFAULT, REASON_PIPELINE, "ipv6",
              FORMAT(e, "set_field:%#"PRIx32"->"REG_SERVICE",%s",
                     SERVICE_IPV6, ct));
}

/* Lets pass to 'next' what is new, and what is of a connection of the tenant
 * that has the zone now: another may have had it before. */
static void
emit_owners(struct emitter *e, enum of_table table, enum of_table next)
{
    const char *actions = FORMAT(e, "goto_table:%d", next);

    emit_flow(e, table, PRIORITY_ALLOW, REASON_PIPELINE, "ct_state=+trk+new",
              actions);
    for (size_t i = 0; i < e->prog->tenants.n; i++) {
        const struct ir_tenant *tenant = e->prog->tenants.v[i];

        if (tenant->here) {
            /* The note, once, is for who sets the zone's limit. */
            emit_flow(e, table, PRIORITY_ALLOW, REASON_PIPELINE,
                      FORMAT(e, "ct_zone=%"PRIu16",ct_mark=%#"PRIx32,
                             tenant->zone, tenant->number),
                      FORMAT(e, "%s%s", table == TABLE_OWNER
                             ? connections_note(e, tenant) : "", actions));
        }
    }
}

static void
emit_commit(struct emitter *e)
{
    emit_ct_flow(e, TABLE_COMMIT, PRIORITY_ALLOW,
                 FORMAT(e, REG_PEER"=0,ct_state=+trk+new,"REG_CROSSING"=%d",
                        CROSSING_NO),
                 FORMAT(e, COMMIT(ZONE_FIELD, REG_TENANT)",goto_table:%d",
                        TABLE_PEER));
    if (e->prog->encapsulation) {
        /* It is in the receiver's zone. */
        emit_ct_flow(e, TABLE_COMMIT, PRIORITY_ALLOW,
                     "in_port=\""PLAN_TUNNEL"\",ct_state=+trk+new",
                     FORMAT(e, COMMIT(ZONE_FIELD, REG_TO_TENANT)
                            ",goto_table:%d", TABLE_PEER));
    }
    if (e->prog->externals.n) {
        emit_ct_flow(e, TABLE_COMMIT, PRIORITY_ALLOW,
                     FORMAT(e, "ct_state=+trk+new,"REG_CROSSING"=%d",
                            CROSSING_EXTERNAL),
                     FORMAT(e, COMMIT(ZONE_FIELD, REG_TO_TENANT)
                            ",goto_table:%d", TABLE_PEER));
    }
    emit_flow(e, TABLE_COMMIT, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, "ct_state=+trk+new,"REG_CROSSING"=%d", CROSSING_YES),
              FORMAT(e, "set_field:%d->"REG_CROSSING",goto_table:%d",
                     CROSSING_NEW, TABLE_PEER));
    emit_flow(e, TABLE_COMMIT, PRIORITY_DEFAULT, REASON_PIPELINE, "",
              FORMAT(e, "goto_table:%d", TABLE_PEER));
}

/* What opens a connection, or comes from the side that did, when the
 * receiver's zone agrees: it is noted in the zones in which it is new. */
static void
emit_peer_forward(struct emitter *e, enum of_crossing crossing)
{
    const char *commit = (crossing == CROSSING_NEW
                          ? COMMIT(ZONE_FIELD, REG_TENANT)"," : "");

    emit_ct_flow(e, TABLE_PEER_STATE, PRIORITY_ALLOW,
                 FORMAT(e, "ct_state=+trk+new-rel-inv,"REG_DIRECTION"=%d,"
                        REG_CROSSING"=%d", DIRECTION_FORWARD, crossing),
                 FORMAT(e, "%s"COMMIT(DEST_ZONE_FIELD, REG_TO_TENANT)
                        ",goto_table:%d", commit, TABLE_CLASS));
    emit_ct_flow(e, TABLE_PEER_STATE, PRIORITY_ALLOW,
                 FORMAT(e, "ct_state=+trk+est-rpl-inv,"REG_DIRECTION"=%d,"
                        REG_CROSSING"=%d", DIRECTION_FORWARD, crossing),
                 FORMAT(e, "%sgoto_table:%d", commit, TABLE_CLASS));
}

/* A connection between two tenants is in both zones, so that each side's
 * conntrack sees both directions. */
static void
emit_peer(struct emitter *e)
{
    const char *to_class = FORMAT(e, "goto_table:%d", TABLE_CLASS);
    const char *ct = FORMAT(e, "ct(table=%d,zone="DEST_ZONE_FIELD")",
                            TABLE_PEER_OWNER);

    emit_ct_flow(e, TABLE_PEER, PRIORITY_ALLOW,
                 FORMAT(e, REG_CROSSING"=%d", CROSSING_NEW), ct);
    for (int direction = DIRECTION_FORWARD; direction <= DIRECTION_REPLY;
         direction++) {
        emit_ct_flow(e, TABLE_PEER, PRIORITY_ALLOW,
                     FORMAT(e, REG_CROSSING"=%d,"REG_DIRECTION"=%d",
                            CROSSING_YES, direction), ct);
    }
    emit_flow(e, TABLE_PEER, PRIORITY_DEFAULT, REASON_PIPELINE, "", to_class);

    emit_peer_forward(e, CROSSING_YES);
    emit_peer_forward(e, CROSSING_NEW);
    emit_flow(e, TABLE_PEER_STATE, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, "ct_state=+trk+est+rpl-inv,"REG_DIRECTION"=%d",
                     DIRECTION_REPLY), to_class);
    emit_flow(e, TABLE_PEER_STATE, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, "ct_state=+trk+rel+rpl-new-est-inv,"
                     REG_DIRECTION"=%d", DIRECTION_REPLY), to_class);
}

void
emit_conntrack(struct emitter *e)
{
    emit_stateless(e);
    emit_track(e);
    emit_owners(e, TABLE_OWNER, TABLE_STATE);
    emit_commit(e);
    emit_peer(e);
    emit_owners(e, TABLE_PEER_OWNER, TABLE_PEER_STATE);
}
