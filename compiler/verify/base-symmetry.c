/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Proofs of an endpoint that came or went, by symmetry.
 *
 * That all was right before is known, and that no flow came or went but flows
 * that only packets meet which have one of its names where it counts: they
 * come by its port, or are to an address of it.  It is also all that the
 * endpoint makes of what is meant.  So of other packets all is right still.
 *
 * One that came is proved by others like it.  If the tables stay as they are
 * when it changes all its names with one of them, they do with a packet of its
 * what they do with one of the other's, which was right before and is still.
 * A packet may have the names of both, but not of more than it has places for
 * names: so there are to be as many others.
 *
 * Of one that went the same is said of some that nobody knows: as long as no
 * flow speaks of either, what it sends and gets is what they do. */

#include "verify/base-symmetry.h"

#include <string.h>

#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "packets.h"
#include "sema/meaning-reach.h"
#include "sema/policy.h"
#include "util.h"

enum {
    MAX_PLACES = 3,             /* For names that count: in a packet of IPv6,
                                 * the port, and whom it is to and about. */
    MAX_STRANGERS = 64,         /* Looked at. */
    MAX_UNLIKE = 3,             /* Of those who could be like it. */
    MAX_CHANGED = 64,           /* Flows: no endpoint has as many. */
};

/* Is there nothing in which all endpoints take part, whomever a packet is
 * to, and no way but by ports of endpoints? */
static bool
is_simple(const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < tenant->networks.n; i++) {
        const struct policy_network *network = tenant->networks.v[i];

        if (network->intent->groups.n || network->dhcp_server
            || network->intent->native_dhcp) {
            return false;
        }
    }
    for (size_t i = 0; i < tenant->policy->rules.n; i++) {
        if (tenant->policy->rules.v[i]->stateless) {
            return false;
        }
    }
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct intent_node *node = tenant->endpoints.v[i]->node;

        if (node && node->tunnel.at) {
            return false;
        }
    }
    return true;
}

static bool
has_changed(const struct likeness *l, const struct table_flow *flow)
{
    bool changed = false;

    for (size_t i = 0; i < l->n_changed; i++) {
        changed |= l->changed[i] == flow;
    }
    return changed;
}

/* The fields into which the flow writes more than constants. */
static field_set
mixes(const struct table_flow *flow)
{
    const struct ofpact *a;
    field_set set = 0;

    OFPACT_FOR_EACH_FLATTENED (a, flow->ofpacts, flow->ofpacts_len) {
        enum field f = N_FIELDS;

        if (a->type == OFPACT_REG_MOVE) {
            f = field_find(ofpact_get_REG_MOVE(a)->dst.field);
        } else if (a->type == OFPACT_SET_FIELD) {
            const struct ofpact_set_field *set_field = ofpact_get_SET_FIELD(a);
            const struct mf_field *mf = set_field->field;

            f = (is_all_ones(ofpact_set_field_mask(set_field), mf->n_bytes)
                 ? N_FIELDS : field_find(mf));
        }
        set |= f < N_FIELDS ? FIELD_BIT(f) : 0;
    }
    return set;
}

static void
add_flow(struct likeness *l, struct table_flow *flow, flow_vec *unequal)
{
    if (!has_changed(l, flow)) {
        *vec_push(l->arena, symmetry_is_unequal(flow) ? unequal
                  : &l->flows) = flow;
        l->mixed |= mixes(flow);
    }
}

/* Those that packets of the tenant can meet, and what comes by the port of an
 * endpoint that went, which is nobody's. */
static void
find_flows(struct likeness *l, size_t slice)
{
    const struct slices *slices = l->b->slices;
    struct table_flow *const *flows;
    flow_vec unequal = VEC_INIT;
    size_t n;

    flows = slices_flows(slices, slice, &n);
    for (size_t i = 0; i < n; i++) {
        add_flow(l, flows[i], &unequal);
    }
    flows = slices_flows(slices, l->b->n, &n);
    for (size_t i = 0; i < n && !l->news->came; i++) {
        if (!bitmap_is_set(slices_of(slices, flows[i]), slice)) {
            add_flow(l, flows[i], &unequal);
        }
    }
    symmetry_sort_unequal(l->b->tables, &unequal, l->arena, &l->unequal,
                          &l->flows);
    for (size_t i = 0; i < l->n_changed; i++) {
        l->mixed |= mixes(l->changed[i]);
    }
}

static bool
add_names(struct symmetry *sym, const struct names *a, const struct names *b)
{
    struct in6_addr of_a, of_b;
    bool added, ip6 = false;

    added = (a->n == b->n && symmetry_add_mac(sym, a->mac, b->mac)
             && symmetry_add(sym, F_IN_PORT, ofp_to_u16(a->port),
                             ofp_to_u16(b->port)));
    for (size_t i = 0; i < a->n && added; i++) {
        bool is_ip6 = !IN6_IS_ADDR_V4MAPPED(&a->addresses[i]);

        ip6 |= is_ip6;
        added = (is_ip6 == !IN6_IS_ADDR_V4MAPPED(&b->addresses[i])
                 && symmetry_add_ip(sym, &a->addresses[i],
                                    &b->addresses[i]));
    }
    in6_generate_lla(a->mac, &of_a);
    in6_generate_lla(b->mac, &of_b);
    return added && (!ip6 || symmetry_add_ip(sym, &of_a, &of_b));
}

