/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H 1

/* One node kept equal to its intent: what changes in the files, on the bridge
 * or in the database is taken from one to the other (agent/compiled.h,
 * push/keep.h). */

#include <stdbool.h>

#include "push/push.h"

struct agent;
struct bridge_attachment;
struct ds;
struct json;

struct agent_options {
    const char *const *names;   /* Of the intent's files and folders,
                                 * absolute. */
    size_t n_names;
    const char *node;
    bool verify;                /* All is proved before it is pushed. */
    int verify_ms;              /* For a proof. */
    struct push_target target;
};

/* Why the intent in the files cannot be what a bridge holds, as text for
 * people, which the caller must free; or NULL.  Asks no bridge. */
char *agent_try(const struct agent_options *);

/* What 'options' says must outlive it. */
struct agent *agent_create(const struct agent_options *);

/* Keeps what is not kept yet, if that takes but a few seconds. */
void agent_destroy(struct agent *);

void agent_run(struct agent *);
void agent_wait(struct agent *);

/* Have the files been read? */
bool agent_is_ready(const struct agent *);

/* Reads all files at the next agent_run(). */
void agent_reload(struct agent *);

/* Begins to keep what the bridge holds, as apply does, if it is not kept
 * yet. */
void agent_save(struct agent *);

/* Has that ended?  Then stores NULL, or why it cannot be kept: good until the
 * next agent_run(). */
bool agent_has_saved(const struct agent *, const char **reason);

/* Has the bridge what an interface says of the endpoint of 'said'?  "yes",
 * "no", or "not yet"; if it never will, stores why.  Not yet also is what is
 * known of the database if that is not what 'said' says: which interface says
 * so, and what else; or, if that is "", that none does; NULL: whatever is. */
const char *agent_attached(const struct agent *,
                           const struct bridge_attachment *said,
                           const char **reason);

/* How things are: appended as text for people, or as an object. */
void agent_status(const struct agent *, struct ds *);
struct json *agent_status_json(const struct agent *);

/* In a few words. */
const char *agent_summary(const struct agent *);

#endif /* agent/agent.h */
