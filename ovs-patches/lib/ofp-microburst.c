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
#include "ofp-microburst.h"
#include "bulkhead-ext.h"
#include "byte-order.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/ofp-parse.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(ofp_microburst);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

/* DSCP is a field of 6 bits (RFC 2474, section 3). */
#define DSCP_MAX 63

/* The members that the standard bands do not have, in the order in which they
 * are printed.  The value of all but "exceed" is a number, zero if not
 * given. */
struct microburst_member {
    const char *name;
    size_t offset;              /* In struct ofputil_microburst. */
    size_t size;                /* 2 or 4 bytes, 0 for "exceed". */
    uint32_t max;               /* The minimum is 1. */
};
#define MEMBER(NAME, MAX)                               \
    { #NAME, offsetof(struct ofputil_microburst, NAME), \
      MEMBER_SIZEOF(struct ofputil_microburst, NAME), MAX }
static const struct microburst_member members[] = {
    MEMBER(burst_bytes, UINT32_MAX),
    MEMBER(peak_rate, UINT32_MAX),
    MEMBER(mark, UINT32_MAX),
    MEMBER(depth, UINT32_MAX),
    MEMBER(limit, UINT32_MAX),
    { "exceed", 0, 0, 0 },
    MEMBER(parent, OFPM13_MAX),
    MEMBER(weight, UINT16_MAX),
    MEMBER(tag, UINT32_MAX),
};

/* Indexed by enum ofputil_microburst_exceed. */
static const char *const exceed_names[] = { "drop", "dscp", "ecn", "pass" };

static uint32_t
get_member(const struct ofputil_microburst *micro,
           const struct microburst_member *m)
{
    const char *p = (const char *) micro + m->offset;

    return (m->size == sizeof(uint16_t)
            ? *ALIGNED_CAST(const uint16_t *, p)
            : *ALIGNED_CAST(const uint32_t *, p));
}

static void
set_member(struct ofputil_microburst *micro, const struct microburst_member *m,
           uint32_t value)
{
    char *p = (char *) micro + m->offset;

    if (m->size == sizeof(uint16_t)) {
        *ALIGNED_CAST(uint16_t *, p) = value;
    } else {
        *ALIGNED_CAST(uint32_t *, p) = value;
    }
}

static enum ofperr
check_exceed(const struct ofputil_microburst *micro, const char **whyp)
{
    if (micro->exceed >= ARRAY_SIZE(exceed_names)) {
        *whyp = "'exceed' must be drop, dscp, ecn or pass";
        return OFPERR_OFPMMFC_BAD_BAND_VALUE;
    } else if (micro->dscp > DSCP_MAX) {
        *whyp = "DSCP must be between 0 and 63";
        return OFPERR_OFPMMFC_BAD_BAND_VALUE;
    } else if (micro->dscp && micro->exceed != OFPUTIL_MICROBURST_DSCP) {
        *whyp = "DSCP needs 'exceed' to be dscp";
        return OFPERR_OFPMMFC_BAD_BAND_VALUE;
    }
    return 0;
}

static enum ofperr
check_depths(const struct ofputil_microburst *micro, const char **whyp)
{
    if (!micro->peak_rate && (micro->mark || micro->depth || micro->limit)) {
        *whyp = "'mark', 'depth' and 'limit' need 'peak_rate'";
        return OFPERR_OFPMMFC_BAD_BURST;
    } else if (micro->limit && micro->mark > micro->limit) {
        *whyp = "'mark' must be at most 'limit'";
        return OFPERR_OFPMMFC_BAD_BURST;
    } else if (micro->limit && micro->depth > micro->limit) {
        *whyp = "'depth' must be at most 'limit'";
        return OFPERR_OFPMMFC_BAD_BURST;
    }
    return 0;
}

static enum ofperr
check_parent(const struct ofputil_microburst *micro, const char **whyp)
{
    if (micro->parent > OFPM13_MAX) {
        *whyp = "'parent' must not be a virtual meter";
        return OFPERR_OFPMMFC_BAD_BAND_VALUE;
    } else if (micro->weight && !micro->parent) {
        *whyp = "'weight' needs 'parent'";
        return OFPERR_OFPMMFC_BAD_BAND_VALUE;
    }
    return 0;
}