/* Finds the flow of 'others' that becomes of 'flow' and is not taken yet. */
static bool
pair_flow(struct symmetry *sym, const struct table_flow *flow,
          const flow_vec *others, bool taken[])
{
    for (size_t i = 0; i < others->n; i++) {
        if (!taken[i] && symmetry_takes(sym, flow, others->v[i], true)) {
            return taken[i] = true;
        }
    }
    return false;
}

static bool
keeps_unequal(const struct likeness *l, struct symmetry *sym)
{
    bool keeps = true;

    for (size_t i = 0; i < l->unequal.n && keeps; i++) {
        keeps = symmetry_keeps_unequal(sym, l->unequal.v[i]);
    }
    return keeps;
}

/* Do the flows that came become all of those that do not stay as they are?
 * Registers and meters may be learned by that. */
static bool
pair_flows(const struct likeness *l, struct symmetry *sym)
{
    flow_vec others = VEC_INIT;
    size_t n = 0;
    bool *taken;

    for (size_t i = 0; i < l->flows.n && others.n <= l->n_changed; i++) {
        if (!symmetry_keeps(sym, l->flows.v[i])) {
            *vec_push(l->arena, &others) = l->flows.v[i];
        }
    }
    taken = arena_zalloc(l->arena, (others.n + 1) * sizeof *taken);
    for (size_t i = 0; i < l->n_changed && others.n <= l->n_changed; i++) {
        n += pair_flow(sym, l->changed[i], &others, taken);
    }
    return n == l->n_changed && n == others.n;
}

static struct names
names_of(const struct likeness *l, const struct policy_endpoint *e)
{
    struct in6_addr *addresses = arena_zalloc(
        l->arena, (e->intent->addresses.n + 1) * sizeof *addresses);

    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        addresses[i] = e->intent->addresses.v[i].ip;
    }
    return (struct names) {
        base_port_of(l->task, e), e->intent->mac, addresses,
        e->intent->addresses.n,
    };
}

/* Do all rules treat them alike? */
static bool
has_same_rules(const struct policy *policy, const struct policy_endpoint *a,
               const struct policy_endpoint *b)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (endpoint_is_in(a, &rule->from) != endpoint_is_in(b, &rule->from)
            || endpoint_is_in(a, &rule->to) != endpoint_is_in(b, &rule->to)) {
            return false;
        }
    }
    return true;
}

/* Is the same meant of them? */
static bool
is_meant_alike(const struct likeness *l, const struct policy_endpoint *other)
{
    return (base_port_of(l->task, other) != OFPP_NONE
            && other->network == l->news->now->network
            && has_same_rules(l->task->policy, other, l->news->now));
}

/* Do the tables stay as they are when both change their names? */
static bool
is_like(const struct likeness *l, const struct policy_endpoint *other)
{
    struct symmetry sym = { .arena = l->arena };
    struct names names = names_of(l, other);
    size_t n_known;
    bool paired;

    if (!add_names(&sym, &l->own, &names)) {
        return false;
    }
    do {
        n_known = sym.swaps.n;
        paired = pair_flows(l, &sym);
    } while (sym.swaps.n > n_known);
    return (paired && keeps_unequal(l, &sym) && own_packets(l, &sym)
            && own_meters_only(l, &sym) && own_meters(l, &sym, other));
}

static void
note_shadow(void *shadowed, const struct table_flow *flow OVS_UNUSED,
            const struct table_flow *by OVS_UNUSED)
{
    *(bool *) shadowed = true;
}

/* Does one of the flows that came keep another from all packets, or is it
 * kept from them? */
static bool
is_shadowing(const struct likeness *l)
{
    bool shadowed = false;

    for (size_t i = 0; i < l->n_changed; i++) {
        const struct table_flow *flow = l->changed[i];

        shadowed |= table_set_shadow(l->b->tables, flow) != NULL;
        table_set_shadowed(l->b->tables, flow, note_shadow, &shadowed);
    }
    return shadowed;
}

static bool
prove_coming(const struct likeness *l)
{
    const endpoint_vec *alike = &l->news->alike;
    size_t n = 0, n_unlike = 0;

    for (size_t i = 0; i < alike->n && n < l->n_places
         && n_unlike < MAX_UNLIKE; i++) {
        if (is_meant_alike(l, alike->v[i])) {
            bool like = is_like(l, alike->v[i]);

            n += like;
            n_unlike += !like;
        }
    }
    return n == l->n_places && !is_shadowing(l);
}

static bool
has_address(const struct names *names, const address_vec *addresses)
{
    for (size_t i = 0; i < names->n; i++) {
        for (size_t k = 0; k < addresses->n; k++) {
            if (ipv6_addr_equals(&names->addresses[i], &addresses->v[k].ip)) {
                return true;
            }
        }
    }
    return false;
}

