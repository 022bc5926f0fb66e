/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef EVENTS_H
#define EVENTS_H 1

/* Packets and acknowledgments to come, first things first, in virtual time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event {
    uint64_t when;              /* In ns. */
    enum { EV_ARRIVE, EV_ACK, EV_BYSTANDER, EV_STEP } type;
    uint8_t sender;
    bool marked, lost;          /* EV_ACK. */
};

/* Zeros are an empty one; events_free() frees what it holds. */
struct events {
    struct event *heap;
    size_t n, allocated;
};

void events_push(struct events *, struct event);

/* Takes the first one out.  There is one. */
struct event events_pop(struct events *);

void events_free(struct events *);

#endif /* events.h */
