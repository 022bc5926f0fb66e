/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Microburst bands as bytes and as text: where each member stands, and what is
 * refused.  The fuzz target sees to it that both ways agree; that they agree
 * with bulkhead-ext.h is seen here. */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "bulkhead-ext.h"
#include "byte-order.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-errors.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-print.h"
#include "openvswitch/ofpbuf.h"
#include "unit.h"
#include "util.h"

#define BAND "meter=1,kbps,burst,bands=type=microburst rate=1000 "

static char *
parse(const char *text, struct ofputil_meter_mod *mm)
{
    enum ofputil_protocol protocols;

    return parse_ofp_meter_mod_str(mm, text, OFPMC13_ADD, &protocols);
}

/* The message that adds the meter in 'text', which is right. */
static struct ofpbuf *
encode(const char *text)
{
    struct ofputil_meter_mod mm;
    struct ofpbuf *msg;

    ck_assert_ptr_eq(parse(text, &mm), NULL);
    msg = ofputil_encode_meter_mod(OFP13_VERSION, &mm);
    free(mm.meter.bands);
    return msg;
}

static struct bkh_meter_band_microburst *
band_of(struct ofpbuf *msg)
{
    return (void *) ((char *) msg->data + sizeof(struct ofp_header)
                     + sizeof(struct ofp13_meter_mod));
}

static enum ofperr
decode(struct ofpbuf *msg)
{
    struct ofputil_meter_mod mm;
    struct ofpbuf bands;
    enum ofperr error;

    ofpbuf_init(&bands, 0);
    ofpmsg_update_length(msg);
    error = ofputil_decode_meter_mod(msg->data, &mm, &bands);
    ofpbuf_uninit(&bands);
    ofpbuf_delete(msg);
    return error;
}

START_TEST(test_wire)
{
    struct ofpbuf *msg = encode(
        BAND "burst_bytes=2 peak_rate=3000 mark=4 depth=5 limit=6 "
        "exceed=dscp:7 parent=8 weight=9 tag=10");
    const struct bkh_meter_band_microburst *b = band_of(msg);

    ck_assert_uint_eq(ntohs(b->type), OFPMBT13_EXPERIMENTER);
    ck_assert_uint_eq(ntohs(b->len), 56);
    ck_assert_uint_eq(ntohl(b->rate), 1000);
    ck_assert_uint_eq(ntohl(b->burst_size), 0);
    ck_assert_uint_eq(ntohl(b->experimenter), 0x00424b48);
    ck_assert_uint_eq(ntohs(b->subtype), 1);
    ck_assert_uint_eq(b->exceed, OFPUTIL_MICROBURST_DSCP);
    ck_assert_uint_eq(b->dscp, 7);
    ck_assert_uint_eq(ntohl(b->burst_bytes), 2);
    ck_assert_uint_eq(ntohl(b->peak_rate), 3000);
    ck_assert_uint_eq(ntohl(b->mark), 4);
    ck_assert_uint_eq(ntohl(b->depth), 5);
    ck_assert_uint_eq(ntohl(b->limit), 6);
    ck_assert_uint_eq(ntohl(b->parent), 8);
    ck_assert_uint_eq(ntohs(b->weight), 9);
    ck_assert_uint_eq(ntohl(b->tag), 10);
    ck_assert_int_eq(decode(msg), 0);

    for (int exceed = OFPUTIL_MICROBURST_DROP;
         exceed <= OFPUTIL_MICROBURST_PASS; exceed++) {
        static const char *const names[] = { "drop", "dscp:0", "ecn", "pass" };
        char *text = xasprintf(BAND "burst_bytes=2 exceed=%s", names[exceed]);

        msg = encode(text);
        ck_assert_uint_eq(band_of(msg)->exceed, exceed);
        ofpbuf_delete(msg);
        free(text);
    }
}
END_TEST

