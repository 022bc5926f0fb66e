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

#include <config.h>
#include "dp-meter-show.h"

#include <stdlib.h>

#include "dp-meter-private.h"
#include "ofp-microburst.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/ofp-meter.h"
#include "util.h"

static struct json *
number(uint64_t value)
{
    return json_integer_create(value);
}

/* Only what is not empty: { "1024": 3 }. */
static struct json *
histogram_to_json(const uint64_t buckets[OFPUTIL_MICROBURST_BUCKETS])
{
    struct json *json = json_object_create();

    for (int i = 0; i < OFPUTIL_MICROBURST_BUCKETS; i++) {
        if (buckets[i]) {
            json_object_put_nocopy(json,
                                   xasprintf("%"PRIu64, UINT64_C(1) << i),
                                   number(buckets[i]));
        }
    }
    return json;
}

static struct json *
event_to_json(const struct ofputil_microburst_event *e, uint64_t now_ns)
{
    struct json *json = json_object_create();

    json_object_put(json, "age_ns", number(now_ns - e->start_ns));
    json_object_put(json, "length_ns", number(e->length_ns));
    json_object_put(json, "rise_ns", number(e->rise_ns));
    json_object_put(json, "max_depth", number(e->max_depth));
    json_object_put(json, "byte_count", number(e->bytes));
    json_object_put(json, "max_gap_ns", number(e->max_gap_ns));
    json_object_put(json, "tag", number(e->tag));
    return json;
}

static struct json *
band_to_json(uint32_t id, uint32_t band, uint32_t tag,
             const struct ofputil_microburst_bursts *bursts)
{
    struct json *json = json_object_create();
    struct json *events = json_array_create_empty();

    json_object_put(json, "meter", number(id));
    json_object_put(json, "band", number(band));
    json_object_put(json, "tag", number(tag));
    json_object_put(json, "count", number(bursts->n_bursts));
    json_object_put(json, "byte_count", number(bursts->n_bytes));
    json_object_put(json, "depth", number(bursts->depth));
    json_object_put(json, "max_depth", number(bursts->max_depth));
    json_object_put(json, "max_gap_ns", number(bursts->max_gap_ns));
    json_object_put(json, "length_ns", histogram_to_json(bursts->lengths));
    json_object_put(json, "depths", histogram_to_json(bursts->depths));
    for (uint64_t i = 0; i < bursts->n_events; i++) {
        json_array_add(events, event_to_json(&bursts->events[i],
                                             bursts->now_ns));
    }
    json_object_put(json, "bursts", events);
    return json;
}

/* Appends what meter 'id', of that tag, has seen to '*s' and to 'array'. */
static void
show_meter(const struct dp_meters *ms, uint32_t id, uint32_t tag,
           struct ds *s, struct json *array)
{
    struct ofputil_meter_band_stats bands[DP_METER_MAX_BANDS];
    struct ofputil_meter_stats stats = { .bands = bands };

    if (dp_meters_get(ms, id, &stats, DP_METER_MAX_BANDS)) {
        return;                 /* Deleted meanwhile. */
    }
    for (uint32_t i = 0; i < stats.n_bands; i++) {
        const struct ofputil_microburst_bursts *bursts
            = &bands[i].microburst.bursts;

        if (bursts->now_ns) {
            ds_put_format(s, "meter %"PRIu32" band %"PRIu32": tag:%"PRIu32
                          "\n", id, i, tag);
            ofputil_format_bursts(s, bursts);
            json_array_add(array, band_to_json(id, i, tag, bursts));
        }
    }
}

void
dp_meters_show_bursts(const struct dp_meters *ms, bool as_json, struct ds *s)
{
    struct json *array = json_array_create_empty();
    struct ds text = DS_EMPTY_INITIALIZER;
    struct dp_meter *m;

    for (uint32_t id = 0; (m = dp_meter_next(ms, id)); id++) {
        id = m->id;
        if (m->phantoms) {
            uint32_t tag;

            atomic_read_relaxed(&m->tag, &tag);
            show_meter(ms, id, tag, &text, array);
        }
    }
    if (as_json) {
        json_to_ds(array, JSSF_SORT, s);
    } else {
        ds_put_cstr(s, ds_cstr(&text));
    }
    json_destroy(array);
    ds_destroy(&text);
}
