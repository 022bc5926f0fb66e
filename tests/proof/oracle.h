/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef ORACLE_H
#define ORACLE_H 1

/* A token bucket to compare others with
 * =====================================
 *
 * Written from RFC 2697, section 3 (the committed bucket "Tc") and OpenFlow
 * 1.3, section 5.7, in their own terms: tokens and the time they were counted.
 * It shares nothing with the code that it judges, not even the units: its
 * token is 1e-9 bit, or 1e-9 packet, so what it gains in a nanosecond is the
 * rate in bit/s, or packets/s.  Sums have 128 bits, and nothing is rounded.
 *
 * Times that run backward, as those of several threads do, have no meaning in
 * an RFC.  Here a packet with an old time conforms if the bucket then held
 * enough, less all that was taken since.  So the order of the calls does not
 * change what may pass in any interval of the times passed in.  */

#include <stdbool.h>
#include <stdint.h>

typedef __int128 tokens_t;

struct oracle {
    bool pktps;                 /* Counts packets, else bits. */
    tokens_t rate;              /* Tokens gained in a ns. */
    tokens_t size;              /* Tokens at most. */
    tokens_t tokens;            /* Tokens at 'last'. */
    uint64_t last;              /* Latest time of what was admitted. */
};

/* Makes '*o' a full bucket.  'rate' is in kbps, or packets/s if 'pktps';
 * 'burst' in bits, or packets. */
void oracle_init(struct oracle *o, bool pktps, uint64_t rate, uint64_t burst,
                 uint64_t now);

/* Changes the contract.  What is missing from a full bucket stays, but at most
 * the new size; if the unit changes then the bucket has no tokens.  If more
 * than all is missing at an old 'now' then the change is when all is. */
void oracle_reconfigure(struct oracle *o, bool pktps, uint64_t rate,
                        uint64_t burst, uint64_t now);

/* What 'n_packets' packets of 'n_bytes' bytes in all cost. */
tokens_t oracle_cost(const struct oracle *, uint64_t n_packets,
                     uint64_t n_bytes);

/* Tokens at 'now'; for an old time there may be less than none. */
tokens_t oracle_tokens(const struct oracle *, uint64_t now);

/* Takes the packets' tokens and returns true, if there are enough. */
bool oracle_take(struct oracle *, uint64_t now, uint64_t n_packets,
                 uint64_t n_bytes);

/* First time, not before the last admission, at which the packets conform;
 * UINT64_MAX if they never do. */
uint64_t oracle_when(const struct oracle *, uint64_t n_packets,
                     uint64_t n_bytes);

/* Tokens missing at 'now', in the units of gcra.h. */
uint64_t oracle_gcra_depth(const struct oracle *, uint64_t now);

/* Arrival curve: what passes in any interval is at most the burst plus the
 * rate times the interval.  It needs no bucket to be checked: of all the
 * intervals that end with this packet, that which starts at the least value of
 * "passed before, less rate times time" is the worst. */
struct curve {
    tokens_t rate;
    tokens_t passed;
    tokens_t low;               /* Least of 'passed' - 'rate' * time. */
    tokens_t worst;             /* Most that passed above rate * interval. */
};

void curve_init(struct curve *, tokens_t rate);

/* 'cost' tokens passed at 'when', which must not run backward. */
void curve_add(struct curve *, uint64_t when, tokens_t cost);

#endif /* oracle.h */
