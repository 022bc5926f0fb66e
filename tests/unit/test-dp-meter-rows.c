/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* The table of what a microburst band decides about a packet (docs/meters.md),
 * row by row: of five packets the first is green, the second yellow, the third
 * and fourth red, and the last is above the limit. */

#include <config.h>

#include "dp-meter.h"
#include "dp-packet.h"
#include "ip-remark.h"
#include "openvswitch/ofp-meter.h"
#include "packets.h"
#include "unit.h"
#include "util.h"

#define NOW UINT64_C(1000000000)

enum {
    SIZE = 1000,
    PARENT = 3,
    BAND = 1,
    AF11 = 0x28,                /* As DS field. */
    DSCP = 9,                   /* Of "dscp:N". */
    DROPPED = -1,
};

static struct dp_meters meters;

static void
set_band(uint32_t id, const struct ofputil_microburst *microburst)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_EXPERIMENTER, .rate = 1, .microburst = *microburst,
    };
    struct ofputil_meter_config config = {
        .meter_id = id, .flags = OFPMF13_KBPS | OFPMF13_BURST,
        .n_bands = 1, .bands = &band,
    };

    ck_assert_int_eq(dp_meters_set(&meters, id, &config), 0);
}

/* A band that is owed one packet, borrows one, marks from the second one on,
 * and caps the fifth. */
static void
set_up(enum ofputil_microburst_exceed exceed)
{
    dp_meters_init(&meters, DP_METER_MICROBURST | DP_METER_PHANTOM
                   | DP_METER_PARENT);
    set_band(PARENT, &(struct ofputil_microburst) {
        .burst_bytes = 2 * SIZE });
    set_band(BAND, &(struct ofputil_microburst) {
        .burst_bytes = SIZE, .peak_rate = 1, .mark = SIZE,
        .limit = 4 * SIZE, .exceed = exceed,
        .dscp = exceed == OFPUTIL_MICROBURST_DSCP ? DSCP : 0,
        .parent = PARENT, .provider_parent = PARENT, .weight = 1 });
}

/* What becomes of the DS field of a packet, or DROPPED. */
static int
send_packet(uint8_t tos)
{
    struct dp_meter_clock clock = { .now_ns = NOW, .reread = true };
    struct dp_packet *packet = dp_packet_new(SIZE);
    struct eth_header *eth = dp_packet_put_zeros(packet, SIZE);
    struct ip_header *ip = (void *) (eth + 1);
    struct dp_packet_batch batch;
    int result = DROPPED;

    eth->eth_type = htons(ETH_TYPE_IP);
    ip->ip_ihl_ver = IP_IHL_VER(5, 4);
    ip->ip_tos = tos;
    dp_packet_set_l3(packet, ip);
    pkt_metadata_init(&packet->md, 1);
    dp_packet_batch_init_packet(&batch, packet);
    dp_meters_run(&meters, BAND, &batch, &clock);
    DP_PACKET_BATCH_FOR_EACH (i, packet, &batch) {
        ip = dp_packet_l3(packet);
        result = ip->ip_tos;
        ck_assert_int_eq(!!(packet->md.tenant_flags & PKT_TENANT_REMARKED),
                         result >> 2 != tos >> 2);
    }
    dp_packet_delete_batch(&batch, true);
    return result;
}

#define ECT(DS_FIELD) ((DS_FIELD) | IP_ECN_ECT_0)
#define CE(DS_FIELD) ((DS_FIELD) | IP_ECN_CE)

static const struct {
    enum ofputil_microburst_exceed exceed;
    uint8_t tos;
    int yellow, red;
    uint64_t n_dropped, n_exceeded, n_marked;
} rows[] = {
    { OFPUTIL_MICROBURST_DROP, AF11, AF11, DROPPED, 2, 0, 0 },
    { OFPUTIL_MICROBURST_DROP, ECT(AF11), CE(AF11), DROPPED, 2, 0, 1 },
    { OFPUTIL_MICROBURST_DSCP, AF11, AF11, DSCP << 2, 0, 2, 0 },
    { OFPUTIL_MICROBURST_DSCP, ECT(AF11), CE(AF11), CE(DSCP << 2), 0, 2, 3 },
    { OFPUTIL_MICROBURST_DSCP, CE(AF11), CE(AF11), CE(DSCP << 2), 0, 2, 0 },
    { OFPUTIL_MICROBURST_ECN, AF11, AF11, DROPPED, 2, 0, 0 },
    { OFPUTIL_MICROBURST_ECN, ECT(AF11), CE(AF11), CE(AF11), 0, 2, 3 },
    { OFPUTIL_MICROBURST_ECN, CE(AF11), CE(AF11), CE(AF11), 0, 2, 0 },
    { OFPUTIL_MICROBURST_PASS, AF11, AF11, AF11, 0, 2, 0 },
    { OFPUTIL_MICROBURST_PASS, ECT(AF11), CE(AF11), CE(AF11), 0, 2, 3 },
    { OFPUTIL_MICROBURST_PASS, CE(AF11), CE(AF11), CE(AF11), 0, 2, 0 },
    { OFPUTIL_MICROBURST_DROP, CE(AF11), CE(AF11), DROPPED, 2, 0, 0 },
};

