/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/agent-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "resident/prove.h"
#include "sema/policy.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(gate);

enum {
    SUPERSEDE_MS = 2000,        /* A change that comes earlier takes the place
                                 * of one that is being proved; later ones
                                 * wait, or nothing would ever be put. */
    RETRY_MS = 10000,           /* After a proof that broke or was late, for
                                 * which it is at least what that took. */
    REST_MS = 1000,             /* After one, before the next are prepared. */
    REST_SHARE = 5,             /* So much longer than that takes. */
};

void
gate_init(struct gate *g, const struct agent_options *options,
          const char **journal)
{
    struct push_diff diff;

    g->prover = options->verify ? prover_create() : NULL;
    g->arena = arena_create();
    admitted_init(&g->admitted, options->target.bridge);
    sset_init(&g->gone);
    preparer_init(&g->preparer);
    smap_init(&g->said);
    push_look(&options->target, g->arena, &diff);
    *journal = NULL;
    if (diff.kept) {
        const struct plan *plan = diff.kept->plan;

        *journal = diff.kept->journal;
        g->known = diff.kept->proved;
        g->kept = *plan;
        g->has_kept = (diff.kept->journal && !plan->northbound && !plan->kernel
                       && !strcmp(plan->node, options->node));
    }
}

void
gate_destroy(struct gate *g)
{
    preparer_destroy(&g->preparer);
    prover_destroy(g->prover);
    proved_destroy(g->proved);
    arena_destroy(g->arena);
    admitted_destroy(&g->admitted);
    sset_destroy(&g->gone);
    smap_destroy(&g->said);
    free(g->refusal);
}

static void
put_whole(struct agent *a, const struct sset *without)
{
    struct gate *g = &a->gate;
    struct arena *arena = arena_create();
    struct plan plan;

    compiled_plan(a->compiled, &plan, arena);
    push_leave_out(&plan, without);
    g->cut = !sset_is_empty(without);
    keeper_put(a->keeper, &plan);
    arena_destroy(arena);
}

void
gate_note_bound(struct agent *a, struct sset *gone)
{
    admitted_note(&a->gate.admitted, a->compiled, keeper_bridge(a->keeper),
                  keeper_bridge_seqno(a->keeper), gone);
}

/* As much as may be put of what is compiled, and proved if it is to be. */
static void
put_all(struct agent *a)
{
    struct sset gone = SSET_INITIALIZER(&gone);

    if (a->gate.prover) {
        gate_note_bound(a, &gone);
    }
    put_whole(a, &gone);
    sset_destroy(&gone);
}

/* Lets what is proved follow what is compiled. */
static void
follow_change(struct agent *a, enum compiled_news news,
              const struct resident_diff *diff)
{
    struct gate *g = &a->gate;
    struct arena *arena;

    if (!g->proved || news == COMPILED_SAME) {
        return;
    }
    arena = arena_create();
    if (news == COMPILED_CHANGED) {
        proved_change(g->proved, compiled_intent(a->compiled, arena), diff);
    }
    if (news != COMPILED_CHANGED || proved_lost(g->proved)) {
        VLOG_DBG("all is to be proved: %s", news == COMPILED_CHANGED
                 ? proved_lost(g->proved) : "it is compiled anew");
        proved_destroy(g->proved);
        g->proved = NULL;
    }
    arena_destroy(arena);
}

/* That were compiled, be it with success or not. */
static size_t
count_changes(const struct agent *a)
{
    struct resident_stats stats;

    compiled_stats(a->compiled, &stats);
    return stats.changes;
}

