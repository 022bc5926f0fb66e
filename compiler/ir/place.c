/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/build.h"

#include <inttypes.h>
#include <string.h>

#include "intent/value.h"

struct ir_place
ir_place_of(struct arena *arena, const struct value *at, bool key)
{
    if (!at) {
        return (struct ir_place) { .line = 0 };
    }
    return (struct ir_place) {
        .span = key ? at->key_span : at->span,
        .line = source_line_number(at->span.source, at->span.start),
        .pointer = value_pointer(at, arena),
        .at = at,
    };
}

struct ir_place
ir_place_member(struct arena *arena, const struct ir_place *place,
                const char *path)
{
    const struct value *at = place->at;

    while (at && *path) {
        size_t n = strcspn(path, "/");
        const char *key = arena_strndup(arena, path, n);

        at = strcmp(key, "..") ? value_member(at, key) : at->parent;
        path += n + (path[n] == '/');
    }
    return at ? ir_place_of(arena, at, false) : *place;
}

/* Notes that a thing stands at 'place', if anywhere: a fabric has no place. */
static void
note_file(struct ir_prog *prog, const struct ir_place *place,
          const struct source **first)
{
    const struct source *file = place->span.source;

    if (!*first) {
        *first = file;
    }
    prog->several_files |= file && file != *first;
}

void
ir_find_files(struct ir_prog *prog)
{
    const struct source *first = NULL;

    note_file(prog, &prog->place, &first);
    for (size_t i = 0; i < prog->rules.n; i++) {
        note_file(prog, &prog->rules.v[i]->place, &first);
    }
    for (size_t i = 0; i < prog->tenants.n; i++) {
        note_file(prog, &prog->tenants.v[i]->place, &first);
    }
}

const char *
ir_place_text(const struct ir_prog *prog, const struct ir_place *place,
              struct arena *arena)
{
    const struct source *file = (prog->several_files ? place->span.source
                                 : NULL);

    return arena_printf(arena, "%s%sline %"PRIu32", %s",
                        file ? file->name : "", file ? ", " : "", place->line,
                        place->pointer ? place->pointer : "");
}

const char *
ir_places_text(const struct ir_prog *prog, const struct ir_place *a,
               const struct ir_place *b, struct arena *arena)
{
    const char *first = ir_place_text(prog, a, arena);
    const char *second = ir_place_text(prog, b, arena);

    return (strcmp(first, second)
            ? arena_printf(arena, "%s; %s", first, second) : first);
}
