/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_KERNEL_METERS_H
#define BACKEND_KERNEL_METERS_H 1

/* Meters as the kernel's datapath has them, for the targets on it.
 *
 * They have one band that drops, and borrow from nobody.  Their bursts are at
 * least what the rate gives in a millisecond (backend/lost.h). */

#include <stdbool.h>
#include <stdint.h>

struct diags;
struct ir_meter;
struct ir_place;
struct ir_prog;
struct lost_meters;

/* Open vSwitch 3.1 gives tc rates, of queues of linux-htb and of what a meter
 * is there, in 32 bits of bytes a second (lib/netdev-linux.c,
 * tc_fill_rate()). */
enum { TC_MAX_KBPS = UINT32_MAX / 1000 * 8 };

/* Adds a warning for each place that asks for what is not kept: 'loss_of' says
 * what that is of a meter, or NULL. */
void kernel_warn_meters(const struct ir_prog *, struct diags *,
                        const char *(*loss_of)(const struct ir_meter *));

/* Adds a warning for all that such meters do not keep of bursts. */
void kernel_warn_bursts(const struct ir_prog *, struct diags *,
                        const struct lost_meters *);

/* Adds an error if a network takes an uplink that the program has not, as only
 * one that was parsed may.  Returns true if there is none. */
bool kernel_check_uplinks(const struct ir_prog *, struct diags *);

/* Add errors for what the program asks for and a target on that datapath
 * cannot do: that one tenant pays for what another sends, and limits of
 * upcalls.  Return true if there is none. */
bool kernel_check_charges(const struct ir_prog *, struct diags *);
bool kernel_check_upcalls(const struct ir_prog *, struct diags *);

/* Leaves the meters of tenants and of endpoints, which come before those of
 * their tenants, and makes them such: who borrows is kept to its limit, who
 * does not to its guarantee.  Guarantees stay in the program for what keeps
 * them. */
void kernel_lower_meters(struct ir_prog *);

#endif /* backend/kernel/meters.h */
