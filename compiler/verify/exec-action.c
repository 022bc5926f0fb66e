/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "sema/ident.h"
#include "util.h"
#include "verify/exec-private.h"

static dd_t run_actions(struct exec *, const struct table_flow *,
                        struct state *, const struct ofpact *,
                        const struct ofpact *end);

static dd_t
join(struct exec *ex, dd_t a, dd_t b)
{
    dd_t none = effects_none(ex->effects);

    return (a == none ? b : b == none ? a
            : dd_apply(ex->space->dd, &ex->join, a, b));
}

/* The field of 'mf', or N_FIELDS after refusing. */
static enum field
known_field(struct exec *ex, const struct table_flow *flow,
            const struct mf_field *mf)
{
    enum field f = field_find(mf);

    if (f == N_FIELDS) {
        exec_refuse(ex, flow, arena_printf(ex->tables->arena,
                                           "an action is about %s",
                                           mf->name));
    }
    return f;
}

static bool
copy(struct exec *ex, const struct table_flow *flow, term_t *to, int ofs,
     int n, term_t from, int from_ofs)
{
    if (!term_copy(ex->terms, to, ofs, n, from, from_ofs)) {
        exec_refuse(ex, flow, "it puts a field together of many");
        return false;
    }
    return true;
}

/* What matches ports sees none in fragments, but actions find those of the
 * first (ofproto/ofproto-dpif.c, rule_dpif_lookup_from_table()). */
static bool
are_fragments_ports(struct exec *ex, const struct table_flow *flow,
                    enum field f)
{
    struct space *space = ex->space;

    if ((f != F_TP_SRC && f != F_TP_DST) || ex->values
        || dd_and(space->dd, dd_and(space->dd, ex->met, space_real(space)),
                  space_bits(space, F_NW_FRAG, 1, 1)) == DD_NONE) {
        return false;
    }
    exec_refuse(ex, flow, "an action is about the ports of fragments");
    return true;
}

/* Where a member of struct flow has another width than the field that is set,
 * all of it is set. */
static bool
set_field(struct exec *ex, const struct table_flow *flow, struct state *s,
          const struct ofpact_set_field *set)
{
    const struct mf_field *mf = set->field;
    enum field f = known_field(ex, flow, mf);
    u128 value, mask;

    if (f == N_FIELDS || are_fragments_ports(ex, flow, f)) {
        return false;
    }
    value = field_from_value(set->value, mf->n_bytes);
    mask = field_from_value(ofpact_set_field_mask(set), mf->n_bytes);
    if ((mask & field_ones(mf->n_bits)) == field_ones(mf->n_bits)) {
        s->fields[f] = exec_const(ex, f, value);
        return true;
    }
    term_t from = exec_const(ex, f, value);
    for (int ofs = 0, n; ofs < fields[f].width; ofs += MAX(n, 1)) {
        for (n = 0; ofs + n < fields[f].width && mask >> (ofs + n) & 1; n++) {
            continue;
        }
        if (n && !copy(ex, flow, &s->fields[f], ofs, n, from, ofs)) {
            return false;
        }
    }
    return true;
}

static bool
move_field(struct exec *ex, const struct table_flow *flow, struct state *s,
           const struct ofpact_reg_move *move)
{
    enum field from = known_field(ex, flow, move->src.field);
    enum field to = known_field(ex, flow, move->dst.field);

    if (from == F_IN_PORT) {
        /* What stands for all ports that no flow names is one of them. */
        exec_refuse(ex, flow, "an action copies the number of a port");
        return false;
    }
    return (from != N_FIELDS && to != N_FIELDS
            && !are_fragments_ports(ex, flow, from)
            && !are_fragments_ports(ex, flow, to)
            && copy(ex, flow, &s->fields[to], move->dst.ofs,
                    move->dst.n_bits, s->fields[from], move->src.ofs));
}

bool
exec_set(struct exec *ex, const struct table_flow *flow, struct state *s,
         const struct ofpact *a)
{
    return (a->type == OFPACT_SET_FIELD
            ? set_field(ex, flow, s, ofpact_get_SET_FIELD(a))
            : move_field(ex, flow, s, ofpact_get_REG_MOVE(a)));
}

/* What leaves; the outer header only where there is one. */
static dd_t
output(struct exec *ex, const struct table_flow *flow, const struct state *s,
       ofp_port_t port)
{
    struct out out;
    u128 in_port;

    if (exec_is_const(ex, s->fields[F_IN_PORT], &in_port)
        && port == u16_to_ofp(in_port)) {
        /* A switch leaves that out; only OFPP_IN_PORT sends back. */
        return effects_one(ex->effects, EFFECT_END, flow->cookie);
    }
    memset(&out, 0, sizeof out);
    out.port = ofp_to_u16(port);
    out.fields[F_QUEUE] = s->fields[F_QUEUE];
    out.fields[F_ND_RESERVED] = s->fields[F_ND_RESERVED];
    out.fields[F_ND_OPTIONS] = s->fields[F_ND_OPTIONS];
    for (int f = F_FIRST_OF_PACKET; f < N_FIELDS; f++) {
        bool outer = f >= F_TUN_ID && f <= F_TUN_IPV6_DST;

        if (fields[f].mf != MFF_N_IDS && (!outer || port == ex->tunnel)) {
            out.fields[f] = s->fields[f];
        }
    }
    return effects_one(ex->effects, EFFECT_OUT,
                       effects_add_out(ex->effects, &out));
}

