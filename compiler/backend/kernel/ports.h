/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_KERNEL_PORTS_H
#define BACKEND_KERNEL_PORTS_H 1

/* Ports of DPDK, which the kernel's datapath has none of. */

#include <stdbool.h>

struct diags;
struct ir_prog;

/* Adds an error for each port of vhost-user, which is nothing else, and a
 * warning if the node has settings of DPDK.  A representor is an interface of
 * the kernel's as well.  Returns true if there is no error. */
bool kernel_check_ports(const struct ir_prog *, struct diags *);

#endif /* backend/kernel/ports.h */
