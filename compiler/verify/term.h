/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_TERM_H
#define VERIFY_TERM_H 1

/* What a field holds somewhere in the tables, said by the packet that came:
 * bits that are known, bits of its fields, or its TTL less a number.  Terms
 * are hash-consed: the same value is the same 'term_t'. */

#include "verify/field.h"

typedef uint32_t term_t;
#define TERM_NONE UINT32_MAX    /* In place of one that is not known. */

struct terms;

enum { MAX_PIECES = 6 };

/* Bits [ofs, ofs + width) of the term. */
struct piece {
    uint8_t ofs, width;
    uint8_t from;               /* They are bits from this on of ... */
    uint8_t less;               /* The whole field, less this. */
    uint8_t field;              /* ... this field of the packet; N_FIELDS:
                                 * they are known; PIECE_UNKNOWN;
                                 * PIECE_CHOICE; PIECE_CASES; PIECE_OPEN + a
                                 * field. */
};
enum { PIECE_OPEN = 128, PIECE_CASES = 253, PIECE_CHOICE = 254,
       PIECE_UNKNOWN = 255 };

struct term {
    u128 value, known;          /* Where 'known' is 1, the bits. */
    struct piece pieces[MAX_PIECES];    /* Of what is not known. */
    uint8_t n_pieces, width;
    uint32_t choice;            /* Of term_choice(): its number; else 0. */
    uint32_t cases;             /* The same of term_cases(). */
};

struct terms *terms_create(void);
void terms_destroy(struct terms *);

const struct term *term_get(const struct terms *, term_t);

term_t term_const(struct terms *, int width, u128 value);
term_t term_zero(const struct terms *, enum field);
term_t term_field(const struct terms *, enum field);

/* What nobody can know. */
term_t term_unknown(struct terms *, int width);

/* The value of 'v[F_SENDER]', of the 'n' that there are.  It is copied as a
 * whole only. */
term_t term_choice(struct terms *, int width, const uint64_t v[], size_t n);

/* The values of a choice; NULL if it is none. */
const uint64_t *term_choices(const struct terms *, term_t, size_t *n);

/* 'v[i]' of packets of space->cases[i]. */
term_t term_cases(struct terms *, const term_t v[N_CASES]);

/* What field 'f' holds, left open for term_bind() to say. */
term_t term_open(const struct terms *, enum field f);

/* Does it say what it is without other terms, values or states? */
bool term_is_plain(const struct term *);

/* The same of other terms, which is plain. */
term_t term_add(struct terms *, const struct term *);

/* The term with what 'fields' say for what it leaves open.  Returns false if
 * that has too many pieces, or one of them is TERM_NONE. */
bool term_bind(struct terms *, term_t *, const term_t fields[N_FIELDS]);

/* 'to' with its bits [ofs, ofs + n) those of 'from' from 'from_ofs' on.
 * Returns false if that has too many pieces. */
bool term_copy(struct terms *, term_t *to, int ofs, int n, term_t from,
               int from_ofs);

/* Less one.  Returns false if it is not a whole field. */
bool term_decrement(struct terms *, term_t *);

/* Stores in '*set' the packets for which the term has the bits of 'value'
 * where 'mask' is 1.  Returns false if nobody can know. */
bool term_match(const struct terms *, term_t, u128 value, u128 mask,
                struct space *, dd_t *set);

/* Its value for one packet. */
u128 term_eval(const struct terms *, term_t, const u128 values[]);

#endif /* verify/term.h */
