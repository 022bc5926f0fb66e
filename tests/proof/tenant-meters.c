/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "tenant-meters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dp-meter.h"
#include "dp-packet.h"
#include "netlink.h"
#include "odp-ahead.h"
#include "odp-netlink.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/ofpbuf.h"
#include "pauses.h"
#include "proof.h"
#include "reader.h"
#include "tenant-queue.h"
#include "timeval.h"

/* Meter i gives tag i. */
enum {
    METER_DROP = 1,             /* Drops above its rate. */
    METER_LIMIT,                /* The same, and has a limit. */
    METER_CHILD,                /* The same, and has a parent. */
    METER_DSCP,                 /* Two bands, the lower of which remarks. */
    METER_PRECEDENCE,           /* The same with drop precedences. */
    METER_ECN,                  /* Drops what is not ECN-capable. */
    METER_NONE,                 /* Does not exist; senders have tag 7. */
    N_METERS,
    METER_PARENT = 100
};

enum { N_PORTS = 3, NO_PORT = N_PORTS, N_PLACES, N_QUEUES = 4, N_WRITERS = 2 };
#define RATE 1000000u           /* In kbps, of each meter. */

struct cell {                   /* Of a port, tag and queue. */
    struct tq_counter offered, sent, remarked;
};

struct meters {
    struct dp_meters meters;
    struct tenant_queues *tqs;
    struct tenant_writer *writers[N_PLACES][N_WRITERS];
    struct reader reader;
    struct proof_random *random;
    uint64_t now;
    struct cell cells[N_PLACES][N_METERS][N_QUEUES];
    struct tq_counter dropped[N_PLACES][N_METERS][TQ_REASONS];
    struct tq_counter stats[N_METERS][TQ_REASONS]; /* As meters say. */
    struct tenant_drops drops;
    struct odp_ahead_memos memos;
    struct ofpbuf actions[DP_METER_DROPS]; /* That 'drops' needs. */
    size_t n_actions;
};

static void
tally(struct tq_counter *c, uint64_t packets, uint64_t bytes)
{
    c->packets += packets;
    c->bytes += bytes;
}

static void
set_meter(struct meters *w, uint32_t id, struct ofputil_meter_band bands[],
          uint16_t n_bands)
{
    const struct ofputil_meter_config config = {
        .meter_id = id, .flags = OFPMF13_KBPS | OFPMF13_BURST,
        .n_bands = n_bands, .bands = bands,
    };
    int error;

    for (uint16_t i = 0; i < n_bands; i++) {
        struct ofputil_microburst *mb = &bands[i].microburst;

        bands[i].rate = bands[i].rate ? bands[i].rate : RATE;
        if (bands[i].type == OFPMBT13_EXPERIMENTER) {
            mb->burst_bytes = 20000;
            mb->weight = 1;
            mb->tag = id < N_METERS ? id : 0;
        } else {
            bands[i].burst_size = 160;
        }
    }
    error = dp_meters_set(&w->meters, id, &config);
    if (error) {
        proof_fail("meter %"PRIu32": %d", id, error);
    }
}

static void
set_meters(struct meters *w)
{
    struct ofputil_meter_band b[2], none[2];
    struct ofputil_microburst *mb = &b[0].microburst;

    memset(none, 0, sizeof none);
    none[0].type = OFPMBT13_EXPERIMENTER;
    none[1].type = OFPMBT13_DROP;
    none[1].rate = 2 * RATE;
#define START memcpy(b, none, sizeof b)
    START;
    set_meter(w, METER_PARENT, b, 1);
    set_meter(w, METER_DROP, b, 1);
    START;
    mb->peak_rate = 2 * RATE;
    mb->limit = 15000;
    set_meter(w, METER_LIMIT, b, 1);
    START;
    mb->peak_rate = 4 * RATE;
    mb->limit = 25000;
    mb->parent = mb->provider_parent = METER_PARENT;
    set_meter(w, METER_CHILD, b, 1);
    START;
    mb->exceed = OFPUTIL_MICROBURST_DSCP;
    mb->dscp = 10;
    set_meter(w, METER_DSCP, b, 2);
    START;
    b[0].microburst.exceed = OFPUTIL_MICROBURST_PASS;
    b[1].type = OFPMBT13_DSCP_REMARK;
    b[1].prec_level = 1;
    set_meter(w, METER_PRECEDENCE, b, 2);
    START;
    mb->exceed = OFPUTIL_MICROBURST_ECN;
    set_meter(w, METER_ECN, b, 1);
}

/* An IPv4 packet; some are ECN-capable, some have the DSCP of METER_DSCP, and
 * some the highest drop precedence. */
