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

#ifndef BORROW_H
#define BORROW_H 1

/* Borrowing: who gets what a parent has spare
 * ===========================================
 *
 * A pool is a rate and a burst, such as an uplink's, that several members
 * share.  What a member is owed, its own committed rate and burst, is decided
 * by its own GCRA and is none of this: such a packet is never refused here,
 * only counted, by borrow_debit().  What goes beyond, a member borrows, by
 * borrow_admit().  A pool may be a member of another pool, as a tenant over
 * its classes is of an uplink; it then has a committed rate and burst too,
 * which its members use before it borrows in turn.
 *
 *     packet of a member                                  result
 *     --------------------------------------------------  -----------------
 *     its own committed rate and burst conform            admitted (green)
 *     its fair share does not reach that far              refused (red)
 *     the queue of the pool, with it, is at most 'burst'  admitted (yellow)
 *     else, in a pool of a pool: the pool's own fair      admitted (yellow)
 *     share, and so on upward
 *     else                                                refused (red)
 *
 * The queue of a pool is a phantom: a GCRA that drains at the pool's rate, and
 * that holds all that was admitted.  Green packets may take it above 'burst',
 * by no more than the bursts of all members, if their committed rates are
 * within the rate of the pool.  So the depth of the uplink's queue is at most
 * its burst and those of its members, whatever anybody sends, and whatever the
 * fair shares are.
 *
 * Fair shares
 * -----------
 *
 * What a pool has spare is shared by weight among the members that ask for
 * more than they are owed (weighted max-min).  Each member has a finish tag,
 * as in self-clocked and start-time fair queueing (Golestani, INFOCOM 1994;
 * Goyal et al., SIGCOMM 1996): the virtual time at which what it has borrowed
 * would be served, if spare bandwidth were served by generalized processor
 * sharing.  A member may be ahead of the pool's virtual time by its 'reach',
 * in bytes, and by no more than 16 times what the queue has left below
 * 'burst', that of the pools above included: a dynamic threshold, as in
 * switches whose queues share their memory (Choudhury and Hahne, IEEE/ACM
 * Transactions on Networking 6(2), 1998; alpha is 16).  So when the queue is
 * nearly full, there is room for those who have borrowed less than others, and
 * who comes first does not get all.  Nothing is queued and no packet waits:
 * the tags police.
 *
 * Virtual time moves in rounds of 'round_ns'.  The thread that finds a round
 * over computes how many bytes were spare in it, from what was green and from
 * the depth of the queue, which it keeps near a target, and advances virtual
 * time by what serves as many bytes to the members that have borrowed.  Within
 * the next round virtual time goes on at the same speed; if some was left, at
 * one that leaves none, should the member that is furthest ahead want more.
 * Only members with something borrowed cost anything, and when nobody borrows
 * there are no rounds.
 *
 * A pool in a pool has its own rate and its share above to spare.  It borrows
 * when its own queue is full, so that is the target as long as the pool above
 * has something for it, and the depth is that of its queue and what it is
 * ahead above.  If the pool above has nothing, as when all its rate is owed,
 * the target is that of any queue.
 *
 * Thread-safety
 * -------------
 *
 * borrow_admit() and borrow_debit() are thread-safe and lock-free.  One thread
 * at a time closes a round; the others go on with the last one meanwhile, for
 * two rounds at most: then virtual time stands, and members get no further
 * than their reach.  The limit of the queue is kept whatever happens in
 * between, by compare-and-swap.  A packet that one pool admits and the next
 * refuses is given back; until then it counts, so others may be refused for
 * it.  All else needs the caller to exclude other changes, not packets: after
 * borrow_leave() packets may still borrow in the member's name until an RCU
 * grace period is over, and only then may it be used again or freed. */

#include <stdbool.h>
#include <stdint.h>

#include "gcra.h"
#include "ovs-atomic.h"

