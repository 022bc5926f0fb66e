/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/slice-private.h"

#include <string.h>

#include "flow.h"
#include "hash.h"
#include "openvswitch/ofp-actions.h"
#include "util.h"

/* Leaves in 'who' those that can match 'c'. */
static void
restrict_to(struct slices *s, const struct condition *c,
            unsigned long who[])
{
    uint64_t value = c->value, mask = c->mask;
    unsigned long *can = s->some + s->n_longs;

    if (!is_followed(c->field)) {
        return;
    }
    memcpy(can, any_of(s, c->field), s->n_longs * sizeof *can);
    if (mask == field_ones(fields[c->field].width)) {
        const struct holding *h = slice_find(s, c->field, value);

        if (h && c->field == F_IN_PORT) {
            /* Of a tenant's port, it is the tenant's alone. */
            memcpy(can, h->who, s->n_longs * sizeof *can);
        } else if (h) {
            bitmap_or(can, h->who, s->n_longs * BITMAP_ULONG_BITS);
        }
    } else {
        bitmap_or(can, slice_masked(s, c->field, value, mask)->who,
                  s->n_longs * BITMAP_ULONG_BITS);
    }
    bitmap_and(who, can, s->n_longs * BITMAP_ULONG_BITS);
}

/* 'n_bits' of 'from' become the low ones of 'to', which has no others. */
static void
hold_copies(struct slices *s, enum field from, int ofs, int n_bits,
            enum field to, const unsigned long who[])
{
    uint64_t mask = field_ones(n_bits);
    unsigned long *those = s->some + s->n_longs;

    for (const struct holding *h = s->of_field[from]; h; h = h->next) {
        memcpy(those, h->who, s->n_longs * sizeof *those);
        bitmap_and(those, who, s->n_longs * BITMAP_ULONG_BITS);
        slice_hold(s, to, h->value >> ofs & mask, those);
    }
    memcpy(those, any_of(s, from), s->n_longs * sizeof *those);
    bitmap_and(those, who, s->n_longs * BITMAP_ULONG_BITS);
    slice_add_to(s, any_of(s, to), those);
}

/* Says nothing of what else 'who' can have. */
static void
call_meter(struct slices *s, uint32_t meter, const unsigned long who[])
{
    bool changed = s->changed;

    slice_hold(s, CALLED, meter, who);
    s->changed = changed;
}

static void
set_field(struct slices *s, const struct ofpact_set_field *set,
          const unsigned long who[])
{
    const struct mf_field *mf = set->field;
    enum field f = field_find(mf);
    u128 mask = field_from_value(ofpact_set_field_mask(set), mf->n_bytes);

    if (f == N_FIELDS) {
        s->broken = true;
    } else if (is_noted(f) && mask == field_ones(fields[f].width)) {
        slice_hold(s, f, field_from_value(set->value, mf->n_bytes), who);
    } else if (is_noted(f)) {
        slice_add_to(s, any_of(s, f), who);
    }
}

static void
move_field(struct slices *s, const struct ofpact_reg_move *move,
           const unsigned long who[])
{
    enum field from = field_find(move->src.field);
    enum field to = field_find(move->dst.field);

    if (from == N_FIELDS || to == N_FIELDS) {
        s->broken = true;
    } else if (is_followed(from) && is_noted(to)
               && move->dst.n_bits == fields[to].width) {
        hold_copies(s, from, move->src.ofs, move->src.n_bits, to, who);
    } else if (is_noted(to)) {
        slice_add_to(s, any_of(s, to), who);
    }
}

static void follow(struct slices *, const struct ofpact *,
                   const struct ofpact *end, const unsigned long who[]);

static void
track(struct slices *s, const struct ofpact_conntrack *ct,
      const unsigned long who[])
{
    enum field f = ct->zone_src.field ? field_find(ct->zone_src.field)
                   : N_FIELDS;

    if (!ct->zone_src.field) {
        slice_hold(s, F_CT_ZONE, ct->zone_imm, who);
    } else if (f < N_FIELDS && is_noted(f)) {
        hold_copies(s, f, ct->zone_src.ofs, ct->zone_src.n_bits, F_CT_ZONE,
                    who);
    } else {
        slice_add_to(s, any_of(s, F_CT_ZONE), who);
    }
    if (ct->recirc_table != NX_CT_RECIRC_NONE) {
        slice_add_to(s, at_table(s, ct->recirc_table), who);
    }
    follow(s, ct->actions, ofpact_end(ct->actions,
                                      ofpact_ct_get_action_len(ct)), who);
}

