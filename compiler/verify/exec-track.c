/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <netinet/in.h>

#include "openvswitch/ofp-actions.h"
#include "packets.h"
#include "util.h"
#include "verify/exec-private.h"

/* As lib/conntrack.c sets ct_state; it sets neither new nor established for
 * ICMP errors. */
const uint32_t exec_track_states[N_TRACKS] = {
    [TRACK_NONE] = CS_TRACKED,
    [TRACK_NEW] = CS_TRACKED | CS_NEW,
    [TRACK_FORWARD] = CS_TRACKED | CS_ESTABLISHED,
    [TRACK_REPLY] = CS_TRACKED | CS_ESTABLISHED | CS_REPLY_DIR,
    [TRACK_RELATED] = CS_TRACKED | CS_RELATED | CS_REPLY_DIR,
    [TRACK_ERROR] = CS_TRACKED | CS_RELATED,
    [TRACK_INVALID] = CS_TRACKED | CS_INVALID,
};

/* What becomes of some packets: does any leave? */
struct leaves {
    const struct effects *effects;
    bool out;
};

enum { ZONE_SHIFT = 20 };       /* Of the second in F_TRACKED. */

/* The fields that say what connection tracking knows in a zone. */
struct zone {
    enum field connection, mark;
    bool first;
    const u128 *noted;          /* The mark that ct() has noted there; NULL: it
                                 * noted nothing. */
};

static dd_t
is_icmp(struct space *space)
{
    return dd_or(space->dd, space_is(space, F_NW_PROTO, IPPROTO_ICMP),
                 space_is(space, F_NW_PROTO, IPPROTO_ICMPV6));
}

/* The packets that say themselves what opened their connection, if it matters
 * what they say. */
static dd_t
tells_ports(struct exec *ex, enum track track)
{
    struct space *space = ex->space;
    dd_t whole = space_is(space, F_NW_FRAG, 0);

    if (ex->any_opener && !ex->values) {
        return DD_NONE;
    } else if (ex->values) {
        bool icmp = (ex->values[F_NW_PROTO] == IPPROTO_ICMP
                     || ex->values[F_NW_PROTO] == IPPROTO_ICMPV6);

        return (!ex->values[F_NW_FRAG] && !(track == TRACK_REPLY && icmp)
                ? DD_ALL : DD_NONE);
    }
    return (track == TRACK_REPLY
            ? dd_and(space->dd, whole, dd_not(space->dd, is_icmp(space)))
            : whole);
}

static void
set_pair(struct exec *ex, struct state *s, enum field to, enum field from)
{
    s->fields[to] = exec_field(ex, from);
}

/* The addresses of what opened the connection. */
static void
set_addresses(struct exec *ex, struct state *s, enum track track)
{
    bool back = track == TRACK_REPLY || track == TRACK_RELATED;

    set_pair(ex, s, F_CT_NW_SRC, back ? F_NW_DST : F_NW_SRC);
    set_pair(ex, s, F_CT_IPV6_SRC, back ? F_IPV6_DST : F_IPV6_SRC);
    set_pair(ex, s, F_CT_NW_DST, back ? F_NW_SRC : F_NW_DST);
    set_pair(ex, s, F_CT_IPV6_DST, back ? F_IPV6_SRC : F_IPV6_DST);
    if (track == TRACK_RELATED) {
        set_pair(ex, s, F_CT_NW_DST, F_OUTSIDE);
        set_pair(ex, s, F_CT_IPV6_DST, F_OUTSIDE6);
    } else if (track == TRACK_ERROR) {
        set_pair(ex, s, F_CT_NW_SRC, F_OUTSIDE);
        set_pair(ex, s, F_CT_IPV6_SRC, F_OUTSIDE6);
    }
}

/* Protocol and ports that may be any.  Where there is no opener they are 0,
 * which is one of those. */
static void
set_any_opener(struct exec *ex, struct state *s)
{
    set_pair(ex, s, F_CT_NW_PROTO, F_OPEN_PROTO);
    set_pair(ex, s, F_CT_TP_SRC, F_OPEN_SRC);
    set_pair(ex, s, F_CT_TP_DST, F_OPEN_DST);
}

/* 'plain': the packet tells the ports. */
static void
set_opener(struct exec *ex, struct state *s, enum track track, bool plain)
{
    bool error = track == TRACK_RELATED || track == TRACK_ERROR;
    bool back = track == TRACK_REPLY;

    if (track == TRACK_NONE || track == TRACK_INVALID) {
        for (int f = F_CT_NW_PROTO; f <= F_CT_TP_DST; f++) {
            s->fields[f] = exec_const(ex, f, 0);
        }
        return;
    }
    set_addresses(ex, s, track);
    set_pair(ex, s, F_CT_NW_PROTO, error ? F_OPEN_PROTO : F_NW_PROTO);
    set_pair(ex, s, F_CT_TP_SRC, error || !plain ? F_OPEN_SRC
             : back ? F_TP_DST : F_TP_SRC);
    set_pair(ex, s, F_CT_TP_DST, error || !plain ? F_OPEN_DST
             : back ? F_TP_SRC : F_TP_DST);
}

