/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/symmetry.h"

#include <string.h>

#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "packets.h"
#include "util.h"

const struct symmetry_swap *
symmetry_find(const struct symmetry *s, enum field f, u128 value)
{
    for (size_t i = 0; i < s->swaps.n; i++) {
        const struct symmetry_swap *swap = &s->swaps.v[i];

        if (swap->field == f && (swap->a == value || swap->b == value)) {
            return swap;
        }
    }
    return NULL;
}

static bool
has_swaps(const struct symmetry *s, enum field f)
{
    return f < N_FIELDS && s->fields & FIELD_BIT(f);
}

static u128
image(const struct symmetry *s, enum field f, u128 value)
{
    const struct symmetry_swap *swap
        = (f == SYMMETRY_METER || has_swaps(s, f)
           ? symmetry_find(s, f, value) : NULL);

    return !swap ? value : swap->a == value ? swap->b : swap->a;
}

bool
symmetry_add(struct symmetry *s, enum field f, u128 a, u128 b)
{
    if (symmetry_find(s, f, a) || symmetry_find(s, f, b)
        || (a != b && field_is_register(f) && (!a || !b))) {
        return false;
    } else if (a != b) {
        *vec_push(s->arena, &s->swaps) = (struct symmetry_swap) { f, a, b };
        s->fields |= f < N_FIELDS ? FIELD_BIT(f) : 0;
    }
    return true;
}

static bool
add_all(struct symmetry *s, const enum field all[], size_t n, u128 a, u128 b)
{
    bool added = true;

    for (size_t i = 0; i < n; i++) {
        added &= symmetry_add(s, all[i], a, b);
    }
    return added;
}

bool
symmetry_add_mac(struct symmetry *s, struct eth_addr a, struct eth_addr b)
{
    static const enum field macs[] = {
        F_ETH_SRC, F_ETH_DST, F_ARP_SHA, F_ARP_THA,
    };

    return add_all(s, macs, ARRAY_SIZE(macs), eth_addr_to_uint64(a),
                   eth_addr_to_uint64(b));
}

bool
symmetry_add_ip(struct symmetry *s, const struct in6_addr *a,
                const struct in6_addr *b)
{
    static const enum field of_ip4[] = {
        F_NW_SRC, F_NW_DST, F_CT_NW_SRC, F_CT_NW_DST, F_OUTSIDE,
    };
    static const enum field of_ip6[] = {
        F_IPV6_SRC, F_IPV6_DST, F_ND_TARGET, F_CT_IPV6_SRC, F_CT_IPV6_DST,
        F_OUTSIDE6,
    };

    return (IN6_IS_ADDR_V4MAPPED(a)
            ? add_all(s, of_ip4, ARRAY_SIZE(of_ip4),
                      (uint32_t) field_from_ip(a),
                      (uint32_t) field_from_ip(b))
            : add_all(s, of_ip6, ARRAY_SIZE(of_ip6), field_from_ip(a),
                      field_from_ip(b)));
}

/* Do the same values change places in both? */
static bool
swaps_alike(const struct symmetry *s, enum field a, enum field b)
{
    bool alike = has_swaps(s, a) == has_swaps(s, b);

    for (size_t i = 0; i < s->swaps.n && alike; i++) {
        const struct symmetry_swap *swap = &s->swaps.v[i];
        enum field other = swap->field == a ? b : swap->field == b ? a
                           : SYMMETRY_METER;

        alike = (other == SYMMETRY_METER
                 || image(s, other, swap->a) == swap->b);
    }
    return alike;
}

/* Is 'to' what becomes of the condition?  One of some bits must be met by both
 * values that change places, or by none. */
static bool
takes_condition(const struct symmetry *s, const struct condition *c,
                const struct condition *to)
{
    if (c->field != to->field || c->mask != to->mask) {
        return false;
    } else if (!has_swaps(s, c->field)) {
        return c->value == to->value;
    } else if (condition_is_whole(c)) {
        return image(s, c->field, c->value) == to->value;
    }
    for (size_t i = 0; i < s->swaps.n; i++) {
        const struct symmetry_swap *swap = &s->swaps.v[i];

        if (swap->field == c->field && (swap->a ^ swap->b) & c->mask
            && (!((swap->a ^ c->value) & c->mask)
                || !((swap->b ^ c->value) & c->mask))) {
            return false;
        }
    }
    return c->value == to->value;
}

/* Is 'to' what becomes of the value, or may it be? */
static bool
takes_value(struct symmetry *s, enum field f, u128 value, u128 to, bool learn)
{
    return (image(s, f, value) == to
            || (learn && (f == SYMMETRY_METER || field_is_register(f))
                && symmetry_add(s, f, value, to)));
}

