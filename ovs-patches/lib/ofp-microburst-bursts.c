/*
 * Copyright (c) 2026 Bulkhead developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

/* The bursts of microburst bands, on the wire and as text. */

#include <config.h>
#include "ofp-microburst.h"
#include "bulkhead-ext.h"
#include "byte-order.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-meter.h"
#include "util.h"

/* On the wire they are what they are in memory, in network byte order. */
BUILD_ASSERT_DECL(sizeof(struct bkh_bursts)
                  == offsetof(struct ofputil_microburst_bursts, events));
BUILD_ASSERT_DECL(sizeof(struct bkh_burst_event)
                  == sizeof(struct ofputil_microburst_event));

size_t
ofputil_bursts_len(const struct ofputil_microburst_bursts *bursts)
{
    return (bursts->now_ns
            ? (sizeof(struct bkh_bursts)
               + bursts->n_events * sizeof(struct bkh_burst_event))
            : 0);
}

void
ofputil_put_bursts(const struct ofputil_microburst_bursts *bursts, void *p)
{
    const uint64_t *src = (const uint64_t *) bursts;
    ovs_be64 *dst = p;

    for (size_t i = 0; i < ofputil_bursts_len(bursts) / sizeof *dst; i++) {
        dst[i] = htonll(src[i]);
    }
}

bool
ofputil_get_bursts(const void *p, size_t len,
                   struct ofputil_microburst_bursts *bursts)
{
    uint64_t *dst = (uint64_t *) bursts;
    const struct bkh_bursts *wire = p;
    const ovs_be64 *src = p;

    if (len < sizeof *wire) {
        return true;            /* Members that are not known. */
    } else if (ntohll(wire->n_events) > OFPUTIL_MICROBURST_EVENTS
               || (len - sizeof *wire) / sizeof(struct bkh_burst_event)
                  < ntohll(wire->n_events)) {
        return false;
    }
    len = (sizeof *wire
           + ntohll(wire->n_events) * sizeof(struct bkh_burst_event));
    for (size_t i = 0; i < len / sizeof *src; i++) {
        dst[i] = ntohll(src[i]);
    }
    return true;
}

static void
format_histogram(struct ds *s, const char *name,
                 const uint64_t buckets[OFPUTIL_MICROBURST_BUCKETS])
{
    ds_put_format(s, "    %s:", name);
    for (int i = 0; i < OFPUTIL_MICROBURST_BUCKETS; i++) {
        if (buckets[i]) {
            ds_put_format(s, " %"PRIu64"+:%"PRIu64, UINT64_C(1) << i,
                          buckets[i]);
        }
    }
    ds_put_char(s, '\n');
}

void
ofputil_format_bursts(struct ds *s,
                      const struct ofputil_microburst_bursts *bursts)
{
    if (!bursts->now_ns) {
        return;
    }
    ds_put_format(s, "  bursts: count:%"PRIu64" byte_count:%"PRIu64
                  " depth:%"PRIu64" max_depth:%"PRIu64" max_gap_ns:%"PRIu64
                  "\n", bursts->n_bursts, bursts->n_bytes, bursts->depth,
                  bursts->max_depth, bursts->max_gap_ns);
    if (!bursts->n_bursts) {
        return;
    }
    format_histogram(s, "length_ns", bursts->lengths);
    format_histogram(s, "max_depth", bursts->depths);
    for (uint64_t i = 0; i < bursts->n_events; i++) {
        const struct ofputil_microburst_event *e = &bursts->events[i];

        ds_put_format(s, "    burst: age_ns:%"PRIu64" length_ns:%"PRIu64
                      " rise_ns:%"PRIu64" max_depth:%"PRIu64
                      " byte_count:%"PRIu64" max_gap_ns:%"PRIu64
                      " tag:%"PRIu64"\n",
                      bursts->now_ns - e->start_ns, e->length_ns, e->rise_ns,
                      e->max_depth, e->bytes, e->max_gap_ns, e->tag);
    }
}