enum ofperr
ofputil_check_microburst(const struct ofputil_meter_band *mb,
                         enum ofp13_meter_flags flags, const char **whyp)
{
    const struct ofputil_microburst *micro = &mb->microburst;
    enum ofperr error;

    /* A committed schedule always has a burst, and counts bytes. */
    if (!(flags & OFPMF13_KBPS) || flags & OFPMF13_PKTPS) {
        *whyp = "'microburst' band needs the 'kbps' flag";
        return OFPERR_OFPMMFC_BAD_FLAGS;
    } else if (!(flags & OFPMF13_BURST)) {
        *whyp = "'microburst' band needs the 'burst' flag";
        return OFPERR_OFPMMFC_BAD_FLAGS;
    } else if (!mb->rate) {
        *whyp = "band must have 'rate'";
        return OFPERR_OFPMMFC_BAD_RATE;
    } else if (micro->peak_rate && micro->peak_rate < mb->rate) {
        *whyp = "'peak_rate' must be at least 'rate'";
        return OFPERR_OFPMMFC_BAD_RATE;
    } else if (!mb->burst_size == !micro->burst_bytes) {
        *whyp = ("'microburst' band must have either 'burst_bytes' or "
                 "'burst_size'");
        return OFPERR_OFPMMFC_BAD_BURST;
    }

    error = check_depths(micro, whyp);
    if (!error) {
        error = check_exceed(micro, whyp);
    }
    if (!error) {
        error = check_parent(micro, whyp);
    }
    return error;
}

/* Wire format. */

static void
decode_members(const struct bkh_meter_band_microburst *bmbm,
               struct ofputil_meter_band *mb)
{
    memset(mb, 0, sizeof *mb);
    mb->type = ntohs(bmbm->type);
    mb->rate = ntohl(bmbm->rate);
    mb->burst_size = ntohl(bmbm->burst_size);
    mb->microburst.exceed = bmbm->exceed;
    mb->microburst.dscp = bmbm->dscp;
    mb->microburst.burst_bytes = ntohl(bmbm->burst_bytes);
    mb->microburst.peak_rate = ntohl(bmbm->peak_rate);
    mb->microburst.mark = ntohl(bmbm->mark);
    mb->microburst.depth = ntohl(bmbm->depth);
    mb->microburst.limit = ntohl(bmbm->limit);
    mb->microburst.parent = ntohl(bmbm->parent);
    mb->microburst.weight = ntohs(bmbm->weight);
    mb->microburst.tag = ntohl(bmbm->tag);
}

enum ofperr
ofputil_decode_microburst(const struct ofp13_meter_band_experimenter *ombe,
                          size_t len, enum ofp13_meter_flags flags,
                          struct ofputil_meter_band *mb)
{
    const struct bkh_meter_band_microburst *bmbm;
    const char *why = NULL;
    enum ofperr error;

    if (ombe->experimenter != htonl(BULKHEAD_VENDOR_ID)) {
        return OFPERR_OFPMMFC_BAD_BAND;
    }

    /* The length of bands with other subtypes is not known. */
    bmbm = ALIGNED_CAST(const struct bkh_meter_band_microburst *, ombe);
    if (len < offsetof(struct bkh_meter_band_microburst, exceed)) {
        return OFPERR_OFPBRC_BAD_LEN;
    } else if (bmbm->subtype != htons(BKHMBT_MICROBURST)) {
        return OFPERR_OFPMMFC_BAD_BAND;
    } else if (len != sizeof *bmbm) {
        return OFPERR_OFPBRC_BAD_LEN;
    }

    decode_members(bmbm, mb);
    if (!is_all_zeros(bmbm->pad1, sizeof bmbm->pad1)
        || !is_all_zeros(bmbm->pad2, sizeof bmbm->pad2)) {
        why = "padding must be zero";
        error = OFPERR_OFPMMFC_BAD_BAND_VALUE;
    } else {
        error = ofputil_check_microburst(mb, flags, &why);
    }
    if (error) {
        VLOG_WARN_RL(&rl, "bad microburst band: %s", why);
    }
    return error;
}

