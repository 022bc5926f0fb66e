/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include <stdlib.h>
#include <string.h>

#include "intent/exceed.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Meters: what the plan must say of the world's bandwidth. */

void
world_init_telemetry(struct world *w, struct rng rng)
{
    for (int i = 0; i < MAX_NODES; i++) {
        w->telemetry |= rng_chance(&rng, 40) << i;
    }
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

    if (!world_is_shared(w, uplink, receive, &apart)) {
        return !pool;
    }
    kbps = UPLINK_MBPS(uplink) * UINT64_C(1514000) / (1538 + tunnel);
    return (pool && pool->microburst && pool->rate == kbps - apart
            && pool->burst == UPLINK_BURST_KIB(uplink) * 1024
            && !pool->parent && !pool->peak && !pool->limit
            && !pool->exceed);
}

/* What a meter of a tenant is for.  'uplink' is -1 for what takes any,
 * 'endpoint' for what is all of the tenant's. */
struct wanted {
    int tenant, endpoint, uplink;
    bool receive, packets;
    bool split, rest, limits;
    int class;                  /* Its number and 1; 0: any. */
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

        if (m->lends || m->dscp_in || m->tags
            || number_of(m->name) != w->tenant
            || counts_packets != w->packets || m->receive != w->receive
            || m->split != w->split || m->rest != w->rest
            || m->limits != w->limits
            || (m->class ? number_of(m->class) + 1 : 0) != w->class
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

/* Has what is sent the tag of its tenant? */
static bool
is_tagged(const struct world *w, bool receive)
{
    return (w->telemetry & 1) && !receive;
}

/* Is what it says of bursts what the world wrote? */
static bool
has_microburst(const struct world *w, const struct plan *plan, int tenant)
{
    const struct world_tenant *t = &w->tenants[tenant];

    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];
        bool bursts = t->bursts && !m->receive && !m->endpoint;

        if (!m->lends && !m->dscp_in && !m->tags
            && number_of(m->name) == tenant && !m->packets
            && (m->microburst != (bursts || m->parent || m->split
                                  || is_tagged(w, m->receive))
                || m->exceed != (bursts ? t->exceed : EXCEED_DROP)
                || m->mark != (bursts ? t->mark_kib * 1024 : 0)
                || m->depth != (bursts ? t->depth_kib * 1024 : 0))) {
            return false;
        }
    }
    return true;
}

static int
deepest_kib(const struct world_bandwidth *b, const struct world_tenant *t)
{
    return MAX(b->kib, MAX(t->mark_kib, t->depth_kib));
}

/* The depth, in KiB, above which a meter that borrows drops. */
static int
cap_kib(const struct world_bandwidth *b, const struct world_tenant *t,
        bool bursts)
{
    if (!bursts) {
        return b->limited ? b->kib : 0;
    } else if (!b->limited || t->exceed != EXCEED_DROP) {
        return t->limit_kib;
    }
    return (t->limit_kib ? MIN(t->limit_kib, deepest_kib(b, t))
            : deepest_kib(b, t));
}

/* The same of one that does not borrow. */
static int
own_cap_kib(const struct world_bandwidth *b, const struct world_tenant *t)
{
    return (t->limit_kib || t->exceed != EXCEED_DROP ? t->limit_kib
            : deepest_kib(b, t));
}

/* All that a meter does that neither borrows nor looks at bursts: in kbps, and
 * whole kbit of 1000 bits, or bytes. */
static struct wanted
want_plain(const struct world *w, struct wanted wanted, uint64_t kbps,
           uint64_t kib)
{
    bool tagged = is_tagged(w, wanted.receive);

    wanted.rate = kbps;
    wanted.burst = tagged ? 1024 * kib : (1024 * 8 * kib + 999) / 1000;
    wanted.peak = tagged ? kbps : 0;
    wanted.cap = tagged ? 1024 * kib : 0;
    return wanted;
}

