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
#include "dp-meter-conf.h"

#include <errno.h>
#include <string.h>

#include "borrow.h"
#include "bulkhead-ext.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(dp_meter_conf);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(20, 60);

/* A kbit and a packet are 1e9 tokens each. */
#define MAX_DEFAULT_BURST (GCRA_MAX_BURST / UINT64_C(1000000000))

#define SUPPORTED_FLAGS \
    (OFPMF13_STATS | OFPMF13_PKTPS | OFPMF13_KBPS | OFPMF13_BURST)

#define PARENT_MEMBERS (OFPUTIL_MICROBURST_M_PARENT \
                        | OFPUTIL_MICROBURST_M_WEIGHT)

#define PHANTOM_MEMBERS                                         \
    (OFPUTIL_MICROBURST_M_PEAK_RATE | OFPUTIL_MICROBURST_M_MARK \
     | OFPUTIL_MICROBURST_M_DEPTH | OFPUTIL_MICROBURST_M_LIMIT)

void
dp_meter_conf_features(enum dp_meter_types types,
                       struct ofputil_meter_features *features)
{
    memset(features, 0, sizeof *features);
    features->max_meters = DP_METER_MAX;
    features->max_bands = DP_METER_MAX_BANDS;
    features->capabilities = SUPPORTED_FLAGS;
    features->band_types =
        (types & DP_METER_DROP ? 1u << OFPMBT13_DROP : 0)
        | (types & DP_METER_DSCP_REMARK ? 1u << OFPMBT13_DSCP_REMARK : 0);
    if (types & DP_METER_MICROBURST) {
        features->microburst = (struct ofputil_microburst_features) {
            .band_types = 1u << BKHMBT_MICROBURST,
            .exceed = (1u << OFPUTIL_MICROBURST_DROP
                       | 1u << OFPUTIL_MICROBURST_DSCP
                       | 1u << OFPUTIL_MICROBURST_ECN
                       | 1u << OFPUTIL_MICROBURST_PASS),
            .members = (OFPUTIL_MICROBURST_M_BURST_BYTES
                        | (types & DP_METER_PHANTOM ? PHANTOM_MEMBERS : 0)
                        | (types & DP_METER_PARENT ? PARENT_MEMBERS : 0)
                        | OFPUTIL_MICROBURST_M_TAG),
            .resolution_ns = 1,
            .min_rate = 1,
            .max_rate = UINT32_MAX,
            .max_burst = UINT32_MAX,
        };
    }
}

/* Returns 'error', saying in 'why' what it is about. */
static int OVS_PRINTF_FORMAT(3, 4)
refuse(int error, struct ds *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    ds_put_format_valist(why, format, args);
    va_end(args);
    return error;
}

static int
parse_gcra(enum gcra_unit unit, uint64_t rate, uint64_t burst,
           struct gcra_conf *gcra, struct ds *why)
{
    int error = gcra_conf_init(gcra, unit, rate, burst);

    return (error
            ? refuse(error, why, "%s cannot be kept",
                     error == EDOM ? "rate" : "burst")
            : 0);
}

/* Returns 0, or an error if 'mb' has members that 'types' do not have. */
static int
check_members(const struct ofputil_microburst *mb, enum dp_meter_types types,
              struct ds *why)
{
    bool phantom = types & DP_METER_PHANTOM;
    bool parent = types & DP_METER_PARENT;
    const struct {
        const char *name;
        uint32_t value;
        bool supported;
    } members[] = {
        { "peak_rate", mb->peak_rate, phantom },
        { "mark", mb->mark, phantom },
        { "depth", mb->depth, phantom },
        { "limit", mb->limit, phantom },
        { "parent", mb->parent, parent },
        { "weight", mb->weight, parent },
    };

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        if (members[i].value && !members[i].supported) {
            ds_put_format(why, "%s%s", why->length ? ", " : "",
                          members[i].name);
        }
    }
    return why->length ? refuse(ENODEV, why, " not supported") : 0;
}

static int
parse_phantom(const struct ofputil_meter_band *band, struct dp_band_conf *bc,
              struct ds *why)
{
    const struct ofputil_microburst *mb = &band->microburst;
    int error;

    bc->has_phantom = mb->peak_rate || mb->mark || mb->depth || mb->limit;
    if (!bc->has_phantom) {
        return 0;
    }
    error = phantom_conf_init(&bc->phantom, band->rate, mb->peak_rate,
                              mb->mark, mb->depth, mb->limit, mb->tag);
    return (error
            ? refuse(error, why, "%s",
                     error == EDOM ? "peak_rate is below rate"
                     : "mark or depth is above limit")
            : 0);
}

