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

#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(gate);

enum {
    SUPERSEDE_MS = 2000,        /* A change that comes earlier takes the place
                                 * of one that is being proved; later ones
                                 * wait, or nothing would ever be put. */
    RETRY_MS = 10000,           /* After a proof that broke. */
};

void
gate_init(struct gate *g, const struct agent_options *options)
{
    struct push_diff diff;

    g->prover = options->no_verify ? NULL : prover_create();
    g->arena = arena_create();
    smap_init(&g->put);
    push_look(&options->target, g->arena, &diff);
    if (diff.kept) {
        g->known = diff.kept->proved;
    }
}

void
gate_destroy(struct gate *g)
{
    prover_destroy(g->prover);
    arena_destroy(g->arena);
    smap_destroy(&g->put);
    free(g->refusal);
}

static void
put_whole(struct agent *a)
{
    struct arena *arena = arena_create();
    struct plan plan;

    compiled_plan(a->compiled, &plan, arena);
    keeper_put(a->keeper, &plan);
    arena_destroy(arena);
}

void
gate_put(struct agent *a, enum compiled_news news,
         const struct resident_diff *diff)
{
    struct gate *g = &a->gate;

    if (!g->prover && news == COMPILED_CHANGED) {
        keeper_change(a->keeper, diff);
    } else if (!g->prover && news == COMPILED_ANEW) {
        put_whole(a);
    } else if (g->prover && g->held) {
        g->anew = true;         /* The diff is of no use any more. */
        g->fresh = g->fresh || news != COMPILED_SAME;
    } else if (g->prover && news != COMPILED_SAME) {
        g->held = g->fresh = true;
        g->anew = news == COMPILED_ANEW;
        if (!g->anew) {
            g->diff = *diff;
        }
    }
    if (g->fresh && !prover_is_busy(g->prover)) {
        g->held_at = time_msec();
    }
}

/* What is compiled is proved. */
static void
open_gate(struct agent *a)
{
    struct gate *g = &a->gate;

    if (g->anew) {
        put_whole(a);
    } else {
        keeper_change(a->keeper, &g->diff);
    }
    g->held = false;
    smap_clear(&g->put);
    compiled_bound(a->compiled, &g->put);
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

static void
take_proof(struct agent *a)
{
    struct gate *g = &a->gate;

    arena_destroy(g->arena);
    g->arena = arena_create();
    prover_known(g->prover, g->arena, &g->known);
    g->last = prover_cost(g->prover);
    g->n_proofs++;
    VLOG_INFO("proved %"PRIuSIZE" of %"PRIuSIZE" tenants in %lld ms",
              g->last.n_proved, g->last.n_tenants, g->last.ms);
    open_gate(a);
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

    return (g->prover && prover_is_busy(g->prover)
            && time_msec() >= g->held_at + SUPERSEDE_MS);
}

/* Cuts off interfaces that are not what they were when something was put last:
 * a port that has gone leaves a number to the next, and one that is detached
 * must not speak for its endpoint until something is proved. */
static void
withdraw(struct agent *a, const struct bridge_info *info)
{
    struct sset gone = SSET_INITIALIZER(&gone);
    struct smap now = SMAP_INITIALIZER(&now);
    struct smap_node *node;
    const char *name;

    compiled_bound(a->compiled, &now);
    SMAP_FOR_EACH (node, &a->gate.put) {
        const char *is = smap_get(&now, node->key);

        if (!is || strcmp(is, node->value)
            || !push_interface_is_fit(info, a->options->target.bridge,
                                      node->key)) {
            sset_add(&gone, node->key);
        }
    }
    SSET_FOR_EACH (name, &gone) {
        smap_remove(&a->gate.put, name);
    }
    if (!sset_is_empty(&gone)) {
        keeper_withdraw(a->keeper, &gone);
        a->gate.anew = true;
    }
    smap_destroy(&now);
    sset_destroy(&gone);
}

void
gate_begin(struct agent *a, const struct bridge_info *info)
{
    struct gate *g = &a->gate;
    unsigned int seqno = keeper_bridge_seqno(a->keeper);

    if (g->held && g->bridge_seqno != seqno) {
        withdraw(a, info);
    }
    g->bridge_seqno = seqno;
    if (g->held && (g->fresh
                    || (g->retry_at && time_msec() >= g->retry_at))) {
        g->fresh = false;
        g->retry_at = 0;
        set_refusal(g, NULL);
        prover_start(g->prover, a->compiled, &g->known,
                     a->options->target.bridge, a->options->verify_ms);
    }
    if (!keeper_wants_plan(a->keeper)) {
        return;
    } else if (g->held || !compiled_is_ready(a->compiled)) {
        keeper_again(a->keeper);
    } else {
        put_whole(a);
    }
}

void
gate_wait(const struct agent *a)
{
    const struct gate *g = &a->gate;

    if (g->prover) {
        prover_wait(g->prover);
    }
    if (g->retry_at) {
        poll_timer_wait_until(g->retry_at);
    }
}