static void
forget_opener(struct exec *ex, struct state *s)
{
    for (int f = F_CT_NW_PROTO; f <= F_CT_TP_DST; f++) {
        s->fields[f] = term_unknown(ex->terms, fields[f].width);
    }
}

/* Which of the packet's fields speak of 'zone', in a state that has been in
 * others.  Returns false if there are too many, or if one copy would not know
 * where another has been. */
static bool
find_zone(struct exec *ex, struct state *s, uint32_t zone, struct zone *z)
{
    u128 tracked;
    uint64_t first, second;

    exec_is_const(ex, s->fields[F_TRACKED], &tracked);
    first = tracked & ((1 << ZONE_SHIFT) - 1);
    second = tracked >> ZONE_SHIFT;
    if (tracked & TRACKED_COPY) {
        return false;
    } else if (!first || first == zone + 1) {
        *z = (struct zone) { F_CONN1, F_MARK1, true, NULL };
        first = zone + 1;
    } else if (!second || second == zone + 1) {
        *z = (struct zone) { F_CONN2, F_MARK2, false, NULL };
        second = zone + 1;
    } else {
        return false;
    }
    s->fields[F_TRACKED] = exec_const(ex, F_TRACKED,
                                      first | second << ZONE_SHIFT);
    return true;
}

/* What is known of packets that come back as 'track'; 'plain' as above. */
static void
set_tracked(struct exec *ex, struct state *s, const struct zone *z,
            enum track track, bool plain)
{
    s->fields[F_CT_STATE] = exec_const(ex, F_CT_STATE,
                                         exec_track_states[track]);
    /* A packet that opens a connection again, or is not valid in one, has its
     * mark too (write_ct_md()). */
    s->fields[F_CT_MARK] = (z->noted ? exec_const(ex, F_CT_MARK, *z->noted)
                            : track != TRACK_NONE ? exec_field(ex, z->mark)
                            : exec_const(ex, F_CT_MARK, 0));
    if (!z->first) {
        forget_opener(ex, s);
        return;
    }
    set_opener(ex, s, track, plain);
    if (ex->any_opener && !ex->values) {
        set_any_opener(ex, s);
    }
}

/* What becomes of packets that come back as 'track'. */
static dd_t
come_back(struct exec *ex, const struct state *state, const struct zone *z,
          enum track track, uint8_t table)
{
    struct state s = *state;
    dd_t plain = tells_ports(ex, track), yes = DD_NONE, no = DD_NONE;

    if (!z->first) {
        set_tracked(ex, &s, z, track, false);
        return exec_recirculate(ex, table, &s);
    }
    if (plain != DD_NONE) {
        set_tracked(ex, &s, z, track, true);
        yes = exec_recirculate(ex, table, &s);
    }
    if (plain != DD_ALL) {
        set_tracked(ex, &s, z, track, false);
        no = exec_recirculate(ex, table, &s);
    }
    return dd_choose(ex->space->dd, plain, yes, no);
}

/* Finds the packets of each case, in the first zone: of each track those that
 * tell ports, and the others. */
static void
find_cases(struct exec *ex)
{
    struct space *space = ex->space;

    for (enum track track = 0; track < N_TRACKS; track++) {
        dd_t those = space_is(space, F_CONN1, track);
        dd_t plain = tells_ports(ex, track);

        space->cases[2 * track] = dd_and(space->dd, those, plain);
        space->cases[2 * track + 1] = dd_and(space->dd, those,
                                             dd_not(space->dd, plain));
    }
}

/* What becomes of packets that come back in the first zone, however tracked:
 * what is said of them there differs by case, and little asks for it before
 * POLICY. */
static dd_t
come_back_all(struct exec *ex, const struct state *state,
              const struct zone *z, uint8_t table)
{
    struct state s = *state, of_case[N_CASES];

    find_cases(ex);
    for (int i = 0; i < N_CASES; i++) {
        of_case[i] = *state;
        set_tracked(ex, &of_case[i], z, i / 2, !(i % 2));
    }
    for (int f = F_CT_STATE; f <= F_CT_TP_DST; f++) {
        term_t v[N_CASES];

        for (int i = 0; i < N_CASES; i++) {
            v[i] = of_case[i].fields[f];
        }
        s.fields[f] = term_cases(ex->terms, v);
    }
    return exec_recirculate(ex, table, &s);
}

/* Is it the tuple of the packet as it came, which F_CONN1 and F_CONN2 speak
 * of? */
static bool
has_own_tuple(struct exec *ex, const struct state *s)
{
    static const enum field tuple[] = {
        F_ETH_TYPE, F_NW_SRC, F_NW_DST, F_IPV6_SRC, F_IPV6_DST, F_NW_FRAG,
        F_NW_PROTO, F_TP_SRC, F_TP_DST,
    };

    for (size_t i = 0; i < ARRAY_SIZE(tuple); i++) {
        if (s->fields[tuple[i]] != exec_field(ex, tuple[i])) {
            return false;
        }
    }
    return true;
}

