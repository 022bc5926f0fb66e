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

struct hmapx;
struct ir_place;

struct diag *refuse(struct diags *, const struct ir_place *,
                    const char *member, const char *remedy,
                    const char *cause, ...) OVS_PRINTF_FORMAT(5, 6);
struct diag *warn_of(struct diags *, const struct ir_place *,
                     const char *member, const char *cause, ...)
    OVS_PRINTF_FORMAT(4, 5);

/* Is it the first time that the place is asked for?  One place may be for
 * several nodes and for both directions; of a program that was parsed, each is
 * of its own.  'seen' begins empty. */
bool is_first_at(struct hmapx *seen, const struct ir_place *);

#endif /* backend/refuse.h */
