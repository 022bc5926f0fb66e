/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_RECORD_H
#define PLAN_RECORD_H 1

/* A plan with all that belongs to it, as one text: what "plan -o" saves, and
 * what the node keeps of the plans that were applied.
 *
 * The first line has the version of the form and the SHA-1 of the rest, which
 * is JSON.  So what was cut short, damaged or written by another program is
 * never taken for a plan.  The hash is no signature: who may write the file
 * may write another plan. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/vec.h"
#include "plan/plan.h"

struct ds;

VEC_TYPEDEF(generation_vec, uint64_t);

/* SHA-1s are in hexadecimal. */
struct plan_record {
    const char *bridge;
    uint64_t generation;        /* Of the plan; of one that is only saved, that
                                 * of the bridge when it was made. */
    const char *time;           /* When it was applied or saved, ISO 8601. */
    const char *intent;         /* SHA-1 of intent_print(); NULL: of none. */
    plan_names files;           /* The intent's files and folders, absolute. */
    bool partial;               /* Made with --partial. */
    bool verified;              /* Its flows were proved before they were
                                 * applied. */
    plan_names proved;          /* Digests of what was, of this plan or of
                                 * those before; see verify/verify.h. */
    const char *held;           /* What the bridge held (push_diff.held) when
                                 * the plan was saved; else NULL. */
    const char *journal;        /* The name of the journal beside the record
                                 * (push/journal.h), or NULL. */
    bool edited;                /* Was it read with edits? */
    const struct plan *plan;
};

/* Begins 'text' as a record does? */
bool plan_record_is(const char *text, size_t len);

void plan_record_format(const struct plan_record *, struct ds *);

/* Everything is copied to the arena.  Returns NULL, or a reason that begins
 * with a verb: "is cut short". */
const char *plan_record_parse(const char *text, size_t len, struct arena *,
                              struct plan_record *);

/* The same of a record with what the edits of its journal have made of it
 * since: if there are any, what comes out is of the next generation, and of no
 * intent's hash.  'read', if it is not NULL, is called with a record without
 * its lists, and adds the edits, or returns why the record is not to be read.
 */
typedef const char *plan_edits_cb(const struct plan_record *, void *aux,
                                  plan_names *edits);
const char *plan_record_parse_edited(const char *text, size_t len,
                                     plan_edits_cb *read, void *aux,
                                     struct arena *, struct plan_record *);

/* A time as 'time' has it. */
const char *plan_record_time(struct arena *, time_t);

/* The SHA-1 of 'len' bytes. */
const char *plan_hash(struct arena *, const void *, size_t len);

#endif /* plan/record.h */