static struct dp_packet *
make_packet(struct meters *w, uint32_t tag, uint32_t priority)
{
    static const uint8_t tos[] = { 0, 1, 10 << 2, 12 << 2, 14 << 2 };
    uint32_t size = 64 + proof_below(w->random, 1455);
    struct dp_packet *packet = dp_packet_new(size);
    struct eth_header *eth = dp_packet_put_zeros(packet, size);
    struct ip_header *ip = (void *) (eth + 1);

    eth->eth_type = htons(ETH_TYPE_IP);
    ip->ip_ihl_ver = IP_IHL_VER(5, 4);
    ip->ip_tos = tos[proof_below(w->random, ARRAY_SIZE(tos))];
    dp_packet_set_l3(packet, ip);
    pkt_metadata_init(&packet->md, 1);
    packet->md.tenant_tag = tag;
    packet->md.skb_priority = priority;
    ip->ip_ttl = ip->ip_tos;    /* To know it later. */
    return packet;
}

/* Appends what sends a packet to 'place': to that port, then to another, or to
 * none that could be known.  'queue', if it is less than N_QUEUES, is set
 * before, and another one after. */
static void
put_actions(struct ofpbuf *actions, uint32_t meter, uint32_t place,
            uint32_t queue)
{
    size_t nest;

    nl_msg_put_u32(actions, OVS_ACTION_ATTR_METER, meter);
    if (place == NO_PORT) {
        nl_msg_put_u32(actions, OVS_ACTION_ATTR_RECIRC, 1);
    }
    if (queue < N_QUEUES) {
        nest = nl_msg_start_nested(actions, OVS_ACTION_ATTR_SET);
        nl_msg_put_u32(actions, OVS_KEY_ATTR_PRIORITY, queue);
        nl_msg_end_nested(actions, nest);
    }
    nl_msg_put_u32(actions, OVS_ACTION_ATTR_OUTPUT, place);
    nest = nl_msg_start_nested(actions, OVS_ACTION_ATTR_SET);
    nl_msg_put_u32(actions, OVS_KEY_ATTR_PRIORITY, N_QUEUES);
    nl_msg_end_nested(actions, nest);
    nl_msg_put_u32(actions, OVS_ACTION_ATTR_OUTPUT, place + 1);
}

/* Who counts what would have gone where '*memo' says: any writer of the
 * place. */
static struct tenant_writer *
find_writer(struct odp_ahead_memo *memo, bool known, void *w_)
{
    struct meters *w = w_;
    odp_port_t port = memo->ahead.port;
    uint32_t place = port == ODPP_NONE ? NO_PORT : odp_to_u32(port);

    if (memo->aux != (known ? w->writers[place] : NULL)) {
        proof_fail("what is remembered of place %"PRIu32" is another's",
                   place);
    }
    memo->aux = w->writers[place];
    return w->writers[place][proof_below(w->random, N_WRITERS)];
}

static void
count_drops(struct meters *w)
{
    tenant_drops_count(&w->drops, &w->memos, find_writer, w);
    tenant_drops_free(&w->drops);
    while (w->n_actions) {
        ofpbuf_uninit(&w->actions[--w->n_actions]);
    }
}

/* Has 'meter', the first of '*actions', drop what it does, as a datapath does:
 * what several batches lose is counted together.  Takes over '*actions'. */
static void
run_meter(struct meters *w, uint32_t meter, const struct ofpbuf *actions,
          struct dp_packet_batch *batch)
{
    struct dp_meter_clock clock = { .now_ns = w->now, .reread = true };
    struct dp_meter_drops *drops = &w->drops.drops;
    size_t first;

    if (w->n_actions == DP_METER_DROPS
        || drops->n + dp_packet_batch_size(batch) > DP_METER_DROPS) {
        count_drops(w);
    }
    first = drops->n;
    dp_meters_run_into(&w->meters, meter, batch, &clock, drops);
    w->actions[w->n_actions++] = *actions;
    if (drops->n > first) {
        tenant_drops_note(&w->drops, first, actions->data, actions->size,
                          actions->data);
    }
}

/* Sets '*stats' to what 'meter' itself says that it has dropped. */
static void
read_stats(struct meters *w, uint32_t meter,
           struct tq_counter stats[TQ_REASONS])
{
    struct ofputil_meter_band_stats bands[2];
    struct ofputil_meter_stats s = { .bands = bands };
    enum tq_reason reason = meter == METER_CHILD ? TQ_PARENT : TQ_RATE;

    memset(stats, 0, TQ_REASONS * sizeof *stats);
    memset(bands, 0, sizeof bands);
    if (meter == METER_NONE) {
        return;
    }
    dp_meters_get(&w->meters, meter, &s, 2);
    for (uint16_t i = 0; i < s.n_bands; i++) {
        const struct ofputil_microburst_stats *mb = &bands[i].microburst;

        tally(&stats[reason], mb->dropped.packets, mb->dropped.bytes);
        tally(&stats[TQ_LIMIT], mb->capped.packets, mb->capped.bytes);
    }
}

