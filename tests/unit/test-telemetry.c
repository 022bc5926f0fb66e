/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/queue-file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dp-packet.h"
#include "telemetry/follow.h"
#include "tenant-queue.h"
#include "timeval.h"
#include "unit.h"
#include "util.h"

/* Files of telemetry: those that the switch's code writes, and those that
 * nobody should have written. */

enum { N_PORTS = 2, N_QUEUES = 4 };

/* A small file, as it is mapped. */
struct image {
    struct tq_header header;
    struct tq_port ports[N_PORTS];
    struct tq_queue queues[N_QUEUES];
};

static char folder[] = "/tmp/bulkhead-unit.XXXXXX";
static char *path;
static struct arena *arena;
static struct image image;
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
    memset(&image, 0, sizeof image);
    image.header = (struct tq_header) {
        .magic = TQ_MAGIC, .version = TQ_VERSION,
        .header_size = sizeof image.header,
        .port_offset = offsetof(struct image, ports),
        .port_size = sizeof image.ports[0], .n_ports = N_PORTS,
        .queue_offset = offsetof(struct image, queues),
        .queue_size = sizeof image.queues[0], .n_queues = N_QUEUES,
        .file_size = sizeof image, .pid = getpid(),
        .n_ports_used = 1, .n_queues_used = 2,
    };
    image.ports[0].id.generation = 7;
    image.ports[0].id.rate = 8000000;
    memcpy(image.ports[0].id.name, "p0", 3);
    for (int i = 0; i < 2; i++) {
        image.queues[i].data = (struct tq_queue_data) {
            .generation = 7, .tag = 17, .queue = 3, .core = i,
            .counts.sent = { .packets = 2, .bytes = 200 },
        };
    }
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
write_file(const void *bytes, size_t size)
{
    FILE *stream = fopen(path, "w");

    ck_assert_ptr_nonnull(stream);
    ck_assert_uint_eq(fwrite(bytes, 1, size, stream), size);
    ck_assert_int_eq(fclose(stream), 0);
}

static void
open_image(void)
{
    write_file(&image, sizeof image);
    ck_assert_ptr_null(queue_file_open(path, arena, &file));
}

static void
read_sample(void)
{
    ck_assert_ptr_null(queue_file_read(file, arena, &cursors, &sample));
}

/* The image as others write to it while it is mapped. */
static void
rewrite(void)
{
    FILE *stream = fopen(path, "r+");

    ck_assert_uint_eq(fwrite(&image, 1, sizeof image, stream), sizeof image);
    ck_assert_int_eq(fclose(stream), 0);
}

/* Locks the file as its writer does, until what is returned is closed. */
static int
lock_file(void)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = open(path, O_RDWR);

    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    return fd;
}

/* The writer itself. */

static void
flush(struct tenant_writer *w, uint32_t tag, int n, uint64_t now)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init(&batch);
    for (int i = 0; i < n; i++) {
        struct dp_packet *packet = dp_packet_new(1000);

        dp_packet_put_uninit(packet, 1000);
        pkt_metadata_init(&packet->md, 1);
        packet->md.tenant_tag = tag;
        dp_packet_batch_add(&batch, packet);
    }
    tenant_writer_flush(w, &batch, now, now);
    dp_packet_delete_batch(&batch, true);
}

