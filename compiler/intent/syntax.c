/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/syntax.h"

#include <ctype.h>
#include <string.h>

#include "base/diag.h"
#include "intent/value.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* An object or list that the walk is in. */
struct frame {
    size_t start;               /* Of its brace or bracket. */
    size_t indented;            /* The line of that, in bytes. */
    bool object, key_comes;
    struct span key;            /* The last one, of an object. */
    size_t index;               /* Of the element, of a list. */
};

/* A walk over strings, numbers and literals, of a text that jansson has
 * accepted as far as the walk goes. */
struct walk {
    const struct source *source;
    struct arena *arena;
    size_t at, end;
    size_t line, indented;      /* Where the line begins, and its blanks. */
    VEC(struct frame) frames;
    struct span unclosed;       /* What indentation says is not closed. */
    struct span token;
    bool is_key;
};

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

/* Goes to the next token.  Returns false at the end. */
static bool
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

/* What the string of a key says. */
static const char *
decode(const struct span *key, struct arena *arena)
{
    json_t *json = json_loadb(key->source->text + key->start,
                              key->end - key->start, JSON_DECODE_ANY, NULL);
    const char *s = json ? json_string_value(json) : NULL;

    return arena_strdup(arena, s ? s : "");
}

/* The JSON pointer of the token that the walk is at. */
static const char *
walk_pointer(const struct walk *walk)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *pointer;

    for (size_t i = 0; i < walk->frames.n; i++) {
        const struct frame *frame = &walk->frames.v[i];

        if (frame->object) {
            pointer_put_key(&ds, decode(&frame->key, walk->arena));
        } else {
            ds_put_format(&ds, "/%"PRIuSIZE, frame->index);
        }
    }
    pointer = arena_strdup(walk->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return pointer;
}

/* Where the object that the walk is in, at a key, has that key first. */
static struct span
find_first(const struct walk *second, const char *key)
{
    struct walk walk = {
        .source = second->source, .arena = second->arena,
        .at = second->frames.v[second->frames.n - 1].start,
        .end = second->end,
    };

    while (walk_next(&walk) && walk.token.start < second->token.start) {
        if (walk.is_key && walk.frames.n == 1
            && !strcmp(decode(&walk.token, walk.arena), key)) {
            break;
        }
    }
    return walk.token;
}

static void
report_twice(const struct walk *walk, struct diags *diags)
{
    const char *key = decode(&walk->token, walk->arena);
    struct diag *d = diag_error(diags, walk->token, walk_pointer(walk),
                                "'%s' stands twice in this object", key);

    diag_remedy(diags, d, "remove one of the two, or give it another name");
    diag_see(diags, d, find_first(walk, key), "the first one");
}

static void
report_number(const struct walk *walk, struct diags *diags)
{
    struct diag *d = diag_error(diags, walk->token, walk_pointer(walk),
                                "this number is too large");

    diag_remedy(diags, d, "write the one that is meant; none of an intent has "
                "more than nine digits");
}

/* The walk to the token that holds 'at'. */
static struct walk
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

/* Where what stands before 'at' ends. */
static size_t
end_before(const struct source *source, size_t start, size_t at)
{
    while (at > start && strchr(" \t\r\n", source->text[at - 1])) {
        at--;
    }
    return at;
}

static void
report_comma(const struct source *source, size_t at, const char *cause,
             const char *remedy, struct diags *diags)
{
    struct diag *d = diag_error(diags, (struct span) { source, at, at }, NULL,
                                "this is not valid JSON: %s", cause);

    diag_remedy(diags, d, "%s", remedy);
}

/* Was a bracket, or a ',', wanted where something else stands? */
static bool
wants_bracket(const json_error_t *error)
{
    return (!strncmp(error->text, "'}' expected", 12)
            || !strncmp(error->text, "']' expected", 12));
}

/* Is the mistake that a ',' is missing before the token that ends at 'at', or
 * one too many there?  Then adds an error. */
static bool
is_comma(const struct source *source, size_t start, size_t at,
         const json_error_t *error, struct diags *diags)
{
    const char *text = source->text;

    if (strchr("}]", text[at])) {
        size_t end = end_before(source, start, at);

        if (end <= start || text[end - 1] != ',') {
            return false;
        }
        report_comma(source, end - 1, "nothing follows this ','", "remove it",
                     diags);
        return true;
    }
    if (!wants_bracket(error)
        || (!strchr("{[\"", text[at]) && !isalnum((unsigned char) text[at]))) {
        return false;
    } else if (text[at] != '{' && text[at] != '[') {
        at = walk_to(source, start, at, diags->arena).token.start;
    }
    if (at > start && isalnum((unsigned char) text[at - 1])) {
        return false;           /* As behind the 0 of 0x10. */
    }
    report_comma(source, end_before(source, start, at),
                 "a ',' is missing here", "add it; or what ends here is not "
                 "closed", diags);
    return true;
}