/* Adds what 'meter' dropped of a batch to 'place', by its own statistics. */
static void
add_stats(struct meters *w, uint32_t meter, uint32_t place,
          const struct tq_counter *lost)
{
    struct tq_counter now[TQ_REASONS];

    read_stats(w, meter, now);
    if (meter == METER_NONE) {
        now[TQ_MISSING] = w->stats[meter][TQ_MISSING];
        tally(&now[TQ_MISSING], lost->packets, lost->bytes);
    }
    for (int i = 0; i < TQ_REASONS; i++) {
        const struct tq_counter *before = &w->stats[meter][i];

        tally(&w->dropped[place][meter][i], now[i].packets - before->packets,
              now[i].bytes - before->bytes);
    }
    memcpy(w->stats[meter], now, sizeof now);
}

/* Sends what is left of a batch to 'place', by the queue that each packet has
 * unless all have 'queue', and counts it. */
static void
send_left(struct meters *w, struct dp_packet_batch *batch, uint32_t place,
          uint32_t tag, uint32_t queue, uint32_t writer,
          struct tq_counter *lost)
{
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        const struct ip_header *ip = dp_packet_l3(packet);
        uint32_t size = dp_packet_size(packet);
        struct cell *cell;

        if (queue < N_QUEUES && place != NO_PORT) {
            packet->md.skb_priority = queue;
        }
        cell = &w->cells[place][tag][packet->md.skb_priority];
        tally(&cell->sent, 1, size);
        tally(&cell->remarked, (ip->ip_tos ^ ip->ip_ttl) >> 2 != 0,
              (ip->ip_tos ^ ip->ip_ttl) >> 2 ? size : 0);
        lost->packets--;
        lost->bytes -= size;
    }
    tenant_writer_flush(w->writers[place][writer], batch, w->now, w->now);
    dp_packet_delete_batch(batch, true);
}

static void
run_batch(struct meters *w)
{
    uint32_t meter = 1 + proof_below(w->random, N_METERS - 1);
    uint32_t place = proof_below(w->random, N_PLACES);
    uint32_t queue = proof_below(w->random, N_QUEUES + 2);
    uint32_t n = 1 + proof_below(w->random, NETDEV_MAX_BURST);
    uint32_t writer = proof_below(w->random, N_WRITERS);
    struct tq_counter lost = { 0, 0 };
    struct dp_packet_batch batch;
    struct ofpbuf actions;

    dp_packet_batch_init(&batch);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t priority = proof_below(w->random, N_QUEUES);
        struct dp_packet *packet = make_packet(w, METER_NONE, priority);
        uint32_t size = dp_packet_size(packet);

        priority = queue < N_QUEUES && place != NO_PORT ? queue : priority;
        tally(&w->cells[place][meter][priority].offered, 1, size);
        tally(&lost, 1, size);
        dp_packet_batch_add(&batch, packet);
    }
    ofpbuf_init(&actions, 256);
    put_actions(&actions, meter, place, queue);
    run_meter(w, meter, &actions, &batch);
    send_left(w, &batch, place, meter, queue, writer, &lost);
    add_stats(w, meter, place, &lost);
}

static void
check_place(struct meters *w, uint32_t place, uint64_t generation,
            struct tq_counter sums[N_METERS][TQ_REASONS])
{
    for (uint32_t tag = 1; tag < N_METERS; tag++) {
        struct tq_counter dropped[TQ_REASONS];

        memset(dropped, 0, sizeof dropped);
        for (uint32_t queue = 0; queue < N_QUEUES; queue++) {
            const struct cell *cell = &w->cells[place][tag][queue];
            struct tq_counts is = reader_sum(&w->reader, generation, tag,
                                             queue);
            struct tq_counter all = is.sent;

            for (int i = 0; i < TQ_REASONS; i++) {
                tally(&all, is.metered[i].packets, is.metered[i].bytes);
                tally(&dropped[i], is.metered[i].packets,
                      is.metered[i].bytes);
                tally(&sums[tag][i], is.metered[i].packets,
                      is.metered[i].bytes);
            }
            proof_equal("sent", is.sent.packets, cell->sent.packets);
            proof_equal("sent or dropped", all.packets, cell->offered.packets);
            proof_equal("bytes of that", all.bytes, cell->offered.bytes);
            proof_equal("remarked", is.remarked.packets,
                        cell->remarked.packets);
            proof_equal("bytes of that", is.remarked.bytes,
                        cell->remarked.bytes);
        }
        for (int i = 0; i < TQ_REASONS; i++) {
            const struct tq_counter *should = &w->dropped[place][tag][i];

            proof_equal(tq_reason_name(i), dropped[i].packets,
                        should->packets);
            proof_equal("bytes of that", dropped[i].bytes, should->bytes);
        }
    }
}

