/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef READER_H
#define READER_H 1

/* The file of tenants' queues, as another program reads it: with its header
 * alone, and mapped for reading. */

#include "tenant-queue-shm.h"

struct reader {
    const char *map;
    const struct tq_header *header;
};

/* Opens a file that has a writer. */
void reader_open(struct reader *, const char *path);
void reader_close(struct reader *);

/* Returns the port of that name and sets '*id'; or NULL. */
const struct tq_port *reader_find_port(const struct reader *,
                                       const char *name,
                                       struct tq_port_id *id);

/* Adds up the records of one key; 'generation' may be TQ_NO_PORT. */
struct tq_counts reader_sum(const struct reader *, uint64_t generation,
                            uint64_t tag, uint64_t queue);

#endif /* reader.h */
