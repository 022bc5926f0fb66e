/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_FAULT_H
#define TELEMETRY_FAULT_H 1

/* Reading a mapped file that somebody else may truncate: where it has no
 * bytes any more, zeros are read in place of a fatal SIGBUS. */

#include <stdbool.h>
#include <stddef.h>

/* Guards a mapping, of which there is one at a time, until it is unmapped. */
void fault_guard(const void *map, size_t size);
void fault_unguard(void);

/* Were zeros read since fault_guard()? */
bool fault_happened(void);

#endif /* telemetry/fault.h */
