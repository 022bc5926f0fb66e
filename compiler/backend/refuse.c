/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/refuse.h"

#include <string.h>

#include "hmapx.h"
#include "intent/value.h"
#include "ir/ir.h"
#include "util.h"

/* The member of 'at' at the end of the path, or NULL. */
static const struct value *
find_member(const struct value *at, const char *path, struct arena *arena)
{
    while (at && *path) {
        size_t n = strcspn(path, "/");
        const char *key = arena_strndup(arena, path, n);

        at = strcmp(key, "..") ? value_member(at, key) : at->parent;
        path += n + (path[n] == '/');
    }
    return at;
}

static struct diag *
add(struct diags *diags, enum diag_severity severity,
    const struct ir_place *place, const char *member, const char *cause,
    va_list args)
{
    const struct value *at = (member ? find_member(place->at, member,
                                                   diags->arena) : NULL);

    return (at ? diag_add(diags, severity, at->span,
                          value_pointer(at, diags->arena), cause, args)
            : diag_add(diags, severity, place->span, place->pointer, cause,
                       args));
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
