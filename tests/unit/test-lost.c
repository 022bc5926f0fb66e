/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "backend/asap2/asap2.h"
#include "backend/kernel/kernel.h"
#include "backend/ovn/ovn.h"
#include "openvswitch/dynamic-string.h"
#include "plan/row.h"
#include "unit.h"
#include "util.h"

/* What plans say of "microburst" for targets that have drop bands only. */

#define BURSTS(BANDWIDTH, MICROBURST)                                   \
    "{" FABRIC ", 'tenants': {'t': {"                                   \
    "'bandwidth': {'limit': '1Gbps', " BANDWIDTH "}, "                  \
    "'microburst': {" MICROBURST "}, "                                  \
    "'networks': {'net': {'vni': 1, 'subnets': ['10.0.0.0/24']}}, "     \
    "'endpoints': {'x': {'network': 'net', 'node': 'n1', "              \
    "'interface': 'i', 'mac': '02:00:00:00:00:01', "                    \
    "'addresses': ['10.0.0.1']}}}}}"

#define LIMITS(SEND, RECEIVE)                                           \
    "{" FABRIC ", 'tenants': {'t': {'bandwidth': {"                     \
    "'send': {'limit': '" SEND "', 'burst': '2kB'}, "                   \
    "'receive': {'limit': '" RECEIVE "', 'burst': '2kB'}}, "            \
    "'networks': {'net': {'vni': 1, 'subnets': ['10.0.0.0/24']}}, "     \
    "'endpoints': {'x': {'network': 'net', 'node': 'n1', "              \
    "'interface': 'i', 'mac': '02:00:00:00:00:01', "                    \
    "'addresses': ['10.0.0.1']}}}}}"

static struct unit u;

static void
compile(const struct backend *target, const char *intent)
{
    unit_init(&u);
    unit_resolve(&u, intent);
    ck_assert_msg(u.policy != NULL, "%s", unit_diags(&u));
    u.prog = ir_build(u.policy, target->fabric ? NULL : "n1", u.arena);
    ck_assert_msg(backend_compile(target, u.prog, u.arena, &u.diags,
                                  &u.plan), "%s", unit_diags(&u));
}

/* The words of the only difference. */
static const char *
lost_words(void)
{
    const char *words = "";

    ck_assert_uint_eq(u.plan.differences.n, 1);
    for (size_t i = 0; i < u.plan.differences.v[0].lost.n; i++) {
        words = arena_printf(u.arena, "%s%s; ", words,
                             u.plan.differences.v[0].lost.v[i]);
    }
    return words;
}

/* Does the plan have a band as the difference says? */
static bool
is_held(const char *held)
{
    uint64_t rate, burst;

    ck_assert(ovs_scan(held, "type=drop rate=%"SCNu64" burst_size=%"SCNu64,
                       &rate, &burst));
    for (size_t i = 0; i < u.plan.meters.n; i++) {
        const struct plan_meter *meter = &u.plan.meters.v[i];

        if (!meter->microburst && meter->rate == rate
            && meter->burst == burst) {
            return true;
        }
    }
    for (size_t i = 0; i < u.plan.rows.n; i++) {
        for (size_t j = 0; j < u.plan.rows.v[i]->columns.n; j++) {
            const struct plan_column *c = &u.plan.rows.v[i]->columns.v[j];

            if (!strcmp(c->name, "bandwidth") && c->atoms.n == 2
                && strtoull(c->atoms.v[0].value, NULL, 10) == rate
                && strtoull(c->atoms.v[1].value, NULL, 10) == burst) {
                return true;
            }
        }
    }
    return false;
}

