/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <string.h>

#include "bitmap.h"
#include "util.h"

/* Policies that let the same peers reach different pods by the same ports say
 * together what one would.  Without that, rules are as many as pairs. */

static bool
same_ports(const struct k8s_ports *a, const struct k8s_ports *b)
{
    bool same = a->any == b->any && a->named.n == b->named.n
                && k8s_same_ranges(&a->tcp, &b->tcp)
                && k8s_same_ranges(&a->udp, &b->udp);

    for (size_t i = 0; same && i < a->named.n; i++) {
        same = (a->named.v[i].protocol == b->named.v[i].protocol
                && !strcmp(a->named.v[i].name, b->named.v[i].name));
    }
    return same;
}

static bool
same_outside(const struct k8s_side *a, const struct k8s_side *b)
{
    bool same = (a->all_outside == b->all_outside
                 && a->outside.n == b->outside.n);

    for (size_t i = 0; same && i < a->outside.n; i++) {
        same = (a->outside.v[i].plen == b->outside.v[i].plen
                && !memcmp(&a->outside.v[i].ip, &b->outside.v[i].ip,
                           sizeof a->outside.v[i].ip));
    }
    return same;
}

/* Do both allow the same to their pods?  That of those that no policy isolates
 * stays by itself, and so does what has no pods, which is told of. */
static bool
are_alike(struct k8s *k, const struct k8s_side *a, const struct k8s_side *b)
{
    k->work += bitmap_n_longs(k->pods.n);
    return (a->name && b->name && bitmap_equal(a->peer_pods, b->peer_pods,
                                               k->pods.n)
            && !bitmap_is_all_zeros(a->pods, k->pods.n)
            && !bitmap_is_all_zeros(b->pods, k->pods.n)
            && same_ports(&a->ports, &b->ports) && same_outside(a, b)
            && k8s_are_same(k, &a->peers, &b->peers));
}

static void
join(struct k8s *k, struct k8s_side *to, const struct k8s_side *side)
{
    for (size_t i = 0; i < side->subject.n; i++) {
        *vec_push(k->arena, &to->subject) = side->subject.v[i];
    }
    bitmap_or(to->pods, side->pods, k->pods.n);
    to->n_alike++;
}

void
k8s_merge_sides(struct k8s *k, struct k8s_side *sides, size_t *n)
{
    size_t kept = 0;

    for (size_t i = 0; i < *n && k->work <= K8S_MAX_WORK; i++) {
        struct k8s_side *side = &sides[i], *found = NULL;

        side->pods = k8s_members(k, &side->subject);
        side->peer_pods = k8s_members(k, &side->peers);
        for (size_t j = 0; j < kept && !found; j++) {
            if (are_alike(k, &sides[j], side)) {
                found = &sides[j];
            }
        }
        if (found) {
            join(k, found, side);
        } else {
            sides[kept++] = *side;
        }
    }
    *n = kept;
}
