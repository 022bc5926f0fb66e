/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* The queue that a tenant's "microburst" follows. */

#include <config.h>

#include "sema/check.h"

#include <inttypes.h>

#include "intent/exceed.h"
#include "sema/policy.h"

/* A depth of a queue, at most 'limit', if there is one. */
static void
check_depth(struct diags *diags, const struct quantity *depth,
            const struct quantity *limit)
{
    if (depth->at && (depth->n < MIN_BURST || depth->n > MAX_BURST)) {
        struct diag *d = value_error(
            diags, depth->at,
            depth->n < MIN_BURST ? "a full frame of %d bytes is deeper by "
            "itself" : "this is more than any buffer holds (%d bytes)",
            depth->n < MIN_BURST ? MIN_BURST : MAX_BURST);
        diag_remedy(diags, d, "choose a depth from %d bytes to 1GiB",
                    MIN_BURST);
    } else if (depth->at && limit->at && depth->n > limit->n) {
        struct diag *d = value_error(diags, depth->at,
                                     "a queue is never that deep: what is "
                                     "above \"limit\" drops");
        diag_remedy(diags, d, "lower it to the limit, or raise the limit");
        diag_see(diags, d, limit->at->span, "the limit");
    }
}

static void
check_depths(struct diags *diags, const struct intent_microburst *m)
{
    check_depth(diags, &m->depth, &m->limit);
    check_depth(diags, &m->mark, &m->limit);
    check_depth(diags, &m->limit, &m->limit);
    if (m->exceed != EXCEED_DROP && !m->limit.at) {
        struct diag *d = value_error(diags, m->at, "with \"exceed\": \"%s\", "
                                     "nothing here keeps the tenant within "
                                     "its bandwidth",
                                     value_member(m->at, "exceed")->string);
        diag_remedy(diags, d, "give a \"limit\", above which packets drop");
    }
}

/* The burst of a tenant, or the largest one of the uplinks, which is the
 * tenant's where it has none. */
static const struct quantity *
find_burst(const struct policy *policy, const struct intent_tenant *tenant)
{
    const struct quantity *burst = &tenant->send.burst;

    for (size_t i = 0; i < policy->intent->nodes.n && !tenant->send.burst.at;
         i++) {
        const struct intent_node *node = &policy->intent->nodes.v[i];

        for (size_t j = 0; j < node->uplinks.n; j++) {
            const struct quantity *other = &node->uplinks.v[j].burst;

            if (other->at && other->n > burst->n) {
                burst = other;
            }
        }
    }
    return burst;
}

/* Warns of a 'depth' that the queue never exceeds.  It gets as deep as the
 * limit, which is the largest of 'burst', "mark" and "depth" if none is given:
 * so the depth has to be below one of the others. */
static void
doubt_depth(struct diags *diags, const struct intent_microburst *m,
            const struct quantity *depth, const struct quantity *other,
            const struct quantity *burst, const char *nothing)
{
    const struct quantity *most = (m->limit.at ? &m->limit
                                   : other->n > burst->n ? other : burst);

    if (depth->at && depth->n >= most->n
        && depth->n <= MAX_BURST) {
        struct diag *d = value_warning(diags, depth->at, "%s: what would "
                                       "make the queue that deep drops",
                                       nothing);
        diag_remedy(diags, d, "choose less than %"PRIu64" bytes%s", most->n,
                    m->limit.at ? "" : ", or give a deeper \"limit\"");
        diag_see(diags, d, most->at->span, "what is above this");
    }
}

void
check_microburst(const struct policy *policy,
                 const struct intent_tenant *tenant, struct diags *diags)
{
    const struct intent_microburst *m = &tenant->microburst;
    const struct quantity *burst = find_burst(policy, tenant);

    check_depths(diags, m);
    if (m->limit.at ? MAX(m->mark.n, m->depth.n) <= m->limit.n
        : m->exceed == EXCEED_DROP && burst->at) {
        doubt_depth(diags, m, &m->mark, &m->depth, burst,
                    "nothing is ever marked");
        doubt_depth(diags, m, &m->depth, &m->mark, burst,
                    "no burst is ever seen");
    }
}
