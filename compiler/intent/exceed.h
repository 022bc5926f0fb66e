/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef INTENT_EXCEED_H
#define INTENT_EXCEED_H 1

/* What becomes of packets that exceed rate and burst of a microburst band
 * (docs/meters.md), as a number of 8 bits. */

#include <stdbool.h>
#include <stdint.h>

struct ds;

enum {
    EXCEED_DROP = 0,
    EXCEED_ECN = 1,             /* CE if ECN-capable, else dropped. */
    EXCEED_PASS = 2,
    EXCEED_DSCP = 64,           /* And N: they pass with DSCP N, 0 to 63. */
    N_EXCEEDS = EXCEED_DSCP + 64,
};

/* Is it one of the above? */
static inline bool
exceed_is_valid(uint8_t exceed)
{
    return (exceed <= EXCEED_PASS
            || (exceed >= EXCEED_DSCP && exceed < N_EXCEEDS));
}

/* Parses the whole of 's', "drop", "ecn", "pass" or "dscp:N"; false if it is
 * none of these. */
bool exceed_parse(const char *s, uint8_t *exceed);

/* Appends it as exceed_parse() takes it. */
void exceed_format(uint8_t exceed, struct ds *);

#endif /* intent/exceed.h */
