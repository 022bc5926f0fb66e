/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "openvswitch/ofp-port.h"
#include "unit.h"
#include "util.h"
#include "verify/dd.h"
#include "verify/tables.h"
#include "verify/term.h"

/* A space that is small enough to ask about every packet. */
static const uint8_t widths[] = { 3, 4, 1, 2 };
enum { N_DIGITS = 4, N_PACKETS = 1 << (3 + 4 + 1 + 2), N_SETS = 400 };

static void
to_digits(unsigned int packet, u128 digits[])
{
    for (int i = 0; i < N_DIGITS; i++) {
        digits[i] = packet & ((1u << widths[i]) - 1);
        packet >>= widths[i];
    }
}

/* A diagram, and its value for each packet. */
struct pair {
    dd_t f;
    uint32_t values[N_PACKETS];
};

static void
random_set(struct dd *dd, struct pair *p)
{
    int digit = rand() % N_DIGITS;
    u128 ones = (1u << widths[digit]) - 1;
    u128 a = rand() & ones, b = rand() & ones;
    bool range = rand() & 1;

    if (range && a > b) {
        u128 swap = a;

        a = b;
        b = swap;
    }
    p->f = range ? dd_range(dd, digit, a, b) : dd_bits(dd, digit, a, b);
    for (unsigned int i = 0; i < N_PACKETS; i++) {
        u128 digits[N_DIGITS];

        to_digits(i, digits);
        p->values[i] = (range ? digits[digit] >= a && digits[digit] <= b
                        : !((digits[digit] ^ a) & b));
    }
}

/* 'r' of what 'op' makes of 'a' and 'b'. */
static void
combine(struct dd *dd, int op, const struct pair *a, const struct pair *b,
        const struct pair *c, struct pair *r)
{
    r->f = (op == 0 ? dd_and(dd, a->f, b->f) : op == 1 ? dd_or(dd, a->f, b->f)
            : op == 2 ? dd_not(dd, a->f) : dd_choose(dd, a->f, b->f, c->f));
    for (unsigned int i = 0; i < N_PACKETS; i++) {
        bool x = a->values[i], y = b->values[i];

        r->values[i] = (op == 0 ? x && y : op == 1 ? x || y
                        : op == 2 ? !x : x ? y : c->values[i]);
    }
}

static void
assert_same(const struct dd *dd, const struct pair *p)
{
    for (unsigned int i = 0; i < N_PACKETS; i++) {
        u128 digits[N_DIGITS];

        to_digits(i, digits);
        ck_assert_uint_eq(dd_leaf(dd_eval(dd, p->f, digits)), p->values[i]);
    }
}

START_TEST(test_every_packet)
{
    struct pair *sets = xcalloc(N_SETS, sizeof *sets);
    struct dd *dd = dd_create(widths, N_DIGITS);

    srand(1);
    for (int i = 0; i < N_SETS; i++) {
        if (i < 40) {
            random_set(dd, &sets[i]);
        } else {
            combine(dd, rand() % 4, &sets[rand() % i], &sets[rand() % i],
                    &sets[rand() % i], &sets[i]);
        }
        assert_same(dd, &sets[i]);
        /* The same function is the same diagram, and no other is. */
        for (int k = 0; k < i; k++) {
            ck_assert_int_eq(sets[k].f == sets[i].f,
                             !memcmp(sets[k].values, sets[i].values,
                                     sizeof sets[i].values));
        }
    }
    dd_destroy(dd);
    free(sets);
}
END_TEST

START_TEST(test_values)
{
    struct dd *dd = dd_create(widths, N_DIGITS);
    dd_t a = dd_cut(dd, dd_range(dd, 1, 3, 9), DD_LEAF(7));
    dd_t b = dd_cut(dd, dd_bits(dd, 0, 1, 1), DD_LEAF(8));
    dd_t both = dd_over(dd, a, b);

    for (unsigned int i = 0; i < N_PACKETS; i++) {
        u128 digits[N_DIGITS];

        to_digits(i, digits);
        ck_assert_uint_eq(dd_leaf(dd_eval(dd, both, digits)),
                          digits[1] >= 3 && digits[1] <= 9 ? 7
                          : digits[0] & 1 ? 8 : 0);
    }
    dd_destroy(dd);
}
END_TEST

