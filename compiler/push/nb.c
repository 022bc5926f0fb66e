/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb.h"

#include <inttypes.h>
#include <string.h>

#include "push/nb-idl.h"
#include "push/nb-private.h"
#include "push/state.h"
#include "util.h"

bool
nb_diff_is_of_rows(const struct nb_diff *diff)
{
    return diff->added || diff->changed || diff->deleted;
}

bool
nb_diff_is_empty(const struct nb_diff *diff)
{
    return !nb_diff_is_of_rows(diff) && !diff->unfit.n && !diff->foreign.n;
}

/* One run. */
struct run {
    const struct nb_target *target;
    struct arena *arena;
    struct nb_database db;
    struct nb_comparison comparison;
    struct state state;
    struct nb_diff *diff;
};

static void
note_kept(struct run *run)
{
    run->diff->kept = run->state.current;
    run->diff->generations = run->state.kept;
    run->diff->warnings = run->state.warnings;
}

/* What is set for all of OVN, and undoes what ACLs of ours allow. */
static void
note_options(struct run *run)
{
    const struct nbrec_nb_global *global = nbrec_nb_global_first(run->db.idl);

    if (smap_get_bool(&global->options, "default_acl_drop", false)) {
        *vec_push(run->arena, &run->state.warnings)
            = "\"default_acl_drop\" is set, by which OVN drops what the "
            "intent allows: ovn-nbctl remove NB_Global . options "
            "default_acl_drop";
    }
}

/* Reads what the node keeps of the database. */
static void
read_state(struct run *run)
{
    state_read(&run->state, run->target->state, run->diff->name, run->arena);
    run->state.what = run->db.place;
    note_options(run);
    note_kept(run);
}

/* Compares, again if it has before. */
static const char *
compare(struct run *run, const struct plan *plan)
{
    const char *unknown = nb_find_unknown(plan, run->arena);

    if (unknown) {
        return arena_printf(run->arena, "%s: the schema that Bulkhead was "
                            "built with has no place for the %s that the plan "
                            "has", run->db.place, unknown);
    } else if (run->comparison.db) {
        nb_comparison_destroy(&run->comparison);
    }
    nb_compare(&run->comparison, &run->db, plan, run->diff);
    read_state(run);
    return NULL;
}

/* Opens the database and compares. */
static const char *
begin(struct run *run, const struct nb_target *target,
      const struct plan *plan, bool write, struct arena *arena,
      struct nb_diff *diff)
{
    const char *reason;

    memset(diff, 0, sizeof *diff);
    memset(run, 0, sizeof *run);
    run->target = target;
    run->arena = arena;
    run->diff = diff;
    reason = nb_database_open(&run->db, target, write, arena);
    diff->place = run->db.place;
    return reason ? reason : compare(run, plan);
}

static struct plan *
make_nothing(struct arena *arena)
{
    struct plan *nothing = arena_zalloc(arena, sizeof *nothing);

    plan_init(nothing, arena, "", "");
    nothing->northbound = true;
    return nothing;
}

/* As begin(), of what the node keeps, whichever that is. */
static const char *
begin_kept(struct run *run, const struct nb_target *target, bool write,
           struct arena *arena, struct nb_diff *diff)
{
    return begin(run, target, make_nothing(arena), write, arena, diff);
}

static void
end(struct run *run)
{
    if (run->comparison.db) {
        nb_comparison_destroy(&run->comparison);
    }
    nb_database_close(&run->db);
}

/* Has the database moved since the order was saved? */
static const char *
check_order(const struct run *run, const struct plan_record *order)
{
    const struct nb_diff *diff = run->diff;

    if (!order->held) {
        return NULL;
    } else if (strcmp(order->bridge, diff->name)) {
        return arena_printf(run->arena, "%s is another database than the one "
                            "that the plan was made for", diff->place);
    } else if (order->generation != diff->generation) {
        return arena_printf(run->arena, "%s is at generation %"PRIu64", and "
                            "the plan was made at %"PRIu64"; make it anew",
                            diff->place, diff->generation, order->generation);
    }
    return (strcmp(order->held, nb_hash(&run->comparison))
            ? arena_printf(run->arena, "%s has changed since the plan was "
                           "made; make it anew", diff->place) : NULL);
}

static const char *
check_fit(const struct run *run)
{
    const plan_names *unfit = &run->diff->unfit;
    const char *reason = NULL;

    for (size_t i = 0; i < unfit->n; i++) {
        reason = arena_printf(run->arena, "%s%s%s", reason ? reason : "",
                              reason ? "\n" : "", unfit->v[i]);
    }
    return reason;
}

/* The record of 'order'.  Another node may have given the database a later
 * generation than this one knows. */
static struct plan_record *
make_record(const struct run *run, const struct plan_record *order)
{
    struct plan_record *record = state_record(&run->state, order);
    uint64_t last = state_last(&run->state);
    bool repair = record->generation == last && last >= run->diff->generation;
    uint64_t least = (run->diff->generation
                      + (nb_diff_is_of_rows(run->diff) && !repair));

    record->generation = MAX(record->generation, least);
    return record;
}

/* Commits what was compared, and keeps it in place of 'replaces', which may
 * be 0. */
