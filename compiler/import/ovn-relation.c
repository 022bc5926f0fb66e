/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <stdlib.h>
#include <string.h>

#include "bitmap.h"
#include "hash.h"
#include "packets.h"
#include "util.h"

/* Relations of endpoints, a bitmap a row. */

static size_t
n_longs(const struct ovn *m)
{
    return bitmap_n_longs(m->endpoints.n);
}

void
ovn_rows_init(struct ovn *m, ovn_rows *r)
{
    m->work += m->endpoints.n;
    r->rows = xcalloc(m->endpoints.n + 1, sizeof *r->rows);
}

void
ovn_rows_destroy(struct ovn *m, ovn_rows *r)
{
    for (size_t i = 0; i < m->endpoints.n; i++) {
        free(r->rows[i]);
    }
    free(r->rows);
}

static bool
may_send(const ovn_rows *r, size_t from, size_t to)
{
    return r->rows[from] && bitmap_is_set(r->rows[from], to);
}

static void
put(struct ovn *m, ovn_rows *r, size_t from, size_t to)
{
    if (!r->rows[from]) {
        r->rows[from] = bitmap_allocate(m->endpoints.n);
    }
    bitmap_set1(r->rows[from], to);
}

/* Of 'to', to which 'from' is sent: those of others' tenants that reach back,
 * and that it reaches; or, if 'any', of tenants of which it reaches some. */
static void
mask_reach(struct ovn *m, size_t from, bool any, ovn_set to)
{
    const struct ovn_address *a = &m->addresses.v[from];
    const struct ovn_tenant *tenant = m->endpoints.v[a->endpoint].at->tenant;
    const struct ovn_tenant *last = tenant;
    bool reaches = true;

    for (size_t i = bitmap_scan(to, true, 0, m->n); i < m->n;
         i = bitmap_scan(to, true, i + 1, m->n)) {
        const struct ovn_tenant *other
            = m->endpoints.v[m->addresses.v[i].endpoint].at->tenant;

        m->work++;
        if (any && other != last) {
            reaches = other == tenant
                      || ovn_meet(m, tenant->reach, other->own);
            last = other;
        } else if (!any) {
            reaches = bitmap_is_set(tenant->reach, i)
                      && bitmap_is_set(other->reach, from);
        }
        if (!reaches) {
            bitmap_set0(to, i);
        }
    }
}

/* What the address may send to, by all boxes; NULL: nothing. */
static ovn_set
row_of(struct ovn *m, size_t from, const ovn_boxes *boxes, const bool *usable,
       bool any)
{
    ovn_set row = NULL;

    m->work += boxes->n;
    for (size_t i = 0; i < boxes->n; i++) {
        if (usable[i] && bitmap_is_set(boxes->v[i].from, from)) {
            if (!row) {
                row = bitmap_allocate(m->n);
            }
            ovn_add(m, row, boxes->v[i].to);
        }
    }
    if (row) {
        mask_reach(m, from, any, row);
    }
    return row;
}

/* Of an endpoint's addresses that are of the same family as address 'a': are
 * all in the row, or some? */
static void
compare_family(struct ovn *m, size_t a, const struct ovn_endpoint *e,
               const unsigned long *row, bool *all, bool *some)
{
    bool ip4 = bitmap_is_set(m->ip4, a);

    for (size_t i = e->first; i < e->first + e->n; i++) {
        if (bitmap_is_set(m->ip4, i) == ip4) {
            bool set = row && bitmap_is_set(row, i);

            *all &= set;
            *some |= set;
        }
    }
}

/* Says of two endpoints which family does not pass, or not whole. */
static const char *
describe_gap(struct ovn *m, size_t from, size_t to, const ovn_set *rows)
{
    const struct ovn_endpoint *a = &m->endpoints.v[from];
    const struct ovn_endpoint *b = &m->endpoints.v[to];
    bool all[] = { true, true }, some[] = { false, false };
    int part;

    for (size_t i = 0; i < a->n; i++) {
        bool ip4 = bitmap_is_set(m->ip4, a->first + i);

        compare_family(m, a->first + i, b, rows[i], &all[ip4], &some[ip4]);
    }
    part = some[0] && !all[0] ? 0 : some[1] && !all[1] ? 1 : -1;
    return arena_printf(
        m->arena, part >= 0 ? "of %s/%s and %s/%s some %s addresses pass, "
        "but not all" : "of %s/%s and %s/%s %s passes alone",
        a->at->tenant->name, a->name, b->at->tenant->name, b->name,
        (part >= 0 ? part : some[1]) ? "IPv4" : "IPv6");
}

/* Adds what an endpoint may send to, 'rows' being those of its addresses.
 * Stores in 'gap' the first that it leaves out, if there is none yet. */
