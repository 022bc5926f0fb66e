/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "telemetry/json.h"
#include "telemetry/metrics.h"
#include "telemetry/names.h"
#include "telemetry/tally.h"
#include "telemetry/view.h"
#include "unit.h"
#include "util.h"

/* What is made of samples: recordings, metrics, rates. */

static char path[] = "/tmp/bulkhead-unit-record.XXXXXX";
static struct arena *arena;
static struct tenant_names *names;
static struct sample sample;

static void
setup(void)
{
    arena = arena_create();
    names = tenant_names_create();
    tenant_names_add(names, 17, "training");
    tenant_names_add(names, 18, "storage");
    sample = (struct sample) {
        .time_ns = UINT64_C(1789999999123456789), .clock_ns = 5000000000,
        .pid = 42, .n_unread = 3, .file = 2,
    };
    for (int i = 0; i < 2; i++) {
        *vec_push(arena, &sample.ports) = (struct queue_port) {
            .generation = 6 + i, .name = "p0", .rate = 8000000,
            .n_bursts = i, .lengths[10] = i,
        };
        *vec_push(arena, &sample.totals) = (struct queue_total) {
            .generation = 6 + i, .tag = 17, .queue = 3,
            .counts.sent = { .packets = 10, .bytes = 1000 },
            .counts.remarked = { .packets = 1, .bytes = 100 },
            .counts.metered[TQ_LIMIT] = { .packets = 3, .bytes = 300 },
        };
    }
    *vec_push(arena, &sample.totals) = (struct queue_total) {
        .generation = TQ_NO_PORT, .tag = 18,
        .counts.metered[TQ_MISSING] = { .packets = 4, .bytes = 400 },
    };
    *vec_push(arena, &sample.bursts) = (struct burst) {
        .generation = 7, .port = "p0", .start_ns = sample.time_ns - 1,
        .event = {
            .length_ns = 1500, .peak_depth = 4000, .bytes = 5000,
            .n_tenants = 2, .shares = { { 17, 3000 }, { 18, 1000 } },
        },
        .n_shares = 2,
    };
    *vec_push(arena, &sample.missed) = (struct missed) { "p0", 9 };
    sample_sort(&sample);
    strcpy(path + sizeof path - 7, "XXXXXX");
    close(mkstemp(path));
    unlink(path);
}

static void
teardown(void)
{
    unlink(path);
    tenant_names_destroy(names);
    arena_destroy(arena);
}

static void
record(void)
{
    struct recorder *r;

    ck_assert_ptr_null(recorder_open(path, arena, &r));
    ck_assert_ptr_null(recorder_put_bursts(r, arena, &sample, names));
    ck_assert_ptr_null(recorder_put_sample(r, arena, &sample, names));
    recorder_close(r);
    ck_assert_ptr_nonnull(recorder_open(path, arena, &r));
    ck_assert_ptr_null(r);
}

START_TEST(test_round_trip)
{
    struct tenant_names *read = tenant_names_create();
    struct replay_item item;
    struct replay *r;

    record();
    ck_assert_ptr_null(replay_open(path, arena, &r));
    ck_assert_ptr_null(replay_next(r, arena, read, &item));
    ck_assert_int_eq(item.kind, REPLAY_BURST);
    ck_assert_str_eq(item.burst.port, "p0");
    ck_assert_uint_eq(item.burst.start_ns, sample.bursts.v[0].start_ns);
    ck_assert_uint_eq(item.burst.n_shares, 2);
    ck_assert(!memcmp(&item.burst.event, &sample.bursts.v[0].event,
                      sizeof item.burst.event));
    ck_assert_str_eq(tenant_names_find(read, 17), "training");
    ck_assert_ptr_null(replay_next(r, arena, read, &item));
    ck_assert_int_eq(item.kind, REPLAY_MISSED);
    ck_assert_uint_eq(item.missed.n, 9);
    ck_assert_ptr_null(replay_next(r, arena, read, &item));
    ck_assert_int_eq(item.kind, REPLAY_SAMPLE);
    ck_assert_uint_eq(item.sample.clock_ns, sample.clock_ns);
    ck_assert_uint_eq(item.sample.file, 2);
    ck_assert_uint_eq(item.sample.totals.n, 3);
    ck_assert(!memcmp(item.sample.totals.v, sample.totals.v,
                      3 * sizeof *sample.totals.v));
    ck_assert_ptr_null(replay_next(r, arena, read, &item));
    ck_assert_int_eq(item.kind, REPLAY_END);
    ck_assert(!replay_was_cut(r));
    replay_close(r);
    tenant_names_destroy(read);
}
END_TEST