START_TEST(test_switch)
{
    struct tenant_queues *tqs;
    struct tenant_writer *w;
    const struct burst *b;
    uint64_t now;

    ck_assert_int_eq(tenant_queues_create(path, &tqs), 0);
    tenant_queues_set_port(tqs, "p3", 3, 8000000, 5000);
    w = tenant_writer_create(tqs, "p3", 0);
    now = time_nsec();
    flush(w, 17, 20, now);
    flush(w, 18, 10, now);
    flush(w, 0, 1, now);
    tenant_queues_run(tqs, now + 1000000);

    ck_assert_ptr_null(queue_file_open(path, arena, &file));
    ck_assert(queue_file_is_current(file) && queue_file_has_writer(file));
    read_sample();
    ck_assert_uint_eq(sample.ports.n, 1);
    ck_assert_str_eq(sample.ports.v[0].name, "p3");
    ck_assert_uint_eq(sample.ports.v[0].max_depth, 31000);
    ck_assert_uint_eq(sample.totals.n, 3);
    ck_assert_uint_eq(sample.totals.v[1].tag, 17);
    ck_assert_uint_eq(sample.totals.v[1].counts.sent.bytes, 20000);
    ck_assert_uint_eq(sample.bursts.n, 1);
    b = &sample.bursts.v[0];
    ck_assert_uint_eq(b->event.length_ns, 31000);
    ck_assert_uint_eq(b->n_shares, 3);
    ck_assert_uint_eq(b->event.shares[0].tag, 17);
    ck_assert_uint_eq(b->event.shares[0].bytes, 20000);
    ck_assert_uint_lt(sample.time_ns - b->start_ns, UINT64_C(60000000000));

    read_sample();
    ck_assert_uint_eq(sample.bursts.n, 0);
    tenant_writer_destroy(w);
    tenant_queues_close(tqs);
    ck_assert(!queue_file_is_current(file));
    read_sample();
    ck_assert(sample.closed);
}
END_TEST

/* Small files. */

START_TEST(test_sums)
{
    image.queues[2].data.generation = 6;        /* Of a port that is gone. */
    image.queues[3].data = image.queues[0].data;
    image.queues[3].data.port = UINT64_MAX;
    image.header.n_queues_used = UINT64_MAX;
    open_image();
    read_sample();
    ck_assert_uint_eq(sample.totals.n, 1);
    ck_assert_uint_eq(sample.totals.v[0].counts.sent.packets, 4);
    ck_assert_uint_eq(sample.totals.v[0].counts.sent.bytes, 400);
    ck_assert_uint_eq(sample.n_unread, 0);
}
END_TEST

START_TEST(test_unread)
{
    image.queues[1].sequence = 1;
    image.ports[1].sequence = 3;
    image.header.n_ports_used = 2;
    open_image();
    read_sample();
    ck_assert_uint_eq(sample.n_unread, 2);
    ck_assert_uint_eq(sample.n_unknown, 2);
    ck_assert_uint_eq(sample.totals.v[0].counts.sent.packets, 2);
}
END_TEST

/* Records that are being written are as they were. */
START_TEST(test_kept)
{
    open_image();
    read_sample();
    image.ports[0].sequence = 1;
    image.ports[0].n_bursts = 5;
    image.queues[1].sequence = 1;
    image.queues[1].data.counts.sent.packets = 0;
    image.queues[0].data.counts.sent.packets++;
    rewrite();
    read_sample();
    ck_assert_uint_eq(sample.n_unread, 2);
    ck_assert_uint_eq(sample.n_unknown, 0);
    ck_assert_uint_eq(sample.ports.n, 1);
    ck_assert_str_eq(sample.ports.v[0].name, "p0");
    ck_assert_uint_eq(sample.ports.v[0].n_bursts, 0);
    ck_assert_uint_eq(sample.totals.v[0].counts.sent.packets, 5);

    image.ports[0].sequence = 2;
    image.ports[0].id.generation = 8;   /* Another port, before the record. */
    rewrite();
    read_sample();
    ck_assert_uint_eq(sample.ports.n, 1);
    ck_assert_uint_eq(sample.totals.n, 0);

    image.header.n_ports_used = 0;
    image.queues[0].data.generation = 8;
    rewrite();
    read_sample();
    ck_assert_uint_eq(sample.ports.n + sample.totals.n, 0);
}
END_TEST

static void
put_event(uint64_t n)
{
    struct tq_event_slot *slot = &image.ports[0].events[n % TQ_EVENTS];

    slot->sequence = 2 * n + 2;
    slot->event = (struct tq_event) {
        .start_ns = n, .peak_depth = 100, .n_tenants = 100,
        .shares = { { .tag = 17, .bytes = 100 } },
    };
    image.ports[0].n_events = n + 1;
}

