/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PHANTOM_EDGES_H
#define PHANTOM_EDGES_H 1

/* Proves what phantom queues do at the edges. */
void phantom_edges(void);

#endif /* phantom-edges.h */
