/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_QUEUE_FILE_H
#define TELEMETRY_QUEUE_FILE_H 1

/* The file in which ovs-vswitchd counts tenants' queues, mapped read-only.
 * ovs-patches/lib/tenant-queue-shm.h is its layout.
 *
 * Nobody who can write it is trusted.  What the header says is checked once,
 * against the size of the file, in a copy that nobody changes; all else are
 * words that are bounded where they are used.  If somebody truncates the file
 * while it is mapped, reading says so instead of dying of SIGBUS.
 *
 * A process has one of them open at a time, in one thread. */

#include <stdbool.h>

#include "telemetry/sample.h"

struct queue_file;

/* Finds the file of a datapath in the run directory of ovs-vswitchd; if
 * 'datapath' is NULL, the only one that there is.  Each returns NULL, or the
 * reason why not, in the arena. */
const char *queue_file_find(const char *rundir, const char *datapath,
                            struct arena *, const char **path);
const char *queue_file_open(const char *path, struct arena *,
                            struct queue_file **);
void queue_file_close(struct queue_file *);     /* Accepts NULL. */

/* Is it what is found by its name, and is somebody still writing it? */
bool queue_file_is_current(const struct queue_file *);

/* Has it a writer? */
bool queue_file_has_writer(const struct queue_file *);

/* Where the reading of bursts stands; empty at first. */
struct queue_cursor {
    uint64_t generation;        /* Of a port. */
    uint64_t next;              /* Number of a burst. */
    bool waited;                /* It was being written the time before. */
};
struct queue_cursors {
    struct queue_cursor *v;     /* To be freed. */
    size_t n;
};

/* Reads everything, and those bursts that the cursors have not passed.  What
 * is being written each time that it is looked at is as it was read last; if
 * it never was, it is left out. */
const char *queue_file_read(struct queue_file *, struct arena *,
                            struct queue_cursors *, struct sample *);

#endif /* telemetry/queue-file.h */
