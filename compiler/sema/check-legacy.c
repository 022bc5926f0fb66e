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

/* Its limit, and what it is owed, are of all that a VF sends. */
static void
check_parts(const struct policy_tenant *tenant, struct diags *diags)
{
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (e->legacy && tenant->intent->send.parts.n) {
            struct diag *d = value_error(
                diags, tenant->intent->send.parts.v[0].class.at, "a NIC in "
                "legacy mode has no rate for one class of what a VF sends");

            diag_remedy(diags, d, "take \"classes\" away, or give the "
                        "endpoint a representor");
            diag_see(diags, d, port_of(e)->at->span, "the VF");
            return;
        }
    }
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
        check_legacy_rates(e, diags);
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
        check_parts(tenant, diags);
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
    size_t n = 0;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (e->legacy) {
            first = first ? first : e;
            n++;
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
}

/* A legacy VF of the side for which the rule's other side has nobody in its
 * network; NULL if there is anybody whom the rule lets send or receive. */
static const struct policy_endpoint *
find_cut(const struct policy_rule *rule, const endpoint_vec *side)
{
    for (size_t i = 0; i < side->n; i++) {
        if (!side->v[i]->legacy
            || legacy_fate(rule, side->v[i]) != LEGACY_CUT) {
            return NULL;
        }
    }
    return side->n ? side->v[0] : NULL;
}

/* Nothing of what these allow passes. */
static void
doubt_rules(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];
        const struct policy_endpoint *e = NULL;

        if (!rule_kind_denies(rule->kind) && rule->kind != RULE_DEFAULT
            && !rule->from_every && !rule->to_every) {
            e = find_cut(rule, &rule->from);
            e = e ? e : find_cut(rule, &rule->to);
        }
        if (e) {
            struct diag *d = value_warning(
                diags, rule->at, "nothing of what '%s' allows passes: only "
                "what is in its VLAN reaches a legacy VF, and here one side "
                "has no others than such VFs, in VLANs that nobody of the "
                "other is in", rule->name);

            diag_remedy(diags, d, "give them representors, or take this "
                        "away");
            diag_see(diags, d, port_of(e)->at->span, "one of the VFs");
        }
    }
}

void
doubt_legacy(const struct policy *policy, struct diags *diags)
{
    doubt_rules(policy, diags);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        doubt_tenant(policy->tenants.v[i], diags);
        doubt_legacy_rates(policy->tenants.v[i], diags);
        doubt_legacy_classes(policy, policy->tenants.v[i], diags);
    }
}
