/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_ASAP2_H
#define BACKEND_ASAP2_H 1

/* Target "asap2": flows and drop meters for one bridge of Open vSwitch's
 * kernel datapath, which gives what it can to a NIC ("hw-offload").
 *
 * The tables are those of the target userspace, and mean the same, but for
 * what would keep a megaflow out of hardware: queues are not set, and packets
 * of TCP and UDP are judged by their own ports.  Meters only drop, for the
 * kernel's have nothing else: what borrows, marks or records bursts of them is
 * left out with a warning. */

#include "backend/backend.h"

extern const struct backend asap2_backend;

#endif /* backend/asap2/asap2.h */
