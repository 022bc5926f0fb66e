/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_KERNEL_KERNEL_H
#define BACKEND_KERNEL_KERNEL_H 1

/* Target "kernel": flows and drop meters for one bridge of Open vSwitch's
 * kernel datapath, and queues of linux-htb.
 *
 * The tables are those of the target userspace, and mean the same; packets of
 * TCP and UDP are judged by their own ports, as by the target asap2.  What
 * goes by tunnel has the queue of its sender's tenant (plan/htb.h), all else
 * that of its class.  What meters do not keep is left out with a warning
 * (backend/kernel/meters.h); guarantees of what is sent are the queues' to
 * keep. */

#include "backend/backend.h"

struct ir_prog;
struct plan;

extern const struct backend kernel_backend;

/* Adds warnings for what the queues of uplinks do not keep. */
void kernel_warn_uplinks(const struct ir_prog *, struct diags *);

/* The same of endpoints' queues, once for each limit. */
void kernel_warn_endpoints(const struct ir_prog *, struct diags *);

/* Fills 'plan->htb' from a program that is lowered. */
void kernel_set_htb(const struct ir_prog *, struct plan *);

#endif /* backend/kernel/kernel.h */
