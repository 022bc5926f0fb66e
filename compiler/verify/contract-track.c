/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/contract-private.h"

#include <netinet/in.h>

#include "flow.h"
#include "packets.h"
#include "util.h"

/* TRACK to STATE, SELF to PEER_STATE, CLASS and METER: in whose zone a packet
 * is, what it is judged by, and what it costs whom. */

/* Is the port one of a symmetric service? */
static bool
is_symmetric(const struct contract *c, u128 port)
{
    const struct policy *policy = c->task->policy;

    for (size_t i = 0; i < policy->services.n; i++) {
        const struct policy_service *s = policy->services.v[i];

        for (size_t k = 0; s->symmetric && k < s->matches.n; k++) {
            if (s->matches.v[k].ports.first <= port
                && port <= s->matches.v[k].ports.last) {
                return true;
            }
        }
    }
    return false;
}

static bool
has_stateless_rule(const struct contract *c)
{
    const struct policy *policy = c->task->policy;

    for (size_t i = 0; i < policy->rules.n; i++) {
        if (policy->rules.v[i]->stateless) {
            return true;
        }
    }
    return false;
}

/* What goes round conntrack is to a port of a symmetric service, or what a
 * rule says that is not stateful; that is in a group of the network. */
static bool
goes_round(const struct contract *c)
{
    u128 direction, service, port;

    if (!deed_sets(&c->deed, F_REG7, &direction)
        || direction != DIRECTION_STATELESS
        || !deed_sets(&c->deed, F_REG8, &service)) {
        return false;
    } else if (service == SERVICE_UNTRACKED) {
        return has_stateless_rule(c);
    }
    return (flow_has(c->flow, F_NW_PROTO, IPPROTO_UDP)
            && flow_matches(c->flow, F_TP_DST, &port)
            && is_symmetric(c, port)
            && service == (SERVICE_STATELESS | SERVICE_PROTOCOL(IPPROTO_UDP)
                           | port));
}

static bool
is_for_group(const struct contract *c)
{
    const struct policy_network *network = NULL;
    struct flow_address a;
    u128 vni;

    if (flow_matches(c->flow, F_REG2, &vni)) {
        network = network_of(c, vni);
    }
    if (network && flow_destination(c->flow, &a)
        && flow_has(c->flow, F_METADATA, 0) && !c->deed.n_writes) {
        for (size_t i = 0; i < network->intent->groups.n; i++) {
            if (address_is_in(&a, &network->intent->groups.v[i])) {
                return true;
            }
        }
    }
    return false;
}

void
ask_track(struct contract *c)
{
    const struct tracking *t = &c->deed.tracks[0];
    u128 service;

    if (c->learning
        || (deed_leads_to(&c->deed, TABLE_OWNER) && c->deed.n_tracks == 1
            && t->zone == F_REG6
            && deed_sets_only(&c->deed, FIELD_BIT(F_REG8))
            && (!deed_sets(&c->deed, F_REG8, &service)
                || service == SERVICE_IPV6))
        || (deed_leads_to(&c->deed, TABLE_ROUTE) && goes_round(c))
        || (deed_leads_to(&c->deed, TABLE_GROUP) && is_for_group(c))) {
        return;
    }
    contract_wrong(c, "it goes round the zone in reg6", "tracked there, but "
                   "for services that are symmetric, rules that are not "
                   "stateful, and groups of the network", NULL);
}

void
ask_owner(struct contract *c)
{
    const struct policy_tenant *tenant;
    u128 zone, mark;

    if (c->learning || flow_has_bits(c->flow, F_CT_STATE,
                                     CS_TRACKED | CS_NEW,
                                     CS_TRACKED | CS_NEW)) {
        return;
    }
    tenant = (flow_matches(c->flow, F_CT_ZONE, &zone)
              ? note_who(c, NOTE_ZONE, zone) : NULL);
    if (!tenant || !flow_matches(c->flow, F_CT_MARK, &mark)
        || !note_says(c, NOTE_TENANT, tenant, mark)) {
        contract_wrong(c, "it takes a connection for that of who has the "
                       "zone", tenant ? arena_printf(
                           c->arena, "the mark of %s, whose zone it is",
                           tenant->name) : "dropped as ct-invalid",
                       tenant ? tenant->intent->name.at : NULL);
    }
}

