/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_REFUSE_H
#define BACKEND_REFUSE_H 1

/* What a target says about a program: at the very member of the intent that
 * asks for it.
 *
 * 'member' is a path from what stands at the place, keys joined by '/', ".."
 * for what it is in: "limits/upcalls", "../burst".  NULL, or one that is not
 * there, is the place itself; so is any of a program that was parsed. */

#include "base/diag.h"

struct ir_place;

struct diag *refuse(struct diags *, const struct ir_place *,
                    const char *member, const char *remedy,
                    const char *cause, ...) OVS_PRINTF_FORMAT(5, 6);
struct diag *warn_of(struct diags *, const struct ir_place *,
                     const char *member, const char *cause, ...)
    OVS_PRINTF_FORMAT(4, 5);

#endif /* backend/refuse.h */
