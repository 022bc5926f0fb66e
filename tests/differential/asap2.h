/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef ASAP2_H
#define ASAP2_H 1

/* The tables of the target asap2, which must do with a packet what those of
 * the target userspace do, but for queues and meters. */

#include "outcome.h"
#include "questions.h"
#include "tables.h"
#include "world.h"

struct asap2 {
    struct ir_prog *prog;
    struct plan plan;
    struct tables *tables;      /* NULL: the target refuses the intent. */
};

/* Compiles the policy of 'c' once more.  Returns NULL, or what is wrong, in
 * its arena. */
const char *asap2_init(struct asap2 *, struct compiled *c);
void asap2_destroy(struct asap2 *);

/* Asks the question again.  Returns NULL, or how the outcome is not 'o', in
 * 'arena'. */
const char *asap2_compare(const struct asap2 *, const struct compiled *,
                          const struct question *, const struct outcome *o,
                          struct arena *arena);

#endif /* asap2.h */
