/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "sema/policy.h"

/* Warns of rules and peerings whose sides have no addresses of one family, so
 * that nothing can pass by them. */

/* One side of a rule. */
struct side {
    const endpoint_vec *endpoints;
    const range_vec *ranges;
};

static bool
has_ranges_of(const struct side *side, bool ip6)
{
    for (size_t i = 0; i < side->ranges->n; i++) {
        if (range_has_family(&side->ranges->v[i], ip6)) {
            return true;
        }
    }
    return false;
}

/* The first endpoint of the side that has addresses of the family and is not
 * 'other'; NULL if there is none. */
static const struct policy_endpoint *
find_endpoint(const struct side *side, bool ip6,
              const struct policy_endpoint *other)
{
    for (size_t i = 0; i < side->endpoints->n; i++) {
        const struct policy_endpoint *e = side->endpoints->v[i];

        if (e != other && holds_family(&e->intent->addresses, ip6)) {
            return e;
        }
    }
    return NULL;
}

/* Are there two of the family, one on each side? */
static bool
can_meet(const struct side *from, const struct side *to, bool ip6)
{
    const struct policy_endpoint *e = find_endpoint(from, ip6, NULL);

    if (has_ranges_of(from, ip6)) {
        return has_ranges_of(to, ip6) || find_endpoint(to, ip6, NULL);
    } else if (has_ranges_of(to, ip6)) {
        return e != NULL;
    }
    return e && (find_endpoint(to, ip6, e)
                 || (find_endpoint(to, ip6, NULL)
                     && find_endpoint(from, ip6, e)));
}

/* Is there somebody, and nobody whose addresses are not known? */
static bool
is_known(const struct side *side)
{
    for (size_t i = 0; i < side->endpoints->n; i++) {
        if (!side->endpoints->v[i]->intent->addresses.n) {
            return false;
        }
    }
    return side->endpoints->n || side->ranges->n;
}

/* The only family of the side's addresses, or NULL: both. */
static const char *
only_family(const struct side *side)
{
    bool ip4 = has_ranges_of(side, false) || find_endpoint(side, false, NULL);
    bool ip6 = has_ranges_of(side, true) || find_endpoint(side, true, NULL);

    return ip4 == ip6 ? NULL : ip4 ? "IPv4" : "IPv6";
}

/* An address of the side: of its first endpoint, or its last. */
static struct span
example(const struct side *side, bool last)
{
    const endpoint_vec *all = side->endpoints;

    return (all->n ? all->v[last ? all->n - 1 : 0]->intent->addresses.v[0].at
            : side->ranges->v[0].at)->span;
}

static void
doubt_rule(const struct policy_rule *rule, struct diags *diags)
{
    const struct side from = { &rule->from, &rule->from_ranges };
    const struct side to = { &rule->to, &rule->to_ranges };
    const char *what = rule->kind == RULE_PEERING ? "peering" : "rule";
    const char *left, *right;
    struct diag *d;

    /* Of one endpoint by itself another warning speaks. */
    if (!is_known(&from) || !is_known(&to)
        || (rule->from.n == 1 && rule->to.n == 1
            && rule->from.v[0] == rule->to.v[0])
        || can_meet(&from, &to, false) || can_meet(&from, &to, true)) {
        return;
    }
    left = only_family(&from);
    right = only_family(&to);
    if (left && right && left != right) {
        d = value_warning(diags, rule->intent->to.v[0].at, "nothing passes by "
                          "this %s: the addresses of its \"from\" are all "
                          "%s, those of its \"to\" %s", what, left, right);
    } else {
        d = value_warning(diags, rule->intent->to.v[0].at, "nothing passes by "
                          "this %s: no two of its endpoints have addresses of "
                          "one family", what);
    }
    diag_remedy(diags, d, "give the endpoints of both sides addresses of one "
                "family");
    diag_see(diags, d, example(&from, false), "one of \"from\"");
    diag_see(diags, d, example(&to, true), "one of \"to\"");
}

void
doubt_families(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (!rule_kind_denies(rule->kind) && rule->intent) {
            doubt_rule(rule, diags);
        }
    }
}
