/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "dctcp-sender.h"

#include "util.h"

void
dctcp_sender_init(struct dctcp_sender *s, uint32_t frame, bool greedy)
{
    *s = (struct dctcp_sender) { .greedy = greedy };
    dctcp_init(&s->dctcp, frame);
}

/* Is it the window that keeps it from sending? */
static bool
is_limited(const struct dctcp_sender *s, uint32_t frame)
{
    return s->greedy || s->left >= frame;
}

void
dctcp_sender_send(struct dctcp_sender *s, const struct dctcp_path *path,
                  struct events *events, uint8_t i, uint64_t now_ns)
{
    while (is_limited(s, path->frame)
           && s->in_flight + path->frame <= s->dctcp.window) {
        s->line_free = (MAX(now_ns, s->line_free)
                        + serialization_ns(path->frame, path->kbps));
        s->in_flight += path->frame;
        s->left -= s->greedy ? 0 : path->frame;
        events_push(events, (struct event) {
            .when = s->line_free, .type = EV_ARRIVE, .sender = i,
        });
    }
}

/* A window that is not used up does not grow (RFC 7661). */
void
dctcp_sender_acknowledge(struct dctcp_sender *s,
                         const struct dctcp_path *path,
                         struct events *events, const struct event *ack)
{
    double window = s->dctcp.window;
    bool limited = is_limited(s, path->frame);

    s->in_flight -= path->frame;
    s->left += ack->lost && !s->greedy ? path->frame : 0;
    dctcp_acknowledge(&s->dctcp, ack->when, path->rtt_ns, path->frame,
                      ack->marked, ack->lost);
    if (!limited) {
        s->dctcp.window = MIN(s->dctcp.window, window);
    }
    dctcp_sender_send(s, path, events, ack->sender, ack->when);
}
