/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* What is an endpoint's own: packets that flows ask for by its name, and
 * meters. */

#include "verify/base-symmetry.h"

#include <stdlib.h>

#include "openvswitch/ofp-actions.h"
#include "sema/policy.h"
#include "util.h"
#include "verify/compare.h"

bool
own_is_number(const struct condition *c)
{
    return field_is_register(c->field) && condition_is_whole(c) && c->value;
}

static bool
is_own(const struct symmetry *sym, enum field f, u128 value)
{
    const struct symmetry_swap *swap = symmetry_find(sym, f, value);

    return swap && swap->a == value;
}

/* Does it ask for a name of the endpoint, in a place that counts and that no
 * flow has changed? */
static bool
asks_for_name(const struct likeness *l, const struct symmetry *sym,
              const struct table_flow *flow, const struct condition *c)
{
    return ((c->field == F_IN_PORT || c->field == F_NW_DST
             || c->field == F_IPV6_DST || c->field == F_ND_TARGET)
            && condition_is_whole(c) && is_own(sym, c->field, c->value)
            && !origin_is_changed(l->b->origins, c->field, flow->table));
}

bool
own_asks_for_name(const struct likeness *l, const struct symmetry *sym,
                  const struct table_flow *flow)
{
    for (size_t i = 0; i < flow->n_conditions; i++) {
        if (asks_for_name(l, sym, flow, &flow->conditions[i])) {
            return true;
        }
    }
    return false;
}

/* Does the flow put a number of the endpoint in a register? */
static bool
gives_number(const struct symmetry *sym, const struct table_flow *flow)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_SET_FIELD) {
            const struct ofpact_set_field *set = ofpact_get_SET_FIELD(a);
            enum field f = field_find(set->field);

            if (f < F_FIRST_OF_PACKET && sym->fields & FIELD_BIT(f)
                && is_own(sym, f, field_from_value(set->value,
                                                   set->field->n_bytes))) {
                return true;
            }
        }
    }
    return false;
}

/* Does it ask for a number that only flows that changed give?  The first of
 * these that a packet meets cannot. */
static bool
asks_for_number(const struct likeness *l, const struct symmetry *sym,
                const struct condition *c)
{
    return (own_is_number(c) && is_own(sym, c->field, c->value)
            && !(l->mixed & FIELD_BIT(c->field)));
}

bool
own_packets(const struct likeness *l, const struct symmetry *sym)
{
    for (size_t i = 0; i < l->n_changed; i++) {
        const struct table_flow *flow = l->changed[i];
        bool own = own_asks_for_name(l, sym, flow);

        for (size_t k = 0; k < flow->n_conditions; k++) {
            own |= asks_for_number(l, sym, &flow->conditions[k]);
        }
        if (!own || flow->clause || flow->temporary) {
            return false;
        }
    }
    for (size_t i = 0; i < l->flows.n; i++) {
        if (gives_number(sym, l->flows.v[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < l->unequal.n; i++) {
        if (gives_number(sym, l->unequal.v[i])) {
            return false;
        }
    }
    return true;
}

/* Is the meter, where 'other' passes 'of_other', what it should be? */
static bool
is_right_meter(const struct likeness *l, struct comparison *c,
               const struct policy_endpoint *other, uint32_t id,
               uint32_t of_other, const unsigned long others[])
{
    bool own = false;

    for (int i = 0; i < 4; i++) {
        struct usage usage = {
            .kind = i & 1 ? USE_RECEIVE : USE_SEND, .tenant = l->tenant,
            .endpoint = other, .limit = i & 2, .value = of_other,
        };

        if (compare_is_named(c, &usage)) {
            usage.endpoint = l->news->now;
            usage.value = id;
            if (!compare_is_named(c, &usage)) {
                return false;
            }
            own = true;
        }
    }
    return (own ? (id != of_other && base_has_meter(l->b, id)
                   && !slices_call(l->b->slices, id, others))
            : id == of_other);
}

static bool
are_right_meters(const struct likeness *l, const struct symmetry *sym,
                 struct comparison *c, const struct policy_endpoint *other,
                 const struct table_flow *flow,
                 const unsigned long others[])
{
    const struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_METER) {
            uint32_t id = ofpact_get_METER(a)->meter_id;
            const struct symmetry_swap *swap = symmetry_find(
                sym, SYMMETRY_METER, id);

            if ((swap && swap->a != id)
                || !is_right_meter(l, c, other, id, swap ? swap->b : id,
                                   others)) {
                return false;
            }
        }
    }
    return true;
}

bool
own_meters(const struct likeness *l, const struct symmetry *sym,
           const struct policy_endpoint *other)
{
    struct comparison c;
    unsigned long *others = base_others(l->b);
    bool right = true;

    comparison_init(&c, l->task, other->node, l->arena);
    for (size_t i = 0; i < l->n_changed && right; i++) {
        right = are_right_meters(l, sym, &c, other, l->changed[i], others);
    }
    comparison_destroy(&c);
    free(others);
    return right;
}

bool
own_meters_only(const struct likeness *l, const struct symmetry *sym)
{
    for (size_t i = 0; i < l->b->asked.n_meters; i++) {
        const struct meter_change *m = &l->b->asked.meters[i];
        bool there = base_has_meter(l->b, m->id);

        if (there != m->before
            && (there != l->news->came
                || !is_own(sym, SYMMETRY_METER, m->id))) {
            return false;
        }
    }
    return true;
}

bool
own_meters_are_missed(const struct likeness *l)
{
    unsigned long *all = bitmap_allocate1(l->b->n + 1);
    unsigned long *others = base_others(l->b);
    bool missed = false;

    for (size_t i = 0; i < l->b->asked.n_meters; i++) {
        uint32_t id = l->b->asked.meters[i].id, near[COMPARE_MAX_NEAR];
        size_t n = compare_near(id, 1, near);

        missed |= slices_call(l->b->slices, id, others);
        for (size_t k = 1; k < n; k++) {
            missed |= (near[k] != id
                       && slices_call(l->b->slices, near[k], all));
        }
    }
    free(all);
    free(others);
    return missed;
}
