/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef RESIDENT_RESIDENT_H
#define RESIDENT_RESIDENT_H 1

/* The compilation of one node, kept, so that a change of one tenant compiles
 * that tenant and not the whole.
 *
 * The tenants are divided into parts that have nothing to do with each other:
 * a part is a tenant and all whom its "peers" or a peering join with it, and
 * whom those join.  A part is compiled as an intent of its own, with the
 * fabric, classes and services of the whole, by the same functions as the
 * whole.  The plan of the node is the union of the plans of its parts.
 *
 * What parts share is kept in a table, see facts.h: flows, meters, and claims
 * (sema/claim.h) such as numbers and zones, each with how many parts hold it.
 * Two parts that want the same number, the same flow with other actions, or
 * anything else that can be had once, are compiled together as one part: then
 * the one moves or is refused as in the whole.
 *
 * What is not known to be of one tenant alone makes all tenants one part
 * ("whole"), and that is said: a member of the intent that known.c does not
 * list; a peering of tenants that are not there by name; a sum that comes near
 * a limit of the target; a part that is refused although the whole is not.
 * resident_create() also compares the parts with the whole, once.
 *
 * Whoever extends the language does nothing here, and it stays right; it is
 * also quick again once
 *
 *   - known.c lists the new member: only if what it says is of the tenant that
 *     says it, of those that its "peers" or a peering name, or the same for
 *     every part (as classes are);
 *   - what it takes once in the node or fabric is a claim: numbers of
 *     ident_take() are, and what check-addressing.c looks for once();
 *   - what is summed up over tenants and has a limit is a share
 *     (sema/claim.h), or, if the target has it, in "struct usage";
 *   - tests/differential/edits makes it: that compares all this with whole
 *     compilations.
 *
 * Memory: what is compiled lives in an arena that goes with the change, or,
 * for resident_take_policy(), with the next.  Kept are the intents of the
 * tenants, one arena each, and the facts that the parts hold; both go when
 * they are replaced. */

#include <stdbool.h>
#include <stddef.h>

#include "intent/intent.h"
#include "plan/plan.h"

struct backend;
struct diags;
struct policy;
struct resident;

/* What a change changes on the switch: as plan_compare() of the whole before
 * and after says.  Good until the next change. */
struct resident_diff {
    plan_flows added, changed, deleted;     /* In the order of flows. */
    plan_flows replaced;        /* What 'changed' were. */
    plan_meters meters_added, meters_deleted;   /* plan_compare_meters() */
    const struct plan *notes_gone, *notes_come;     /* plan_copy_notes() of the
                                                     * parts that were and are;
                                                     * NULL: there are none. */
    const char *tenant;         /* Which was put, or removed; NULL: none. */
    bool alone;                 /* Was only that one compiled? */
};

/* Appends it as an edit of the record of what was before, made at 'time',
 * which makes of one that 'was_partial' a 'partial' one: see
 * plan_edit_format() in plan/record-edit.h.  Returns false if no edit says
 * it. */
struct ds;
bool resident_diff_format(const struct resident_diff *, const char *time,
                          bool was_partial, bool partial, struct ds *);

struct resident_stats {
    size_t changes;             /* That were made or refused. */
    size_t compilations;        /* Of parts, for them. */
    size_t tenants;             /* In those parts. */
    size_t wholes;              /* Compilations of the whole. */
    size_t parts;               /* That there are now. */
    const char *whole;          /* Why there is only one; or NULL. */
};

/* Compiles 'intent' for 'node', which it has.  Both must outlive what is
 * returned, and 'backend', whose plans are flows and meters.  Returns NULL
 * after adding at least one error to 'diags' if it is refused. */
struct resident *resident_create(const struct intent *, const char *node,
                                 const struct backend *, struct diags *);
void resident_destroy(struct resident *);       /* Accepts NULL. */

/* Puts 'tenant' in the place of the one of its name, or adds it.  'arena',
 * which holds it, is the resident's then.  Returns false after adding at least
 * one error to 'diags', with nothing changed and 'arena' still the caller's,
 * if that makes the whole wrong or too large.  Warnings are those about what
 * was compiled. */
bool resident_put(struct resident *, const struct intent_tenant *tenant,
                  struct arena *arena, struct diags *, struct resident_diff *);

/* The same, for taking a tenant away; one that is not there changes nothing.
 * One whose bindings stand apart in the intent stays. */
bool resident_remove(struct resident *, const char *tenant, struct diags *,
                     struct resident_diff *);

/* Makes 'plan', in 'arena', of all that the node holds: the flows as
 * plan_finish() sorts them, the meters as plan_compare_meters() does, all else
 * in no order.
 * The strings of flows and meters are good until the next change. */
void resident_plan(const struct resident *, struct plan *, struct arena *);

/* The intent that is compiled: good until the next change. */
const struct intent *resident_intent(const struct resident *, struct arena *);

/* Of what the last change compiled anew, if that was one tenant, what
 * policy_resolve() said.  It lies in '*arena', which the caller must destroy,
 * and refers to the intents of tenants, so it is good until the next change.
 * NULL if there is none, or if it has been taken; '*arena' is NULL then. */
const struct policy *resident_take_policy(struct resident *,
                                          struct arena **arena);

void resident_stats(struct resident *, struct resident_stats *);

#endif /* resident/resident.h */
