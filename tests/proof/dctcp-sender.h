/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef DCTCP_SENDER_H
#define DCTCP_SENDER_H 1

/* A sender of DCTCP behind a line of its own, in virtual time: what its window
 * allows, as events that frames arrive at the end of that line. */

#include <stdint.h>

#include "dctcp.h"
#include "events.h"

struct dctcp_path {
    uint64_t kbps;              /* Of the sender's own line. */
    uint64_t rtt_ns;            /* Without what waits in queues. */
    uint32_t frame;             /* Bytes of each. */
};

struct dctcp_sender {
    struct dctcp dctcp;
    uint64_t in_flight, line_free;
    bool greedy;                /* Has always more to send, or... */
    uint64_t left;              /* ...so many bytes, of what is not in flight:
                                 * what was lost is sent again. */
};

/* How long 'size' bytes take at 'kbps'. */
static inline uint64_t
serialization_ns(uint32_t size, uint64_t kbps)
{
    return size * UINT64_C(8000000) / kbps;
}

void dctcp_sender_init(struct dctcp_sender *, uint32_t frame, bool greedy);

/* Sends what the window allows.  'i' is the number of the sender in events. */
void dctcp_sender_send(struct dctcp_sender *, const struct dctcp_path *,
                       struct events *, uint8_t i, uint64_t now_ns);

/* 'ack' has come, of type EV_ACK. */
void dctcp_sender_acknowledge(struct dctcp_sender *,
                              const struct dctcp_path *, struct events *,
                              const struct event *ack);

#endif /* dctcp-sender.h */
