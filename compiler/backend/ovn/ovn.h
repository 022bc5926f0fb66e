/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_OVN_OVN_H
#define BACKEND_OVN_OVN_H 1

/* The target "ovn": the whole fabric as rows of OVN's northbound database,
 * from which ovn-northd and ovn-controller make the flows of each node.
 *
 * docs/ovn.md says which rows, and what OVN does otherwise than the
 * reference meaning says. */

#include "backend/backend.h"

extern const struct backend ovn_backend;

#endif /* backend/ovn/ovn.h */
