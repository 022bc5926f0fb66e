/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/slice.h"

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/ofp-actions.h"
#include "sema/policy.h"
#include "util.h"
#include "verify/verify.h"

/* The slices whose packets can have 'value' in 'field'. */
struct holding {
    struct hmap_node node;      /* In 'by_value'. */
    struct holding *next;       /* Of the same field. */
    enum field field;
    uint64_t value;
    unsigned long who[];
};

/* In the place of a field that is held: the meters that are called. */
#define CALLED ((enum field) F_FIRST_OF_PACKET)
enum { N_HELD = F_FIRST_OF_PACKET + 1 };

struct slices {
    const struct table_set *tables;
    size_t n, n_longs;          /* Slices; longs of a set of them. */
    struct hmap by_value;       /* Contains "struct holding"s. */
    struct holding *of_field[N_HELD];
    unsigned long *any;         /* By field: can have any value. */
    unsigned long *at;          /* By table: can come there. */
    unsigned long *in;          /* By order of flow: the result. */
    size_t n_in;                /* Flows that it has room for. */
    unsigned long *some;        /* Scratch: two sets. */
    bool changed;               /* What says more of others, too. */
    bool broken;
};

/* Fields of which it is known who can have which value: none is wider than 64
 * bits.  Of others it is taken that all can have any. */
static bool
is_followed(enum field f)
{
    return (f == F_IN_PORT || f == F_METADATA || f == F_CT_ZONE
            || (f >= F_REG0 && f <= F_REG15));
}

/* Marks are set inside ct() only, and what a connection has may be older. */
static bool
is_noted(enum field f)
{
    return is_followed(f) || f == F_CT_MARK;
}

static unsigned long *
any_of(const struct slices *s, enum field f)
{
    return s->any + f * s->n_longs;
}

static unsigned long *
at_table(const struct slices *s, uint8_t table)
{
    return s->at + table * s->n_longs;
}

static unsigned long *
in_flow(const struct slices *s, const struct table_flow *flow)
{
    return s->in + flow->order * s->n_longs;
}

const unsigned long *
slices_of(const struct slices *s, const struct table_flow *flow)
{
    return in_flow(s, flow);
}

static void
add_to(struct slices *s, unsigned long set[], const unsigned long more[])
{
    for (size_t i = 0; i < s->n_longs; i++) {
        s->changed |= (more[i] & ~set[i]) != 0;
        set[i] |= more[i];
    }
}

static uint32_t
hash_holding(enum field f, uint64_t value)
{
    return hash_uint64_basis(value, f);
}

static struct holding *
find_holding(const struct slices *s, enum field f, uint64_t value)
{
    struct holding *h;

    HMAP_FOR_EACH_WITH_HASH (h, node, hash_holding(f, value), &s->by_value) {
        if (h->field == f && h->value == value) {
            return h;
        }
    }
    return NULL;
}

bool
slices_hold(const struct slices *s, enum field f, uint64_t value,
            const unsigned long who[])
{
    const struct holding *h = find_holding(s, f, value);
    bool some = false;

    for (size_t i = 0; i < s->n_longs; i++) {
        some |= ((any_of(s, f)[i] | (h ? h->who[i] : 0)) & who[i]) != 0;
    }
    return some;
}

bool
slices_call(const struct slices *s, uint32_t meter, const unsigned long who[])
{
    return slices_hold(s, CALLED, meter, who);
}

void
slices_add_calling(const struct slices *s, uint32_t meter,
                   unsigned long who[])
{
    const struct holding *h = find_holding(s, CALLED, meter);

    if (h) {
        bitmap_or(who, h->who, s->n);
    }
}

/* Those of 'who' can have 'value' in 'f'. */
static void
hold(struct slices *s, enum field f, uint64_t value,
     const unsigned long who[])
{
    struct holding *h = find_holding(s, f, value);

    if (!h) {
        h = xzalloc(sizeof *h + s->n_longs * sizeof *h->who);
        h->field = f;
        h->value = value;
        h->next = s->of_field[f];
        s->of_field[f] = h;
        hmap_insert(&s->by_value, &h->node, hash_holding(f, value));
    }
    add_to(s, h->who, who);
}

/* Leaves in 'who' those that can match 'c'. */
static void
restrict_to(const struct slices *s, const struct condition *c,
            unsigned long who[])
{
    uint64_t value = c->value, mask = c->mask;
    unsigned long *can = s->some + s->n_longs;

    if (!is_followed(c->field)) {
        return;
    }
    memcpy(can, any_of(s, c->field), s->n_longs * sizeof *can);
    if (mask == field_ones(fields[c->field].width)) {
        const struct holding *h = find_holding(s, c->field, value);

        if (h && c->field == F_IN_PORT) {
            /* Of a tenant's port, it is the tenant's alone. */
            memcpy(can, h->who, s->n_longs * sizeof *can);
        } else if (h) {
            bitmap_or(can, h->who, s->n_longs * BITMAP_ULONG_BITS);
        }
    } else {
        for (const struct holding *h = s->of_field[c->field]; h;
             h = h->next) {
            if (!((h->value ^ value) & mask)) {
                bitmap_or(can, h->who, s->n_longs * BITMAP_ULONG_BITS);
            }
        }
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
        hold(s, to, h->value >> ofs & mask, those);
    }
    memcpy(those, any_of(s, from), s->n_longs * sizeof *those);
    bitmap_and(those, who, s->n_longs * BITMAP_ULONG_BITS);
    add_to(s, any_of(s, to), those);
}

