/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_RTE_FLOW_H
#define OFFLOAD_RTE_FLOW_H 1

/* The megaflows that hardware would hold beneath ports of DPDK, as rte_flow
 * rules in the syntax of dpdk-testpmd's "flow create".
 *
 * It is a prediction, for people to read and for tests: Open vSwitch makes
 * such rules itself, as packets come, and nothing is to be created beside it.
 * Items and actions are those of parse_flow_match() and parse_flow_actions()
 * of Open vSwitch 3.1, in the order in which its dump_flow() prints them.
 * What that prints in another way than testpmd reads it is as testpmd reads
 * it: the traffic class of IPv6, and masks of fragment_offset. */

#include <stdbool.h>

struct ds;
struct megaflow;
struct offload_report;

/* Appends all of the report's, each once: first comments with the number of
 * each port, then a comment with the name of a rule before what it has. */
void rte_flow_put(const struct offload_report *, struct ds *);

/* Appends "pattern ... / end" of a match.  Returns false if it has more than
 * that says. */
bool rte_flow_put_pattern(const struct megaflow *, struct ds *);

#endif /* offload/rte-flow.h */
