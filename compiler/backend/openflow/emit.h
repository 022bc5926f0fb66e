/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_OPENFLOW_EMIT_H
#define BACKEND_OPENFLOW_EMIT_H 1

/* The rooms behind openflow_emit(): each emits the flows of some tables. */

#include <stdint.h>

#include "backend/openflow/pipeline.h"
#include "ir/ir.h"
#include "plan/plan.h"

struct emitter {
    const struct ir_prog *prog;
    struct plan *plan;
    struct arena *arena;
};

/* ADMIT to NEIGHBOR_ADVERT. */
void emit_ports(struct emitter *);

/* TRACK, STATE, COMMIT, PEER, PEER_STATE. */
void emit_conntrack(struct emitter *);

/* ROUTE, GATEWAY and OUTPUT. */
void emit_routes(struct emitter *);

/* POLICY. */
void emit_policy(struct emitter *);

/* CLASS and METER. */
void emit_qos(struct emitter *);

/* Adds one flow; 'id' is the rule's or a REASON_*. */
void emit_flow(struct emitter *, enum of_table, enum of_priority, uint64_t id,
               const char *match, const char *actions);

/* A string in the arena. */
#define FORMAT(E, ...) arena_printf((E)->arena, __VA_ARGS__)

/* "ip,nw_FIELD=ADDRESS" or "ipv6,ipv6_FIELD=ADDRESS"; 'field' is "src" or
 * "dst". */
const char *match_address(struct emitter *, const struct in6_addr *,
                          const char *field);

#endif /* backend/openflow/emit.h */
