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

/* A port and its record, as they were read last. */
struct kept_port {
    struct tq_port_id id;       /* Of generation 0: it was none. */
    struct queue_port port;     /* Its name is in 'id' alone. */
};

struct queue_file {
    char *path;
    int fd;
    dev_t device;
    ino_t inode;
    const uint8_t *map;
    size_t size;
    struct tq_header header;    /* As it was when the file was opened, and
                                 * found to fit 'size'. */

    /* As many as there are records. */
    struct kept_port *ports;
    struct tq_queue_data *queues;
};

#endif /* telemetry/queue-private.h */
