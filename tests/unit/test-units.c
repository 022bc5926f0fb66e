/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "intent/units.h"
#include "openvswitch/dynamic-string.h"
#include "unit.h"
#include "util.h"

struct good {
    const char *text;
    uint64_t n;
};

/* In the largest unit of which it is a whole number. */
START_TEST(test_format)
{
    static const struct {
        void (*format)(uint64_t, struct ds *);
        const char *(*parse)(const char *, uint64_t *);
        uint64_t n;
        const char *text;
    } cases[] = {
        { format_rate, parse_rate, 0, "0bps" },
        { format_rate, parse_rate, 1000, "1kbps" },
        { format_rate, parse_rate, 1001, "1001bps" },
        { format_rate, parse_rate, UINT64_C(2500000000), "2500Mbps" },
        { format_rate, parse_rate, UINT64_C(1600000000000), "1600Gbps" },
        { format_rate, parse_rate, UINT64_MAX, "18446744073709551615bps" },
        { format_bytes, parse_bytes, 1518, "1518B" },
        { format_bytes, parse_bytes, 65536, "64KiB" },
        { format_bytes, parse_bytes, 64000, "64kB" },
        { format_bytes, parse_bytes, 1024000, "1000KiB" },
        { format_bytes, parse_bytes, 1 << 30, "1GiB" },
        { format_packet_rate, parse_packet_rate, 2000000, "2Mpps" },
        { format_packets, parse_packets, 512, "512pkt" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ds ds = DS_EMPTY_INITIALIZER;
        uint64_t n = 42;

        cases[i].format(cases[i].n, &ds);
        ck_assert_str_eq(ds_cstr(&ds), cases[i].text);
        ck_assert_ptr_null(cases[i].parse(ds_cstr(&ds), &n));
        ck_assert_uint_eq(n, cases[i].n);
        ds_destroy(&ds);
    }
}
END_TEST

START_TEST(test_rates)
{
    static const struct good cases[] = {
        { "1bps", 1 },
        { "1kbps", 1000 },
        { "1Mbps", 1000000 },
        { "1Gbps", 1000000000 },
        { "1Tbps", UINT64_C(1000000000000) },
        { "100Gbps", UINT64_C(100000000000) },
        { "0bps", 0 },
        { "007kbps", 7000 },
        { "2.5Gbps", UINT64_C(2500000000) },
        { "0.001kbps", 1 },
        { "1.000000000001Tbps", UINT64_C(1000000000001) },
        { "18446744073709551615bps", UINT64_MAX },
        { "18446744073709551.615kbps", UINT64_MAX },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t n = 42;
        const char *error = parse_rate(cases[i].text, &n);

        ck_assert_msg(!error, "%s: %s", cases[i].text, error);
        ck_assert_msg(n == cases[i].n, "%s: %"PRIu64, cases[i].text, n);
    }
}
END_TEST

START_TEST(test_bytes)
{
    static const struct good cases[] = {
        { "1B", 1 },
        { "1kB", 1000 },
        { "1KB", 1000 },
        { "1MB", 1000000 },
        { "1GB", 1000000000 },
        { "1KiB", 1024 },
        { "1MiB", 1024 * 1024 },
        { "1GiB", 1024 * 1024 * 1024 },
        { "64KiB", 65536 },
        { "1.5KiB", 1536 },
        { "0.5MiB", 524288 },
        { "17179869183GiB", UINT64_C(17179869183) << 30 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t n = 42;
        const char *error = parse_bytes(cases[i].text, &n);

        ck_assert_msg(!error, "%s: %s", cases[i].text, error);
        ck_assert_msg(n == cases[i].n, "%s: %"PRIu64, cases[i].text, n);
    }
}
END_TEST

START_TEST(test_packets)
{
    static const struct good rates[] = {
        { "1pps", 1 }, { "1.5kpps", 1500 }, { "2Mpps", 2000000 },
        { "4Gpps", UINT64_C(4000000000) },
    };
    static const struct good numbers[] = {
        { "32pkt", 32 }, { "2kpkt", 2000 }, { "1Mpkt", 1000000 },
    };
    static const struct good durations[] = {
        { "1ns", 1 }, { "2.5us", 2500 }, { "1ms", 1000000 },
        { "1s", 1000000000 },
    };
    uint64_t n;

    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        ck_assert_ptr_null(parse_packet_rate(rates[i].text, &n));
        ck_assert_uint_eq(n, rates[i].n);
    }
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        ck_assert_ptr_null(parse_packets(numbers[i].text, &n));
        ck_assert_uint_eq(n, numbers[i].n);
    }
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
        ck_assert_ptr_null(parse_duration(durations[i].text, &n));
        ck_assert_uint_eq(n, durations[i].n);
    }
    ck_assert_ptr_nonnull(strstr(parse_duration("10min", &n), "us, ms"));
    ck_assert_ptr_nonnull(parse_duration("0.5ns", &n));
    ck_assert_ptr_nonnull(strstr(parse_packet_rate("1Mbps", &n), "kpps"));
    ck_assert_ptr_nonnull(strstr(parse_packets("1pps", &n), "kpkt"));
    ck_assert_ptr_nonnull(parse_packets("0.5pkt", &n));
}
END_TEST

