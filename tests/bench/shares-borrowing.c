/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "shares.h"

#include "borrow.h"
#include "meter-models.h"
#include "util.h"

/* An hour after the clock began. */
#define START (UINT64_C(3600) * 1000 * 1000 * 1000)

/* Borrowing. */

struct borrowing {
    struct borrow_pool uplink;
    struct borrow_pool tenants[CLUSTER_MAX_TENANTS];
    struct borrow_member members[CLUSTER_MAX_TENANTS];  /* The same. */
    struct borrow_member leaves[CLUSTER_MAX_LEAVES];
};

static struct gcra_conf
pool_conf(uint32_t kbps, uint64_t burst)
{
    struct gcra_conf conf;

    gcra_conf_init(&conf, GCRA_KBPS, kbps, burst * 8);
    return conf;
}

static void *
borrowing_create(const struct cluster *c)
{
    struct gcra_conf conf = pool_conf(c->conf.kbps, c->conf.burst);
    struct borrowing *b = xzalloc(sizeof *b);

    borrow_pool_init(&b->uplink, &conf, NULL, START);
    for (unsigned int i = 0; c->conf.tree && i < c->conf.n_tenants; i++) {
        const struct cluster_share *share = &c->tenants[i];

        conf = pool_conf(share->kbps, share->burst);
        borrow_join(&b->members[i], &b->uplink, share->weight, share->reach);
        borrow_pool_init(&b->tenants[i], &conf, &b->members[i], START);
    }
    for (unsigned int i = 0; i < c->n; i++) {
        borrow_join(&b->leaves[i],
                    c->conf.tree ? &b->tenants[i / c->conf.n_classes]
                    : &b->uplink, c->leaves[i].weight, c->leaves[i].reach);
    }
    return b;
}

static bool
borrowing_admit(void *b_, double now, unsigned int leaf, uint32_t bytes,
                bool is_owed)
{
    struct borrow_member *m = &((struct borrowing *) b_)->leaves[leaf];

    if (is_owed) {
        borrow_debit(m->pool, START + (uint64_t) now, bytes);
        return true;
    }
    return borrow_admit(m, START + (uint64_t) now, bytes);
}

const struct shares shares_borrowing = {
    .name = "borrowing",
    .create = borrowing_create,
    .admit = borrowing_admit,
};

/* trTCM.  The peak rate of each leaf is that of the uplink, so that it may use
 * all that is idle; the peak burst is its burst and reach. */

struct trtcm {
    double rate, limit;
    struct fluid queue;
    struct rfc_meter meters[CLUSTER_MAX_LEAVES];
};

static void *
trtcm_create(const struct cluster *c)
{
    struct trtcm *t = xzalloc(sizeof *t);

    t->rate = c->conf.kbps / 8e6;
    t->limit = c->conf.burst;
    for (unsigned int i = 0; i < c->n; i++) {
        const struct cluster_share *share = &c->leaves[i];

        rfc2698_init(&t->meters[i], share->kbps, share->burst, c->conf.kbps,
                     share->burst + share->reach, 0);
    }
    return t;
}

static bool
trtcm_admit(void *t_, double now, unsigned int leaf, uint32_t bytes,
            bool is_owed)
{
    struct trtcm *t = t_;
    enum rfc_color color = rfc2698_color(&t->meters[leaf], now, bytes);

    (void) is_owed;
    if (color == RFC_RED
        || (fluid_drain(&t->queue, t->rate, now) + bytes > t->limit
            && color == RFC_YELLOW)) {
        return false;
    }
    t->queue.bytes += bytes;
    return true;
}

const struct shares shares_trtcm = {
    .name = "trTCM",
    .create = trtcm_create,
    .admit = trtcm_admit,
};
