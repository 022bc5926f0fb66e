/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <stdlib.h>
#include <string.h>

#include "bitmap.h"
#include "util.h"

/* Rules of the intent: who is on both sides of a pair of rules of policies,
 * on ports that both speak of. */

/* Whose rule it is, and how many others it stands for. */
static const char *
title_of(struct k8s *k, const struct k8s_side *side)
{
    return (side->n_alike
            ? arena_printf(k->arena, "%s and %"PRIuSIZE" more of the same",
                           side->title, side->n_alike) : side->title);
}

static struct k8s_origin
make_origin(struct k8s *k, struct k8s_side *egress, struct k8s_side *ingress)
{
    const char *out = egress ? egress->name : NULL;
    const char *in = ingress ? ingress->name : NULL;
    const char *name, *description;

    if (out && in) {
        name = arena_printf(k->arena, "%s.%s", out, in);
        description = arena_printf(k->arena, "%s; %s", title_of(k, egress),
                                   title_of(k, ingress));
    } else {
        name = out ? out : in ? in : "open";
        description = out ? title_of(k, egress)
                      : in ? title_of(k, ingress) : NULL;
    }
    if (!egress || !ingress) {
        name = arena_printf(k->arena, "%s.%s", name,
                            egress ? "to-outside" : "from-outside");
    }
    return (struct k8s_origin) { egress, ingress, name, description };
}

/* Pods that resolve names of ports alike. */
struct alike {
    struct k8s_ports ports;
    unsigned long *pods;
};

/* What both sides allow of the ports of a receiver. */
static struct k8s_ports
ports_at(struct k8s *k, const struct k8s_origin *o, const struct k8s_pod *pod)
{
    struct k8s_ports in = k8s_resolve(k, &o->ingress->ports, pod);
    struct k8s_ports out;

    if (!o->egress) {
        return in;
    }
    out = k8s_resolve(k, &o->egress->ports, pod);
    return k8s_common_ports(k, &out, &in);
}

/* Ports with names mean something else for each receiver. */
static void
write_named(struct k8s *k, const struct k8s_origin *o, const k8s_sets *from,
            const k8s_sets *to)
{
    const unsigned long *receivers = k8s_members(k, to);
    VEC(struct alike) groups = VEC_INIT;
    size_t i;

    BITMAP_FOR_EACH_1 (i, k->pods.n, receivers) {
        struct k8s_ports both = ports_at(k, o, &k->pods.v[i]);
        struct alike *group = NULL;

        for (size_t j = 0; j < groups.n && !group; j++) {
            k->work++;
            if (k8s_same_ranges(&groups.v[j].ports.tcp, &both.tcp)
                && k8s_same_ranges(&groups.v[j].ports.udp, &both.udp)) {
                group = &groups.v[j];
            }
        }
        if (!group) {
            group = vec_push(k->arena, &groups);
            *group = (struct alike) {
                both, arena_zalloc(k->arena, bitmap_n_bytes(k->pods.n)),
            };
        }
        bitmap_set1(group->pods, i);
    }
    for (i = 0; i < groups.n; i++) {
        struct k8s_set these = k8s_everyone(k);
        k8s_sets some = VEC_INIT;

        these.pods = groups.v[i].pods;
        for (size_t j = 0; j < to->n; j++) {
            struct k8s_set set;

            if (k8s_intersect(k, &to->v[j], &these, &set)) {
                *vec_push(k->arena, &some) = set;
            }
        }
        if (!from || k8s_are_pairs(k, k8s_members(k, from),
                                   groups.v[i].pods)) {
            k8s_write_ports(k, o, from, groups.n > 1 ? &some : to,
                            groups.v[i].ports);
        }
    }
}

/* Those of 'side' that are peers of 'other'. */
static k8s_sets
meet(struct k8s *k, const struct k8s_side *side, const struct k8s_side *other)
{
    k8s_sets sets = VEC_INIT;

    for (size_t i = 0; i < side->subject.n; i++) {
        for (size_t j = 0; j < other->peers.n; j++) {
            struct k8s_set set;

            k->work++;
            if (k8s_intersect(k, &side->subject.v[i], &other->peers.v[j],
                              &set)) {
                *vec_push(k->arena, &sets) = set;
            }
        }
    }
    return sets;
}

