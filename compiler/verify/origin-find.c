/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Where what a flow matches comes from. */

#include "verify/origin-private.h"

#include <netinet/in.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "util.h"

/* More is not looked at: then it could be all packets. */
enum { MAX_SOURCES = 32, MAX_VALUES = 64, MAX_WRITERS = 1024 };

/* What is followed: of packets 'within', the field has these bits where 'flow'
 * asks for it. */
struct source {
    enum field field;
    u128 value, mask;
    const struct table_flow *flow;
    dd_t within;
};

struct search {
    const struct origins *origins;
    struct space *space;
    struct arena *arena;
    struct source sources[MAX_SOURCES];
    size_t n, n_writers;
    struct comers found;        /* Of 'sources'. */
    bool all;                   /* Any packet may be among them. */
    bool nested;                /* It is about what a flow matches that was
                                 * found. */
};

/* Adds those of 'set', by the port or, if that is OFPP_NONE, by any. */
static void
add_comers(struct search *s, ofp_port_t port, dd_t set)
{
    struct comers *found = &s->found;

    if (set == DD_NONE) {
        return;
    } else if (port == OFPP_NONE) {
        found->any = dd_or(s->space->dd, found->any, set);
        s->all |= found->any == DD_ALL;
        return;
    }
    *vec_push(s->arena, &found->by_port) = (struct comer) { port, set };
}

/* Is what is known of a packet in 'table' known by the first zone that it has
 * been in, if it has been in one? */
static bool
is_first_zone(const struct search *s, uint8_t table)
{
    return !bitmap_is_set(s->origins->later.v, table);
}

static dd_t
is_track(const struct search *s, enum track first, enum track last)
{
    return space_range(s->space, F_CONN1, first, last);
}

/* The packets that come back from connection tracking in such a state, or that
 * it has not seen. */
static dd_t
find_state(const struct search *s, const struct condition *c)
{
    dd_t set = c->value & c->mask ? DD_NONE : DD_ALL;

    for (enum track track = 0; track < N_TRACKS && set != DD_ALL; track++) {
        if (!((exec_track_states[track] ^ c->value) & c->mask)) {
            set = dd_or(s->space->dd, set, is_track(s, track, track));
        }
    }
    return set;
}

bool
origin_is_changed(const struct origins *o, enum field f, uint8_t table)
{
    return bitmap_is_set(o->of[f].behind.v, table);
}

/* The packets that have these bits in a field in the flow's table: any, if one
 * before has changed it. */
static dd_t
find_packets(const struct search *s, const struct condition *c,
             const struct table_flow *flow)
{
    return (c->field == F_CT_STATE
            ? is_first_zone(s, flow->table) ? find_state(s, c) : DD_ALL
            : !field_is_packets(c->field)
            || origin_is_changed(s->origins, c->field, flow->table) ? DD_ALL
            : space_bits(s->space, c->field, c->value, c->mask));
}

/* Of packets 'within', those that meet 'flow'; but for registers. */
static dd_t
find_meeting(const struct search *s, const struct table_flow *flow,
             dd_t within)
{
    for (size_t i = 0; i < flow->n_conditions; i++) {
        within = dd_and(s->space->dd, within,
                        find_packets(s, &flow->conditions[i], flow));
    }
    return within;
}

/* Adds them. */
static void
add_writer(struct search *s, const struct source *source,
           const struct table_flow *flow)
{
    ofp_port_t port = OFPP_NONE;

    if (++s->n_writers > MAX_WRITERS) {
        s->all = true;
        return;
    }
    for (size_t i = 0; i < flow->n_conditions; i++) {
        const struct condition *c = &flow->conditions[i];

        if (c->field == F_IN_PORT && c->mask == field_ones(16)
            && !origin_is_changed(s->origins, F_IN_PORT, flow->table)) {
            port = u16_to_ofp(c->value);
        }
    }
    add_comers(s, port, find_meeting(s, flow, source->within));
}

/* Goes on with where the bits come from. */
static void
add_source(struct search *s, const struct source *source)
{
    if (source->within == DD_NONE) {
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        const struct source *other = &s->sources[i];

        if (other->field == source->field && other->value == source->value
            && other->mask == source->mask
            && other->within == source->within
            && other->flow->table == source->flow->table) {
            return;
        }
    }
    if (s->n < MAX_SOURCES) {
        s->sources[s->n++] = *source;
    } else {
        s->all = true;
    }
}