/* A diagram of leaves 0 to 5, all drawn anew. */
static void
random_values(struct dd *dd, struct pair *p)
{
    struct pair set;

    p->f = DD_NONE;
    memset(p->values, 0, sizeof p->values);
    for (uint32_t leaf = 1; leaf <= 5; leaf++) {
        random_set(dd, &set);
        p->f = dd_over(dd, dd_cut(dd, set.f, DD_LEAF(leaf)), p->f);
        for (unsigned int i = 0; i < N_PACKETS; i++) {
            p->values[i] = set.values[i] ? leaf : p->values[i];
        }
    }
}

/* Is 'f' what 'of' says of packets with 'value' there? */
static void
assert_where(const struct dd *dd, dd_t f, dd_t of, int digit, u128 value)
{
    for (unsigned int i = 0; i < N_PACKETS; i++) {
        u128 digits[N_DIGITS];
        dd_t leaf;

        to_digits(i, digits);
        leaf = dd_eval(dd, f, digits);
        digits[digit] = value;
        ck_assert_uint_eq(leaf, dd_eval(dd, of, digits));
    }
}

START_TEST(test_where)
{
    struct dd *dd = dd_create(widths, N_DIGITS);
    struct pair p;

    srand(2);
    for (int n = 0; n < 60; n++) {
        if (n % 10 == 0) {
            dd_clear(dd);       /* The same numbers are others then. */
        }
        random_values(dd, &p);
        for (int digit = N_DIGITS - 1; digit >= 0; digit--) {
            for (u128 value = 0; value < 1u << widths[digit]; value++) {
                assert_where(dd, dd_where(dd, p.f, digit, value), p.f, digit,
                             value);
            }
        }
    }
    dd_destroy(dd);
}
END_TEST

struct visits {
    unsigned int n[6];          /* By leaf. */
    unsigned int all, most;     /* It ends after so many. */
};

static bool
count_visit(void *visits_, dd_t leaf)
{
    struct visits *visits = visits_;

    ck_assert_uint_lt(dd_leaf(leaf), 6);
    visits->n[dd_leaf(leaf)]++;
    return ++visits->all == visits->most;
}

START_TEST(test_each_leaf)
{
    struct dd *dd = dd_create(widths, N_DIGITS);
    struct pair p;

    srand(3);
    for (int n = 0; n < 400; n++) {
        bool there[6] = { false };
        unsigned int n_there = 0;

        if (n % 20 == 0) {
            dd_clear(dd);
        }
        random_values(dd, &p);
        for (unsigned int i = 0; i < N_PACKETS; i++) {
            n_there += p.values[i] && !there[p.values[i]];
            there[p.values[i]] = true;
        }
        /* The second time they are remembered. */
        for (int again = 0; again < 2; again++) {
            struct visits visits = { .most = 0 };
            struct visits two = { .most = 2 };

            dd_each_leaf(dd, p.f, count_visit, &visits);
            for (int leaf = 1; leaf < 6; leaf++) {
                ck_assert_uint_eq(visits.n[leaf], there[leaf]);
            }
            ck_assert_uint_eq(visits.n[0], 0);
            dd_each_leaf(dd, p.f, count_visit, &two);
            ck_assert_uint_eq(two.all, MIN(n_there, 2));
        }
    }
    dd_destroy(dd);
}
END_TEST

/* Has each sender what the choice says, in the bits of 'mask'? */
static void
assert_choice(struct terms *terms, struct space *space, term_t t,
              const uint64_t v[], size_t n, uint64_t value, uint64_t mask)
{
    u128 digits[160] = { 0 };
    dd_t set;

    ck_assert(term_match(terms, t, value, mask, space, &set));
    for (size_t i = 0; i < n; i++) {
        digits[space->begin[F_SENDER]] = i;
        ck_assert_int_eq(dd_eval(space->dd, set, digits) == DD_ALL,
                         !((v[i] ^ value) & mask));
    }
}

