/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "intent/units.h"
#include "openvswitch/dynamic-string.h"
#include "sema/policy.h"
#include "sema/tree.h"
#include "util.h"

/* Warns of uplinks whose queue is so short that who comes first borrows what
 * is the others' share: at least two rounds are to be in it, of 10 us or eight
 * full frames each (ovs-patches/lib/borrow.h). */

enum { LEAST_US = 20, LEAST_BYTES = 2 * 8 * GUARANTEED_FRAME };

static uint64_t
shared_rate(const struct policy *policy, const struct intent_node *node,
            const struct intent_uplink *uplink)
{
    uint64_t rate = 0;

    for (int receive = 0; receive < 2; receive++) {
        if (tree_is_there(policy, node, uplink, receive)) {
            rate = MAX(rate, tree_rate(policy, node, uplink, receive));
        }
    }
    return rate;
}

static void
doubt_uplink(const struct policy *policy, const struct intent_node *node,
             const struct intent_uplink *uplink, struct diags *diags)
{
    uint64_t rate = shared_rate(policy, node, uplink);
    uint64_t least = MAX(rate / (8 * 1000000 / LEAST_US), LEAST_BYTES);

    if (rate && uplink->burst.n < least) {
        struct diag *d = value_warning(
            diags, uplink->burst.at, "tenants share uplink '%s' of node '%s', "
            "and this is too short for it: who comes first borrows more than "
            "its share", uplink->name.s, node->name.s);
        struct ds text = DS_EMPTY_INITIALIZER;

        format_bytes(ROUND_UP(least, 1024), &text);
        diag_remedy(diags, d, "say a \"burst\" of %s or more", ds_cstr(&text));
        ds_destroy(&text);
    }
}

void
doubt_shared(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct intent_node *node = &policy->intent->nodes.v[i];

        for (size_t j = 0; j < node->uplinks.n; j++) {
            doubt_uplink(policy, node, &node->uplinks.v[j], diags);
        }
    }
}
