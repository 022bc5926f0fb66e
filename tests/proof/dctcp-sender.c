/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "dctcp-sender.h"

#include "util.h"

void
dctcp_sender_send(struct dctcp_sender *s, const struct dctcp_path *path,
                  struct events *events, uint8_t i, uint64_t now_ns)
{
    while (s->in_flight + path->frame <= s->dctcp.window) {
        s->line_free = (MAX(now_ns, s->line_free)
                        + serialization_ns(path->frame, path->kbps));
        s->in_flight += path->frame;
        events_push(events, (struct event) {
            .when = s->line_free, .type = EV_ARRIVE, .sender = i,
        });
    }
}

void
dctcp_sender_acknowledge(struct dctcp_sender *s,
                         const struct dctcp_path *path,
                         struct events *events, const struct event *ack)
{
    s->in_flight -= path->frame;
    dctcp_acknowledge(&s->dctcp, ack->when, path->rtt_ns, path->frame,
                      ack->marked, ack->lost);
    dctcp_sender_send(s, path, events, ack->sender, ack->when);
}