/* Adds the packets of 'set' of which the field says it. */
static void
add_told(struct search *s, const struct source *source, dd_t set,
         enum field f)
{
    struct dd *dd = s->space->dd;

    set = dd_and(dd, set, space_bits(s->space, f, source->value,
                                     source->mask));
    add_comers(s, OFPP_NONE, dd_and(dd, set, source->within));
}

/* The same of a port of the opener: 'forth' and 'back' say it of packets from
 * and to who opened it that tell ports, 'open' of others. */
static void
add_port(struct search *s, const struct source *source, enum field forth,
         enum field back, enum field open)
{
    struct dd *dd = s->space->dd;
    dd_t whole = space_is(s->space, F_NW_FRAG, 0);
    dd_t icmp = dd_or(dd, space_is(s->space, F_NW_PROTO, IPPROTO_ICMP),
                      space_is(s->space, F_NW_PROTO, IPPROTO_ICMPV6));
    dd_t to = dd_and(dd, whole, is_track(s, TRACK_NEW, TRACK_FORWARD));
    dd_t from = dd_and(dd, whole, is_track(s, TRACK_REPLY, TRACK_REPLY));

    from = dd_and(dd, from, dd_not(dd, icmp));
    add_told(s, source, to, forth);
    add_told(s, source, from, back);
    add_told(s, source, dd_and(dd, is_track(s, TRACK_NEW, TRACK_ERROR),
                               dd_not(dd, dd_or(dd, to, from))), open);
}

/* What is known of the opener of a connection, as set_opener() of exec-track.c
 * has it; 0 where nothing is. */
static void
follow_opener(struct search *s, const struct source *source)
{
    static const enum field addresses[][3] = {
        { F_NW_SRC, F_NW_DST, F_OUTSIDE },
        { F_IPV6_SRC, F_IPV6_DST, F_OUTSIDE6 },
    };

    switch ((int) source->field) {
    case F_CT_NW_PROTO:
        add_told(s, source, is_track(s, TRACK_NEW, TRACK_REPLY), F_NW_PROTO);
        add_told(s, source, is_track(s, TRACK_RELATED, TRACK_ERROR),
                 F_OPEN_PROTO);
        break;
    case F_CT_TP_SRC:
        add_port(s, source, F_TP_SRC, F_TP_DST, F_OPEN_SRC);
        break;
    case F_CT_TP_DST:
        add_port(s, source, F_TP_DST, F_TP_SRC, F_OPEN_DST);
        break;
    default:
        for (size_t i = 0; i < 3; i++) {
            bool ip6 = (source->field == F_CT_IPV6_SRC
                        || source->field == F_CT_IPV6_DST);

            add_told(s, source, DD_ALL, addresses[ip6][i]);
        }
    }
}

static void
follow_tracked(struct search *s, const struct source *source)
{
    if (!source->value || !is_first_zone(s, source->flow->table)) {
        add_comers(s, OFPP_NONE, source->within);
    } else {
        follow_opener(s, source);
    }
}

/* Does a flow of that table change the packet's field?  The same flow may, and
 * copy it then. */
static bool
is_changed_here(const struct search *s, enum field f, uint8_t table)
{
    return (field_is_packets(f)
            && bitmap_is_set(s->origins->of[f].by.v, table));
}

static dd_t find_noted(const struct search *, const struct table_flow *,
                       dd_t within);

/* Where a part of a field is written, and bits of it asked for. */
static void
follow_part(struct search *s, const struct source *source,
            const struct write *w)
{
    struct source from = *source;

    if (!(w->mask & source->mask)) {
        return;
    } else if (source->mask & ~w->mask
               || (w->from < N_FIELDS
                   && is_changed_here(s, w->from, w->flow->table))) {
        add_comers(s, OFPP_NONE, source->within);
    } else if (w->from < N_FIELDS) {
        from.field = w->from;
        from.value = source->value >> w->ofs << w->from_ofs;
        from.mask = source->mask >> w->ofs << w->from_ofs;
        from.flow = w->flow;
        from.within = find_noted(s, w->flow, find_meeting(s, w->flow,
                                                          source->within));
        add_source(s, &from);
    } else if (!((w->value ^ source->value) & source->mask)) {
        add_writer(s, source, w->flow);
    }
}

