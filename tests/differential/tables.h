/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TABLES_H
#define TABLES_H 1

/* A plan's flows in libopenvswitch's classifier, and a small interpreter of
 * the actions that they have.
 *
 * Connection tracking is what the question says: the first ct() gives the
 * packet the state in the zone of the sender's tenant, each further one that
 * in the receiver's. */

#include "outcome.h"
#include "questions.h"
#include "world.h"

struct tables;

/* Returns NULL and a reason in the plan's arena if the flows cannot be loaded.
 * The program and the plan must outlive the tables. */
struct tables *tables_create(const struct ir_prog *, const struct plan *,
                             const char **reason);
void tables_destroy(struct tables *);       /* Accepts NULL. */

void tables_run(const struct tables *, const struct question *,
                struct outcome *);

/* The ct_state bits of the question's packet if it is of that connection. */
uint8_t connection_ct_state(const struct question *, enum connection);

#endif /* tables.h */