#ifdef  __cplusplus
extern "C" {
#endif

enum { BORROW_MAX_MEMBERS = 1024 };     /* Of a pool. */
#define BORROW_MAX_REACH UINT32_MAX     /* Of a member, in bytes. */

struct borrow_pool;

/* A member of a pool.  The caller allocates it. */
struct borrow_member {
    struct borrow_pool *pool;
    ATOMIC(struct borrow_pool *) below; /* If it is a pool itself, that. */
    uint32_t index;             /* In the pool's. */
    atomic_uint32_t weight;     /* 1 to 65535. */
    atomic_uint64_t reach;      /* See "Units" in borrow.c. */
    atomic_uint64_t tag;        /* Finish tag; 0: nothing is borrowed. */
};

/* What is published of a round. */
struct borrow_round {
    atomic_uint64_t start_ns;
    atomic_uint64_t virtual;    /* Time at the start. */
    atomic_uint64_t speed;      /* Of virtual time since... */
    atomic_uint64_t alone_ns;   /* ...for this long at most. */
};

/* The caller allocates it. */
struct borrow_pool {
    ATOMIC(struct borrow_member *) self;        /* In the pool above; NULL if
                                                 * there is none. */
    struct gcra queue;
    atomic_uint64_t limit;      /* Of the queue, in tokens. */
    atomic_uint32_t rate;       /* In kbps. */
    atomic_uint64_t round_ns;   /* Length of a round. */

    atomic_uint32_t version;    /* Its low bit says which round is in force. */
    struct borrow_round rounds[2];

    atomic_uint64_t green;      /* Bytes that members are owed. */
    atomic_uint64_t other;      /* Bytes that they were admitted beyond. */
    atomic_uint64_t borrowers[BORROW_MAX_MEMBERS / 64]; /* Bitmap of the
                                                         * members that have
                                                         * a tag. */
    ATOMIC(struct borrow_member *) members[BORROW_MAX_MEMBERS];

    /* Of the thread that closes a round. */
    atomic_flag closing;
    uint64_t last_green, last_depth, last_other;
    uint64_t debt;              /* Bytes owed beyond what there was. */
    uint64_t shares;            /* What the pool above had for this one, of
                                 * late: the sum of some rounds. */
    struct borrow_claim {       /* A member that has borrowed. */
        struct borrow_member *member;
        uint64_t ahead;         /* Of virtual time. */
        uint32_t weight;
    } claims[BORROW_MAX_MEMBERS];
};

/* Makes '*p' a pool of a rate and a burst, in kbps, without members and with
 * an empty queue.  'self' (may be NULL) has joined the pool above. */
void borrow_pool_init(struct borrow_pool *p, const struct gcra_conf *,
                      struct borrow_member *self, uint64_t now_ns);

/* Puts '*p' under another rate and burst, or into another pool above.  The
 * depth of its queue stays as it is. */
void borrow_pool_reconfigure(struct borrow_pool *p, const struct gcra_conf *,
                             struct borrow_member *self, uint64_t now_ns);

/* The pool above '*p', or NULL. */
struct borrow_pool *borrow_pool_above(const struct borrow_pool *p);

/* Has it no members? */
bool borrow_pool_is_empty(const struct borrow_pool *p);

/* The number of pools that are below one another, '*p' included.  Only for the
 * caller that changes them. */
unsigned int borrow_pool_height(const struct borrow_pool *p);

/* Makes '*m' a member of 'pool'.  It may borrow up to 'reach' bytes, at most
 * BORROW_MAX_REACH, ahead of its share.  Returns false if the pool is full. */
bool borrow_join(struct borrow_member *m, struct borrow_pool *pool,
                 uint16_t weight, uint64_t reach);

/* The reach of a member that is owed 'burst' bytes at once: at least a batch
 * of full frames, all of which come at one time. */
static inline uint64_t
borrow_reach(uint64_t burst)
{
    return burst > 65536 ? burst : 65536;
}

/* Changes what '*m' joined with. */
void borrow_member_reconfigure(struct borrow_member *m, uint16_t weight,
                               uint64_t reach);

/* Takes '*m' out of its pool. */
void borrow_leave(struct borrow_member *m);

/* Counts packets of 'n_bytes' bytes in all that a member of '*p' is owed, in
 * '*p' and in the pools above. */
void borrow_debit(struct borrow_pool *p, uint64_t now_ns, uint32_t n_bytes);

/* If '*m' may borrow for 'n_bytes' bytes, does so and returns true.  Otherwise
 * changes nothing and returns false. */
bool borrow_admit(struct borrow_member *m, uint64_t now_ns, uint32_t n_bytes);

#ifdef  __cplusplus
}
#endif

#endif /* borrow.h */