void
gate_put(struct agent *a, enum compiled_news news,
         const struct resident_diff *diff)
{
    const struct sset none = SSET_INITIALIZER(&none);
    struct gate *g = &a->gate;

    follow_change(a, news, diff);
    saver_note(a, news, diff);

    if (!g->prover && news != COMPILED_SAME) {
        saver_put(a);
        g->has_kept = false;
        if (news != COMPILED_CHANGED
            || !keeper_change(a->keeper, diff, &none)) {
            put_all(a);
        }
    } else if (g->prover && news != COMPILED_SAME && g->held) {
        g->anew = g->fresh = true;      /* One diff would not do. */
    } else if (g->prover && news != COMPILED_SAME) {
        g->held = g->fresh = true;
        g->anew = news == COMPILED_ANEW;
        if (!g->anew) {
            g->diff = *diff;
            g->changes = count_changes(a);
        }
    }
    if (g->fresh && (g->again || !prover_is_busy(g->prover))) {
        g->held_at = time_msec();
    }
}

/* What is compiled is proved. */
static void
open_gate(struct agent *a)
{
    struct gate *g = &a->gate;
    struct sset gone = SSET_INITIALIZER(&gone);

    gate_note_bound(a, &gone);
    saver_put(a);
    if (g->anew || g->cut || g->changes != count_changes(a)
        || !keeper_change(a->keeper, &g->diff, &gone)) {
        put_whole(a, &gone);
    }
    g->held = g->has_kept = false;
    sset_destroy(&gone);
}

static void
set_refusal(struct gate *g, const char *refusal)
{
    free(g->refusal);
    g->refusal = nullable_xstrdup(refusal);
    if (refusal) {
        VLOG_WARN("what has changed is not proved, and the bridge is kept as "
                  "it was:\n%s", refusal);
    }
}

/* What is compiled is proved, or what of it has changed. */
static void
keep_proved(struct agent *a)
{
    struct gate *g = &a->gate;
    const struct policy *policy;
    struct arena *arena;
    struct diags diags;
    struct plan plan;

    if (g->proved) {
        proved_end(g->proved, true);
        return;
    } else if (g->fresh) {
        return;                 /* It is another by now. */
    }
    arena = arena_create();
    diags_init(&diags, arena);
    compiled_plan(a->compiled, &plan, arena);
    policy = policy_resolve(compiled_intent(a->compiled, arena), arena,
                            &diags);
    g->proved = policy ? proved_create(policy, &plan) : NULL;
    VLOG_DBG("changes can%s be proved by themselves",
             g->proved ? "" : "not");
    arena_destroy(arena);
}

static void
take_proof(struct agent *a)
{
    struct gate *g = &a->gate;
    struct arena *old = g->arena;       /* Holds 'kept', too. */

    g->arena = arena_create();
    prover_known(g->prover, g->arena, &g->known);
    g->last = prover_cost(g->prover);
    g->n_proofs++;
    VLOG_INFO("proved %"PRIuSIZE" of %"PRIuSIZE" tenants in %lld ms",
              g->last.n_proved, g->last.n_tenants, g->last.ms);
    open_gate(a);
    arena_destroy(old);
    keep_proved(a);
    g->rest_at = time_msec() + REST_MS;
    saver_hurry(a);             /* For put_kept(). */
}

void
gate_run(struct agent *a)
{
    struct gate *g = &a->gate;
    enum proof_state state = g->prover ? prover_run(g->prover) : PROOF_NONE;

    switch (state) {
    case PROOF_NONE:
    case PROOF_RUNS:
        break;
    case PROOF_DONE:
        take_proof(a);
        break;
    case PROOF_LATE:
        g->retry_at = time_msec() + MAX(RETRY_MS, a->options->verify_ms);
        set_refusal(g, prover_refusal(g->prover));
        break;
    case PROOF_BROKEN:
        g->retry_at = time_msec() + RETRY_MS;
        /* Fall through. */
    case PROOF_REFUSED:
        set_refusal(g, prover_refusal(g->prover));
        break;
    }
}

bool
gate_is_closed(const struct agent *a)
{
    const struct gate *g = &a->gate;

    return (g->prover && prover_is_busy(g->prover) && !g->again
            && time_msec() >= g->held_at + SUPERSEDE_MS);
}