/* 'lost' of the target asap2, where a kbit is 1024 bits, and of others. */
static const struct {
    const char *intent, *asked, *held, *lost, *others;
} cases[] = {
    { BURSTS("'burst': '125kB'", "'mark': '20KiB', 'depth': '30KiB'"),
      "type=microburst rate=1000000 burst_bytes=125000 peak_rate=1000000 "
      "mark=20480 depth=30720 exceed=drop",
      "type=drop rate=1000000 burst_size=1000",
      "ECN-capable packets are not marked above 20480 bytes; "
      "bursts above 30720 bytes are not recorded; "
      "3000 bytes more pass at once, since a burst is whole kbits, "
      "and a kbit is 1024 bits to tc; ",
      "ECN-capable packets are not marked above 20480 bytes; "
      "bursts above 30720 bytes are not recorded; " },
    { BURSTS("'burst': '125kB'", "'limit': '1MB', 'exceed': 'ecn'"),
      "type=microburst rate=1000000 burst_bytes=125000 peak_rate=1000000 "
      "limit=1000000 exceed=ecn",
      "type=drop rate=1000000 burst_size=1000",
      "up to 875000 bytes above the burst drop that would have passed, "
      "marked, if ECN-capable; 3000 bytes more pass at once, since a burst is "
      "whole kbits, and a kbit is 1024 bits to tc; ",
      "up to 875000 bytes above the burst drop that would have passed, "
      "marked, if ECN-capable; " },
    { BURSTS("'burst': '64KiB'", "'limit': '128KiB', 'exceed': 'dscp:9'"),
      "type=microburst rate=1000000 burst_bytes=65536 peak_rate=1000000 "
      "limit=131072 exceed=dscp:9",
      "type=drop rate=1000000 burst_size=1000",
      "what is above the burst of 65536 bytes, and passes, does not leave "
      "with DSCP 9; "
      "up to 6072 bytes above the burst drop that would have passed with "
      "DSCP 9; 62464 bytes more pass at once, since Open vSwitch's meters "
      "count whole milliseconds, and a kbit is 1024 bits to tc; ",
      "what is above the burst of 65536 bytes, and passes, does not leave "
      "with DSCP 9; "
      "up to 6072 bytes above the burst drop that would have passed with "
      "DSCP 9; 59464 bytes more pass at once, since Open vSwitch's meters "
      "count whole milliseconds; " },
    { BURSTS("'burst': '64KiB'", "'limit': '96KiB', 'exceed': 'ecn'"),
      "type=microburst rate=1000000 burst_bytes=65536 peak_rate=1000000 "
      "limit=98304 exceed=ecn",
      "type=drop rate=1000000 burst_size=1000",
      "what is above the burst of 65536 bytes, and passes, is not marked; "
      "62464 bytes more pass at once, since Open vSwitch's meters count whole "
      "milliseconds, and a kbit is 1024 bits to tc; ",
      "what is above the burst of 65536 bytes, and passes, is not marked; "
      "59464 bytes more pass at once, since Open vSwitch's meters count "
      "whole milliseconds; " },
    { BURSTS("'burst': '125001B'", "'mark': '20KiB'"),
      "type=microburst rate=1000000 burst_bytes=125001 peak_rate=1000000 "
      "mark=20480 exceed=drop",
      "type=drop rate=1000000 burst_size=1001",
      "ECN-capable packets are not marked above 20480 bytes; "
      "3127 bytes more pass at once, since a burst is whole kbits, "
      "and a kbit is 1024 bits to tc; ",
      "ECN-capable packets are not marked above 20480 bytes; "
      "124 bytes more pass at once, since a burst is whole kbits; " },
    { BURSTS("'burst': '250kB'", "'limit': '250kB', 'exceed': 'pass'"),
      "type=microburst rate=1000000 burst_bytes=250000 peak_rate=1000000 "
      "limit=250000 exceed=pass",
      "type=drop rate=1000000 burst_size=2000",
      "6000 bytes more pass at once, since a burst is whole kbits, "
      "and a kbit is 1024 bits to tc; ", "" },
    /* What is above the limit would not have passed. */
    { BURSTS("'burst': '250kB'", "'limit': '125kB', 'exceed': 'drop'"),
      "type=microburst rate=1000000 burst_bytes=250000 peak_rate=1000000 "
      "limit=125000 exceed=drop",
      "type=drop rate=1000000 burst_size=1000",
      "3000 bytes more pass at once, since a burst is whole kbits, "
      "and a kbit is 1024 bits to tc; ", "" },
};

static void
check_case(const struct backend *target, size_t i)
{
    const struct plan_difference *d;

    compile(target, cases[i].intent);
    ck_assert_str_eq(lost_words(), target == &asap2_backend ? cases[i].lost
                     : cases[i].others);
    d = &u.plan.differences.v[0];
    ck_assert_str_eq(d->tenant, "t");
    ck_assert_str_eq(d->uplink, "up");
    ck_assert_str_eq(d->place, "line 1, /tenants/t/bandwidth/limit");
    ck_assert_str_eq(d->asked, cases[i].asked);
    ck_assert_str_eq(d->held, cases[i].held);
    ck_assert_msg(is_held(d->held), "%s is in no meter", d->held);
    unit_destroy(&u);
}

