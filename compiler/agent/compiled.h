/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_COMPILED_H
#define AGENT_COMPILED_H 1

/* The intent of a node, read from its files, compiled, and kept.
 *
 * When the file of one tenant changes, that alone is read and its part
 * compiled (resident/resident.h).  Whatever else changes, all files are read
 * again.  An intent that is wrong changes nothing: the last good one stays,
 * and until all is right again nothing of it is taken, for an intent is right
 * as a whole or not at all.
 *
 * Endpoints of the node whose interface the bridge lacks are left out, as
 * "apply --partial" does, until it is there.  Interfaces may say whose they
 * are (push/attached.h). */

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"
#include "resident/resident.h"

struct bridge_info;
struct compiled;
struct plan_record;

/* What a change has made of the plan. */
enum compiled_news {
    COMPILED_SAME,
    COMPILED_CHANGED,           /* By the "struct resident_diff". */
    COMPILED_ANEW,              /* See compiled_plan(). */
};

/* 'names' are absolute and must outlive it, as must 'node' and 'bridge'. */
struct compiled *compiled_create(const char *const names[], size_t n,
                                 const char *node, const char *bridge);
void compiled_destroy(struct compiled *);       /* Accepts NULL. */

/* Is the intent in the files right, were all interfaces there?  If not,
 * compiled_errors() says why.  Nothing of it is kept. */
bool compiled_try(struct compiled *);

/* Reads all files. */
enum compiled_news compiled_load(struct compiled *,
                                 const struct bridge_info *);

/* Reads the file 'path', which has changed; or, if it is more than a tenant's
 * that was there before, all. */
enum compiled_news compiled_load_file(struct compiled *, const char *path,
                                      const struct bridge_info *,
                                      struct resident_diff *);

/* Looks for a tenant with an interface that has come or gone.  To be called
 * until it returns COMPILED_SAME. */
enum compiled_news compiled_bind(struct compiled *, const struct bridge_info *,
                                 struct resident_diff *);

/* Has a file changed that something waited for which is left out?  Then
 * compiled_bind() is to be called, though the bridge is as it was. */
bool compiled_wants_bind(const struct compiled *);

/* Is there anything compiled? */
bool compiled_is_ready(const struct compiled *);

/* Makes 'record', but for the place and time, of what is compiled, in
 * 'arena'.  It is good until the next change. */
void compiled_plan(const struct compiled *, struct plan *, struct arena *);
void compiled_record(const struct compiled *, struct plan_record *,
                     struct plan *, struct arena *);

/* The intent that is compiled, as interfaces bind it: good until the next
 * change. */
struct intent;
const struct intent *compiled_intent(const struct compiled *, struct arena *);

/* proved_begin() of what is compiled. */
struct proved;
void compiled_begin_proof(struct compiled *, struct proved *);

/* Adds to 'bound', by interface, the name of what it is bound to; and to
 * 'claimed' those interfaces that have said so themselves.  If that of some
 * tenants only can have changed since it was as of 'since', returns true, adds
 * theirs only, and their names to 'changed'. */
struct smap;
struct sset;
bool compiled_bound(const struct compiled *, unsigned int since,
                    struct smap *bound, struct sset *claimed,
                    struct sset *changed);

/* Grows when that may have changed; 0: nothing was compiled yet. */
unsigned int compiled_bound_seqno(const struct compiled *);

/* Why the intent is not the one in the files, as text for people; or NULL. */
const char *compiled_errors(const struct compiled *);

/* "TENANT/ENDPOINT (INTERFACE)" of those that are left out; and what
 * interfaces say and cannot be, as attached_refused() puts it. */
void compiled_missing(const struct compiled *, struct arena *, plan_names *);
bool compiled_is_partial(const struct compiled *);      /* Are there any? */
void compiled_refused(const struct compiled *, struct arena *, plan_names *);

/* Is the endpoint bound by an interface that is there?  If not, stores why
 * what the interface says cannot be, or NULL. */
bool compiled_is_attached(const struct compiled *, const char *endpoint,
                          const char **reason);

void compiled_stats(const struct compiled *, struct resident_stats *);

#endif /* agent/compiled.h */