/* What the actions set, and where they lead. */
static void
follow(struct slices *s, const struct ofpact *a, const struct ofpact *end,
       const unsigned long who[])
{
    for (; a < end; a = ofpact_next(a)) {
        switch ((int) a->type) {
        case OFPACT_OUTPUT: case OFPACT_SET_QUEUE: case OFPACT_DEC_TTL:
        case OFPACT_NOTE: case OFPACT_CONJUNCTION:
            break;
        case OFPACT_METER:
            call_meter(s, ofpact_get_METER(a)->meter_id, who);
            break;
        case OFPACT_SET_FIELD:
            set_field(s, ofpact_get_SET_FIELD(a), who);
            break;
        case OFPACT_REG_MOVE:
            move_field(s, ofpact_get_REG_MOVE(a), who);
            break;
        case OFPACT_CT: track(s, ofpact_get_CT(a), who); break;
        case OFPACT_GOTO_TABLE:
            slice_add_to(s, at_table(s, ofpact_get_GOTO_TABLE(a)->table_id),
                         who);
            break;
        case OFPACT_CLONE: {
            const struct ofpact_nest *nest = ofpact_get_CLONE(a);

            follow(s, nest->actions, ofpact_end(
                nest->actions, ofpact_nest_get_action_len(nest)), who);
            break;
        }
        case OFPACT_RESUBMIT: {
            const struct ofpact_resubmit *r = ofpact_get_RESUBMIT(a);

            s->broken |= (r->in_port != OFPP_IN_PORT || r->with_ct_orig
                          || r->table_id == 255);
            slice_add_to(s, at_table(s, r->table_id), who);
            break;
        }
        default: s->broken = true;
        }
    }
}

void
slice_visit_flow(struct slices *s, struct table_flow *flow)
{
    unsigned long *who = s->some;

    memcpy(who, at_table(s, flow->table), s->n_longs * sizeof *who);
    for (size_t i = 0; i < flow->n_conditions; i++) {
        restrict_to(s, &flow->conditions[i], who);
    }
    if (!bitmap_is_all_zeros(who, s->n)) {
        slice_add_flow(s, flow, who);
        follow(s, flow->ofpacts, ofpact_end(flow->ofpacts,
                                            flow->ofpacts_len), who);
    }
}

/* Two of 64. */
static uint64_t
ask_bits(uint32_t hash)
{
    return UINT64_C(1) << hash % 64 | UINT64_C(1) << (hash >> 6) % 64;
}

uint64_t
slice_ask_bits(enum field f, uint64_t value)
{
    return ask_bits(hash_uint64_basis(value, f));
}

uint64_t
slice_ask_all_bits(enum field f)
{
    return ask_bits(hash_int(f, N_FIELDS));
}

static uint64_t
ask_of_actions(const struct ofpact *a, const struct ofpact *end)
{
    uint64_t bits = 0;

    for (; a < end; a = ofpact_next(a)) {
        if (a->type == OFPACT_REG_MOVE) {
            bits |= slice_ask_all_bits(
                field_find(ofpact_get_REG_MOVE(a)->src.field));
        } else if (a->type == OFPACT_CT) {
            const struct ofpact_conntrack *ct = ofpact_get_CT(a);

            bits |= (ct->zone_src.field
                     ? slice_ask_all_bits(field_find(ct->zone_src.field)) : 0);
            bits |= ask_of_actions(ct->actions,
                                   ofpact_end(ct->actions,
                                              ofpact_ct_get_action_len(ct)));
        } else if (a->type == OFPACT_CLONE) {
            const struct ofpact_nest *nest = ofpact_get_CLONE(a);

            bits |= ask_of_actions(
                nest->actions, ofpact_end(nest->actions,
                                          ofpact_nest_get_action_len(nest)));
        }
    }
    return bits;
}

uint64_t
slice_asks(const struct table_flow *flow)
{
    uint64_t bits = ask_of_actions(flow->ofpacts,
                                   ofpact_end(flow->ofpacts,
                                              flow->ofpacts_len));

    for (size_t i = 0; i < flow->n_conditions; i++) {
        const struct condition *c = &flow->conditions[i];

        if (is_followed(c->field)) {
            bits |= (c->mask == field_ones(fields[c->field].width)
                     ? slice_ask_bits(c->field, c->value)
                     : slice_ask_all_bits(c->field));
        }
    }
    return bits;
}
