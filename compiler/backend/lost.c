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

#include "backend/refuse.h"
#include "hmapx.h"
#include "intent/exceed.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "plan/plan.h"
#include "util.h"

enum { KBIT_BYTES = 1000 / 8 };

/* A meter, and where it is noted what is lost of it. */
struct lost {
    const struct ir_prog *prog;
    const struct lost_meters *target;
    const struct ir_meter *meter;
    struct arena *arena;
    plan_names *words;
};

uint64_t
lost_asked_burst(const struct ir_meter *meter)
{
    return (meter->microburst && meter->limit_bytes
            ? MIN(meter->burst_bytes, meter->limit_bytes)
            : meter->burst_bytes);
}

uint64_t
lost_own_kbps(uint64_t kbps, const struct ir_meter *meter)
{
    return MAX(kbps, meter->apart_kbps + 1) - meter->apart_kbps;
}

uint64_t
lost_drop_kbps(const struct ir_meter *meter)
{
    return lost_own_kbps(meter->no_borrow ? meter->guarantee_kbps
                         : meter->rate_kbps, meter);
}

bool
lost_is_too_fast(const struct lost_meters *target,
                 const struct ir_meter *meter)
{
    return target->max_kbps && lost_drop_kbps(meter) > target->max_kbps;
}

uint64_t
lost_least_burst(uint64_t kbps)
{
    return DIV_ROUND_UP(kbps, 8);
}

uint32_t
lost_least_packets(uint32_t rate)
{
    return DIV_ROUND_UP(rate, 1000);
}

uint64_t
lost_drop_burst(const struct ir_meter *meter)
{
    return MAX(lost_asked_burst(meter),
               lost_least_burst(lost_drop_kbps(meter)));
}

/* OpenFlow's unit, rounded up. */
static uint64_t
burst_kbit(const struct ir_meter *meter)
{
    return DIV_ROUND_UP(lost_drop_burst(meter), KBIT_BYTES);
}

/* What the target has for it. */
static const char *
held_string(const struct lost *l)
{
    return (!lost_is_too_fast(l->target, l->meter)
            ? arena_printf(l->arena, "type=drop rate=%"PRIu64
                           " burst_size=%"PRIu64, lost_drop_kbps(l->meter),
                           burst_kbit(l->meter))
            : l->meter->receive ? "no meter"
            : "no meter, but the NIC's rate (devlink.sh)");
}

/* The band that the target userspace makes.  Who borrows is owed its
 * guarantee, with its burst; nothing is a byte and a kbps, as there. */
static const char *
asked_string(const struct ir_meter *meter, struct arena *arena)
{
    uint64_t owed = (meter->parent ? meter->guarantee_kbps - meter->apart_kbps
                     : lost_drop_kbps(meter));
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *s;

    if (!meter->microburst) {
        return arena_printf(arena, "type=drop rate=%"PRIu64" burst_size=%"
                            PRIu64, lost_drop_kbps(meter),
                            DIV_ROUND_UP(meter->burst_bytes, KBIT_BYTES));
    }
    ds_put_format(&ds, "type=microburst rate=%"PRIu64" burst_bytes=%"PRIu64
                  " peak_rate=%"PRIu64, MAX(owed, 1),
                  owed ? meter->burst_bytes : 1, lost_drop_kbps(meter));
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

static void
put_drops(struct lost *l, uint64_t bytes, const char *how)
{
    if (bytes) {
        put_lost(l, "up to %"PRIu64" bytes above the burst drop that would "
                 "have passed%s", bytes, how);
    }
}

/* What is above the burst, up to the limit, is dropped; but what a larger
 * burst lets pass is left as it is. */
static void
put_exceed(struct lost *l)
{
    uint64_t held = burst_kbit(l->meter) * KBIT_BYTES;
    uint64_t more = l->meter->limit_bytes - MIN(held, l->meter->limit_bytes);
    uint64_t asked = lost_asked_burst(l->meter);
    bool larger = (lost_drop_burst(l->meter) > asked
                   && asked < l->meter->limit_bytes);

    if (l->meter->exceed == EXCEED_ECN) {
        if (larger) {
            put_lost(l, "what is above the burst of %"PRIu64" bytes, and "
                     "passes, is not marked", asked);
        }
        put_drops(l, more, ", marked, if ECN-capable");
    } else if (l->meter->exceed == EXCEED_PASS) {
        put_drops(l, more, "");
    } else if (l->meter->exceed != EXCEED_DROP) {
        const char *with = arena_printf(l->arena, " with DSCP %d",
                                        l->meter->exceed - EXCEED_DSCP);

        if (larger) {
            put_lost(l, "what is above the burst of %"PRIu64" bytes, and "
                     "passes, does not leave%s", asked, with);
        }
        put_drops(l, more, with);
    }
}

/* What passes at once above what is asked for. */
static void
put_burst(struct lost *l)
{
    uint64_t asked = lost_asked_burst(l->meter);
    uint64_t more = burst_kbit(l->meter) * l->target->kbit_bytes - asked;

    if (more) {
        put_lost(l, "%"PRIu64" bytes more pass at once, since %s%s", more,
                 lost_drop_burst(l->meter) > asked
                 ? "Open vSwitch's meters count whole milliseconds"
                 : "a burst is whole kbits",
                 l->target->kbit_bytes > KBIT_BYTES
                 ? ", and a kbit is 1024 bits to tc" : "");
    }
}

static void
put_no_meter(struct lost *l)
{
    uint64_t mbps = l->target->max_kbps / 1000;

    if (l->meter->receive) {
        put_lost(l, "nothing limits what is received: Open vSwitch gives tc "
                 "no more than %"PRIu64" Mbps", mbps);
    } else {
        put_lost(l, "only the NIC limits what is sent, and no source says "
                 "how much it lets pass at once: Open vSwitch gives tc no "
                 "more than %"PRIu64" Mbps", mbps);
    }
}

static void
put_all(struct lost *l)
{
    const struct ir_meter *meter = l->meter;

    if (meter->mark_bytes) {
        put_lost(l, "ECN-capable packets are not marked above %"PRIu32
                 " bytes", meter->mark_bytes);
    }
    if (meter->depth_bytes) {
        put_lost(l, "bursts above %"PRIu32" bytes are not recorded",
                 meter->depth_bytes);
    }
    if (lost_is_too_fast(l->target, meter)) {
        put_no_meter(l);
    } else {
        put_exceed(l);
        put_burst(l);
    }
}

/* The program of the fabric has the same for each node. */
static bool
is_noted(const struct plan_difference *new, const struct plan *plan)
{
    for (size_t i = 0; i < plan->differences.n; i++) {
        const struct plan_difference *d = &plan->differences.v[i];

        if (!strcmp(d->tenant, new->tenant) && !strcmp(d->uplink, new->uplink)
            && !strcmp(d->asked, new->asked) && !strcmp(d->held, new->held)
            && nullable_string_is_equal(d->place, new->place)) {
            return true;
        }
    }
    return false;
}

static void
note_meter(struct lost *l, struct plan *plan)
{
    const struct ir_meter *meter = l->meter;
    const struct ir_place *place = &meter->place;
    struct plan_difference d = {
        .tenant = meter->tenant->name,
        .uplink = meter->uplink,
        .place = (place->pointer ? ir_place_text(l->prog, place, l->arena)
                  : NULL),
        .asked = asked_string(meter, l->arena),
        .held = held_string(l),
    };

    if (!is_noted(&d, plan)) {
        l->words = &d.lost;
        put_all(l);
        *vec_push(l->arena, &plan->differences) = d;
    }
}

void
lost_note(const struct ir_prog *prog, struct plan *plan,
          const struct lost_meters *target)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (lost_is_kept(meter)
            && (meter->microburst
                || (!meter->unlimited && lost_is_too_fast(target, meter)))) {
            struct lost lost = { prog, target, meter, plan->arena, NULL };

            note_meter(&lost, plan);
        }
    }
}