/* Says nothing of what else 'who' can have. */
static void
call_meter(struct slices *s, uint32_t meter, const unsigned long who[])
{
    bool changed = s->changed;

    hold(s, CALLED, meter, who);
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
        hold(s, f, field_from_value(set->value, mf->n_bytes), who);
    } else if (is_noted(f)) {
        add_to(s, any_of(s, f), who);
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
        add_to(s, any_of(s, to), who);
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
        hold(s, F_CT_ZONE, ct->zone_imm, who);
    } else if (f < N_FIELDS && is_noted(f)) {
        hold_copies(s, f, ct->zone_src.ofs, ct->zone_src.n_bits, F_CT_ZONE,
                    who);
    } else {
        add_to(s, any_of(s, F_CT_ZONE), who);
    }
    if (ct->recirc_table != NX_CT_RECIRC_NONE) {
        add_to(s, at_table(s, ct->recirc_table), who);
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
            add_to(s, at_table(s, ofpact_get_GOTO_TABLE(a)->table_id), who);
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
            add_to(s, at_table(s, r->table_id), who);
            break;
        }
        default: s->broken = true;
        }
    }
}

static void
visit_flow(struct slices *s, const struct table_flow *flow)
{
    unsigned long *who = s->some;

    memcpy(who, at_table(s, flow->table), s->n_longs * sizeof *who);
    for (size_t i = 0; i < flow->n_conditions; i++) {
        restrict_to(s, &flow->conditions[i], who);
    }
    if (!bitmap_is_all_zeros(who, s->n)) {
        bitmap_or(in_flow(s, flow), who, s->n);
        follow(s, flow->ofpacts, ofpact_end(flow->ofpacts,
                                            flow->ofpacts_len), who);
    }
}

/* Each port is of one slice; those of which nothing is said here are of the
 * last. */
static void
hold_ports(struct slices *s, const struct verify_task *task)
{
    const struct policy *policy = task->policy;

    bitmap_set1(s->some, s->n - 1);
    add_to(s, any_of(s, F_IN_PORT), s->some);
    bitmap_set0(s->some, s->n - 1);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        bitmap_set1(s->some, i);
        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *e
                = policy->tenants.v[i]->endpoints.v[k];

            if (e->bound && !strcmp(e->node->name.s, task->node)) {
                hold(s, F_IN_PORT, ofp_to_u16(table_set_port(
                         task->tables, e->intent->interface.s)), s->some);
            }
        }
        bitmap_set0(s->some, i);
    }
}

static struct slices *
create(const struct verify_task *task)
{
    struct slices *s = xzalloc(sizeof *s);

    s->tables = task->tables;
    s->n = task->policy->tenants.n + 1;
    s->n_longs = bitmap_n_longs(s->n);
    hmap_init(&s->by_value);
    s->any = xcalloc(N_HELD * s->n_longs, sizeof *s->any);
    s->at = xcalloc((UINT8_MAX + 1) * s->n_longs, sizeof *s->at);
    s->n_in = MAX(s->tables->flows.n, 1);
    s->in = xcalloc(s->n_in * s->n_longs, sizeof *s->in);
    s->some = xcalloc(2 * s->n_longs, sizeof *s->some);
    hold_ports(s, task);
    return s;
}

/* Says all that follows from what has changed.  Returns false if that is not
 * known. */
static bool
settle(struct slices *s)
{
    while (s->changed && !s->broken) {
        s->changed = false;
        for (size_t i = 0; i < s->tables->flows.n && !s->broken; i++) {
            visit_flow(s, s->tables->flows.v[i]);
        }
    }
    return !s->broken;
}

struct slices *
slices_create(const struct verify_task *task)
{
    struct slices *s = create(task);
    unsigned long *all = at_table(s, 0);

    bitmap_set_multiple(all, 0, s->n, true);
    for (enum field f = F_IN_PORT + 1; f < F_FIRST_OF_PACKET; f++) {
        if (is_noted(f)) {
            hold(s, f, 0, all);
        }
    }
    s->changed = true;
    if (!settle(s)) {
        slices_destroy(s);
        return NULL;
    }
    return s;
}

bool
slices_add(struct slices *s, const struct table_flow *flow)
{
    size_t n = s->n_in;

    if (flow->order >= n) {
        s->n_in = flow->order * 2;
        s->in = xrealloc(s->in, s->n_in * s->n_longs * sizeof *s->in);
    }
    memset(in_flow(s, flow), 0, s->n_longs * sizeof *s->in);
    s->changed = false;
    visit_flow(s, flow);
    return settle(s);
}

void
slices_remove(struct slices *s, const struct table_flow *gone, size_t last)
{
    memmove(in_flow(s, gone), s->in + last * s->n_longs,
            s->n_longs * sizeof *s->in);
}

bool
slices_add_port(struct slices *s, size_t slice, ofp_port_t port)
{
    s->changed = false;
    memset(s->some, 0, s->n_longs * sizeof *s->some);
    bitmap_set1(s->some, slice);
    hold(s, F_IN_PORT, ofp_to_u16(port), s->some);
    return settle(s);
}

void
slices_destroy(struct slices *s)
{
    struct holding *h;

    if (s) {
        HMAP_FOR_EACH_POP (h, node, &s->by_value) {
            free(h);
        }
        hmap_destroy(&s->by_value);
        free(s->any);
        free(s->at);
        free(s->in);
        free(s->some);
        free(s);
    }
}