static void
add_endpoint(struct ovn *m, ovn_rows *r, size_t from, ovn_set *rows, bool any,
             const char **gap)
{
    const struct ovn_endpoint *e = &m->endpoints.v[from];
    size_t last = SIZE_MAX;

    for (size_t i = 0; i < e->n; i++) {
        for (size_t j = rows[i] ? bitmap_scan(rows[i], true, 0, m->n) : m->n;
             j < m->n; j = bitmap_scan(rows[i], true, j + 1, m->n)) {
            size_t to = m->addresses.v[j].endpoint;
            bool all = true, some = false;

            if (to == last || may_send(r, from, to)) {
                continue;
            }
            last = to;
            for (size_t k = 0; k < e->n; k++) {
                compare_family(m, e->first + k, &m->endpoints.v[to], rows[k],
                               &all, &some);
            }
            m->work++;
            if (all || (any && some)) {
                put(m, r, from, to);
            } else if (some && !*gap && from != to) {
                *gap = describe_gap(m, from, to, rows);
            }
        }
    }
}

const char *
ovn_rows_add(struct ovn *m, ovn_rows *r, const ovn_boxes *boxes,
             const struct ovn_service *part, bool stateless, bool any)
{
    bool *usable = xcalloc(boxes->n + 1, sizeof *usable);
    unsigned long *senders = bitmap_allocate(m->n);
    const char *gap = NULL;

    for (size_t i = 0; i < boxes->n; i++) {
        usable[i] = ((stateless || !boxes->v[i].stateless)
                     && ovn_service_has(m, &boxes->v[i].dst, part));
        if (usable[i]) {
            ovn_add(m, senders, boxes->v[i].from);
        }
    }
    for (size_t a = bitmap_scan(senders, true, 0, m->n); a < m->n; ) {
        size_t from = m->addresses.v[a].endpoint;
        const struct ovn_endpoint *e = &m->endpoints.v[from];
        ovn_set *rows = xcalloc(e->n, sizeof *rows);

        for (size_t i = 0; i < e->n; i++) {
            rows[i] = row_of(m, e->first + i, boxes, usable, any);
        }
        add_endpoint(m, r, from, rows, any, &gap);
        for (size_t i = 0; i < e->n; i++) {
            free(rows[i]);
        }
        free(rows);
        a = bitmap_scan(senders, true, e->first + e->n, m->n);
    }
    free(senders);
    free(usable);
    return gap;
}

/* Calls for each pair of 'r'. */
#define FOR_EACH_PAIR(FROM, TO, M, R)                                   \
    for (size_t FROM = 0; FROM < (M)->endpoints.n; FROM++)              \
        for (size_t TO = (R)->rows[FROM]                                \
                 ? bitmap_scan((R)->rows[FROM], true, 0,                \
                               (M)->endpoints.n) : (M)->endpoints.n;    \
             TO < (M)->endpoints.n;                                     \
             TO = bitmap_scan((R)->rows[FROM], true, TO + 1,            \
                              (M)->endpoints.n))

void
ovn_rows_join(struct ovn *m, ovn_rows *r, const ovn_rows *other)
{
    FOR_EACH_PAIR (from, to, m, other) {
        m->work++;
        put(m, r, from, to);
    }
}

void
ovn_rows_close(struct ovn *m, ovn_rows *r)
{
    FOR_EACH_PAIR (from, to, m, r) {
        m->work++;
        if (!may_send(r, to, from)) {
            bitmap_set0(r->rows[from], to);
        }
    }
}

void
ovn_rows_cut(struct ovn *m, ovn_rows *r, const ovn_rows *other, bool back)
{
    FOR_EACH_PAIR (from, to, m, r) {
        m->work++;
        if (may_send(other, from, to)
            || (back && may_send(other, to, from))) {
            bitmap_set0(r->rows[from], to);
        }
    }
}

void
ovn_rows_keep(struct ovn *m, ovn_rows *r, const ovn_rows *other)
{
    FOR_EACH_PAIR (from, to, m, r) {
        m->work++;
        if (!may_send(other, from, to)) {
            bitmap_set0(r->rows[from], to);
        }
    }
}

bool
ovn_rows_has(struct ovn *m, const ovn_rows *r, const ovn_rows *part)
{
    FOR_EACH_PAIR (from, to, m, part) {
        m->work++;
        if (from != to && !may_send(r, from, to)) {
            return false;
        }
    }
    return true;
}

bool
ovn_rows_has_tenant(struct ovn *m, const ovn_rows *r,
                    const struct ovn_tenant *tenant)
{
    for (size_t from = 0; from < m->endpoints.n; from++) {
        for (size_t to = 0; m->endpoints.v[from].at->tenant == tenant
             && to < m->endpoints.n; to++) {
            m->work++;
            if (m->endpoints.v[to].at->tenant == tenant && from != to
                && !may_send(r, from, to)) {
                return false;
            }
        }
    }
    return true;
}

