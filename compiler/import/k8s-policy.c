/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <string.h>

#include "bitmap.h"
#include "intent/decode.h"
#include "openvswitch/shash.h"
#include "packets.h"
#include "util.h"

/* NetworkPolicy objects to sides. */

/* How many of the pod's addresses are in one of 'ranges'? */
static size_t
count_in(const struct k8s_pod *pod, const address_vec *ranges)
{
    size_t n = 0;

    for (size_t i = 0; i < pod->addresses.n; i++) {
        n += k8s_is_within(ranges, &pod->addresses.v[i], false);
    }
    return n;
}

/* The pods whose addresses are all in 'ranges', which 'v' says: an endpoint
 * is selected with all of its addresses. */
static void
add_pods_in(struct k8s *k, const struct value *v, const address_vec *ranges,
            struct k8s_side *side)
{
    struct k8s_set set = k8s_everyone(k);
    size_t n_all = 0, n_some = 0;
    const char *some = NULL;

    set.pods = arena_zalloc(k->arena, bitmap_n_bytes(k->pods.n));
    for (size_t i = 0; i < k->pods.n && k->work <= K8S_MAX_WORK; i++) {
        size_t n = count_in(&k->pods.v[i], ranges);

        k->work += ranges->n;
        if (n && n == k->pods.v[i].addresses.n) {
            bitmap_set1(set.pods, i);
            n_all++;
        } else if (n) {
            some = k->pods.v[i].name;
            n_some++;
        }
    }
    if (n_some) {
        k8s_warn(k, v, "nothing passes by this rule; select them by labels",
                 "left out for %"PRIuSIZE" pods, such as '%s': not all of "
                 "their addresses are in it", n_some, some);
    }
    if (n_all) {
        set.pods = n_all == k->pods.n ? NULL : set.pods;
        *vec_push(k->arena, &side->peers) = set;
    }
}

/* Leaves out ranges of IPv4 written as IPv6, which are pieces of ::/0 and
 * nobody's. */
static void
add_ranges(struct k8s *k, struct address block, const address_vec *except,
           address_vec *ranges)
{
    address_vec pieces = VEC_INIT;

    k8s_subtract(k, block, except, &pieces);
    for (size_t i = 0; i < pieces.n; i++) {
        if (!IN6_IS_ADDR_V4MAPPED(&pieces.v[i].ip)
            == !IN6_IS_ADDR_V4MAPPED(&block.ip)) {
            *vec_push(k->arena, ranges) = pieces.v[i];
        }
    }
}

/* Adds what 'v' says: 'block' less 'except'. */
static void
add_block(struct k8s *k, const struct value *v, const struct address *block,
          const address_vec *except, struct k8s_side *side)
{
    address_vec ranges = VEC_INIT;

    if (IN6_IS_ADDR_V4MAPPED(&block->ip) ? !k->ip4 : !k->ip6) {
        k8s_warn(k, v, "import again when there are such pods",
                 "left out: no pod has an address of its family");
        return;
    }
    add_ranges(k, *block, except, &ranges);
    for (size_t i = 0; i < ranges.n && k->work <= K8S_MAX_WORK; i++) {
        address_vec rest = VEC_INIT;

        add_ranges(k, ranges.v[i], &k->inside, &rest);
        if (rest.n) {
            *vec_push(k->arena, &side->outside) = ranges.v[i];
        }
    }
    add_pods_in(k, v, &ranges, side);
}

static void
read_block(struct k8s *k, const struct value *v, struct k8s_side *side)
{
    static const char *const members[] = { "cidr", "except" };
    struct decoder d = {
        .arena = k->arena, .diags = k->diags, .masks = true,
    };
    address_vec blocks = VEC_INIT, except = VEC_INIT;
    size_t n_errors = k->diags->n_errors;

    if (!k8s_has_only(k, v, members, ARRAY_SIZE(members))) {
        return;
    }
    if (!k8s_string(k, v, "cidr")) {
        k8s_error(k, v, "write the range", "\"cidr\" is missing");
        return;
    }
    decode_addresses(&d, k8s_member(v, "cidr"), true, &blocks);
    decode_addresses(&d, k8s_list(k, v, "except"), true, &except);
    for (size_t i = 0; blocks.n && i < except.n; i++) {
        if (!k8s_is_within(&blocks, &except.v[i], false)) {
            k8s_error(k, except.v[i].at, "correct it, as the API does not "
                      "take it", "this is not within the block");
        }
    }
    if (k->diags->n_errors == n_errors) {
        add_block(k, v, &blocks.v[0], &except, side);
    }
}

/* 'ns' is the namespace of the policy. */
static void
read_peer(struct k8s *k, const struct value *v, size_t ns,
          struct k8s_side *side)
{
    static const char *const members[] = {
        "podSelector", "namespaceSelector", "ipBlock",
    };
    const struct value *pods, *namespaces, *block;
    struct k8s_set set = k8s_everyone(k);

    if (!k8s_has_only(k, v, members, ARRAY_SIZE(members))) {
        return;
    }
    pods = k8s_object_member(k, v, "podSelector");
    namespaces = k8s_object_member(k, v, "namespaceSelector");
    block = k8s_object_member(k, v, "ipBlock");
    if (block ? pods || namespaces : !pods && !namespaces) {
        k8s_error(k, v, "write a selector or an ipBlock, as the API takes it",
                  block ? "an ipBlock stands by itself"
                  : "a peer that is empty is none");
    } else if (block) {
        read_block(k, block, side);
    } else {
        if (namespaces) {
            set.namespaces = k8s_select_namespaces(k, namespaces);
        } else {
            memset(set.namespaces, 0, bitmap_n_bytes(k->namespaces.n));
            bitmap_set1(set.namespaces, ns);
        }
        k8s_select_pods(k, pods, &set);
        if (!k8s_is_empty(k, &set)) {
            *vec_push(k->arena, &side->peers) = set;
        }
    }
}

