/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_RECORD_EDIT_H
#define PLAN_RECORD_EDIT_H 1

/* Edits of a record's lists, as JSON: what plan_edit_format() writes is an
 * object with the members "gone" and "come", each an object that has, by the
 * name of a list, the items that left it and those that joined it. */

#include <stdbool.h>

#include "plan/plan.h"

struct ds;
struct json;

/* What a change makes of a record: items that leave its plan and those that
 * join it.  What changes does both. */
struct plan_edit {
    const char *time;           /* As plan_record has them. */
    bool was_partial, partial;
    plan_flows flows_gone, flows_come;
    plan_meters meters_gone, meters_come;
    const struct plan *notes_gone, *notes_come;     /* As plan_copy_notes()
                                                     * makes; or both
                                                     * NULL. */
};

/* Appends the edit as one line of JSON, without a newline, or nothing if all
 * stays as it was.  Returns false, and appends nothing, if something changes
 * that a plan has once, as its tunnel: then no edit can say it. */
bool plan_edit_format(const struct plan_edit *, struct ds *);

/* Carries out lists of edits, which are JSON, one after the other on 'record',
 * and stores the last edit in '*last', which the caller must destroy, unless
 * there was none.  Returns false if one of them is not of what the record
 * holds: then nothing can be said of the record. */
bool record_edit(struct json *record, const plan_names *edits,
                 struct json **last);

#endif /* plan/record-edit.h */
