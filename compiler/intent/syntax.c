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
#include "intent/walk.h"
#include "util.h"

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
            && !strcmp(walk_string(&walk.token, walk.arena), key)) {
            break;
        }
    }
    return walk.token;
}

static void
report_twice(const struct walk *walk, struct diags *diags)
{
    const char *key = walk_string(&walk->token, walk->arena);
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

/* The same; or was it wanted behind what stands there? */
static bool
wanted_end(const json_error_t *error)
{
    return (wants_bracket(error)
            || !strncmp(error->text, "string or '}' expected", 22));
}

/* Is the mistake that a ',' is missing before the token that ends at 'at', or
 * one too many there?  Then adds an error. */
static bool
is_comma(const struct source *source, size_t start, size_t at,
         const json_error_t *error, struct diags *diags)
{
    const char *text = source->text;
    size_t end;

    if (strchr("}]", text[at])
        && (wanted_end(error) || !strncmp(error->text, "unexpected token", 16))
        && (end = end_before(source, start, at)) > start
        && text[end - 1] == ',') {
        report_comma(source, end - 1, "nothing follows this ','", "remove it",
                     diags);
        return true;
    } else if (!wants_bracket(error)
               || (!strchr("{[\"", text[at])
                   && !isalnum((unsigned char) text[at]))) {
        return false;
    } else if (text[at] != '{' && text[at] != '[') {
        at = walk_to(source, start, at, diags->arena).token.start;
    }
    report_comma(source, end_before(source, start, at),
                 "a ',' is missing here", "add it; or what ends here is not "
                 "closed", diags);
    return true;
}

/* Is the token that ends at 'at', and is not understood, text without quotes,
 * such as 100Gbps?  Returns true and stores where it begins in '*at'. */
static bool
is_unquoted(const struct source *source, size_t start, size_t *at,
            const json_error_t *error, struct arena *arena)
{
    const char *near = strstr(error->text, "near '");

    if (!near || !isalpha((unsigned char) near[6])
        || !strcmp(near, "near 'true'") || !strcmp(near, "near 'false'")
        || !strcmp(near, "near 'null'")) {
        return false;
    }
    *at = walk_to(source, start, *at, arena).token.start;
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
    } else if (is_unquoted(source, start, &at, error, diags->arena)) {
        remedy = "write text in double quotes; only numbers, true, false and "
                 "null have none";
    } else if (code == json_error_invalid_syntax
               && is_comma(source, start, at, error, diags)) {
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
