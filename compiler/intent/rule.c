/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include <string.h>

/* Who may talk to whom. */

/* What of the side names an external, the last that does, or NULL; an error if
 * something else is beside it. */
static const struct value *
decode_outside(struct decoder *d, const selector_vec *side)
{
    const struct value *at = NULL;
    size_t n = 0;

    for (size_t i = 0; i < side->n; i++) {
        if (side->v[i].external.s) {
            at = side->v[i].external.at;
            n++;
        }
    }
    if (n && n < side->n) {
        decode_error(d, at, "this side of a peering selects both an external "
                     "and tenants", "write a peering for each");
    }
    return at;
}

/* A peering joins tenants with one another, or with externals. */
static void
check_outside(struct decoder *d, const struct intent_rule *peering)
{
    const struct value *from = decode_outside(d, &peering->from);
    const struct value *to = decode_outside(d, &peering->to);

    if (from && to) {
        decode_error(d, to, "both sides of this peering are outside",
                     "select tenants on one of them");
    }
    if ((from || to) && peering->charge.s) {
        decode_error(d, peering->charge.at, "of what passes to and from an "
                     "external the tenant pays for both directions",
                     "remove it");
    }
}

static void
decode_sides(struct decoder *d, const struct value *v, bool named,
             struct intent_rule *rule)
{
    decode_selector(d, value_member(v, "from"), named, &rule->from);
    decode_selector(d, value_member(v, "to"), named, &rule->to);
    rule->service = decode_text(d, v, "service");
}

/* What an allowing rule demands of its packets, in place of a service. */
static void
decode_require(struct decoder *d, const struct value *v,
               struct intent_rule *rule)
{
    rule->require = decode_text(d, v, "require");
    if (!rule->require.s) {
        return;
    } else if (strcmp(rule->require.s, "psp")
               && strcmp(rule->require.s, "ipsec")) {
        decode_error(d, rule->require.at,
                     "this must be \"psp\" or \"ipsec\"",
                     "write one of the two, or leave it out");
    } else if (rule->deny) {
        decode_error(d, rule->require.at, "a rule that denies requires "
                     "nothing", "remove it, or deny a \"service\"");
    } else if (value_member(v, "service")) {
        decode_error(d, rule->require.at, "what is encrypted has no service "
                     "that anybody could see", "remove \"service\", or this");
    }
}

/* Whether connection tracking knows its packets; the default is true. */
static void
decode_stateful(struct decoder *d, const struct value *v,
                struct intent_rule *rule)
{
    rule->stateless = decode_flag(d, v, "stateful", false);
    if (rule->stateless && rule->deny) {
        decode_error(d, rule->stateless, "a rule that denies tracks nothing",
                     "remove it");
    } else if (rule->stateless && value_member(v, "reply_class")) {
        decode_error(d, rule->stateless, "what is not tracked has no replies",
                     "remove \"reply_class\", or this; both ways are of the "
                     "class");
    }
}

void
decode_rule(struct decoder *d, const struct value *v,
            struct intent_rule *rule)
{
    static const struct member members[] = {
        { "name", true }, { "action", false }, { "from", true },
        { "to", true }, { "service", false }, { "require", false },
        { "class", false }, { "reply_class", false }, { "stateful", false },
        { NULL, false },
    };

    if (decode_object(d, v, "a rule", members)) {
        rule->name = decode_name(d, v, "name");
        rule->deny = decode_choice(d, v, "action", "allow", "deny");
        decode_sides(d, v, false, rule);
        decode_require(d, v, rule);
        decode_stateful(d, v, rule);
        rule->class = decode_text(d, v, "class");
        rule->reply_class = decode_text(d, v, "reply_class");
    }
}

void
decode_peering(struct decoder *d, const struct value *v,
               struct intent_rule *peering)
{
    static const struct member members[] = {
        { "from", true }, { "to", true }, { "service", false },
        { "require", false }, { "class", false }, { "reply_class", false },
        { "stateful", false }, { "imposed", false }, { "charge", false },
        { NULL, false },
    };

    peering->name = decode_key(v);
    if (!decode_object(d, v, "a peering", members)) {
        return;
    }
    decode_sides(d, v, true, peering);
    decode_require(d, v, peering);
    decode_stateful(d, v, peering);
    if (!value_member(v, "service") && !value_member(v, "require")) {
        decode_error(d, v, "a peering needs a member 'service' or 'require'",
                     "add \"service\": ...");
    }
    peering->class = decode_text(d, v, "class");
    peering->reply_class = decode_text(d, v, "reply_class");
    peering->imposed = decode_flag(d, v, "imposed", true);
    peering->charge = decode_text(d, v, "charge");
    if (peering->charge.s && strcmp(peering->charge.s, "from")
        && strcmp(peering->charge.s, "to")) {
        decode_error(d, peering->charge.at, "this must be \"from\" or "
                     "\"to\"", "name the side whose tenant pays, or leave "
                     "it out: who sends pays");
    }
    check_outside(d, peering);
}

void
decode_guardrail(struct decoder *d, const struct value *v,
                 struct intent_rule *guardrail)
{
    static const struct member members[] = {
        { "from", true }, { "to", true }, { "service", false },
        { NULL, false },
    };

    guardrail->name = decode_key(v);
    guardrail->deny = true;
    if (decode_object(d, v, "a guardrail", members)) {
        decode_sides(d, v, true, guardrail);
    }
}
