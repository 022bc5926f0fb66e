/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "packets.h"
#include "sema/policy.h"

/* The endpoint of 'side' that stands first of those on nodes where 'e' is not
 * attached; if 'lone', of those whose network has no gateway.  NULL if there
 * is none. */
static const struct policy_endpoint *
find_cut_off(const endpoint_vec *side, const struct policy_external *e,
             bool lone)
{
    for (size_t i = 0; i < side->n; i++) {
        const struct policy_endpoint *ep = side->v[i];

        if (lone ? !ep->network->intent->gateways.n
            : ep->bound && !external_at(e, ep->node)) {
            return ep;
        }
    }
    return NULL;
}

static const char *
family(bool ip6)
{
    return ip6 ? "IPv6" : "IPv4";
}

/* The endpoint has addresses of the family, as the range has: do they have
 * gateways of it, to each other?  If not, adds a warning. */
static bool
doubt_gateways(const struct policy_range *range,
               const struct policy_endpoint *ep, bool ip6,
               struct diags *diags)
{
    const struct policy_external *e = range->external;
    const struct policy_attachment *a = external_at(e, ep->node);
    const struct intent_network *network = ep->network->intent;
    struct diag *d;

    if (!a || !network->gateways.n) {
        return false;           /* Of which doubt_range() warns. */
    } else if (!holds_family(&network->gateways, ip6)) {
        d = value_warning(diags, network->gateways.v[0].at, "network '%s' has "
                          "no %s gateway, which '%s' needs for the %s "
                          "addresses of external '%s'", network->name.s,
                          family(ip6), ep->name, family(ip6), e->name);
        diag_remedy(diags, d, "list a gateway of each family");
        diag_see(diags, d, range->at->span, "the rule");
        return true;
    } else if (!holds_family(&a->intent->gateways, ip6)) {
        d = value_warning(diags, a->intent->gateways.v[0].at, "external '%s' "
                          "has no %s gateway on node '%s', which its router "
                          "needs for the %s addresses of '%s'", e->name,
                          family(ip6), a->node->name.s, family(ip6),
                          ep->name);
        diag_remedy(diags, d, "list a gateway of each family");
        diag_see(diags, d, range->at->span, "the rule");
        return true;
    }
    return false;
}

bool
range_has_family(const struct policy_range *range, bool ip6)
{
    return (range->cidr ? address_is_ip6(range->cidr) == ip6
            : holds_family(&range->external->intent->addresses, ip6));
}

/* Warns of one endpoint a family. */
static void
doubt_range_families(const struct policy_range *range,
                     const endpoint_vec *side, struct diags *diags)
{
    for (int ip6 = 0; ip6 < 2; ip6++) {
        for (size_t i = 0; range_has_family(range, ip6) && i < side->n;
             i++) {
            const struct policy_endpoint *ep = side->v[i];

            if (ep->bound && holds_family(&ep->intent->addresses, ip6)
                && doubt_gateways(range, ep, ip6, diags)) {
                break;
            }
        }
    }
}

static void
doubt_range(const struct policy_range *range, const endpoint_vec *side,
            struct diags *diags)
{
    const struct policy_external *e = range->external;
    const struct policy_endpoint *lone = find_cut_off(side, e, true);
    struct diag *d;

    if (lone) {
        const struct value *at = lone->network->intent->name.at;

        d = value_warning(diags, range->at, "external '%s' is reached through "
                          "gateways, and network '%s' of '%s' has none",
                          e->name, lone->network->intent->name.s, lone->name);
        diag_remedy(diags, d, "give the network a \"gateway\"");
        diag_see(diags, d, at->key_span, "the network");
    }
    doubt_range_families(range, side, diags);
}

/* The selectors of an external in rules about endpoints that it does not
 * reach: the first, one such endpoint, and how many there are. */
struct cut_off {
    const struct policy_external *external;
    const struct policy_range *range;
    const struct policy_endpoint *endpoint;
    size_t n;
};

