/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/asap2/nic.h"

#include <inttypes.h>
#include <string.h>

#include "backend/refuse.h"
#include "base/diag.h"
#include "ir/ir.h"
#include "plan/nic.h"
#include "sema/policy.h"
#include "sema/rule-kind.h"
#include "util.h"

/* Classes as a NIC has them.
 *
 * A class's queue is a priority of IEEE 802.1Q, and that is a traffic class by
 * itself.  The flows write the DSCP, or let it in, inside and outside of a
 * tunnel, and the NIC knows the priority by it, here and on the receiver's
 * node. */

/* What the NIC knows a packet by, and what it does with it. */
struct mark {
    const char *name;           /* Of the class. */
    const char *part;           /* Of it. */
    const char *dscp_at, *queue_at;     /* Where in it these are said. */
    const struct ir_place *place;
    uint8_t dscp;
    uint16_t queue;
    bool lossless;
};

static const struct mark best_effort = {
    .name = POLICY_BEST_EFFORT, .part = "",
};

enum { MAX_MARKS = 2 };

/* Those of a class: its packets, and those of them that keep their DSCP. */
static size_t
class_marks(const struct ir_class *class, struct mark marks[MAX_MARKS])
{
    marks[0] = (struct mark) {
        class->name, "", "dscp", "queue", &class->place, class->dscp,
        class->queue, class->lossless,
    };
    marks[1] = (struct mark) {
        class->name, " (dscp_in)", "dscp_in/dscp", "dscp_in/queue",
        &class->place, class->dscp_in, class->queue_in,
        class->lossless && class->queue_in == class->queue,
    };
    return class->dscp_in ? 2 : 1;
}

/* Has a rule the class, for flows or for legacy VFs? */
static bool
uses_class(const struct ir_prog *prog, const struct ir_class *class)
{
    return class->legacy || ir_uses_class(prog, class);
}

/* Do rules let packets of the class pass the uplink?  Those for flows are
 * taken to do so everywhere. */
static bool
passes_uplink(const struct ir_prog *prog, const struct ir_class *class,
              const struct ir_uplink *uplink)
{
    if (ir_uses_class(prog, class)) {
        return true;
    }
    for (size_t i = 0; class->legacy && i < prog->vfs.n; i++) {
        const struct ir_vf *vf = prog->vfs.v[i];

        if (vf->passes & 1 << class->queue
            && !strcmp(vf->uplink, uplink->name)) {
            return true;
        }
    }
    return false;
}

/* An error about 'b', which is not built in, shows 'a' too. */
static void
see_other(const struct mark *a, const struct mark *b, struct diag *d,
          struct diags *diags)
{
    if (a->place && a->place != b->place) {
        diag_see(diags, d, a->place->span, "the other class");
    }
}

/* 'b' is not built in. */
static bool
check_pair(const struct mark *a, const struct mark *b, struct diags *diags)
{
    if (a->dscp == b->dscp && a->queue != b->queue) {
        struct diag *d = refuse(
            diags, b->place, b->dscp_at, "give one of them another \"dscp\", "
            "or both the same \"queue\"", "the NIC knows a class by its DSCP: "
            "'%s'%s and '%s'%s both have DSCP %u, and queues %u and %u",
            b->name, b->part, a->name, a->part, a->dscp, b->queue, a->queue);

        see_other(a, b, d, diags);
        return false;
    } else if (a->queue == b->queue && a->lossless != b->lossless) {
        const struct mark *yes = a->lossless ? a : b, *no = yes == a ? b : a;
        struct diag *d = refuse(
            diags, b->place, b->queue_at, "give it a \"queue\" of its own",
            "pause frames stop all of queue %u, in which '%s'%s is lossless "
            "and '%s'%s is not", a->queue, yes->name, yes->part, no->name,
            no->part);

        see_other(a, b, d, diags);
        return false;
    }
    return true;
}

/* 'mark' against those of classes before 'end', and what is built in. */
static bool
check_mark(const struct ir_prog *prog, size_t end, const struct mark *mark,
           struct diags *diags)
{
    bool fits = check_pair(&best_effort, mark, diags);

    for (size_t i = 0; fits && i < end; i++) {
        struct mark marks[MAX_MARKS];
        size_t n = class_marks(prog->classes.v[i], marks);

        for (size_t j = 0; fits && j < n
             && uses_class(prog, prog->classes.v[i]); j++) {
            fits = check_pair(&marks[j], mark, diags);
        }
    }
    return fits;
}

/* A NIC of which one buffer is set has none that its firmware sets: what is
 * lossless would be in the buffer of all. */
