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

struct legacy_rates
legacy_rates(const struct policy_endpoint *e)
{
    const struct intent_bandwidth *own = &e->intent->send;
    const struct intent_bandwidth *all = &e->tenant->intent->send;
    size_t n = legacy_sharers(e);
    const struct intent_bandwidth *owed = own->limit.at ? own : all;
    uint64_t least = owed->guarantee.n / (owed == own ? 1 : n);
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

/* Does a side of a rule hold 'e', or, if 'network', anybody of its network? */
static bool
holds(const endpoint_vec *side, bool every, const struct policy_endpoint *e,
      bool network)
{
    for (size_t i = 0; !every && i < side->n; i++) {
        every = side->v[i] == e || (network
                                    && side->v[i]->network == e->network);
    }
    return every;
}

static bool
is_denied(const struct policy_rule *rule, const struct policy_endpoint *e)
{
    return (rule_kind_denies(rule->kind)
            && ((holds(&rule->from, rule->from_every, e, false)
                 && holds(&rule->to, rule->to_every, e, true))
                || (holds(&rule->to, rule->to_every, e, false)
                    && holds(&rule->from, rule->from_every, e, true))));
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

/* What rules let a VF send in: two classes that are not alike to a NIC, if
 * there are such, and one that is lossless, if any is. */
struct legacy_use {
    const struct policy_class *class;   /* NULL: POLICY_BEST_EFFORT. */
    const struct policy_rule *rule;     /* The first that does. */
};
enum { MAX_USES = 2 };
struct legacy_uses {
    size_t n;
    struct legacy_use v[MAX_USES];
};

static uint16_t
queue_of(const struct policy_class *class)
{
    return class ? class->queue : 0;
}

static bool
is_lossless(const struct policy_class *class)
{
    return class && class->lossless;
}

static void
add_use(struct legacy_uses *uses, const struct policy_rule *rule,
        const struct policy_class *class)
{
    for (size_t i = 0; i < uses->n; i++) {
        const struct policy_class *o = uses->v[i].class;

        if (queue_of(o) == queue_of(class)
            && is_lossless(o) == is_lossless(class)) {
            return;
        }
    }
    if (uses->n < MAX_USES) {
        uses->n++;
    } else if (!is_lossless(class)) {
        return;
    }
    uses->v[uses->n - 1] = (struct legacy_use) { class, rule };
}

static struct legacy_uses
find_uses(const struct policy *policy, const struct policy_endpoint *e)
{
    struct legacy_uses uses = { .n = 0 };

    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule_kind_denies(rule->kind) || rule->kind == RULE_DEFAULT) {
            continue;
        }
        if (holds(&rule->from, false, e, false)
            && holds(&rule->to, false, e, true)) {
            add_use(&uses, rule, rule->class);
        }
        if (holds(&rule->to, false, e, false)
            && holds(&rule->from, false, e, true)) {
            add_use(&uses, rule, rule->reply_class);
        }
    }
    return uses;
}

const struct policy_class *
legacy_class(const struct policy *policy, const struct policy_endpoint *e)
{
    struct legacy_uses uses = find_uses(policy, e);

    return uses.n == 1 ? uses.v[0].class : NULL;
}

static void
see_uses(const struct legacy_uses *uses, struct diag *d, struct diags *diags)
{
    for (size_t i = 0; i < uses->n; i++) {
        diag_see(diags, d, policy_rule_span(uses->v[i].rule),
                 i ? "the other rule" : "one rule");
    }
}

static const char *
use_text(const struct legacy_use *use, struct arena *arena)
{
    return arena_printf(arena, "class '%s' (%squeue %"PRIu16")",
                        use->class ? use->class->name : POLICY_BEST_EFFORT,
                        is_lossless(use->class) ? "lossless, " : "",
                        queue_of(use->class));
}

/* All that a legacy VF sends has one priority: pause frames would stop all of
 * it, or nothing that is lossless. */
static void
check_uses(const struct policy *policy, const struct policy_endpoint *e,
           struct diags *diags)
{
    struct legacy_uses uses = find_uses(policy, e);

    if (uses.n == MAX_USES && (is_lossless(uses.v[0].class)
                               || is_lossless(uses.v[1].class))) {
        struct diag *d = value_error(
            diags, port_of(e)->at, "all that a legacy VF sends has one "
            "priority, and rules let this one send in %s and in %s",
            use_text(&uses.v[0], diags->arena),
            use_text(&uses.v[1], diags->arena));

        diag_remedy(diags, d, "let it send in the lossless class only, or "
                    "give it a representor");
        see_uses(&uses, d, diags);
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
    check_uses(policy, e, diags);
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
                      "DSCP and classes, limits of packets, and what it "
                      "receives are not enforced, and only what is in its "
                      "VLAN reaches it%s", more);
    }
    if (most > 1 && tenant->intent->send.limit.at) {
        value_warning(diags, tenant->intent->send.limit.at, "a NIC in legacy "
                      "mode has no rate for several VFs together: each of "
                      "%"PRIuSIZE" has its part of this, and no more", most);
    }
}

static void
doubt_uses(const struct policy_endpoint *e, const struct legacy_uses *uses,
           struct diags *diags)
{
    const struct policy_class *class = uses->v[0].class;
    struct diag *d;

    if (uses->n == MAX_USES) {
        d = value_warning(diags, port_of(e)->at, "all that a legacy VF sends "
                          "has one priority, and rules let this one send in "
                          "%s and in %s: it has 0",
                          use_text(&uses->v[0], diags->arena),
                          use_text(&uses->v[1], diags->arena));
        diag_remedy(diags, d, "let it send in classes of one queue, or give "
                    "it a representor");
        see_uses(uses, d, diags);
    } else if (queue_of(class)) {
        d = value_warning(diags, port_of(e)->at, "all that this VF sends has "
                          "priority %"PRIu16" in its VLAN tag, that of class "
                          "'%s', also what no rule names; who goes by the "
                          "DSCP, as dcb.sh has NICs do, sees what the VF "
                          "writes", class->queue, class->name);
        diag_remedy(diags, d, "let what is in the VF send in this class only, "
                    "with DSCP %u", class->dscp);
    }
}

/* Said once of VFs of a tenant that are alike, as those that follow each other
 * mostly are. */
static void
doubt_priorities(const struct policy *policy,
                 const struct policy_tenant *tenant, struct diags *diags)
{
    struct legacy_uses last = { .n = 0 };

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (e->legacy) {
            struct legacy_uses uses = find_uses(policy, e);

            if (uses.n != last.n || uses.v[0].class != last.v[0].class
                || uses.v[1].class != last.v[1].class) {
                doubt_uses(e, &uses, diags);
            }
            last = uses;
        }
    }
}

void
doubt_legacy(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        doubt_tenant(policy->tenants.v[i], diags);
        doubt_priorities(policy, policy->tenants.v[i], diags);
    }
}