START_TEST(test_choice)
{
    enum { N = 50 };
    uint64_t v[N], same[N];
    struct terms *terms = terms_create();
    struct space space;
    term_t t, to;
    size_t n;

    srand(4);
    space_init(&space, LAYOUT_WHOLE);
    for (int i = 0; i < N; i++) {
        v[i] = rand() & 0xff;
        same[i] = 7;
    }
    t = term_choice(terms, 32, v, N);
    ck_assert_uint_eq(t, term_choice(terms, 32, v, N));
    ck_assert_uint_ne(t, term_choice(terms, 32, v, N - 1));
    ck_assert(!memcmp(term_choices(terms, t, &n), v, sizeof v));
    ck_assert_uint_eq(n, N);
    ck_assert_uint_eq(term_get(terms, t)->known, 0);
    for (int i = 0; i < 200; i++) {
        assert_choice(terms, &space, t, v, N, rand(), rand() & rand() & 0xff);
    }
    /* Where all have the same, that is known. */
    to = term_choice(terms, 32, same, N);
    ck_assert_uint_eq(to, term_const(terms, 32, 7));
    ck_assert_ptr_eq(term_choices(terms, to, &n), NULL);
    ck_assert_uint_eq(n, 0);
    /* It is copied as a whole only. */
    ck_assert(term_copy(terms, &to, 0, 32, t, 0));
    ck_assert_uint_eq(to, t);
    to = term_const(terms, 32, 7);
    ck_assert(!term_copy(terms, &to, 0, 8, t, 0));
    to = t;
    ck_assert(!term_copy(terms, &to, 0, 8, term_const(terms, 32, 7), 0));
    space_destroy(&space);
    terms_destroy(terms);
}
END_TEST

START_TEST(test_scattered)
{
    static const uint8_t wide[] = { 32 };
    struct dd *dd = dd_create(wide, 1);

    dd_bits(dd, 0, 1, 0xfff00001);
    ck_assert(dd_is_refused(dd));
    dd_destroy(dd);
}
END_TEST

/* What the flow tables say about 'text'; NULL: nothing. */
static const char *
parse(struct arena *arena, const char *text)
{
    struct ofputil_port_map ports;
    struct table_set tables;
    const char *wrong;

    ofputil_port_map_init(&ports);
    table_set_init(&tables, "f", arena, &ports);
    wrong = table_set_parse(&tables, text, strlen(text));
    wrong = wrong ? wrong : table_set_finish(&tables);
    table_set_destroy(&tables);
    ofputil_port_map_destroy(&ports);
    return wrong;
}

START_TEST(test_bad_flows)
{
    struct arena *arena = arena_create();

    ck_assert_ptr_null(parse(arena, "# x\n table=1,ip actions=drop\n"));
    ck_assert_str_eq(parse(arena, "\nip actions=fly\n"),
                     "f:2: unknown action fly");
    ck_assert_str_eq(parse(arena, "ip\n"),
                     "f:1:1: this is no flow: it has no actions");
    ck_assert_str_eq(parse(arena, "tcp,tcp_flags=1 actions=drop\n"),
                     "f:1: it matches tcp_flags, which is not modelled");
    ck_assert_str_eq(parse(arena, "packet_type=(1,0x800) actions=drop\n"),
                     "f:1: it matches packet_type, which is not modelled");
    ck_assert_ptr_null(parse(arena, "packet_type=(0,0) actions=drop\n"));
    ck_assert_ptr_null(parse(arena, "OFPST_FLOW reply (OF1.4) (xid=0x2):\n"));
    ck_assert_str_eq(parse(arena, "table=3, priority=9,ip reply\n"),
                     "f:1:1: this is no flow: it has no actions");
    ck_assert_str_eq(parse(arena, "ip actions=drop\nip actions=1\n"),
                     "f:2: the flow at f:1 has the same match and priority");
    arena_destroy(arena);
}
END_TEST