static bool
check_buffers(const struct ir_prog *prog, struct diags *diags)
{
    const struct ir_class *with = NULL, *without = NULL;

    for (size_t i = 0; i < prog->classes.n; i++) {
        const struct ir_class *class = prog->classes.v[i];

        if (class->lossless && uses_class(prog, class)) {
            *(class->buffer_bytes ? &with : &without) = class;
        }
    }
    if (with && without) {
        struct diag *d = refuse(
            diags, &without->place, "lossless", "give it a \"buffer\", too, "
            "or none to any class", "the NIC leaves all buffers to its "
            "firmware, or none: class '%s' is lossless without a \"buffer\", "
            "and class '%s' has one", without->name, with->name);

        diag_see(diags, d, with->place.span, "the other class");
    }
    return !with || !without;
}

bool
asap2_check_classes(const struct ir_prog *prog, struct diags *diags)
{
    bool fits = check_buffers(prog, diags);

    for (size_t i = 0; i < prog->classes.n; i++) {
        struct mark marks[MAX_MARKS];
        size_t n = class_marks(prog->classes.v[i], marks);

        for (size_t j = 0; j < n && uses_class(prog, prog->classes.v[i]);
             j++) {
            fits &= (check_mark(prog, i, &marks[j], diags)
                     && (!j || check_pair(&marks[0], &marks[1], diags)));
        }
    }
    return fits;
}

/* Little comes in by "dscp_in", so it takes no part of the uplink. */
static bool
has_queue(const struct ir_class *class, uint16_t queue)
{
    return (class ? class->queue : 0) == queue;
}

static bool
holds_tenant(const struct ir_side *side, const struct ir_tenant *tenant)
{
    for (size_t i = 0; i < side->endpoints.n; i++) {
        if (side->endpoints.v[i]->tenant == tenant) {
            return true;
        }
    }
    return false;
}

/* May the tenant send in a class of this queue? */
static bool
uses_queue(const struct ir_prog *prog, const struct ir_tenant *tenant,
           uint16_t queue)
{
    for (size_t i = 0; i < prog->rules.n; i++) {
        const struct ir_rule *rule = prog->rules.v[i];

        if (!rule_kind_denies(rule->kind)
            && (has_queue(rule->class, queue)
                || (rule->replies && has_queue(rule->reply_class, queue)))
            && (holds_tenant(&rule->from, tenant)
                || holds_tenant(&rule->to, tenant))) {
            return true;
        }
    }
    return false;
}

static bool
is_owed(const struct ir_meter *meter, const struct ir_uplink *uplink)
{
    return (!meter->receive && !meter->endpoint && meter->guarantee_kbps
            && !strcmp(meter->uplink, uplink->name));
}

/* What tenants and legacy VFs that may use the queue are owed by the
 * uplink. */
static uint64_t
owed_kbps(const struct ir_prog *prog, const struct ir_uplink *uplink,
          uint16_t queue)
{
    uint64_t kbps = 0;

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (is_owed(meter, uplink)
            && uses_queue(prog, meter->tenant, queue)) {
            kbps += meter->guarantee_kbps;
        }
    }
    for (size_t i = 0; i < prog->vfs.n; i++) {
        const struct ir_vf *vf = prog->vfs.v[i];

        if (vf->queues & (1 << queue) && !strcmp(vf->uplink, uplink->name)) {
            kbps += vf->min_mbps * 1000;
        }
    }
    return kbps;
}

/* Splits 100 in proportion to 'weights' among those that are used, each of
 * which has one at least.  What rounding leaves is the first's, which is
 * used. */
static void
set_percents(const uint64_t weights[NIC_PRIORITIES],
             const bool used[NIC_PRIORITIES], struct plan_nic_port *port)
{
    uint64_t n = 0, sum = 0;
    int left = 100;

    for (int i = 0; i < NIC_PRIORITIES; i++) {
        n += used[i];
        sum += weights[i];
    }
    for (int i = 0; i < NIC_PRIORITIES; i++) {
        if (used[i]) {
            port->priorities[i].percent = 1 + weights[i] * (100 - n) / sum;
            left -= port->priorities[i].percent;
        }
    }
    port->priorities[0].percent += left;
}

/* In proportion to what is guaranteed; without guarantees, alike, but for what
 * only "dscp_in" uses. */
