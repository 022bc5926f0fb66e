/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/contract-private.h"

#include "openvswitch/ofp-actions.h"
#include "packets.h"
#include "util.h"

/* What flows match and do, without any packets. */

static void
add_write(struct deed *d, struct write write)
{
    if (d->n_writes < MAX_WRITES) {
        d->writes[d->n_writes++] = write;
    } else {
        d->acts |= ACT_OTHER;
    }
}

static void
add_set(struct deed *d, const struct ofpact_set_field *set)
{
    const struct mf_field *mf = set->field;

    add_write(d, (struct write) {
        .to = field_find(mf), .from = N_FIELDS,
        .value = field_from_value(set->value, mf->n_bytes),
        .mask = (field_from_value(ofpact_set_field_mask(set), mf->n_bytes)
                 & field_ones(mf->n_bits)),
    });
}

static void
add_move(struct deed *d, const struct ofpact_reg_move *move)
{
    add_write(d, (struct write) {
        .to = field_find(move->dst.field), .from = field_find(move->src.field),
        .ofs = move->dst.ofs, .from_ofs = move->src.ofs,
        .n = move->dst.n_bits,
    });
}

static void
add_tracking(struct deed *d, const struct ofpact_conntrack *ct)
{
    struct tracking t = {
        .zone = ct->zone_src.field ? field_find(ct->zone_src.field) : N_FIELDS,
        .mark = N_FIELDS,
    };
    size_t len = ofpact_ct_get_action_len(ct);
    const struct ofpact *a = ct->actions;

    if (len && a->type == OFPACT_REG_MOVE
        && ofpact_next(a) == ofpact_end(ct->actions, len)) {
        const struct ofpact_reg_move *move = ofpact_get_REG_MOVE(a);

        if (field_find(move->dst.field) == F_CT_MARK && !move->dst.ofs
            && !move->src.ofs && move->dst.n_bits == 32) {
            t.mark = field_find(move->src.field);
        }
    } else if (len) {
        d->acts |= ACT_OTHER;
    }
    if ((ct->zone_src.field && ct->zone_src.ofs)
        || ct->alg || ct->flags & ~NX_CT_F_COMMIT) {
        d->acts |= ACT_OTHER;
    }
    if (ct->recirc_table != NX_CT_RECIRC_NONE) {
        d->next |= UINT32_C(1) << MIN(ct->recirc_table, 31);
    }
    d->acts |= ct->flags & NX_CT_F_COMMIT ? ACT_NOTE : ACT_TRACK;
    if (d->n_tracks < MAX_TRACKINGS) {
        d->tracks[d->n_tracks++] = t;
    } else {
        d->acts |= ACT_OTHER;
    }
}

static void
add_output(struct deed *d, ofp_port_t port)
{
    d->acts |= (port == OFPP_IN_PORT ? ACT_ANSWER
                : d->port != OFPP_NONE ? ACT_OTHER : ACT_OUTPUT);
    d->port = port;
}

static void
add_copy(struct contract *c, struct deed *d, const struct ofpact_nest *nest)
{
    struct deed copy;

    deed_read(c, nest->actions, ofpact_end(
        nest->actions, ofpact_nest_get_action_len(nest)), &copy);
    *vec_push(c->arena, &d->copies) = copy;
    d->acts |= ACT_COPY;
}

static void
add_queue(struct deed *d, uint32_t queue)
{
    add_write(d, (struct write) {
        .to = F_QUEUE, .from = N_FIELDS, .value = queue,
        .mask = field_ones(fields[F_QUEUE].width),
    });
}

static void
add_meter(struct deed *d, uint32_t id)
{
    if (d->n_meters < MAX_METERS) {
        d->meters[d->n_meters++] = id;
    } else {
        d->acts |= ACT_OTHER;
    }
    d->acts |= ACT_METER;
}

static void
add_action(struct contract *c, struct deed *d, const struct ofpact *a)
{
    switch ((int) a->type) {
    case OFPACT_SET_FIELD:
        add_set(d, ofpact_get_SET_FIELD(a));
        return;
    case OFPACT_REG_MOVE:
        add_move(d, ofpact_get_REG_MOVE(a));
        return;
    case OFPACT_SET_QUEUE:
        add_queue(d, ofpact_get_SET_QUEUE(a)->queue_id);
        return;
    case OFPACT_METER:
        add_meter(d, ofpact_get_METER(a)->meter_id);
        return;
    case OFPACT_OUTPUT:
        add_output(d, ofpact_get_OUTPUT(a)->port);
        return;
    case OFPACT_CT:
        add_tracking(d, ofpact_get_CT(a));
        return;
    case OFPACT_CLONE:
        add_copy(c, d, ofpact_get_CLONE(a));
        return;
    case OFPACT_RESUBMIT:
        d->next |= UINT32_C(1) << MIN(ofpact_get_RESUBMIT(a)->table_id, 31);
        return;
    case OFPACT_GOTO_TABLE:
        d->next |= UINT32_C(1) << MIN(ofpact_get_GOTO_TABLE(a)->table_id, 31);
        return;
    case OFPACT_DEC_TTL:
        d->acts |= ACT_TTL;
        return;
    case OFPACT_NOTE: case OFPACT_CONJUNCTION:
        return;
    default:
        d->acts |= ACT_OTHER;
    }
}

