/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_FIELD_H
#define VERIFY_FIELD_H 1

/* The fields of packets, and the digits of decision diagrams that they are. */

#include "compiler.h"
#include "openvswitch/meta-flow.h"
#include "verify/dd.h"

enum field {
#define FIELD(NAME, WIDTH, MFF) F_##NAME,
#include "verify/fields.def"
#undef FIELD
    N_FIELDS,
    F_FIRST_OF_PACKET = F_VLAN_TCI,
};

/* A set of fields. */
typedef u128 field_set;
#define FIELD_BIT(FIELD) ((field_set) 1 << (FIELD))
BUILD_ASSERT_DECL(N_FIELDS <= 128);

/* What connection tracking says about a packet: values of F_CONN1 and F_CONN2.
 * ALG helpers, which give other states, are not modelled: tables that use them
 * are refused. */
enum track {
    TRACK_NONE,                 /* Not tracked, or of no connection. */
    TRACK_NEW,
    TRACK_FORWARD,              /* Of a connection, from who opened it. */
    TRACK_REPLY,
    TRACK_RELATED,              /* An ICMP error for who opened it. */
    TRACK_ERROR,                /* One for the other side. */
    TRACK_INVALID,
    N_TRACKS,
};

/* How connection tracking sees a packet, and whether the packet itself says
 * what opened its connection. */
enum { N_CASES = 2 * N_TRACKS };

struct field_info {
    const char *name;
    uint8_t width;
    enum mf_field_id mf;        /* MFF_N_IDS: none. */
};
extern const struct field_info fields[N_FIELDS];

/* Is it of the packet, and so of decision diagrams? */
static inline bool
field_is_packets(enum field f)
{
    return f >= F_FIRST_OF_PACKET;
}

/* Is it one of those in which tables note what they know of a packet, and that
 * are 0 when it comes? */
static inline bool
field_is_register(enum field f)
{
    return f >= F_METADATA && f <= F_REG15;
}

/* The field that is 'mf' or another name of it; N_FIELDS if none is. */
enum field field_find(const struct mf_field *mf);

u128 field_ones(int width);
u128 field_from_ip(const struct in6_addr *);
u128 field_from_value(const union mf_value *, size_t n_bytes);
void field_to_value(u128, size_t n_bytes, union mf_value *);

/* How fields are cut into digits, and in which order.  LAYOUT_WHOLE asks for
 * addresses as a whole; LAYOUT_BITS asks for the ends of destination MAC and
 * address bit by bit in turn, for tables that compare the two: such a set has
 * as many ranges as there are addresses.  LAYOUT_OPENER is LAYOUT_WHOLE, but
 * asks for a packet's own ports, and its TTL, before what connection tracking
 * knows of it: where rules do not ask for them, little does. */
enum layout {
    LAYOUT_WHOLE,
    LAYOUT_BITS,
    LAYOUT_OPENER,
    N_LAYOUTS,
};

/* Diagrams over packets in one layout. */
struct space {
    struct dd *dd;
    struct digit {
        enum field field;
        uint8_t ofs, width;
    } digits[160];
    size_t n_digits;
    uint8_t begin[N_FIELDS], end[N_FIELDS];     /* All digits of a field. */
    dd_t real;                  /* See space_real(); DD_NONE: not made. */
    dd_t cases[N_CASES];        /* See term_cases(); exec-track.c sets them. */
};

void space_init(struct space *, enum layout);
void space_clear(struct space *);       /* See dd_clear(). */
void space_destroy(struct space *);

/* The packets that a switch can meet. */
dd_t space_real(struct space *);

/* The packets whose field has the bits of 'value' where 'mask' is 1. */
dd_t space_bits(struct space *, enum field, u128 value, u128 mask);
dd_t space_is(struct space *, enum field, u128 value);

/* The packets whose field is from 'first' to 'last'. */
dd_t space_range(struct space *, enum field, u128 first, u128 last);

/* The fields of the packet of these digits, in 'values[N_FIELDS]'. */
void space_packet(const struct space *, const u128 digits[], u128 values[]);

#endif /* verify/field.h */
