/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_FLOW_TABLES_H
#define OFFLOAD_FLOW_TABLES_H 1

/* The flow tables of a plan in Open vSwitch's own classifier, so that a packet
 * meets the flow that it would meet in a switch, and the same bits of it are
 * looked at. */

#include <stdint.h>

#include "push/flows.h"

struct flow;
struct flow_tables;
struct flow_wildcards;

/* Loads the flows of 'plan', whose ports 'ports' names.  Returns NULL and a
 * reason in the plan's arena if they cannot be loaded, or if two have the same
 * match and priority.  The plan must outlive the tables. */
struct flow_tables *flow_tables_create(const struct plan *,
                                       const struct ofputil_port_map *ports,
                                       const char **reason);
void flow_tables_destroy(struct flow_tables *);     /* Accepts NULL. */

/* The flow of 'table' that a packet meets, or NULL.  Unless 'wc' is NULL, adds
 * the bits that have been looked at to it. */
const struct flow_entry *flow_tables_lookup(const struct flow_tables *,
                                            uint8_t table,
                                            const struct flow *,
                                            struct flow_wildcards *wc);

#endif /* offload/flow-tables.h */