/* dec_ttl ends the list for packets whose TTL is 0 or 1. */
static dd_t
dec_ttl(struct exec *ex, const struct table_flow *flow, struct state *s,
        const struct ofpact *rest, const struct ofpact *end)
{
    term_t *ttl = &s->fields[F_NW_TTL];
    struct dd *dd = ex->space->dd;
    dd_t met = ex->met, ended, left = DD_NONE;

    if (!term_match(ex->terms, *ttl, 0, 0xfe, ex->space, &ended)
        || !term_decrement(ex->terms, ttl)) {
        return exec_refuse(ex, flow, "dec_ttl of what is no TTL");
    }
    if (ended != DD_ALL && exec_nest(ex, flow->table)) {
        left = run_actions(ex, flow, s, rest, end);
        ex->nested--;
    }
    return (dd_and(dd, ended, met) == DD_NONE ? left
            : dd_choose(dd, ended, effects_one(ex->effects, EFFECT_TTL, 0),
                        left));
}

/* What is done to a copy is in brackets. */
static dd_t
clone(struct exec *ex, const struct table_flow *flow, const struct state *s,
      const struct ofpact_nest *nest)
{
    struct state of_copy = *s;
    size_t len = ofpact_nest_get_action_len(nest);
    u128 tracked;
    dd_t result;

    if (!exec_nest(ex, flow->table)) {
        return DD_NONE;
    }
    exec_is_const(ex, s->fields[F_TRACKED], &tracked);
    of_copy.fields[F_TRACKED] = exec_const(ex, F_TRACKED,
                                           tracked | TRACKED_COPY);
    result = run_actions(ex, flow, &of_copy, nest->actions,
                         ofpact_end(nest->actions, len));
    ex->nested--;
    result = join(ex, effects_one(ex->effects, EFFECT_OPEN, 0), result);
    return join(ex, result, effects_one(ex->effects, EFFECT_CLOSE, 0));
}

static bool
is_last(const struct ofpact *a, const struct ofpact *end)
{
    return ofpact_next(a) == end;
}

static dd_t
resubmit(struct exec *ex, const struct table_flow *flow,
         const struct state *s, const struct ofpact_resubmit *resubmit,
         const struct ofpact *end)
{
    if (resubmit->in_port != OFPP_IN_PORT || resubmit->with_ct_orig
        || resubmit->table_id == 255) {
        return exec_refuse(ex, flow, "it resubmits with another port or as "
                           "another packet");
    } else if (!is_last(&resubmit->ofpact, end)) {
        /* What follows sees what has been changed there. */
        return exec_refuse(ex, flow, "it goes on after resubmit");
    }
    return exec_resubmit(ex, flow->table, resubmit->table_id, s);
}

static dd_t
run_one(struct exec *ex, const struct table_flow *flow, struct state *s,
        const struct ofpact *a, const struct ofpact *end)
{
    switch ((int) a->type) {
    case OFPACT_METER:
        return effects_one(ex->effects, EFFECT_METER,
                           ofpact_get_METER(a)->meter_id);
    case OFPACT_OUTPUT:
        return output(ex, flow, s, ofpact_get_OUTPUT(a)->port);
    case OFPACT_CT:
        return exec_track(ex, flow, s, ofpact_get_CT(a));
    case OFPACT_CLONE:
        return clone(ex, flow, s, ofpact_get_CLONE(a));
    case OFPACT_RESUBMIT:
        return resubmit(ex, flow, s, ofpact_get_RESUBMIT(a), end);
    case OFPACT_GOTO_TABLE:
        return exec_resubmit(ex, flow->table,
                             ofpact_get_GOTO_TABLE(a)->table_id, s);
    default:
        return exec_refuse(ex, flow, arena_printf(
            ex->tables->arena, "it has the action %s",
            ofpact_name(a->type)));
    }
}

static dd_t
run_actions(struct exec *ex, const struct table_flow *flow, struct state *s,
            const struct ofpact *a, const struct ofpact *end)
{
    dd_t result = effects_none(ex->effects);

    for (; a < end && !ex->refused; a = ofpact_next(a)) {
        if (a->type == OFPACT_SET_FIELD || a->type == OFPACT_REG_MOVE) {
            exec_set(ex, flow, s, a);
        } else if (a->type == OFPACT_SET_QUEUE) {
            s->fields[F_QUEUE] = exec_const(
                ex, F_QUEUE, ofpact_get_SET_QUEUE(a)->queue_id);
        } else if (a->type == OFPACT_DEC_TTL) {
            return join(ex, result, dec_ttl(ex, flow, s, ofpact_next(a),
                                            end));
        } else if (a->type != OFPACT_NOTE) {
            result = join(ex, result, run_one(ex, flow, s, a, end));
        }
    }
    return result;
}