static struct wanted
want(const struct world *w, const struct plan *plan, int tenant, int uplink,
     bool receive)
{
    const struct world_tenant *t = &w->tenants[tenant];
    struct world_bandwidth b = world_bandwidth(w, tenant, uplink, receive);
    bool bursts = t->bursts && !receive;
    uint64_t apart = 0;
    bool shared = world_is_shared(w, uplink, receive, &apart);
    uint64_t kbps = 1000 * (uint64_t) (b.share.no_borrow
                                       ? b.share.guarantee_mbps : b.mbps);
    struct wanted wanted = { tenant, -1, -1, receive, .rate = 0 };

    if (receive && !b.limited && !shared) {
        return wanted;
    } else if ((!shared || b.share.no_borrow) && !bursts) {
        return want_plain(w, wanted, kbps, b.kib);
    } else if (!shared || b.share.no_borrow) {
        wanted.rate = wanted.peak = kbps;
        wanted.burst = 1024 * (uint64_t) b.kib;
        wanted.cap = own_cap_kib(&b, t) * 1024;
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

/* The meter of a tenant that is split, or the one that keeps its limit. */
static const struct plan_meter *
find_whole(const struct plan *plan, int tenant, int uplink, bool receive,
           bool limits)
{
    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];

        if (m->split && number_of(m->name) == tenant && m->receive == receive
            && m->limits == limits
            && (!m->uplink || number_of(m->uplink) == uplink)) {
            return m;
        }
    }
    return NULL;
}

/* What is owed, in kbps, of a burst in bytes, and nothing else. */
static struct wanted
want_owed(struct wanted wanted, uint64_t kbps, uint64_t burst)
{
    wanted.rate = MAX(kbps, 1);
    wanted.burst = kbps ? burst : 1;
    return wanted;
}

/* Of all of a tenant that is split: what others are below.  There are two of
 * each if the tenant has a limit beside what it has of its uplink: 'limits'
 * says which is meant, and whether there is one. */
static bool
is_twice(const struct world *w, int tenant, int uplink, bool receive)
{
    struct world_bandwidth b = world_bandwidth(w, tenant, uplink, receive);
    uint64_t apart = 0;

    return (b.limited && !b.share.no_borrow
            && world_is_shared(w, uplink, receive, &apart));
}

static struct wanted
want_whole(const struct world *w, const struct plan *plan, int tenant,
           int uplink, bool receive, bool limits)
{
    struct world_bandwidth b = world_bandwidth(w, tenant, uplink, receive);
    uint64_t apart = 0, others = 0;
    bool tree = (world_is_shared(w, uplink, receive, &others)
                 && !b.share.no_borrow);
    uint64_t kbps = 1000 * (uint64_t) (b.share.no_borrow
                                       ? b.share.guarantee_mbps : b.mbps);
    struct wanted wanted = { tenant, -1, -1, receive, .split = true,
                             .limits = limits };

    world_is_split(w, tenant, uplink, receive, &apart);
    if (tree && !limits) {
        wanted = want_owed(wanted, b.share.guarantee_mbps * UINT64_C(1000)
                           - apart, b.kib * 1024);
        wanted.parent = find_pool(plan, uplink, receive)->id;
        wanted.weight = MAX(b.share.weight, 1);
    } else if (!limits || is_twice(w, tenant, uplink, receive)) {
        wanted.rate = MAX(kbps - apart, 1);
        wanted.burst = b.kib * 1024;
    }
    return wanted;
}

/* Below that: 'part', or the rest if that has no rate. */
static struct wanted
want_part(const struct world *w, const struct plan *plan,
          struct wanted wanted, const struct world_part *part, int uplink)
{
    bool twice = is_twice(w, wanted.tenant, uplink, wanted.receive);

    wanted.rest = !part->mbps;
    if (wanted.limits && (!twice || part->share.no_borrow)) {
        return wanted;
    } else if (part->share.no_borrow) {
        return want_plain(w, wanted,
                          part->share.guarantee_mbps * UINT64_C(1000),
                          OWN_BURST_KIB);
    }
    if (part->mbps && (wanted.limits || !twice)) {
        wanted.peak = 1000 * part->mbps;
        wanted.cap = OWN_BURST_KIB * 1024;
    }
    wanted = want_owed(wanted, part->share.guarantee_mbps * UINT64_C(1000),
                       OWN_BURST_KIB * 1024);
    wanted.parent = find_whole(plan, wanted.tenant, uplink, wanted.receive,
                               wanted.limits)->id;
    wanted.weight = MAX(part->share.weight, 1);
    return wanted;
}