/* Compares all ports together with what the meters say. */
static void
check(struct meters *w)
{
    struct tq_counter sums[N_METERS][TQ_REASONS];

    count_drops(w);
    memset(sums, 0, sizeof sums);
    for (uint32_t i = 0; i < N_PORTS; i++) {
        struct tq_port_id id;
        char name[8];

        sprintf(name, "p%"PRIu32, i);
        reader_find_port(&w->reader, name, &id);
        check_place(w, i, id.generation, sums);
    }
    check_place(w, NO_PORT, TQ_NO_PORT, sums);
    for (uint32_t i = 1; i < N_METERS; i++) {
        struct tq_counter stats[TQ_REASONS];

        read_stats(w, i, stats);
        stats[TQ_MISSING] = w->stats[i][TQ_MISSING];
        for (int j = 0; j < TQ_REASONS; j++) {
            proof_equal("dropped by all", sums[i][j].packets,
                        stats[j].packets);
            proof_equal("bytes of that", sums[i][j].bytes, stats[j].bytes);
        }
    }
}

static void
open_writers(struct meters *w)
{
    for (uint32_t i = 0; i < N_PLACES; i++) {
        char name[8];

        sprintf(name, "p%"PRIu32, i);
        if (i != NO_PORT) {
            tenant_queues_set_port(w->tqs, name, i, 0, 0);
        }
        for (uint32_t j = 0; j < N_WRITERS; j++) {
            tenant_writer_destroy(w->writers[i][j]);
            w->writers[i][j] = tenant_writer_create(
                w->tqs, i == NO_PORT ? NULL : name, j);
        }
    }
}

/* What each meter is there for has happened. */
static void
check_variety(const struct meters *w)
{
    static const struct {
        uint32_t meter;
        enum tq_reason reason;
    } happened[] = {
        { METER_DROP, TQ_RATE }, { METER_LIMIT, TQ_RATE },
        { METER_LIMIT, TQ_LIMIT }, { METER_CHILD, TQ_PARENT },
        { METER_CHILD, TQ_LIMIT }, { METER_DSCP, TQ_RATE },
        { METER_ECN, TQ_RATE }, { METER_NONE, TQ_MISSING },
    };
    const struct cell *remarked = &w->cells[0][METER_DSCP][0];

    for (size_t i = 0; i < ARRAY_SIZE(happened); i++) {
        if (!w->stats[happened[i].meter][happened[i].reason].packets) {
            proof_fail("meter %"PRIu32" dropped none: %s", happened[i].meter,
                       tq_reason_name(happened[i].reason));
        }
    }
    if (!remarked->remarked.packets
        || remarked->remarked.packets == remarked->sent.packets
        || !w->cells[0][METER_PRECEDENCE][0].remarked.packets) {
        proof_fail("none was remarked, or all");
    }
}

void
tenant_meters(uint64_t n_batches, struct proof_random *random)
{
    struct meters *w = xzalloc(sizeof *w);
    const char *path = proof_file();
    uint64_t n_dropped = 0;

    tenant_queues_create(path, &w->tqs);
    reader_open(&w->reader, path);
    w->random = random;
    dp_meters_init(&w->meters, DP_METER_DROP | DP_METER_DSCP_REMARK
                               | DP_METER_MICROBURST | DP_METER_PHANTOM
                               | DP_METER_PARENT);
    set_meters(w);
    open_writers(w);
    w->now = time_nsec() + UINT64_C(86400) * 1000000000;
    for (uint64_t i = 0; i < n_batches; i++) {
        w->now += proof_below(random, 100000);
        run_batch(w);
        if (!proof_below(random, 500)) {
            open_writers(w);
            check(w);
        }
    }
    check(w);
    check_variety(w);
    for (uint32_t i = 1; i < N_METERS; i++) {
        for (int j = 0; j < TQ_REASONS; j++) {
            n_dropped += w->stats[i][j].packets;
        }
    }
    for (uint32_t i = 0; i < N_PLACES; i++) {
        for (uint32_t j = 0; j < N_WRITERS; j++) {
            tenant_writer_destroy(w->writers[i][j]);
        }
    }
    tenant_queues_close(w->tqs);
    reader_close(&w->reader);
    dp_meters_destroy(&w->meters);
    free(w);
    proof_ok("%"PRIu64" batches of %d tenants to %d ports and to none: sent "
             "and dropped by meters, for each reason, is what was offered, "
             "and %"PRIu64" drops are those of the meters' statistics",
             n_batches, N_METERS - 1, N_PORTS, n_dropped);
}