/* Cuts off interfaces that are not what they were when something was put last:
 * a port that has gone leaves a number to the next, and one that is detached
 * must not speak for its endpoint until something is proved. */
static void
withdraw(struct agent *a)
{
    struct gate *g = &a->gate;
    struct sset gone = SSET_INITIALIZER(&gone);

    admitted_withdraw(&g->admitted, a->compiled, keeper_bridge(a->keeper),
                      &gone);
    if (!sset_is_empty(&gone)) {
        keeper_withdraw(a->keeper, &gone);
        if (g->has_kept) {
            push_leave_out(&g->kept, &gone);
        }
    }
    sset_destroy(&gone);
}

/* Tries to prove at once what is compiled, and then puts it. */
static void
try_proof(struct agent *a)
{
    struct gate *g = &a->gate;

    g->again = !g->fresh;
    g->fresh = false;
    g->retry_at = 0;
    set_refusal(g, NULL);
    if (g->proved) {
        compiled_begin_proof(a->compiled, g->proved);
    }
    if (prover_try(g->prover, g->proved, &g->known, a->options->verify_ms)) {
        gate_run(a);
    }
}

/* May what is lost wait until it is tried to prove at once?  That is so if it
 * is of one tenant alone, and goes with no more than flows that go, which no
 * switch refuses. */
static bool
may_wait(const struct agent *a)
{
    const struct gate *g = &a->gate;
    const struct resident_diff *diff = &g->diff;

    return (g->proved && g->fresh && !g->anew && !g->cut
            && g->changes == count_changes(a) && diff->alone
            && !diff->added.n && !diff->changed.n && !diff->meters_added.n);
}

void
gate_begin(struct agent *a)
{
    struct gate *g = &a->gate;
    unsigned int seqno = keeper_bridge_seqno(a->keeper);
    bool withdraws = g->held && g->bridge_seqno != seqno;
    bool begins = (g->held
                   && (g->fresh
                       || (g->retry_at && time_msec() >= g->retry_at)));

    if (g->bridge_seqno != seqno) {
        kept_follow(a);
    }
    g->bridge_seqno = seqno;
    if (withdraws && !(begins && may_wait(a))) {
        withdraw(a);
        withdraws = false;
    }
    if (begins) {
        try_proof(a);
    }
    if (g->held && withdraws) {
        withdraw(a);
    }
    if (g->held && begins) {
        prover_start(g->prover, a->compiled, g->proved, &g->known,
                     a->options->target.bridge, a->options->verify_ms);
    }
    if (g->has_kept && kept_is_due(a)) {
        kept_put(a);
    } else if (!keeper_wants_plan(a->keeper)) {
        return;
    } else if (g->held || !compiled_is_ready(a->compiled)) {
        keeper_again(a->keeper);
    } else {
        put_all(a);
    }
}

void
gate_rest(struct agent *a)
{
    struct gate *g = &a->gate;
    long long int start = time_msec();
    struct arena *arena;

    preparer_run(a);
    if (!g->proved || g->held || !g->rest_at || start < g->rest_at) {
        return;
    }
    arena = arena_create();
    if (proved_prepare(g->proved, compiled_intent(a->compiled, arena),
                       PROVED_PREPARE_MS)) {
        g->rest_at = time_msec() + REST_SHARE * (time_msec() - start);
    } else if (!preparer_begin(a)) {
        VLOG_DBG("proofs are prepared");
        g->rest_at = 0;
    }
    arena_destroy(arena);
}

void
gate_wait(const struct agent *a)
{
    const struct gate *g = &a->gate;

    preparer_wait(a);
    if (g->proved && !g->held && g->rest_at) {
        poll_timer_wait_until(g->rest_at);
    }

    if (g->prover) {
        prover_wait(g->prover);
    }
    if (g->retry_at) {
        poll_timer_wait_until(g->retry_at);
    }
}
