/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_OPENFLOW_OPENFLOW_H
#define BACKEND_OPENFLOW_OPENFLOW_H 1

/* Target "userspace": flows and drop meters for one bridge of Open vSwitch's
 * userspace datapath, OpenFlow 1.4. */

#include "backend/backend.h"

extern const struct backend openflow_backend;

/* For other targets that are a bridge with the same tables. */
bool openflow_check(const struct ir_prog *, const struct backend_caps *,
                    struct diags *);
void openflow_emit(const struct ir_prog *, const struct backend_caps *,
                   struct plan *, struct diags *);

#endif /* backend/openflow/openflow.h */
