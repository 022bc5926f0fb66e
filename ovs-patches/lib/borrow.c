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
#include "borrow.h"

#include <string.h>

#include "borrow-private.h"
#include "openvswitch/compiler.h"

/* A round lasts ROUND_NS; less if the pool's queue is full sooner, but
 * MIN_ROUND_NS; and never less than ROUND_BYTES take at the pool's rate. */
#define ROUND_NS     UINT64_C(10000)
#define MIN_ROUND_NS UINT64_C(5000)
#define ROUND_BYTES  UINT64_C(12144)    /* Eight full frames. */

static void
add(atomic_uint64_t *number, uint64_t n)
{
    uint64_t before;

    atomic_add_relaxed(number, n, &before);
}

/* Virtual time at 'now_ns', in round 'r'. */
static uint64_t
virtual_at(const struct borrow_now *r, uint64_t now_ns)
{
    uint64_t age = now_ns > r->start_ns ? now_ns - r->start_ns : 0;

    age = MIN(age, r->alone_ns);
    return r->virtual + (age * r->speed >> BORROW_SPEED_SCALE);
}

/* Members. */

/* The dynamic threshold: this many times what the queue has left. */
#define ROOM_FACTOR 16

static uint64_t room_of(const struct borrow_pool *, uint64_t now_ns);

/* How far 'm' may be ahead of its share, as 'reach' of it. */
static uint64_t
reach_of(const struct borrow_member *m, uint64_t now_ns)
{
    return MIN(borrow_get(&m->reach), ROOM_FACTOR * room_of(m->pool, now_ns));
}

/* What may still be borrowed from 'p', in the unit of 'reach'. */
static uint64_t
room_of(const struct borrow_pool *p, uint64_t now_ns)
{
    const struct borrow_member *self = borrow_get_self(p);
    uint64_t limit = borrow_get(&p->limit);
    uint64_t depth = gcra_depth(&p->queue, now_ns);
    uint64_t room = (limit - MIN(limit, depth)) / GCRA_BYTE << BORROW_SCALE;

    if (self) {
        struct borrow_now r = borrow_get_round(self->pool);
        uint64_t virtual = virtual_at(&r, now_ns);
        uint64_t tag = borrow_get(&self->tag);
        uint64_t reach = reach_of(self, now_ns);
        uint32_t weight = borrow_get32(&self->weight);
        uint64_t ahead = (borrow_is_ahead(tag, virtual)
                          ? borrow_fit(tag - virtual, weight) * weight : 0);

        room += reach - MIN(reach, ahead);
    }
    return room;
}

/* Takes 'more' from the share of 'm'.  Returns false if it does not reach. */
static bool
take(struct borrow_member *m, uint64_t now_ns, uint64_t more)
{
    struct borrow_pool *p = m->pool;
    struct borrow_now r = borrow_get_round(p);
    uint64_t reach = reach_of(m, now_ns) / borrow_get32(&m->weight);
    uint64_t last = virtual_at(&r, now_ns) + reach;
    uint64_t tag = borrow_get(&m->tag), next;

    do {
        next = (borrow_is_ahead(tag, r.virtual) ? tag : r.virtual) + more;
        if (borrow_is_ahead(next, last)) {
            return false;
        }
        next += !next;          /* 0 says that there is none. */
    } while (!atomic_compare_exchange_weak(&m->tag, &tag, next));
    borrow_set(p, m->index);
    return true;
}

/* Gives back what take() took.  What has been served since is lost. */
static void
give_back(struct borrow_member *m, uint64_t more)
{
    uint64_t tag = borrow_get(&m->tag), next;

    do {
        if (!tag) {
            return;
        }
        next = tag - more;
        next += !next;
    } while (!atomic_compare_exchange_weak(&m->tag, &tag, next));
}

static bool
borrow(struct borrow_member *m, uint64_t now_ns, uint32_t n_bytes)
{
    struct borrow_pool *p = m->pool;
    struct borrow_member *self = borrow_get_self(p);
    uint64_t more = DIV_ROUND_UP((uint64_t) n_bytes << BORROW_SCALE,
                                 borrow_get32(&m->weight));

    if (!take(m, now_ns, more)) {
        return false;
    }
    if (gcra_admit_to(&p->queue, now_ns, 0, n_bytes, borrow_get(&p->limit))) {
        if (self) {
            borrow_debit(self->pool, now_ns, n_bytes);
        }
    } else if (!self || !borrow(self, now_ns, n_bytes)) {
        give_back(m, more);
        return false;
    }
    add(&p->other, n_bytes);
    return true;
}

bool
borrow_admit(struct borrow_member *m, uint64_t now_ns, uint32_t n_bytes)
{
    struct borrow_pool *top = m->pool;
    struct borrow_member *self;

    for (; (self = borrow_get_self(top)); top = self->pool) {
        borrow_set(self->pool, self->index);  /* Its members may be ones. */
    }
    borrow_close_round(top, now_ns);
    return borrow(m, now_ns, n_bytes);
}

