/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/queue-file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dp-packet.h"
#include "odp-ahead.h"
#include "tenant-queue-private.h"
#include "tenant-queue.h"
#include "unit.h"
#include "util.h"

/* What meters dropped and remarked, in files of this release and of those
 * before it. */

static char folder[] = "/tmp/bulkhead-unit.XXXXXX";
static char *path;
static struct arena *arena;
static struct queue_file *file;
static struct queue_cursors cursors;
static struct sample sample;

static void
setup(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    path = xasprintf("%s/tenant-queues.test", folder);
    arena = arena_create();
}

static void
teardown(void)
{
    queue_file_close(file);
    file = NULL;
    free(cursors.v);
    memset(&cursors, 0, sizeof cursors);
    unlink(path);
    rmdir(folder);
    free(path);
    arena_destroy(arena);
}

static void
read_sample(void)
{
    ck_assert_ptr_null(queue_file_open(path, arena, &file));
    ck_assert_ptr_null(queue_file_read(file, arena, &cursors, &sample));
}

/* Two packets that a meter drops, with queues 1 and 2 unless 'ahead' has
 * another. */
static void
drop(struct tenant_writer *w, enum dp_meter_reason reason,
     const struct odp_ahead *ahead)
{
    const uint8_t reasons[] = { reason, reason };
    struct dp_packet *packets[2];

    for (int i = 0; i < 2; i++) {
        packets[i] = dp_packet_new(1000);
        dp_packet_put_uninit(packets[i], 1000);
        pkt_metadata_init(&packets[i]->md, 1);
        packets[i]->md.tenant_tag = 17;
        packets[i]->md.skb_priority = odp_ahead_priority(ahead, i + 1);
    }
    tenant_writer_metered(w, packets, reasons, 2);
    for (int i = 0; i < 2; i++) {
        dp_packet_delete(packets[i]);
    }
}

START_TEST(test_switch)
{
    static const struct odp_ahead known = { .port = 3, .priority = 9 };
    static const struct odp_ahead unknown = {
        .port = ODPP_NONE, .priority_kept = UINT32_MAX,
    };
    struct tenant_queues *tqs;
    struct tenant_writer *w, *portless;

    ck_assert_int_eq(tenant_queues_create(path, &tqs), 0);
    tenant_queues_set_port(tqs, "p3", 3, 0, 0);
    w = tenant_writer_create(tqs, "p3", 0);
    portless = tenant_writer_create(tqs, NULL, 0);
    drop(w, DP_REASON_RATE, &known);
    drop(w, DP_REASON_LIMIT, &known);
    drop(portless, DP_REASON_PARENT, &unknown);
    drop(portless, DP_REASON_MISSING, &unknown);

    read_sample();
    ck_assert_uint_eq(sample.ports.n, 1);
    ck_assert_uint_eq(sample.totals.n, 3);
    ck_assert_str_eq(sample_port_name(&sample,
                                      sample.totals.v[0].generation), "p3");
    ck_assert_uint_eq(sample.totals.v[0].queue, 9);
    for (int i = 0; i < TQ_REASONS; i++) {
        uint64_t n = i < TQ_PARENT ? 2 : 0;

        ck_assert_uint_eq(sample.totals.v[0].counts.metered[i].packets, n);
        ck_assert_uint_eq(sample.totals.v[0].counts.metered[i].bytes,
                          n * 1000);
    }
    for (int i = 1; i <= 2; i++) {
        const struct queue_total *total = &sample.totals.v[i];

        ck_assert_uint_eq(total->generation, TQ_NO_PORT);
        ck_assert_str_eq(sample_port_name(&sample, total->generation),
                         "(none)");
        ck_assert_uint_eq(total->queue, i);
        ck_assert_uint_eq(total->counts.metered[TQ_PARENT].packets, 1);
        ck_assert_uint_eq(total->counts.metered[TQ_MISSING].packets, 1);
        ck_assert_uint_eq(total->counts.sent.packets, 0);
    }
    tenant_writer_destroy(w);
    tenant_writer_destroy(portless);
    tenant_queues_close(tqs);
}
END_TEST