/* Are these bits of the field set so?  Others may set other bits. */
static bool
sets_bits(const struct deed *d, enum field f, u128 value, u128 mask)
{
    u128 set = 0, known = 0;

    for (size_t i = 0; i < d->n_writes; i++) {
        const struct write *w = &d->writes[i];

        if (w->to == f && w->from == N_FIELDS) {
            set = (set & ~w->mask) | (w->value & w->mask);
            known |= w->mask;
        } else if (w->to == f) {
            known &= ~(field_ones(w->n) << w->ofs);
        }
    }
    return (known & mask) == mask && (set & mask) == value;
}

/* What is tracked and valid, and replies as replies. */
void
ask_state(struct contract *c)
{
    const uint32_t valid = CS_TRACKED | CS_INVALID;
    bool reply = flow_has_bits(c->flow, F_CT_STATE, CS_REPLY_DIR,
                               CS_REPLY_DIR);
    bool forward = (flow_has_bits(c->flow, F_CT_STATE, CS_NEW, CS_NEW)
                    || flow_has_bits(c->flow, F_CT_STATE, CS_ESTABLISHED,
                                     CS_ESTABLISHED | CS_REPLY_DIR));
    u128 direction;
    bool ok = (deed_sets(&c->deed, F_REG7, &direction)
               && flow_has_bits(c->flow, F_CT_STATE, CS_TRACKED, valid)
               && direction == (reply ? DIRECTION_REPLY : DIRECTION_FORWARD)
               && (reply || forward)
               && sets_bits(&c->deed, F_REG8, SERVICE_TRACKED
                            | (reply ? SERVICE_REPLY : 0),
                            SERVICE_TRACKED | SERVICE_REPLY));

    if (!ok && !c->learning) {
        contract_wrong(c, "it takes a state of conntrack for another",
                       "new and the opener's as forward, the other side's "
                       "as reply, what is not valid dropped", NULL);
    }
}

/* The receiver is another if its number differs in a bit. */
void
ask_self(struct contract *c)
{
    for (int bit = 0; bit < 32; bit++) {
        u128 mask = UINT32_C(1) << bit;

        for (int set = 0; set <= 1; set++) {
            if (flow_has_bits(c->flow, F_REG1, set ? mask : 0, mask)
                && flow_has_bits(c->flow, F_REG3, set ? 0 : mask, mask)) {
                return;
            }
        }
    }
    contract_wrong(c, "it passes what may be for its sender", "numbers of "
                   "sender and receiver that differ", NULL);
}

/* Where what a field holds then came from, before. */
static enum field
comes_from(const struct deed *d, enum field f)
{
    for (size_t i = d->n_writes; i > 0; i--) {
        const struct write *w = &d->writes[i - 1];

        if (w->to == f) {
            if (w->ofs || w->from_ofs || w->n != 32) {
                return N_FIELDS;
            }
            f = w->from;
        }
    }
    return f;
}

void
ask_sides(struct contract *c)
{
    const struct deed *d = &c->deed;
    bool reply = flow_has(c->flow, F_REG7, DIRECTION_REPLY);

    if ((!reply && !flow_has(c->flow, F_REG7, DIRECTION_FORWARD)
         && !flow_has(c->flow, F_REG7, DIRECTION_STATELESS))
        || comes_from(d, F_REG11) != (reply ? F_REG13 : F_REG0)
        || comes_from(d, F_REG12) != (reply ? F_REG14 : F_REG12)
        || comes_from(d, F_REG13) != (reply ? F_REG0 : F_REG13)
        || comes_from(d, F_REG14) != (reply ? F_REG12 : F_REG14)) {
        contract_wrong(c, "it takes another for who opened the connection, "
                       "or to whom", "sender and receiver, and for replies "
                       "the other way round", NULL);
    }
}

void
ask_peer(struct contract *c)
{
    const struct deed *d = &c->deed;

    if (d->n_tracks
        ? (d->tracks[0].zone != F_REG9
           || !deed_leads_to(d, TABLE_PEER_OWNER)
           || !(flow_has(c->flow, F_REG10, CROSSING_YES)
                || flow_has(c->flow, F_REG10, CROSSING_NEW)))
        : !deed_leads_to(d, TABLE_CLASS)) {
        contract_wrong(c, "it enters a zone that is not the receiver's",
                       "the zone in reg9, of what goes to another tenant",
                       NULL);
    }
}

