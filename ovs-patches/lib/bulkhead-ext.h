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

#ifndef BULKHEAD_EXT_H
#define BULKHEAD_EXT_H 1

/* Bulkhead's extensions to OpenFlow: the wire format
 * ==================================================
 *
 * These structures are what travels between a switch and a controller.  Most
 * code wants the abstract ones in openvswitch/ofp-meter.h instead, which also
 * say what the members mean.
 *
 * All of them are for OpenFlow 1.3 and later, which introduced meters, and all
 * of them carry BULKHEAD_VENDOR_ID as experimenter. */

#include "openflow/openflow.h"
#include "openvswitch/types.h"

/* Subtypes of Bulkhead's experimenter bands. */
enum bkh_meter_band_type {
    BKHMBT_NONE = 0,            /* Not a band of Bulkhead's. */
    BKHMBT_MICROBURST = 1,      /* struct bkh_meter_band_microburst. */
};

/* BKHMBT_MICROBURST band (an experimenter band, OpenFlow 1.3, section
 * 7.3.4.4).
 *
 * The meter must have flags OFPMF13_KBPS and OFPMF13_BURST.  Exactly one of
 * 'burst_size' and 'burst_bytes' is nonzero.  In other members from
 * 'burst_bytes' on, zero means that the member is not given. */
struct bkh_meter_band_microburst {
    ovs_be16 type;              /* OFPMBT13_EXPERIMENTER. */
    ovs_be16 len;               /* 56. */
    ovs_be32 rate;              /* Committed rate, in kbps. */
    ovs_be32 burst_size;        /* Committed burst, in kbit. */
    ovs_be32 experimenter;      /* BULKHEAD_VENDOR_ID. */
    ovs_be16 subtype;           /* BKHMBT_MICROBURST. */
    uint8_t exceed;             /* An enum ofputil_microburst_exceed. */
    uint8_t dscp;               /* 0...63; 0 unless 'exceed' says DSCP. */
    ovs_be32 burst_bytes;       /* Committed burst, in bytes. */
    ovs_be32 peak_rate;         /* Rate of the phantom queue, in kbps. */
    ovs_be32 mark;              /* Depths of the phantom queue, in bytes. */
    ovs_be32 depth;
    ovs_be32 limit;
    ovs_be32 parent;            /* OpenFlow meter ID. */
    ovs_be16 weight;            /* Share of what 'parent' has spare. */
    uint8_t pad1[2];            /* Must be zero. */
    ovs_be32 tag;               /* Number of the tenant. */
    uint8_t pad2[4];            /* Must be zero. */
};
OFP_ASSERT(sizeof(struct bkh_meter_band_microburst) == 56);

/* Body of a BKST_MICROBURST_FEATURES reply.  The request has none.
 *
 * A switch whose datapath knows none of Bulkhead's bands answers with
 * zeros. */
struct bkh_microburst_features {
    ovs_be32 band_types;        /* Bitmap of 1 << BKHMBT_*. */
    ovs_be32 exceed;            /* Bitmap, see ofputil_microburst_features. */
    ovs_be32 members;           /* Bitmap of OFPUTIL_MICROBURST_M_*. */
    ovs_be32 resolution_ns;     /* Step of the clock. */
    ovs_be32 min_rate;          /* In kbps. */
    ovs_be32 max_rate;          /* In kbps. */
    ovs_be64 max_burst;         /* In bytes. */
};
OFP_ASSERT(sizeof(struct bkh_microburst_features) == 32);

/* Body of a BKST_MICROBURST_STATS request:
 * struct ofp13_meter_multipart_request.
 *
 * Body of the reply: any number of struct bkh_meter_stats.  Each is followed
 * by one struct bkh_meter_band_stats for each band of the meter, in the order
 * of its configuration, so the position says which band is meant.  For
 * OFPM13_ALL, meters without any band of Bulkhead's are left out. */
struct bkh_meter_stats {
    ovs_be32 meter_id;
    ovs_be16 len;               /* Of this and the bands, a multiple of 8. */
    ovs_be16 n_bands;           /* At least 1. */
};
OFP_ASSERT(sizeof(struct bkh_meter_stats) == 8);

struct bkh_counter {
    ovs_be64 packets;
    ovs_be64 bytes;
};
OFP_ASSERT(sizeof(struct bkh_counter) == 16);

/* What the phantom queue of a band has seen: struct ofputil_microburst_bursts,
 * which says what the members mean.  'n_events' struct bkh_burst_event
 * follow. */
struct bkh_bursts {
    ovs_be64 now_ns;            /* Not zero. */
    ovs_be64 depth;
    ovs_be64 max_depth;
    ovs_be64 max_gap_ns;
    ovs_be64 n_bursts;
    ovs_be64 n_bytes;
    ovs_be64 lengths[32];
    ovs_be64 depths[32];
    ovs_be64 n_events;          /* At most 16. */
};
OFP_ASSERT(sizeof(struct bkh_bursts) == 568);

struct bkh_burst_event {
    ovs_be64 start_ns;
    ovs_be64 length_ns;
    ovs_be64 rise_ns;
    ovs_be64 max_depth;
    ovs_be64 bytes;
    ovs_be64 max_gap_ns;
    ovs_be64 tag;
};
OFP_ASSERT(sizeof(struct bkh_burst_event) == 56);

/* Statistics of a band.  If it has a phantom queue, struct bkh_bursts follows.
 *
 * For a band that is not Bulkhead's, 'subtype' is BKHMBT_NONE and the
 * structure ends before 'green'.  Receivers take 'len' for where the next band
 * starts: new members may be added at the end, and other subtypes may have
 * other members. */
struct bkh_meter_band_stats {
    ovs_be16 len;               /* Of this structure, a multiple of 8. */
    ovs_be16 subtype;           /* One of BKHMBT_*. */
    ovs_be32 tag;               /* From the band's configuration. */
    struct bkh_counter green;   /* See struct ofputil_microburst_stats. */
    struct bkh_counter borrowed;
    struct bkh_counter dropped;
    struct bkh_counter exceeded;
    struct bkh_counter capped;
    struct bkh_counter marked;
};
OFP_ASSERT(sizeof(struct bkh_meter_band_stats) == 104);

#endif /* bulkhead-ext.h */
