/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef LIVE_H
#define LIVE_H 1

/* "ofproto/trace" on a switch that runs, through one control connection.
 *
 * The bridge must have the interfaces that worlds bind, with their port
 * numbers (see world.h). */

#include "outcome.h"
#include "questions.h"
#include "world.h"

struct live;

/* 'db' is OVSDB's, 'unixctl' ovs-vswitchd's control socket.  Returns NULL and
 * a reason if the switch cannot be reached. */
struct live *live_open(const char *db, const char *unixctl,
                       const char *bridge, const char **reason);
void live_close(struct live *);

/* Makes the bridge hold 'plan'.  Returns NULL or a reason in its arena. */
const char *live_load(struct live *, const struct plan *);

/* Asks the switch, which holds the plan of 'compiled'.  The question is one
 * that question_restrict() has seen. */
void live_run(struct live *, const struct compiled *, const struct question *,
              struct outcome *);

#endif /* live.h */