/* Does a packet go on from the flow, or leave? */
static bool
goes_on(const struct table_flow *flow)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_OUTPUT || a->type == OFPACT_CLONE
            || a->type == OFPACT_RESUBMIT || a->type == OFPACT_GOTO_TABLE
            || (a->type == OFPACT_CT
                && ofpact_get_CT(a)->recirc_table != NX_CT_RECIRC_NONE)) {
            return true;
        }
    }
    return false;
}

static bool
is_of_rule(uint64_t cookie)
{
    return ((cookie & COOKIE_MARK_MASK) == COOKIE_MARK
            && (cookie & ~COOKIE_MARK_MASK) >= IDENT_RESERVED);
}

dd_t
exec_flow(struct exec *ex, const struct table_flow *flow,
          const struct state *state, dd_t met)
{
    struct state s = *state;
    struct reach outer = ex->reach;
    dd_t outer_met = ex->met, result;

    s.fields[F_CONJ_ID] = term_zero(ex->terms, F_CONJ_ID);
    if (ex->values) {
        *vec_push(ex->arena, ex->steps) = flow;
    } else if (flow->temporary) {
        return exec_refuse(ex, flow, EXEC_TEMPORARY);
    }
    ex->met = met;
    ex->reach = (struct reach) { .depth = 0 };
    result = run_actions(ex, flow, &s, flow->ofpacts,
                         ofpact_end(flow->ofpacts, flow->ofpacts_len));
    ex->met = outer_met;
    ex->reach = reach_max(outer, ex->reach);
    if (!goes_on(flow)) {
        result = join(ex, result, effects_one(ex->effects, EFFECT_END,
                                              flow->cookie));
    } else if (is_of_rule(flow->cookie)) {
        result = join(ex, effects_one(ex->effects, EFFECT_RULE,
                                      flow->cookie), result);
    }
    return result;
}

/* The fields of the tuple of what is tracked. */
static field_set
tuple_reads(void)
{
    return (FIELD_BIT(F_ETH_TYPE) | FIELD_BIT(F_NW_SRC) | FIELD_BIT(F_NW_DST)
            | FIELD_BIT(F_IPV6_SRC) | FIELD_BIT(F_IPV6_DST)
            | FIELD_BIT(F_NW_FRAG) | FIELD_BIT(F_NW_PROTO)
            | FIELD_BIT(F_TP_SRC) | FIELD_BIT(F_TP_DST));
}

static field_set add_reads(const struct ofpact *, const struct ofpact *end,
                           unsigned long next[]);

static field_set
add_ct_reads(const struct ofpact_conntrack *ct, unsigned long next[])
{
    enum field f = ct->zone_src.field ? field_find(ct->zone_src.field)
                   : N_FIELDS;

    if (ct->recirc_table < N_TABLES_MAX) {
        bitmap_set1(next, ct->recirc_table);
    }
    return (tuple_reads() | (f < N_FIELDS ? FIELD_BIT(f) : 0)
            | add_reads(ct->actions, ofpact_end(
                ct->actions, ofpact_ct_get_action_len(ct)), next));
}

/* Adds what the actions read and where they lead. */
static field_set
add_reads(const struct ofpact *a, const struct ofpact *end,
          unsigned long next[])
{
    field_set reads = 0;

    for (; a < end; a = ofpact_next(a)) {
        int table = N_TABLES_MAX;

        if (a->type == OFPACT_REG_MOVE) {
            enum field f = field_find(ofpact_get_REG_MOVE(a)->src.field);

            reads |= f < N_FIELDS ? FIELD_BIT(f) : 0;
        } else if (a->type == OFPACT_DEC_TTL) {
            reads |= FIELD_BIT(F_NW_TTL);
        } else if (a->type == OFPACT_GOTO_TABLE) {
            table = ofpact_get_GOTO_TABLE(a)->table_id;
        } else if (a->type == OFPACT_RESUBMIT) {
            table = ofpact_get_RESUBMIT(a)->table_id;
        } else if (a->type == OFPACT_CLONE) {
            const struct ofpact_nest *nest = ofpact_get_CLONE(a);

            reads |= add_reads(nest->actions, ofpact_end(
                nest->actions, ofpact_nest_get_action_len(nest)), next);
        } else if (a->type == OFPACT_CT) {
            reads |= add_ct_reads(ofpact_get_CT(a), next);
        }
        if (table < N_TABLES_MAX) {
            bitmap_set1(next, table);
        }
    }
    return reads;
}

field_set
exec_reads(const struct table_flow *flow,
           unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)])
{
    return add_reads(flow->ofpacts,
                     ofpact_end(flow->ofpacts, flow->ofpacts_len), next);
}