START_TEST(nearest_drop_band)
{
    check_case(&asap2_backend, _i);
    check_case(&kernel_backend, _i);
    check_case(&ovn_backend, _i);
}
END_TEST

/* Who borrows is owed less than its limit, or nothing. */
START_TEST(shared)
{
    static const char *const rows[][2] = {
        { BURSTS("'burst': '125kB', 'guarantee': '400Mbps'",
                 "'mark': '20KiB'"),
          "type=microburst rate=400000 burst_bytes=125000 peak_rate=1000000 "
          "mark=20480 exceed=drop" },
        { BURSTS("'burst': '125kB', 'weight': 3", "'mark': '20KiB'"),
          "type=microburst rate=1 burst_bytes=1 peak_rate=1000000 "
          "mark=20480 exceed=drop" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        compile(&asap2_backend, rows[i][0]);
        ck_assert_uint_eq(u.plan.differences.n, 1);
        ck_assert_str_eq(u.plan.differences.v[0].asked, rows[i][1]);
        ck_assert(is_held(u.plan.differences.v[0].held));
        unit_destroy(&u);
    }
}
END_TEST

static const struct plan_meter *
find_meter(bool receive)
{
    for (size_t i = 0; i < u.plan.meters.n; i++) {
        if (u.plan.meters.v[i].receive == receive) {
            return &u.plan.meters.v[i];
        }
    }
    return NULL;
}

/* A rate that tc would cut off has no meter, and that is said, unless nobody
 * asked for it.  What is received is not charged to what is sent then. */
START_TEST(too_fast)
{
    static const struct {
        const char *intent, *words;
        bool sends;
    } rows[] = {
        { LIMITS("34359Mbps", "34360Mbps"), "nothing limits what is received: "
          "Open vSwitch gives tc no more than 34359 Mbps; ", true },
        { LIMITS("40Gbps", "1Gbps"), "only the NIC limits what is sent, and "
          "no source says how much it lets pass at once: Open vSwitch gives "
          "tc no more than 34359 Mbps; ", false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        compile(&asap2_backend, rows[i].intent);
        ck_assert_str_eq(lost_words(), rows[i].words);
        ck_assert(!find_meter(false) == !rows[i].sends);
        ck_assert(!find_meter(true) == rows[i].sends);
        unit_complains(&u, rows[i].sends ? "of what is received, nothing "
                       "keeps it" : "of what is sent, only the NIC's rate "
                       "keeps it (devlink.sh)");
        unit_destroy(&u);
    }
}
END_TEST

/* Where it is looked for. */
START_TEST(files)
{
    static const char *const texts[] = {
        "\"held\": \"type=drop rate=1000000 burst_size=1000\"",
        "#   - bursts above 30720 bytes are not recorded\n",
    };

    for (size_t i = 0; i < 2; i++) {
        struct ds ds = DS_EMPTY_INITIALIZER;

        compile(i ? &ovn_backend : &asap2_backend, cases[0].intent);
        plan_print(&u.plan, &ds);
        ck_assert_ptr_nonnull(strstr(ds_cstr(&ds), texts[1]));
        ck_assert(i || strstr(ds_cstr(&ds), texts[0]));
        ds_destroy(&ds);
        unit_destroy(&u);
    }
}
END_TEST

/* Whose meters keep all has nothing to say. */
START_TEST(nothing_lost)
{
    unit_init(&u);
    unit_compile(&u, cases[0].intent, "n1");
    ck_assert_uint_eq(u.plan.differences.n, 0);
    unit_destroy(&u);
}
END_TEST

Suite *
lost_suite(void)
{
    Suite *suite = suite_create("lost");
    TCase *tcase = unit_case(suite, "lost");

    tcase_add_loop_test(tcase, nearest_drop_band, 0, ARRAY_SIZE(cases));
    tcase_add_test(tcase, shared);
    tcase_add_test(tcase, too_fast);
    tcase_add_test(tcase, files);
    tcase_add_test(tcase, nothing_lost);
    return suite;
}
