/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_WILDCARDS_H
#define OFFLOAD_WILDCARDS_H 1

/* What a megaflow matches whatever the tables look at, and what it cannot. */

struct flow;
struct flow_wildcards;

/* The bits that are always looked at, as xlate_wc_init() and tnl_wc_init()
 * have them. */
void wildcards_init(struct flow_wildcards *, const struct flow *);

/* Takes out what is no part of a megaflow, or of this packet, as
 * xlate_wc_finish() does. */
void wildcards_finish(struct flow_wildcards *, const struct flow *);

#endif /* offload/wildcards.h */
