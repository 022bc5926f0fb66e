/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "base/diag.h"
#include "unit.h"
#include "util.h"

static struct span
span_of(struct unit *u, size_t start, size_t end)
{
    return (struct span) { u->source, start, end };
}

static void
set_text(struct unit *u, const char *text)
{
    unit_init(u);
    u->source = source_create(u->arena, "f.json", text, strlen(text));
}

START_TEST(test_format)
{
    struct unit u;

    set_text(&u, "{\n  'x': 12\n}");
    struct diag *d = diag_error(&u.diags, span_of(&u, 9, 11), "/x",
                                "%s is %d", "x", 12);
    diag_remedy(&u.diags, d, "make it %d", 13);
    diag_see(&u.diags, d, span_of(&u, 0, 1), "the %s", "object");
    ck_assert_str_eq(unit_diags(&u),
                     "f.json:2:8: error: x is 12\n"
                     "      'x': 12\n"
                     "           ^^\n"
                     "  at /x\n"
                     "  remedy: make it 13\n"
                     "f.json:1:1: note: the object\n"
                     "    {\n"
                     "    ~\n");
    ck_assert_uint_eq(u.diags.n_errors, 1);
    ck_assert_uint_eq(u.diags.n_warnings, 0);
    unit_destroy(&u);
}
END_TEST

START_TEST(test_colour)
{
    struct unit u;

    set_text(&u, "{\n  'x': 12\n}");
    struct diag *d = diag_error(&u.diags, span_of(&u, 9, 11), "/x", "x");
    diag_see(&u.diags, d, span_of(&u, 0, 1), "the object");
    u.diags.colour = true;
    ck_assert_str_eq(unit_diags(&u),
                     "f.json:2:8: \33[1;31merror\33[0m: x\n"
                     "      'x': 12\n"
                     "\33[1;31m           ^^\33[0m\n"
                     "  at /x\n"
                     "f.json:1:1: \33[1;36mnote\33[0m: the object\n"
                     "    {\n"
                     "\33[1;36m    ~\33[0m\n");
    unit_destroy(&u);
}
END_TEST

START_TEST(test_long_texts)
{
    struct unit u;
    struct diag *d;
    char *name;

    set_text(&u, "1");
    name = arena_zalloc(u.arena, 5001);
    for (size_t i = 0; i < 5000; i += 2) {
        memcpy(name + i, "\303\251", 2);
    }
    d = diag_error(&u.diags, span_of(&u, 0, 1), name, "!%s", name);
    diag_remedy(&u.diags, d, "%s", name);
    ck_assert_ptr_null(d->pointer);
    ck_assert_uint_eq(strlen(d->cause), DIAG_MAX_TEXT - 1 + 3);
    ck_assert(!strcmp(d->cause + 997, "\303\251..."));
    ck_assert_uint_eq(strlen(d->remedy), DIAG_MAX_TEXT + 3);
    unit_destroy(&u);
}
END_TEST

START_TEST(test_places_in_order)
{
    struct unit u;

    set_text(&u, "abc");
    diag_error(&u.diags, span_of(&u, 2, 3), NULL, "third");
    diag_error(&u.diags, span_of(&u, 1, 2), NULL, "first of two");
    diag_warning(&u.diags, span_of(&u, 1, 3), NULL, "second of two");
    diag_error(&u.diags, span_of(&u, 0, 3), NULL, "start");
    diags_sort(&u.diags);
    ck_assert_str_eq(u.diags.list.v[0].cause, "start");
    ck_assert_str_eq(u.diags.list.v[1].cause, "first of two");
    ck_assert_str_eq(u.diags.list.v[2].cause, "second of two");
    ck_assert_str_eq(u.diags.list.v[3].cause, "third");
    unit_destroy(&u);
}
END_TEST

START_TEST(test_warning_and_no_place)
{
    struct unit u;

    set_text(&u, "");
    diag_warning(&u.diags, (struct span) { NULL, 0, 0 }, NULL, "odd");
    ck_assert_str_eq(unit_diags(&u), "warning: odd\n");
    ck_assert_uint_eq(u.diags.n_errors, 0);
    ck_assert_uint_eq(u.diags.n_warnings, 1);
    unit_destroy(&u);
}
END_TEST

/* The caret stands under its character, and an empty span has one. */
START_TEST(test_caret)
{
    struct unit u;

    set_text(&u, "\xc3\xbc\xc3\xbcX\nend");
    diag_error(&u.diags, span_of(&u, 4, 5), NULL, "wide");
    diag_error(&u.diags, span_of(&u, 9, 9), NULL, "end");
    ck_assert_str_eq(unit_diags(&u),
                     "f.json:1:3: error: wide\n"
                     "    \xc3\xbc\xc3\xbcX\n"
                     "      ^\n"
                     "f.json:2:4: error: end\n"
                     "    end\n"
                     "       ^\n");
    unit_destroy(&u);
}
END_TEST

/* A span of several lines is marked to the end of its first. */
START_TEST(test_span_over_lines)
{
    struct unit u;

    set_text(&u, "ab {\n}\n");
    diag_error(&u.diags, span_of(&u, 3, 6), NULL, "both");
    ck_assert_str_eq(unit_diags(&u), "f.json:1:4: error: both\n"
                     "    ab {\n"
                     "       ^\n");
    unit_destroy(&u);
}
END_TEST

