/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_JOURNAL_H
#define PUSH_JOURNAL_H 1

/* The journal beside the record of what was applied last: edits of that record
 * (plan/record-edit.h), so that a change is kept before it is
 * made, for what the change costs and not the whole.
 *
 * A record names its journal, and is trusted only together with it.  So who
 * applies what no edit can say takes the journal away first: whatever happens
 * then, what is kept is not taken for what was applied.  That needs no room on
 * the disk.
 *
 * The journal is a file NAME.journal.  A line is a list of edits that were
 * applied together, behind the SHA-1 of that of the line before (at first: of
 * the name) and of the list.  A last line without an end was being written
 * when all ended, so it was never applied.  The lines are not synced: a power
 * failure, after which the switch holds nothing, may take the last ones with
 * it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "plan/plan.h"

struct journal;

/* Begins a journal in 'dir', for a record that is to be written.  Returns
 * NULL, or a reason in the arena. */
const char *journal_create(const char *dir, struct arena *,
                           struct journal **);

/* That of a record, to be removed. */
struct journal *journal_open(const char *dir, const char *name);

const char *journal_name(const struct journal *);

/* Bytes that were appended. */
size_t journal_size(const struct journal *);

/* Is it still there?  What keeps another generation removes it first. */
bool journal_is_there(const struct journal *);

/* Appends a line.  Returns an errno value: then nothing more may be appended,
 * and the caller must remove it. */
int journal_append(struct journal *, const char *edits);

/* Each accepts NULL.  One that is closed stays for its record; one that is
 * removed is gone for good, or the errno value says why not. */
void journal_close(struct journal *);
int journal_remove(struct journal *);

/* Reads the edits of the record that names 'name', all or those of the first
 * 'size' bytes.  Returns NULL, or a reason why it cannot be trusted. */
#define JOURNAL_ALL SIZE_MAX
const char *journal_read(const char *dir, const char *name, size_t size,
                         struct arena *, plan_names *edits);

/* Takes a journal away as long as it is open what will be applied, and brings
 * it back. */
void journal_hide(const char *dir, const char *name);
void journal_show(const char *dir, const char *name);

/* Removes a journal by its name, or all but one.  Where a file cannot be
 * removed, it is made one that is not trusted, by what is in it, or by a file
 * bulkhead-NAME.void in the run directory, where its file system is read-only;
 * if that fails, too, the former returns an errno value. */
int journal_unlink(const char *dir, const char *name);
void journal_sweep(const char *dir, const char *but);

#endif /* push/journal.h */
