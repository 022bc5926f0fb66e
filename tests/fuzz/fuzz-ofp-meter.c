/* Copyright (c) 2026 The Bulkhead authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: meters and microburst bands, on the wire and as text.
 *
 * The first byte of the input picks what the rest is: the body of one of four
 * OpenFlow messages, or the text of a meter.  The headers are made here, so
 * that no input is spent on them.
 *
 * Nothing may crash, and what is accepted must survive a round trip:
 *
 *   - A message that was decoded encodes to the same bytes again, but for
 *     padding that is not checked and for what a receiver is to ignore.
 *
 *   - A meter that was parsed prints as text that parses to the same meter,
 *     and a switch accepts it from the wire.
 *
 *   - The datapath takes a meter from the wire, or refuses it with one of the
 *     errors that controllers understand. */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bulkhead-ext.h"
#include "dp-meter-conf.h"
#include "openflow/openflow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/list.h"
#include "openvswitch/ofp-errors.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-print.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "util.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void) argc;
    (void) argv;
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    return 0;
}

/* Room for headers: an OpenFlow message has at most 65535 bytes. */
#define MAX_BODY (UINT16_MAX - 64)

/* Returns 'msg' with 'body' appended, in memory of exactly its size, for
 * AddressSanitizer to see what is read beyond it.  Frees 'msg'. */
static struct ofp_header *
finish(struct ofpbuf *msg, const uint8_t *body, size_t size)
{
    struct ofp_header *oh;

    ofpbuf_put(msg, body, size);
    ofpmsg_update_length(msg);
    oh = xmemdup(msg->data, msg->size);
    ofpbuf_delete(msg);
    return oh;
}

static struct ofpbuf *
reply_to(enum ofputil_meter_request_type type)
{
    struct ofpbuf *request, *reply;

    request = ofputil_encode_meter_request(OFP13_VERSION, type, OFPM13_ALL);
    reply = ofpraw_alloc_stats_reply(request->data, 0);
    ofpbuf_delete(request);
    return reply;
}

/* As ofpmp_init(), without a request from outside. */
static void
init_replies(struct ovs_list *replies, enum ofputil_meter_request_type type)
{
    ovs_list_init(replies);
    ovs_list_push_back(replies, &reply_to(type)->list_node);
}

/* Whether the header says that the message may be what it is: the library
 * decodes nothing else. */
static bool
is_valid(const struct ofp_header *oh)
{
    enum ofptype type;

    return !ofptype_decode(&type, oh);
}

/* Zeros what is ignored in the standard bands of 'size' bytes at 'p', all of
 * which were decoded. */
static void
zero_band_padding(uint8_t *p, size_t size)
{
    while (size) {
        struct ofp13_meter_band_header *h = (void *) p;
        size_t len = ntohs(h->len);

        if (h->type == htons(OFPMBT13_DROP)) {
            memset(p + 12, 0, 4);
        } else if (h->type == htons(OFPMBT13_DSCP_REMARK)) {
            memset(p + 13, 0, 3);
        }
        p += len;
        size -= len;
    }
}

static void
print(const struct ofp_header *oh)
{
    free(ofp_to_string(oh, ntohs(oh->length), NULL, NULL, 2));
}

static bool
same_bands(const struct ofputil_meter_config *a,
           const struct ofputil_meter_config *b)
{
    return (a->n_bands == b->n_bands
            && (!a->n_bands || !memcmp(a->bands, b->bands,
                                       a->n_bands * sizeof *a->bands)));
}

static void
configure(const struct ofputil_meter_config *config)
{
    struct dp_band_conf bands[DP_METER_MAX_BANDS];
    int error = dp_meter_conf_parse(config,
                                    DP_METER_DROP | DP_METER_DSCP_REMARK
                                    | DP_METER_MICROBURST | DP_METER_PHANTOM,
                                    bands);

    ovs_assert(!error || error == EBADF || error == EINVAL || error == ENODEV
               || error == EDOM || error == ERANGE || error == EOPNOTSUPP);
    for (size_t i = 0; !error && i < config->n_bands; i++) {
        ovs_assert(bands[i].action.verb != DP_BAND_RAISE_DROP_PRECEDENCE
                   || bands[i].action.arg == 1 || bands[i].action.arg == 2);
    }
}

