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

#ifndef DP_METER_H
#define DP_METER_H 1

/* The meters of a userspace datapath
 * ==================================
 *
 * A meter has one to eight bands, each a rate and a burst.  Every packet is
 * offered to every band.  A band that it conforms to is debited, whatever the
 * others say.  Of the bands that it exceeds, the one of the highest rate acts
 * on it, the first of them if there are several:
 *
 *     band                          what happens to a packet that exceeds it
 *     ----------------------------  ----------------------------------------
 *     drop                          dropped
 *     dscp_remark                   drop precedence raised; admitted
 *     microburst, exceed=drop       dropped
 *     microburst, exceed=dscp:N     DSCP set to N; admitted
 *     microburst, exceed=ecn        CE set and admitted if it is ECN-capable,
 *                                   otherwise dropped
 *     microburst, exceed=pass       admitted
 *
 * A remark leaves a packet alone that is not IP.  Rates count all bytes of the
 * frame as the datapath holds it at the meter action, without FCS.  Only bands
 * that drop keep what passes within their rate and burst, and they only if no
 * band of a higher rate admits what exceeds both.
 *
 * A microburst band may have a phantom queue: see phantom.h, which also has
 * the table of all decisions in order.  A packet is offered to these queues
 * first, band after band; what one of them drops, nothing else is offered.
 *
 * Packets may come from several threads at a time, and none ever waits: see
 * gcra.h.  All packets of a batch are taken to arrive at the time of the
 * batch.  That time may be older than what another thread has seen, so the
 * clock is read again before the first packet of what was received at once is
 * refused, and whenever a band has been used at a later time.  It need not be
 * if the time is fresh, no other thread has brought packets of the meter, and
 * that neither borrows nor lends: nobody can have come with a later one.
 *
 * A microburst band may borrow from another meter, its parent: see borrow.h.
 * What exceeds its own rate and burst then passes if the parent has it to
 * spare, and only what does not is acted on as above.  What the parent has is
 * the rate and burst of its first band, which is of type microburst, less what
 * passes that meter itself.  A meter that is deleted goes on lending to those
 * that borrow from it.
 *
 * A change of a meter keeps what it has counted and, in each band, what its
 * queue holds, up to the new burst.  While it takes place, a packet may meet
 * the new rate of one band and the old one of the next, or the old action of a
 * band with its new rate.  If the number of bands changes, batches that are
 * in progress are still debited to the old bands only.
 *
 * A meter with a 'tag' gives it to all its packets (see 'tenant_tag' in struct
 * pkt_metadata), one without it leaves them what they have.  With several
 * bands, the tag of the first one that has any counts.
 *
 * A packet that names a meter that does not exist is dropped. */

#include <stdbool.h>
#include <stdint.h>

#include "dp-meter-conf.h"
#include "dp-meter-reason.h"
#include "dp-packet.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "util.h"

struct ofputil_meter_config;
struct ofputil_meter_features;
struct ofputil_meter_stats;

#ifdef  __cplusplus
extern "C" {
#endif

/* The time of a batch, as a thread hands it from meter to meter. */
struct dp_meter_clock {
    uint64_t now_ns;            /* A reading of time_nsec(). */
    bool fresh;                 /* Read when the batch came, and nothing took
                                 * long since? */
    bool reread;                /* By a meter, since the batch came? */
    uint64_t since_ns;          /* No packet of the batch came before this;
                                 * 0: all of them came at 'now_ns'. */
};

/* Ids are small and consecutive, so meters are found in an array, in pages
 * that are there for good once they are needed. */
enum { DP_METER_PAGE = 512 };

struct dp_meter_page {
    ATOMIC(struct dp_meter *) meters[DP_METER_PAGE];
};

struct dp_meters {
    atomic_count n_phantoms;    /* Number of meters with a phantom queue. */
    enum dp_meter_types types;  /* Accepted ones. */
    struct ovs_mutex mutex;     /* Serializes changes of 'pages', and reading
                                 * counters. */
    ATOMIC(struct dp_meter_page *) pages[DP_METER_MAX / DP_METER_PAGE];
};

void dp_meters_init(struct dp_meters *, enum dp_meter_types);

/* The caller ensures that no other thread uses '*ms' anymore, apart from
 * packets within the current RCU grace period. */
void dp_meters_destroy(struct dp_meters *ms);

/* Returns true if any meter needs to know when packets were polled. */
static inline bool
dp_meters_need_polls(const struct dp_meters *ms)
{
    return atomic_count_get(CONST_CAST(atomic_count *, &ms->n_phantoms)) != 0;
}

void dp_meters_get_features(const struct dp_meters *,
                            struct ofputil_meter_features *);

/* Adds meter 'id' or, if there is one, changes it.  Returns 0, or a positive
 * errno value, and then nothing has changed:
 *
 *     EFBIG       'id' is too large
 *     EBADF       an unknown flag, or a microburst band in packets/s
 *     EINVAL      more bands than a meter can have
 *     ENODEV      a type or member of a band that is not supported
 *     EDOM        a rate that cannot be kept
 *     ERANGE      a burst that cannot be kept
 *     EOPNOTSUPP  a prec_level that is not 1 or 2, or a parent whose first
 *                 band is not of type microburst
 *     ENOENT      a parent that does not exist
 *     ELOOP       parents that borrow from one another, or at more than
 *                 DP_METER_MAX_LEVELS
 *     ENOSPC      a parent that has BORROW_MAX_MEMBERS already
 *     EBUSY       a first band that others could not borrow from, as they do
 *
 * A burst of 0 stands for what the rate delivers in a second, or for the
 * largest burst if that is less. */
int dp_meters_set(struct dp_meters *ms, uint32_t id,
                  const struct ofputil_meter_config *);

/* Reads the counters of meter 'id' and of at most 'n_bands' of its bands into
 * '*stats' (may be NULL).  Returns 0, EFBIG or ENOENT. */
int dp_meters_get(const struct dp_meters *ms, uint32_t id,
                  struct ofputil_meter_stats *stats, uint16_t n_bands);

/* Removes meter 'id'.  The same as dp_meters_get() otherwise. */
int dp_meters_del(struct dp_meters *ms, uint32_t id,
                  struct ofputil_meter_stats *stats, uint16_t n_bands);

/* What meters have dropped.  Packets have the tag of their meter.  To count
 * and to free many together costs little more than one. */
enum { DP_METER_DROPS = 2 * NETDEV_MAX_BURST };

struct dp_meter_drops {
    size_t n;
    struct dp_packet *packets[DP_METER_DROPS];
    uint8_t reasons[DP_METER_DROPS]; /* Each an 'enum dp_meter_reason'. */
};

/* Frees the packets of '*drops', and empties it. */
void dp_meter_drops_free(struct dp_meter_drops *);

/* Applies meter 'id' to 'batch', which arrived at the time of '*clock'; may
 * read the clock again.  Packets that are dropped go from the batch to
 * '*drops', which has room for all of them. */
void dp_meters_run_into(struct dp_meters *ms, uint32_t id,
                        struct dp_packet_batch *batch,
                        struct dp_meter_clock *clock,
                        struct dp_meter_drops *drops);

/* The same, but frees what is dropped. */
static inline void
dp_meters_run(struct dp_meters *ms, uint32_t id,
              struct dp_packet_batch *batch, struct dp_meter_clock *clock)
{
    struct dp_meter_drops drops;

    drops.n = 0;
    dp_meters_run_into(ms, id, batch, clock, &drops);
    dp_meter_drops_free(&drops);
}

#ifdef  __cplusplus
}
#endif

#endif /* dp-meter.h */
