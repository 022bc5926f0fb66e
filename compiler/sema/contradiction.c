/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <inttypes.h>
#include <netinet/in.h>

#include "sema/narrower.h"
#include "sema/policy.h"
#include "util.h"

/* The error that two rules allow a packet with different classes. */

/* The first endpoint in both sets, but for 'other'; NULL if there is none. */
static const struct policy_endpoint *
common(const endpoint_vec *a, const endpoint_vec *b,
       const struct policy_endpoint *other)
{
    for (size_t i = 0, j = 0; i < a->n && j < b->n; ) {
        if (a->v[i] == b->v[j] && a->v[i] != other) {
            return a->v[i];
        } else if (a->v[i]->index <= b->v[j]->index) {
            i++;
        } else {
            j++;
        }
    }
    return NULL;
}

/* "from 'A' to 'B'", two endpoints that are on those sides in both. */
static const char *
pair_text(const endpoint_vec *from_a, const endpoint_vec *to_a,
          const endpoint_vec *from_b, const endpoint_vec *to_b,
          struct arena *arena)
{
    const struct policy_endpoint *from = common(from_a, from_b, NULL);
    const struct policy_endpoint *to = common(to_a, to_b, from);

    if (!to) {
        to = common(to_a, to_b, NULL);
        from = common(from_a, from_b, to);
    }
    return arena_printf(arena, "from '%s' to '%s'", from->name, to->name);
}

/* The same, of an endpoint and an external. */
static const char *
outside_text(const struct policy_rule *a, const struct policy_rule *b,
             struct arena *arena)
{
    const struct policy_endpoint *from = common(&a->from, &b->from, NULL);

    if (from && ranges_intersect(&a->to_ranges, &b->to_ranges)) {
        return arena_printf(arena, "from '%s' to external '%s'", from->name,
                            a->to_ranges.v[0].external->name);
    }
    return arena_printf(arena, "from external '%s' to '%s'",
                        a->from_ranges.v[0].external->name,
                        common(&a->to, &b->to, NULL)->name);
}

static const char *
match_text(const struct service_match *m, uint16_t port, struct arena *arena)
{
    const char *name = (m->protocol == IPPROTO_TCP ? "tcp"
                        : m->protocol == IPPROTO_UDP ? "udp"
                        : m->protocol == IPPROTO_ICMP ? "icmp"
                        : m->protocol == IPPROTO_ICMPV6 ? "icmp6"
                        : arena_printf(arena, "protocol %d", m->protocol));

    return (port ? arena_printf(arena, "%s to port %"PRIu16, name, port)
            : name);
}

/* A packet of both, by a symmetric port. */
static const char *
symmetric_text(const struct policy *policy, const struct policy_rule *a,
               const struct policy_rule *b, struct arena *arena)
{
    for (size_t i = 0; i < policy->services.n; i++) {
        const struct policy_service *s = policy->services.v[i];

        if (s->symmetric && service_holds(a->service, s)
            && service_holds(b->service, s)) {
            return match_text(&s->matches.v[0], s->matches.v[0].ports.first,
                              arena);
        }
    }
    return "packets";
}

static const char *
service_text(const struct policy_service *a, const struct policy_service *b,
             struct arena *arena)
{
    if (!a && !b) {
        return "any packet";
    }
    for (size_t i = 0; a && i < a->matches.n; i++) {
        for (size_t j = 0; b && j < b->matches.n; j++) {
            const struct service_match *x = &a->matches.v[i];
            const struct service_match *y = &b->matches.v[j];

            if (x->protocol == y->protocol
                && x->ports.first <= y->ports.last
                && y->ports.first <= x->ports.last) {
                return match_text(x, MAX(x->ports.first, y->ports.first),
                                  arena);
            }
        }
    }
    a = a ? a : b;
    return match_text(&a->matches.v[0], a->matches.v[0].ports.first, arena);
}

/* A packet that both allow, and from whom to whom. */
static const char *
example(const struct policy *policy, const struct policy_rule *a,
        const struct policy_rule *b, struct arena *arena)
{
    bool same = rules_join_same(a, b);

    if (!same && rules_join_opposite(a, b)) {
        return arena_printf(arena, "%s %s",
                            symmetric_text(policy, a, b, arena),
                            pair_text(&a->from, &a->to, &b->to, &b->from,
                                      arena));
    }
    return arena_printf(arena, "%s %s",
                        service_text(a->service, b->service, arena),
                        same ? pair_text(&a->from, &a->to, &b->from, &b->to,
                                         arena)
                        : outside_text(a, b, arena));
}

/* Has one of the sides alternatives with "cidr", and the other without? */
static bool
cidr_is_in_one(const selector_vec *a, const selector_vec *b)
{
    bool with = false, without = false;

    for (size_t i = 0; i < a->n + b->n; i++) {
        const struct intent_selector *s = (i < a->n ? &a->v[i]
                                           : &b->v[i - a->n]);

        with |= s->cidrs.n && !s->external.s;
        without |= !s->cidrs.n && !s->external.s;
    }
    return with && without;
}

void
report_contradiction(const struct policy *policy, const struct policy_rule *a,
                     const struct policy_rule *b, struct diags *diags)
{
    const struct intent_rule *x = a->intent, *y = b->intent;

    if (diag_count(diags, DIAG_ERROR)) {
        return;
    }

    bool silent = (rule_is_narrower(policy, a, b)
                   || rule_is_narrower(policy, b, a));
    const char *what = a->class != b->class ? "class" : "\"reply_class\"";
    struct diag *d = diag_error(diags, policy_rule_span(b),
                                value_pointer(b->at, diags->arena),
                                "this allows packets that rule '%s' allows "
                                "with another %s, and %s", a->name, what,
                                silent
                                ? "only the wider of the two is stateless"
                                : "neither is the narrower of the two");

    if (silent) {
        diag_remedy(diags, d, "give both the same %s, or say "
                    "\"stateful\": false of the narrower one too: of what a "
                    "stateless rule speaks of, stateful ones say nothing",
                    what);
    } else {
        diag_remedy(diags, d, "give both the same %s, or put all of "
                    "one inside the other's \"from\", \"to\" and service%s, "
                    "or make them match different packets%s", what,
                    cidr_is_in_one(&x->from, &y->from)
                    || cidr_is_in_one(&x->to, &y->to)
                    ? " (inside of a \"cidr\" is only what says a \"cidr\" "
                      "inside of it too)" : "",
                    !rules_join_same(a, b) && rules_join_opposite(a, b)
                    ? BOTH_WAYS : "");
    }
    diag_see(diags, d, policy_rule_span(a), "the other rule: both allow %s",
             example(policy, a, b, diags->arena));
}
