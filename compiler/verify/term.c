/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/term.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"
#include "verify/mix.h"
#include "verify/pool.h"

enum { N_RECENT = 1 << 8 };

struct terms {
    struct pool all;            /* By number. */
    struct recent {
        u128 value;
        term_t term;
        int width;              /* 0: nothing. */
    } recent[N_RECENT];         /* Of term_const(), by hash: the last. */
    struct pool choices;        /* Of values. */
    struct pool cases;          /* Of terms. */
    term_t zeros[N_FIELDS], fields[N_FIELDS], opens[N_FIELDS];
    term_t unknown[128 + 1];    /* By width, and 1 more; 0: not known. */
};

void
terms_destroy(struct terms *terms)
{
    if (terms) {
        pool_destroy(&terms->all);
        pool_destroy(&terms->choices);
        pool_destroy(&terms->cases);
        free(terms);
    }
}

const struct term *
term_get(const struct terms *terms, term_t t)
{
    size_t size;

    return pool_get(&terms->all, t, &size);
}

/* 'term' has no bytes that are not set. */
static term_t
intern(struct terms *terms, const struct term *term)
{
    return pool_add(&terms->all, term, sizeof *term);
}

bool
term_is_plain(const struct term *term)
{
    bool plain = !term->choice && !term->cases;

    for (int i = 0; i < term->n_pieces; i++) {
        plain &= term->pieces[i].field <= N_FIELDS;
    }
    return plain;
}

term_t
term_add(struct terms *terms, const struct term *term)
{
    return intern(terms, term);
}

static void
init(struct term *term, int width)
{
    memset(term, 0, sizeof *term);
    term->width = width;
}

term_t
term_const(struct terms *terms, int width, u128 value)
{
    struct recent *recent = &terms->recent[
        mix_word(mix_word(width, value), value >> 64) % N_RECENT];
    struct term term;

    if (recent->value == value && recent->width == width) {
        return recent->term;
    }
    init(&term, width);
    term.known = field_ones(width);
    term.value = value & term.known;
    *recent = (struct recent) { value, intern(terms, &term), width };
    return recent->term;
}

static term_t
one_piece(struct terms *terms, int width, int field)
{
    struct term term;

    init(&term, width);
    term.pieces[0].width = width;
    term.pieces[0].field = field;
    term.n_pieces = 1;
    return intern(terms, &term);
}

struct terms *
terms_create(void)
{
    struct terms *terms = xzalloc(sizeof *terms);

    pool_init(&terms->all);
    pool_init(&terms->choices);
    pool_init(&terms->cases);
    for (int f = 0; f < N_FIELDS; f++) {
        terms->zeros[f] = term_const(terms, fields[f].width, 0);
        terms->fields[f] = one_piece(terms, fields[f].width, f);
        terms->opens[f] = one_piece(terms, fields[f].width, PIECE_OPEN + f);
    }
    return terms;
}

term_t
term_zero(const struct terms *terms, enum field f)
{
    return terms->zeros[f];
}

term_t
term_field(const struct terms *terms, enum field f)
{
    return terms->fields[f];
}

term_t
term_unknown(struct terms *terms, int width)
{
    if (!terms->unknown[width]) {
        terms->unknown[width] = one_piece(terms, width, PIECE_UNKNOWN) + 1;
    }
    return terms->unknown[width] - 1;
}

term_t
term_open(const struct terms *terms, enum field f)
{
    return terms->opens[f];
}

term_t
term_choice(struct terms *terms, int width, const uint64_t v[], size_t n)
{
    struct term term;
    size_t same = 1;

    while (same < n && v[same] == v[0]) {
        same++;
    }
    if (same == n) {
        return term_const(terms, width, v[0]);
    }
    init(&term, width);
    term.pieces[0].width = width;
    term.pieces[0].field = PIECE_CHOICE;
    term.n_pieces = 1;
    term.choice = pool_add(&terms->choices, v, n * sizeof *v) + 1;
    return intern(terms, &term);
}

const uint64_t *
term_choices(const struct terms *terms, term_t t, size_t *n)
{
    uint32_t choice = term_get(terms, t)->choice;
    size_t size = 0;
    const uint64_t *v = (choice ? pool_get(&terms->choices, choice - 1, &size)
                         : NULL);

    *n = size / sizeof *v;
    return v;
}

term_t
term_cases(struct terms *terms, const term_t v[N_CASES])
{
    struct term term;
    int same = 1;

    while (same < N_CASES && v[same] == v[0]) {
        same++;
    }
    if (same == N_CASES) {
        return v[0];
    }
    init(&term, term_get(terms, v[0])->width);
    term.pieces[0].width = term.width;
    term.pieces[0].field = PIECE_CASES;
    term.n_pieces = 1;
    term.cases = pool_add(&terms->cases, v, N_CASES * sizeof *v) + 1;
    return intern(terms, &term);
}

