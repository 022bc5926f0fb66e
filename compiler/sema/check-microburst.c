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

/* How deep the queue gets: sets '*at' to what says so. */
static uint64_t
deepest(const struct policy *policy, const struct intent_tenant *tenant,
        const struct value **at)
{
    const struct intent_microburst *m = &tenant->microburst;
    const struct quantity *burst = &tenant->send.burst;
    uint64_t most = 0;

    if (m->exceed == EXCEED_DROP) {
        /* Without one, the uplink's burst is the tenant's. */
        for (size_t i = 0; i < policy->intent->nodes.n && !burst->at; i++) {
            const struct intent_node *node = &policy->intent->nodes.v[i];

            for (size_t j = 0; j < node->uplinks.n; j++) {
                const struct quantity *other = &node->uplinks.v[j].burst;

                if (other->at && other->n > most) {
                    most = other->n;
                    *at = other->at;
                }
            }
        }
        if (burst->at) {
            most = burst->n;
            *at = burst->at;
        }
    }
    if (m->limit.at && (!most || m->limit.n < most)) {
        most = m->limit.n;
        *at = m->limit.at;
    }
    return most;
}

static void
doubt_depth(struct diags *diags, const struct quantity *depth,
            const char *nothing, uint64_t most, const struct value *at)
{
    if (depth->at && most && depth->n >= most && depth->n <= MAX_BURST) {
        struct diag *d = value_warning(diags, depth->at, "%s: what would "
                                       "make the queue that deep drops",
                                       nothing);
        diag_remedy(diags, d, "choose less than %"PRIu64" bytes", most);
        diag_see(diags, d, at->span, "what is above this");
    }
}

void
check_microburst(const struct policy *policy,
                 const struct intent_tenant *tenant, struct diags *diags)
{
    const struct intent_microburst *m = &tenant->microburst;
    const struct value *at = NULL;
    uint64_t most = deepest(policy, tenant, &at);

    check_depths(diags, m);
    if (!m->limit.at || MAX(m->mark.n, m->depth.n) <= m->limit.n) {
        doubt_depth(diags, &m->mark, "nothing is ever marked", most, at);
        doubt_depth(diags, &m->depth, "no burst is ever seen", most, at);
    }
}
