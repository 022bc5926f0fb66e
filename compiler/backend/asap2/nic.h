/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_ASAP2_NIC_H
#define BACKEND_ASAP2_NIC_H 1

/* What the target asap2 asks of the node's NIC: rates of what tenants send,
 * and priorities for classes. */

#include <stdbool.h>

struct arena;
struct diags;
struct ir_prog;
struct ir_uplink;
struct plan;
struct plan_nic;
struct plan_nic_port;

/* Adds an error for classes that the NIC cannot tell apart, or would not
 * treat as they say.  Returns true if there is none. */
bool asap2_check_classes(const struct ir_prog *, struct diags *);

/* Sets the priorities of 'port', which is 'uplink', and of DSCPs. */
void asap2_set_priorities(const struct ir_prog *, const struct ir_uplink *,
                          struct plan_nic *, struct plan_nic_port *port);

/* Says for each object of dcb(8) what asks for it of 'port', which is
 * 'uplink' and has its 'place'. */
void asap2_set_places(const struct ir_prog *, const struct ir_uplink *,
                      struct plan_nic_port *port, struct arena *);

/* Fills 'plan->nic' from a program that is lowered. */
void asap2_set_nic(const struct ir_prog *, struct plan *);

#endif /* backend/asap2/nic.h */
