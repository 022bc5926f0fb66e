/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <inttypes.h>
#include <string.h>

#include "sema/policy.h"
#include "sema/rule-kind.h"
#include "util.h"

/* VFs of a NIC in legacy mode, which its own switch joins by MAC and VLAN: no
 * flow sees what they send, so what flows would have to keep is refused. */

enum { MBPS = 1000 * 1000 };

static const struct text *
port_of(const struct policy_endpoint *e)
{
    return &e->intent->port;
}

const struct intent_uplink *
legacy_uplink(const struct policy_endpoint *e)
{
    return (e->legacy && e->node && e->network && e->intent->mac_text.s
            && e->intent->vf.at ? network_uplink(e->network, e->node) : NULL);
}

static bool
is_of(const struct policy_endpoint *e, const struct intent_uplink *uplink)
{
    return e->node && e->network
           && network_uplink(e->network, e->node) == uplink;
}

size_t
legacy_sharers(const struct policy_endpoint *e)
{
    const struct intent_uplink *uplink = legacy_uplink(e);
    size_t n = 0;

    for (size_t i = 0; i < e->tenant->endpoints.n; i++) {
        n += legacy_uplink(e->tenant->endpoints.v[i]) == uplink;
    }
    return n;
}

/* The part of 'e', which is not owed anything by itself, of what its tenant is
 * owed. */
static uint64_t
part_of_guarantee(const struct policy_endpoint *e)
{
    const struct intent_uplink *uplink = legacy_uplink(e);
    uint64_t left = e->tenant->intent->send.guarantee.n;
    size_t n = 0;

    for (size_t i = 0; i < e->tenant->endpoints.n; i++) {
        const struct policy_endpoint *o = e->tenant->endpoints.v[i];

        if (legacy_uplink(o) == uplink) {
            left -= MIN(left, o->intent->send.guarantee.n);
            n += !o->intent->send.guarantee.n;
        }
    }
    return left / n;
}

struct legacy_rates
legacy_rates(const struct policy_endpoint *e)
{
    const struct intent_bandwidth *own = &e->intent->send;
    const struct intent_bandwidth *all = &e->tenant->intent->send;
    size_t n = legacy_sharers(e);
    const struct intent_bandwidth *owed = own->guarantee.n ? own : all;
    uint64_t least = owed == own ? own->guarantee.n : part_of_guarantee(e);
    const struct value *at = all->limit.at;
    uint64_t most = all->limit.n / n;

    if (own->limit.at && (!most || own->limit.n < most)) {
        most = own->limit.n;
        at = own->limit.at;
    }
    if (owed->no_borrow && least) {
        most = least;
        at = owed->guarantee.at;
    }
    return (struct legacy_rates) {
        MIN(least, most ? most : least) / MBPS, most, most / MBPS,
        at ? at : owed->guarantee.at,
    };
}

/* Both are VFs of one uplink. */
static void
check_pair(const struct policy_endpoint *e, const struct policy_endpoint *o,
           struct diags *diags)
{
    struct diag *d = NULL;

    if (!o->legacy) {
        if (port_of(o)->s && !strcmp(port_of(o)->s, INTENT_REPRESENTOR)) {
            d = value_error(diags, port_of(e)->at, "a NIC in legacy mode has "
                            "no representors, and another VF of the uplink "
                            "is one");
            diag_remedy(diags, d, "write \""INTENT_LEGACY"\" for all VFs of "
                        "an uplink, or for none");
        } else if (o->tenant == e->tenant && o->bound) {
            d = value_error(diags, port_of(e)->at, "what tenant '%s' may send "
                            "by this uplink cannot be shared by legacy VFs "
                            "and ports of the bridge", e->tenant->name);
            diag_remedy(diags, d, "let all of its endpoints there be legacy "
                        "VFs, or none");
        }
    } else if (o->intent->vf.n == e->intent->vf.n) {
        d = value_error(diags, e->intent->vf.at, "VF %"PRIu16" of the uplink "
                        "is used twice", e->intent->vf.n);
        diag_remedy(diags, d, "give each endpoint a VF of its own");
    }
    if (d) {
        diag_see(diags, d, (port_of(o)->at ? port_of(o)->at
                            : o->intent->name.at)->span, "the other one");
    }
}

static void
check_pairs(const struct policy *policy, const struct policy_endpoint *e,
            const struct intent_uplink *uplink, struct diags *diags)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *o = tenant->endpoints.v[j];

            if (o != e && is_of(o, uplink)
                && (!o->legacy || o->index < e->index)) {
                check_pair(e, o, diags);
            }
        }
    }
}

static bool
is_denied(const struct policy_rule *rule, const struct policy_endpoint *e)
{
    return (rule_kind_denies(rule->kind)
            && ((legacy_holds(&rule->from, rule->from_every, e, false)
                 && legacy_holds(&rule->to, rule->to_every, e, true))
                || (legacy_holds(&rule->to, rule->to_every, e, false)
                    && legacy_holds(&rule->from, rule->from_every, e, true))));
}

/* All of a VLAN hear each other. */
static void
check_rules(const struct policy *policy, const struct policy_endpoint *e,
            struct diags *diags)
{
    struct diag *d;