static const char *
commit_and_keep(struct run *run, const struct plan_record *order,
                uint64_t replaces)
{
    struct plan_record *record = make_record(run, order);
    bool keep = run->target->state != NULL;
    const char *refused = keep ? state_prepare(&run->state, record) : NULL;
    const char *reason = nb_commit(&run->comparison, &run->db,
                                   record->generation);

    reason = reason ? reason : check_fit(run);
    if (reason || refused || !keep) {
        state_abandon(&run->state, record);
    } else {
        refused = state_commit(&run->state, record, replaces);
    }
    note_kept(run);
    if (!reason) {
        run->diff->generation = record->generation;
        run->diff->done = record;
    }
    if (!reason && refused) {
        *vec_push(run->arena, &run->diff->warnings) = arena_printf(
            run->arena, "this generation is not kept, so there is no "
            "rollback to it: %s", refused);
    }
    return reason;
}

/* Does the node keep the generation that the database is at as its last one?
 * An empty database says none. */
static bool
keeps_last(const struct run *run)
{
    const struct state *state = &run->state;

    return (state_last(state) == run->diff->generation
            || (!run->diff->generation && state->current
                && !state->current->plan->rows.n));
}

/* Why the generation of the database is not the last one that the node
 * keeps. */
static const char *
describe_generation(const struct run *run)
{
    uint64_t live = run->diff->generation, last = state_last(&run->state);

    return (!live ? "its rows say no generation: somebody else has cleared or "
            "changed them"
            : arena_printf(run->arena, live > last
                           ? "generation %"PRIu64" was applied from "
                           "elsewhere, or could not be kept here, where the "
                           "last one is %"PRIu64
                           : "it is at generation %"PRIu64", before the last "
                           "one that is kept here, %"PRIu64": it was "
                           "restored, or applied from elsewhere",
                           live, last));
}

/* Tells if what others have applied makes the last one kept another.  Stays
 * until the state is read again. */
static void
note_elsewhere(struct run *run)
{
    if (run->state.kept.n && !keeps_last(run)) {
        *vec_push(run->arena, &run->state.warnings)
            = describe_generation(run);
        note_kept(run);
    }
}

/* Begins, and checks that the order may be carried out. */
static const char *
begin_order(struct run *run, const struct nb_target *target,
            const struct plan_record *order, bool lock, struct nb_diff *diff)
{
    const char *reason = begin(run, target, order->plan, lock,
                               order->plan->arena, diff);

    if (!reason) {
        note_elsewhere(run);
        reason = check_order(run, order);
    }
    return reason ? reason : check_fit(run);
}

const char *
nb_apply(const struct nb_target *target, const struct plan_record *order,
         struct nb_diff *diff)
{
    struct run run;
    const char *reason = begin_order(&run, target, order, true, diff);

    reason = reason ? reason : commit_and_keep(&run, order, 0);
    end(&run);
    return reason;
}

const char *
nb_clear(const struct nb_target *target, struct arena *arena,
         struct nb_diff *diff)
{
    struct plan_record order = { .plan = make_nothing(arena) };

    return nb_apply(target, &order, diff);
}

const char *
nb_plan(const struct nb_target *target, const struct plan_record *order,
        struct nb_diff *diff)
{
    struct run run;
    const char *reason = begin_order(&run, target, order, false, diff);

    if (!reason) {
        diff->held = nb_hash(&run.comparison);
    }
    end(&run);
    return reason;
}

const char *
nb_status(const struct nb_target *target, const struct plan *plan,
          struct arena *arena, struct nb_diff *diff)
{
    struct run run;
    const char *reason = (plan ? begin(&run, target, plan, false, arena, diff)
                          : begin_kept(&run, target, false, arena, diff));

    if (!reason && !plan) {
        reason = (run.state.current ? compare(&run, run.state.current->plan)
                  : arena_printf(arena, "%s: nothing that can be trusted is "
                                 "kept of what was applied; name the intent",
                                 diff->place));
    }
    if (!reason) {
        note_elsewhere(&run);
    }
    end(&run);
    return reason;
}

/* Reads the generation to go back to: 'to', or if that is 0, the last one
 * that is kept of those before the database's. */
static const char *
choose(struct run *run, uint64_t to, struct plan_record *record)
{
    uint64_t last = state_last(&run->state);

    if (to || !last || keeps_last(run)) {
        return state_choose(&run->state, to, NULL, record);
    } else if (run->diff->generation > last) {
        return state_choose(&run->state, last, NULL, record);
    }
    return arena_printf(run->arena, "%s: %s, so it is not clear which one to "
                        "go back to; 'bulkhead status --target=ovn' lists "
                        "those kept, and --to names one", run->diff->place,
                        describe_generation(run));
}

const char *
nb_rollback(const struct nb_target *target, uint64_t to, struct arena *arena,
            struct nb_diff *diff)
{
    struct plan_record record;
    struct run run;
    const char *reason = begin_kept(&run, target, true, arena, diff);

    reason = reason ? reason : choose(&run, to, &record);
    reason = reason ? reason : compare(&run, record.plan);
    reason = reason ? reason : check_fit(&run);
    if (!reason) {
        note_elsewhere(&run);
    }
    reason = reason ? reason : commit_and_keep(&run, &record,
                                               record.generation);
    diff->back = reason ? 0 : record.generation;
    end(&run);
    return reason;
}