/* What is refused on the wire, and as text if it can be said there. */
START_TEST(test_refused)
{
    static const struct {
        const char *text;
        enum ofperr error;
    } rows[] = {
        { "burst_bytes=2 burst_size=2", OFPERR_OFPMMFC_BAD_BURST },
        { "burst_bytes=2 peak_rate=999", OFPERR_OFPMMFC_BAD_RATE },
        { "burst_bytes=2 mark=3", OFPERR_OFPMMFC_BAD_BURST },
        { "burst_bytes=2 peak_rate=1000 mark=4 limit=3",
          OFPERR_OFPMMFC_BAD_BURST },
        { "burst_bytes=2 peak_rate=1000 depth=4 limit=3",
          OFPERR_OFPMMFC_BAD_BURST },
        { "burst_bytes=2 weight=3", OFPERR_OFPMMFC_BAD_BAND_VALUE },
    };
    struct ofpbuf *msg;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ofputil_meter_mod mm;
        char *text = xasprintf(BAND "%s", rows[i].text);
        char *error = parse(text, &mm);

        ck_assert_msg(error, "%s", text);
        free(error);
        free(text);
    }

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct bkh_meter_band_microburst *b;

        msg = encode(BAND "burst_bytes=2");
        b = band_of(msg);
        b->burst_size = htonl(strstr(rows[i].text, "burst_size") ? 2 : 0);
        b->peak_rate = htonl(strstr(rows[i].text, "=999") ? 999
                             : strstr(rows[i].text, "peak") ? 1000 : 0);
        b->mark = htonl(strstr(rows[i].text, "mark") ? 4 : 0);
        b->depth = htonl(strstr(rows[i].text, "depth") ? 4 : 0);
        b->limit = htonl(strstr(rows[i].text, "limit") ? 3 : 0);
        b->weight = htons(strstr(rows[i].text, "weight") ? 3 : 0);
        ck_assert_int_eq(decode(msg), rows[i].error);
    }

    msg = encode(BAND "burst_bytes=2");
    band_of(msg)->parent = htonl(OFPM13_CONTROLLER);
    ck_assert_int_eq(decode(msg), OFPERR_OFPMMFC_BAD_BAND_VALUE);
    msg = encode(BAND "burst_bytes=2");
    band_of(msg)->exceed = OFPUTIL_MICROBURST_PASS + 1;
    ck_assert_int_eq(decode(msg), OFPERR_OFPMMFC_BAD_BAND_VALUE);
    msg = encode(BAND "burst_bytes=2");
    band_of(msg)->dscp = 1;
    ck_assert_int_eq(decode(msg), OFPERR_OFPMMFC_BAD_BAND_VALUE);
}
END_TEST

/* What ovs-ofctl says of it. */
START_TEST(test_words)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        { "peak_rate=999", "'peak_rate' must be at least 'rate'" },
        { "mark=3", "'mark', 'depth' and 'limit' need 'peak_rate'" },
        { "depth=3", "'mark', 'depth' and 'limit' need 'peak_rate'" },
        { "limit=3", "'mark', 'depth' and 'limit' need 'peak_rate'" },
        { "peak_rate=1000 mark=4 limit=3", "'mark' must be at most 'limit'" },
        { "peak_rate=1000 depth=4 limit=3",
          "'depth' must be at most 'limit'" },
        { "peak_rate=0",
          "peak_rate \"0\" is not a number between 1 and 4294967295" },
        { "peak_rate=1000 mark=0",
          "mark \"0\" is not a number between 1 and 4294967295" },
        { "peak_rate=1000 depth=0",
          "depth \"0\" is not a number between 1 and 4294967295" },
        { "peak_rate=1000 limit=0",
          "limit \"0\" is not a number between 1 and 4294967295" },
        { "peak_rate=1000 limit=64KiB",
          "limit \"64KiB\" is not a number between 1 and 4294967295" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ofputil_meter_mod mm;
        char *text = xasprintf(BAND "burst_bytes=2 %s", rows[i].text);
        char *error = parse(text, &mm);

        ck_assert_str_eq(error, rows[i].words);
        free(error);
        free(text);
    }
}
END_TEST