/* A file with two records of 'size' bytes, of 'port' and 'generation'. */
static void
write_file(uint32_t size, uint64_t port, uint64_t generation)
{
    struct tq_header header = {
        .magic = TQ_MAGIC, .version = TQ_VERSION,
        .header_size = sizeof header, .port_offset = sizeof header,
        .port_size = sizeof(struct tq_port), .n_ports = 1,
        .queue_offset = sizeof header + sizeof(struct tq_port),
        .queue_size = size, .n_queues = 2,
        .n_ports_used = 1, .n_queues_used = 2,
    };
    struct tq_port p = { .id = { .generation = 7 } };
    struct {
        struct tq_queue queue;
        uint64_t later[8];      /* Of a release to come. */
    } record = {
        .queue.data = {
            .generation = generation, .port = port, .tag = 17,
            .counts.sent = { 2, 200 }, .counts.remarked = { 1, 100 },
        },
        .later = { 1, 1, 1 },
    };
    FILE *stream = fopen(path, "w");

    for (int i = 0; i < TQ_REASONS; i++) {
        record.queue.data.counts.metered[i].packets = 5;
    }
    header.file_size = header.queue_offset + 2 * size;
    fwrite(&header, sizeof header, 1, stream);
    fwrite(&p, sizeof p, 1, stream);
    for (int i = 0; i < 2; i++) {
        fwrite(&record, size, 1, stream);
    }
    ck_assert_int_eq(fclose(stream), 0);
}

static const struct {
    uint32_t size;
    uint64_t metered;           /* UINT64_MAX if it is refused. */
} sizes[] = {
    { TQ_QUEUE_LEAST - 8, UINT64_MAX }, { TQ_QUEUE_LEAST, 0 },
    { sizeof(struct tq_queue), 10 }, { sizeof(struct tq_queue) + 64, 10 },
};

START_TEST(test_sizes)
{
    const struct tq_counts *counts;

    write_file(sizes[_i].size, 0, 7);
    if (sizes[_i].metered == UINT64_MAX) {
        ck_assert_ptr_nonnull(queue_file_open(path, arena, &file));
        return;
    }
    read_sample();
    ck_assert_uint_eq(sample.totals.n, 1);
    counts = &sample.totals.v[0].counts;
    ck_assert_uint_eq(counts->sent.packets, 4);
    ck_assert_uint_eq(counts->remarked.packets, 2);
    ck_assert_uint_eq(counts->metered[TQ_RATE].packets, sizes[_i].metered);
    ck_assert_uint_eq(counts->metered[TQ_MISSING].packets, sizes[_i].metered);
    ck_assert_uint_eq(counts->metered[TQ_MISSING].bytes, 0);
}
END_TEST

/* Who says that it is of no port must say so twice. */
START_TEST(test_no_port)
{
    write_file(sizeof(struct tq_queue), TQ_NO_PORT, 7);
    read_sample();
    ck_assert_uint_eq(sample.totals.n, 0);
    queue_file_close(file);
    write_file(sizeof(struct tq_queue), 0, TQ_NO_PORT);
    read_sample();
    ck_assert_uint_eq(sample.totals.n, 0);
    queue_file_close(file);
    write_file(sizeof(struct tq_queue), TQ_NO_PORT, TQ_NO_PORT);
    read_sample();
    ck_assert_uint_eq(sample.totals.n, 1);
}
END_TEST

Suite *
telemetry_meters_suite(void)
{
    Suite *suite = suite_create("telemetry-meters");
    TCase *tc = unit_case(suite, "file");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_switch);
    tcase_add_loop_test(tc, test_sizes, 0, ARRAY_SIZE(sizes));
    tcase_add_test(tc, test_no_port);
    return suite;
}
