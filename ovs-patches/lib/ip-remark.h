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

#ifndef IP_REMARK_H
#define IP_REMARK_H 1

/* Changes of the DS field of a packet that a meter has found in excess
 * ====================================================================
 *
 * The functions work on the outermost IP header, as the packet itself has it:
 * the EtherType right before its layer 3 offset, behind any number of VLAN
 * tags, or the packet type, says IPv4 or IPv6, the version agrees, and the
 * header is complete.  They leave every other packet as it is, including what
 * follows an MPLS label stack, whose type no field tells.  The checksum of an
 * IPv4 header is updated by RFC 1624.
 *
 * They are not thread-safe for one packet. */

#include <stdbool.h>
#include <stdint.h>

struct dp_packet;

#ifdef  __cplusplus
extern "C" {
#endif

/* Sets the DSCP (0...63) and leaves ECN alone.  Returns true if 'packet' had
 * another one. */
bool ip_remark_dscp(struct dp_packet *packet, uint8_t dscp);

/* Raises the drop precedence of an assured forwarding codepoint AFxy (RFC
 * 2597, section 6) by 'levels', to 3 at most, as the prec_level of OpenFlow
 * 1.3, section 5.7.1, asks.  Leaves other codepoints alone: there is no higher
 * drop precedence for them.  Returns true if it changed 'packet'. */
bool ip_remark_drop_precedence(struct dp_packet *packet, uint8_t levels);

/* Returns true if 'packet' may be told of congestion by CE, or has been: IP,
 * and ECN-capable (RFC 3168, section 5).  Another would have to be dropped. */
bool ip_remark_knows_ce(const struct dp_packet *packet);

/* Sets "congestion experienced", if 'packet' is ECN-capable.  Returns true if
 * it did: false if 'packet' is not ECN-capable, or had it already. */
bool ip_remark_ce(struct dp_packet *packet);

#ifdef  __cplusplus
}
#endif

#endif /* ip-remark.h */