static void
follow_register(struct search *s, const struct source *source)
{
    const struct written *w = &s->origins->of[source->field];
    const struct write *write;

    if (!source->value) {       /* As all are in the beginning. */
        add_comers(s, OFPP_NONE, source->within);
    } else if (source->mask == field_ones(fields[source->field].width)) {
        HMAP_FOR_EACH_WITH_HASH (write, node, origin_hash(source->value),
                                 &w->whole) {
            follow_part(s, source, write);
        }
    } else if (hmap_count(&w->whole) > MAX_VALUES) {
        add_comers(s, OFPP_NONE, source->within);
    } else {
        HMAP_FOR_EACH (write, node, &w->whole) {
            follow_part(s, source, write);
        }
    }
    for (size_t i = 0; i < w->parts.n && !s->all; i++) {
        follow_part(s, source, w->parts.v[i]);
    }
}

static void
follow(struct search *s, const struct source *source)
{
    struct condition c = { source->field, source->value, source->mask };
    enum field f = source->field;

    if (field_is_packets(f) || f == F_CT_STATE) {
        add_comers(s, OFPP_NONE, dd_and(s->space->dd, source->within,
                                        find_packets(s, &c, source->flow)));
    } else if (f == F_IN_PORT && source->mask == field_ones(16)
               && !origin_is_changed(s->origins, F_IN_PORT,
                                     source->flow->table)) {
        add_comers(s, u16_to_ofp(source->value), source->within);
    } else if (field_is_register(f)) {
        follow_register(s, source);
    } else if (f >= F_CT_NW_PROTO && f <= F_CT_TP_DST) {
        follow_tracked(s, source);
    } else {
        add_comers(s, OFPP_NONE, source->within);
    }
}

/* Those of bits of a field that are all written at once, or not at all. */
static void
find_bits(struct search *s, const struct condition *c, u128 mask,
          const struct table_flow *flow)
{
    struct source first = { c->field, c->value & mask, mask, flow, DD_ALL };

    memset(&s->found, 0, sizeof s->found);
    s->found.any = DD_NONE;
    s->n = s->n_writers = 0;
    s->all = false;
    add_source(s, &first);
    for (size_t i = 0; i < s->n && !s->all; i++) {
        struct source source = s->sources[i];

        follow(s, &source);
    }
}

/* Of packets 'within', those that have what the flow matches of registers, as
 * far as that can be told of all ports; once only. */
static dd_t
find_noted(const struct search *outer, const struct table_flow *flow,
           dd_t within)
{
    struct search s = *outer;

    s.nested = true;
    for (size_t i = 0; i < flow->n_conditions && !outer->nested; i++) {
        const struct condition *c = &flow->conditions[i];

        if (field_is_register(c->field)) {
            find_bits(&s, c, c->mask, flow);
            if (!s.all && !s.found.by_port.n) {
                within = dd_and(s.space->dd, within, s.found.any);
            }
        }
    }
    return within;
}

/* The bits of the lowest that 'mask' has which are written together. */
static u128
first_bits(const struct origins *o, enum field f, u128 mask)
{
    const struct written *w = &o->of[f];
    u128 first = mask & -mask, bits = mask;

    for (size_t i = 0; i < w->parts.n; i++) {
        u128 part = w->parts.v[i]->mask;

        bits &= part & first ? part : ~part;
    }
    return bits;
}

void
origins_find(const struct origins *o, const struct table_flow *flow,
             struct space *space, struct arena *arena, comers_vec *found)
{
    struct search s = { .origins = o, .space = space, .arena = arena };

    for (size_t i = 0; i < flow->n_conditions; i++) {
        const struct condition *c = &flow->conditions[i];
        u128 left = c->mask, bits;

        for (; left; left &= ~bits) {
            bits = (field_is_packets(c->field) ? left
                    : first_bits(o, c->field, left));
            find_bits(&s, c, bits, flow);
            if (!s.all) {
                *vec_push(arena, found) = s.found;
            }
        }
    }
}

dd_t
origin_by_port(const comers_vec *all, ofp_port_t port, struct space *space)
{
    struct dd *dd = space->dd;
    dd_t set = DD_ALL;

    for (size_t i = 0; i < all->n && set != DD_NONE; i++) {
        const struct comers *comers = &all->v[i];
        dd_t those = comers->any;

        for (size_t k = 0; k < comers->by_port.n; k++) {
            if (comers->by_port.v[k].port == port) {
                those = dd_or(dd, those, comers->by_port.v[k].set);
            }
        }
        set = dd_and(dd, set, those);
    }
    return set;
}
