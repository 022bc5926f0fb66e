/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef INTENT_UNITS_H
#define INTENT_UNITS_H 1

/* Quantities with their unit written: "100Gbps", "64KiB", "2Mpps", "512pkt",
 * "10us".
 *
 * Rates count the bytes of Ethernet frames from the destination address to
 * the end of the payload: no FCS, no preamble, no gap.  Rate prefixes are
 * decimal; a KB is 1000 bytes, a KiB 1024; a kpkt is 1000 packets. */

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct ds;

/* Each parses the whole of 's' into '*n' (bits per second, bytes, packets per
 * second, packets, or nanoseconds) and returns NULL, or returns the reason why
 * not.  A fraction is fine as long as the result is whole. */
typedef const char *quantity_parser(const char *s, uint64_t *n);
quantity_parser parse_rate, parse_bytes, parse_packet_rate, parse_packets,
    parse_duration;

/* What may be meant by 's', which the parser refuses: with another case of
 * letters, without blanks or separators.  NULL if nothing is near. */
const char *suggest_quantity(const char *s, quantity_parser *, struct arena *);

/* Each appends 'n' in the largest unit of which it is a whole number. */
void format_rate(uint64_t n, struct ds *);
void format_bytes(uint64_t n, struct ds *);
void format_packet_rate(uint64_t n, struct ds *);
void format_packets(uint64_t n, struct ds *);

#endif /* intent/units.h */
