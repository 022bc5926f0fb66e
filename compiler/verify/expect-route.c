/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "sema/meaning-endpoint.h"
#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"

/* To whom a packet is, by its addresses: an endpoint, what is outside, or, if
 * both are NULL, nobody. */
struct target {
    const struct policy_endpoint *to;
    const struct policy_attachment *out;
    bool routed;
    bool late;                  /* Their TTL ends before all else is asked. */
};

/* Question 7, and on. */
static dd_t
reach_target(struct judge *j, const struct origin *s, const struct seen *seen,
             const struct target *target)
{
    struct dd *dd = j->space->dd;
    dd_t result = (target->late ? expect_deny(j, s, REASON_TTL)
                   : target->to || target->out
                   ? expect_rule(j, s, seen, target->to, target->out,
                                 target->routed)
                   : expect_deny(j, s, REASON_UNREACHABLE));

    if (target->routed) {
        result = dd_choose(dd, space_range(j->space, F_NW_TTL, 0, 1),
                           expect_deny(j, s, REASON_TTL), result);
    }
    if (s->q.external && seen->track == TRACK_RELATED) {
        result = dd_choose(dd, is_external(j, s->q.external->external,
                                           F_OUTSIDE, F_OUTSIDE6),
                           result, expect_deny(j, s, REASON_UNREACHABLE));
    }
    return result;
}

/* Question 6, of packets that do not say what opened their connection.  With
 * any opener, all are asked what fragments are: see expect_forbidden(). */
static dd_t
judge_opened(struct judge *j, const struct origin *s, enum track track,
             const struct target *target)
{
    bool error = track == TRACK_RELATED;
    bool backward = error || track == TRACK_REPLY;
    struct seen seen = {
        track, false, false,
        error || j->any_opener ? F_OPEN_PROTO : F_NW_PROTO, F_OPEN_DST,
    };
    enum field source = backward ? F_OPEN_DST : F_OPEN_SRC;
    enum field destination = backward ? F_OPEN_SRC : F_OPEN_DST;
    struct dd *dd = j->space->dd;
    dd_t result = reach_target(j, s, &seen, target);
    dd_t fragment;

    if (error) {
        fragment = expect_deny(j, s, REASON_FRAGMENT);
    } else {
        fragment = dd_choose(dd, is_for_symmetric(j, seen.proto, destination),
                             expect_deny(j, s, REASON_FRAGMENT), result);
        fragment = dd_choose(dd, is_dhcp_answer(j, seen.proto, source,
                                                destination),
                             expect_deny(j, s, REASON_FORBIDDEN_REPLY),
                             fragment);
    }
    return (j->any_opener && !error ? fragment
            : dd_choose(dd, is_fragment(j), fragment, result));
}

/* Packets that say themselves what opened their connection, if it is asked
 * what they say; an ICMP reply has another type. */
static dd_t
tells_ports(struct judge *j, enum track track)
{
    struct dd *dd = j->space->dd;
    dd_t whole = dd_not(dd, is_fragment(j));

    return (j->any_opener || track == TRACK_RELATED ? DD_NONE
            : track == TRACK_REPLY
            ? dd_and(dd, whole, dd_not(dd, is_icmp(j))) : whole);
}

/* Questions 6 and on, of packets that may pass connection tracking. */
static dd_t
judge_tracked(struct judge *j, const struct origin *s, enum track track,
              const struct target *target)
{
    struct seen told = {
        track, false, false, F_NW_PROTO,
        track == TRACK_REPLY ? F_TP_SRC : F_TP_DST,
    };
    dd_t tells = tells_ports(j, track);

    return (tells != DD_NONE && judge_asks(j, tells)
            ? dd_choose(j->space->dd, tells, reach_target(j, s, &told, target),
                        judge_opened(j, s, track, target))
            : judge_opened(j, s, track, target));
}

/* The connections of the tenant in whose zone it is. */
static dd_t
is_owned(struct judge *j, const struct policy_tenant *tenant)
{
    return space_is(j->space, F_MARK1, j->marks[judge_tenant(j, tenant)]);
}