/* What a term is of packets of each case; NULL if the same of all. */
static const term_t *
get_cases(const struct terms *terms, term_t t)
{
    uint32_t cases = term_get(terms, t)->cases;
    size_t size;

    return cases ? pool_get(&terms->cases, cases - 1, &size) : NULL;
}

static bool
is_open(const struct piece *p)
{
    return p->field >= PIECE_OPEN && p->field < PIECE_CASES;
}

/* Does 'b' go on where 'a' ends? */
static bool
goes_on(const struct piece *a, const struct piece *b)
{
    return (a->ofs + a->width == b->ofs && a->field == b->field
            && !a->less && !b->less
            && (a->field == PIECE_UNKNOWN || a->from + a->width == b->from));
}

static bool
add_piece(struct term *term, struct piece piece)
{
    struct piece *last = (term->n_pieces
                          ? &term->pieces[term->n_pieces - 1] : NULL);

    if (last && goes_on(last, &piece)) {
        last->width += piece.width;
        return true;
    } else if (term->n_pieces >= MAX_PIECES) {
        return false;
    }
    term->pieces[term->n_pieces++] = piece;
    return true;
}

/* Adds the pieces of 'from' in [from_ofs, from_ofs + n) to 'to' at 'ofs'. */
static bool
add_pieces(struct term *to, int ofs, int n, const struct term *from,
           int from_ofs)
{
    for (int i = 0; i < from->n_pieces; i++) {
        struct piece p = from->pieces[i];
        int first = MAX(p.ofs, from_ofs);
        int end = MIN(p.ofs + p.width, from_ofs + n);

        if (first >= end) {
            continue;
        } else if (p.less && (first != p.ofs || end != p.ofs + p.width)) {
            return false;
        }
        if (p.field != PIECE_UNKNOWN) {
            p.from += first - p.ofs;
        }
        p.ofs = first - from_ofs + ofs;
        p.width = end - first;
        if (!add_piece(to, p)) {
            return false;
        }
    }
    return true;
}

/* term_copy() case by case. */
static bool
copy_cases(struct terms *terms, term_t *to, int ofs, int n, term_t from,
           int from_ofs)
{
    const term_t *of_to = get_cases(terms, *to);
    const term_t *of_from = get_cases(terms, from);
    term_t v[N_CASES];

    for (int i = 0; i < N_CASES; i++) {
        v[i] = of_to ? of_to[i] : *to;
        if (!term_copy(terms, &v[i], ofs, n, of_from ? of_from[i] : from,
                       from_ofs)) {
            return false;
        }
    }
    *to = term_cases(terms, v);
    return true;
}

bool
term_copy(struct terms *terms, term_t *to, int ofs, int n, term_t from_,
          int from_ofs)
{
    const struct term *old = term_get(terms, *to);
    const struct term *from = term_get(terms, from_);
    bool whole = !ofs && !from_ofs && n == old->width && n == from->width;
    u128 mask = field_ones(n) << ofs;
    struct term new;

    if (whole || old->choice || from->choice) {
        *to = from_;
        return whole;
    } else if (old->cases || from->cases) {
        return copy_cases(terms, to, ofs, n, from_, from_ofs);
    }
    init(&new, old->width);
    new.known = ((old->known & ~mask)
                 | (from->known >> from_ofs << ofs & mask));
    new.value = ((old->value & ~mask)
                 | (from->value >> from_ofs << ofs & mask));
    new.value &= new.known;
    if (!add_pieces(&new, 0, ofs, old, 0)
        || !add_pieces(&new, ofs, n, from, from_ofs)
        || !add_pieces(&new, ofs + n, old->width - ofs - n, old, ofs + n)) {
        return false;
    }
    *to = intern(terms, &new);
    return true;
}

/* term_bind() case by case. */
static bool
bind_cases(struct terms *terms, term_t *t, const term_t fields_[N_FIELDS])
{
    term_t v[N_CASES];

    memcpy(v, get_cases(terms, *t), sizeof v);
    for (int i = 0; i < N_CASES; i++) {
        if (!term_bind(terms, &v[i], fields_)) {
            return false;
        }
    }
    *t = term_cases(terms, v);
    return true;
}

