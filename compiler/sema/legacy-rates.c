/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <inttypes.h>

#include "sema/policy.h"
#include "util.h"

/* The rates of VFs in legacy mode.  A NIC has one of each, and none of several
 * together: so each has a part of what its tenant has on its uplink. */

enum { MBPS = 1000 * 1000 };

/* The most that a VF takes of what is shared out. */
typedef uint64_t legacy_most(const struct policy_endpoint *, uint64_t level);

/* How much each of those gets that share out 'total' with 'e', all the same,
 * but who takes less: that is the others'.  UINT64_MAX if all take less. */
static uint64_t
find_level(const struct policy_endpoint *e, uint64_t total, legacy_most *most,
           uint64_t most_level)
{
    const struct intent_uplink *uplink = legacy_uplink(e);
    uint64_t level = 0, before;

    do {
        uint64_t left = total;
        size_t n = 0;

        for (size_t i = 0; i < e->tenant->endpoints.n; i++) {
            const struct policy_endpoint *o = e->tenant->endpoints.v[i];

            if (legacy_uplink(o) == uplink) {
                uint64_t least = most(o, most_level);

                left -= least <= level ? MIN(left, least) : 0;
                n += least > level;
            }
        }
        before = level;
        level = n ? left / n : UINT64_MAX;
    } while (level > before && level < UINT64_MAX);
    return level;
}

/* Who does not borrow sends no more than it is owed. */
static const struct quantity *
own_limit(const struct policy_endpoint *e)
{
    const struct intent_bandwidth *own = &e->intent->send;

    return own->no_borrow && own->guarantee.n ? &own->guarantee : &own->limit;
}

static uint64_t
most_of_limit(const struct policy_endpoint *e, uint64_t level)
{
    const struct quantity *own = own_limit(e);

    return own->at ? MIN(own->n, level) : level;
}

/* Who is owed something by itself takes nothing of what others leave. */
static uint64_t
most_of_guarantee(const struct policy_endpoint *e, uint64_t level)
{
    return e->intent->send.guarantee.n ? 0 : most_of_limit(e, level);
}

/* Of its tenant's limit, or UINT64_MAX. */
static uint64_t
limit_level(const struct policy_endpoint *e)
{
    const struct quantity *limit = &e->tenant->intent->send.limit;

    return limit->at ? find_level(e, limit->n, most_of_limit, UINT64_MAX)
           : UINT64_MAX;
}

/* Of what its tenant is owed, without what others are owed by themselves. */
static uint64_t
guarantee_level(const struct policy_endpoint *e, uint64_t limit_level_)
{
    const struct intent_uplink *uplink = legacy_uplink(e);
    uint64_t left = e->tenant->intent->send.guarantee.n;

    for (size_t i = 0; i < e->tenant->endpoints.n; i++) {
        const struct policy_endpoint *o = e->tenant->endpoints.v[i];

        if (legacy_uplink(o) == uplink) {
            left -= MIN(left, o->intent->send.guarantee.n);
        }
    }
    return find_level(e, left, most_of_guarantee, limit_level_);
}

struct legacy_rates
legacy_rates(const struct policy_endpoint *e)
{
    const struct intent_bandwidth *own = &e->intent->send;
    const struct intent_bandwidth *all = &e->tenant->intent->send;
    const struct quantity *owed = (own->guarantee.n ? &own->guarantee
                                   : &all->guarantee);
    uint64_t level = limit_level(e), least = own->guarantee.n;
    uint64_t most = most_of_limit(e, level);
    const struct value *at = (most < level ? own_limit(e)->at
                              : most < UINT64_MAX ? all->limit.at : NULL);

    if (owed == &all->guarantee && owed->n) {
        least = MIN(most, guarantee_level(e, level));
    }
    if (owed == &all->guarantee && all->no_borrow && least) {
        most = least;
        at = owed->at;
    }
    most = most == UINT64_MAX ? 0 : most;
    return (struct legacy_rates) {
        .min_mbps = (most ? MIN(least, most) : least) / MBPS,
        .bps = most, .max_mbps = most / MBPS,
        .at = at, .owed_at = least ? owed->at : NULL,
    };
}

void
check_legacy_rates(const struct policy_endpoint *e, struct diags *diags)
{
    const struct quantity *owed = &e->intent->send.guarantee;
    struct legacy_rates rates = legacy_rates(e);

    if (rates.bps && !rates.max_mbps) {
        struct diag *d = value_error(diags, e->intent->port.at, "a NIC limits "
                                     "a VF to whole Mbps, and this one has "
                                     "less than one: %"PRIu64" bps",
                                     rates.bps);

        diag_remedy(diags, d, "raise the \"limit\"");
    } else if (rates.bps && owed->n > rates.bps) {
        struct diag *d = value_error(diags, owed->at, "this VF's part of the "
                                     "limit of tenant '%s' is %"PRIu64" Mbps, "
                                     "which is less", e->tenant->name,
                                     rates.max_mbps);

        diag_remedy(diags, d, "lower it, or raise the tenant's \"limit\"");
    }
}

/* What is shared out among the VFs of the tenant that are of the uplink of
 * 'e'. */
struct shared {
    size_t n;
    uint64_t min_mbps;
};

static struct shared
find_shared(const struct policy_endpoint *e)
{
    const struct intent_uplink *uplink = legacy_uplink(e);
    struct shared shared = { .n = 0 };

    for (size_t i = 0; i < e->tenant->endpoints.n; i++) {
        const struct policy_endpoint *o = e->tenant->endpoints.v[i];

        if (legacy_uplink(o) == uplink) {
            shared.n++;
            shared.min_mbps += legacy_rates(o).min_mbps;
        }
    }
    return shared;
}

/* Is it the first of those of its tenant and uplink? */
static bool
is_first(const struct policy_endpoint *e)
{
    const struct intent_uplink *uplink = legacy_uplink(e);
    size_t i = 0;

    while (uplink && legacy_uplink(e->tenant->endpoints.v[i]) != uplink) {
        i++;
    }
    return uplink && e->tenant->endpoints.v[i] == e;
}

/* Said once of a limit, and of a guarantee for each uplink. */
void
doubt_legacy_rates(const struct policy_tenant *tenant, struct diags *diags)
{
    const struct intent_bandwidth *send = &tenant->intent->send;
    size_t most = 0;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];
        struct shared shared;

        if (!is_first(e)) {
            continue;
        }
        shared = find_shared(e);
        most = MAX(most, shared.n);
        /* Less than one Mbps of each is lost by rounding. */
        if (send->guarantee.n / MBPS > shared.min_mbps + shared.n) {
            struct diag *d = value_warning(
                diags, send->guarantee.at, "the legacy VFs of uplink '%s' "
                "can take %"PRIu64" Mbps of this together, and no more: the "
                "rest is nobody's", legacy_uplink(e)->name.s,
                shared.min_mbps);

            diag_remedy(diags, d, "lower it, or raise the limits of the VFs");
        }
    }
    if (most > 1 && send->limit.at) {
        value_warning(diags, send->limit.at, "a NIC in legacy mode has no "
                      "rate for several VFs together: each of %"PRIuSIZE" has "
                      "its part of this, and no more", most);
    }
}