/* Is it a name of an endpoint, or a gateway? */
static bool
is_somebodys(const struct policy_tenant *tenant, const struct names *names)
{
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct intent_endpoint *e = tenant->endpoints.v[i]->intent;

        if (eth_addr_equals(names->mac, e->mac)
            || has_address(names, &e->addresses)) {
            return true;
        }
    }
    for (size_t i = 0; i < tenant->networks.n; i++) {
        const struct policy_network *network = tenant->networks.v[i];

        if (eth_addr_equals(names->mac, network->gateway_mac)
            || has_address(names, &network->intent->gateways)) {
            return true;
        }
    }
    return false;
}

/* Names that may be nobody's, by the endpoint's: others for each 'number'.  A
 * flow that speaks of one of these ports does not stay as it is. */
static struct names
make_stranger(const struct likeness *l, size_t n_found, uint8_t number)
{
    static const ofp_port_t ports[MAX_PLACES] = {
        OFPP_NONE, OFPP_CONTROLLER, OFPP_LOCAL,
    };
    struct in6_addr *addresses = arena_zalloc(
        l->arena, (l->own.n + 1) * sizeof *addresses);
    struct names stranger = {
        ports[n_found], l->own.mac, addresses, l->own.n,
    };

    stranger.mac.ea[5] ^= number;
    for (size_t i = 0; i < l->own.n; i++) {
        addresses[i] = l->own.addresses[i];
        addresses[i].s6_addr[15] ^= number;
    }
    return stranger;
}

/* Adds, for what the endpoint's flows ask for beside a name, and for meters
 * that went, other values that nobody may have. */
static void
add_numbers(const struct likeness *l, struct symmetry *sym, uint8_t number)
{
    for (size_t i = 0; i < l->n_changed; i++) {
        const struct table_flow *flow = l->changed[i];

        for (size_t k = 0; k < flow->n_conditions
             && !own_asks_for_name(l, sym, flow); k++) {
            const struct condition *c = &flow->conditions[k];

            if (own_is_number(c)) {
                symmetry_add(sym, c->field, c->value, c->value ^ number);
            }
        }
    }
    for (size_t i = 0; i < l->b->asked.n_meters; i++) {
        uint32_t id = l->b->asked.meters[i].id;

        symmetry_add(sym, SYMMETRY_METER, id, id ^ number);
    }
}

/* Does nobody know them, nor the endpoint's any more? */
static bool
is_stranger(const struct likeness *l, const struct names *names,
            uint8_t number)
{
    struct symmetry sym = { .arena = l->arena };

    if (is_somebodys(l->tenant, names) || !add_names(&sym, &l->own, names)) {
        return false;
    }
    add_numbers(l, &sym, number);
    for (size_t i = 0; i < l->flows.n; i++) {
        if (!symmetry_keeps(&sym, l->flows.v[i])) {
            return false;
        }
    }
    return (keeps_unequal(l, &sym) && own_packets(l, &sym)
            && own_meters_only(l, &sym));
}

/* Is another endpoint of its network here?  Else what tenants and networks
 * have on this node may be other than it was. */
static bool
has_others(const struct likeness *l)
{
    for (size_t i = 0; i < l->tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = l->tenant->endpoints.v[i];

        if (!strcmp(e->network->intent->name.s, l->news->network)
            && base_port_of(l->task, e) != OFPP_NONE) {
            return true;
        }
    }
    return false;
}

static bool
prove_going(const struct likeness *l)
{
    size_t n = 0;

    if (!has_others(l) || l->news->shares || own_meters_are_missed(l)) {
        return false;
    }
    for (int number = 1; number <= MAX_STRANGERS && n < l->n_places;
         number++) {
        struct names names = make_stranger(l, n, number);

        n += is_stranger(l, &names, number);
    }
    return n == l->n_places;
}

bool
base_prove_endpoint(const struct verify_base *b,
                    const struct verify_task *task,
                    const struct verify_endpoint *news, struct arena *arena)
{
    const struct touched *asked = &b->asked;
    size_t slice = bitmap_scan(asked->who, true, 0, b->n);
    struct likeness l = {
        .b = b, .task = task, .news = news, .arena = arena,
        .tenant = task->policy->tenants.v[0],
        .own = {
            table_set_port(b->tables, news->interface), news->mac,
            news->addresses.v, news->addresses.n,
        },
        .changed = asked->changed, .n_changed = asked->n_changed,
        .n_places = 2,
    };

    for (size_t i = 0; i < l.own.n; i++) {
        l.n_places = (IN6_IS_ADDR_V4MAPPED(&l.own.addresses[i])
                      ? l.n_places : MAX_PLACES);
    }
    if (task->policy->tenants.n != 1 || slice == b->n
        || bitmap_count1(asked->who, b->n + 1) != 1
        || strcmp(news->node, task->node) || !is_simple(l.tenant)
        || l.own.port == OFPP_NONE || asked->n_changed > MAX_CHANGED
        || asked->n_came != (news->came ? asked->n_changed : 0)) {
        return false;
    }
    find_flows(&l, slice);
    return news->came ? prove_coming(&l) : prove_going(&l);
}
