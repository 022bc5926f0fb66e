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

/* The features and statistics of microburst bands: multipart messages.
 *
 * The functions are those of openvswitch/ofp-meter.h that have "microburst" in
 * their names.  bulkhead-ext.h describes the wire format. */

#include <config.h>
#include "openvswitch/ofp-meter.h"
#include "bulkhead-ext.h"
#include "byte-order.h"
#include "ofp-microburst.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-errors.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-print.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(ofp_microburst_msgs);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

/* Features. */

void
ofputil_decode_microburst_features(const struct ofp_header *oh,
                                   struct ofputil_microburst_features *mf)
{
    const struct bkh_microburst_features *bmf = ofpmsg_body(oh);

    mf->band_types = ntohl(bmf->band_types);
    mf->exceed = ntohl(bmf->exceed);
    mf->members = ntohl(bmf->members);
    mf->resolution_ns = ntohl(bmf->resolution_ns);
    mf->min_rate = ntohl(bmf->min_rate);
    mf->max_rate = ntohl(bmf->max_rate);
    mf->max_burst = ntohll(bmf->max_burst);
}

struct ofpbuf *
ofputil_encode_microburst_features_reply(
    const struct ofputil_microburst_features *mf,
    const struct ofp_header *request)
{
    struct bkh_microburst_features *bmf;
    struct ofpbuf *reply;

    reply = ofpraw_alloc_stats_reply(request, 0);
    bmf = ofpbuf_put_zeros(reply, sizeof *bmf);
    bmf->band_types = htonl(mf->band_types);
    bmf->exceed = htonl(mf->exceed);
    bmf->members = htonl(mf->members);
    bmf->resolution_ns = htonl(mf->resolution_ns);
    bmf->min_rate = htonl(mf->min_rate);
    bmf->max_rate = htonl(mf->max_rate);
    bmf->max_burst = htonll(mf->max_burst);

    return reply;
}

static const char *
band_type_name(uint32_t bit)
{
    return bit == 1u << BKHMBT_MICROBURST ? "microburst" : NULL;
}

static const char *
exceed_name(uint32_t bit)
{
    switch (bit) {
    case 1u << OFPUTIL_MICROBURST_DROP: return "drop";
    case 1u << OFPUTIL_MICROBURST_DSCP: return "dscp";
    case 1u << OFPUTIL_MICROBURST_ECN: return "ecn";
    case 1u << OFPUTIL_MICROBURST_PASS: return "pass";
    }
    return NULL;
}

static const char *
member_name(uint32_t bit)
{
    enum ofputil_microburst_members member = bit;

    switch (member) {
    case OFPUTIL_MICROBURST_M_BURST_BYTES: return "burst_bytes";
    case OFPUTIL_MICROBURST_M_PEAK_RATE: return "peak_rate";
    case OFPUTIL_MICROBURST_M_MARK: return "mark";
    case OFPUTIL_MICROBURST_M_DEPTH: return "depth";
    case OFPUTIL_MICROBURST_M_LIMIT: return "limit";
    case OFPUTIL_MICROBURST_M_PARENT: return "parent";
    case OFPUTIL_MICROBURST_M_WEIGHT: return "weight";
    case OFPUTIL_MICROBURST_M_TAG: return "tag";
    }
    return NULL;
}

void
ofputil_format_microburst_features(
    struct ds *s, const struct ofputil_microburst_features *mf)
{
    ds_put_format(s, "\nresolution_ns:%"PRIu32, mf->resolution_ns);
    ds_put_format(s, " min_rate:%"PRIu32, mf->min_rate);
    ds_put_format(s, " max_rate:%"PRIu32, mf->max_rate);
    ds_put_format(s, " max_burst:%"PRIu64"\n", mf->max_burst);

