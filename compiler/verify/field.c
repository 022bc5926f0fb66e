/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/field.h"

#include <netinet/in.h>
#include <string.h>

#include "flow.h"
#include "ovs-thread.h"
#include "packets.h"
#include "util.h"

#define MFF_NONE MFF_N_IDS
const struct field_info fields[N_FIELDS] = {
#define FIELD(NAME, WIDTH, MFF) { #NAME, WIDTH, MFF_##MFF },
#include "verify/fields.def"
#undef FIELD
};

/* Other names of members of struct flow. */
static const struct alias {
    enum mf_field_id mf;
    enum field field;
} aliases[] = {
    { MFF_ARP_SPA, F_NW_SRC }, { MFF_ARP_TPA, F_NW_DST },
    { MFF_ARP_OP, F_NW_PROTO },
    { MFF_UDP_SRC, F_TP_SRC }, { MFF_UDP_DST, F_TP_DST },
    { MFF_SCTP_SRC, F_TP_SRC }, { MFF_SCTP_DST, F_TP_DST },
    { MFF_ICMPV4_TYPE, F_TP_SRC }, { MFF_ICMPV4_CODE, F_TP_DST },
    { MFF_ICMPV6_TYPE, F_TP_SRC }, { MFF_ICMPV6_CODE, F_TP_DST },
    { MFF_ND_SLL, F_ARP_SHA }, { MFF_ND_TLL, F_ARP_THA },
    { MFF_IN_PORT_OXM, F_IN_PORT },
};

/* The field of each name, N_FIELDS for those that are not modelled. */
static void
find_names(uint8_t by_mf[MFF_N_IDS])
{
    memset(by_mf, N_FIELDS, MFF_N_IDS);
    for (int i = 0; i < N_FIELDS; i++) {
        if (fields[i].mf != MFF_N_IDS) {
            by_mf[fields[i].mf] = i;
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
        by_mf[aliases[i].mf] = aliases[i].field;
    }
}

enum field
field_find(const struct mf_field *mf)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;
    static uint8_t by_mf[MFF_N_IDS];

    if (ovsthread_once_start(&once)) {
        find_names(by_mf);
        ovsthread_once_done(&once);
    }
    return by_mf[mf->id];
}

u128
field_ones(int width)
{
    return width == 128 ? ~(u128) 0 : ((u128) 1 << width) - 1;
}

u128
field_from_value(const union mf_value *value, size_t n_bytes)
{
    u128 n = 0;

    for (size_t i = 0; i < n_bytes; i++) {
        n = n << 8 | value->b[i];
    }
    return n;
}

u128
field_from_ip(const struct in6_addr *ip)
{
    union mf_value value = { .ipv6 = *ip };

    return field_from_value(&value, sizeof value.ipv6);
}

void
field_to_value(u128 n, size_t n_bytes, union mf_value *value)
{
    memset(value, 0, sizeof *value);
    for (size_t i = n_bytes; i > 0; i--, n >>= 8) {
        value->b[i - 1] = n;
    }
}

static void
add_digit(struct space *space, enum field field, int ofs, int width)
{
    ovs_assert(space->n_digits < ARRAY_SIZE(space->digits));
    if (!space->end[field]) {
        space->begin[field] = space->n_digits;
    }
    space->end[field] = space->n_digits + 1;
    space->digits[space->n_digits++] = (struct digit) { field, ofs, width };
}

/* The multicast bit of a MAC comes first: it is matched by itself. */
static void
add_mac(struct space *space, int n_low)
{
    add_digit(space, F_ETH_DST, 40, 1);
    add_digit(space, F_ETH_DST, 41, 7);
    add_digit(space, F_ETH_DST, n_low, 40 - n_low);
}

/* The destination's MAC and addresses, whose last 32 bits are those of a
 * group's MAC too. */
static void
add_destination_bits(struct space *space)
{
    add_mac(space, 32);
    add_digit(space, F_IPV6_DST, 32, 96);
    for (int i = 31; i >= 0; i--) {
        add_digit(space, F_ETH_DST, i, 1);
        add_digit(space, F_NW_DST, i, 1);
        add_digit(space, F_IPV6_DST, i, 1);
    }
}

static void
add_field(struct space *space, enum layout layout, enum field f)
{
    bool destination = f == F_NW_DST || f == F_IPV6_DST;

    if (f == F_VLAN_TCI) {
        add_digit(space, f, 12, 1);
        add_digit(space, f, 0, 12);
        add_digit(space, f, 13, 3);
    } else if (f == F_ETH_DST && layout == LAYOUT_BITS) {
        add_destination_bits(space);
    } else if (f == F_ETH_DST) {
        add_mac(space, 0);
    } else if (!destination || layout != LAYOUT_BITS) {
        add_digit(space, f, 0, fields[f].width);
    }
}

/* Of LAYOUT_OPENER: the fields that are asked for before 'f' instead of at
 * their own place, up to N_FIELDS. */
static const enum field *
find_early(enum field f)
{
    static const enum field before_bound[] = { F_NW_TTL, N_FIELDS };
    static const enum field before_conn1[] = {
        F_NW_FRAG, F_NW_PROTO, F_TP_SRC, F_TP_DST, N_FIELDS,
    };
    static const enum field none[] = { N_FIELDS };

    return (f == F_BOUND ? before_bound : f == F_CONN1 ? before_conn1
            : none);
}

