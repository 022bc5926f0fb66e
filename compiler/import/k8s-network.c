/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <stdlib.h>
#include <string.h>

#include "import/name.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "sema/check.h"
#include "util.h"

/* Networks.  Kubernetes says no subnet of its pods, but their addresses. */

enum {
    GROUP4 = 96 + 16, GROUP6 = 48,      /* What one subnet spans at most. */
    LAST = 128,
};

/* The gateways of all networks, as hosts of pods do have them: addresses of
 * nobody. */
static const char *const gateways[] = { "169.254.1.1", "fd00:b17d::1" };

/* What is no station's, or never leaves a link (RFC 6890). */
static const struct { const char *ip; int plen; } nobodys[] = {
    { "0.0.0.0", 96 + 8 }, { "127.0.0.0", 96 + 8 }, { "169.254.0.0", 96 + 16 },
    { "224.0.0.0", 96 + 4 }, { "240.0.0.0", 96 + 4 }, { "::", 127 },
    { "fe80::", 10 }, { "ff00::", 8 },
};

static int
compare_addresses(const void *a_, const void *b_)
{
    const struct address *a = a_, *b = b_;

    return memcmp(&a->ip, &b->ip, sizeof a->ip);
}

/* The addresses of the pods of namespace 'ns', SIZE_MAX for all, in order. */
static address_vec
addresses_of(struct k8s *k, size_t ns)
{
    address_vec all = VEC_INIT;

    for (size_t i = 0; i < k->pods.n; i++) {
        const struct k8s_pod *pod = &k->pods.v[i];

        for (size_t j = 0; j < pod->addresses.n; j++) {
            if (ns == SIZE_MAX || pod->ns == ns) {
                *vec_push(k->arena, &all) = pod->addresses.v[j];
            }
        }
    }
    if (all.n) {
        qsort(all.v, all.n, sizeof *all.v, compare_addresses);
    }
    return all;
}

/* The first 'plen' bits of 'ip', and after them only zeros, or only ones. */
static struct address
edge(const struct in6_addr *ip, int plen, bool ones)
{
    struct in6_addr mask = ipv6_create_mask(plen);
    struct address a = { .ip = ipv6_addr_bitand(ip, &mask), .plen = plen };

    for (size_t i = 0; i < sizeof a.ip.s6_addr && ones; i++) {
        a.ip.s6_addr[i] |= ~mask.s6_addr[i];
    }
    return a;
}

/* The longest prefix that has both in it. */
static struct address
span(const struct in6_addr *first, const struct in6_addr *last)
{
    int plen = LAST;
    struct address a = edge(first, plen, false);

    while (!subnet_holds(&a, last)) {
        a = edge(first, --plen, false);
    }
    return a;
}

/* How many of 'all', which are in order, are in 'subnet'? */
static size_t
count_within(const address_vec *all, const struct address *subnet)
{
    struct address high = edge(&subnet->ip, subnet->plen, true);
    size_t n[2];

    for (int ones = 0; ones < 2; ones++) {
        const struct address *bound = ones ? &high : subnet;
        size_t low = 0, end = all->n;

        while (low < end) {
            size_t middle = low + (end - low) / 2;

            if (compare_addresses(&all->v[middle], bound) < ones) {
                low = middle + 1;
            } else {
                end = middle;
            }
        }
        n[ones] = low;
    }
    return n[1] - n[0];
}

/* Can 'subnet' have all of 'own', of which the first and the last are in it,
 * and has it none of the others in 'all'? */
static bool
fits(const struct address *subnet, const struct address *own, size_t n,
     const address_vec *all)
{
    struct address high = edge(&subnet->ip, subnet->plen, true);

    return (count_within(all, subnet) == n
            && (!IN6_IS_ADDR_V4MAPPED(&subnet->ip) || subnet->plen > 96 + 30
                || (memcmp(&subnet->ip, &own[0].ip, sizeof subnet->ip)
                    && memcmp(&high.ip, &own[n - 1].ip, sizeof high.ip))));
}

