/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <netinet/in.h>
#include <string.h>

#include "packets.h"
#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"

/* Question 7, by the gateway's MAC. */
static dd_t
route(struct judge *j, const struct origin *s, const struct seen *seen)
{
    const struct policy_tenant *tenant = s->q.from->tenant;
    const struct policy *policy = j->policy;
    struct dd *dd = j->space->dd;
    dd_t result = DD_NONE;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *to
                = policy->tenants.v[i]->endpoints.v[k];

            if (endpoint_is_reached(policy, &s->q, to)
                && gateways_join(policy, &s->q, tenant, to)) {
                result = dd_over(dd, result, dd_cut(
                    dd, is_to(j, to),
                    expect_rule(j, s, seen, to, NULL, true)));
            }
        }
    }
    for (size_t i = 0; i < policy->externals.n; i++) {
        const struct policy_external *e = policy->externals.v[i];
        const struct policy_attachment *out = external_at(e,
                                                          s->q.from->node);

        if (out && external_is_used_by(e, tenant)) {
            result = dd_over(dd, result, dd_cut(
                dd, is_external(j, e, F_NW_DST, F_IPV6_DST),
                expect_rule(j, s, seen, NULL, out, true)));
        }
    }
    result = dd_over(dd, result, expect_deny(j, s, REASON_UNREACHABLE));
    return dd_choose(dd, space_range(j->space, F_NW_TTL, 0, 1),
                     expect_deny(j, s, REASON_TTL), result);
}

/* Question 7, within the network. */
static dd_t
find_neighbor(struct judge *j, const struct origin *s,
              const struct seen *seen)
{
    const struct policy_tenant *tenant = s->network->tenant;
    struct dd *dd = j->space->dd;
    dd_t result = DD_NONE;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *to = tenant->endpoints.v[i];

        if (to->network == s->network
            && endpoint_is_reached(j->policy, &s->q, to)) {
            dd_t set = dd_and(dd, is_mac(j, F_ETH_DST, to->intent->mac),
                              is_to(j, to));

            result = dd_over(dd, result, dd_cut(
                dd, set, expect_rule(j, s, seen, to, NULL, false)));
        }
    }
    return dd_over(dd, result, expect_deny(j, s, REASON_UNREACHABLE));
}

/* The endpoint that an external's packet is for. */
static dd_t
find_inside(struct judge *j, const struct origin *s, const struct seen *seen)
{
    const struct policy_external *external = s->q.external->external;
    struct dd *dd = j->space->dd;
    bool error = seen->track == TRACK_RELATED;
    dd_t result = DD_NONE;

    for (size_t i = 0; i < external->users.n; i++) {
        const struct policy_tenant *tenant = external->users.v[i];

        for (size_t k = 0; k < tenant->endpoints.n; k++) {
            const struct policy_endpoint *to = tenant->endpoints.v[k];

            if (is_here(j, to) && to->network->intent->gateways.n) {
                struct origin here = *s;

                here.counted = tenant->intent->packet_rate.at ? tenant : NULL;
                here.zone = tenant;
                result = dd_over(dd, result, dd_cut(
                    dd, is_to(j, to), dd_choose(
                        dd, space_range(j->space, F_NW_TTL, 0, 1),
                        expect_deny(j, &here, REASON_TTL),
                        expect_rule(j, &here, seen, to, NULL, true))));
            }
        }
    }
    if (error) {
        dd_t of_external = is_external(j, external, F_OUTSIDE, F_OUTSIDE6);

        result = dd_choose(dd, of_external, result,
                           expect_deny(j, s, REASON_UNREACHABLE));
    }
    return result;
}

/* Question 7. */
static dd_t
find_receiver(struct judge *j, const struct origin *s,
              const struct seen *seen)
{
    dd_t direct;

    if (s->q.external) {
        return find_inside(j, s, seen);
    }
    direct = find_neighbor(j, s, seen);
    if (s->q.tunnel || !s->network->intent->gateways.n) {
        return direct;
    }
    return dd_choose(j->space->dd,
                     is_mac(j, F_ETH_DST, s->network->gateway_mac),
                     route(j, s, seen), direct);
}