/* Those of all of a tenant by an uplink, whose names say which if 'several'
 * are taken: one, or if it is split, that, the rest, and those of classes;
 * each of them perhaps twice. */
static bool
has_whole(const struct world *w, const struct plan *plan, int tenant,
          int uplink, bool receive, bool taken, bool several)
{
    const struct world_part none = { .mbps = 0 };
    uint64_t apart = 0;
    bool split = taken && world_is_split(w, tenant, uplink, receive, &apart);

    for (int i = 0; i < 2 * (3 + MAX_CLASSES); i++) {
        int kind = i / 2;       /* Whole, split, rest, classes. */
        const struct world_part *part
            = kind > 2 ? &w->tenants[tenant].parts[receive][kind - 3] : &none;
        struct wanted wanted = {
            tenant, -1, -1, receive, .split = kind == 1, .rest = kind == 2,
            .limits = i % 2, .class = kind > 2 ? kind - 2 : 0,
        };

        if (split && kind == 1) {
            wanted = want_whole(w, plan, tenant, uplink, receive, i % 2);
        } else if (split && (kind == 2 || part->mbps)) {
            wanted = want_part(w, plan, wanted, part, uplink);
        } else if (taken && !split && !i) {
            wanted = want(w, plan, tenant, uplink, receive);
        }
        wanted.uplink = several ? uplink : -1;
        if (!has_meter(plan, &wanted)) {
            return false;
        }
    }
    return true;
}

static bool
has_bandwidth(const struct world *w, const struct plan *plan, int tenant,
              bool receive)
{
    unsigned int uplinks = world_uplinks_taken(w, tenant);
    bool several = (uplinks & (uplinks - 1)) != 0;

    for (int i = 0; i < MAX_UPLINKS; i++) {
        bool taken = uplinks & 1u << i;

        if ((taken || several || !uplinks)
            && !has_whole(w, plan, tenant, i, receive, taken, several)) {
            return false;
        }
    }
    return true;
}

/* Of a tenant that is split, what an endpoint has is its part, or is set
 * apart; of another one it is a limit. */
static bool
has_own(const struct world *w, const struct plan *plan, int endpoint,
        bool receive)
{
    const struct world_endpoint *e = &w->endpoints[endpoint];
    const struct world_network *n = &w->networks[e->network];
    const struct world_part part = {
        receive ? e->received_mbps : e->sent_mbps,
        world_own_share(w, endpoint, receive),
    };
    bool here = world_is_there(w, endpoint) && e->bound && !e->node
                && part.mbps;
    uint64_t apart = 0;
    bool split = here && world_is_split(w, n->tenant, n->uplink, receive,
                                        &apart);

    for (int limits = 0; limits < 2; limits++) {
        struct wanted wanted = {
            n->tenant, endpoint, -1, receive, .limits = limits,
        };

        if (split) {
            wanted = want_part(w, plan, wanted, &part, n->uplink);
        } else if (here && !limits) {
            wanted = want_plain(w, wanted, 1000 * part.mbps, OWN_BURST_KIB);
        }
        if (!has_meter(plan, &wanted)) {
            return false;
        }
    }
    return true;
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
    for (int i = 0; i < w->n_tenants; i++) {
        const struct world_tenant *t = &w->tenants[i];
        struct wanted packets = {
            i, -1, -1, .packets = true,
            .rate = (world_uplinks_here(w, i) && t->counted
                     ? t->kpps * 1000 : 0),
            .burst = t->burst_packets,
        };

        if (!has_bandwidth(w, plan, i, false)
            || !has_bandwidth(w, plan, i, true)) {
            return arena_printf(plan->arena, "tenant t%d has another "
                                "bandwidth", i);
        } else if (!has_microburst(w, plan, i)) {
            return arena_printf(plan->arena, "tenant t%d has other bursts",
                                i);
        } else if (!has_meter(plan, &packets)) {
            return arena_printf(plan->arena, "tenant t%d has another limit of "
                                "packets", i);
        }
    }
    for (int i = 0; i < w->n_endpoints; i++) {
        if (!has_own(w, plan, i, false) || !has_own(w, plan, i, true)) {
            return arena_printf(plan->arena, "endpoint e%d has another "
                                "bandwidth", i);
        }
    }
    return NULL;
}