/* Each connection has the number of the tenant whose zone it is noted in. */
static bool
is_noted_right(const struct contract *c, const struct tracking *t)
{
    bool receivers = (flow_has(c->flow, F_IN_PORT, ofp_to_u16(c->tunnel))
                      || flow_has(c->flow, F_REG10, CROSSING_EXTERNAL));

    return (t->zone == F_REG9 ? t->mark == F_REG13
            : t->zone == F_REG6 && t->mark == (receivers ? F_REG13 : F_REG0));
}

void
ask_noting(struct contract *c)
{
    for (size_t i = 0; i < c->deed.n_tracks; i++) {
        if (!is_noted_right(c, &c->deed.tracks[i])) {
            contract_wrong(c, "it notes a connection as another's than the "
                           "zone's", "ct_mark of who has the zone: reg0 in "
                           "reg6, reg13 in reg9", NULL);
        }
    }
}

/* A class, by the register that POLICY has set; 0 is best-effort. */
static const struct policy_class *
find_class(const struct contract *c, u128 value, bool *known)
{
    const struct policy *policy = c->task->policy;

    for (size_t i = 0; value && i < policy->classes.n; i++) {
        const struct policy_class *class = policy->classes.v[i];

        if (value == CLASS_VALUE(class->dscp, class->queue)) {
            *known = true;
            return class;
        }
    }
    *known = !value;
    return NULL;
}

void
ask_class(struct contract *c)
{
    const struct policy_class *class = NULL;
    u128 value, dscp, queue;
    bool known = false, ok;

    if (flow_matches(c->flow, F_REG5, &value)) {
        class = find_class(c, value, &known);
    }
    if (deed_sets(&c->deed, F_IP_DSCP, &dscp)) {
        ok = (known && dscp == (class ? class->dscp : 0)
              && (!deed_sets(&c->deed, F_QUEUE, &queue)
                  || queue == (class ? class->queue : 0)));
    } else {
        ok = (class && class->dscp_in
              && flow_has(c->flow, F_IP_DSCP, class->dscp_in->dscp)
              && (!deed_sets(&c->deed, F_QUEUE, &queue)
                  || queue == class->dscp_in->queue));
    }
    if (!ok) {
        contract_wrong(c, "it marks packets as another class",
                       class ? arena_printf(c->arena, "DSCP and queue of "
                                            "class %s", class->name)
                       : "DSCP 0 and queue 0", class ? class->at : NULL);
    }
}

/* Who pays by the flow: whom it names first of these. */
static const struct policy_tenant *
find_payer_of(const struct contract *c)
{
    const struct policy_external *external;
    const struct policy_attachment *at;
    const struct policy_endpoint *e;
    const struct policy_network *network;
    u128 value;

    if (flow_matches(c->flow, F_REG4, &value) && value) {
        return note_tenant(c, value, &external);
    } else if (flow_matches(c->flow, F_REG3, &value)
               || flow_matches(c->flow, F_REG1, &value)) {
        e = note_endpoint(c, value, &at);
        return e ? e->tenant : NULL;
    } else if (flow_matches(c->flow, F_REG0, &value)) {
        return note_tenant(c, value, &external);
    } else if (flow_matches(c->flow, F_REG2, &value)) {
        network = network_of(c, value);
        return network ? network->tenant : NULL;
    }
    return NULL;
}

/* The tenant whose zone the id of the meter has; NULL if it has none. */
static const struct policy_tenant *
tenant_of_meter(const struct contract *c, uint32_t id)
{
    return id >> 28 ? NULL : note_who(c, NOTE_ZONE, id & UINT16_MAX);
}

void
ask_payer(struct contract *c)
{
    const struct policy_tenant *payer = find_payer_of(c);

    for (size_t i = 0; payer && i < c->deed.n_meters; i++) {
        const struct policy_tenant *owner
            = tenant_of_meter(c, c->deed.meters[i]);

        if (owner && owner != payer) {
            contract_wrong(c, arena_printf(
                c->arena, "it calls the meter of %s", owner->name),
                arena_printf(c->arena, "the meter of %s", payer->name),
                payer->intent->name.at);
        }
    }
}

/* Nobody passes at nobody's cost: what came by tunnel has paid. */
void
ask_meter(struct contract *c)
{
    u128 number;

    if (!flow_has(c->flow, F_IN_PORT, ofp_to_u16(c->tunnel))
        && !flow_matches(c->flow, F_REG4, &number) && !find_payer_of(c)) {
        contract_wrong(c, "it passes packets whoever pays for them",
                       "the meter of the tenant, endpoint or network that "
                       "the flow matches", NULL);
    }
    ask_payer(c);
}
