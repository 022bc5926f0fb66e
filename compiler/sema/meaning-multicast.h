/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_MEANING_MULTICAST_H
#define SEMA_MEANING_MULTICAST_H 1

/* The room behind meaning_judge() for multicast groups. */

#include <stdbool.h>

struct flow;
struct policy_network;

/* Is it for a group that 'network' carries? */
bool multicast_is_carried(const struct policy_network *network,
                          const struct flow *);

/* Is its destination MAC the one of its group? */
bool multicast_has_right_mac(const struct flow *);

#endif /* sema/meaning-multicast.h */