void
borrow_debit(struct borrow_pool *p, uint64_t now_ns, uint32_t n_bytes)
{
    for (; p; p = borrow_pool_above(p)) {
        gcra_admit_to(&p->queue, now_ns, 0, n_bytes, UINT64_MAX);
        add(&p->green, n_bytes);
    }
}

/* Configuration. */

/* A queue may be deeper than the limit by what is owed. */
static struct gcra_conf
queue_conf(const struct gcra_conf *conf)
{
    return (struct gcra_conf) {
        .unit = GCRA_KBPS, .rate = conf->rate, .burst = GCRA_MAX_BURST,
    };
}

static void
configure(struct borrow_pool *p, const struct gcra_conf *conf,
          struct borrow_member *self)
{
    uint64_t round_ns = MIN(ROUND_NS, conf->burst / conf->rate);

    round_ns = MAX(round_ns, MIN_ROUND_NS);
    round_ns = MAX(round_ns, ROUND_BYTES * GCRA_BYTE / conf->rate);

    atomic_store_relaxed(&p->rate, conf->rate);
    atomic_store_relaxed(&p->limit, conf->burst);
    atomic_store_relaxed(&p->round_ns, round_ns);
    atomic_store_explicit(&p->self, self, memory_order_release);
    if (self) {
        atomic_store_explicit(&self->below, p, memory_order_release);
    }
}

void
borrow_pool_init(struct borrow_pool *p, const struct gcra_conf *conf,
                 struct borrow_member *self, uint64_t now_ns)
{
    struct gcra_conf queue = queue_conf(conf);

    memset(p, 0, sizeof *p);
    gcra_init(&p->queue, &queue, now_ns);
    atomic_store_relaxed(&p->rounds[0].start_ns, now_ns);
    atomic_flag_clear(&p->closing);
    configure(p, conf, self);
}

void
borrow_pool_reconfigure(struct borrow_pool *p, const struct gcra_conf *conf,
                        struct borrow_member *self, uint64_t now_ns)
{
    struct gcra_conf queue = queue_conf(conf);

    gcra_reconfigure(&p->queue, &queue, now_ns);
    configure(p, conf, self);
}

struct borrow_pool *
borrow_pool_above(const struct borrow_pool *p)
{
    struct borrow_member *self = borrow_get_self(p);

    return self ? self->pool : NULL;
}

bool
borrow_pool_is_empty(const struct borrow_pool *p)
{
    for (uint32_t i = 0; i < BORROW_MAX_MEMBERS; i++) {
        if (borrow_get_member(p, i)) {
            return false;
        }
    }
    return true;
}

unsigned int
borrow_pool_height(const struct borrow_pool *p)
{
    unsigned int height = 0;

    for (uint32_t i = 0; i < BORROW_MAX_MEMBERS; i++) {
        struct borrow_member *m = borrow_get_member(p, i);
        struct borrow_pool *below = m ? borrow_get_below(m) : NULL;

        if (below) {
            height = MAX(height, borrow_pool_height(below));
        }
    }
    return height + 1;
}

bool
borrow_join(struct borrow_member *m, struct borrow_pool *pool,
            uint16_t weight, uint64_t reach)
{
    for (uint32_t i = 0; i < BORROW_MAX_MEMBERS; i++) {
        if (!borrow_get_member(pool, i)) {
            memset(m, 0, sizeof *m);
            m->pool = pool;
            m->index = i;
            borrow_member_reconfigure(m, weight, reach);
            atomic_store_explicit(&pool->members[i], m, memory_order_release);
            return true;
        }
    }
    return false;
}

/* What 'm' has borrowed stays as many bytes with another weight. */
static void
change_weight(struct borrow_member *m, uint32_t to)
{
    uint32_t from = borrow_get32(&m->weight);
    uint64_t virtual = borrow_get_round(m->pool).virtual;
    uint64_t tag = borrow_get(&m->tag), next;

    atomic_store_relaxed(&m->weight, to);
    do {
        uint64_t ahead = tag - virtual;

        if (!tag || !borrow_is_ahead(tag, virtual)) {
            return;
        }
        next = virtual + MIN(ahead, UINT64_MAX / from) * from / to;
        next += !next;
    } while (!atomic_compare_exchange_weak(&m->tag, &tag, next));
}

void
borrow_member_reconfigure(struct borrow_member *m, uint16_t weight,
                          uint64_t reach)
{
    change_weight(m, weight);
    atomic_store_relaxed(&m->reach, reach << BORROW_SCALE);
}

void
borrow_leave(struct borrow_member *m)
{
    atomic_store_relaxed(&m->pool->members[m->index], NULL);
}