void
ovn_rows_cut_tenant(struct ovn *m, ovn_rows *r,
                    const struct ovn_tenant *tenant)
{
    FOR_EACH_PAIR (from, to, m, r) {
        if (m->endpoints.v[from].at->tenant == tenant
            && m->endpoints.v[to].at->tenant == tenant) {
            bitmap_set0(r->rows[from], to);
        }
    }
}

void
ovn_rows_cut_between(struct ovn *m, ovn_rows *r)
{
    FOR_EACH_PAIR (from, to, m, r) {
        if (m->endpoints.v[from].at->tenant
            != m->endpoints.v[to].at->tenant) {
            bitmap_set0(r->rows[from], to);
        }
    }
}

/* Is it all about endpoints and themselves? */
static bool
is_idle(struct ovn *m, const unsigned long *row, size_t from)
{
    size_t first = bitmap_scan(row, true, 0, m->endpoints.n);

    return (first == m->endpoints.n
            || (first == from && bitmap_scan(row, true, first + 1,
                                             m->endpoints.n)
                == m->endpoints.n));
}

/* Takes the pairs of 'pair' the other way out. */
static void
cut_back(struct ovn *m, ovn_rows *r, const struct ovn_pair *pair)
{
    for (size_t to = bitmap_scan(pair->to, true, 0, m->endpoints.n);
         to < m->endpoints.n;
         to = bitmap_scan(pair->to, true, to + 1, m->endpoints.n)) {
        for (size_t i = 0; r->rows[to] && i < n_longs(m); i++) {
            r->rows[to][i] &= ~pair->from[i];
        }
        m->work += n_longs(m);
    }
}

ovn_pairs
ovn_rows_pairs(struct ovn *m, const ovn_rows *r_, bool once)
{
    size_t size = n_longs(m) * sizeof(unsigned long);
    ovn_pairs pairs = VEC_INIT;
    ovn_rows r;

    ovn_rows_init(m, &r);
    for (size_t i = 0; i < m->endpoints.n; i++) {
        r.rows[i] = r_->rows[i] ? xmemdup(r_->rows[i], size) : NULL;
    }
    for (size_t i = 0; i < m->endpoints.n; i++) {
        struct ovn_pair *pair;

        if (!r.rows[i] || is_idle(m, r.rows[i], i)) {
            continue;
        }
        pair = vec_push(m->arena, &pairs);
        pair->from = arena_zalloc(m->arena, size);
        pair->to = arena_zalloc(m->arena, size);
        memcpy(pair->to, r.rows[i], size);
        for (size_t j = i; j < m->endpoints.n; j++) {
            m->work++;
            if (r.rows[j] && !memcmp(r.rows[j], pair->to, size)) {
                bitmap_set1(pair->from, j);
                free(r.rows[j]);
                r.rows[j] = NULL;
            }
        }
        if (once) {
            cut_back(m, &r, pair);
        }
    }
    ovn_rows_destroy(m, &r);
    return pairs;
}

static bool
can_reach(struct ovn *m, size_t from, size_t to)
{
    const struct ovn_endpoint *a = &m->endpoints.v[from];
    const struct ovn_endpoint *b = &m->endpoints.v[to];

    for (size_t i = 0; a->at->tenant != b->at->tenant && i < a->n; i++) {
        for (size_t j = 0; j < b->n; j++) {
            m->work++;
            if (bitmap_is_set(a->at->tenant->reach, b->first + j)
                && bitmap_is_set(b->at->tenant->reach, a->first + i)) {
                return true;
            }
        }
    }
    return a->at->tenant == b->at->tenant;
}

bool
ovn_rows_product(struct ovn *m, const ovn_rows *r, ovn_pairs *pairs)
{
    size_t size = n_longs(m) * sizeof(unsigned long);
    struct ovn_pair pair = { arena_zalloc(m->arena, size),
                             arena_zalloc(m->arena, size) };
    size_t from, to;

    for (from = 0; from < m->endpoints.n; from++) {
        if (r->rows[from] && !is_idle(m, r->rows[from], from)) {
            bitmap_set1(pair.from, from);
            for (size_t i = 0; i < n_longs(m); i++) {
                pair.to[i] |= r->rows[from][i];
            }
        }
    }
    BITMAP_FOR_EACH_1 (from, m->endpoints.n, pair.from) {
        BITMAP_FOR_EACH_1 (to, m->endpoints.n, pair.to) {
            m->work++;
            if (from != to && !may_send(r, from, to)
                && can_reach(m, from, to)) {
                return false;
            }
        }
    }
    if (!bitmap_is_all_zeros(pair.from, m->endpoints.n)) {
        *vec_push(m->arena, pairs) = pair;
    }
    return true;
}
