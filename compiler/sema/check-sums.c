/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <inttypes.h>
#include <stdlib.h>

#include "intent/units.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "sema/charge.h"
#include "sema/policy.h"
#include "sema/tree.h"
#include "util.h"

static const char *
uplink_key(const struct policy *policy, const struct intent_node *node,
           const struct intent_uplink *uplink)
{
    return arena_printf(policy->claims->arena, "%s on node %s",
                        uplink->name.s, node->name.s);
}

/* What endpoints and classes of the tenant are owed at once passes, whatever
 * the others send. */
static uint64_t
split_bursts(const struct policy_tenant *tenant,
             const struct intent_node *node,
             const struct intent_uplink *uplink)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < tenant->parts[false].n; i++) {
        const struct intent_bandwidth *b = tenant->parts[false].v[i].bandwidth;

        sum += b->guarantee.at ? b->burst.n : 0;
    }
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (e->intent->send.guarantee.at && endpoint_takes(e, node, uplink)) {
            sum += e->intent->send.burst.n;
        }
    }
    return sum;
}

/* What tenants may send at once by an uplink. */
struct bursts {
    uint64_t own;               /* Of those with "bandwidth". */
    uint64_t n_others;          /* That have none. */
    const struct policy_tenant *largest;        /* Of the former, or NULL. */
};

/* The burst of a tenant without "bandwidth" is the uplink's, which is counted
 * once even if there is no such tenant.  Who has no guarantee where others
 * have one borrows, within the burst of the uplink. */
static struct bursts
find_bursts(const struct policy *policy, const struct intent_node *node,
            const struct intent_uplink *uplink)
{
    bool tree = tree_is_there(policy, node, uplink, false);
    struct bursts all = { .own = 0 };

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        const struct intent_bandwidth *send = &tenant->intent->send;

        if (!tenant_takes(tenant, node, uplink)
            || (tree && !send->guarantee.at)) {
            continue;
        } else if (!send->limit.at) {
            all.n_others++;
            continue;
        }
        all.own += send->burst.n + split_bursts(tenant, node, uplink);
        if (!all.largest
            || send->burst.n > all.largest->intent->send.burst.n) {
            all.largest = tenant;
        }
    }
    return all;
}

/* Says which burst to lower, and to what, if one is enough. */
static void
remedy_bursts(const struct bursts *all, const struct intent_uplink *uplink,
              uint64_t sum, struct diag *d, struct diags *diags)
{
    const uint64_t least = VLAN_ETH_HEADER_LEN + ETH_PAYLOAD_MAX;
    uint64_t n = MAX(all->n_others, 1), excess = sum - uplink->buffer.n;
    uint64_t uplinks = (uplink->buffer.n > all->own
                        ? (uplink->buffer.n - all->own) / n : 0);
    const struct quantity *burst = (all->largest
                                    ? &all->largest->intent->send.burst
                                    : NULL);
    bool one = burst && burst->n >= excess + least;

    if (uplinks >= least && one) {
        diag_remedy(diags, d, "lower the uplink's \"burst\" to %"PRIu64"B, or "
                    "that of tenant '%s' to %"PRIu64"B", uplinks,
                    all->largest->name, burst->n - excess);
    } else if (uplinks >= least) {
        diag_remedy(diags, d, "lower the uplink's \"burst\" to %"PRIu64"B",
                    uplinks);
    } else if (one) {
        diag_remedy(diags, d, "lower the \"burst\" of tenant '%s' to "
                    "%"PRIu64"B", all->largest->name, burst->n - excess);
    } else {
        diag_remedy(diags, d, "lower bursts by %"PRIu64" bytes together, or "
                    "bind endpoints of fewer tenants to this node", excess);
    }
    diag_see(diags, d, uplink->burst.at->span, "the uplink's burst");
    if (burst) {
        diag_see(diags, d, burst->at->span, "the largest of tenants");
    }
}

/* What may be sent at once must fit the buffer of the port that the uplink
 * ends at. */
static void
check_buffer(const struct policy *policy, const struct intent_node *node,
             const struct intent_uplink *uplink, struct diags *diags)
{
    struct bursts all = find_bursts(policy, node, uplink);
    uint64_t n = MAX(all.n_others, 1);
    uint64_t sum = all.own + n * uplink->burst.n;

    /* As if an uplink without such a tenant had one too. */
    claim_share(policy->claims, "buffer", uplink_key(policy, node, uplink),
                all.own + all.n_others * uplink->burst.n,
                uplink->buffer.n - MIN(uplink->buffer.n, uplink->burst.n));
    if (sum > uplink->buffer.n) {
        struct diag *d = value_error(
            diags, uplink->buffer.at, "this buffer of %"PRIu64" bytes does "
            "not hold what may be sent at once, %"PRIu64": the uplink's burst "
            "of %"PRIu64"%s, and %"PRIu64" of tenants with \"bandwidth\"",
            uplink->buffer.n, sum, uplink->burst.n, n == 1 ? ""
            : arena_printf(diags->arena, ", for each of %"PRIu64" tenants "
                           "without \"bandwidth\"", n), all.own);

        remedy_bursts(&all, uplink, sum, d, diags);
    }
}