/* Question 6, of packets that do not say what opened their connection. */
static dd_t
judge_opened(struct judge *j, const struct origin *s, enum track track)
{
    bool error = track == TRACK_RELATED;
    bool backward = error || track == TRACK_REPLY;
    struct seen seen = {
        track, false, error ? F_OPEN_PROTO : F_NW_PROTO, F_OPEN_DST,
    };
    enum field source = backward ? F_OPEN_DST : F_OPEN_SRC;
    enum field destination = backward ? F_OPEN_SRC : F_OPEN_DST;
    struct dd *dd = j->space->dd;
    dd_t result = find_receiver(j, s, &seen);
    dd_t fragment;

    if (error) {
        fragment = expect_deny(j, s, REASON_FRAGMENT);
    } else {
        fragment = dd_choose(dd, is_for_symmetric(j, F_NW_PROTO, destination),
                             expect_deny(j, s, REASON_FRAGMENT), result);
        fragment = dd_choose(dd, is_dhcp_answer(j, source, destination),
                             expect_deny(j, s, REASON_FORBIDDEN_REPLY),
                             fragment);
    }
    return dd_choose(dd, is_fragment(j), fragment, result);
}

/* Packets that say themselves what opened their connection; an ICMP reply has
 * another type. */
static dd_t
tells_ports(struct judge *j, enum track track)
{
    struct dd *dd = j->space->dd;
    dd_t icmp = dd_or(dd, space_is(j->space, F_NW_PROTO, IPPROTO_ICMP),
                      space_is(j->space, F_NW_PROTO, IPPROTO_ICMPV6));
    dd_t whole = dd_not(dd, is_fragment(j));

    return (track == TRACK_RELATED ? DD_NONE
            : track == TRACK_REPLY ? dd_and(dd, whole, dd_not(dd, icmp))
            : whole);
}

/* Questions 6 and on, of packets that may pass connection tracking. */
static dd_t
judge_tracked(struct judge *j, const struct origin *s, enum track track)
{
    struct seen told = {
        track, false, F_NW_PROTO, track == TRACK_REPLY ? F_TP_SRC : F_TP_DST,
    };

    return dd_choose(j->space->dd, tells_ports(j, track),
                     find_receiver(j, s, &told), judge_opened(j, s, track));
}

/* The connections of the tenant in whose zone it is. */
static dd_t
is_owned(struct judge *j, const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < j->policy->tenants.n; i++) {
        if (j->policy->tenants.v[i] == tenant) {
            return space_is(j->space, F_MARK1, j->marks[i]);
        }
    }
    OVS_NOT_REACHED();
}

/* Where connection tracking knows of none: another tenant's is none. */
static dd_t
judge_owned(struct judge *j, const struct origin *s, enum track track,
            dd_t unknown)
{
    const struct policy_external *external
        = s->q.external ? s->q.external->external : NULL;
    struct dd *dd = j->space->dd;
    dd_t tracked = judge_tracked(j, s, track), owned = DD_NONE;

    if (track == TRACK_NEW) {
        return tracked;
    } else if (!external) {
        owned = is_owned(j, s->network->tenant);
    }
    for (size_t i = 0; external && i < external->users.n; i++) {
        const struct policy_tenant *tenant = external->users.v[i];

        for (size_t k = 0; k < tenant->endpoints.n; k++) {
            owned = dd_or(dd, owned, dd_and(
                dd, is_to(j, tenant->endpoints.v[k]), is_owned(j, tenant)));
        }
    }
    return dd_choose(dd, owned, tracked, unknown);
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

dd_t
expect_connection(struct judge *j, const struct origin *s)
{
    static const enum track passing[] = {
        TRACK_NEW, TRACK_FORWARD, TRACK_REPLY, TRACK_RELATED,
    };
    struct seen untracked = { TRACK_NONE, true, F_NW_PROTO, F_TP_DST };
    struct dd *dd = j->space->dd;
    dd_t stateless = dd_and(dd, is_for_symmetric(j, F_NW_PROTO, F_TP_DST),
                            dd_not(dd, is_fragment(j)));
    dd_t unknown = expect_deny(j, s, REASON_CT_INVALID), result;

    result = dd_choose(dd, space_is(j->space, F_CONN1, TRACK_ERROR),
                       expect_error(j, s), unknown);
    for (size_t i = 0; i < ARRAY_SIZE(passing); i++) {
        result = dd_choose(dd, space_is(j->space, F_CONN1, passing[i]),
                           judge_owned(j, s, passing[i], unknown), result);
    }
    return dd_choose(dd, stateless, find_receiver(j, s, &untracked), result);
}
