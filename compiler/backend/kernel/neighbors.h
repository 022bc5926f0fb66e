/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_KERNEL_NEIGHBORS_H
#define BACKEND_KERNEL_NEIGHBORS_H 1

/* Who answers for the addresses of others, on the kernel's datapath.
 *
 * ARP is answered by flows.  Neighbor discovery is not: an advertisement has
 * flags, and an option of another type than the solicitation's, which only the
 * userspace datapath can write (OVS_KEY_ATTR_ND_EXTENSIONS). */

struct diags;
struct ir_prog;

/* Adds a warning if endpoints here have addresses of IPv6. */
void kernel_warn_neighbors(const struct ir_prog *, struct diags *);

#endif /* backend/kernel/neighbors.h */
