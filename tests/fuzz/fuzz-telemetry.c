/* Copyright (c) 2026 The Bulkhead authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: telemetry, as a switch shares it, or, if it begins with "{", a
 * recording.
 *
 * Nothing may crash or be read beyond the file.  What is taken from it can be
 * printed in each form, and what is recorded of it can be replayed. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "telemetry/json.h"
#include "telemetry/metrics.h"
#include "telemetry/names.h"
#include "telemetry/queue-file.h"
#include "telemetry/record.h"
#include "telemetry/tally.h"
#include "telemetry/view.h"
#include "util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file with this content, which has a name as long as '*fd' is open. */
static char *
make_file(const uint8_t *data, size_t size, int *fd)
{
    *fd = memfd_create("fuzz", MFD_CLOEXEC);
    ovs_assert(*fd >= 0);
    ovs_assert(write(*fd, data, size) == (ssize_t) size);
    return xasprintf("/proc/self/fd/%d", *fd);
}

static void
check_sample(const struct sample *s, const struct tenant_names *names,
             struct arena *arena)
{
    struct tenant_names *again = tenant_names_create();
    struct json *json = sample_to_json(s, names);
    struct ds ds = DS_EMPTY_INITIALIZER;
    view_rows rows = VEC_INIT;
    struct sample read;
    struct tally tally;

    tally_init(&tally);
    tally_add_sample(&tally, s);
    view_rows_make(s, s, &tally, names, arena, &rows);
    view_rows_sort(&rows, VIEW_BY_BURSTS, false);
    metrics_format(METRICS_OPENMETRICS, s, &tally, names, &ds);
    ovs_assert(sample_from_json(json, arena, again, &read));
    ovs_assert(read.ports.n == s->ports.n);
    for (size_t i = 0; i < s->bursts.n; i++) {
        struct json *burst = burst_to_json(&s->bursts.v[i], names);
        struct burst b;

        ovs_assert(burst_from_json(burst, arena, again, &b));
        json_destroy(burst);
    }
    tally_destroy(&tally);
    ds_destroy(&ds);
    json_destroy(json);
    tenant_names_destroy(again);
}

static void
test_file(const char *path, struct arena *arena)
{
    struct tenant_names *names = tenant_names_create();
    struct queue_cursors cursors = { NULL, 0 };
    struct queue_file *file;

    if (!queue_file_open(path, arena, &file)) {
        for (int i = 0; i < 2; i++) {
            struct sample s;

            ovs_assert(!queue_file_read(file, arena, &cursors, &s));
            check_sample(&s, names, arena);
        }
    }
    queue_file_close(file);
    free(cursors.v);
    tenant_names_destroy(names);
}

static void
test_recording(const char *path, struct arena *arena)
{
    struct tenant_names *names = tenant_names_create();
    struct replay_item item = { .kind = REPLAY_SAMPLE };
    struct replay *replay;

    if (!replay_open(path, arena, &replay)) {
        while (!replay_next(replay, arena, names, &item)
               && item.kind != REPLAY_END) {
            struct tally tally;

            tally_init(&tally);
            if (item.kind == REPLAY_BURST) {
                tally_add(&tally, &item.burst);
                json_destroy(burst_to_json(&item.burst, names));
            } else if (item.kind == REPLAY_SAMPLE) {
                view_rows rows = VEC_INIT;

                view_rows_make(&item.sample, &item.sample, &tally, names,
                               arena, &rows);
                json_destroy(sample_to_json(&item.sample, names));
            }
            tally_destroy(&tally);
        }
    }
    replay_close(replay);
    tenant_names_destroy(names);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    int fd;
    char *path = make_file(data, size, &fd);

    if (size && data[0] == '{') {
        test_recording(path, arena);
    } else {
        test_file(path, arena);
    }
    close(fd);
    free(path);
    arena_destroy(arena);
    return 0;
}