/* Adds subnets for 'own', which are in order, to 'out'. */
static void
cover(struct k8s *k, const struct address *own, size_t n,
      const address_vec *all, address_vec *out)
{
    struct address subnet = span(&own[0].ip, &own[n - 1].ip);
    struct address low;
    size_t split = 0;

    if (n == 1 || fits(&subnet, own, n, all)) {
        *vec_push(k->arena, out) = subnet;
        return;
    }
    low = edge(&own[0].ip, subnet.plen + 1, false);
    while (subnet_holds(&low, &own[split].ip)) {
        split++;
    }
    cover(k, own, split, all, out);
    cover(k, own + split, n - split, all, out);
}

static struct address
parse(const char *s, int plen)
{
    struct address a = { .plen = plen };
    ovs_be32 ip4;

    if (ip_parse(s, &ip4)) {
        in6_addr_set_mapped_ipv4(&a.ip, ip4);
    } else {
        ipv6_parse(s, &a.ip);
    }
    return a;
}

static void
plan_network(struct k8s *k, size_t ns, const address_vec *all,
             address_vec *subnets)
{
    address_vec own = addresses_of(k, ns);
    bool found[2] = { false, false };

    for (size_t i = 0, j; i < own.n; i = j) {
        bool ip4 = IN6_IS_ADDR_V4MAPPED(&own.v[i].ip);
        struct address group = edge(&own.v[i].ip, ip4 ? GROUP4 : GROUP6,
                                    false);

        for (j = i + 1; j < own.n && subnet_holds(&group, &own.v[j].ip); ) {
            j++;
        }
        if (!found[!ip4]) {
            *vec_push(k->arena, subnets) = parse(gateways[!ip4], LAST);
            found[!ip4] = true;
        }
        cover(k, &own.v[i], j - i, all, subnets);
    }
}

void
k8s_plan_networks(struct k8s *k)
{
    size_t n = k->per_namespace ? k->namespaces.n : 1;
    address_vec all = addresses_of(k, SIZE_MAX);

    k->subnets = arena_zalloc(k->arena, n * sizeof *k->subnets);
    for (size_t i = 0; i < n; i++) {
        plan_network(k, k->per_namespace ? i : SIZE_MAX, &all,
                     &k->subnets[i]);
        for (size_t j = 0; j < k->subnets[i].n; j++) {
            *vec_push(k->arena, &k->inside) = k->subnets[i].v[j];
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(nobodys); i++) {
        *vec_push(k->arena, &k->inside) = parse(nobodys[i].ip,
                                                nobodys[i].plen);
    }
}

struct json *
k8s_network(struct k8s *k, size_t i, int vni)
{
    struct json *network = json_object_create();
    struct json *subnets = json_array_create_empty();
    struct json *list = json_array_create_empty();

    for (size_t j = 0; j < k->subnets[i].n; j++) {
        import_add_address(subnets, &k->subnets[i].v[j], true);
    }
    for (size_t j = 0; j < ARRAY_SIZE(gateways); j++) {
        struct address gateway = parse(gateways[j], LAST);

        if (k8s_is_within(&k->subnets[i], &gateway, false)) {
            import_add_address(list, &gateway, false);
        }
    }
    json_object_put(network, "vni", json_integer_create(vni));
    json_object_put(network, "subnets", subnets);
    json_object_put(network, "gateway", list);
    return network;
}

bool
k8s_is_within(const address_vec *ranges, const struct address *a, bool any)
{
    for (size_t i = 0; i < ranges->n; i++) {
        const struct address *r = &ranges->v[i];

        if ((r->plen <= a->plen && subnet_holds(r, &a->ip))
            || (any && r->plen > a->plen && subnet_holds(a, &r->ip))) {
            return true;
        }
    }
    return false;
}

void
k8s_subtract(struct k8s *k, struct address block, const address_vec *except,
             address_vec *out)
{
    k->work += except->n;
    if (k->work > K8S_MAX_WORK) {
        return;                 /* An error, once all is read. */
    }
    if (!k8s_is_within(except, &block, true)) {
        *vec_push(k->arena, out) = block;
    } else if (!k8s_is_within(except, &block, false)) {
        block.plen++;
        k8s_subtract(k, block, except, out);
        block.ip.s6_addr[(block.plen - 1) / 8] |= 0x80 >> (block.plen - 1) % 8;
        k8s_subtract(k, block, except, out);
    }
}
