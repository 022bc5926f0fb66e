/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <inttypes.h>

#include "sema/policy.h"
#include "sema/rule-kind.h"

/* The classes of what VFs of a NIC in legacy mode send: no flow gives a packet
 * its class, but all that a VF sends can have the priority of one. */

static const struct value *
port_at(const struct policy_endpoint *e)
{
    return e->intent->port.at;
}

bool
legacy_holds(const endpoint_vec *side, bool every,
             const struct policy_endpoint *e, bool network)
{
    for (size_t i = 0; !every && i < side->n; i++) {
        every = side->v[i] == e || (network
                                    && side->v[i]->network == e->network);
    }
    return every;
}

/* Does the rule let 'e', of 'side', send in its network, or reply there? */
static bool
is_of(const struct policy_rule *rule, const endpoint_vec *side,
      const endpoint_vec *other, const struct policy_endpoint *e)
{
    return (!rule_kind_denies(rule->kind) && rule->kind != RULE_DEFAULT
            && legacy_holds(side, false, e, false)
            && legacy_holds(other, false, e, true));
}

enum legacy_fate
legacy_fate(const struct policy_rule *rule, const struct policy_endpoint *e)
{
    if (rule_kind_denies(rule->kind)
        || !(legacy_holds(&rule->from, rule->from_every, e, false)
             || legacy_holds(&rule->to, rule->to_every, e, false))) {
        return LEGACY_OTHERS;
    }
    return (rule->kind == RULE_DEFAULT
            || is_of(rule, &rule->from, &rule->to, e)
            || is_of(rule, &rule->to, &rule->from, e)
            ? LEGACY_UNKEPT : LEGACY_CUT);
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

        if (is_of(rule, &rule->from, &rule->to, e)) {
            add_use(&uses, rule, rule->class);
        }
        if (is_of(rule, &rule->to, &rule->from, e)) {
            add_use(&uses, rule, rule->reply_class);
        }
    }
    return uses;
}

uint8_t
legacy_queues(const struct policy *policy, const struct policy_endpoint *e)
{
    uint8_t queues = 1;

    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (is_of(rule, &rule->from, &rule->to, e)) {
            queues |= 1 << queue_of(rule->class);
        }
        if (is_of(rule, &rule->to, &rule->from, e)) {
            queues |= 1 << queue_of(rule->reply_class);
        }
    }
    return queues;
}

void
legacy_find_classes(const struct policy *policy,
                    const struct policy_endpoint *e, class_vec *classes,
                    struct arena *arena)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (is_of(rule, &rule->from, &rule->to, e)
            || is_of(rule, &rule->to, &rule->from, e)) {
            *vec_push(arena, classes) = rule->class;
            *vec_push(arena, classes) = rule->reply_class;
        }
    }
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
void
check_legacy_class(const struct policy *policy,
                   const struct policy_endpoint *e, struct diags *diags)
{
    struct legacy_uses uses = find_uses(policy, e);

    if (uses.n == MAX_USES && (is_lossless(uses.v[0].class)
                               || is_lossless(uses.v[1].class))) {
        struct diag *d = value_error(
            diags, port_at(e), "all that a legacy VF sends has one "
            "priority, and rules let this one send in %s and in %s",
            use_text(&uses.v[0], diags->arena),
            use_text(&uses.v[1], diags->arena));

        diag_remedy(diags, d, "let it send in the lossless class only, or "
                    "give it a representor");
        see_uses(&uses, d, diags);
    }
}

static void
doubt_uses(const struct policy_endpoint *e, const struct legacy_uses *uses,
           struct diags *diags)
{
    const struct policy_class *class = uses->v[0].class;
    struct diag *d;

    if (uses->n == MAX_USES) {
        d = value_warning(diags, port_at(e), "all that a legacy VF sends "
                          "has one priority, and rules let this one send in "
                          "%s and in %s: it has 0",
                          use_text(&uses->v[0], diags->arena),
                          use_text(&uses->v[1], diags->arena));
        diag_remedy(diags, d, "let it send in classes of one queue, or give "
                    "it a representor");
        see_uses(uses, d, diags);
    } else if (queue_of(class)) {
        d = value_warning(diags, port_at(e), "all that this VF sends has "
                          "priority %"PRIu16" in its VLAN tag, that of class "
                          "'%s', also what no rule names; a NIC that goes "
                          "by the DSCP, as dcb.sh of target asap2 sets it, "
                          "sees what the VF writes", class->queue,
                          class->name);
        diag_remedy(diags, d, "let what is in the VF write the DSCP of the "
                    "class that it sends in");
    }
}

/* Said once of VFs of a tenant that are alike, as those that follow each other
 * mostly are. */
void
doubt_legacy_classes(const struct policy *policy,
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
