/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Meters: what the world writes of bandwidth, and what the plan must say of
 * it. */

/* Guarantees of all tenants fit the uplink whatever is around a frame. */
enum { MAX_GUARANTEED_MBPS = UPLINK_MBPS(0) / MAX_TENANTS * 9 / 10 };

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

/* What a tenant wrote of one direction. */
struct written {
    bool limited;               /* Else: the uplink's. */
    int mbps, kib;
    struct world_share share;
};

static struct written
get_written(const struct world *w, int tenant, int uplink, bool receive)
{
    const struct world_tenant *t = &w->tenants[tenant];

    if (!t->limited || (receive && !t->received_mbps)) {
        return (struct written) {
            .mbps = UPLINK_MBPS(uplink), .kib = UPLINK_BURST_KIB(uplink),
        };
    }
    return (struct written) {
        true, receive ? t->received_mbps : t->mbps,
        receive ? t->received_kib : t->burst_kib,
        w->shared ? t->shares[receive] : (struct world_share) { .weight = 0 },
    };
}

/* 1-bits: the uplinks that the tenant's networks here take. */
static unsigned int
uplinks_here(const struct world *w, int tenant)
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

/* Does a tenant ask for a share?  If so, adds what is set apart to '*apart',
 * in kbps. */
static bool
is_shared(const struct world *w, int uplink, bool receive, uint64_t *apart)
{
    bool shared = false;

    for (int i = 0; i < w->n_tenants; i++) {
        struct world_share s = get_written(w, i, uplink, receive).share;

        if (uplinks_here(w, i) & 1u << uplink) {
            shared |= s.guarantee_mbps || s.weight;
            *apart += s.no_borrow ? s.guarantee_mbps * UINT64_C(1000) : 0;
        }
    }
    return shared;
}

/* The number N of what is named "eN", "tN" or "uN". */
static int
number_of(const char *name)
{
    return atoi(name + 1);
}

static const struct plan_meter *
find_pool(const struct plan *plan, int uplink, bool receive)
{
    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];

        if (m->lends && number_of(m->name) == uplink
            && m->receive == receive) {
            return m;
        }
    }
    return NULL;
}

/* What an uplink lends, of 1514 bytes in 1538 and a tunnel's. */
static bool
has_pool(const struct world *w, const struct plan *plan, int uplink,
         bool receive)
{
    const struct plan_meter *pool = find_pool(plan, uplink, receive);
    int tunnel = (!w->encapsulation || !(w->tunnels & 1) ? 0
                  : w->underlay6 ? 70 : 50);
    uint64_t apart = 0, kbps;

    if (!is_shared(w, uplink, receive, &apart)) {
        return !pool;
    }
    kbps = UPLINK_MBPS(uplink) * UINT64_C(1514000) / (1538 + tunnel);
    return (pool && pool->microburst && pool->rate == kbps - apart
            && pool->burst == UPLINK_BURST_KIB(uplink) * 1024
            && !pool->parent && !pool->peak && !pool->limit && !pool->ecn);
}

/* What a meter of a tenant is for.  'uplink' is -1 for what takes any,
 * 'endpoint' for what is all of the tenant's. */
struct wanted {
    int tenant, endpoint, uplink;
    bool receive, packets;
    uint64_t rate;              /* 0: there is none. */
    uint64_t burst;
    uint64_t peak;
    uint32_t cap, parent;
    int weight;
};

/* Is there one such meter, or none? */
static bool
has_meter(const struct plan *plan, const struct wanted *w)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];
        bool counts_packets = plan_meter_counts_packets(m->id);

        if (m->lends || number_of(m->name) != w->tenant
            || counts_packets != w->packets || m->receive != w->receive
            || (m->endpoint ? number_of(strchr(m->endpoint, '/') + 1)
                : -1) != w->endpoint
            || (m->uplink ? number_of(m->uplink) : -1) != w->uplink) {
            continue;
        }
        if (m->packets != w->packets || m->rate != w->rate
            || m->burst != w->burst || m->peak != w->peak
            || m->limit != w->cap || m->parent != w->parent
            || m->weight != w->weight) {
            return false;
        }
        n++;
    }
    return n == (w->rate != 0);
}

/* Is what it says of bursts what the world wrote? */
static bool
has_microburst(const struct plan *plan, int tenant,
               const struct world_tenant *t)
{
    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];
        bool bursts = t->bursts && !m->receive && !m->endpoint;

        if (!m->lends && number_of(m->name) == tenant && !m->packets
            && (m->microburst != (bursts || m->parent)
                || m->ecn != (bursts && t->ecn)
                || m->mark != (bursts ? t->mark_kib * 1024 : 0)
                || m->depth != (bursts ? t->depth_kib * 1024 : 0))) {
            return false;
        }
    }
    return true;
}

