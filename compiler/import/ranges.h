/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IMPORT_RANGES_H
#define IMPORT_RANGES_H 1

/* Sets of ports of one protocol, as ranges. */

#include <stddef.h>

#include "base/vec.h"
#include "intent/intent.h"

struct arena;
struct json;

VEC_TYPEDEF(port_ranges, struct port_range);

/* Adds the ports from 'first' to 'last', if there are any. */
void ranges_add(struct arena *, port_ranges *, int first, int last);

/* The same, in order, those that meet or touch joined. */
port_ranges ranges_join(struct arena *, const port_ranges *);

/* What both have, in order.  Adds to '*work' how much work that is. */
port_ranges ranges_common(struct arena *, const port_ranges *,
                          const port_ranges *, size_t *work);

/* Defines a service of these ports of "tcp" or "udp" among 'services', and
 * returns its name, which says them. */
const char *ranges_define(struct arena *, struct json *services,
                          const char *protocol, const port_ranges *);

#endif /* import/ranges.h */
