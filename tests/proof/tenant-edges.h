/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TENANT_EDGES_H
#define TENANT_EDGES_H 1

/* What happens to tenants' queues once in a while: buffers that were somebody
 * else's, a file without room, a thread that was kept from running, another
 * rate. */

void tenant_edges(void);

#endif /* tenant-edges.h */