/* The rules of one direction, called 'key' in the policy. */
static void
read_rules(struct k8s *k, const struct value *spec, bool ingress,
           const char *name, const struct k8s_set *subject)
{
    const char *members[] = { ingress ? "from" : "to", "ports" };
    const char *key = ingress ? "ingress" : "egress";
    const struct value *rules = k8s_list(k, spec, key);

    for (size_t i = 0; rules && i < rules->n; i++) {
        const struct value *rule = &rules->elems[i], *peers;
        struct k8s_side side = { .at = rule };

        if (!k8s_has_only(k, rule, members, ARRAY_SIZE(members))) {
            continue;
        }
        *vec_push(k->arena, &side.subject) = *subject;
        side.name = arena_printf(k->arena, "%s.%s%"PRIuSIZE, name,
                                 ingress ? "in" : "out", i);
        side.title = arena_printf(k->arena, "%s, %s rule %"PRIuSIZE,
                                  k->object, key, i);
        peers = k8s_list(k, rule, members[0]);
        for (size_t j = 0; peers && j < peers->n; j++) {
            read_peer(k, &peers->elems[j],
                      bitmap_scan(subject->namespaces, true, 0,
                                  k->namespaces.n), &side);
        }
        if (!peers || !peers->n) {
            *vec_push(k->arena, &side.peers) = k8s_everyone(k);
            side.all_outside = true;
        }
        k8s_read_ports(k, rule, &side.ports);
        if (ingress) {
            *vec_push(k->arena, &k->ingress) = side;
        } else {
            *vec_push(k->arena, &k->egress) = side;
        }
    }
}

/* Which directions does the policy isolate? */
static void
read_types(struct k8s *k, const struct value *spec, bool *ingress,
           bool *egress)
{
    const struct value *types = k8s_list(k, spec, "policyTypes");
    const struct value *out = k8s_list(k, spec, "egress");

    *ingress = !types || !types->n;
    *egress = *ingress && out && out->n;
    for (size_t i = 0; types && i < types->n; i++) {
        const struct value *v = &types->elems[i];
        const char *s = v->type == VALUE_STRING ? v->string : "";

        *ingress = *ingress || !strcmp(s, "Ingress");
        *egress = *egress || !strcmp(s, "Egress");
        if (strcmp(s, "Ingress") && strcmp(s, "Egress")) {
            k8s_error(k, v, "write Ingress or Egress",
                      "this type of policy is not known");
        }
    }
}

static void
read_policy(struct k8s *k, const struct value *object,
            const struct value *metadata)
{
    static const char *const members[] = {
        "podSelector", "policyTypes", "ingress", "egress",
    };
    const struct value *spec = k8s_object_member(k, object, "spec");
    size_t ns = k8s_find_namespace(k, metadata);
    struct k8s_set subject = k8s_everyone(k);
    bool ingress, egress;
    const char *name;

    if (!spec) {
        k8s_error(k, object, "give what kubectl prints",
                  "\"spec\" is missing");
    }
    if (!spec || ns == SIZE_MAX
        || !k8s_has_only(k, spec, members, ARRAY_SIZE(members))) {
        return;
    }
    name = arena_printf(k->arena, "%s.%s", k->namespaces.v[ns].name,
                        k8s_string(k, metadata, "name"));
    memset(subject.namespaces, 0, bitmap_n_bytes(k->namespaces.n));
    bitmap_set1(subject.namespaces, ns);
    k8s_select_pods(k, k8s_object_member(k, spec, "podSelector"), &subject);
    read_types(k, spec, &ingress, &egress);
    if (k8s_is_empty(k, &subject)) {
        k8s_warn(k, spec, "import again when there are such pods",
                 "left out: it selects no pod");
        return;
    }
    if (ingress) {
        *vec_push(k->arena, &k->isolated_in) = subject;
        read_rules(k, spec, true, name, &subject);
    }
    if (egress) {
        *vec_push(k->arena, &k->isolated_out) = subject;
        read_rules(k, spec, false, name, &subject);
    }
}

/* What pods that no policy isolates may do: all. */
static void
add_open_side(struct k8s *k, const k8s_sets *isolated, struct k8s_side *side)
{
    struct k8s_set rest = k8s_everyone(k);

    for (size_t i = 0; i < isolated->n; i++) {
        k8s_take_away(k, &rest, &isolated->v[i]);
    }
    *side = (struct k8s_side) {
        .all_outside = true, .ports = { .any = true },
    };
    *vec_push(k->arena, &side->subject) = rest;
    *vec_push(k->arena, &side->peers) = k8s_everyone(k);
}

void
k8s_read_policies(struct k8s *k)
{
    struct shash seen = SHASH_INITIALIZER(&seen);

    vec_push(k->arena, &k->ingress);
    vec_push(k->arena, &k->egress);
    for (size_t i = 0; i < k->policy_objects.n; i++) {
        const struct value *metadata = k8s_enter(k, k->policy_objects.v[i],
                                                 &seen);

        if (metadata) {
            read_policy(k, k->policy_objects.v[i], metadata);
        }
    }
    shash_destroy(&seen);
    k->object = NULL;
    add_open_side(k, &k->isolated_in, &k->ingress.v[0]);
    add_open_side(k, &k->isolated_out, &k->egress.v[0]);
}
