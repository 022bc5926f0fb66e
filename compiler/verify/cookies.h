/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_COOKIES_H
#define VERIFY_COOKIES_H 1

/* How many flows have which cookie, so that one that nobody should have any
 * more is found without asking all flows. */

#include "openvswitch/hmap.h"
#include "verify/tables.h"

struct cookies {
    struct hmap counts;         /* Contains "struct cookie_count"s. */
};

void cookies_init(struct cookies *, const struct table_set *);
void cookies_destroy(struct cookies *);

void cookies_add(struct cookies *, uint64_t cookie);
void cookies_remove(struct cookies *, uint64_t cookie);
bool cookies_hold(const struct cookies *, uint64_t cookie);

#endif /* verify/cookies.h */