const char *
rate_text(uint64_t rate, struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *s;

    format_rate(rate, &ds);
    s = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return s;
}

/* What a tenant is guaranteed. */
struct guarantee {
    const struct quantity *rate;
    const struct policy_payer *payer;   /* NULL: it has endpoints there. */
};
VEC_TYPEDEF(guarantee_vec, struct guarantee);

/* What tenants are guaranteed by the uplink. */
static guarantee_vec
find_guarantees(const struct policy *policy, const struct intent_node *node,
                const struct intent_uplink *uplink, bool receive,
                struct arena *arena)
{
    guarantee_vec all = VEC_INIT;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        const struct quantity *guarantee
            = &tenant_bandwidth(tenant, receive)->guarantee;

        if (guarantee->at && tenant_takes(tenant, node, uplink)) {
            *vec_push(arena, &all) = (struct guarantee) {
                guarantee, tenant_is_at(tenant, node, uplink) ? NULL
                : find_payer(tenant, node, uplink),
            };
        }
    }
    return all;
}

/* Are both directions the short forms of the same tenants? */
static bool
guarantees_equal(const guarantee_vec *a, const guarantee_vec *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        if (a->v[i].rate->at != b->v[i].rate->at) {
            return false;
        }
    }
    return a->n == b->n;
}

static int
compare_guarantees(const void *a_, const void *b_)
{
    const struct guarantee *a = a_, *b = b_;

    return a->rate->n > b->rate->n ? -1 : a->rate->n < b->rate->n;
}

/* Reports guarantees whose sum is above the uplink's rate, with the largest
 * that there is room for. */
static void
report_guarantees(const struct intent_node *node,
                  const struct intent_uplink *uplink, guarantee_vec *all,
                  uint64_t sum, int overhead, const char *direction,
                  struct diags *diags)
{
    uint64_t wire = wire_rate(sum, overhead);
    struct diag *d = value_error(
        diags, uplink->rate.at, "uplink '%s' of node '%s' cannot keep what is "
        "guaranteed to %s: %s together, which with %d bytes around each frame "
        "of %d take %s on the wire, above %s", uplink->name.s, node->name.s,
        direction, rate_text(sum, diags->arena), overhead, GUARANTEED_FRAME,
        rate_text(wire, diags->arena),
        rate_text(uplink->rate.n, diags->arena));

    diag_remedy(diags, d, "lower guarantees by %s of the uplink",
                rate_text(wire - uplink->rate.n, diags->arena));
    qsort(all->v, all->n, sizeof *all->v, compare_guarantees);
    for (size_t i = 0; i < all->n; i++) {
        const struct policy_payer *payer = all->v[i].payer;

        diag_see(diags, d, all->v[i].rate->at->span, "one of them%s%s%s",
                 payer ? ", which by '" : "",
                 payer ? payer->peering->name : "",
                 payer ? "' pays for others there" : "");
    }
}

/* Returns false after reporting that the uplink does not keep 'all'. */
static bool
check_guarantees(const struct policy *policy, const struct intent_node *node,
                 const struct intent_uplink *uplink, guarantee_vec *all,
                 const char *direction, struct diags *diags)
{
    int overhead = wire_overhead(policy, node);
    uint64_t sum = 0;

    for (size_t i = 0; i < all->n; i++) {
        sum += all->v[i].rate->n;
    }
    if (!all->n || wire_rate(sum, overhead) <= uplink->rate.n) {
        return true;
    }
    report_guarantees(node, uplink, all, sum, overhead, direction, diags);
    return false;
}

static void
check_uplink_guarantees(const struct policy *policy,
                        const struct intent_node *node,
                        const struct intent_uplink *uplink,
                        struct diags *diags)
{
    guarantee_vec send = find_guarantees(policy, node, uplink, false,
                                         diags->arena);
    guarantee_vec receive = find_guarantees(policy, node, uplink, true,
                                            diags->arena);
    bool equal = guarantees_equal(&send, &receive);

    if (check_guarantees(policy, node, uplink, &send,
                         equal ? "send and to receive" : "send", diags)
        || !equal) {
        check_guarantees(policy, node, uplink, &receive, "receive", diags);
    }
}

void
check_sums(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct intent_node *node = &policy->intent->nodes.v[i];

        for (size_t j = 0; j < node->uplinks.n; j++) {
            const struct intent_uplink *uplink = &node->uplinks.v[j];

            check_uplink_guarantees(policy, node, uplink, diags);
            if (uplink->buffer.at) {
                check_buffer(policy, node, uplink, diags);
            }
        }
    }
}