START_TEST(test_events)
{
    for (int i = 0; i < 40; i++) {
        put_event(i);
    }
    open_image();
    read_sample();
    ck_assert_uint_eq(sample.bursts.n, TQ_EVENTS);
    ck_assert_uint_eq(sample.bursts.v[0].event.start_ns, 8);
    ck_assert_uint_eq(sample.bursts.v[0].n_shares, TQ_SHARES);
    ck_assert_uint_eq(sample.missed.n, 1);
    ck_assert_uint_eq(sample.missed.v[0].n, 8);

    put_event(40);
    put_event(41);
    image.ports[0].events[40 % TQ_EVENTS].sequence--;
    rewrite();
    read_sample();              /* It is being written, and then again. */
    ck_assert_uint_eq(sample.bursts.n + sample.missed.n, 0);
    read_sample();
    ck_assert_uint_eq(sample.bursts.n, 1);
    ck_assert_uint_eq(sample.bursts.v[0].event.start_ns, 41);
    ck_assert_uint_eq(sample.missed.v[0].n, 1);

    image.ports[0].id.generation = 9;   /* Another port of this name. */
    rewrite();
    read_sample();
    ck_assert_uint_eq(sample.bursts.n, TQ_EVENTS - 2);
    ck_assert_uint_eq(cursors.n, 1);

    image.ports[0].n_events = UINT64_MAX;
    image.ports[0].events[3].event.unknown_bytes = 101;
    rewrite();
    read_sample();
    ck_assert_uint_eq(sample.bursts.n, 0);
}
END_TEST

/* The writer is a round ahead of us in one place. */
START_TEST(test_lapped)
{
    for (int i = 0; i < 3; i++) {
        put_event(i);
    }
    image.ports[0].events[1].sequence += 2 * TQ_EVENTS;
    open_image();
    read_sample();
    ck_assert_uint_eq(sample.bursts.n, 2);
    ck_assert_uint_eq(sample.missed.v[0].n, 1);
}
END_TEST

START_TEST(test_names)
{
    char *name = (char *) image.ports[0].id.name;

    memset(name, 'x', sizeof image.ports[0].id.name);
    memcpy(name, "a\33[2J\" \\\n\377", 10);
    open_image();
    read_sample();
    ck_assert_uint_eq(strlen(sample.ports.v[0].name), 64 + 3 * 3);
    ck_assert(!strncmp(sample.ports.v[0].name, "a\\x1b[2J\" \\\\x0a\\xffxx",
                       21));
}
END_TEST

/* What is wrong with a header. */

static const struct {
    size_t offset, size;
    uint64_t value;
    const char *reason;
} damages[] = {
#define DAMAGE(MEMBER, VALUE, REASON)                                   \
    { offsetof(struct tq_header, MEMBER),                               \
      sizeof((struct tq_header *) 0)->MEMBER, VALUE, REASON }
    DAMAGE(magic, 0, "is no telemetry"),
    DAMAGE(version, 0, "is of version 0"),
    DAMAGE(version, 2, "is of version 2"),
    DAMAGE(header_size, sizeof(struct tq_header) - 8, "contradicts itself"),
    DAMAGE(header_size, UINT32_MAX, "contradicts itself"),
    DAMAGE(port_offset, 0, "contradicts itself"),
    DAMAGE(port_offset, sizeof(struct tq_header) + 4, "contradicts itself"),
    DAMAGE(port_offset, UINT32_MAX & ~7, "contradicts itself"),
    DAMAGE(port_size, 0, "contradicts itself"),
    DAMAGE(port_size, sizeof(struct tq_port) - 8, "contradicts itself"),
    DAMAGE(port_size, sizeof(struct tq_port) + 4, "contradicts itself"),
    DAMAGE(n_ports, UINT32_MAX, "contradicts itself"),
    DAMAGE(queue_offset, offsetof(struct image, queues) + 8,
           "contradicts itself"),
    DAMAGE(queue_size, 0, "contradicts itself"),
    DAMAGE(n_queues, N_QUEUES + 1, "contradicts itself"),
    DAMAGE(file_size, sizeof(struct image) + 1, "is truncated"),
    DAMAGE(file_size, 0, "contradicts itself"),
};

START_TEST(test_damage)
{
    const char *reason;

    memcpy((char *) &image.header + damages[_i].offset, &damages[_i].value,
           damages[_i].size);
    write_file(&image, sizeof image);
    reason = queue_file_open(path, arena, &file);
    ck_assert_ptr_null(file);
    ck_assert_ptr_nonnull(reason);
    ck_assert_msg(strstr(reason, damages[_i].reason), "%s", reason);
}
END_TEST