void
ofputil_put_microburst(const struct ofputil_meter_band *mb, struct ofpbuf *msg)
{
    const struct ofputil_microburst *micro = &mb->microburst;
    struct bkh_meter_band_microburst *bmbm;

    bmbm = ofpbuf_put_zeros(msg, sizeof *bmbm);
    bmbm->type = htons(OFPMBT13_EXPERIMENTER);
    bmbm->len = htons(sizeof *bmbm);
    bmbm->rate = htonl(mb->rate);
    bmbm->burst_size = htonl(mb->burst_size);
    bmbm->experimenter = htonl(BULKHEAD_VENDOR_ID);
    bmbm->subtype = htons(BKHMBT_MICROBURST);
    bmbm->exceed = micro->exceed;
    bmbm->dscp = micro->dscp;
    bmbm->burst_bytes = htonl(micro->burst_bytes);
    bmbm->peak_rate = htonl(micro->peak_rate);
    bmbm->mark = htonl(micro->mark);
    bmbm->depth = htonl(micro->depth);
    bmbm->limit = htonl(micro->limit);
    bmbm->parent = htonl(micro->parent);
    bmbm->weight = htons(micro->weight);
    bmbm->tag = htonl(micro->tag);
}

/* Text. */

static void
format_exceed(struct ds *s, const struct ofputil_microburst *micro)
{
    if (micro->exceed == OFPUTIL_MICROBURST_DSCP) {
        ds_put_format(s, " exceed=dscp:%"PRIu8, micro->dscp);
    } else if (micro->exceed < ARRAY_SIZE(exceed_names)
               && micro->exceed != OFPUTIL_MICROBURST_DROP) {
        ds_put_format(s, " exceed=%s", exceed_names[micro->exceed]);
    }
}

void
ofputil_format_microburst(struct ds *s, const struct ofputil_meter_band *mb)
{
    const struct ofputil_microburst *micro = &mb->microburst;

    ds_put_format(s, "microburst rate=%"PRIu32, mb->rate);
    if (mb->burst_size) {
        ds_put_format(s, " burst_size=%"PRIu32, mb->burst_size);
    }
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const struct microburst_member *m = &members[i];

        if (!m->size) {
            format_exceed(s, micro);
        } else if (get_member(micro, m)) {
            ds_put_format(s, " %s=%"PRIu32, m->name, get_member(micro, m));
        }
    }
}

static char * OVS_WARN_UNUSED_RESULT
parse_exceed(struct ofputil_microburst *micro, const char *value)
{
    const char *dscp = "dscp:";

    for (size_t i = 0; i < ARRAY_SIZE(exceed_names); i++) {
        if (i != OFPUTIL_MICROBURST_DSCP && !strcmp(value, exceed_names[i])) {
            micro->exceed = i;
            return NULL;
        }
    }

    if (!strncmp(value, dscp, strlen(dscp))) {
        uint32_t n = 0;
        char *error = str_to_u32_range(value + strlen(dscp), "exceed DSCP",
                                       0, DSCP_MAX, &n);

        micro->exceed = OFPUTIL_MICROBURST_DSCP;
        micro->dscp = n;
        return error;
    }
    return xasprintf("exceed \"%s\" is not drop, dscp:N, ecn or pass", value);
}

static char *
unknown_member(const struct ofputil_meter_band *mb, const char *name)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "unknown keyword %s (", name);
    if (mb->type == OFPMBT13_EXPERIMENTER) {
        ds_put_cstr(&s, "a microburst band has type, rate, burst_size");
        for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
            ds_put_format(&s, "%s%s",
                          i < ARRAY_SIZE(members) - 1 ? ", " : " and ",
                          members[i].name);
        }
        ds_put_char(&s, ')');
    } else {
        ds_put_cstr(&s, "a band has type, rate, burst_size and prec_level)");
    }
    return ds_steal_cstr(&s);
}

char * OVS_WARN_UNUSED_RESULT
ofputil_parse_microburst_member(struct ofputil_meter_band *mb,
                                const char *name, const char *value)
{
    const struct microburst_member *m = NULL;
    uint32_t number = 0;
    char *error;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        if (!strcmp(name, members[i].name)) {
            m = &members[i];
        }
    }

    if (!m) {
        return unknown_member(mb, name);
    } else if (mb->type != OFPMBT13_EXPERIMENTER) {
        return xasprintf("Only 'microburst' band may have '%s'", name);
    } else if (!m->size) {
        return parse_exceed(&mb->microburst, value);
    }

    error = str_to_u32_range(value, name, 1, m->max, &number);
    if (!error) {
        set_member(&mb->microburst, m, number);
    }
    return error;
}
