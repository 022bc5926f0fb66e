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

#ifndef OFP_MICROBURST_H
#define OFP_MICROBURST_H 1

/* The "microburst" meter band: wire format and text
 * =================================================
 *
 * These functions do for a band of type microburst what ofp-meter.c does for
 * the standard types of bands, and only ofp-meter.c calls them.  The band is
 * described with struct ofputil_microburst in openvswitch/ofp-meter.h, its
 * wire format in bulkhead-ext.h, and its text in ovs-ofctl(8) under "Meter
 * Syntax".
 *
 * What is valid is decided in one place, ofputil_check_microburst(), for both
 * of them.  A band that passed it survives a trip over the wire, or through
 * text, unchanged. */

#include <stdbool.h>
#include <stddef.h>

#include "openflow/openflow.h"
#include "openvswitch/compiler.h"
#include "openvswitch/ofp-errors.h"

struct ds;
struct ofpbuf;
struct ofputil_meter_band;
struct ofputil_microburst_bursts;

/* Decodes the experimenter band of 'len' bytes at 'ombe', in a meter with
 * 'flags', into '*mb'.  'len' is at least the length of the structure, and
 * that many bytes must be readable.
 *
 * Returns 0 if successful, OFPERR_OFPMMFC_BAD_BAND if this is an experimenter
 * band but not of type microburst, otherwise another OFPERR_* that says what
 * is wrong with it. */
enum ofperr ofputil_decode_microburst(
    const struct ofp13_meter_band_experimenter *ombe, size_t len,
    enum ofp13_meter_flags flags, struct ofputil_meter_band *mb);

/* Appends '*mb' to 'msg'. */
void ofputil_put_microburst(const struct ofputil_meter_band *mb,
                            struct ofpbuf *msg);

/* Checks that the members of '*mb' make sense together in a meter with
 * 'flags'.
 *
 * Returns 0 if they do.  Otherwise returns an OFPERR_* and points '*whyp' to a
 * constant string for the user. */
enum ofperr ofputil_check_microburst(const struct ofputil_meter_band *mb,
                                     enum ofp13_meter_flags flags,
                                     const char **whyp);

/* Appends to 's' the band's description without its "type=". */
void ofputil_format_microburst(struct ds *s,
                               const struct ofputil_meter_band *mb);

/* Parses 'value' as the member 'name' that the standard bands do not have into
 * '*mb', which may be a band of another type.
 *
 * Returns NULL if successful, otherwise a malloc()'d string describing the
 * error. */
char *ofputil_parse_microburst_member(struct ofputil_meter_band *mb,
                                      const char *name, const char *value)
    OVS_WARN_UNUSED_RESULT;

/* Length of '*bursts' on the wire, a multiple of 8; 0 if it is not there. */
size_t ofputil_bursts_len(const struct ofputil_microburst_bursts *);

/* Writes that many bytes to 'p', which has the alignment of an uint64_t. */
void ofputil_put_bursts(const struct ofputil_microburst_bursts *, void *p);

/* Reads '*bursts', which the caller has zeroed, from what follows the counters
 * of a band: 'len' bytes at 'p', which has the alignment of an uint64_t.
 * Leaves it alone if it is not there.  Returns false if 'len' is wrong. */
bool ofputil_get_bursts(const void *p, size_t len,
                        struct ofputil_microburst_bursts *bursts);

/* Appends lines about '*bursts' to 's', if it is there. */
void ofputil_format_bursts(struct ds *s,
                           const struct ofputil_microburst_bursts *);

#endif /* ofp-microburst.h */