void
deed_read(struct contract *c, const struct ofpact *a,
          const struct ofpact *end, struct deed *d)
{
    *d = (struct deed) { .port = OFPP_NONE };
    for (; a < end; a = ofpact_next(a)) {
        add_action(c, d, a);
    }
}

bool
deed_passes(const struct deed *d)
{
    return d->next || d->port != OFPP_NONE || d->copies.n;
}

bool
deed_sets(const struct deed *d, enum field f, u128 *value)
{
    for (size_t i = d->n_writes; i > 0; i--) {
        const struct write *w = &d->writes[i - 1];

        if (w->to == f) {
            *value = w->value;
            return w->from == N_FIELDS && w->mask == field_ones(
                fields[f].width);
        }
    }
    return false;
}

bool
deed_sets_only(const struct deed *d, field_set only)
{
    for (size_t i = 0; i < d->n_writes; i++) {
        if (d->writes[i].to == N_FIELDS
            || !(FIELD_BIT(d->writes[i].to) & only)) {
            return false;
        }
    }
    return true;
}

bool
deed_leads_to(const struct deed *d, enum contract_table table)
{
    return d->next == UINT32_C(1) << table;
}

bool
deed_copies(const struct deed *d, enum field to, enum field from)
{
    for (size_t i = d->n_writes; i > 0; i--) {
        const struct write *w = &d->writes[i - 1];

        if (w->to == to) {
            return (w->from == from && !w->ofs && !w->from_ofs
                    && w->n == fields[to].width);
        }
    }
    return false;
}

const struct condition *
flow_condition(const struct table_flow *flow, enum field f)
{
    for (size_t i = 0; i < flow->n_conditions; i++) {
        if (flow->conditions[i].field == f) {
            return &flow->conditions[i];
        }
    }
    return NULL;
}

bool
flow_matches(const struct table_flow *flow, enum field f, u128 *value)
{
    const struct condition *cond = flow_condition(flow, f);

    *value = cond ? cond->value : 0;
    return cond && cond->mask == field_ones(fields[f].width);
}

bool
flow_has(const struct table_flow *flow, enum field f, u128 value)
{
    u128 found;

    return flow_matches(flow, f, &found) && found == value;
}

bool
flow_has_bits(const struct table_flow *flow, enum field f, u128 value,
              u128 mask)
{
    const struct condition *cond = flow_condition(flow, f);

    return (cond && (cond->mask & mask) == mask
            && (cond->value & mask) == value);
}

/* The packets that the flow is about have such an address, and it matches
 * that. */
static bool
get_address(const struct table_flow *flow, enum field field4,
            enum field field6, struct flow_address *a)
{
    const struct condition *cond;
    u128 type;

    flow_matches(flow, F_ETH_TYPE, &type);
    a->ip6 = type == ETH_TYPE_IPV6;
    cond = flow_condition(flow, a->ip6 ? field6 : field4);
    a->value = cond ? cond->value : 0;
    a->mask = cond ? cond->mask : 0;
    return cond || type == ETH_TYPE_IP || type == ETH_TYPE_IPV6;
}

bool
flow_source(const struct table_flow *flow, struct flow_address *a)
{
    return get_address(flow, F_NW_SRC, F_IPV6_SRC, a);
}

bool
flow_destination(const struct table_flow *flow, struct flow_address *a)
{
    return get_address(flow, F_NW_DST, F_IPV6_DST, a);
}

static u128
address_value(const struct in6_addr *ip)
{
    return (field_from_ip(ip)
            & (IN6_IS_ADDR_V4MAPPED(ip) ? UINT32_MAX : ~(u128) 0));
}

bool
address_is(const struct flow_address *a, const struct in6_addr *ip)
{
    return (a->ip6 == !IN6_IS_ADDR_V4MAPPED(ip)
            && a->mask == field_ones(a->ip6 ? 128 : 32)
            && a->value == address_value(ip));
}

bool
address_is_in(const struct flow_address *a, const struct address *range)
{
    bool ip6 = !IN6_IS_ADDR_V4MAPPED(&range->ip);
    int plen = range->plen - (ip6 ? 0 : 96);
    u128 mask = field_ones(ip6 ? 128 : 32);

    mask = plen ? mask & ~field_ones((ip6 ? 128 : 32) - plen) : 0;
    return (a->ip6 == ip6 && (a->mask & mask) == mask
            && (a->value & mask) == (address_value(&range->ip) & mask));
}

bool
endpoint_has(const struct policy_endpoint *e, const struct flow_address *a)
{
    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        if (address_is(a, &e->intent->addresses.v[i].ip)) {
            return true;
        }
    }
    return false;
}

u128
mac_value(struct eth_addr ea)
{
    return eth_addr_to_uint64(ea);
}