/* Wherever it is cut off, what is whole before that is read. */
START_TEST(test_cut)
{
    char *text = arena_zalloc(arena, 65536);
    FILE *stream;
    size_t size;

    record();
    stream = fopen(path, "r");
    size = fread(text, 1, 65535, stream);
    fclose(stream);
    for (; size > 26; size--) {
        int n_lines = 0, n_items = -1;
        struct replay_item item;
        struct replay *r;

        for (size_t i = 0; i < size; i++) {
            n_lines += text[i] == '\n';
        }
        ck_assert_int_eq(truncate(path, size), 0);
        ck_assert_ptr_null(replay_open(path, arena, &r));
        do {
            ck_assert_ptr_null(replay_next(r, arena, names, &item));
            n_items++;
        } while (item.kind != REPLAY_END);
        ck_assert_int_eq(n_items, n_lines - 1);
        ck_assert_int_eq(replay_was_cut(r), text[size - 1] != '\n');
        replay_close(r);
    }
}
END_TEST

static void
replay_text(const char *text, const char *expected)
{
    struct replay_item item;
    struct replay *r;
    const char *reason;
    FILE *stream = fopen(path, "w");

    fputs(text, stream);
    fclose(stream);
    reason = replay_open(path, arena, &r);
    while (!reason) {
        reason = replay_next(r, arena, names, &item);
        if (!reason && item.kind == REPLAY_END) {
            break;
        }
    }
    replay_close(r);
    if (expected) {
        ck_assert_ptr_nonnull(reason);
        ck_assert_msg(strstr(reason, expected), "%s", reason);
    } else {
        ck_assert_ptr_null(reason);
    }
}

#define FIRST "{\"bulkhead_recording\":1}\n"
START_TEST(test_refusals)
{
    replay_text("", "is no recording");
    replay_text("{}\n", "is no recording");
    replay_text("[1]\n", "is no recording");
    replay_text("{\"bulkhead_recording\":2}\n", "another version");
    replay_text(FIRST, NULL);
    replay_text(FIRST "{\"bur", NULL);          /* Cut off. */
    replay_text(FIRST "{\"bur\n", ":2: this line is damaged");
    replay_text(FIRST "{\"missed\":{\"port\":\"a\",\"count\":-1}}\n",
                "damaged");
    replay_text(FIRST "{\"missed\":{\"port\":\"a\\u001b\",\"count\":1}}\n",
                "damaged");
    replay_text(FIRST "{\"missed\":{\"port\":\"a\",\"count\":1}}\n", NULL);
    replay_text(FIRST "{\"missed\":{\"port\":\"a b\",\"count\":1}}\n",
                NULL);
    replay_text(FIRST "{\"sample\":[]}\n", "damaged");
}
END_TEST

/* One of a time when nobody counted what meters drop. */
START_TEST(test_old)
{
    struct queue_total *total;
    struct sample s;
    struct json *json = json_from_string(
        "{\"clock_ns\":1,\"left_out\":0,\"pid\":42,\"ports\":[],"
        "\"queues\":[{\"borrowed_bytes\":0,\"borrowed_packets\":0,"
        "\"dropped_bytes\":0,\"dropped_packets\":0,\"generation\":7,"
        "\"marked_bytes\":0,\"marked_packets\":0,\"queue\":3,"
        "\"sent_bytes\":1000,\"sent_packets\":10,\"tag\":17}],"
        "\"time\":\"2026-09-21T14:13:19.123456789Z\",\"unread\":0}");

    ck_assert(sample_from_json(json, arena, names, &s));
    ck_assert_uint_eq(s.totals.n, 1);
    total = &s.totals.v[0];
    ck_assert_uint_eq(total->counts.sent.packets, 10);
    ck_assert_uint_eq(total->counts.remarked.packets, 0);
    ck_assert_uint_eq(total->counts.metered[TQ_RATE].packets, 0);
    json_destroy(json);
}
END_TEST

