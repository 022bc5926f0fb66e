/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "borrow.h"
#include "unit.h"

#define START UINT64_C(1000000000)
#define US UINT64_C(1000)

/* A pool of 8 Gbps, a byte a ns, its members, and a pool below one of them. */
struct house {
    struct borrow_pool pool, below;
    struct borrow_member members[BORROW_MAX_MEMBERS + 1];
};

static struct house house;

static struct gcra_conf
pool_conf(uint32_t kbps, uint64_t burst)
{
    struct gcra_conf conf;

    ck_assert_int_eq(gcra_conf_init(&conf, GCRA_KBPS, kbps, burst * 8), 0);
    return conf;
}

static void
set_up_at(uint32_t kbps, uint64_t burst)
{
    struct gcra_conf conf = pool_conf(kbps, burst);

    memset(&house, 0, sizeof house);
    borrow_pool_init(&house.pool, &conf, NULL, START);
}

static void
set_up(uint64_t burst)
{
    set_up_at(8000000, burst);
}

static struct borrow_member *
join(unsigned int i, uint16_t weight, uint64_t reach)
{
    ck_assert(borrow_join(&house.members[i], &house.pool, weight, reach));
    return &house.members[i];
}

/* Borrows as often as it can, 1000 bytes each.  Returns how often. */
static unsigned int
borrow_all(struct borrow_member *m, uint64_t now)
{
    unsigned int n = 0;

    while (borrow_admit(m, now, 1000)) {
        n++;
    }
    return n;
}

static uint64_t
queue(uint64_t now)
{
    return gcra_depth(&house.pool.queue, now) / GCRA_BYTE;
}

/* Each of 'n' members borrows once.  Returns how many can. */
static unsigned int
borrow_each(unsigned int n, uint64_t now)
{
    unsigned int got = 0;

    for (unsigned int i = 0; i < n; i++) {
        got += borrow_admit(&house.members[i], now, 1000);
    }
    return got;
}

START_TEST(test_limit)
{
    set_up(10000);
    for (unsigned int i = 0; i < 20; i++) {
        join(i, 1, 100000);
    }
    ck_assert_uint_eq(borrow_each(20, START), 10);
    ck_assert_uint_eq(queue(START), 10000);
    ck_assert(!borrow_admit(&house.members[19], START, 1));
    ck_assert_uint_eq(borrow_each(20, START + 2 * US), 2);

    /* What is owed comes in all the same, and is in the way of the others. */
    borrow_debit(&house.pool, START + 2 * US, 5000);
    ck_assert_uint_eq(queue(START + 2 * US), 15000);
    ck_assert_uint_eq(borrow_each(20, START + 6 * US), 0);
    ck_assert_uint_eq(borrow_each(20, START + 8 * US), 1);
}
END_TEST

/* Who has borrowed more than 16 times of what is left lets others in. */
START_TEST(test_threshold)
{
    set_up(40000);
    ck_assert_uint_eq(borrow_all(join(0, 1, 100000), START), 38);
    ck_assert_uint_eq(borrow_all(join(1, 2, 100000), START), 2);
    ck_assert_uint_eq(queue(START), 40000);
}
END_TEST

/* With another weight, as many bytes are borrowed. */
START_TEST(test_weight_changes)
{
    struct borrow_member *a;

    set_up(1000000);
    a = join(0, 1, 10000);
    ck_assert_uint_eq(borrow_all(a, START), 10);
    borrow_member_reconfigure(a, 10, 10000);
    ck_assert_uint_eq(a->tag, UINT64_C(1000) << 20);
    ck_assert(!borrow_admit(a, START, 1000));
    borrow_member_reconfigure(a, 2, 12000);
    ck_assert_uint_eq(a->tag, UINT64_C(5000) << 20);
    ck_assert_uint_eq(borrow_all(a, START), 2);
}
END_TEST

START_TEST(test_reach)
{
    struct borrow_member *a, *b;

    set_up(1000000);
    a = join(0, 1, 3000);
    b = join(1, 2, 5999);
    ck_assert_uint_eq(borrow_all(a, START), 3);
    ck_assert_uint_eq(borrow_all(b, START), 5);
    ck_assert_uint_eq(queue(START), 8000);
    borrow_member_reconfigure(a, 1, 4000);
    ck_assert_uint_eq(borrow_all(a, START), 1);
}
END_TEST

