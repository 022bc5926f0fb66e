/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_OPENFLOW_OPENFLOW_H
#define BACKEND_OPENFLOW_OPENFLOW_H 1

/* Target "userspace": flows and drop meters for one bridge of Open vSwitch's
 * userspace datapath, OpenFlow 1.4. */

struct ir_prog;
struct plan;

/* Fills 'plan', which plan_init() made, from 'prog'. */
void openflow_emit(const struct ir_prog *, struct plan *);

#endif /* backend/openflow/openflow.h */
