/*
 * Copyright (c) 2026 Bulkhead developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#include <config.h>

#include <errno.h>

#include "dp-meter-private.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(dp_meter_pool);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(20, 60);

struct dp_meter_pool {
    struct borrow_pool pool;
    unsigned int n_refs;        /* By a meter, and by each member. */
};

static void
set_pool(struct dp_meter *m, struct borrow_pool *pool)
{
    atomic_store_explicit(&m->pool, pool, memory_order_release);
}

static struct dp_meter_pool *
whole_pool(struct borrow_pool *pool)
{
    return CONTAINER_OF(pool, struct dp_meter_pool, pool);
}

static void
unref_pool(struct borrow_pool *pool)
{
    if (!--whole_pool(pool)->n_refs) {
        ovsrcu_postpone(free_cacheline, whole_pool(pool));
    }
}

/* The pool of 'parent', a new one if it has none yet. */
static struct borrow_pool *
need_pool(struct dp_meter *parent, uint64_t now_ns)
{
    struct borrow_pool *pool = dp_meter_get_pool(parent);

    if (!pool) {
        struct dp_meter_pool *new = xmalloc_cacheline(sizeof *new);

        pool = &new->pool;
        borrow_pool_init(pool, &parent->lent, parent->bands[0].member,
                         now_ns);
        new->n_refs = 1;
        set_pool(parent, pool);
    }
    return pool;
}

/* Returns 0 if meter 'id', whose pool (may be NULL) is 'own', can borrow from
 * 'parent' (may be NULL). */
static int
check_parent(uint32_t id, const struct borrow_pool *own,
             const struct dp_meter *parent)
{
    unsigned int n_levels = 2 + (own ? borrow_pool_height(own) : 0);
    const struct borrow_member *self;

    if (!parent) {
        return ENOENT;
    } else if (parent->id == id) {
        return ELOOP;
    } else if (!parent->lends) {
        return EOPNOTSUPP;
    }
    self = parent->bands[0].member;
    for (const struct borrow_pool *p = self ? self->pool : NULL; p;
         p = borrow_pool_above(p)) {
        if (p == own) {
            return ELOOP;
        }
        n_levels++;
    }
    return n_levels > DP_METER_MAX_LEVELS ? ELOOP : 0;
}

static void
leave(struct borrow_member *member)
{
    borrow_leave(member);
    unref_pool(member->pool);
    ovsrcu_postpone(free_cacheline, member);
}

static uint64_t
reach_of(const struct dp_band_conf *bc)
{
    return borrow_reach(bc->gcra.burst / GCRA_BYTE);
}

static int
join_parent(const struct dp_meters *ms, uint32_t id,
            const struct dp_band_conf *bc, const struct dp_meter *old,
            struct borrow_member *old_member, struct borrow_member **memberp,
            uint64_t now_ns)
{
    struct dp_meter *parent = dp_meter_lookup(ms, bc->parent);
    int error = check_parent(id, old ? dp_meter_get_pool(old) : NULL, parent);
    struct borrow_member *member;
    struct borrow_pool *pool;

    if (error) {
        VLOG_INFO_RL(&rl, "refused parent of a meter: %s",
                     error == ENOENT ? "it does not exist"
                     : error == ELOOP ? "a loop, or too many levels"
                     : "its first band is not of type microburst");
        return error;
    }
    pool = need_pool(parent, now_ns);
    if (old_member && old_member->pool == pool) {
        *memberp = old_member;
        return 0;
    }
    member = xmalloc_cacheline(sizeof *member);
    if (!borrow_join(member, pool, bc->weight, reach_of(bc))) {
        VLOG_INFO_RL(&rl, "refused parent of a meter: it has %d already",
                     BORROW_MAX_MEMBERS);
        free_cacheline(member);
        return ENOSPC;
    }
    whole_pool(pool)->n_refs++;
    *memberp = member;
    return 0;
}

int
dp_meter_join_parents(const struct dp_meters *ms, uint32_t id,
                      const struct dp_band_conf bcs[], uint16_t n_bands,
                      const struct dp_meter *old,
                      struct borrow_member *members[], uint64_t now_ns)
{
    struct borrow_pool *own = old ? dp_meter_get_pool(old) : NULL;

    if (own && !dp_band_lends(bcs, n_bands) && !borrow_pool_is_empty(own)) {
        VLOG_INFO_RL(&rl, "refused to change a meter: others borrow from it");
        return EBUSY;
    }
    for (uint16_t i = 0; i < n_bands; i++) {
        struct borrow_member *old_member = (old && i < old->n_bands
                                            ? old->bands[i].member : NULL);
        int error = (bcs[i].has_parent
                     ? join_parent(ms, id, &bcs[i], old, old_member,
                                   &members[i], now_ns)
                     : 0);

        if (error) {
            while (i-- > 0) {
                if (members[i] && !(old && i < old->n_bands && members[i]
                                    == old->bands[i].member)) {
                    leave(members[i]);
                }
            }
            return error;
        }
    }
    return 0;
}

void
dp_meter_reconfigure_pools(struct dp_meter *m,
                           const struct dp_band_conf bcs[], uint64_t now_ns)
{
    struct borrow_pool *pool = dp_meter_get_pool(m);

    for (uint32_t i = 0; i < m->n_bands; i++) {
        if (m->bands[i].member) {
            borrow_member_reconfigure(m->bands[i].member, bcs[i].weight,
                                      reach_of(&bcs[i]));
        }
    }
    m->lends = dp_band_lends(bcs, m->n_bands);
    m->lent = m->n_bands ? bcs[0].gcra : (struct gcra_conf) { .rate = 0 };
    if (pool && m->lends) {
        borrow_pool_reconfigure(pool, &m->lent, m->bands[0].member, now_ns);
    } else if (pool) {
        /* Nobody borrows from it any more. */
        set_pool(m, NULL);
        unref_pool(pool);
    }
}

void
dp_meter_leave_pools(struct dp_meter *m, const struct dp_meter *heir,
                     uint64_t now_ns)
{
    struct borrow_pool *pool = dp_meter_get_pool(m);

    if (pool && !heir) {
        borrow_pool_reconfigure(pool, &m->lent, NULL, now_ns);
        unref_pool(pool);
    }
    for (uint32_t i = 0; i < m->n_bands; i++) {
        struct borrow_member *member = m->bands[i].member;

        if (member && !(heir && i < heir->n_bands
                        && heir->bands[i].member == member)) {
            leave(member);
        }
    }
}