static int
parse_microburst(const struct ofputil_meter_band *band, uint16_t flags,
                 enum dp_meter_types types, struct dp_band_conf *bc,
                 struct ds *why)
{
    const struct ofputil_microburst *mb = &band->microburst;
    static const enum dp_band_verb verbs[] = {
        [OFPUTIL_MICROBURST_DROP] = DP_BAND_DROP,
        [OFPUTIL_MICROBURST_DSCP] = DP_BAND_SET_DSCP,
        [OFPUTIL_MICROBURST_ECN] = DP_BAND_MARK_CE,
        [OFPUTIL_MICROBURST_PASS] = DP_BAND_PASS,
    };
    uint64_t bits = (band->burst_size
                     ? band->burst_size * UINT64_C(1000)
                     : mb->burst_bytes * UINT64_C(8));
    int error;

    if (flags & OFPMF13_PKTPS) {
        return refuse(EBADF, why, "type microburst needs kbps");
    }
    error = check_members(mb, types, why);
    if (error) {
        return error;
    }
    if (mb->exceed >= ARRAY_SIZE(verbs)) {
        return refuse(ENODEV, why, "exceed %"PRIu8" not supported",
                      mb->exceed);
    }
    error = parse_phantom(band, bc, why);
    if (error) {
        return error;
    }
    bc->tag = mb->tag;
    bc->lends = true;
    bc->has_parent = mb->parent != 0;
    if (bc->has_parent && bits / 8 > BORROW_MAX_REACH) {
        return refuse(ERANGE, why, "burst cannot be kept below a parent");
    }
    bc->parent = mb->provider_parent;
    bc->weight = mb->weight ? mb->weight : 1;
    bc->action.verb = verbs[mb->exceed];
    bc->action.arg = mb->dscp;
    return parse_gcra(GCRA_KBPS, band->rate, bits, &bc->gcra, why);
}

static int
parse_band(const struct ofputil_meter_band *band, uint16_t flags,
           enum dp_meter_types types, struct dp_band_conf *bc,
           struct ds *why)
{
    uint64_t burst = (band->burst_size ? band->burst_size
                      : MIN(band->rate, MAX_DEFAULT_BURST));

    memset(bc, 0, sizeof *bc);
    bc->action.rate = band->rate;
    if (band->type == OFPMBT13_DROP && types & DP_METER_DROP) {
        bc->action.verb = DP_BAND_DROP;
    } else if (band->type == OFPMBT13_DSCP_REMARK
               && types & DP_METER_DSCP_REMARK) {
        /* There are three drop precedences: no packet is raised further. */
        if (band->prec_level < 1 || band->prec_level > 2) {
            return refuse(EOPNOTSUPP, why, "prec_level %"PRIu8" is not 1 or 2",
                          band->prec_level);
        }
        bc->action.verb = DP_BAND_RAISE_DROP_PRECEDENCE;
        bc->action.arg = band->prec_level;
    } else if (band->type == OFPMBT13_EXPERIMENTER
               && types & DP_METER_MICROBURST) {
        return parse_microburst(band, flags, types, bc, why);
    } else {
        return refuse(ENODEV, why, "type %"PRIu16" not supported", band->type);
    }

    return (flags & OFPMF13_PKTPS
            ? parse_gcra(GCRA_PKTPS, band->rate, burst, &bc->gcra, why)
            : parse_gcra(GCRA_KBPS, band->rate, burst * 1000, &bc->gcra, why));
}

int
dp_meter_conf_parse(const struct ofputil_meter_config *config,
                    enum dp_meter_types types,
                    struct dp_band_conf bcs[DP_METER_MAX_BANDS])
{
    if (config->flags & ~SUPPORTED_FLAGS) {
        return EBADF;
    }
    if (config->n_bands > DP_METER_MAX_BANDS) {
        return EINVAL;
    }
    for (uint16_t i = 0; i < config->n_bands; i++) {
        struct ds why = DS_EMPTY_INITIALIZER;
        int error = parse_band(&config->bands[i], config->flags, types,
                               &bcs[i], &why);

        if (error) {
            VLOG_INFO_RL(&rl, "refused band %"PRIu16" of a meter: %s", i,
                         ds_cstr(&why));
        }
        ds_destroy(&why);
        if (error) {
            return error;
        }
    }
    return 0;
}
