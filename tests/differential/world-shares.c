/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include "openvswitch/dynamic-string.h"
#include "util.h"

/* What the world writes of bandwidth, and who shares what by it. */

/* Guarantees of all tenants fit the uplink whatever is around a frame. */
enum { MAX_GUARANTEED_MBPS = UPLINK_MBPS(0) / MAX_TENANTS * 9 / 10 };

/* Of an endpoint; what is more than its part of its tenant's is none. */
enum { MAX_OWN_GUARANTEE_MBPS = 500 };

void
world_init_shares(struct world *w, struct rng rng)
{
    w->shared = rng_chance(&rng, 40);
    for (int i = 0; i < w->n_tenants; i++) {
        struct world_tenant *t = &w->tenants[i];

        for (int receive = 0; receive < 2; receive++) {
            struct world_share *share = &t->shares[receive];
            int most = MIN(MAX_GUARANTEED_MBPS,
                           receive ? t->received_mbps : t->mbps);

            share->weight = (rng_chance(&rng, 50) ? 1 + rng_below(&rng, 1000)
                             : 0);
            share->guarantee_mbps = (rng_chance(&rng, 60) && most
                                     ? 1 + rng_below(&rng, most) : 0);
            share->no_borrow = (share->guarantee_mbps
                                && rng_chance(&rng, 30));
        }
        if (t->both) {
            t->shares[true] = t->shares[false];
        }
    }
    for (int i = 0; i < w->n_endpoints; i++) {
        for (int receive = 0; receive < 2; receive++) {
            w->endpoints[i].shares[receive] = (struct world_share) {
                .guarantee_mbps = rng_below(&rng, MAX_OWN_GUARANTEE_MBPS),
                .weight = rng_chance(&rng, 40) ? 1 + rng_below(&rng, 9) : 0,
                .no_borrow = rng_chance(&rng, 30),
            };
        }
    }
}

void
world_put_share(struct ds *ds, const struct world_share *share)
{
    if (share->guarantee_mbps) {
        ds_put_format(ds, ", \"guarantee\": \"%dMbps\"",
                      share->guarantee_mbps);
    }
    if (share->weight) {
        ds_put_format(ds, ", \"weight\": %d", share->weight);
    }
    if (share->no_borrow) {
        ds_put_cstr(ds, ", \"borrow\": false");
    }
}

struct world_bandwidth
world_bandwidth(const struct world *w, int tenant, int uplink, bool receive)
{
    const struct world_tenant *t = &w->tenants[tenant];

    if (!t->limited || (receive && !t->received_mbps)) {
        return (struct world_bandwidth) {
            .mbps = UPLINK_MBPS(uplink), .kib = UPLINK_BURST_KIB(uplink),
        };
    }
    return (struct world_bandwidth) {
        true, receive ? t->received_mbps : t->mbps,
        receive ? t->received_kib : t->burst_kib,
        w->shared ? t->shares[receive] : (struct world_share) { .weight = 0 },
    };
}

struct world_share
world_own_share(const struct world *w, int endpoint, bool receive)
{
    const struct world_endpoint *e = &w->endpoints[endpoint];
    const struct world_network *n = &w->networks[e->network];
    struct world_share share = e->shares[receive];
    int most = world_bandwidth(w, n->tenant, n->uplink,
                           receive).share.guarantee_mbps / MAX_ENDPOINTS;

    /* Nothing follows the bursts of a tenant that is split. */
    if (!w->shared || (!receive && w->tenants[n->tenant].bursts)
        || !(receive ? e->received_mbps : e->sent_mbps)) {
        return (struct world_share) { .weight = 0 };
    }
    if (share.guarantee_mbps > most) {
        share.guarantee_mbps = 0;
        share.no_borrow = false;
    }
    share.no_borrow &= share.guarantee_mbps > 0;
    return share;
}

bool
world_is_split(const struct world *w, int tenant, int uplink, bool receive,
         uint64_t *apart)
{
    bool split = false;

    for (int i = 0; i < w->n_endpoints; i++) {
        const struct world_endpoint *e = &w->endpoints[i];
        const struct world_network *n = &w->networks[e->network];
        struct world_share s = world_own_share(w, i, receive);

        if (world_is_there(w, i) && e->bound && !e->node
            && n->tenant == tenant && n->uplink == uplink) {
            split |= s.guarantee_mbps || s.weight;
            *apart += s.no_borrow ? s.guarantee_mbps * UINT64_C(1000) : 0;
        }
    }
    return split;
}

unsigned int
world_uplinks_here(const struct world *w, int tenant)
{
    unsigned int set = 0;

    for (int i = 0; i < w->n_endpoints; i++) {
        const struct world_endpoint *e = &w->endpoints[i];
        const struct world_network *n = &w->networks[e->network];

        if (world_is_there(w, i) && e->bound && !e->node
            && n->tenant == tenant) {
            set |= 1u << n->uplink;
        }
    }
    return w->tenants[tenant].left_out ? 0 : set;
}

bool
world_is_shared(const struct world *w, int uplink, bool receive,
                uint64_t *apart)
{
    bool shared = false;

    for (int i = 0; i < w->n_tenants; i++) {
        struct world_share s = world_bandwidth(w, i, uplink, receive).share;

        if (world_uplinks_here(w, i) & 1u << uplink) {
            shared |= s.guarantee_mbps || s.weight;
            if (s.no_borrow) {
                *apart += s.guarantee_mbps * UINT64_C(1000);
            } else {
                world_is_split(w, i, uplink, receive, apart);
            }
        }
    }
    return shared;
}