/* Where connection tracking knows of none: another tenant's is none. */
static dd_t
judge_owned(struct judge *j, const struct origin *s, enum track track,
            const struct target *target, dd_t unknown)
{
    dd_t tracked = judge_tracked(j, s, track, target);

    return (track == TRACK_NEW ? tracked
            : dd_choose(j->space->dd, is_owned(j, s->zone), tracked,
                        unknown));
}

/* An ICMP error for the side that was opened is none of a connection's, but
 * what it is about may give another reason to drop it. */
static dd_t
expect_error(struct judge *j, const struct origin *s)
{
    struct expect expect = *expect_get(j, expect_deny(j, s,
                                                      REASON_CT_INVALID));

    expect.any_reason = true;
    return expect_leaf(j, &expect);
}

/* Questions 5 to 9 of packets to the target. */
static dd_t
judge_connection(struct judge *j, const struct origin *s,
                 const struct target *target)
{
    static const enum track passing[] = {
        TRACK_NEW, TRACK_FORWARD, TRACK_REPLY, TRACK_RELATED,
    };
    struct seen untracked = { TRACK_NONE, true, false, F_NW_PROTO, F_TP_DST };
    struct seen passed = { TRACK_NONE, true, true, F_NW_PROTO, F_TP_DST };
    struct dd *dd = j->space->dd;
    dd_t stateless = dd_and(dd, is_for_symmetric(j, F_NW_PROTO, F_TP_DST),
                            dd_not(dd, is_fragment(j)));
    dd_t by_rules = is_passed_by_rules(j, s);
    dd_t unknown = expect_deny(j, s, REASON_CT_INVALID), result;

    result = dd_choose(dd, space_is(j->space, F_CONN1, TRACK_ERROR),
                       expect_error(j, s), unknown);
    for (size_t i = 0; i < ARRAY_SIZE(passing); i++) {
        dd_t those = space_is(j->space, F_CONN1, passing[i]);

        if (judge_asks(j, those)) {
            result = dd_choose(dd, those, judge_owned(j, s, passing[i],
                                                      target, unknown),
                               result);
        }
    }
    if (by_rules != DD_NONE) {
        result = dd_choose(dd, by_rules,
                           reach_target(j, s, &passed, target), result);
    }
    return (!judge_asks(j, stateless) ? result
            : dd_choose(dd, stateless, reach_target(j, s, &untracked, target),
                        result));
}

/* The same, remembered by 'key', and not bound. */
static dd_t
judge_unbound(struct judge *j, const struct origin *s,
              const struct target *target, const uint32_t key[3])
{
    dd_t result = *memo_find(&j->between, key, 3 * sizeof *key);

    if (result == DD_NONE) {
        j->unbound = true;
        result = judge_connection(j, s, target);
        j->unbound = false;
        *memo_find(&j->between, key, 3 * sizeof *key) = result;
    }
    return result;
}

/* The same between two of a tenant, once for all that are treated alike: only
 * whose they are differs, which is bound to the whole.  Of what one sends to
 * itself no rule speaks.  What is routed differs where its TTL ends, whoever
 * is to get it. */
static dd_t
judge_between(struct judge *j, const struct origin *s,
              const struct target *target)
{
    uint32_t sending = judge_sending(j, s->q.from);
    const uint32_t key[] = {
        sending, judge_alike(j, target->to), target->to == s->q.from,
    };
    const uint32_t late_key[] = { sending, UINT32_MAX, 0 };
    const struct target direct = { .to = target->to };
    const struct target late = { .late = true };
    const struct seen any = { .stateless = true };
    struct expect base = expect_base(j, s, &any, target->to, NULL,
                                     target->routed);
    dd_t result = judge_unbound(j, s, &direct, key);

    if (target->routed) {
        result = dd_choose(j->space->dd,
                           space_range(j->space, F_NW_TTL, 0, 1),
                           judge_unbound(j, s, &late, late_key), result);
    }
    return dd_bind(j->space->dd, result, expect_base_number(j, &base));
}

static bool
is_between(const struct judge *j, const struct origin *s,
           const struct target *target)
{
    return (!j->by_port && s->q.from && !s->q.tunnel && target->to
            && target->to->tenant == s->q.from->tenant);
}

