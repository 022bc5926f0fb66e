/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BURST_LOOP_H
#define BURST_LOOP_H 1

#include <stdbool.h>
#include <stdint.h>

/* Prints what a bystander waits behind tenants who meet a meter, and who react
 * to what it does: a closed loop, in virtual time. */
void burst_loop_print(bool longer, uint64_t seed);

#endif /* burst-loop.h */
