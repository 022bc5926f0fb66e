/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/run.h"

#include <inttypes.h>

#include "intent/exceed.h"
#include "intent/units.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* What a meter does, in the operator's words. */

/* ", burst 64KiB, depth 64KiB, ..., exceed drop". */
static void
put_depths(struct ds *ds, const struct plan_meter *m)
{
    const struct {
        const char *name;
        uint32_t bytes;
    } depths[] = {
        { "burst", m->burst > 1 ? m->burst : 0 }, { "depth", m->depth },
        { "mark", m->mark }, { "cap", m->limit },
    };

    for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
        if (depths[i].bytes) {
            ds_put_format(ds, ", %s ", depths[i].name);
            format_bytes(depths[i].bytes, ds);
        }
    }
    if (!plan_meter_lends(m)) {
        ds_put_cstr(ds, ", exceed ");
        exceed_format(m->exceed, ds);
    }
}

/* "guaranteed 20Gbps, limit 40Gbps, weight 3", or "lends 98Gbps". */
static void
put_share(struct ds *ds, const struct plan_meter *m)
{
    if (plan_meter_lends(m)) {
        ds_put_cstr(ds, "lends ");
        format_rate(m->rate * 1000, ds);
        return;
    } else if (m->burst > 1) {
        ds_put_cstr(ds, "guaranteed ");
        format_rate(m->rate * 1000, ds);
    } else {
        ds_put_cstr(ds, "borrows only");
    }
    if (m->peak) {
        ds_put_cstr(ds, ", limit ");
        format_rate(m->peak * 1000, ds);
    }
    ds_put_format(ds, ", weight %"PRIu16, m->weight);
}

const char *
meter_words(struct arena *arena, const struct plan_meter *m)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;

    if (m->packets) {
        format_packet_rate(m->rate, &ds);
        ds_put_cstr(&ds, ", burst ");
        format_packets(m->burst, &ds);
    } else if (plan_meter_tags(m)) {
        ds_put_cstr(&ds, "lets all pass");
    } else if (plan_meter_lends(m) || m->parent) {
        put_share(&ds, m);
        put_depths(&ds, m);
    } else {
        format_rate(m->rate * 1000, &ds);
        if (m->microburst) {
            put_depths(&ds, m);
        } else {
            ds_put_cstr(&ds, ", burst ");
            format_bytes(m->burst * UINT64_C(125), &ds);
        }
    }
    text = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}
