/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/walk.h"

#include <jansson.h>
#include <string.h>

#include "intent/value.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Behind the token that begins at 'at'. */
static size_t
token_end(const struct source *source, size_t at)
{
    const char *text = source->text;

    if (text[at] != '"') {
        size_t n = strcspn(text + at, ",]} \t\r\n");

        return MIN(source->len, at + MAX(1, n));
    }
    for (at++; at < source->len && text[at] != '"'; at++) {
        at += text[at] == '\\';
    }
    return MIN(source->len, at + 1);
}

/* Takes note of '{', ',' and such, which the walk has just passed. */
static void
walk_structure(struct walk *walk, char c)
{
    struct frame *top = (walk->frames.n
                         ? &walk->frames.v[walk->frames.n - 1] : NULL);

    if (c == '{' || c == '[') {
        *vec_push(walk->arena, &walk->frames) = (struct frame) {
            .start = walk->at - 1, .indented = walk->indented,
            .object = c == '{', .key_comes = c == '{',
        };
    } else if (top && (c == '}' || c == ']')) {
        /* Where a line begins so, its indentation says what it closes. */
        if (!walk->unclosed.source && walk->indented < top->indented
            && walk->at - 1 == walk->line + walk->indented) {
            walk->unclosed = (struct span) {
                walk->source, top->start, top->start + 1,
            };
        }
        walk->frames.n--;
    } else if (top && c == ',') {
        top->index++;
        top->key_comes = top->object;
    } else if (c == '\n') {
        walk->line = walk->at;
        walk->indented = strspn(walk->source->text + walk->at, " \t");
    }
}

bool
walk_next(struct walk *walk)
{
    const char *text = walk->source->text;
    struct frame *top;

    while (walk->at < walk->end
           && strchr("{}[],: \t\r\n", text[walk->at])) {
        walk_structure(walk, text[walk->at++]);
    }
    if (walk->at >= walk->end) {
        return false;
    }
    walk->token = (struct span) {
        walk->source, walk->at, token_end(walk->source, walk->at),
    };
    walk->at = walk->token.end;
    top = walk->frames.n ? &walk->frames.v[walk->frames.n - 1] : NULL;
    walk->is_key = top && top->key_comes;
    if (walk->is_key) {
        top->key_comes = false;
        top->key = walk->token;
    }
    return true;
}

const char *
walk_string(const struct span *key, struct arena *arena)
{
    json_t *json = json_loadb(key->source->text + key->start,
                              key->end - key->start, JSON_DECODE_ANY, NULL);
    const char *s = json ? json_string_value(json) : NULL;

    return arena_strdup(arena, s ? s : "");
}

const char *
walk_pointer(const struct walk *walk)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *pointer;

    for (size_t i = 0; i < walk->frames.n; i++) {
        const struct frame *frame = &walk->frames.v[i];

        if (frame->object) {
            pointer_put_key(&ds, walk_string(&frame->key, walk->arena));
        } else {
            ds_put_format(&ds, "/%"PRIuSIZE, frame->index);
        }
    }
    pointer = arena_strdup(walk->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return pointer;
}

struct walk
walk_to(const struct source *source, size_t start, size_t at,
        struct arena *arena)
{
    struct walk walk = {
        .source = source, .arena = arena, .at = start, .end = source->len,
    };

    while (walk_next(&walk) && walk.token.end <= at) {
        continue;
    }
    return walk;
}