/* Shows the brace or bracket that is to blame if 'd' is that another token
 * was expected than the one at 'at': the first whose line is indented more
 * than what closes it, or the last that is open. */
static void
see_unclosed(const struct source *source, size_t start, size_t at,
             struct diags *diags, struct diag *d)
{
    struct walk walk = {
        .source = source, .arena = diags->arena, .at = start, .end = at,
    };
    struct span unclosed;

    while (walk_next(&walk)) {
        continue;
    }
    if (walk.unclosed.source) {
        unclosed = walk.unclosed;
    } else if (walk.frames.n) {
        size_t last = walk.frames.v[walk.frames.n - 1].start;

        unclosed = (struct span) { source, last, last + 1 };
    } else {
        return;
    }
    diag_see(diags, d, unclosed, "this '%c' seems not to be closed",
             source->text[unclosed.start]);
}

/* Could what is open have ended where something else stands? */
static bool
wanted_end(const json_error_t *error)
{
    return (wants_bracket(error)
            || !strncmp(error->text, "string or '}' expected", 22));
}

/* Where the token begins that ends at 'at' and that jansson has named; of a
 * string, where it goes wrong. */
static size_t
token_start(const struct source *source, size_t at,
            const json_error_t *error)
{
    const char *near = strstr(error->text, "near '");
    size_t n = near ? strlen(near + 6) - 1 : 0;

    return (n && n <= at + 1 && near[6] != '"'
            && !memcmp(source->text + at + 1 - n, near + 6, n)
            ? at + 1 - n : at);
}

/* Mistakes that jansson would describe in words of its own. */
static const struct {
    enum json_error_code code;
    const char *cause;
    const char *remedy;
} complaints[] = {
    { json_error_stack_overflow, "this is nested too deeply",
      "nest less deeply; an intent needs ten levels" },
    { json_error_invalid_utf8, "this is not UTF-8",
      "save the file as UTF-8" },
    { json_error_null_character, "a string cannot hold the character \\u0000",
      "remove it" },
    { json_error_null_byte_in_key, "a name cannot hold the character \\u0000",
      "remove it" },
};

void
report_syntax(const struct source *source, size_t start,
              const json_error_t *error, struct diags *diags)
{
    size_t at = start + (error->position > 0 ? error->position : 0);
    enum json_error_code code = json_error_code(error);
    bool cut_short = code == json_error_premature_end_of_input;
    const char *cause = NULL;
    const char *remedy = "mend the syntax here or just before; JSON has no "
                         "comments and no trailing commas";
    struct diag *d;

    /* jansson stands behind the token that it could not take. */
    at = at > source->len ? source->len : at;
    at -= at > 0;
    if (code == json_error_duplicate_key
        || code == json_error_numeric_overflow) {
        struct walk walk = walk_to(source, start, at, diags->arena);

        (walk.is_key ? report_twice : report_number)(&walk, diags);
        return;
    } else if (!strncmp(source->text, "\xef\xbb\xbf", 3)) {
        at = 0;
        cause = "the file begins with a byte order mark";
        remedy = "save it as UTF-8 without one";
    } else if (strspn(source->text, " \t\r\n") == source->len) {
        at = 0;
        cause = "the file is empty";
        remedy = "start from one of the examples";
    } else if (!cut_short && is_comma(source, start, at, error, diags)) {
        return;
    }
    for (size_t i = 0; !cause && i < ARRAY_SIZE(complaints); i++) {
        if (code == complaints[i].code) {
            cause = complaints[i].cause;
            remedy = complaints[i].remedy;
            break;
        }
    }
    at = cause || cut_short ? at : token_start(source, at, error);
    d = diag_error(diags, (struct span) { source, at, at }, NULL, "%s%s",
                   cause ? cause : "this is not valid JSON: ",
                   cause ? "" : error->text);
    diag_remedy(diags, d, "%s", remedy);
    if (!cause && (cut_short || (wanted_end(error)
                                 && strchr("{}]", source->text[at])))) {
        see_unclosed(source, start, cut_short ? source->len : at, diags, d);
    }
}

bool
report_nul(const struct source *source, struct diags *diags)
{
    const char *nul = memchr(source->text, '\0', source->len);

    if (nul) {
        size_t at = nul - source->text;
        struct diag *d = diag_error(diags, (struct span) { source, at, at },
                                    NULL, "this is not valid JSON: a NUL "
                                    "byte");

        diag_remedy(diags, d, "remove it; if there are many, save the file "
                    "as UTF-8");
    }
    return nul != NULL;
}