/* What both get in 1 ms, if they want more: 3 to 1, and all of it. */
static void
run_shares(unsigned int n[2])
{
    struct borrow_member *a = join(0, 3, 10000), *b = join(1, 1, 10000);

    n[0] = n[1] = 0;
    for (uint64_t now = START; now < START + 1000 * US; now += 500) {
        n[0] += borrow_admit(a, now, 1000);
        n[1] += borrow_admit(b, now, 1000);
    }
}

START_TEST(test_weights)
{
    unsigned int n[2], high[2];

    set_up(60000);
    run_shares(n);
    ck_assert_uint_ge(n[0] + n[1], 990);
    ck_assert_uint_ge(n[0], n[1] * 3 - 30);
    ck_assert_uint_le(n[0], n[1] * 3 + 30);

    /* Nothing changes where virtual time goes round. */
    set_up(60000);
    house.pool.rounds[0].virtual = UINT64_MAX - (UINT64_C(100000) << 20);
    run_shares(high);
    ck_assert_uint_lt(house.pool.rounds[house.pool.version % 2].virtual,
                      UINT64_C(1) << 63);
    ck_assert_uint_eq(high[0], n[0]);
    ck_assert_uint_eq(high[1], n[1]);
}
END_TEST

/* Who has not borrowed for long has no credit from then, and no debt, even if
 * virtual time has gone round to where its tag was. */
START_TEST(test_idle)
{
    struct borrow_member *a, *b;
    uint64_t now = START, tag;
    unsigned int n;

    set_up(1000000);
    a = join(0, 1, 3000);
    b = join(1, 1, 3000);
    ck_assert_uint_eq(borrow_all(a, now), 3);
    tag = a->tag;
    for (; now < START + 100 * US; now += US) {
        borrow_admit(b, now, 1000);
    }
    house.pool.rounds[0].virtual = tag - (UINT64_C(1) << 50);
    house.pool.rounds[1].virtual = tag - (UINT64_C(1) << 50);
    n = borrow_all(a, now);
    ck_assert_uint_ge(n, 3);
    ck_assert_uint_le(n, 3 + 25);       /* And two rounds alone. */
}
END_TEST

/* A round lasts as long as it should, and begins only when somebody
 * borrows. */
START_TEST(test_rounds)
{
    struct borrow_member *m;
    uint64_t now = START;

    set_up(60000);
    m = join(0, 1, 3000);
    for (; now < START + 1000 * US; now += 500) {
        borrow_debit(&house.pool, now, 400);
    }
    ck_assert_uint_eq(house.pool.version, 0);
    for (; now < START + 2000 * US; now += 500) {
        borrow_admit(m, now, 1000);
    }
    ck_assert_uint_ge(house.pool.version, 1000 / 13);
    ck_assert_uint_le(house.pool.version, 1000 / 10);
}
END_TEST