    if (!e->tenant->intent->default_allow) {
        d = value_error(diags, port_of(e)->at, "no flow sees what this VF "
                        "sends in its VLAN, so the tenant's \"default\", "
                        "which is to deny it, is not kept");
        diag_remedy(diags, d, "write \"default\": \"allow\", or give it a "
                    "representor");
        return;
    }
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (is_denied(rule, e)) {
            d = value_error(diags, port_of(e)->at, "no flow sees what this VF "
                            "sends in its VLAN, so '%s', which denies some of "
                            "it, is not kept", rule->name);
            diag_remedy(diags, d, "give it a representor, or let the rule not "
                        "speak of it");
            diag_see(diags, d, rule->at->span, "the rule");
            return;
        }
    }
}

static void
check_rates(const struct policy_endpoint *e, struct diags *diags)
{
    struct legacy_rates rates = legacy_rates(e);

    if (rates.bps && !rates.max_mbps) {
        struct diag *d = value_error(diags, port_of(e)->at, "a NIC limits a "
                                     "VF to whole Mbps, and this one has less "
                                     "than one: %"PRIu64" bps", rates.bps);

        diag_remedy(diags, d, "raise the \"limit\"");
    } else if (rates.max_mbps && e->intent->send.guarantee.n
               > rates.max_mbps * MBPS + MBPS - 1) {
        struct diag *d = value_error(diags, e->intent->send.guarantee.at,
                                     "this VF's part of the limit of tenant "
                                     "'%s' is %"PRIu64" Mbps, which is less",
                                     e->tenant->name, rates.max_mbps);

        diag_remedy(diags, d, "lower it, or raise the tenant's \"limit\"");
    }
}

static void
check_endpoint(const struct policy *policy, const struct policy_endpoint *e,
               struct diags *diags)
{
    const struct intent_uplink *uplink = legacy_uplink(e);
    struct diag *d;

    if (e->intent->interface.at) {
        d = value_error(diags, e->intent->interface.at, "a legacy VF has no "
                        "interface on the bridge");
        diag_remedy(diags, d, "take this away: \"vf\" says which it is");
    }
    if (!e->network->intent->vlan.at) {
        d = value_error(diags, port_of(e)->at, "its network has no \"vlan\", "
                        "which is all that keeps legacy VFs of one network "
                        "from those of another");
        diag_remedy(diags, d, "give the network one of its own");
        diag_see(diags, d, e->network->intent->name.at->key_span,
                 "the network");
    }
    check_rules(policy, e, diags);
    check_legacy_class(policy, e, diags);
    if (uplink) {
        check_pairs(policy, e, uplink, diags);
        check_rates(e, diags);
    }
}

static void
check_vlan(const struct policy *policy, const struct policy_network *network,
           struct diags *diags)
{
    const struct number *vlan = &network->intent->vlan;

    for (size_t i = 0; vlan->at && i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->networks.n; j++) {
            const struct policy_network *o = tenant->networks.v[j];

            if (o == network) {
                return;
            } else if (o->intent->vlan.at && o->intent->vlan.n == vlan->n) {
                struct diag *d = value_error(diags, vlan->at, "VLAN %"PRIu16
                                             " is used twice", vlan->n);

                diag_remedy(diags, d, "give each network a VLAN of its own");
                diag_see(diags, d, o->intent->vlan.at->span,
                         "first used here");
                return;
            }
        }
    }
}

void
check_legacy(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->networks.n; j++) {
            check_vlan(policy, tenant->networks.v[j], diags);
        }
        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            if (tenant->endpoints.v[j]->legacy) {
                check_endpoint(policy, tenant->endpoints.v[j], diags);
            }
        }
    }
}

/* Said once of a tenant. */
static void
doubt_tenant(const struct policy_tenant *tenant, struct diags *diags)
{
    const struct policy_endpoint *first = NULL;
    size_t n = 0, most = 0;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (e->legacy) {
            first = first ? first : e;
            n++;
            most = MAX(most, legacy_uplink(e) ? legacy_sharers(e) : 0);
        }
    }
    if (first) {
        const char *more = (n == 1 ? "" : n == 2 ? "; here and once more"
                            : arena_printf(diags->arena, "; here and "
                                           "%"PRIuSIZE" more times", n - 1));

        value_warning(diags, port_of(first)->at, "of what a legacy VF sends "
                      "the NIC looks at the source MAC and nothing else: "
                      "addresses of IP, ARP and neighbor discovery, DHCP, "
                      "DSCP and classes, weights, microbursts, limits of "
                      "packets, upcalls and connections, and what it "
                      "receives are not enforced, and only what is in its "
                      "VLAN reaches it%s", more);
    }
    if (most > 1 && tenant->intent->send.limit.at) {
        value_warning(diags, tenant->intent->send.limit.at, "a NIC in legacy "
                      "mode has no rate for several VFs together: each of "
                      "%"PRIuSIZE" has its part of this, and no more", most);
    }
}

void
doubt_legacy(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        doubt_tenant(policy->tenants.v[i], diags);
        doubt_legacy_classes(policy, policy->tenants.v[i], diags);
    }
}