static bool
look_for_out(void *leaves_, dd_t leaf)
{
    struct leaves *leaves = leaves_;
    const struct effect *e;
    size_t n;

    e = effects_get(leaves->effects, leaf, &n);
    for (size_t i = 0; i < n; i++) {
        /* What is left to a tail may leave. */
        leaves->out |= e[i].kind == EFFECT_OUT || e[i].kind == EFFECT_TAIL;
    }
    return leaves->out;
}

/* Does anything leave of what a zone was to note, and had no room for?  Its
 * state is as if it had been noted, but for the mark (conn_not_found() of
 * lib/conntrack.c). */
static bool
passes_unnoted(struct exec *ex, const struct state *s, const struct zone *z,
               uint8_t table)
{
    static const u128 unnoted = 0;
    struct zone full = *z;
    struct leaves leaves = { ex->effects, false };

    full.noted = &unnoted;
    dd_each_leaf(ex->space->dd, come_back(ex, s, &full, TRACK_NEW, table),
                 look_for_out, &leaves);
    return leaves.out;
}

/* 'noted': the mark of what is noted in the zone first, or NULL. */
static dd_t
recirculate(struct exec *ex, const struct table_flow *flow,
            struct state *state, uint32_t zone, uint8_t table,
            const u128 *noted)
{
    dd_t result = DD_NONE;
    struct state s;
    struct zone z;

    if (!has_own_tuple(ex, state)) {
        return exec_refuse(ex, flow, "its ct() comes after a change of what "
                           "is tracked");
    } else if (!find_zone(ex, state, zone, &z)) {
        return exec_refuse(ex, flow, "it enters a third zone, or one as a "
                           "copy");
    }
    z.noted = noted;
    s = *state;
    s.fields[F_CT_ZONE] = exec_const(ex, F_CT_ZONE, zone);
    if (ex->values) {
        return come_back(ex, &s, &z, ex->values[z.connection], table);
    } else if (noted && passes_unnoted(ex, &s, &z, table)) {
        return exec_refuse(ex, flow, "what it does not note, because the zone "
                           "is full, passes all the same");
    }
    if (z.first && !noted && !ex->by_port && !ex->apart) {
        return come_back_all(ex, &s, &z, table);
    }
    for (enum track track = 0; track < N_TRACKS && !ex->refused; track++) {
        result = dd_choose(ex->space->dd,
                           space_is(ex->space, z.connection, track),
                           come_back(ex, &s, &z, track, table), result);
    }
    return result;
}

/* The mark that a connection is noted with. */
static bool
get_mark(struct exec *ex, const struct table_flow *flow,
         const struct state *state, const struct ofpact_conntrack *ct,
         u128 *mark)
{
    struct state s = *state;
    const struct ofpact *a;

    /* Of a connection that is there already, the bits stay that are not
     * set. */
    s.fields[F_CT_MARK] = (ofpact_ct_get_action_len(ct)
                           ? term_unknown(ex->terms, 32)
                           : exec_const(ex, F_CT_MARK, 0));
    OFPACT_FOR_EACH (a, ct->actions, ofpact_ct_get_action_len(ct)) {
        if ((a->type != OFPACT_SET_FIELD && a->type != OFPACT_REG_MOVE)
            || !exec_set(ex, flow, &s, a)) {
            return false;
        }
    }
    return exec_is_const(ex, s.fields[F_CT_MARK], mark);
}

/* As compose_conntrack_action() of ofproto/ofproto-dpif-xlate.c does at its
 * end. */
static void
forget_connection(struct exec *ex, struct state *s)
{
    for (int f = F_CT_STATE; f <= F_CT_TP_DST; f++) {
        s->fields[f] = exec_const(ex, f, 0);
    }
}

dd_t
exec_track(struct exec *ex, const struct table_flow *flow, struct state *s,
           const struct ofpact_conntrack *ct)
{
    bool commit = ct->flags & NX_CT_F_COMMIT;
    u128 zone = ct->zone_imm, mark = 0;
    dd_t result;

    if (ct->zone_src.field) {
        enum field f = field_find(ct->zone_src.field);

        if (f == N_FIELDS || !exec_is_const(ex, s->fields[f], &zone)) {
            return exec_refuse(ex, flow, "its ct() has a zone that is not "
                               "known");
        }
        zone = zone >> ct->zone_src.ofs & field_ones(ct->zone_src.n_bits);
    }
    if (ct->alg || ct->flags & ~NX_CT_F_COMMIT
        || !get_mark(ex, flow, s, ct, &mark)
        || (!commit && ofpact_ct_get_action_len(ct))) {
        return exec_refuse(ex, flow, "its ct() does more than to track, to "
                           "commit and to mark");
    }
    result = effects_one(ex->effects, commit ? EFFECT_COMMIT : EFFECT_TRACK,
                         zone | (uint64_t) mark << 16);
    if (ct->recirc_table != NX_CT_RECIRC_NONE) {
        result = dd_apply(ex->space->dd, &ex->join, result, recirculate(
            ex, flow, s, zone, ct->recirc_table, commit ? &mark : NULL));
    }
    forget_connection(ex, s);
    return result;
}