START_TEST(test_control_characters)
{
    struct unit u;

    set_text(&u, "\t\x1b[31mX\x7f\r");
    struct diag *d = diag_error(&u.diags, span_of(&u, 6, 7), "/\x1b[0m",
                                "cause\x1b]0;\n");
    diag_remedy(&u.diags, d, "remedy\x07");
    diag_see(&u.diags, d, span_of(&u, 0, 1), "note\x1b");

    const char *text = unit_diags(&u);
    for (const char *p = text; *p; p++) {
        ck_assert_msg(*p == '\n' || ((unsigned char) *p >= ' ' && *p != 0x7f),
                      "control character %#x in:\n%s", *p, text);
    }
    /* Each became one character, so that the caret is still right. */
    unit_complains(&u, "     ?[31mX? \n"
                       "          ^\n");
    unit_destroy(&u);
}
END_TEST

/* Bytes that are no UTF-8, C1 controls and marks of direction count as one
 * character each and reach nobody's terminal; all other characters do. */
START_TEST(test_unicode)
{
    struct unit u;

    set_text(&u, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"
                 "\xe9" "\x80" "\xc0\xaf" "\xed\xa0\x80" "\xf4\x90"
                 "\xc2\x9b" "\xe2\x80\xae" "\xef\xbb\xbf" "END");
    diag_error(&u.diags, span_of(&u, 26, 29), NULL, "x");
    unit_complains(&u, "    \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"
                       "????" "???" "??" "???" "END\n");
    unit_destroy(&u);
}
END_TEST

START_TEST(test_long_line)
{
    char line[1001];
    struct unit u;

    memset(line, 'x', 1000);
    line[1000] = '\0';
    memcpy(&line[600], "HERE", 4);
    set_text(&u, line);
    diag_error(&u.diags, span_of(&u, 600, 604), NULL, "long");

    const char *text = unit_diags(&u);
    const char *shown = strchr(text, '\n') + 1;
    const char *marks = strchr(shown, '\n') + 1;
    ck_assert_uint_lt(marks - shown, 130);
    ck_assert_ptr_nonnull(strstr(text, "..."));
    ck_assert_uint_eq(strchr(marks, '^') - marks,
                      strstr(shown, "HERE") - shown);
    ck_assert_uint_eq(strspn(strchr(marks, '^'), "^"), 4);
    unit_destroy(&u);
}
END_TEST

START_TEST(test_at_most_max)
{
    struct unit u;

    set_text(&u, "x");
    for (int i = 0; i < DIAG_MAX + 7; i++) {
        struct diag *d = diag_error(&u.diags, span_of(&u, 0, 1), NULL,
                                    "number %d.", i);
        ck_assert_ptr_nonnull(d);
        diag_remedy(&u.diags, d, "fine");
        diag_see(&u.diags, d, span_of(&u, 0, 1), "this");
        ck_assert_int_eq(d->cause && d->remedy && d->n_notes, i < DIAG_MAX);
        ck_assert_int_eq(!d->cause && !d->remedy && !d->n_notes,
                         i >= DIAG_MAX);
    }
    ck_assert_uint_eq(u.diags.list.n, DIAG_MAX);
    ck_assert_uint_eq(u.diags.n_errors, DIAG_MAX + 7);
    unit_complains(&u, "number 19.");
    unit_complains(&u, "\n... and 7 more\n");
    ck_assert_ptr_null(strstr(unit_diags(&u), "number 20."));
    unit_destroy(&u);
}
END_TEST

START_TEST(test_warnings_hide_no_error)
{
    struct unit u;

    set_text(&u, "x");
    for (int i = 0; i < DIAG_MAX + 2; i++) {
        diag_warning(&u.diags, span_of(&u, 0, 1), NULL, "warning %d.", i);
    }
    diag_error(&u.diags, span_of(&u, 0, 1), NULL, "the error");
    unit_complains(&u, "the error");
    unit_complains(&u, "\n... and 2 more\n");
    unit_destroy(&u);
}
END_TEST

START_TEST(test_order_by_place)
{
    static const size_t places[] = { 3, 1, 2, 1, 0 };
    struct unit u;

    set_text(&u, "abcdef");
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        diag_error(&u.diags, span_of(&u, places[i], places[i] + 1), NULL,
                   "at%zu-%zu", places[i], i);
    }

    const char *text = unit_diags(&u);
    const char *last = text;
    static const char *const order[] = {
        "at0-4", "at1-1", "at1-3", "at2-2", "at3-0",
    };
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        const char *p = strstr(text, order[i]);

        ck_assert_ptr_nonnull(p);
        ck_assert_msg(p > last, "%s is not in order:\n%s", order[i], text);
        last = p;
    }
    unit_destroy(&u);
}
END_TEST

Suite *
diag_suite(void)
{
    Suite *suite = suite_create("diag");
    TCase *tc = unit_case(suite, "text");

    tcase_add_test(tc, test_format);
    tcase_add_test(tc, test_warning_and_no_place);
    tcase_add_test(tc, test_colour);
    tcase_add_test(tc, test_places_in_order);
    tcase_add_test(tc, test_long_texts);
    tcase_add_test(tc, test_caret);
    tcase_add_test(tc, test_span_over_lines);
    tcase_add_test(tc, test_control_characters);
    tcase_add_test(tc, test_unicode);
    tcase_add_test(tc, test_warnings_hide_no_error);
    tcase_add_test(tc, test_long_line);
    tc = unit_case(suite, "list");
    tcase_add_test(tc, test_at_most_max);
    tcase_add_test(tc, test_order_by_place);
    return suite;
}