START_TEST(test_names)
{
    char buffer[32];

    ck_assert_str_eq(tenant_names_text(names, 17, buffer), "training");
    ck_assert_str_eq(tenant_names_text(names, 19, buffer), "tag:19");
    ck_assert_str_eq(tenant_names_text(names, 0, buffer), "(none)");
    tenant_names_add(names, 17, "training");
    ck_assert_str_eq(tenant_names_find(names, 17), "training");
    tenant_names_add(names, 17, "another");
    ck_assert_ptr_null(tenant_names_find(names, 17));
}
END_TEST

START_TEST(test_time)
{
    char buffer[64];
    uint64_t ns;

    ck_assert_str_eq(time_to_text(sample.time_ns, buffer),
                     "2026-09-21T14:13:19.123456789Z");
    ck_assert(time_from_text(buffer, &ns));
    ck_assert_uint_eq(ns, sample.time_ns);
    ck_assert(!time_from_text("2026-09-21T14:13:19Z", &ns));
    ck_assert(!time_from_text("2026-09-21T14:13:19.12345678aZ", &ns));
    ck_assert(!time_from_text("1066-09-21T13:33:19.123456789Z", &ns));
}
END_TEST

/* Two ports of one name, the older of which is on its way out, are one. */
START_TEST(test_metrics)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct tally tally;

    tally_init(&tally);
    tally_add_sample(&tally, &sample);
    metrics_format(METRICS_OPENMETRICS, &sample, &tally, names, &ds);
    ck_assert(strstr(ds_cstr(&ds), "\nbulkhead_tenant_sent_bytes_total{"
                     "port=\"p0\",tenant=\"training\",queue=\"3\"} 2000\n"));
    ck_assert(strstr(ds_cstr(&ds), "\nbulkhead_tenant_remarked_packets_total{"
                     "port=\"p0\",tenant=\"training\",queue=\"3\"} 2\n"));
    ck_assert(strstr(ds_cstr(&ds), "\nbulkhead_tenant_metered_bytes_total{"
                     "port=\"p0\",tenant=\"training\",queue=\"3\","
                     "reason=\"limit\"} 600\n"));
    ck_assert(strstr(ds_cstr(&ds), "\nbulkhead_tenant_metered_packets_total{"
                     "port=\"(none)\",tenant=\"storage\",queue=\"0\","
                     "reason=\"missing\"} 4\n"));
    ck_assert(strstr(ds_cstr(&ds),
                     "\nbulkhead_port_bursts_total{port=\"p0\"} 1\n"));
    ck_assert(!strstr(ds_cstr(&ds), "port_bursts_total{port=\"p0\"} 0\n"));
    ck_assert(strstr(ds_cstr(&ds), "\nbulkhead_tenant_burst_bytes_total{"
                     "port=\"p0\",tenant=\"storage\",role=\"victim\"} "
                     "1000\n"));
    ck_assert(strstr(ds_cstr(&ds), "\nbulkhead_port_burst_length_seconds_"
                     "bucket{port=\"p0\",le=\"2.047e-06\"} 1\n"));
    ck_assert(strstr(ds_cstr(&ds), "\nbulkhead_port_speed_bytes{"
                     "port=\"p0\"} 1000000000\n"));
    ck_assert(strstr(ds_cstr(&ds), "\nbulkhead_bursts_missed_total 9\n"));
    ck_assert(strstr(ds_cstr(&ds), "\nbulkhead_telemetry_unread 3\n"));
    ds_destroy(&ds);
    tally_destroy(&tally);
}
END_TEST

