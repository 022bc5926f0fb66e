/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_OPENFLOW_OPENFLOW_H
#define BACKEND_OPENFLOW_OPENFLOW_H 1

/* Target "userspace": flows and drop meters for one bridge of Open vSwitch's
 * userspace datapath, OpenFlow 1.4. */

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"

struct ir_meter;

extern const struct backend openflow_backend;

/* For other targets that are a bridge with the same tables. */
bool openflow_check(const struct ir_prog *, const struct backend_caps *,
                    struct diags *);
void openflow_emit(const struct ir_prog *, const struct backend_caps *,
                   struct plan *, struct diags *);

/* Says in 'plan' what DPDK is to do, which only this target has. */
void openflow_set_dpdk(const struct ir_prog *, struct plan *);

/* Says in 'plan' what VFs in legacy mode are set to; openflow_emit() does. */
void openflow_set_vfs(const struct ir_prog *, struct plan *);

/* For those whose caps have "n_queues": is the meter one of a tenant that has
 * a queue for what it sends by an uplink, and which is that?  Classes have
 * those below the first. */
enum { OPENFLOW_FIRST_QUEUE = 8 };
bool openflow_has_queue(const struct ir_meter *);
uint16_t openflow_queue(const struct ir_prog *, const struct ir_meter *);

#endif /* backend/openflow/openflow.h */