static void
fuzz_meter_mod(const uint8_t *body, size_t size)
{
    struct ofp_header *oh = finish(
        ofpraw_alloc_xid(OFPRAW_OFPT13_METER_MOD, OFP13_VERSION, 0, 0),
        body, size);
    struct ofputil_meter_mod mm;
    struct ofpbuf bands;

    ofpbuf_init(&bands, 0);
    if (is_valid(oh) && !ofputil_decode_meter_mod(oh, &mm, &bands)) {
        struct ofpbuf *again = ofputil_encode_meter_mod(OFP13_VERSION, &mm);
        uint8_t *p = (uint8_t *) oh + sizeof *oh;

        print(oh);
        if (mm.command != OFPMC13_DELETE) {
            size_t ofs = sizeof(struct ofp13_meter_mod);

            zero_band_padding(p + ofs, size - ofs);
            ovs_assert(again->size == sizeof *oh + size);
            ovs_assert(!memcmp((uint8_t *) again->data + sizeof *oh, p, size));
            configure(&mm.meter);
        }
        ofpbuf_delete(again);
    }
    ofpbuf_uninit(&bands);
    free(oh);
}

/* Compares the only message of 'replies' with 'oh', and frees 'replies'. */
static void
compare_replies(struct ovs_list *replies, const struct ofp_header *oh)
{
    struct ofpbuf *msg = ofpbuf_from_list(ovs_list_front(replies));
    size_t size = ntohs(oh->length) - sizeof *oh;

    ovs_assert(ovs_list_is_singleton(replies));
    ovs_assert(msg->size == sizeof *oh + size);
    ovs_assert(!memcmp((uint8_t *) msg->data + sizeof *oh, oh + 1, size));
    ofpbuf_list_delete(replies);
}

static void
fuzz_meter_config(const uint8_t *body, size_t size)
{
    struct ofp_header *oh = finish(reply_to(OFPUTIL_METER_CONFIG), body, size);
    uint8_t *p = (uint8_t *) oh + ntohs(oh->length) - size;
    struct ovs_list replies;
    struct ofpbuf bands;
    struct ofpbuf b = ofpbuf_const_initializer(oh, ntohs(oh->length));
    int error = 0;

    ofpbuf_init(&bands, 0);
    init_replies(&replies, OFPUTIL_METER_CONFIG);
    while (is_valid(oh) && !error) {
        struct ofputil_meter_config mc;

        error = ofputil_decode_meter_config(&b, &mc, &bands);
        if (!error) {
            struct ofp13_meter_config *omc = (void *) p;

            ofputil_append_meter_config(&replies, &mc);
            zero_band_padding(p + sizeof *omc,
                              ntohs(omc->length) - sizeof *omc);
            p += ntohs(omc->length);
        }
    }
    print(oh);
    if (error == EOF) {
        compare_replies(&replies, oh);
    } else {
        ofpbuf_list_delete(&replies);
    }
    ofpbuf_uninit(&bands);
    free(oh);
}

static void
fuzz_features(const uint8_t *body, size_t size)
{
    struct ofp_header *oh = finish(reply_to(OFPUTIL_MICROBURST_FEATURES),
                                   body, size);

    if (is_valid(oh)) {
        struct ofputil_microburst_features mf;
        struct ofpbuf *request, *again;

        print(oh);
        ofputil_decode_microburst_features(oh, &mf);
        request = ofputil_encode_meter_request(
            OFP13_VERSION, OFPUTIL_MICROBURST_FEATURES, 0);
        again = ofputil_encode_microburst_features_reply(&mf, request->data);
        ovs_assert(!memcmp(ofpmsg_body(again->data), ofpmsg_body(oh),
                           sizeof(struct bkh_microburst_features)));
        ofpbuf_delete(request);
        ofpbuf_delete(again);
    }
    free(oh);
}