/* What comes behind a byte that is 0 would not be seen. */
START_TEST(test_nul)
{
    static const char text[] = "ip actions=drop\nip\0ipv6 actions=1\n";
    struct arena *arena = arena_create();
    struct ofputil_port_map ports;
    struct table_set tables;

    ofputil_port_map_init(&ports);
    table_set_init(&tables, "f", arena, &ports);
    ck_assert_str_eq(table_set_parse(&tables, text, sizeof text - 1),
                     "f:2:3: a byte that is 0");
    ofputil_port_map_destroy(&ports);
    arena_destroy(arena);
}
END_TEST

/* No name gets a number that a flow says, however it says it. */
START_TEST(test_numbers)
{
    struct arena *arena = arena_create();
    struct ofputil_port_map ports;
    struct table_set tables;
    const char *text = "in_port=a actions=2\nin_port=1 actions=output:b,3\n";

    ofputil_port_map_init(&ports);
    table_set_init(&tables, "f", arena, &ports);
    ck_assert_ptr_null(table_set_parse(&tables, text, strlen(text)));
    ck_assert_uint_gt(table_set_port(&tables, "a"), 3);
    ck_assert_uint_gt(table_set_port(&tables, "b"), 3);
    ck_assert_uint_ne(table_set_port(&tables, "a"),
                      table_set_port(&tables, "b"));
    ck_assert_uint_lt(table_set_free_port(&tables),
                      table_set_port(&tables, "b"));
    ofputil_port_map_destroy(&ports);
    arena_destroy(arena);
}
END_TEST

/* Flows that come and go, once all are there. */
START_TEST(test_changes)
{
    struct arena *arena = arena_create();
    struct table_flow *flow, *gone;
    struct ofputil_port_map ports;
    struct table_set tables;
    const char *text = "priority=1,in_port=a actions=drop\n"
                       "priority=2,in_port=a actions=drop\n";

    ofputil_port_map_init(&ports);
    table_set_init(&tables, "f", arena, &ports);
    ck_assert_ptr_null(table_set_parse(&tables, text, strlen(text)));
    ck_assert_ptr_null(table_set_finish(&tables));
    ck_assert_ptr_null(table_set_add(&tables, "priority=3 actions=drop",
                                     &flow));
    ck_assert_uint_eq(flow->order, 2);
    ck_assert_ptr_eq(table_set_shadow(&tables, tables.flows.v[0]),
                     tables.flows.v[1]);
    ck_assert_ptr_null(table_set_remove(
        &tables, "priority=2,in_port=a actions=output:a", &gone));
    ck_assert_uint_eq(gone->priority, 2);
    ck_assert_uint_eq(tables.flows.n, 2);
    ck_assert_uint_eq(flow->order, 1);
    ck_assert_ptr_eq(table_set_shadow(&tables, tables.flows.v[0]), flow);
    ck_assert_ptr_nonnull(table_set_remove(
        &tables, "priority=2,in_port=a actions=drop", &gone));
    text = arena_printf(arena, "priority=4 actions=output:%u",
                        table_set_port(&tables, "a"));
    ck_assert_ptr_nonnull(table_set_add(&tables, text, &flow));
    table_set_destroy(&tables);
    ofputil_port_map_destroy(&ports);
    arena_destroy(arena);
}
END_TEST

Suite *
verify_suite(void)
{
    Suite *suite = suite_create("verify");
    TCase *dd = unit_case(suite, "dd");
    TCase *tables = unit_case(suite, "tables");

    tcase_add_test(dd, test_every_packet);
    tcase_add_test(dd, test_values);
    tcase_add_test(dd, test_where);
    tcase_add_test(dd, test_each_leaf);
    tcase_add_test(dd, test_choice);
    tcase_add_test(dd, test_scattered);
    tcase_add_test(tables, test_bad_flows);
    tcase_add_test(tables, test_nul);
    tcase_add_test(tables, test_numbers);
    tcase_add_test(tables, test_changes);
    return suite;
}
