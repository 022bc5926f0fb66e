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

#ifndef DP_METER_CONF_H
#define DP_METER_CONF_H 1

/* What the meters of a userspace datapath can be: the configuration of a meter
 * in the terms of dp-meter.c, and the features that say what is accepted. */

#include <stdbool.h>
#include <stdint.h>

#include "gcra.h"
#include "phantom.h"

struct ofputil_meter_config;
struct ofputil_meter_features;

#ifdef  __cplusplus
extern "C" {
#endif

enum { DP_METER_MAX = 1 << 18 };        /* Maximum number of meters. */
enum { DP_METER_MAX_BANDS = 8 };        /* Maximum number of bands in one. */
enum { DP_METER_MAX_LEVELS = 3 };       /* That borrow from one another. */

/* Types of bands. */
enum dp_meter_types {
    DP_METER_DROP = 1 << 0,
    DP_METER_DSCP_REMARK = 1 << 1,
    DP_METER_MICROBURST = 1 << 2,
    DP_METER_PHANTOM = 1 << 3,  /* Microburst bands with 'peak_rate'. */
    DP_METER_PARENT = 1 << 4,   /* The same with 'parent'. */
};

/* What a band does with a packet that exceeds it. */
enum dp_band_verb {
    DP_BAND_DROP,
    DP_BAND_RAISE_DROP_PRECEDENCE,      /* By the argument. */
    DP_BAND_SET_DSCP,                   /* To the argument. */
    DP_BAND_MARK_CE,                    /* If ECN-capable, else drop. */
    DP_BAND_PASS,
};

/* The part of a band's configuration that no arithmetic needs. */
struct dp_band_action {
    uint32_t rate;              /* In the unit of the meter. */
    enum dp_band_verb verb;
    uint8_t arg;
};

struct dp_band_conf {
    struct gcra_conf gcra;
    struct dp_band_action action;
    bool has_phantom;
    struct phantom_conf phantom;
    uint32_t tag;               /* Of the tenant, 0 if none. */
    bool lends;                 /* May be the first band of a parent? */
    bool has_parent;            /* If so: */
    uint32_t parent;            /* Id of the datapath's meter. */
    uint16_t weight;            /* 1 to 65535. */
};

/* May others borrow from a meter of these bands? */
static inline bool
dp_band_lends(const struct dp_band_conf bands[], uint16_t n_bands)
{
    return n_bands && bands[0].lends;
}

/* Translates '*config' to 'bands', one for each of its bands.  Returns 0, or a
 * positive errno value as dp_meters_set() does, and then logs which band it is
 * about and why. */
int dp_meter_conf_parse(const struct ofputil_meter_config *config,
                        enum dp_meter_types,
                        struct dp_band_conf bands[DP_METER_MAX_BANDS]);

void dp_meter_conf_features(enum dp_meter_types,
                            struct ofputil_meter_features *);

#ifdef  __cplusplus
}
#endif

#endif /* dp-meter-conf.h */
