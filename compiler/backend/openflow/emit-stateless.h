/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_OPENFLOW_EMIT_STATELESS_H
#define BACKEND_OPENFLOW_EMIT_STATELESS_H 1

/* Rules that are not stateful.
 *
 * Who receives a packet is known after connection tracking only, but within
 * what a tenant reaches an address is one endpoint's.  So TRACK takes past
 * tracking what goes from a sender to an address and a port of such a rule, or
 * back from the port; ROUTE and GATEWAY then find who it is for, and POLICY
 * judges it by its headers. */

#include "backend/openflow/emit.h"

struct hmapx;

/* Adds the tenants, "struct ir_tenant"s, that stateless rules speak of. */
void find_stateless(const struct ir_prog *, struct hmapx *tenants);

/* Does the rule speak of endpoints of some of 'tenants'? */
bool speaks_of_some(const struct ir_rule *, const struct hmapx *tenants);

/* The matches in POLICY of what is not tracked and of 'service' (NULL: any):
 * 'port' is "tp_dst", or "tp_src" for what comes back.  Empty if the service
 * is symmetric, which has matches of its own. */
match_vec match_untracked(struct emitter *, const struct ir_service *,
                          const char *port);

#endif /* backend/openflow/emit-stateless.h */
