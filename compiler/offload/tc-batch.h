/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_TC_BATCH_H
#define OFFLOAD_TC_BATCH_H 1

/* The megaflows that hardware would hold, as filters of tc-flower(8), in the
 * syntax of "tc -batch".
 *
 * It is a prediction, for people to read and for tests: Open vSwitch makes
 * such filters itself, as packets come, and nothing is to be loaded beside
 * it.  Words, priorities and indexes are those of netdev_tc_flow_put() and
 * meter_tc_set_policer() of Open vSwitch 3.1; handles and cookies are left
 * out. */

#include <stdbool.h>
#include <stdint.h>

struct ds;
struct megaflow;
struct offload_report;

/* Appends all of the report's, each once: first the meters that they call, as
 * police actions, then a comment with the name of a rule before its filters.
 * What no filter can say is a comment. */
void tc_batch_put(const struct offload_report *, struct ds *);

/* Appends "protocol ... prio ... flower ..." of a match; what comes by tunnel
 * comes to 'tunnel_port'.  Returns false if it has more than that says. */
bool tc_put_match(const struct megaflow *, uint16_t tunnel_port, struct ds *);

#endif /* offload/tc-batch.h */
