/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_NEED_H
#define OFFLOAD_NEED_H 1

/* What a megaflow needs of those that are to carry it. */

#include <stdint.h>

#include "offload/profile.h"
#include "util.h"

struct megaflow;
struct plan;

/* A set of capabilities: bit 'cap' of each that it needs. */
typedef uint64_t cap_set;
BUILD_ASSERT_DECL(N_CAPS <= 64);

/* What 'megaflow' needs, whose meters and ports are those of 'plan'; a port's
 * number is its place there, from 1.  Fields and actions
 * are taken as netdev_tc_flow_put() of Open vSwitch takes them, and what is
 * left over is CAP_MATCH_OTHER or CAP_ACTION_OTHER. */
cap_set megaflow_needs(const struct megaflow *, const struct plan *);

#endif /* offload/need.h */