/* What a later version may send. */
START_TEST(test_later)
{
    struct ofpbuf *msg = encode(BAND "burst_bytes=2");

    band_of(msg)->pad1[1] = 1;
    ck_assert_int_eq(decode(msg), OFPERR_OFPMMFC_BAD_BAND_VALUE);
    msg = encode(BAND "burst_bytes=2");
    band_of(msg)->pad2[3] = 1;
    ck_assert_int_eq(decode(msg), OFPERR_OFPMMFC_BAD_BAND_VALUE);
    msg = encode(BAND "burst_bytes=2");
    band_of(msg)->subtype = htons(2);
    ck_assert_int_eq(decode(msg), OFPERR_OFPMMFC_BAD_BAND);
    msg = encode(BAND "burst_bytes=2");
    band_of(msg)->experimenter = htonl(1);
    ck_assert_int_eq(decode(msg), OFPERR_OFPMMFC_BAD_BAND);
    msg = encode(BAND "burst_bytes=2");
    ofpbuf_put_zeros(msg, 8);
    band_of(msg)->len = htons(64);
    ck_assert_int_eq(decode(msg), OFPERR_OFPBRC_BAD_LEN);
}
END_TEST

START_TEST(test_features)
{
    const struct ofputil_microburst_features mf = {
        .band_types = 2, .exceed = 15, .members = 255, .resolution_ns = 1,
        .min_rate = 2, .max_rate = 3, .max_burst = 4,
    };
    struct ds s = DS_EMPTY_INITIALIZER;

    ofputil_format_microburst_features(&s, &mf);
    ck_assert_str_eq(ds_cstr(&s),
                     "\nresolution_ns:1 min_rate:2 max_rate:3 max_burst:4\n"
                     "band_types: microburst\n"
                     "exceed: drop dscp ecn pass\n"
                     "members: burst_bytes peak_rate mark depth limit parent "
                     "weight tag\n");
    ds_destroy(&s);
}
END_TEST

/* A reply with the statistics of meter 1, of a band with one burst. */
static struct ofpbuf *
encode_stats(void)
{
    struct ofputil_microburst_band_stats band = {
        .subtype = BKHMBT_MICROBURST, .tag = 1,
        .stats = {
            .green = { 2, 3 }, .borrowed = { 4, 5 }, .dropped = { 6, 7 },
            .exceeded = { 8, 9 }, .capped = { 10, 11 }, .marked = { 12, 13 },
            .bursts = {
                .now_ns = 1000, .n_bursts = 1, .n_events = 1,
                .events[0] = { .start_ns = 400, .length_ns = 100 },
            },
        },
    };
    struct ofputil_microburst_meter_stats ms = {
        .meter_id = 1, .n_bands = 1, .bands = &band,
    };
    struct ofpbuf *request = ofputil_encode_meter_request(
        OFP13_VERSION, OFPUTIL_MICROBURST_STATS, 1);
    struct ofpbuf *reply = ofpraw_alloc_stats_reply(request->data, 0);
    struct ovs_list replies;

    ovs_list_init(&replies);
    ovs_list_push_back(&replies, &reply->list_node);
    ofputil_append_microburst_stats(&replies, &ms);
    ofpbuf_delete(request);
    return reply;
}

static struct bkh_meter_band_stats *
stats_of(struct ofpbuf *msg)
{
    return (void *) ((char *) msg->data + msg->size
                     - sizeof(struct bkh_burst_event)
                     - sizeof(struct bkh_bursts)
                     - sizeof(struct bkh_meter_band_stats));
}

static struct bkh_meter_stats *
meter_of(struct ofpbuf *msg)
{
    return (struct bkh_meter_stats *) stats_of(msg) - 1;
}