START_TEST(test_cut)
{
    for (size_t size = 0; size < sizeof image; size += 101) {
        write_file(&image, size);
        ck_assert_ptr_nonnull(queue_file_open(path, arena, &file));
    }
}
END_TEST

/* Somebody truncates it under our eyes. */
START_TEST(test_truncated)
{
    const char *reason;

    open_image();
    ck_assert_int_eq(truncate(path, 0), 0);
    reason = queue_file_read(file, arena, &cursors, &sample);
    ck_assert_ptr_nonnull(reason);
    ck_assert(strstr(reason, "truncated while it was read"));
    ck_assert(!queue_file_is_current(file));
}
END_TEST

static void *
end_record(void *aux OVS_UNUSED)
{
    usleep(2000);
    image.queues[1].sequence++;
    rewrite();
    return NULL;
}

/* The first sample waits for a record that is being written. */
START_TEST(test_first)
{
    struct follower *f = follower_create(folder, NULL);
    pthread_t writer;

    image.queues[1].sequence = 1;
    put_event(0);
    write_file(&image, sizeof image);
    pthread_create(&writer, NULL, end_record, NULL);
    ck_assert_ptr_null(follower_sample(f, arena, &sample));
    pthread_join(writer, NULL);
    ck_assert_uint_eq(sample.n_unread, 0);
    ck_assert_uint_eq(sample.bursts.n, 1);
    ck_assert_uint_eq(sample.totals.v[0].counts.sent.packets, 4);
    follower_destroy(f);
}
END_TEST

START_TEST(test_follow)
{
    struct follower *f = follower_create(folder, NULL);
    char *aside = xasprintf("%s/aside", folder);
    uint64_t n_files;
    int writer;

    ck_assert_ptr_nonnull(follower_sample(f, arena, &sample));
    put_event(0);
    write_file(&image, sizeof image);
    writer = lock_file();
    ck_assert_ptr_null(follower_sample(f, arena, &sample));
    ck_assert_uint_eq(sample.bursts.n, 1);
    ck_assert_ptr_null(follower_sample(f, arena, &sample));
    ck_assert_uint_eq(sample.bursts.n, 0);
    ck_assert(!sample.orphaned);

    /* It is the lock that counts, and not the process of that number. */
    close(writer);
    ck_assert_ptr_null(follower_sample(f, arena, &sample));
    ck_assert(sample.orphaned);
    writer = lock_file();
    image.header.pid = INT32_MAX;
    rewrite();
    ck_assert_ptr_null(follower_sample(f, arena, &sample));
    ck_assert(!sample.orphaned);
    close(writer);

    /* A restart: another file of the same name, with the same burst. */
    n_files = sample.file;
    ck_assert_int_eq(rename(path, aside), 0);
    write_file(&image, sizeof image);
    ck_assert_ptr_null(follower_sample(f, arena, &sample));
    ck_assert_uint_eq(sample.bursts.n, 1);
    ck_assert_uint_eq(sample.file, n_files + 1);

    image.header.closed = 1;
    rewrite();
    ck_assert_ptr_nonnull(follower_sample(f, arena, &sample));
    ck_assert_ptr_nonnull(follower_sample(f, arena, &sample));
    follower_destroy(f);
    unlink(aside);
    free(aside);
}
END_TEST

Suite *
telemetry_suite(void)
{
    Suite *suite = suite_create("telemetry");
    TCase *tc = unit_case(suite, "file");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_switch);
    tcase_add_test(tc, test_sums);
    tcase_add_test(tc, test_unread);
    tcase_add_test(tc, test_kept);
    tcase_add_test(tc, test_events);
    tcase_add_test(tc, test_lapped);
    tcase_add_test(tc, test_names);
    tcase_add_loop_test(tc, test_damage, 0, ARRAY_SIZE(damages));
    tcase_add_test(tc, test_cut);
    tcase_add_test(tc, test_truncated);
    tcase_add_test(tc, test_first);
    tcase_add_test(tc, test_follow);
    return suite;
}
