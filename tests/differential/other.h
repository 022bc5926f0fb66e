/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OTHER_H
#define OTHER_H 1

/* The tables of the targets asap2 and kernel, which must do with a packet what
 * those of the target userspace do, but for meters.  Of queues the former has
 * none; the latter has those of classes, and by tunnel that of the tenant that
 * sends. */

#include "outcome.h"
#include "questions.h"
#include "tables.h"
#include "world.h"

enum { N_OTHERS = 2 };

struct other {
    const struct backend *backend;
    struct ir_prog *prog;
    struct plan plan;
    struct tables *tables;      /* NULL: the target refuses the intent. */
};

/* Compiles the policy of 'c' once more, for each.  Returns NULL, or what is
 * wrong, in its arena. */
const char *others_init(struct other others[N_OTHERS], struct compiled *c);
void others_destroy(struct other others[N_OTHERS]);

/* Asks each the question again.  Returns NULL, or how the outcome is not 'o',
 * in 'arena'. */
const char *others_compare(const struct other others[N_OTHERS],
                           const struct compiled *, const struct question *,
                           const struct outcome *o, struct arena *arena);

#endif /* other.h */
