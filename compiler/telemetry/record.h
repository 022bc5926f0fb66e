/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_RECORD_H
#define TELEMETRY_RECORD_H 1

/* Recordings of telemetry: a line of JSON for each burst and each sample
 * (docs/json.md).
 *
 * A line is there as a whole or not at all: what has no room is taken back,
 * and what was recorded before stays.  A recorder that is killed leaves at
 * most a last line without an end, which replaying leaves out. */

#include <stdbool.h>

#include "telemetry/sample.h"

struct recorder;
struct replay;
struct tenant_names;

/* Each returns NULL, or a reason in the arena.  A file that exists is never
 * written to. */
const char *recorder_open(const char *path, struct arena *,
                          struct recorder **);
const char *recorder_put_bursts(struct recorder *, struct arena *,
                                const struct sample *,
                                const struct tenant_names *);
const char *recorder_put_sample(struct recorder *, struct arena *,
                                const struct sample *,
                                const struct tenant_names *);
void recorder_close(struct recorder *);         /* Accepts NULL. */

/* What a line says. */
struct replay_item {
    enum replay_kind {
        REPLAY_END,
        REPLAY_BURST,
        REPLAY_MISSED,
        REPLAY_SAMPLE,
    } kind;
    struct burst burst;
    struct missed missed;
    struct sample sample;       /* Without bursts. */
};

/* Reads the next line into '*item', and the names of tenants into the
 * names. */
const char *replay_open(const char *path, struct arena *, struct replay **);
const char *replay_next(struct replay *, struct arena *,
                        struct tenant_names *, struct replay_item *item);
void replay_close(struct replay *);             /* Accepts NULL. */

/* When the last burst or sample of a recording was, of what can be read, in
 * ns since 1970; 0 if there is none. */
uint64_t replay_find_end(const char *path);

/* Did the recording end within a line? */
bool replay_was_cut(const struct replay *);

#endif /* telemetry/record.h */