    ds_put_cstr(s, "band_types: ");
    ofp_print_bit_names(s, mf->band_types, band_type_name, ' ');
    ds_put_cstr(s, "\nexceed: ");
    ofp_print_bit_names(s, mf->exceed, exceed_name, ' ');
    ds_put_cstr(s, "\nmembers: ");
    ofp_print_bit_names(s, mf->members, member_name, ' ');
    ds_put_char(s, '\n');
}

/* Statistics. */

/* The counters in the order of the wire. */
static const struct microburst_counter {
    const char *name;
    size_t offset;              /* In struct ofputil_microburst_stats. */
    size_t wire_offset;         /* In struct bkh_meter_band_stats. */
} counters[] = {
#define COUNTER(NAME)                                           \
    { #NAME, offsetof(struct ofputil_microburst_stats, NAME),   \
      offsetof(struct bkh_meter_band_stats, NAME) }
    COUNTER(green),
    COUNTER(borrowed),
    COUNTER(dropped),
    COUNTER(exceeded),
    COUNTER(capped),
    COUNTER(marked),
#undef COUNTER
};

static size_t
band_stats_len(const struct ofputil_microburst_band_stats *mbs)
{
    return (mbs->subtype == BKHMBT_MICROBURST
            ? (sizeof(struct bkh_meter_band_stats)
               + ofputil_bursts_len(&mbs->stats.bursts))
            : offsetof(struct bkh_meter_band_stats, green));
}

static void
put_band_stats(const struct ofputil_microburst_band_stats *mbs, char *p)
{
    struct bkh_meter_band_stats *bmbs
        = ALIGNED_CAST(struct bkh_meter_band_stats *, p);

    bmbs->len = htons(band_stats_len(mbs));
    bmbs->subtype = htons(mbs->subtype);
    bmbs->tag = htonl(mbs->tag);
    if (mbs->subtype != BKHMBT_MICROBURST) {
        return;
    }

    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        const struct ofputil_microburst_counter *src
            = ALIGNED_CAST(const struct ofputil_microburst_counter *,
                           (const char *) &mbs->stats + counters[i].offset);
        struct bkh_counter *dst
            = ALIGNED_CAST(struct bkh_counter *, p + counters[i].wire_offset);

        dst->packets = htonll(src->packets);
        dst->bytes = htonll(src->bytes);
    }
    ofputil_put_bursts(&mbs->stats.bursts, bmbs + 1);
}

void
ofputil_append_microburst_stats(
    struct ovs_list *replies, const struct ofputil_microburst_meter_stats *ms)
{
    struct bkh_meter_stats *bms;
    size_t len = sizeof *bms;
    char *p;

    for (size_t i = 0; i < ms->n_bands; i++) {
        len += band_stats_len(&ms->bands[i]);
    }
    p = ofpmp_append(replies, len);

    bms = ALIGNED_CAST(struct bkh_meter_stats *, p);
    bms->meter_id = htonl(ms->meter_id);
    bms->len = htons(len);
    bms->n_bands = htons(ms->n_bands);
    p += sizeof *bms;
    for (size_t i = 0; i < ms->n_bands; i++) {
        put_band_stats(&ms->bands[i], p);
        p += band_stats_len(&ms->bands[i]);
    }
}

/* Pulls the statistics of a band from '*b' into '*mbs'. */
static enum ofperr
pull_band_stats(struct ofpbuf *b, struct ofputil_microburst_band_stats *mbs)
{
    const size_t min_len = offsetof(struct bkh_meter_band_stats, green);
    const struct bkh_meter_band_stats *bmbs = b->data;
    const char *p = b->data;
    size_t len;

    if (b->size < min_len) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    len = ntohs(bmbs->len);
    if (len < min_len || len > b->size || len % 8) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    ofpbuf_pull(b, len);

    memset(mbs, 0, sizeof *mbs);
    mbs->subtype = ntohs(bmbs->subtype);
    mbs->tag = ntohl(bmbs->tag);
    if (mbs->subtype != BKHMBT_MICROBURST) {
        return 0;
    } else if (len < sizeof *bmbs) {
        return OFPERR_OFPBRC_BAD_LEN;
    }

    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        struct ofputil_microburst_counter *dst
            = ALIGNED_CAST(struct ofputil_microburst_counter *,
                           (char *) &mbs->stats + counters[i].offset);
        const struct bkh_counter *src
            = ALIGNED_CAST(const struct bkh_counter *,
                           p + counters[i].wire_offset);

        dst->packets = ntohll(src->packets);
        dst->bytes = ntohll(src->bytes);
    }
    return (ofputil_get_bursts(bmbs + 1, len - sizeof *bmbs,
                               &mbs->stats.bursts)
            ? 0 : OFPERR_OFPBRC_BAD_LEN);
}