static void
fuzz_stats(const uint8_t *body, size_t size)
{
    struct ofp_header *oh = finish(reply_to(OFPUTIL_MICROBURST_STATS),
                                   body, size);
    struct ofpbuf b = ofpbuf_const_initializer(oh, ntohs(oh->length));
    struct ovs_list replies;
    struct ofpbuf bands;
    int error = 0;

    ofpbuf_init(&bands, 0);
    init_replies(&replies, OFPUTIL_MICROBURST_STATS);
    while (is_valid(oh) && !error) {
        struct ofputil_microburst_meter_stats ms;

        error = ofputil_decode_microburst_stats(&b, &ms, &bands);
        if (!error) {
            ofputil_append_microburst_stats(&replies, &ms);
        }
    }
    print(oh);

    /* Members that a later version may add are skipped, so what is encoded
     * may be shorter. */
    if (error == EOF) {
        const struct ofpbuf *msg = ofpbuf_from_list(ovs_list_front(&replies));

        ovs_assert(msg->size <= ntohs(oh->length));
        if (msg->size == ntohs(oh->length)) {
            compare_replies(&replies, oh);
            ovs_list_init(&replies);
        }
    }
    ofpbuf_list_delete(&replies);
    ofpbuf_uninit(&bands);
    free(oh);
}

/* Checks that 'mm', which was parsed, survives a trip over the wire. */
static void
check_parsed(const struct ofputil_meter_mod *mm)
{
    struct ofpbuf *msg = ofputil_encode_meter_mod(OFP13_VERSION, mm);
    struct ofputil_meter_mod decoded;
    struct ofpbuf bands;

    ofpbuf_init(&bands, 0);
    ovs_assert(is_valid(msg->data));
    ovs_assert(!ofputil_decode_meter_mod(msg->data, &decoded, &bands));
    ovs_assert(decoded.command == mm->command);
    ovs_assert(decoded.meter.meter_id == mm->meter.meter_id);
    ovs_assert(decoded.meter.flags == mm->meter.flags);
    ovs_assert(same_bands(&decoded.meter, &mm->meter));
    ofpbuf_uninit(&bands);
    ofpbuf_delete(msg);
}

static void
fuzz_text(const uint8_t *text, size_t size, int command)
{
    char *string = xmemdup0((const char *) text, size);
    enum ofputil_protocol protocols;
    struct ofputil_meter_mod mm, again;
    char *error = parse_ofp_meter_mod_str(&mm, string, command, &protocols);

    if (!error && command != -1) {
        check_parsed(&mm);
    }
    if (!error && (command == OFPMC13_ADD || command == OFPMC13_MODIFY)) {
        struct ds s = DS_EMPTY_INITIALIZER;

        ofputil_format_meter_config(&s, &mm.meter);
        error = parse_ofp_meter_mod_str(&again, ds_cstr(&s), command,
                                        &protocols);
        ovs_assert(!error);
        ovs_assert(again.meter.meter_id == mm.meter.meter_id);
        ovs_assert(again.meter.flags == mm.meter.flags);
        ovs_assert(same_bands(&again.meter, &mm.meter));
        free(again.meter.bands);
        ds_destroy(&s);
    }
    if (!error) {
        free(mm.meter.bands);
    }
    free(error);
    free(string);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size || size > MAX_BODY) {
        return 0;
    }

    uint8_t choice = *data++;
    size--;
    switch (choice) {
    case 'M':
        fuzz_meter_mod(data, size);
        break;
    case 'C':
        fuzz_meter_config(data, size);
        break;
    case 'F':
        fuzz_features(data, size);
        break;
    case 'S':
        fuzz_stats(data, size);
        break;
    case 'a':
        fuzz_text(data, size, OFPMC13_ADD);
        break;
    case 'm':
        fuzz_text(data, size, OFPMC13_MODIFY);
        break;
    case 'd':
        fuzz_text(data, size, OFPMC13_DELETE);
        break;
    case 'q':
        fuzz_text(data, size, -1);
        break;
    default:
        return -1;
    }
    return 0;
}