/* The same, once for all senders that are treated alike. */
static dd_t
judge_to(struct judge *j, const struct origin *s, const struct target *target)
{
    struct connection_key {
        const void *from, *external, *network, *counted, *zone, *to, *out;
        bool tunnel, routed, by_port;
    } key;
    struct origin alike = *s;
    dd_t *known, result;

    if (s->q.from) {
        alike.q.from = judge_sender(j, s->q.from, target->to);
    }
    memset(&key, 0, sizeof key);
    key.from = alike.q.from;
    key.external = s->q.external;
    key.network = s->network;
    key.counted = s->counted;
    key.zone = s->zone;
    key.to = target->to;
    key.out = target->out;
    key.tunnel = s->q.tunnel;
    key.routed = target->routed;
    key.by_port = j->by_port;
    known = memo_find(&j->connections, &key, sizeof key);
    if (*known != DD_NONE) {
        return *known;
    }
    result = (is_between(j, &alike, target)
              ? judge_between(j, &alike, target)
              : judge_connection(j, &alike, target));
    *memo_find(&j->connections, &key, sizeof key) = result;
    return result;
}

/* Those who may get packets, of whom the first counts if two have an address
 * in common. */
struct receivers {
    struct judge *judge;
    const struct origin *origin;
    VEC(dd_t) packets, parts;
    VEC(struct target) targets;
};

static void
add_receiver(struct receivers *r, dd_t packets, const struct target *target)
{
    struct arena *arena = r->judge->arena;

    if (judge_asks(r->judge, packets)) {
        *vec_push(arena, &r->packets) = packets;
        *vec_push(arena, &r->targets) = *target;
    }
}

/* Who has addresses of one family gets packets of no other. */
static dd_t
judge_part(struct judge *j, const struct origin *s,
           const struct target *target)
{
    dd_t part = judge_to(j, s, target);

    for (int ip6 = 0; target->to && ip6 <= 1; ip6++) {
        if (!endpoint_has_family(target->to, !ip6)) {
            part = dd_where(j->space->dd, part, j->space->begin[F_ETH_TYPE],
                            ip6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
        }
    }
    return part;
}

/* What is expected of packets to each of them; of those to others nothing.
 * 'alike': what the sender sends to itself is taken for what another sends to
 * it that is treated alike; DD_NONE if addresses are not apart. */
static dd_t
fold_receivers(struct receivers *r, bool alike)
{
    struct judge *j = r->judge;
    struct dd *dd = j->space->dd;
    dd_t result;

    for (size_t i = 0; i < r->targets.n; i++) {
        const struct target *target = &r->targets.v[i];
        struct origin s = *r->origin;

        if (alike && target->to == s.q.from) {
            s.q.from = judge_other(j, s.q.from);
        }
        *vec_push(j->arena, &r->parts) = judge_part(j, &s, target);
    }
    result = expect_each(j, r->packets.v, r->parts.v, r->packets.n);
    if (result != DD_NONE || alike) {
        return result;
    }
    for (size_t i = 0; i < r->packets.n; i++) {
        r->parts.v[i] = dd_cut(dd, r->packets.v[i], r->parts.v[i]);
    }
    return dd_over_all(dd, r->parts.v, r->packets.n);
}

/* By the gateway's MAC. */
static void
find_routed(struct receivers *r)
{
    const struct origin *s = r->origin;
    const struct policy *policy = r->judge->policy;
    const endpoint_vec *reached = judge_reached(r->judge, s);

    for (size_t i = 0; i < reached->n; i++) {
        struct target target = { .to = reached->v[i], .routed = true };

        add_receiver(r, is_to(r->judge, target.to), &target);
    }
    for (size_t i = 0; i < policy->externals.n; i++) {
        const struct policy_external *e = policy->externals.v[i];
        struct target target = {
            .out = external_at(e, s->q.from->node), .routed = true,
        };

        if (target.out && external_is_used_by(e, s->q.from->tenant)) {
            add_receiver(r, is_external(r->judge, e, F_NW_DST, F_IPV6_DST),
                         &target);
        }
    }
}

/* Within the network. */
static void
find_direct(struct receivers *r)
{
    const struct origin *s = r->origin;
    const struct policy_tenant *tenant = s->network->tenant;
    struct judge *j = r->judge;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        struct target target = { .to = tenant->endpoints.v[i] };

        if (target.to->network == s->network
            && endpoint_is_reached(j->policy, &s->q, target.to)) {
            dd_t mac = is_mac(j, F_ETH_DST, target.to->intent->mac);

            add_receiver(r, dd_and(j->space->dd, mac, is_to(j, target.to)),
                         &target);
        }
    }
}

