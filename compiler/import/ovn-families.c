/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <stdlib.h>

#include "bitmap.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "util.h"

/* An ACL of IPv4 and one of IPv6 that allow the same, as Neutron writes them:
 * by itself neither is a rule of endpoints that have addresses of both. */

struct single {
    struct hmap_node node;
    struct ovn_acl *acl;
    bool ip4;
    unsigned long **sides;      /* Of each box, senders and receivers that have
                                 * both families. */
};

/* Endpoints with addresses of both families. */
static unsigned long *
find_dual(struct ovn *m)
{
    unsigned long *dual = bitmap_allocate(m->endpoints.n);

    for (size_t i = 0; i < m->endpoints.n; i++) {
        const struct ovn_endpoint *e = &m->endpoints.v[i];
        size_t n4 = 0;

        for (size_t j = e->first; j < e->first + e->n; j++) {
            n4 += bitmap_is_set(m->ip4, j);
        }
        bitmap_set(dual, i, n4 && n4 < e->n);
    }
    return dual;
}

static unsigned long *
endpoints_of(struct ovn *m, const unsigned long *addresses,
             const unsigned long *dual)
{
    unsigned long *out = arena_zalloc(m->arena,
                                      bitmap_n_bytes(m->endpoints.n));
    size_t i;

    BITMAP_FOR_EACH_1 (i, m->n, addresses) {
        size_t e = m->addresses.v[i].endpoint;

        m->work++;
        if (bitmap_is_set(dual, e)) {
            bitmap_set1(out, e);
        }
    }
    return out;
}

/* Is the ACL an allow of one family, that speaks of such endpoints? */
static bool
is_single(struct ovn *m, const struct ovn_acl *acl, bool ip4)
{
    const unsigned long *family = ip4 ? m->ip4 : m->ip6;
    bool single = acl->action != OVN_DROP && !acl->rule && acl->boxes.n;

    for (size_t i = 0; i < acl->boxes.n && single; i++) {
        single = ovn_has(m, family, acl->boxes.v[i].from)
                 && ovn_has(m, family, acl->boxes.v[i].to);
    }
    return single;
}

static struct single *
make_single(struct ovn *m, struct ovn_acl *acl, bool ip4,
            const unsigned long *dual)
{
    struct single *s = arena_zalloc(m->arena, sizeof *s);

    s->acl = acl;
    s->ip4 = ip4;
    s->sides = arena_zalloc(m->arena, 2 * acl->boxes.n * sizeof *s->sides);
    for (size_t i = 0; i < acl->boxes.n; i++) {
        s->sides[2 * i] = endpoints_of(m, acl->boxes.v[i].from, dual);
        s->sides[2 * i + 1] = endpoints_of(m, acl->boxes.v[i].to, dual);
    }
    return s;
}

static uint32_t
hash_single(const struct ovn *m, const struct single *s)
{
    uint32_t hash = s->acl->to_lport;

    for (size_t i = 0; i < 2 * s->acl->boxes.n; i++) {
        hash = hash_bytes(s->sides[i], bitmap_n_bytes(m->endpoints.n), hash);
    }
    return hash;
}

/* Do both allow the same, but for the family? */
static bool
are_alike(struct ovn *m, const struct single *a, const struct single *b)
{
    bool alike = (a->ip4 != b->ip4 && a->acl->to_lport == b->acl->to_lport
                  && a->acl->boxes.n == b->acl->boxes.n);

    for (size_t i = 0; alike && i < a->acl->boxes.n; i++) {
        const struct ovn_box *x = &a->acl->boxes.v[i];
        const struct ovn_box *y = &b->acl->boxes.v[i];

        alike = x->stateless == y->stateless
                && ovn_service_equals(m, &x->dst, &y->dst)
                && bitmap_equal(a->sides[2 * i], b->sides[2 * i],
                                m->endpoints.n)
                && bitmap_equal(a->sides[2 * i + 1], b->sides[2 * i + 1],
                                m->endpoints.n);
    }
    return alike;
}

/* Gives 'to' what 'from' allows, too. */
static void
move_boxes(struct ovn *m, struct ovn_acl *to, struct ovn_acl *from)
{
    for (size_t i = 0; i < from->boxes.n; i++) {
        *vec_push(m->arena, &to->boxes) = from->boxes.v[i];
    }
    from->boxes.n = 0;
}

void
ovn_join_families(struct ovn *m)
{
    struct hmap singles = HMAP_INITIALIZER(&singles);
    unsigned long *dual = find_dual(m);

    for (size_t i = 0; i < m->acls.n && !ovn_is_too_much(m); i++) {
        struct ovn_acl *acl = m->acls.v[i];
        bool ip4 = is_single(m, acl, true);
        struct single *s, *other;
        uint32_t hash;

        if (!ip4 && !is_single(m, acl, false)) {
            continue;
        }
        s = make_single(m, acl, ip4, dual);
        hash = hash_single(m, s);
        HMAP_FOR_EACH_WITH_HASH (other, node, hash, &singles) {
            if (are_alike(m, s, other)) {
                move_boxes(m, other->acl, acl);
                hmap_remove(&singles, &other->node);
                break;
            }
        }
        if (acl->boxes.n) {
            hmap_insert(&singles, &s->node, hash);
        }
    }
    hmap_destroy(&singles);
    free(dual);
}