/* The depth, in KiB, above which a meter that borrows drops. */
static int
cap_kib(const struct written *b, const struct world_tenant *t, bool bursts)
{
    int deepest = b->kib;

    if (!bursts) {
        return b->limited ? b->kib : 0;
    } else if (!b->limited || t->ecn) {
        return t->limit_kib;
    }
    deepest = MAX(deepest, MAX(t->mark_kib, t->depth_kib));
    return t->limit_kib ? MIN(t->limit_kib, deepest) : deepest;
}

/* Meters of bits are in kbps and whole kbit of 1000 bits, or bytes. */
static struct wanted
want(const struct world *w, const struct plan *plan, int tenant, int uplink,
     bool receive)
{
    const struct world_tenant *t = &w->tenants[tenant];
    struct written b = get_written(w, tenant, uplink, receive);
    bool bursts = t->bursts && !receive;
    uint64_t apart = 0;
    bool shared = is_shared(w, uplink, receive, &apart);
    uint64_t kbps = 1000 * (uint64_t) (b.share.no_borrow
                                       ? b.share.guarantee_mbps : b.mbps);
    struct wanted wanted = { tenant, -1, -1, receive, false, .rate = 0 };

    if (receive && !b.limited && !shared) {
        return wanted;
    } else if (!shared || b.share.no_borrow) {
        wanted.rate = kbps;
        wanted.burst = (bursts ? 1024 * (uint64_t) b.kib
                        : (1024 * 8 * (uint64_t) b.kib + 999) / 1000);
        wanted.peak = bursts ? kbps : 0;
        wanted.cap = bursts ? t->limit_kib * 1024 : 0;
        return wanted;
    }
    wanted.rate = b.share.guarantee_mbps ? b.share.guarantee_mbps * 1000 : 1;
    wanted.burst = b.share.guarantee_mbps ? b.kib * 1024 : 1;
    wanted.peak = b.limited || bursts ? kbps : 0;
    wanted.cap = cap_kib(&b, t, bursts) * 1024;
    wanted.parent = find_pool(plan, uplink, receive)->id;
    wanted.weight = MAX(b.share.weight, 1);
    return wanted;
}

static bool
has_bandwidth(const struct world *w, const struct plan *plan, int tenant,
              bool receive)
{
    unsigned int uplinks = uplinks_here(w, tenant);
    bool several = (uplinks & (uplinks - 1)) != 0;

    for (int i = 0; i < MAX_UPLINKS; i++) {
        bool taken = uplinks & 1u << i;
        struct wanted wanted = { tenant, -1, -1, receive, false, .rate = 0 };

        if (taken) {
            wanted = want(w, plan, tenant, i, receive);
        }
        wanted.uplink = several ? i : -1;
        if ((taken || several || !uplinks) && !has_meter(plan, &wanted)) {
            return false;
        }
    }
    return true;
}

static bool
has_own(const struct world *w, const struct plan *plan, int endpoint,
        bool receive)
{
    const struct world_endpoint *e = &w->endpoints[endpoint];
    bool here = world_is_there(w, endpoint) && e->bound && !e->node;
    struct wanted wanted = {
        w->networks[e->network].tenant, endpoint, -1, receive, false,
        !here ? 0 : 1000 * (receive ? e->received_mbps : e->sent_mbps),
        (1024 * 8 * OWN_BURST_KIB + 999) / 1000,
    };

    return has_meter(plan, &wanted);
}

const char *
world_check_meters(const struct world *w, const struct compiled *c)
{
    const struct plan *plan = &c->plan;

    for (int i = 0; i < w->n_uplinks; i++) {
        if (!has_pool(w, plan, i, false) || !has_pool(w, plan, i, true)) {
            return arena_printf(plan->arena, "uplink u%d lends something "
                                "else", i);
        }
    }
    for (int i = 0; i < w->n_endpoints; i++) {
        if (!has_own(w, plan, i, false) || !has_own(w, plan, i, true)) {
            return arena_printf(plan->arena, "endpoint e%d has another "
                                "bandwidth", i);
        }
    }
    for (int i = 0; i < w->n_tenants; i++) {
        const struct world_tenant *t = &w->tenants[i];
        struct wanted packets = {
            i, -1, -1, false, true,
            uplinks_here(w, i) && t->counted ? t->kpps * 1000 : 0,
            t->burst_packets,
        };

        if (!has_bandwidth(w, plan, i, false)
            || !has_bandwidth(w, plan, i, true)) {
            return arena_printf(plan->arena, "tenant t%d has another "
                                "bandwidth", i);
        } else if (!has_microburst(plan, i, t)) {
            return arena_printf(plan->arena, "tenant t%d has other bursts",
                                i);
        } else if (!has_meter(plan, &packets)) {
            return arena_printf(plan->arena, "tenant t%d has another limit of "
                                "packets", i);
        }
    }
    return NULL;
}
