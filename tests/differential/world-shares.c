/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include <string.h>

#include "intent/exceed.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* What the world writes of bandwidth, and who shares what by it. */

/* Guarantees of all tenants fit the uplink whatever is around a frame. */
enum { MAX_GUARANTEED_MBPS = UPLINK_MBPS(0) / MAX_TENANTS * 9 / 10 };

/* Of an endpoint; what is more than its part of its tenant's is none. */
enum { MAX_OWN_GUARANTEE_MBPS = 500 };

/* Classes that are told apart by DSCP and queue. */
static bool
is_distinct(const struct world *w, int class)
{
    for (int i = 0; i < class; i++) {
        if (w->classes[i].dscp == w->classes[class].dscp
            && w->classes[i].queue == w->classes[class].queue) {
            return false;
        }
    }
    return w->classes[class].dscp || w->classes[class].queue;
}

static void
init_part(struct world_part *part, const struct world_tenant *t, bool receive,
          struct rng *rng)
{
    int most = t->shares[receive].guarantee_mbps / MAX_CLASSES;

    part->mbps = 1 + rng_below(rng, receive ? t->received_mbps : t->mbps);
    most = MIN(most, part->mbps);
    part->share.weight = rng_chance(rng, 50) ? 1 + rng_below(rng, 9) : 0;
    part->share.guarantee_mbps = (most && rng_chance(rng, 60)
                                  ? 1 + rng_below(rng, most) : 0);
    part->share.no_borrow = (part->share.guarantee_mbps
                             && rng_chance(rng, 30));
}

/* Some tenants share out among classes, and have no endpoints with bandwidth
 * of their own then. */
static void
init_parts(struct world *w, struct rng rng)
{
    for (int i = 0; i < w->n_tenants; i++) {
        struct world_tenant *t = &w->tenants[i];

        for (int receive = 0; receive < 2; receive++) {
            bool has = (w->shared && t->limited && rng_chance(&rng, 60)
                        && (receive ? t->received_mbps != 0 : !t->bursts)
                        && !(t->both && (t->bursts || receive)));

            for (int j = 0; j < MAX_CLASSES; j++) {
                if (has && is_distinct(w, j) && rng_chance(&rng, 70)) {
                    init_part(&t->parts[receive][j], t, receive, &rng);
                }
            }
        }
        if (t->both) {
            memcpy(t->parts[true], t->parts[false], sizeof t->parts[true]);
        }
    }
    for (int i = 0; i < w->n_endpoints; i++) {
        struct world_endpoint *e = &w->endpoints[i];
        const struct world_tenant *t
            = &w->tenants[w->networks[e->network].tenant];

        e->sent_mbps = world_has_parts(t, false) ? 0 : e->sent_mbps;
        e->received_mbps = world_has_parts(t, true) ? 0 : e->received_mbps;
    }
}

bool
world_has_parts(const struct world_tenant *t, bool receive)
{
    for (int i = 0; i < MAX_CLASSES; i++) {
        if (t->parts[receive][i].mbps) {
            return true;
        }
    }
    return false;
}

void
world_put_parts(struct ds *ds, const struct world_tenant *t, bool receive)
{
    if (!world_has_parts(t, receive)) {
        return;
    }
    ds_put_cstr(ds, ", \"classes\": {");
    for (int i = 0; i < MAX_CLASSES; i++) {
        const struct world_part *part = &t->parts[receive][i];

        if (part->mbps) {
            world_put_comma(ds);
            ds_put_format(ds, "\"c%d\": {\"limit\": \"%dMbps\", \"burst\": "
                          "\"%dKiB\"", i, part->mbps, OWN_BURST_KIB);
            world_put_share(ds, &part->share);
            ds_put_char(ds, '}');
        }
    }
    ds_put_char(ds, '}');
}

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
        /* Who shares an uplink may not let pass what is not lent. */
        if (w->shared && t->exceed != EXCEED_DROP) {
            t->exceed = EXCEED_ECN;
        }
    }
    init_parts(w, (struct rng) { ~rng.state });
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
    const struct world_tenant *t = &w->tenants[tenant];
    bool split = world_has_parts(t, receive);

    for (int i = 0; i < MAX_CLASSES; i++) {
        const struct world_share *s = &t->parts[receive][i].share;

        *apart += s->no_borrow ? s->guarantee_mbps * UINT64_C(1000) : 0;
    }
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

unsigned int
world_uplinks_taken(const struct world *w, int tenant)
{
    return world_uplinks_here(w, tenant) | world_uplinks_paid(w, tenant);
}

bool
world_is_shared(const struct world *w, int uplink, bool receive,
                uint64_t *apart)
{
    bool shared = false;

    for (int i = 0; i < w->n_tenants; i++) {
        struct world_share s = world_bandwidth(w, i, uplink, receive).share;

        if (world_uplinks_taken(w, i) & 1u << uplink) {
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