static enum ofperr
decode_stats(struct ofpbuf *msg)
{
    struct ofputil_microburst_meter_stats ms;
    struct ofpbuf bands, b;
    int error;

    ofpmsg_update_length(msg);
    b = ofpbuf_const_initializer(msg->data, msg->size);
    ofpbuf_init(&bands, 0);
    error = ofputil_decode_microburst_stats(&b, &ms, &bands);
    ofpbuf_uninit(&bands);
    ofpbuf_delete(msg);
    return error;
}

START_TEST(test_stats)
{
    struct ofpbuf *msg = encode_stats();
    const struct bkh_meter_band_stats *wire = stats_of(msg);
    char *text;

    ck_assert_uint_eq(ntohl(meter_of(msg)->meter_id), 1);
    ck_assert_uint_eq(ntohll(wire->green.packets), 2);
    ck_assert_uint_eq(ntohll(wire->green.bytes), 3);
    ck_assert_uint_eq(ntohll(wire->borrowed.packets), 4);
    ck_assert_uint_eq(ntohll(wire->dropped.packets), 6);
    ck_assert_uint_eq(ntohll(wire->exceeded.packets), 8);
    ck_assert_uint_eq(ntohll(wire->capped.packets), 10);
    ck_assert_uint_eq(ntohll(wire->marked.packets), 12);

    ofpmsg_update_length(msg);
    text = ofp_to_string(msg->data, msg->size, NULL, NULL, 1);
    ck_assert(strstr(text, "  borrowed: packet_count:4 byte_count:5\n"));
    ck_assert(strstr(text, "  burst: age_ns:600 length_ns:100 "));
    free(text);
    ck_assert_int_eq(decode_stats(msg), 0);
}
END_TEST

START_TEST(test_stats_refused)
{
    struct ofpbuf *msg = encode_stats();
    uint16_t len = ntohs(stats_of(msg)->len), more;

    stats_of(msg)->len = htons(len + 8);
    ck_assert_int_eq(decode_stats(msg), OFPERR_OFPBRC_BAD_LEN);
    msg = encode_stats();
    stats_of(msg)->len = htons(len - 8);
    ck_assert_int_eq(decode_stats(msg), OFPERR_OFPBRC_BAD_LEN);
    msg = encode_stats();
    meter_of(msg)->n_bands = 0;
    ck_assert_int_eq(decode_stats(msg), OFPERR_OFPBRC_BAD_LEN);
    msg = encode_stats();
    meter_of(msg)->n_bands = htons(2);
    ck_assert_int_eq(decode_stats(msg), OFPERR_OFPBRC_BAD_LEN);
    msg = encode_stats();
    ((struct bkh_bursts *) (stats_of(msg) + 1))->n_events = htonll(2);
    ck_assert_int_eq(decode_stats(msg), OFPERR_OFPBRC_BAD_LEN);
    msg = encode_stats();
    ((struct bkh_bursts *) (stats_of(msg) + 1))->n_events = htonll(UINT64_MAX);
    ck_assert_int_eq(decode_stats(msg), OFPERR_OFPBRC_BAD_LEN);

    /* All of them are there, but they are too many. */
    msg = encode_stats();
    more = OFPUTIL_MICROBURST_EVENTS * sizeof(struct bkh_burst_event);
    ((struct bkh_bursts *) (stats_of(msg) + 1))->n_events
        = htonll(OFPUTIL_MICROBURST_EVENTS + 1);
    stats_of(msg)->len = htons(len + more);
    meter_of(msg)->len = htons(ntohs(meter_of(msg)->len) + more);
    ofpbuf_put_zeros(msg, more);
    ck_assert_int_eq(decode_stats(msg), OFPERR_OFPBRC_BAD_LEN);
}
END_TEST

Suite *
ofp_microburst_suite(void)
{
    Suite *suite = suite_create("ofp-microburst");
    TCase *tc = unit_case(suite, "ofp-microburst");

    tcase_add_test(tc, test_wire);
    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_words);
    tcase_add_test(tc, test_later);
    tcase_add_test(tc, test_features);
    tcase_add_test(tc, test_stats);
    tcase_add_test(tc, test_stats_refused);
    return suite;
}
