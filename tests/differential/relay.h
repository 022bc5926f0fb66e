/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef RELAY_H
#define RELAY_H 1

/* From node to node: what the tables of one send into a tunnel, the tables of
 * the other must take and deliver. */

#include "outcome.h"
#include "questions.h"
#include "tables.h"
#include "world.h"

/* The other nodes of a world, compiled when they are first asked. */
struct relay {
    const struct world *world;
    struct {
        struct compiled compiled;
        struct tables *tables;
        bool ready;
    } nodes[MAX_NODES];
};

void relay_init(struct relay *, const struct world *);
void relay_destroy(struct relay *);

/* If 'o', which became of 'q' on the node of 'c', left by tunnel: asks the
 * node that it went to.  Returns NULL if that delivers it as the policy says,
 * to the receiver and with the headers that the sender's node means. */
const char *relay_compare(struct relay *, const struct compiled *,
                          const struct question *, const struct outcome *);

#endif /* relay.h */