/* At 100 Gbps: as long as the queue takes to fill, from 5 to 10 us. */
START_TEST(test_short_rounds)
{
    static const uint64_t rows[][2] = {     /* Burst and ns. */
        { 50000, 5000 }, { 87500, 7000 }, { 200000, 10000 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        set_up_at(100000000, rows[i][0]);
        join(0, 1, 3000);
        for (uint64_t now = START; now < START + 1000 * US; now += 500) {
            borrow_admit(&house.members[0], now, 1000);
        }
        ck_assert_uint_eq(house.pool.version, 999500 / rows[i][1]);
    }
}
END_TEST

/* While nobody can close a round, virtual time goes on for two and stands. */
START_TEST(test_alone)
{
    struct borrow_member *m;
    unsigned int n;

    set_up(1000000);
    m = join(0, 1, 3000);
    for (uint64_t now = START; now < START + 100 * US; now += US) {
        borrow_admit(m, now, 1000);
    }
    ck_assert(!atomic_flag_test_and_set(&house.pool.closing));
    n = borrow_all(m, START + 1000 * US);
    ck_assert_uint_ge(n, 3);
    ck_assert_uint_le(n, 3 + 25);
    ck_assert_uint_eq(borrow_all(m, START + 10000 * US), 0);
}
END_TEST

/* A pool below 'self', and a member of it. */
static struct borrow_member *
join_below(struct borrow_member *self, uint32_t kbps, uint64_t burst)
{
    struct gcra_conf conf = pool_conf(kbps, burst);
    static struct borrow_member member;

    borrow_pool_init(&house.below, &conf, self, START);
    ck_assert(borrow_join(&member, &house.below, 1, 100000));
    return &member;
}

/* What an upper pool refuses is given back below. */
START_TEST(test_give_back)
{
    struct borrow_member *self, *leaf;

    set_up(4000);
    self = join(0, 1, 100000);
    leaf = join_below(self, 8, 2000);
    ck_assert_uint_eq(borrow_pool_height(&house.pool), 2);
    ck_assert_ptr_eq(borrow_pool_above(&house.below), &house.pool);

    /* 2000 bytes are the tenant's own, and fill half of the uplink's. */
    ck_assert_uint_eq(borrow_all(leaf, START), 4);
    ck_assert_uint_eq(queue(START), 4000);
    ck_assert_uint_eq(leaf->tag, UINT64_C(4000) << 20);
    ck_assert_uint_eq(self->tag, UINT64_C(2000) << 20);
    ck_assert_uint_eq(house.pool.green, 2000);
    ck_assert_uint_eq(house.pool.other, 2000);
    ck_assert_uint_eq(house.below.other, 4000);
}
END_TEST

/* Who has borrowed less than others has no credit for it. */
START_TEST(test_no_credit)
{
    struct borrow_member *a, *b;

    set_up(1000000);
    a = join(0, 1, 10000);
    b = join(1, 1, 10000);
    ck_assert_uint_eq(borrow_all(a, START), 10);
    ck_assert(borrow_admit(b, START, 1000));
    ck_assert_uint_eq(borrow_all(b, START + 20 * US), 10);
}
END_TEST

/* What one leaves of its share goes to the others: of 13000 bytes, and a fifth
 * as the queue is short, 1000 and twice 7300. */
START_TEST(test_left)
{
    struct borrow_member *a, *b, *c;

    set_up(1000000);
    a = join(0, 1, 10000);
    b = join(1, 1, 10000);
    c = join(2, 1, 10000);
    ck_assert(borrow_admit(a, START, 1000));
    ck_assert_uint_eq(borrow_all(b, START), 10);
    ck_assert_uint_eq(borrow_all(c, START), 10);
    ck_assert_uint_eq(borrow_all(b, START + 13 * US), 7);
    ck_assert_uint_eq(borrow_all(c, START + 13 * US), 7);
}
END_TEST

/* Below another pool, what that one has is left, too. */
START_TEST(test_threshold_below)
{
    struct borrow_member *self, *member;

    set_up(40000);
    self = join(0, 1, 17000);
    member = join_below(self, 8000, 4000);
    ck_assert_uint_eq(borrow_all(member, START), 20);

    /* It is 16000 ahead above, of 17000, and 1000 times 16 is not 21000. */
    ck_assert(!borrow_admit(member, START, 1000));
    ck_assert(borrow_admit(self, START, 1000));
}
END_TEST

/* Too far ahead above, for its weight, a pool has only its own queue left:
 * 16 times 2000 is not 39000. */
START_TEST(test_far_ahead)
{
    struct borrow_member *member;

    set_up(1000000);
    member = join_below(join(0, 1 << 15, 100000), 8000, 40000);
    house.members[0].tag = UINT64_C(1) << 49;   /* 2**64, with the weight. */
    ck_assert_uint_eq(borrow_all(member, START), 38);
}
END_TEST

/* What a fast pool has in a round of a slow one is at most what fits. */
START_TEST(test_long_round)
{
    struct borrow_member *member;

    set_up_at(1, 1000000);
    member = join_below(join(0, 1, 100000), 1u << 31, 200000);
    ck_assert_uint_eq(borrow_all(member, START), 100);

    /* 12 times 2**64 tokens. */
    ck_assert_uint_ge(borrow_all(member, START + (UINT64_C(12) << 33)), 100);
}
END_TEST

/* What is owed beyond what there is, is owed in the next round, too, but not
 * when nobody has borrowed for long. */
START_TEST(test_debt)
{
    struct borrow_member *member;

    set_up(20000);
    member = join_below(join(0, 1, 9000), 8000, 4000);
    ck_assert(borrow_admit(member, START, 1000));
    borrow_debit(&house.below, START, 3000);
    borrow_admit(member, START + 20 * US, 1);
    ck_assert_uint_eq(house.below.debt, 2980);
    borrow_admit(member, START + 40 * US, 1);
    ck_assert_uint_eq(house.below.debt, 2960);
    borrow_admit(member, START + 10000 * US, 1);
    ck_assert_uint_eq(house.below.debt, 0);
}
END_TEST

/* A pool that changes from member to member is below both for a moment. */
START_TEST(test_below_two)
{
    struct gcra_conf conf = pool_conf(8000, 4000);
    struct borrow_member *member;

    set_up(20000);
    member = join_below(join(0, 1, 9000), 8000, 4000);
    borrow_all(member, START);
    borrow_pool_reconfigure(&house.below, &conf, join(1, 1, 9000), START);
    borrow_all(member, START);
    borrow_admit(member, START + 20 * US, 1);
    ck_assert_uint_eq(house.below.version, 1);
    borrow_admit(member, START + 40 * US, 1);
    ck_assert_uint_eq(house.below.version, 2);
}
END_TEST

START_TEST(test_full)
{
    set_up(1000);
    for (unsigned int i = 0; i < BORROW_MAX_MEMBERS; i++) {
        join(i, 1, 1000);
    }
    ck_assert(!borrow_join(&house.members[BORROW_MAX_MEMBERS], &house.pool, 1,
                           1000));
    borrow_leave(&house.members[7]);
    ck_assert_uint_eq(join(BORROW_MAX_MEMBERS, 1, 1000)->index, 7);
}
END_TEST

/* Who has borrowed, and has left since, is not served. */
START_TEST(test_leave)
{
    struct borrow_member *m;

    set_up(1000000);
    borrow_all(join(0, 1, 3000), START);
    m = join(1, 1, 3000);
    ck_assert_uint_eq(borrow_all(m, START), 3);
    borrow_leave(&house.members[0]);
    ck_assert_uint_eq(house.pool.borrowers[0], 3);
    ck_assert(borrow_admit(m, START + 1000 * US, 1000));
    ck_assert_uint_eq(house.pool.borrowers[0], 2);
}
END_TEST

START_TEST(test_reconfigure)
{
    struct gcra_conf conf = pool_conf(16000000, 12000);

    set_up(10000);
    for (unsigned int i = 0; i < 20; i++) {
        join(i, 1, 100000);
    }
    ck_assert_uint_eq(borrow_each(20, START), 10);
    borrow_pool_reconfigure(&house.pool, &conf, NULL, START);
    ck_assert_uint_eq(queue(START), 10000);
    ck_assert_uint_eq(borrow_each(20, START), 2);
    ck_assert_uint_eq(borrow_each(20, START + US), 2);
}
END_TEST

/* Virtual time does not go on at the old speed for a round of the new rate,
 * which is 97 s. */
START_TEST(test_slower)
{
    struct gcra_conf slow = pool_conf(1, 100000);
    struct borrow_member *m;

    set_up(100000);
    m = join(0, 1, 3000);
    for (uint64_t now = START; now < START + 100 * US; now += 500) {
        borrow_admit(m, now, 1000);
    }
    ck_assert_uint_lt(queue(START + 100 * US), 20000);
    borrow_pool_reconfigure(&house.pool, &slow, NULL, START + 100 * US);
    ck_assert_uint_le(borrow_all(m, START + 1100 * US), 3 + 24 + 3);
}
END_TEST

Suite *
borrow_suite(void)
{
    Suite *suite = suite_create("borrow");
    TCase *tc = unit_case(suite, "borrow");

    tcase_add_test(tc, test_limit);
    tcase_add_test(tc, test_threshold);
    tcase_add_test(tc, test_threshold_below);
    tcase_add_test(tc, test_weight_changes);
    tcase_add_test(tc, test_reach);
    tcase_add_test(tc, test_weights);
    tcase_add_test(tc, test_idle);
    tcase_add_test(tc, test_rounds);
    tcase_add_test(tc, test_short_rounds);
    tcase_add_test(tc, test_alone);
    tcase_add_test(tc, test_give_back);
    tcase_add_test(tc, test_no_credit);
    tcase_add_test(tc, test_left);
    tcase_add_test(tc, test_far_ahead);
    tcase_add_test(tc, test_long_round);
    tcase_add_test(tc, test_debt);
    tcase_add_test(tc, test_below_two);
    tcase_add_test(tc, test_full);
    tcase_add_test(tc, test_leave);
    tcase_add_test(tc, test_reconfigure);
    tcase_add_test(tc, test_slower);
    return suite;
}
