/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/queue-file.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "util.h"

/* A file of telemetry that is read while another thread writes it. */

/* As it is mapped. */
struct image {
    struct tq_header header;
    struct tq_port port;
    struct tq_queue queue;
};

static char path[] = "/tmp/bulkhead-unit.XXXXXX";
static struct image *image;
static bool stop;
static struct sample sample;

static void
setup(void)
{
    int fd;

    strcpy(path + sizeof path - 7, "XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, sizeof *image), 0);
    image = mmap(NULL, sizeof *image, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                 0);
    ck_assert_ptr_ne(image, MAP_FAILED);
    close(fd);
    image->header = (struct tq_header) {
        .magic = TQ_MAGIC, .version = TQ_VERSION,
        .header_size = sizeof image->header,
        .port_offset = offsetof(struct image, port),
        .port_size = sizeof image->port, .n_ports = 1,
        .queue_offset = offsetof(struct image, queue),
        .queue_size = sizeof image->queue, .n_queues = 1,
        .file_size = sizeof *image, .pid = getpid(),
        .n_ports_used = 1, .n_queues_used = 1,
    };
    image->port.id.generation = 7;
    image->queue.data.generation = 7;
}

static void
teardown(void)
{
    munmap(image, sizeof *image);
    unlink(path);
}

static bool
goes_on(void)
{
    return !__atomic_load_n(&stop, __ATOMIC_RELAXED);
}

/* Calls look() for many samples that are taken while 'write' runs. */
static void
race(void *(*write)(void *), void (*look)(void))
{
    struct queue_cursors cursors = { NULL, 0 };
    struct arena *arena = arena_create();
    struct queue_file *file;
    pthread_t writer;

    ck_assert_ptr_null(queue_file_open(path, arena, &file));
    stop = false;
    pthread_create(&writer, NULL, write, NULL);
    for (int i = 0; i < 50000; i++) {
        struct arena *temporary = arena_create();

        ck_assert_ptr_null(queue_file_read(file, temporary, &cursors,
                                           &sample));
        look();
        arena_destroy(temporary);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(writer, NULL);
    queue_file_close(file);
    free(cursors.v);
    arena_destroy(arena);
}

/* A record that is written all the time is never torn. */

static void *
write_queue(void *aux OVS_UNUSED)
{
    struct tq_queue *q = &image->queue;

    while (goes_on()) {
        struct tq_queue_data data = q->data;

        data.counts.sent.packets++;
        data.counts.sent.bytes += 100;
        tq_begin(&q->sequence);
        tq_put(&q->data, &data, sizeof data);
        tq_end(&q->sequence);
    }
    return NULL;
}

static uint64_t last;

static void
look_at_queue(void)
{
    if (sample.totals.n) {
        const struct tq_counter *sent = &sample.totals.v[0].counts.sent;

        ck_assert_uint_eq(sent->bytes, 100 * sent->packets);
        ck_assert_uint_ge(sent->packets, last);
        last = sent->packets;
    }
}

START_TEST(test_torn)
{
    race(write_queue, look_at_queue);
    ck_assert_uint_gt(last, 0);
}
END_TEST

/* One port comes after the other, as tenant-queue.c has it, with its
 * generation as depth: none is shown with the depth of another. */

static void
put_id(const struct tq_port_id *id)
{
    tq_begin(&image->port.sequence);
    tq_put(&image->port.id, id, sizeof *id);
    tq_end(&image->port.sequence);
}

static void *
replace_port(void *aux OVS_UNUSED)
{
    static const struct tq_port_id none;
    struct tq_port_id id = image->port.id;

    while (goes_on()) {
        id.generation++;
        put_id(&none);
        tq_set(&image->port.watermark, 0);
        put_id(&id);
        tq_set(&image->port.watermark, id.generation);
        for (volatile uint64_t i = id.generation % 64 * 100; i; i--) {
            continue;           /* It stays for some time, or for none. */
        }
    }
    return NULL;
}

static uint64_t n_deep;

static void
look_at_port(void)
{
    const struct queue_port *port = sample.ports.v;

    if (sample.ports.n && port->max_depth) {
        ck_assert_uint_eq(port->max_depth, port->generation);
        n_deep++;
    }
}

START_TEST(test_replaced)
{
    race(replace_port, look_at_port);
    ck_assert_uint_gt(n_deep, 0);
}
END_TEST

Suite *
telemetry_race_suite(void)
{
    Suite *suite = suite_create("telemetry-race");
    TCase *tc = unit_case(suite, "file");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_torn);
    tcase_add_test(tc, test_replaced);
    return suite;
}