/* Pulls the statistics of a meter, of which there is at least a byte, from
 * '*msg'. */
static enum ofperr
pull_meter_stats(struct ofpbuf *msg, struct ofputil_microburst_meter_stats *ms,
                 struct ofpbuf *bands)
{
    const struct bkh_meter_stats *bms = ofpbuf_try_pull(msg, sizeof *bms);
    struct ofpbuf b;
    size_t len;

    if (!bms) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    len = ntohs(bms->len);
    if (len < sizeof *bms || len - sizeof *bms > msg->size) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    len -= sizeof *bms;
    ofpbuf_use_const(&b, ofpbuf_pull(msg, len), len);

    ms->meter_id = ntohl(bms->meter_id);
    ms->n_bands = ntohs(bms->n_bands);
    for (size_t i = 0; i < ms->n_bands; i++) {
        struct ofputil_microburst_band_stats *mbs
            = ofpbuf_put_uninit(bands, sizeof *mbs);
        enum ofperr error = pull_band_stats(&b, mbs);

        if (error) {
            return error;
        }
    }
    ms->bands = bands->data;

    return b.size ? OFPERR_OFPBRC_BAD_LEN : 0;
}

int
ofputil_decode_microburst_stats(struct ofpbuf *msg,
                                struct ofputil_microburst_meter_stats *ms,
                                struct ofpbuf *bands)
{
    enum ofperr error;

    /* Pull OpenFlow headers for the first call. */
    if (!msg->header) {
        ofpraw_pull_assert(msg);
    }

    if (!msg->size) {
        return EOF;
    }

    ofpbuf_clear(bands);
    error = pull_meter_stats(msg, ms, bands);
    if (error) {
        VLOG_WARN_RL(&rl, "BKST_MICROBURST_STATS reply has a meter or a band "
                     "of bad length");
    }
    return error;
}

void
ofputil_format_microburst_stats(
    struct ds *s, const struct ofputil_microburst_meter_stats *ms)
{
    ofputil_format_meter_id(s, ms->meter_id, ':');
    ds_put_cstr(s, " bands:\n");

    for (size_t i = 0; i < ms->n_bands; i++) {
        const struct ofputil_microburst_band_stats *mbs = &ms->bands[i];

        ds_put_format(s, "%"PRIuSIZE": ", i);
        if (mbs->subtype == BKHMBT_NONE) {
            ds_put_cstr(s, "not a microburst band\n");
            continue;
        } else if (mbs->subtype != BKHMBT_MICROBURST) {
            ds_put_format(s, "unknown band type %"PRIu16"\n", mbs->subtype);
            continue;
        }

        ds_put_format(s, "tag:%"PRIu32"\n", mbs->tag);
        for (size_t j = 0; j < ARRAY_SIZE(counters); j++) {
            const struct ofputil_microburst_counter *c
                = ALIGNED_CAST(const struct ofputil_microburst_counter *,
                               (const char *) &mbs->stats
                               + counters[j].offset);

            ds_put_format(s, "  %s: packet_count:%"PRIu64
                          " byte_count:%"PRIu64"\n",
                          counters[j].name, c->packets, c->bytes);
        }
        ofputil_format_bursts(s, &mbs->stats.bursts);
    }
}
