/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/refuse.h"

#include "hmapx.h"
#include "ir/ir.h"
#include "util.h"

static struct diag *
add(struct diags *diags, enum diag_severity severity,
    const struct ir_place *place, const char *member, const char *cause,
    va_list args)
{
    struct ir_place at = (member ? ir_place_member(diags->arena, place,
                                                   member) : *place);

    return diag_add(diags, severity, at.span, at.pointer, cause, args);
}

struct diag *
refuse(struct diags *diags, const struct ir_place *place, const char *member,
       const char *remedy, const char *cause, ...)
{
    va_list args;

    va_start(args, cause);
    struct diag *d = add(diags, DIAG_ERROR, place, member, cause, args);
    va_end(args);
    diag_remedy(diags, d, "%s", remedy);
    return d;
}

struct diag *
warn_of(struct diags *diags, const struct ir_place *place, const char *member,
        const char *cause, ...)
{
    va_list args;

    va_start(args, cause);
    struct diag *d = add(diags, DIAG_WARNING, place, member, cause, args);
    va_end(args);
    return d;
}

bool
is_first_at(struct hmapx *seen, const struct ir_place *place)
{
    return (!place->at
            || hmapx_add(seen, CONST_CAST(struct value *, place->at)));
}
