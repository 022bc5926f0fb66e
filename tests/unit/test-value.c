/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdio.h>
#include <string.h>

#include "intent/value.h"
#include "unit.h"

/* Parses 'text', with ' for ", which must be right. */
static void
good_value(struct unit *u, const char *text)
{
    unit_init(u);
    unit_value(u, text);
    ck_assert_msg(u->value && !u->diags.list.n, "%s", unit_diags(u));
}

static void
assert_span(const struct unit *u, struct span span, const char *text)
{
    ck_assert_ptr_eq(span.source, u->source);
    ck_assert_uint_eq(span.end - span.start, strlen(text));
    ck_assert_mem_eq(u->source->text + span.start, text, strlen(text));
}

START_TEST(test_places)
{
    struct unit u;

    good_value(&u, "\n {'a' : [ 1 ,\t-2.5e3, true],\r\n"
               "  'b':{'c':'x\\'y', 'd':null , 'e':{}, 'f':[]} }\n");
    ck_assert_uint_eq(u.value->span.start, 2);
    ck_assert_uint_eq(u.value->span.end, u.source->len - 1);

    const struct value *a = value_member(u.value, "a");
    assert_span(&u, a->key_span, "\"a\"");
    assert_span(&u, a->span, "[ 1 ,\t-2.5e3, true]");
    assert_span(&u, a->elems[0].span, "1");
    assert_span(&u, a->elems[1].span, "-2.5e3");
    assert_span(&u, a->elems[2].span, "true");

    const struct value *b = value_member(u.value, "b");
    assert_span(&u, value_member(b, "c")->span, "\"x\\\"y\"");
    assert_span(&u, value_member(b, "d")->span, "null");
    assert_span(&u, value_member(b, "e")->span, "{}");
    assert_span(&u, value_member(b, "f")->span, "[]");
    assert_span(&u, value_member(b, "f")->key_span, "\"f\"");
    unit_destroy(&u);
}
END_TEST

START_TEST(test_types)
{
    struct unit u;

    good_value(&u, "[null, false, -7, 1.5, 's', [], {}]");
    ck_assert_uint_eq(u.value->n, 7);
    for (int i = 0; i < 7; i++) {
        ck_assert_int_eq(u.value->elems[i].type, VALUE_NULL + i);
    }
    ck_assert(!u.value->elems[1].boolean);
    ck_assert_int_eq(u.value->elems[2].integer, -7);
    ck_assert_str_eq(u.value->elems[4].string, "s");
    ck_assert_ptr_null(value_member(u.value, "x"));
    ck_assert_ptr_null(value_member(&u.value->elems[6], "x"));
    unit_destroy(&u);
}
END_TEST

/* What a schema takes for whole is whole, as far as anything counts. */
START_TEST(test_whole_numbers)
{
    enum { N_WHOLE = 5 };
    static const int64_t whole[N_WHOLE] = { 101, 1000000, 0, -7, INT32_MAX };
    struct unit u;

    good_value(&u, "[101.0, 1e6, -0.0, -70e-1, 2147483647.0, 2147483648.0, "
               "1e30, 0.5]");
    for (size_t i = 0; i < N_WHOLE; i++) {
        ck_assert_int_eq(u.value->elems[i].type, VALUE_INTEGER);
        ck_assert_int_eq(u.value->elems[i].integer, whole[i]);
    }
    for (size_t i = N_WHOLE; i < u.value->n; i++) {
        ck_assert_int_eq(u.value->elems[i].type, VALUE_REAL);
    }
    unit_destroy(&u);
}
END_TEST

START_TEST(test_strings)
{
    struct unit u;

    /* The scan must not take the end of an escape for the string's. */
    good_value(&u, "['\\\\', '\\\\\\'', '\\u00fc\\n', ']', 5]");
    ck_assert_str_eq(u.value->elems[0].string, "\\");
    ck_assert_str_eq(u.value->elems[1].string, "\\\"");
    ck_assert_str_eq(u.value->elems[2].string, "\xc3\xbc\n");
    ck_assert_str_eq(u.value->elems[3].string, "]");
    assert_span(&u, u.value->elems[4].span, "5");
    unit_destroy(&u);
}
END_TEST

START_TEST(test_pointers)
{
    struct unit u;

    good_value(&u, "{'a/b': {'~': [0, {'m~n/': 1}]}, '': 2}");
    ck_assert_str_eq(value_pointer(u.value, u.arena), "");
    ck_assert_str_eq(value_pointer(value_member(u.value, ""), u.arena),
                     "/");

    const struct value *ab = value_member(u.value, "a/b");
    ck_assert_str_eq(value_pointer(ab, u.arena), "/a~1b");
    const struct value *tilde = value_member(ab, "~");
    ck_assert_str_eq(value_pointer(tilde, u.arena), "/a~1b/~0");
    ck_assert_str_eq(value_pointer(&tilde->elems[1], u.arena),
                     "/a~1b/~0/1");
    ck_assert_str_eq(value_pointer(value_member(&tilde->elems[1], "m~n/"),
                                   u.arena),
                     "/a~1b/~0/1/m~0n~1");
    unit_destroy(&u);
}
END_TEST