static dd_t
judge_all(struct judge *j, const struct origin *s, bool routed, bool alike)
{
    struct receivers r = { j, s, VEC_INIT, VEC_INIT, VEC_INIT };

    if (routed) {
        find_routed(&r);
    } else {
        find_direct(&r);
    }
    return fold_receivers(&r, alike);
}

/* The same, of what all send that are treated alike, but to themselves. */
static dd_t
judge_all_alike(struct judge *j, const struct origin *s, bool routed)
{
    struct {
        const void *network, *counted, *zone;
        uint32_t sending;
        bool tunnel, routed, pad[2];
    } key = {
        s->network, s->counted, s->zone, judge_sending(j, s->q.from),
        s->q.tunnel, routed, { false },
    };
    dd_t known = *memo_find(&j->sent, &key, sizeof key);

    if (known == DD_NONE) {
        known = judge_all(j, s, routed, true);
        *memo_find(&j->sent, &key, sizeof key) = known;
    }
    return known;
}

/* Is the sender one of those who may get what it sends? */
static bool
gets_own(struct judge *j, const struct origin *s, bool routed)
{
    const endpoint_vec *reached = routed ? judge_reached(j, s) : NULL;

    for (size_t i = 0; routed && i < reached->n; i++) {
        if (reached->v[i] == s->q.from) {
            return true;
        }
    }
    return (!routed && s->q.from->network == s->network
            && endpoint_is_reached(j->policy, &s->q, s->q.from));
}

/* Packets that an endpoint sends, to the gateway's MAC or not. */
static dd_t
judge_sent(struct judge *j, const struct origin *s, bool routed)
{
    const struct target itself = { .to = s->q.from, .routed = routed };
    const struct target nobody = { .routed = routed };
    bool alike = !j->by_port && !j->outcomes && judge_other(j, s->q.from);
    dd_t all = alike ? judge_all_alike(j, s, routed) : DD_NONE;
    struct dd *dd = j->space->dd;

    if (all == DD_NONE) {
        all = judge_all(j, s, routed, false);
    } else if (gets_own(j, s, routed)) {
        dd_t own = is_to(j, s->q.from);

        if (!routed) {
            own = dd_and(dd, own, is_mac(j, F_ETH_DST,
                                         s->q.from->intent->mac));
        }
        all = dd_choose(dd, own, judge_part(j, s, &itself), all);
    }
    return dd_over(dd, all, judge_to(j, s, &nobody));
}

/* From outside, to the endpoints of the tenant for which it counts. */
static dd_t
expect_inside(struct judge *j, const struct origin *s)
{
    const struct policy_tenant *tenant = s->zone;
    struct receivers r = { j, s, VEC_INIT, VEC_INIT, VEC_INIT };
    struct target nobody = { .routed = true };

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        struct target target = {
            .to = tenant->endpoints.v[i], .routed = true,
        };

        if (is_here(j, target.to)
            && target.to->network->intent->gateways.n) {
            add_receiver(&r, is_to(j, target.to), &target);
        }
    }
    return dd_over(j->space->dd, fold_receivers(&r, false),
                   judge_to(j, s, &nobody));
}

dd_t
expect_connection(struct judge *j, const struct origin *s)
{
    dd_t direct, routed;

    if (s->q.external) {
        return expect_inside(j, s);
    }
    direct = judge_sent(j, s, false);
    if (s->q.tunnel || !s->network->intent->gateways.n) {
        return direct;
    }
    routed = is_mac(j, F_ETH_DST, s->network->gateway_mac);
    return (!judge_asks(j, routed) ? direct
            : dd_choose(j->space->dd, routed, judge_sent(j, s, true),
                        direct));
}
