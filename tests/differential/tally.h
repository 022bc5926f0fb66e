/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TALLY_H
#define TALLY_H 1

/* What the questions of a run were about, so that a run that never asked
 * about something says so. */

#include <stdbool.h>
#include <stddef.h>

#include "questions.h"
#include "world.h"

enum { MAX_TALLY_ITEMS = 120 };

struct tally {
    bool live;
    size_t intents, flows, packets;
    struct tally_item {
        const char *group, *name;
        size_t n;
    } items[MAX_TALLY_ITEMS];   /* All that must occur, by groups. */
    size_t n_items;
};

void tally_init(struct tally *, bool live);
void tally_count(struct tally *, const struct compiled *,
                 const struct question *);
void tally_print(const struct tally *, const char *judge);

/* Has all of it occurred?  Prints what has not. */
bool tally_is_complete(const struct tally *, const char *judge);

#endif /* tally.h */