static bool
takes_set(struct symmetry *s, const struct ofpact_set_field *a,
          const struct ofpact_set_field *b, bool learn)
{
    int n = a->field->n_bytes;
    enum field f = field_find(a->field);

    if (f == N_FIELDS || a->field != b->field
        || memcmp(ofpact_set_field_mask(a), ofpact_set_field_mask(b), n)) {
        return false;
    } else if (!has_swaps(s, f) && !memcmp(a->value, b->value, n)) {
        return true;
    } else if (!is_all_ones(ofpact_set_field_mask(a), n)) {
        return false;
    }
    return takes_value(s, f, field_from_value(a->value, n),
                       field_from_value(b->value, n), learn);
}

/* What is copied as a whole changes places here as there; parts do not. */
static bool
keeps_move(const struct symmetry *s, const struct ofpact_reg_move *move)
{
    enum field from = field_find(move->src.field);
    enum field to = field_find(move->dst.field);
    bool whole;

    if (from == N_FIELDS || to == N_FIELDS) {
        return false;
    }
    whole = (move->src.n_bits == fields[from].width
             && move->dst.n_bits == fields[to].width);
    return (whole ? swaps_alike(s, from, to)
            : !has_swaps(s, from) && !has_swaps(s, to));
}

static bool takes_actions(struct symmetry *, const struct ofpact *a,
                          size_t a_len, const struct ofpact *b, size_t b_len,
                          bool learn);

static bool
takes_track(struct symmetry *s, const struct ofpact_conntrack *a,
            const struct ofpact_conntrack *b, bool learn)
{
    enum field zone = a->zone_src.field ? field_find(a->zone_src.field)
                      : SYMMETRY_METER;

    return (a->flags == b->flags && a->recirc_table == b->recirc_table
            && a->alg == b->alg && a->zone_src.field == b->zone_src.field
            && (a->zone_src.field
                ? zone < N_FIELDS && !has_swaps(s, zone)
                  && a->zone_src.ofs == b->zone_src.ofs
                  && a->zone_src.n_bits == b->zone_src.n_bits
                : a->zone_imm == b->zone_imm
                  && !has_swaps(s, F_CT_ZONE))
            && takes_actions(s, a->actions, ofpact_ct_get_action_len(a),
                             b->actions, ofpact_ct_get_action_len(b), learn));
}

/* Special ports are nobody's names. */
static bool
takes_output(const struct symmetry *s, const struct ofpact_output *a,
             const struct ofpact_output *b)
{
    return (a->max_len == b->max_len
            && image(s, F_IN_PORT, ofp_to_u16(a->port))
               == ofp_to_u16(b->port));
}

static bool
takes_action(struct symmetry *s, const struct ofpact *a,
             const struct ofpact *b, bool learn)
{
    switch ((int) a->type) {
    case OFPACT_OUTPUT:
        return takes_output(s, ofpact_get_OUTPUT(a), ofpact_get_OUTPUT(b));
    case OFPACT_SET_FIELD:
        return takes_set(s, ofpact_get_SET_FIELD(a), ofpact_get_SET_FIELD(b),
                         learn);
    case OFPACT_METER:
        return takes_value(s, SYMMETRY_METER, ofpact_get_METER(a)->meter_id,
                           ofpact_get_METER(b)->meter_id, learn);
    case OFPACT_CT:
        return takes_track(s, ofpact_get_CT(a), ofpact_get_CT(b), learn);
    case OFPACT_CLONE: {
        const struct ofpact_nest *x = ofpact_get_CLONE(a);
        const struct ofpact_nest *y = ofpact_get_CLONE(b);

        return takes_actions(s, x->actions, ofpact_nest_get_action_len(x),
                             y->actions, ofpact_nest_get_action_len(y),
                             learn);
    }
    case OFPACT_REG_MOVE:
        if (!keeps_move(s, ofpact_get_REG_MOVE(a))) {
            return false;
        }
        /* Fall through. */
    case OFPACT_SET_QUEUE: case OFPACT_DEC_TTL: case OFPACT_NOTE:
    case OFPACT_CONJUNCTION: case OFPACT_GOTO_TABLE:
        return a->len == b->len && !memcmp(a, b, a->len);
    case OFPACT_RESUBMIT: {
        const struct ofpact_resubmit *x = ofpact_get_RESUBMIT(a);
        const struct ofpact_resubmit *y = ofpact_get_RESUBMIT(b);

        return (x->in_port == OFPP_IN_PORT && y->in_port == OFPP_IN_PORT
                && x->table_id == y->table_id
                && !x->with_ct_orig && !y->with_ct_orig);
    }
    default:
        return false;
    }
}

