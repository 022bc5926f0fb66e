/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_QUEUE_PRIVATE_H
#define TELEMETRY_QUEUE_PRIVATE_H 1

/* Shared by queue-file.c, which maps the file, and queue-read.c. */

#include <sys/types.h>

#include "telemetry/queue-file.h"

#define QUEUE_FILE_CUT "was truncated while it was read"

struct queue_file {
    char *path;
    dev_t device;
    ino_t inode;
    const uint8_t *map;
    size_t size;
    struct tq_header header;    /* As it was when the file was opened, and
                                 * found to fit 'size'. */
};

#endif /* telemetry/queue-private.h */