START_TEST(decisions)
{
    struct ofputil_meter_band_stats band;
    struct ofputil_meter_stats stats = { .bands = &band };
    const struct ofputil_microburst_stats *mb = &band.microburst;

    set_up(rows[_i].exceed);
    ck_assert_int_eq(send_packet(rows[_i].tos), rows[_i].tos);
    ck_assert_int_eq(send_packet(rows[_i].tos), rows[_i].yellow);
    ck_assert_int_eq(send_packet(rows[_i].tos), rows[_i].red);
    ck_assert_int_eq(send_packet(rows[_i].tos), rows[_i].red);
    ck_assert_int_eq(send_packet(rows[_i].tos), DROPPED);

    ck_assert_int_eq(dp_meters_get(&meters, BAND, &stats, 1), 0);
    ck_assert_uint_eq(mb->green.packets, 1);
    ck_assert_uint_eq(mb->borrowed.packets, 1);
    ck_assert_uint_eq(mb->dropped.packets, rows[_i].n_dropped);
    ck_assert_uint_eq(mb->exceeded.packets, rows[_i].n_exceeded);
    ck_assert_uint_eq(mb->capped.packets, 1);
    ck_assert_uint_eq(mb->marked.packets, rows[_i].n_marked);
    dp_meters_destroy(&meters);
}
END_TEST

/* Below a label that ends in the EtherType of IPv4, nothing is changed. */
START_TEST(mpls)
{
    struct dp_packet *packet = dp_packet_new(SIZE);
    struct eth_header *eth = dp_packet_put_zeros(packet, SIZE);
    ovs_be16 *label = (void *) (eth + 1);
    struct ip_header *ip = (void *) (label + 2);

    eth->eth_type = htons(ETH_TYPE_MPLS);
    label[1] = htons(ETH_TYPE_IP);
    ip->ip_ihl_ver = IP_IHL_VER(5, 4);
    ip->ip_tos = ECT(AF11);
    dp_packet_set_l2_5(packet, label);
    dp_packet_set_l3(packet, ip);
    ck_assert(!ip_remark_ce(packet));
    ck_assert_int_eq(ip->ip_tos, ECT(AF11));
    dp_packet_delete(packet);
}
END_TEST

/* Headers that are cut short, or say that they are, are left alone. */
static const struct {
    uint16_t type;              /* EtherType. */
    uint8_t first;              /* Byte of the header: version, and IHL. */
    size_t size;
    bool marked;
} headers[] = {
    { ETH_TYPE_IP, IP_IHL_VER(5, 4), IP_HEADER_LEN, true },
    { ETH_TYPE_IP, IP_IHL_VER(5, 4), IP_HEADER_LEN - 1, false },
    { ETH_TYPE_IP, IP_IHL_VER(4, 4), IP_HEADER_LEN, false },
    { ETH_TYPE_IP, IP_IHL_VER(5, 5), IP_HEADER_LEN, false },
    { ETH_TYPE_IPV6, 6 << 4, IPV6_HEADER_LEN, true },
    { ETH_TYPE_IPV6, 6 << 4, IPV6_HEADER_LEN - 1, false },
    { ETH_TYPE_IPV6, 5 << 4, IPV6_HEADER_LEN, false },
};

START_TEST(cut_short)
{
    size_t size = ETH_HEADER_LEN + headers[_i].size;
    struct dp_packet *packet = dp_packet_new(SIZE);
    struct eth_header *eth = dp_packet_put_zeros(packet, SIZE);
    struct eth_header before[2];
    uint8_t *l3 = (uint8_t *) (eth + 1);

    eth->eth_type = htons(headers[_i].type);
    l3[0] = headers[_i].first;
    l3[1] = headers[_i].type == ETH_TYPE_IP ? ECT(0) : ECT(0) << 4;
    dp_packet_set_size(packet, size);
    dp_packet_set_l3(packet, l3);
    memcpy(before, eth, sizeof before);
    ck_assert(ip_remark_knows_ce(packet) == headers[_i].marked);
    ck_assert(ip_remark_ce(packet) == headers[_i].marked);
    ck_assert(!memcmp(before, eth, sizeof before) == !headers[_i].marked);
    dp_packet_delete(packet);
}
END_TEST

Suite *
dp_meter_rows_suite(void)
{
    Suite *suite = suite_create("dp-meter-rows");
    TCase *tcase = unit_case(suite, "dp-meter-rows");

    tcase_add_loop_test(tcase, decisions, 0, ARRAY_SIZE(rows));
    tcase_add_test(tcase, mpls);
    tcase_add_loop_test(tcase, cut_short, 0, ARRAY_SIZE(headers));
    return suite;
}