/* Members stay in the order of the text, more than jansson's first hash
 * table holds. */
START_TEST(test_member_order)
{
    struct unit u;
    char text[4000] = "{", *p = text + 1;

    for (int i = 0; i < 200; i++) {
        p += sprintf(p, "%s'k%d':%d", i ? "," : "", i * 7919 % 1000, i);
    }
    strcpy(p, "}");
    good_value(&u, text);
    ck_assert_uint_eq(u.value->n, 200);
    for (int i = 0; i < 200; i++) {
        const struct value *v = &u.value->elems[i];
        const char *number = arena_printf(u.arena, "%d", i);

        ck_assert_int_eq(v->integer, i);
        assert_span(&u, v->span, number);
        ck_assert_str_eq(v->key, arena_printf(u.arena, "k%d",
                                              i * 7919 % 1000));
    }
    unit_destroy(&u);
}
END_TEST

/* 'len' bytes as they stand must be refused with 'needle'. */
static void
refuse(const char *text, size_t len, const char *needle)
{
    struct unit u;

    unit_init(&u);
    u.source = source_create(u.arena, "bad.json",
                             arena_strndup(u.arena, text, len), len);
    u.value = value_parse(u.source, u.arena, &u.diags);
    ck_assert_ptr_null(u.value);
    ck_assert_uint_eq(u.diags.n_errors, 1);
    unit_complains(&u, needle);
    unit_destroy(&u);
}

#define REFUSE(TEXT, NEEDLE) refuse(TEXT, sizeof TEXT - 1, NEEDLE)

START_TEST(test_refused)
{
    REFUSE("", "bad.json:1:1: error: the file is empty");
    REFUSE(" \n", "bad.json:1:1: error: the file is empty");
    REFUSE("\xef\xbb\xbf{}",
           "bad.json:1:1: error: the file begins with a byte order mark");
    REFUSE("{", "not valid JSON");
    REFUSE("{\"a\": 1,}", "bad.json:1:8: error: this is not valid JSON: "
           "nothing follows this ','");
    REFUSE("[1\n 2]", "bad.json:1:3: error: this is not valid JSON: a ',' is "
           "missing here");
    REFUSE("[1; 2]", "']' expected near ';'");
    REFUSE("[1] x", "not valid JSON");
    REFUSE("// hello\n{}", "no comments");
    REFUSE("{'a': 1}", "not valid JSON");
    REFUSE("[01]", "not valid JSON");
    REFUSE("[NaN]", "not valid JSON");
    REFUSE("[123456789012345678901234567890]", "this number is too large");
    REFUSE("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", "bad.json:3:");
    REFUSE("{\"a\": {\"x\": 1, \"x\": 1}}", "stands twice in this object");
    REFUSE("{\"a\": 1, \"\\u0061\": 1}", "stands twice in this object");
    REFUSE("[\"a\\u0000b\"]", "cannot hold the character");
    REFUSE("{\"a\\u0000b\": 1}", "cannot hold the character");
    REFUSE("[\"a\0b\"]", "not valid JSON");
    REFUSE("[1]\0", "not valid JSON");
    REFUSE("[\"\n\"]", "not valid JSON");
}
END_TEST

START_TEST(test_invalid_utf8)
{
    REFUSE("[\"\xff\"]", "save the file as UTF-8");
    REFUSE("[\"\xc0\x80\"]", "save the file as UTF-8");     /* Overlong. */
    REFUSE("[\"\xed\xa0\x80\"]", "save the file as UTF-8"); /* Surrogate. */
    REFUSE("[\"\xe2\x82\"]", "save the file as UTF-8");     /* Cut short. */
    REFUSE("[\"\\ud800\"]", "not valid JSON");
}
END_TEST

START_TEST(test_nesting)
{
    enum { DEEP = 200000 };
    static char text[2 * DEEP];
    struct unit u;

    for (int i = 0; i < DEEP; i++) {
        text[i] = '[';
        text[2 * DEEP - 1 - i] = ']';
    }
    refuse(text, sizeof text, "nest less deeply");

    /* And what jansson takes must not break the scan. */
    unit_init(&u);
    u.source = source_create(u.arena, "f", text + DEEP - 2000, 4000);
    u.value = value_parse(u.source, u.arena, &u.diags);
    ck_assert_msg(u.value, "%s", unit_diags(&u));
    ck_assert_uint_eq(u.value->span.end, 4000);
    unit_destroy(&u);
}
END_TEST

Suite *
value_suite(void)
{
    Suite *suite = suite_create("value");
    TCase *tc = unit_case(suite, "places");

    tcase_add_test(tc, test_places);
    tcase_add_test(tc, test_types);
    tcase_add_test(tc, test_whole_numbers);
    tcase_add_test(tc, test_strings);
    tcase_add_test(tc, test_pointers);
    tcase_add_test(tc, test_member_order);
    tc = unit_case(suite, "refused");
    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_invalid_utf8);
    tcase_add_test(tc, test_nesting);
    return suite;
}
