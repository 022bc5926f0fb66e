/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_FOLLOW_H
#define TELEMETRY_FOLLOW_H 1

/* Follows the telemetry of a datapath across restarts of ovs-vswitchd, and
 * while it is switched off and on. */

#include "telemetry/sample.h"

struct follower;

/* Both strings must outlive it; 'datapath' may be NULL (queue-file.h). */
struct follower *follower_create(const char *rundir, const char *datapath);
void follower_destroy(struct follower *);       /* Accepts NULL. */

/* Takes a sample, with the bursts since the one before; in the first, and
 * after a restart, all that the switch still knows.  Returns NULL, or the
 * reason why there is no telemetry now; it may be there the next time. */
const char *follower_sample(struct follower *, struct arena *,
                            struct sample *);

#endif /* telemetry/follow.h */