bool
lost_is_kept(const struct ir_meter *meter)
{
    /* What is the rest is known by its parent. */
    return meter->tenant && !ir_meter_is_rest(meter);
}

/* The first place that asks for a burst which is too small, and how many
 * others there are. */
struct small_bursts {
    const struct ir_place *first;
    const char *member;         /* Of what stands there. */
    size_t n;
};

static void
note_burst(struct small_bursts *bursts, bool small,
           const struct ir_place *place, const char *member)
{
    if (small && !bursts->n++) {
        bursts->first = place;
        bursts->member = member;
    }
}

static void
note_meters(struct small_bursts *bursts, const struct ir_prog *prog,
            const struct lost_meters *target)
{
    struct hmapx said = HMAPX_INITIALIZER(&said);

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];
        bool small = (lost_is_kept(meter) && !lost_is_too_fast(target, meter)
                      && lost_asked_burst(meter) < lost_drop_burst(meter));

        note_burst(bursts, small && is_first_at(&said, &meter->place),
                   &meter->place, meter->unlimited ? NULL : "../burst");
    }
    hmapx_destroy(&said);
}

static void
note_packets(struct small_bursts *bursts, const struct ir_prog *prog)
{
    for (size_t i = 0; i < prog->tenants.n; i++) {
        const struct ir_tenant *tenant = prog->tenants.v[i];

        note_burst(bursts, tenant->here
                   && tenant->packet_burst
                      < lost_least_packets(tenant->packet_rate),
                   &tenant->place, "limits/packets/burst");
        note_burst(bursts, ir_is_fabric(prog)
                   && tenant->upcall_burst
                      < lost_least_packets(tenant->upcall_rate),
                   &tenant->place, "limits/upcalls/burst");
    }
}

void
lost_warn_bursts(const struct ir_prog *prog, struct diags *diags,
                 const struct lost_meters *target)
{
    struct small_bursts bursts = { .n = 0 };

    note_meters(&bursts, prog, target);
    note_packets(&bursts, prog);
    for (size_t i = 0; i < prog->caps.n; i++) {
        const struct ir_class *class = prog->caps.v[i]->class;

        note_burst(&bursts,
                   class->in_burst_bytes < lost_least_burst(class->in_kbps),
                   &class->place, "dscp_in/burst");
    }
    if (bursts.n) {
        char *more = (bursts.n == 1 ? NULL : bursts.n == 2
                      ? xstrdup(" and once more")
                      : xasprintf(" and %"PRIuSIZE" more times",
                                  bursts.n - 1));

        warn_of(diags, bursts.first, bursts.member, "%s meters count whole "
                "milliseconds: bursts that are less than the rate gives in "
                "one become that, here%s", target->whose,
                more ? more : "");
        free(more);
    }
}
