/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_JOURNAL_H
#define PUSH_JOURNAL_H 1

/* The journal beside the record of what was applied last: edits of that record
 * (plan_edit_format() in plan/record.h), so that a change is kept before it is
 * made, for what the change costs and not the whole.
 *
 * A record names its journal, and is trusted only together with it.  So whoever
 * applies what no edit can say removes the journal first: whatever happens
 * then, what is kept is not taken for what was applied.  That needs no room on
 * the disk.
 *
 * The journal is a file NAME.journal.  A line is an edit behind the SHA-1 of
 * that of the line before (at first: of the name) and of the edit.  A last line
 * without an end was being written when all ended, so it was never applied.
 * The lines are not synced: a power failure, after which the switch holds
 * nothing, may take the last ones with it. */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "plan/plan.h"

struct journal;

/* Begins a journal in 'dir', for a record that is to be written.  Returns NULL,
 * or a reason in the arena. */
const char *journal_create(const char *dir, struct arena *,
                           struct journal **);

/* That of a record, to be removed. */
struct journal *journal_open(const char *dir, const char *name);

const char *journal_name(const struct journal *);

/* Bytes that were appended. */
size_t journal_size(const struct journal *);

/* Returns an errno value: then nothing more may be appended, and the caller
 * must remove it. */
int journal_append(struct journal *, const char *edit);

/* Each accepts NULL.  One that is closed stays for its record. */
void journal_close(struct journal *);
void journal_remove(struct journal *);

/* Reads the edits of the record that names 'name'.  Returns NULL, or a reason
 * why it cannot be trusted. */
const char *journal_read(const char *dir, const char *name, struct arena *,
                         plan_names *edits);

/* Removes a journal by its name, or all but one. */
void journal_unlink(const char *dir, const char *name);
void journal_sweep(const char *dir, const char *but);

#endif /* push/journal.h */
