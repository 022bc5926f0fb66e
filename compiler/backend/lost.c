/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/lost.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "intent/exceed.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "plan/plan.h"
#include "util.h"

enum { BITS_PER_KBIT = 1000, KBIT_BYTES = BITS_PER_KBIT / 8 };

/* A meter, and where it is noted what is lost of it. */
struct lost {
    const struct ir_meter *meter;
    struct arena *arena;
    plan_names *words;
    bool whole;                 /* Has its burst a millisecond of its rate? */
};

uint64_t
lost_drop_burst(const struct ir_meter *meter)
{
    return (meter->microburst && meter->limit_bytes
            ? MIN(meter->burst_bytes, meter->limit_bytes)
            : meter->burst_bytes);
}

static uint64_t
rate_kbps(const struct ir_meter *meter)
{
    uint64_t kbps = (meter->no_borrow ? meter->guarantee_kbps
                     : meter->rate_kbps) - meter->apart_kbps;

    return MAX(kbps, 1);
}

static uint64_t
held_burst(const struct ir_meter *meter, bool whole)
{
    uint64_t burst = lost_drop_burst(meter);

    return whole ? MAX(burst, DIV_ROUND_UP(rate_kbps(meter), 8)) : burst;
}

/* OpenFlow's unit, rounded up. */
static uint64_t
burst_kbit(const struct ir_meter *meter, bool whole)
{
    return DIV_ROUND_UP(held_burst(meter, whole), KBIT_BYTES);
}

/* The band that the target userspace makes.  Who borrows is owed its
 * guarantee, with its burst; nothing is a byte and a kbps, as there. */
static const char *
asked_string(const struct ir_meter *meter, struct arena *arena)
{
    uint64_t owed = (meter->parent ? meter->guarantee_kbps - meter->apart_kbps
                     : rate_kbps(meter));
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *s;

    ds_put_format(&ds, "type=microburst rate=%"PRIu64" burst_bytes=%"PRIu64
                  " peak_rate=%"PRIu64, MAX(owed, 1),
                  owed ? meter->burst_bytes : 1, rate_kbps(meter));
    if (meter->mark_bytes) {
        ds_put_format(&ds, " mark=%"PRIu32, meter->mark_bytes);
    }
    if (meter->depth_bytes) {
        ds_put_format(&ds, " depth=%"PRIu32, meter->depth_bytes);
    }
    if (meter->limit_bytes) {
        ds_put_format(&ds, " limit=%"PRIu32, meter->limit_bytes);
    }
    ds_put_cstr(&ds, " exceed=");
    exceed_format(meter->exceed, &ds);
    s = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return s;
}

static void OVS_PRINTF_FORMAT(2, 3)
put_lost(struct lost *l, const char *format, ...)
{
    va_list args;
    char *s;

    va_start(args, format);
    s = xvasprintf(format, args);
    va_end(args);
    *vec_push(l->arena, l->words) = arena_strdup(l->arena, s);
    free(s);
}

/* What is above the burst, up to the limit, is dropped. */
static void
put_exceed(struct lost *l)
{
    uint64_t held = burst_kbit(l->meter, l->whole) * KBIT_BYTES;
    uint64_t more = l->meter->limit_bytes - MIN(held, l->meter->limit_bytes);

    if (l->meter->exceed == EXCEED_DROP || !more) {
        return;
    } else if (l->meter->exceed == EXCEED_ECN) {
        put_lost(l, "up to %"PRIu64" bytes above the burst drop that would "
                 "have passed, marked, if ECN-capable", more);
    } else if (l->meter->exceed == EXCEED_PASS) {
        put_lost(l, "up to %"PRIu64" bytes above the burst drop that would "
                 "have passed", more);
    } else {
        put_lost(l, "up to %"PRIu64" bytes above the burst drop that would "
                 "have passed with DSCP %d", more,
                 l->meter->exceed - EXCEED_DSCP);
    }
}

static void
put_all(struct lost *l)
{
    const struct ir_meter *meter = l->meter;
    uint64_t kbps = rate_kbps(meter), kbit = burst_kbit(meter, l->whole);
    uint64_t more = kbit * KBIT_BYTES - lost_drop_burst(meter);

    if (meter->mark_bytes) {
        put_lost(l, "ECN-capable packets are not marked above %"PRIu32
                 " bytes", meter->mark_bytes);
    }
    if (meter->depth_bytes) {
        put_lost(l, "bursts above %"PRIu32" bytes are not recorded",
                 meter->depth_bytes);
    }
    put_exceed(l);
    if (more) {
        put_lost(l, "%"PRIu64" bytes more pass at once, since %s", more,
                 held_burst(meter, l->whole) > lost_drop_burst(meter)
                 ? "the kernel's meters count whole milliseconds"
                 : "a burst is whole kbits");
    }
    /* Open vSwitch 3.1, dpif-netdev.c, and Linux, net/openvswitch/meter.c. */
    if (kbit < kbps / BITS_PER_KBIT) {
        put_lost(l, "Open vSwitch counts whole milliseconds, in each of which "
                 "%"PRIu64" kbit come, more than the burst: of what no NIC "
                 "does, nothing passes after the first burst",
                 kbps / BITS_PER_KBIT);
    }
}

/* The program of the fabric has the same for each node. */
static bool
is_noted(const struct ir_meter *meter, const struct plan *plan)
{
    for (size_t i = 0; i < plan->differences.n; i++) {
        const struct plan_difference *d = &plan->differences.v[i];

        if (!strcmp(d->tenant, meter->tenant->name)
            && !strcmp(d->uplink, meter->uplink)
            && !strcmp(d->asked, asked_string(meter, plan->arena))) {
            return true;
        }
    }
    return false;
}

static void
note(const struct ir_prog *prog, struct plan *plan, bool whole)
{
    struct arena *arena = plan->arena;

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];
        const struct ir_place *place = &meter->place;
        struct lost lost = { .meter = meter, .arena = arena,
                             .whole = whole };

        if (meter->microburst && !is_noted(meter, plan)) {
            struct plan_difference *d = vec_push(arena, &plan->differences);

            *d = (struct plan_difference) {
                .tenant = meter->tenant->name,
                .uplink = meter->uplink,
                .place = (place->pointer
                          ? arena_printf(arena, "line %"PRIu32", %s",
                                         place->line, place->pointer) : NULL),
                .asked = asked_string(meter, arena),
                .held = arena_printf(arena, "type=drop rate=%"PRIu64
                                     " burst_size=%"PRIu64, rate_kbps(meter),
                                     burst_kbit(meter, whole)),
            };
            lost.words = &d->lost;
            put_all(&lost);
        }
    }
}

void
lost_note(const struct ir_prog *prog, struct plan *plan)
{
    note(prog, plan, false);
}

void
lost_note_kernel(const struct ir_prog *prog, struct plan *plan)
{
    note(prog, plan, true);
}