static bool
takes_actions(struct symmetry *s, const struct ofpact *a, size_t a_len,
              const struct ofpact *b, size_t b_len, bool learn)
{
    const struct ofpact *a_end = ofpact_end(a, a_len);
    const struct ofpact *b_end = ofpact_end(b, b_len);

    while (a < a_end && b < b_end) {
        if (a->type != b->type || !takes_action(s, a, b, learn)) {
            return false;
        }
        a = ofpact_next(a);
        b = ofpact_next(b);
    }
    return a == a_end && b == b_end;
}

static bool
takes(struct symmetry *s, const struct table_flow *flow,
      const struct table_flow *to, bool learn)
{
    if (flow->table != to->table || flow->priority != to->priority
        || flow->cookie != to->cookie || flow->temporary != to->temporary
        || flow->n_conditions != to->n_conditions) {
        return false;
    }
    for (size_t i = 0; i < flow->n_conditions; i++) {
        if (!takes_condition(s, &flow->conditions[i], &to->conditions[i])) {
            return false;
        }
    }
    return takes_actions(s, flow->ofpacts, flow->ofpacts_len, to->ofpacts,
                         to->ofpacts_len, learn);
}

bool
symmetry_takes(struct symmetry *s, const struct table_flow *flow,
               const struct table_flow *to, bool learn)
{
    field_set known = s->fields;
    size_t n = s->swaps.n;

    if (!takes(s, flow, to, learn)) {
        s->swaps.n = n;
        s->fields = known;
        return false;
    }
    return true;
}

bool
symmetry_keeps(struct symmetry *s, const struct table_flow *flow)
{
    return symmetry_takes(s, flow, flow, false);
}

bool
symmetry_is_unequal(const struct table_flow *flow)
{
    const struct condition *a = &flow->conditions[0];
    const struct condition *b = &flow->conditions[1];

    return (flow->n_conditions == 2 && a->mask == b->mask
            && !(a->mask & (a->mask - 1)) && a->value != b->value
            && fields[a->field].width == fields[b->field].width);
}

/* Do both match where the same two fields differ, and do the same? */
static bool
are_of_kind(const struct table_flow *a, const struct table_flow *b)
{
    return (a->table == b->table && a->priority == b->priority
            && a->deed == b->deed
            && a->conditions[0].field == b->conditions[0].field
            && a->conditions[1].field == b->conditions[1].field);
}

/* Are there 'n' flows of its kind, which are all?  No two of a table have the
 * same match and priority. */
static bool
is_whole(const struct table_flow *flow, size_t n)
{
    return n == 2 * fields[flow->conditions[0].field].width;
}

/* Or are those in the tables, and do the same? */
static bool
has_unequal(const struct table_set *tables, const struct table_flow *flow)
{
    int width = fields[flow->conditions[0].field].width;

    for (int i = 0; i < 2 * width; i++) {
        struct condition conditions[2] = {
            flow->conditions[0], flow->conditions[1],
        };
        struct table_flow like = *flow;
        const struct table_flow *same;

        like.conditions = conditions;
        for (int k = 0; k < 2; k++) {
            conditions[k].mask = (u128) 1 << i / 2;
            conditions[k].value = i % 2 == k ? conditions[k].mask : 0;
        }
        same = table_set_same(tables, &like);
        if (!same || same->deed != flow->deed) {
            return false;
        }
    }
    return true;
}

void
symmetry_sort_unequal(const struct table_set *tables, const flow_vec *flows,
                      struct arena *arena, flow_vec *unequal,
                      flow_vec *others)
{
    VEC(struct kind {
        struct table_flow *like;
        size_t n;
        bool whole;
    }) kinds = VEC_INIT;
    size_t *of = arena_zalloc(arena, (flows->n + 1) * sizeof *of);

    for (size_t i = 0; i < flows->n; i++) {
        size_t k = 0;

        while (k < kinds.n && !are_of_kind(kinds.v[k].like, flows->v[i])) {
            k++;
        }
        if (k == kinds.n) {
            *vec_push(arena, &kinds) = (struct kind) { flows->v[i], 0, false };
        }
        kinds.v[k].n++;
        of[i] = k;
    }
    for (size_t k = 0; k < kinds.n; k++) {
        struct kind *kind = &kinds.v[k];

        kind->whole = (is_whole(kind->like, kind->n)
                       || has_unequal(tables, kind->like));
        if (kind->whole) {
            *vec_push(arena, unequal) = kind->like;
        }
    }
    for (size_t i = 0; i < flows->n; i++) {
        if (!kinds.v[of[i]].whole) {
            *vec_push(arena, others) = flows->v[i];
        }
    }
}

bool
symmetry_keeps_unequal(struct symmetry *s, const struct table_flow *flow)
{
    return (swaps_alike(s, flow->conditions[0].field,
                        flow->conditions[1].field)
            && takes_actions(s, flow->ofpacts, flow->ofpacts_len,
                             flow->ofpacts, flow->ofpacts_len, false));
}