/* What was counted of a port stays for a while after it is gone. */
START_TEST(test_gone_ports)
{
    const uint64_t minute = UINT64_C(60000000000);
    struct sample later = { .ports = VEC_INIT };
    struct tally tally;
    const char *port = sample.bursts.v[0].port;
    uint64_t tag = sample.bursts.v[0].event.shares[0].tag;

    tally_init(&tally);
    tally_add_sample(&tally, &sample);
    for (unsigned int i = 1; i <= 30; i++) {    /* The port is there. */
        later = sample;
        later.bursts.n = later.missed.n = 0;
        later.clock_ns += i * minute;
        tally_add_sample(&tally, &later);
    }
    ck_assert_ptr_nonnull(tally_find(&tally, port, tag));
    later.ports.n = 0;
    for (unsigned int i = 1; i <= 14; i++) {
        later.clock_ns += minute;
        tally_add_sample(&tally, &later);
    }
    ck_assert_ptr_nonnull(tally_find(&tally, port, tag));
    later.clock_ns += minute;
    tally_add_sample(&tally, &later);
    ck_assert_ptr_null(tally_find(&tally, port, tag));
    tally_destroy(&tally);
}
END_TEST

START_TEST(test_labels)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct tally tally;

    sample.ports.v[0].name = "a \"b";
    sample.ports.v[1].name = "a \\b";
    tally_init(&tally);
    metrics_format(METRICS_TEXT, &sample, &tally, names, &ds);
    ck_assert(strstr(ds_cstr(&ds), "_sent_bytes_total{port=\"a \\\"b\""));
    ck_assert(strstr(ds_cstr(&ds), "_sent_bytes_total{port=\"a \\\\b\""));
    ck_assert(strstr(ds_cstr(&ds), "_port_bursts_total{port=\"a \\\"b\"}"));
    ck_assert(strstr(ds_cstr(&ds), "_bucket{port=\"a \\\\b\",le="));
    ds_destroy(&ds);
    tally_destroy(&tally);
}
END_TEST

START_TEST(test_rates)
{
    struct sample before = sample;
    view_rows rows = VEC_INIT;
    struct tally tally;

    tally_init(&tally);
    tally_add_sample(&tally, &sample);
    before.totals.v = arena_zalloc(arena, sizeof *before.totals.v);
    before.totals.n = 1;
    before.totals.v[0] = sample.totals.v[1];
    before.totals.v[0].counts.sent.bytes = 500;
    before.totals.v[0].counts.metered[TQ_LIMIT].packets = 1;
    before.clock_ns -= 2000000000;
    view_rows_make(&before, &sample, &tally, names, arena, &rows);
    view_rows_sort(&rows, VIEW_BY_RATE, false);
    ck_assert_uint_eq(rows.n, 3);
    ck_assert(rows.v[0].bits == 4000 && rows.v[1].bits == 2000);
    ck_assert(rows.v[0].packets == 5 && rows.v[1].packets == 0);
    ck_assert_uint_eq(rows.v[1].culprit, 1);
    view_rows_sort(&rows, VIEW_BY_RATE, true);
    ck_assert(rows.v[1].bits == 2000);
    view_rows_sort(&rows, VIEW_BY_DROPS, false);
    ck_assert_str_eq(rows.v[0].port, "(none)");
    ck_assert(rows.v[0].metered == 2 && rows.v[1].metered == 1.5
              && rows.v[2].metered == 1);

    rows.n = 0;
    before.file++;              /* Its generations are other ports. */
    view_rows_make(&before, &sample, &tally, names, arena, &rows);
    ck_assert(rows.v[0].bits == 4000 && rows.v[1].bits == 4000);
    rows.n = 0;
    before.file--;
    before.pid++;
    view_rows_make(&before, &sample, &tally, names, arena, &rows);
    ck_assert(rows.v[0].bits == 4000 && rows.v[1].bits == 4000);
    tally_destroy(&tally);
}
END_TEST

Suite *
recording_suite(void)
{
    Suite *suite = suite_create("recording");
    TCase *tc = unit_case(suite, "recording");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_round_trip);
    tcase_add_test(tc, test_cut);
    tcase_add_test(tc, test_refusals);
    tcase_add_test(tc, test_old);
    tcase_add_test(tc, test_names);
    tcase_add_test(tc, test_time);
    tcase_add_test(tc, test_metrics);
    tcase_add_test(tc, test_gone_ports);
    tcase_add_test(tc, test_labels);
    tcase_add_test(tc, test_rates);
    return suite;
}