static void
set_weights(const struct ir_prog *prog, const struct ir_uplink *uplink,
            const bool of_class[NIC_PRIORITIES],
            uint64_t weights[NIC_PRIORITIES])
{
    uint64_t sum = 0;

    for (int i = 0; i < NIC_PRIORITIES; i++) {
        weights[i] = of_class[i] ? owed_kbps(prog, uplink, i) : 0;
        sum += weights[i];
    }
    for (int i = 0; !sum && i < NIC_PRIORITIES; i++) {
        weights[i] = of_class[i];
    }
}

void
asap2_set_priorities(const struct ir_prog *prog,
                     const struct ir_uplink *uplink, struct plan_nic *nic,
                     struct plan_nic_port *port)
{
    uint64_t weights[NIC_PRIORITIES];
    bool used[NIC_PRIORITIES] = { true };
    bool of_class[NIC_PRIORITIES] = { true };

    for (size_t i = 0; i < prog->classes.n; i++) {
        const struct ir_class *class = prog->classes.v[i];
        struct mark marks[MAX_MARKS];
        size_t n = class_marks(class, marks);

        if (!passes_uplink(prog, class, uplink)) {
            continue;
        }
        for (size_t j = 0; j < n; j++) {
            used[marks[j].queue] = true;
            of_class[marks[j].queue] |= !j;
            port->priorities[marks[j].queue].lossless |= marks[j].lossless;
            nic->priority_of[marks[j].dscp] = marks[j].queue;
        }
        port->priorities[class->queue].buffer_bytes += class->buffer_bytes;
    }
    set_weights(prog, uplink, of_class, weights);
    set_percents(weights, used, port);
}

/* Places, as a text; those behind the first few are counted. */
enum { MAX_PLACES = 4 };
struct places {
    const struct ir_prog *prog;
    struct arena *arena;
    const char *last;           /* The one that was added last. */
    const char *text;
    size_t n;
};

/* Adds that of the member of 'place'.  What is not there is its place, which
 * is added once. */
static void
add_place(struct places *p, const struct ir_place *place, const char *member)
{
    struct ir_place at = ir_place_member(p->arena, place, member);
    const char *text = ir_place_text(p->prog, &at, p->arena);

    if (!p->n) {
        p->text = text;
    } else if (!strcmp(text, p->last)) {
        return;
    } else if (p->n < MAX_PLACES) {
        p->text = arena_printf(p->arena, "%s; %s", p->text, text);
    }
    p->last = text;
    p->n++;
}

static const char *
places_text(const struct places *p, const char *none)
{
    return (p->n > MAX_PLACES
            ? arena_printf(p->arena, "%s; and %"PRIuSIZE" more", p->text,
                           p->n - MAX_PLACES)
            : p->n ? p->text : none);
}

/* Does what the tenant is owed count for a traffic class? */
static bool
uses_any_queue(const struct ir_prog *prog, const struct ir_tenant *tenant)
{
    bool uses = false;

    for (int i = 0; i < NIC_PRIORITIES; i++) {
        uses |= uses_queue(prog, tenant, i);
    }
    return uses;
}

void
asap2_set_places(const struct ir_prog *prog, const struct ir_uplink *uplink,
                 struct plan_nic_port *port, struct arena *arena)
{
    struct places ets = { .prog = prog, .arena = arena };
    struct places buffer = ets, pfc = ets, app = ets;

    for (size_t i = 0; i < prog->classes.n; i++) {
        const struct ir_class *class = prog->classes.v[i];
        struct mark marks[MAX_MARKS];
        size_t n = class_marks(class, marks);

        if (!passes_uplink(prog, class, uplink)) {
            continue;
        }
        for (size_t j = 0; j < n; j++) {
            add_place(&ets, marks[j].place, marks[j].queue_at);
            add_place(&app, marks[j].place, marks[j].dscp_at);
        }
        if (class->lossless) {
            add_place(&pfc, &class->place, "lossless");
        }
        if (class->buffer_bytes) {
            add_place(&buffer, &class->place, "buffer");
            add_place(&pfc, &class->place, "buffer");
        }
    }
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (is_owed(meter, uplink) && uses_any_queue(prog, meter->tenant)) {
            add_place(&ets, &meter->place, "");
        }
    }
    for (size_t i = 0; i < prog->vfs.n; i++) {
        const struct ir_vf *vf = prog->vfs.v[i];

        if (vf->min_mbps && !strcmp(vf->uplink, uplink->name)) {
            add_place(&ets, &vf->owed_place, "");
        }
    }
    port->ets_place = places_text(&ets, port->place);
    port->buffer_place = places_text(&buffer, port->place);
    port->pfc_place = places_text(&pfc, port->place);
    port->app_place = places_text(&app, port->place);
}
