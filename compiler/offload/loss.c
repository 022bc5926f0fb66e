/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/loss.h"

#include <string.h>

/* Are both of one packet?  Numbers of ports are their plan's. */
static bool
is_same_packet(const struct offload_path *a, const struct offload_path *b)
{
    struct flow x, y;

    if (a->role != b->role || !a->walk.megaflows.n
        || !b->walk.megaflows.n) {
        return false;
    }
    x = a->walk.megaflows.v[0].key;
    y = b->walk.megaflows.v[0].key;
    memset(&x.in_port, 0, sizeof x.in_port);
    memset(&y.in_port, 0, sizeof y.in_port);
    return !memcmp(&x, &y, sizeof x);
}

/* What is refused of the packet now, and was not before. */
static cap_set
path_loss(const struct offload_rule *before, const struct offload_path *path)
{
    for (size_t i = 0; i < before->paths.n; i++) {
        const struct offload_path *old = &before->paths.v[i];

        if (is_same_packet(old, path)) {
            return (old->verdict < path->verdict
                    ? offload_path_refused(path) & ~offload_path_refused(old)
                    : 0);
        }
    }
    return 0;
}

/* The verdicts go from the best to the worst, and then to none. */
static void
compare_rule(const struct offload_rule *before,
             const struct offload_rule *after, struct arena *arena,
             offload_loss_vec *losses)
{
    struct offload_loss loss = {
        .rule = after->rule, .name = after->name, .before = before->verdict,
        .after = after->verdict, .n_packets = after->paths.n,
    };

    for (size_t i = 0; i < after->paths.n; i++) {
        cap_set lost = path_loss(before, &after->paths.v[i]);

        loss.refused |= lost;
        loss.n_lost += lost != 0;
    }
    if (after->verdict != OFFLOAD_NONE
        && (loss.n_lost || before->verdict < after->verdict)) {
        *vec_push(arena, losses) = loss;
    }
}

const char *
offload_compare(const struct ir_prog *prog, const struct plan *old,
                const struct plan *plan, const struct profile *profile,
                struct arena *arena, offload_loss_vec *losses)
{
    struct offload_report before, after;
    const char *reason = offload_predict(prog, old, profile, arena, &before);

    reason = (reason ? reason
              : offload_predict(prog, plan, profile, arena, &after));
    for (size_t i = 0; !reason && i < after.rules.n; i++) {
        compare_rule(&before.rules.v[i], &after.rules.v[i], arena, losses);
    }
    return reason;
}
