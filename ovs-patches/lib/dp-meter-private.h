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

#ifndef DP_METER_PRIVATE_H
#define DP_METER_PRIVATE_H 1

/* What a meter is, for the files dp-meter*.c alone. */

#include <stdint.h>

#include "borrow.h"
#include "dp-counter.h"
#include "dp-meter.h"
#include "gcra.h"
#include "phantom.h"

OVS_ALIGNED_STRUCT(CACHE_LINE_SIZE, dp_meter_band) {
    struct gcra gcra;
    atomic_uint64_t action;     /* A packed 'struct dp_band_action'. */
    struct dp_owned_counter acted_on; /* Did not conform. */
    struct dp_counter admitted; /* Of these, those not dropped. */
    struct dp_counter before;   /* Passed the meter before it had this band. */
    struct dp_counter marked;   /* Marked CE, not only of these. */
    struct dp_counter elsewhere; /* Nor these, but another band acted. */
    struct phantom *phantom;    /* NULL if the band has no peak rate. */
    struct borrow_member *member; /* NULL if the band has no parent. */
    struct dp_counter borrowed; /* Conformed thanks to the parent. */
};

static inline struct dp_band_action
get_action(struct dp_meter_band *band)
{
    struct dp_band_action action;
    uint64_t word;

    atomic_read_relaxed(&band->action, &word);
    action.rate = word >> 32;
    action.verb = word >> 8 & 0xff;
    action.arg = word;
    return action;
}

/* A packet that conforms touches one cache line of this, and one of a band. */
struct dp_meter {
    uint8_t n_bands;
    uint8_t phantoms;           /* Bitmap of the bands that have a phantom. */
    bool borrows;               /* Has any band a member? */
    bool lends;                 /* May have a pool. */
    atomic_uint32_t tag;        /* Of the first band with one, 0 if none. */
    ATOMIC(struct borrow_pool *) pool; /* That others borrow from, or NULL. */

    /* Of the only band, if it has one and no member; else NULL. */
    struct phantom *phantom;

    /* The thread that was the first to bring a packet; it may be gone.  Has
     * any other one? */
    atomic_uint owner;
    atomic_bool shared;

    /* Packets that no band acted on.  On one that does not conform, exactly
     * one band acts, and counts it. */
    struct dp_owned_counter conforming;

    uint32_t id;
    struct gcra_conf lent;      /* What that is. */
    struct dp_meter_band bands[];
};

BUILD_ASSERT_DECL(DP_METER_MAX_BANDS <= 8);
BUILD_ASSERT_DECL(offsetof(struct dp_meter, id) <= CACHE_LINE_SIZE);

static inline struct dp_meter_page *
dp_meter_page(const struct dp_meters *ms_, uint32_t id)
{
    struct dp_meters *ms = CONST_CAST(struct dp_meters *, ms_);
    struct dp_meter_page *page;

    atomic_read_explicit(&ms->pages[id / DP_METER_PAGE], &page,
                         memory_order_acquire);
    return page;
}

static inline struct dp_meter *
dp_meter_lookup(const struct dp_meters *ms, uint32_t id)
{
    struct dp_meter_page *page = (id < DP_METER_MAX ? dp_meter_page(ms, id)
                                  : NULL);
    struct dp_meter *m = NULL;

    if (page) {
        atomic_read_explicit(&page->meters[id % DP_METER_PAGE], &m,
                             memory_order_acquire);
    }
    return m;
}

/* Returns the first meter whose id is not below 'id', or NULL. */
struct dp_meter *dp_meter_next(const struct dp_meters *, uint32_t id);

/* dp-meter-drop.c: packets that are dropped. */

/* Moves the packets in 'map', one at least, from 'batch' to '*drops': those in
 * 'unlent' for DP_REASON_PARENT, the others for 'reason'. */
void dp_meter_drop(struct dp_meter_drops *drops, struct dp_packet_batch *batch,
                   uint32_t map, uint32_t unlent, enum dp_meter_reason reason);

/* dp-meter-pool.c: meters that borrow from others.
 *
 * A meter that others name as parent has a pool, from when the first one does.
 * The pool belongs to the meter and to all members together, so it remains
 * while any of them can borrow from it.  All but dp_meter_get_pool() needs the
 * mutex of 'struct dp_meters'. */

static inline struct borrow_pool *
dp_meter_get_pool(const struct dp_meter *m)
{
    struct borrow_pool *pool;

    atomic_read_explicit(&CONST_CAST(struct dp_meter *, m)->pool, &pool,
                         memory_order_acquire);
    return pool;
}

/* Sets 'members[]', which are NULL, to those that meter 'id' needs under
 * 'bcs[]': those of 'old' (may be NULL) where the parent is the same.  Returns
 * 0, or an error as dp_meters_set() does, and then nothing has changed. */
int dp_meter_join_parents(const struct dp_meters *, uint32_t id,
                          const struct dp_band_conf bcs[], uint16_t n_bands,
                          const struct dp_meter *old,
                          struct borrow_member *members[], uint64_t now_ns);

/* Puts 'm', with its members, under 'bcs[]'. */
void dp_meter_reconfigure_pools(struct dp_meter *m,
                                const struct dp_band_conf bcs[],
                                uint64_t now_ns);

/* Takes 'm' out of all that 'heir' (may be NULL) has not taken over. */
void dp_meter_leave_pools(struct dp_meter *m, const struct dp_meter *heir,
                          uint64_t now_ns);

/* May 'm' refuse packets at the time of '*clock'?  So it may if a meter has
 * read it, or if nobody can have used a later one. */
static inline bool
may_refuse(const struct dp_meter *m, bool owner,
           const struct dp_meter_clock *clock)
{
    bool shared;

    atomic_read_relaxed(&CONST_CAST(struct dp_meter *, m)->shared, &shared);
    return (clock->reread
            || (clock->fresh && owner && !shared && !m->borrows
                && !dp_meter_get_pool(m)));
}

#endif /* dp-meter-private.h */