/* Text and a word of the reason. */
struct bad {
    const char *text, *reason;
};

static void
assert_bad(const char *(*parse)(const char *, uint64_t *),
           const struct bad *cases, size_t n_cases)
{
    for (size_t i = 0; i < n_cases; i++) {
        uint64_t n;
        const char *error = parse(cases[i].text, &n);

        ck_assert_msg(error, "'%s' was taken", cases[i].text);
        ck_assert_msg(strstr(error, cases[i].reason), "'%s': %s",
                      cases[i].text, error);
    }
}

START_TEST(test_bad_rates)
{
    static const struct bad cases[] = {
        { "", "number must come first" },
        { "Gbps", "number must come first" },
        { "-1Gbps", "number must come first" },
        { "+1Gbps", "number must come first" },
        { " 1Gbps", "number must come first" },
        { ".5Gbps", "number must come first" },
        { "1.Gbps", "number must come first" },
        { "100", "unit must be one of" },
        { "100 Gbps", "unit must be one of" },
        { "100Gbps ", "unit must be one of" },
        { "100gbps", "unit must be one of" },
        { "100GBps", "unit must be one of" },
        { "100Gbit", "unit must be one of" },
        { "100G", "unit must be one of" },
        { "0x10Gbps", "digits only" },
        { "1,5Gbps", "digits only" },
        { "1e30Gbps", "digits only" },
        { "1e-3Gbps", "digits only" },
        { "1_000Mbps", "digits only" },
        { "1.5.5Gbps", "digits only" },
        { "100Gbps5Mbps", "unit must be one of" },
        { "64KiB", "unit must be one of" },
        { "1.5bps", "not a whole number" },
        { "0.0001kbps", "not a whole number" },
        { "1.0000000000001Tbps", "too many digits" },
        { "18446744073709551616bps", "too large" },
        { "18446744073709551615Gbps", "too large" },
        { "18446744073709551.616kbps", "too large" },
        { "99999999999999999999999999999Gbps", "too large" },
    };

    assert_bad(parse_rate, cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(test_bad_bytes)
{
    static const struct bad cases[] = {
        { "", "number must come first" },
        { "KiB", "number must come first" },
        { "64", "unit must be one of" },
        { "64kib", "unit must be one of" },
        { "64K", "unit must be one of" },
        { "64Gbps", "unit must be one of" },
        { "0.3KiB", "not a whole number" },
        { "17179869184GiB", "too large" },
    };

    assert_bad(parse_bytes, cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(test_suggestions)
{
    static const struct {
        quantity_parser *parse;
        const char *text, *meant;
    } cases[] = {
        { parse_rate, "10gbps", "10Gbps" },
        { parse_rate, "10 GBPS", NULL },        /* Bytes? */
        { parse_rate, "10GBps", NULL },
        { parse_rate, "1_000mbps", "1000Mbps" },
        { parse_rate, "2,5Gbps", "2.5Gbps" },
        { parse_rate, "1,000Mbps", NULL },      /* 1000, or 1? */
        { parse_rate, "1e3Mbps", NULL },
        { parse_rate, "64kib", NULL },
        { parse_bytes, "64kib", "64KiB" },
        { parse_bytes, "64 KiB ", "64KiB" },
        { parse_packet_rate, "1MPPS", "1Mpps" },
        { parse_packets, "1Kpkt", "1kpkt" },
        { parse_duration, "10US", "10us" },
        { parse_rate, "", NULL },
    };
    struct arena *arena = arena_create();

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *meant = suggest_quantity(cases[i].text, cases[i].parse,
                                             arena);

        ck_assert_msg(cases[i].meant ? meant && !strcmp(meant, cases[i].meant)
                      : !meant, "'%s': %s", cases[i].text,
                      meant ? meant : "nothing");
    }
    arena_destroy(arena);
}
END_TEST

Suite *
units_suite(void)
{
    Suite *suite = suite_create("units");
    TCase *tc = unit_case(suite, "units");

    tcase_add_test(tc, test_format);
    tcase_add_test(tc, test_rates);
    tcase_add_test(tc, test_bytes);
    tcase_add_test(tc, test_packets);
    tcase_add_test(tc, test_bad_rates);
    tcase_add_test(tc, test_bad_bytes);
    tcase_add_test(tc, test_suggestions);
    return suite;
}