static void
count_cut_off(struct cut_off *c, const range_vec *ranges,
              const endpoint_vec *side)
{
    for (size_t i = 0; i < ranges->n; i++) {
        const struct policy_endpoint *far
            = (ranges->v[i].external == c->external
               ? find_cut_off(side, c->external, false) : NULL);

        if (far) {
            c->n++;
            if (!c->range) {
                c->range = &ranges->v[i];
                c->endpoint = far;
            }
        }
    }
}

/* Warns of them once. */
static void
doubt_attachments(const struct policy *policy,
                  const struct policy_external *e, struct diags *diags)
{
    struct cut_off c = { .external = e };
    const char *more = "";
    struct diag *d;

    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (!rule_kind_denies(rule->kind)) {
            count_cut_off(&c, &rule->to_ranges, &rule->from);
            count_cut_off(&c, &rule->from_ranges, &rule->to);
        }
    }
    if (!c.n) {
        return;
    } else if (c.n > 1) {
        more = arena_printf(diags->arena, "; %"PRIuSIZE" selectors ask for "
                            "that", c.n);
    }
    d = value_warning(diags, c.range->at, "external '%s' is not attached to "
                      "node '%s', so '%s' there does not reach it: nothing "
                      "from or for outside goes by tunnel%s", e->name,
                      c.endpoint->node->name.s, c.endpoint->name, more);
    diag_remedy(diags, d, "attach it to that node too, or select endpoints of "
                "other nodes");
    diag_see(diags, d, e->intent->name.at->key_span, "the external");
}

/* Would addresses of 'subnet' be the external's, but for those who have them
 * inside? */
static bool
is_taken_from(const struct policy_external *e, const struct address *subnet)
{
    for (size_t i = 0; i < e->intent->excepts.n; i++) {
        if (range_holds(&e->intent->excepts.v[i], subnet)) {
            return false;
        }
    }
    for (size_t i = 0; i < n_unroutable; i++) {
        if (range_holds(&unroutable[i], subnet)) {
            return false;
        }
    }
    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        const struct address *range = &e->intent->addresses.v[i];

        if (range_holds(range, subnet) || range_holds(subnet, range)) {
            return true;
        }
    }
    return false;
}

static void
doubt_subnet(const struct policy_external *e, const struct address *subnet,
             struct diags *diags)
{
    if (is_taken_from(e, subnet)) {
        struct diag *d = value_warning(
            diags, subnet->at, "this subnet takes addresses of external '%s' "
            "from all tenants that use it", e->name);

        diag_remedy(diags, d, "if they are the tenant's, list them in "
                    "\"except\" of the external; if not, correct the subnet");
        diag_see(diags, d, e->intent->name.at->key_span, "the external");
    }
}

/* A subnet that one tenant writes is outside for nobody any more.  What is
 * inside stands in the order of the tenants. */
static void
doubt_inside(const struct policy *policy, const struct policy_external *e,
             struct diags *diags)
{
    size_t n = 0;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        bool alone = e->users.n == 1 && e->users.v[0] == tenant;

        for (size_t j = 0; j < tenant->networks.n; j++) {
            const address_vec *subnets
                = &tenant->networks.v[j]->intent->subnets;

            for (size_t k = 0; k < subnets->n && n < e->inside.n
                 && e->inside.v[n] == &subnets->v[k]; k++, n++) {
                if (!alone) {
                    doubt_subnet(e, &subnets->v[k], diags);
                }
            }
        }
    }
}

void
doubt_externals(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->externals.n; i++) {
        doubt_inside(policy, policy->externals.v[i], diags);
        doubt_attachments(policy, policy->externals.v[i], diags);
    }
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        for (size_t j = 0; !rule_kind_denies(rule->kind)
             && j < rule->to_ranges.n; j++) {
            doubt_range(&rule->to_ranges.v[j], &rule->from, diags);
        }
        for (size_t j = 0; !rule_kind_denies(rule->kind)
             && j < rule->from_ranges.n; j++) {
            doubt_range(&rule->from_ranges.v[j], &rule->to, diags);
        }
    }
}
