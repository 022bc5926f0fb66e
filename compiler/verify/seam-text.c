/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Seams as text, which another process makes that began as a copy of this
 * one: what flows do is the same bytes in both. */

#include <inttypes.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"
#include "verify/proof.h"
#include "verify/seam-private.h"

static void
put_number(struct ds *ds, uint64_t number)
{
    ds_put_format(ds, "%"PRIx64" ", number);
}

static void
put_long(struct ds *ds, u128 number)
{
    put_number(ds, number >> 64);
    put_number(ds, number);
}

static void
put_bytes(struct ds *ds, const void *bytes, size_t n)
{
    put_number(ds, n);
    ds_put_buffer(ds, bytes, n);
    ds_put_char(ds, ' ');
}

static void
put_string(struct ds *ds, const char *s)
{
    put_bytes(ds, s, strlen(s));
}

static void
put_viewed(struct ds *ds, const struct exec_viewed *v)
{
    put_number(ds, v->field);
    put_long(ds, v->term.value);
    put_long(ds, v->term.known);
    put_number(ds, v->term.n_pieces);
    for (int i = 0; i < v->term.n_pieces; i++) {
        const struct piece *p = &v->term.pieces[i];

        put_number(ds, p->field);
        put_number(ds, p->ofs);
        put_number(ds, p->width);
        put_number(ds, p->from);
        put_number(ds, p->less);
    }
}

static void
put_views(struct ds *ds, const struct seam *seam)
{
    put_number(ds, seam->views.n);
    for (size_t i = 0; i < seam->views.n; i++) {
        const struct seam_view *view = &seam->views.v[i];

        put_number(ds, view->asked);
        put_number(ds, view->view.n);
        for (size_t k = 0; k < view->view.n; k++) {
            put_viewed(ds, &view->view.v[k]);
        }
    }
}

void
seam_format(const struct seam *seam, struct ds *ds)
{
    const struct shash_node *node;

    put_number(ds, seam->n_questions);
    put_long(ds, seam->matched);
    put_number(ds, shash_count(&seam->numbers));
    SHASH_FOR_EACH (node, &seam->numbers) {
        const uint64_t *number = node->data;

        put_string(ds, node->name);
        put_number(ds, *number);
    }
    put_views(ds, seam);
    put_number(ds, seam->outcomes.n);
    for (size_t i = 0; i < seam->outcomes.n; i++) {
        const struct seam_outcome *o = &seam->outcomes.v[i];

        put_number(ds, o->allow);
        put_string(ds, o->class_name);
        put_bytes(ds, o->ofpacts, o->ofpacts_len);
    }
}

struct reader {
    const char *at, *end;
    struct arena *arena;
    bool wrong;                 /* Nothing that was read is good. */
};

static uint64_t
read_number(struct reader *r, uint64_t max)
{
    uint64_t number = 0;
    size_t n = 0;

    for (; r->at < r->end && n < 16 && hexit_value(*r->at) >= 0; n++) {
        number = number << 4 | hexit_value(*r->at++);
    }
    r->wrong |= !n || number > max || r->at >= r->end || *r->at != ' ';
    if (r->wrong) {
        return 0;
    }
    r->at++;
    return number;
}

static u128
read_long(struct reader *r)
{
    u128 high = read_number(r, UINT64_MAX);

    return high << 64 | read_number(r, UINT64_MAX);
}

/* How many follow, of which each takes a byte at least. */
static size_t
read_count(struct reader *r)
{
    return read_number(r, r->end - r->at);
}

/* Bytes, and one more, which is 0. */
static const void *
read_bytes(struct reader *r, size_t *n)
{
    const char *bytes = "";

    *n = read_count(r);
    r->wrong |= *n >= r->end - r->at || r->at[*n] != ' ';
    if (r->wrong) {
        *n = 0;
    } else {
        bytes = arena_strndup(r->arena, r->at, *n);
        r->at += *n + 1;
    }
    return bytes;
}

static const char *
read_string(struct reader *r)
{
    size_t n;
    const char *s = read_bytes(r, &n);

    r->wrong |= strlen(s) != n;
    return s;
}

static void
read_piece(struct reader *r, struct piece *p, u128 *told, int width)
{
    const struct field_info *f;
    u128 bits;

    p->field = read_number(r, N_FIELDS - 1);
    p->ofs = read_number(r, width - 1);
    p->width = read_number(r, width - p->ofs);
    p->from = read_number(r, UINT8_MAX);
    p->less = read_number(r, UINT8_MAX);
    f = &fields[p->field];
    bits = field_ones(p->width) << p->ofs;
    r->wrong |= (!p->width || *told & bits || !field_is_packets(p->field)
                 || p->from + p->width > f->width
                 || (p->less && p->width != f->width));
    *told |= bits;
}

/* A term that is plain, and says of each bit once what it is. */
static void
read_viewed(struct reader *r, struct exec_viewed *v)
{
    struct term *term = &v->term;
    u128 told;

    v->field = read_number(r, N_FIELDS - 1);
    term->width = fields[v->field].width;
    term->value = read_long(r);
    term->known = told = read_long(r);
    term->n_pieces = read_number(r, MAX_PIECES);
    for (int i = 0; i < term->n_pieces && !r->wrong; i++) {
        read_piece(r, &term->pieces[i], &told, term->width);
    }
    r->wrong |= (told != field_ones(term->width)
                 || term->value & ~term->known);
}

static void
read_views(struct reader *r, struct seam *seam)
{
    size_t n = read_count(r);

    for (size_t i = 0; i < n && !r->wrong; i++) {
        struct seam_view *view = vec_push(r->arena, &seam->views);

        view->asked = read_number(r, 2 * seam->n_questions);
        r->wrong |= !view->asked;
        view->view.n = read_number(r, EXEC_MAX_VIEWED);
        for (size_t k = 0; k < view->view.n && !r->wrong; k++) {
            read_viewed(r, &view->view.v[k]);
        }
    }
}

static void
read_numbers(struct reader *r, struct seam *seam)
{
    size_t n = read_count(r);

    for (size_t i = 0; i < n && !r->wrong; i++) {
        const char *name = read_string(r);
        uint64_t *number = arena_zalloc(r->arena, sizeof *number);

        *number = read_number(r, UINT64_MAX);
        r->wrong |= !shash_add_once(&seam->numbers, name, number);
    }
}

static void
read_outcomes(struct reader *r, struct seam *seam)
{
    size_t n = read_count(r);

    for (size_t i = 0; i < n && !r->wrong; i++) {
        struct seam_outcome *o = vec_push(r->arena, &seam->outcomes);

        o->allow = read_number(r, 1);
        o->class_name = read_string(r);
        o->ofpacts = read_bytes(r, &o->ofpacts_len);
    }
}

struct seam *
seam_parse(const char *text, size_t n)
{
    struct seam *seam = seam_create();
    struct reader r = { .at = text, .end = text + n, .arena = seam->arena };

    seam->n_questions = read_number(&r, JUDGE_MAX_QUESTIONS);
    seam->matched = read_long(&r);
    read_numbers(&r, seam);
    read_views(&r, seam);
    read_outcomes(&r, seam);
    if (r.wrong || r.at != r.end || seam->matched >> N_FIELDS) {
        seam_destroy(seam);
        return NULL;
    }
    return seam;
}