/* May a pod of one side send to one of the other? */
static bool
have_pairs(struct k8s *k, const struct k8s_side *egress,
           const struct k8s_side *ingress)
{
    size_t size = bitmap_n_bytes(k->pods.n);
    unsigned long *from = xmemdup(egress->pods, size);
    unsigned long *to = xmemdup(ingress->pods, size);
    bool found;

    bitmap_and(from, ingress->peer_pods, k->pods.n);
    bitmap_and(to, egress->peer_pods, k->pods.n);
    found = k8s_are_pairs(k, from, to);
    k->work += bitmap_n_longs(k->pods.n);
    free(from);
    free(to);
    return found;
}

static void
write_pair(struct k8s *k, struct k8s_side *egress, struct k8s_side *ingress)
{
    struct k8s_origin o;
    k8s_sets from, to;

    if (!have_pairs(k, egress, ingress)) {
        return;
    }
    o = make_origin(k, egress, ingress);
    from = meet(k, egress, ingress);
    to = meet(k, ingress, egress);
    egress->written = ingress->written = true;
    if (egress->ports.named.n || ingress->ports.named.n) {
        write_named(k, &o, &from, &to);
    } else {
        k8s_write_ports(k, &o, &from, &to, ports_at(k, &o, NULL));
    }
}

/* Pods that no policy isolates in either direction reach each other by
 * everything, where not all that may send are those that may get. */
static void
write_open(struct k8s *k)
{
    struct k8s_origin o = make_origin(k, &k->egress.v[0], &k->ingress.v[0]);
    k8s_sets from = k->egress.v[0].subject, to = k->ingress.v[0].subject;
    struct k8s_set set;

    if (!k8s_are_same(k, &from, &to)
        && k8s_intersect(k, from.v, to.v, &set)) {
        k8s_sets sets = { &set, 1, 1 };
        const unsigned long *pods = k8s_members(k, &sets);

        if (k8s_are_pairs(k, pods, pods)) {
            k8s_write_mutual(k, &o, &sets);
        }
    }
}

/* What 'side' allows its pods with the outside, where no port has a name. */
static void
write_side(struct k8s *k, struct k8s_side *side, bool egress)
{
    struct k8s_origin o = make_origin(k, egress ? side : NULL,
                                  egress ? NULL : side);

    if (!(side->all_outside || side->outside.n)
        || bitmap_is_all_zeros(side->pods, k->pods.n)) {
        return;
    }
    side->written = true;
    if (egress) {
        k8s_write_ports(k, &o, &side->subject, NULL,
                    k8s_resolve(k, &side->ports, NULL));
    } else if (side->ports.named.n) {
        write_named(k, &o, NULL, &side->subject);
    } else {
        k8s_write_ports(k, &o, NULL, &side->subject, ports_at(k, &o, NULL));
    }
}

static void
tell_unwritten(struct k8s *k, const struct k8s_side *side)
{
    if (side->name && !side->written) {
        k->object = side->title;
        k8s_warn(k, side->at, "import again when there are such pods, or "
                 "write the rule by hand", "left out: nothing passes by it "
                 "between the pods that are there");
        k->object = NULL;
    }
}

void
k8s_write_rules(struct k8s *k)
{
    size_t n_in, n_out;

    for (size_t i = 0; i < k->ingress.n; i++) {
        k8s_check_names(k, &k->ingress.v[i], true);
    }
    for (size_t i = 0; i < k->egress.n; i++) {
        k8s_check_names(k, &k->egress.v[i], false);
    }
    k8s_merge_sides(k, k->ingress.v, &k->ingress.n);
    k8s_merge_sides(k, k->egress.v, &k->egress.n);
    n_in = k->ingress.n;
    n_out = k->egress.n;
    for (size_t i = 0; i < n_out && k->work <= K8S_MAX_WORK; i++) {
        for (size_t j = 0; j < n_in && k->work <= K8S_MAX_WORK; j++) {
            k->work++;
            write_pair(k, &k->egress.v[i], &k->ingress.v[j]);
        }
        write_side(k, &k->egress.v[i], true);
    }
    for (size_t i = 0; i < n_in && k->work <= K8S_MAX_WORK; i++) {
        write_side(k, &k->ingress.v[i], false);
    }
    write_open(k);
    if (k->work > K8S_MAX_WORK) {
        struct diag *d = diag_error(k->diags, (struct span) { NULL, 0, 0 },
                                    NULL, "these are too many policies and "
                                    "pods for one import");

        diag_remedy(k->diags, d, "let policies select fewer pods, or more of "
                    "them by one rule");
        return;
    }
    for (size_t i = 0; i < n_in; i++) {
        tell_unwritten(k, &k->ingress.v[i]);
    }
    for (size_t i = 0; i < n_out; i++) {
        tell_unwritten(k, &k->egress.v[i]);
    }
}