bool
term_bind(struct terms *terms, term_t *t, const term_t fields_[N_FIELDS])
{
    struct term term;

    if (!term_get(terms, *t)->n_pieces) {
        return true;
    } else if (term_get(terms, *t)->cases) {
        return bind_cases(terms, t, fields_);
    }
    term = *term_get(terms, *t);
    for (int i = 0; i < term.n_pieces; i++) {
        const struct piece *p = &term.pieces[i];

        if (is_open(p) && (p->less
            || fields_[p->field - PIECE_OPEN] == TERM_NONE || !term_copy(
                terms, t, p->ofs, p->width,
                fields_[p->field - PIECE_OPEN], p->from))) {
            return false;
        }
    }
    return true;
}

bool
term_decrement(struct terms *terms, term_t *t)
{
    struct term term = *term_get(terms, *t);

    if (term.known == field_ones(term.width)) {
        term.value = (term.value - 1) & term.known;
    } else if (term.n_pieces == 1 && term.pieces[0].width == term.width
               && term.pieces[0].field < N_FIELDS
               && term.width == fields[term.pieces[0].field].width
               && term.pieces[0].less < 255) {
        term.pieces[0].less++;
    } else {
        return false;
    }
    *t = intern(terms, &term);
    return true;
}

/* The packets of which the field less 'p->less' has these bits.  It does not
 * fall below 0. */
static bool
match_less(const struct piece *p, u128 value, u128 mask, struct space *space,
           dd_t *set)
{
    u128 ones = field_ones(p->width);
    u128 low = mask & -mask ? (mask & -mask) - 1 : ones;

    if (mask != (ones & ~low)) {
        return false;
    }
    *set = (value + p->less > ones ? DD_NONE
            : space_range(space, p->field, value + p->less,
                          MIN((value | low) + p->less, ones)));
    return true;
}

/* The packets of which the choice has these bits. */
static dd_t
match_choice(const struct terms *terms, term_t t, u128 value, u128 mask,
             struct space *space)
{
    size_t n_values;
    const uint64_t *v = term_choices(terms, t, &n_values);
    dd_t set = DD_NONE;

    for (size_t i = 0, n = 0; i < n_values; i += n + 1) {
        for (n = 0; i + n < n_values && !((v[i + n] ^ value) & mask); n++) {
            continue;
        }
        if (n) {
            set = dd_or(space->dd, set,
                        space_range(space, F_SENDER, i, i + n - 1));
        }
    }
    return set;
}

/* The packets of which the term of their case has these bits. */
static bool
match_cases(const struct terms *terms, term_t t, u128 value, u128 mask,
            struct space *space, dd_t *set)
{
    const term_t *v = get_cases(terms, t);
    bool known = true;

    *set = DD_NONE;
    for (int i = 0; i < N_CASES && known; i++) {
        dd_t packets = DD_NONE, part;

        for (int j = 0; j < N_CASES; j++) {
            if (v[j] == v[i] && j < i) {
                break;
            } else if (v[j] == v[i]) {
                packets = dd_or(space->dd, packets, space->cases[j]);
            }
        }
        if (packets != DD_NONE) {
            known = term_match(terms, v[i], value, mask, space, &part);
            *set = dd_or(space->dd, *set, dd_and(space->dd, packets, part));
        }
    }
    return known;
}

bool
term_match(const struct terms *terms, term_t t, u128 value, u128 mask,
           struct space *space, dd_t *set)
{
    const struct term *term = term_get(terms, t);

    if (term->cases) {
        return match_cases(terms, t, value, mask, space, set);
    }
    *set = (term->value ^ value) & term->known & mask ? DD_NONE : DD_ALL;
    for (int i = 0; i < term->n_pieces && *set != DD_NONE; i++) {
        const struct piece *p = &term->pieces[i];
        u128 ones = field_ones(p->width);
        u128 bits = value >> p->ofs & ones, care = mask >> p->ofs & ones;
        dd_t part;

        if (!care) {
            continue;
        } else if (p->field == PIECE_UNKNOWN || is_open(p)) {
            return false;
        } else if (p->field == PIECE_CHOICE) {
            part = match_choice(terms, t, bits, care, space);
        } else if (!p->less) {
            part = space_bits(space, p->field, bits << p->from,
                              care << p->from);
        } else if (!match_less(p, bits, care, space, &part)) {
            return false;
        }
        *set = dd_and(space->dd, *set, part);
    }
    return true;
}

u128
term_eval(const struct terms *terms, term_t t, const u128 values[])
{
    const struct term *term = term_get(terms, t);
    u128 value = term->value;

    for (int i = 0; i < term->n_pieces; i++) {
        const struct piece *p = &term->pieces[i];

        if (p->field < N_FIELDS) {
            value |= (((values[p->field] >> p->from) - p->less)
                      & field_ones(p->width)) << p->ofs;
        }
    }
    return value;
}