static void
add_digits(struct space *space, enum layout layout)
{
    for (enum field f = F_FIRST_OF_PACKET; f < N_FIELDS; f++) {
        const enum field *early = find_early(f);

        for (; layout == LAYOUT_OPENER && *early < N_FIELDS; early++) {
            add_field(space, layout, *early);
        }
        if (!space->end[f]) {
            add_field(space, layout, f);
        }
    }
}

static dd_t
is_proto(struct space *space, uint8_t proto)
{
    return space_is(space, F_NW_PROTO, proto);
}

/* An outer header is of one family. */
static dd_t
real_outer_headers(struct space *space)
{
    struct dd *dd = space->dd;
    dd_t no4 = dd_and(dd, space_is(space, F_TUN_SRC, 0),
                      space_is(space, F_TUN_DST, 0));
    dd_t no6 = dd_and(dd, space_is(space, F_TUN_IPV6_SRC, 0),
                      space_is(space, F_TUN_IPV6_DST, 0));

    return dd_or(dd, no4, no6);
}

/* What no switch meets: a tag's bits without a tag; ports of fragments, which
 * are matched without, or of protocols that have none; fragments of what is
 * not IP.  (lib/flow.c, ofproto/ofproto-dpif.c.) */
static dd_t
real_packets(struct space *space)
{
    struct dd *dd = space->dd;
    dd_t untagged = dd_not(dd, space_bits(space, F_VLAN_TCI, 0x1000, 0x1000));
    dd_t ip = dd_or(dd, space_is(space, F_ETH_TYPE, ETH_TYPE_IP),
                    space_is(space, F_ETH_TYPE, ETH_TYPE_IPV6));
    dd_t whole = space_is(space, F_NW_FRAG, 0);
    dd_t no_ports = dd_and(dd, space_is(space, F_TP_SRC, 0),
                           space_is(space, F_TP_DST, 0));
    dd_t with_ports = dd_or(dd, is_proto(space, IPPROTO_TCP),
                            is_proto(space, IPPROTO_UDP));
    dd_t real = dd_or(dd, dd_not(dd, untagged),
                      space_is(space, F_VLAN_TCI, 0));

    with_ports = dd_or(dd, with_ports, is_proto(space, IPPROTO_SCTP));
    with_ports = dd_or(dd, with_ports, is_proto(space, IPPROTO_ICMP));
    with_ports = dd_or(dd, with_ports, is_proto(space, IPPROTO_IGMP));
    with_ports = dd_or(dd, with_ports, is_proto(space, IPPROTO_ICMPV6));
    real = dd_and(dd, real, dd_or(dd, no_ports, dd_and(
                      dd, ip, dd_and(dd, whole, with_ports))));
    real = dd_and(dd, real, dd_or(dd, ip, whole));
    real = dd_and(dd, real, real_outer_headers(space));
    real = dd_and(dd, real, space_range(space, F_CONN1, 0, N_TRACKS - 1));
    real = dd_and(dd, real, space_range(space, F_CONN2, 0, N_TRACKS - 1));
    real = dd_and(dd, real, space_range(space, F_ETH_TYPE, FLOW_DL_TYPE_NONE,
                                        UINT16_MAX));
    return dd_and(dd, real, dd_not(dd, space_is(space, F_NW_FRAG,
                                                FLOW_NW_FRAG_LATER)));
}

void
space_init(struct space *space, enum layout layout)
{
    uint8_t widths[ARRAY_SIZE(space->digits)];

    memset(space, 0, sizeof *space);
    add_digits(space, layout);
    for (size_t i = 0; i < space->n_digits; i++) {
        widths[i] = space->digits[i].width;
    }
    space->dd = dd_create(widths, space->n_digits);
    dd_bind_at(space->dd, space->begin[F_BOUND]);
    space->real = DD_NONE;
}

void
space_clear(struct space *space)
{
    dd_clear(space->dd);
    space->real = DD_NONE;
}

dd_t
space_real(struct space *space)
{
    if (space->real == DD_NONE) {
        space->real = real_packets(space);
    }
    return space->real;
}

void
space_destroy(struct space *space)
{
    dd_destroy(space->dd);
    space->dd = NULL;
}

dd_t
space_bits(struct space *space, enum field f, u128 value, u128 mask)
{
    dd_t set = DD_ALL;

    for (size_t i = space->begin[f]; i < space->end[f]; i++) {
        const struct digit *d = &space->digits[i];
        u128 care = mask >> d->ofs & field_ones(d->width);

        if (d->field == f && care) {
            set = dd_and(space->dd, set,
                         dd_bits(space->dd, i, value >> d->ofs, care));
        }
    }
    return set;
}

dd_t
space_is(struct space *space, enum field f, u128 value)
{
    return space_bits(space, f, value, field_ones(fields[f].width));
}

dd_t
space_range(struct space *space, enum field f, u128 first, u128 last)
{
    for (size_t i = 0; i < space->n_digits; i++) {
        if (space->digits[i].field == f) {
            ovs_assert(space->digits[i].width == fields[f].width);
            return dd_range(space->dd, i, first, last);
        }
    }
    OVS_NOT_REACHED();
}

void
space_packet(const struct space *space, const u128 digits[], u128 values[])
{
    memset(values, 0, N_FIELDS * sizeof *values);
    for (size_t i = 0; i < space->n_digits; i++) {
        const struct digit *d = &space->digits[i];

        values[d->field] |= digits[i] << d->ofs;
    }
}
