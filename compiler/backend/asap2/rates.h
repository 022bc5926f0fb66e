/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_ASAP2_RATES_H
#define BACKEND_ASAP2_RATES_H 1

/* Meters as Open vSwitch gives them to tc.
 *
 * A rate there is 32 bits of bytes a second, and what is more is cut off
 * without a word: 40 Gbps become 5.6.  So a limit above that has no meter.
 * The rate of the VFs keeps that of what is sent, and nothing that of what is
 * received.  Who has no limit but the uplink's loses nothing by that. */

#include <stdbool.h>

struct diags;
struct ir_prog;
struct plan;

/* Adds a warning for each limit that has no meter, and for bursts.  Returns
 * false, with an error, if that would be the limit of a class's "dscp_in". */
bool asap2_check_rates(const struct ir_prog *, struct diags *);

/* Notes in the plan what its meters do not keep. */
void asap2_note_rates(const struct ir_prog *, struct plan *);

#endif /* backend/asap2/rates.h */
