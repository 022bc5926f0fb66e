/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "util.h"

/* What OVN takes as an expression: its fields (ovn_init_symtab()), and the
 * rules of make_cmp() and lex_parse_integer() of OVN's library.  A flow of an
 * ACL that it does not take is void. */

enum { MAX_DIGITS = 128 / 4 };

static const struct symbol {
    const char *name;
    unsigned int width;         /* Bits; 0: names of ports. */
    bool nominal;               /* Tested for equality only. */
    bool predicate;
} symbols[] = {
    { "inport", 0, true, false },
    { "outport", 0, true, false },
    { "eth.src", 48, false, false },
    { "eth.dst", 48, false, false },
    { "eth.type", 16, true, false },
    { "eth.bcast", 1, false, true },
    { "eth.mcast", 1, false, false },
    { "vlan.present", 1, false, true },
    { "ip", 1, true, true },
    { "ip4", 1, true, true },
    { "ip6", 1, true, true },
    { "ip.proto", 8, true, false },
    { "ip.dscp", 6, true, false },
    { "ip.ecn", 2, true, false },
    { "ip.ttl", 8, true, false },
    { "ip.is_frag", 1, false, true },
    { "ip4.src", 32, false, false },
    { "ip4.dst", 32, false, false },
    { "ip4.mcast", 1, false, true },
    { "ip6.src", 128, false, false },
    { "ip6.dst", 128, false, false },
    { "ip6.mcast", 1, false, true },
    { "icmp", 1, true, true },
    { "icmp4", 1, true, true },
    { "icmp6", 1, true, true },
    { "icmp4.type", 8, true, false },
    { "icmp4.code", 8, true, false },
    { "icmp6.type", 8, true, false },
    { "icmp6.code", 8, true, false },
    { "igmp", 1, true, true },
    { "mldv1", 1, true, true },
    { "mldv2", 1, true, true },
    { "arp", 1, true, true },
    { "rarp", 1, true, true },
    { "arp.op", 16, true, false },
    { "nd", 1, true, true },
    { "nd_ns", 1, true, true },
    { "nd_na", 1, true, true },
    { "nd_rs", 1, true, true },
    { "nd_ra", 1, true, true },
    { "tcp", 1, true, true },
    { "tcp.src", 16, false, false },
    { "tcp.dst", 16, false, false },
    { "tcp.flags", 12, false, false },
    { "udp", 1, true, true },
    { "udp.src", 16, false, false },
    { "udp.dst", 16, false, false },
    { "sctp", 1, true, true },
    { "sctp.src", 16, false, false },
    { "sctp.dst", 16, false, false },
    { "ct.new", 1, false, false },
    { "ct.est", 1, false, false },
    { "ct.rel", 1, false, false },
    { "ct.rpl", 1, false, false },
    { "ct.inv", 1, false, false },
    { "ct.trk", 1, false, false },
};

static const struct symbol *
find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
        if (!strcmp(symbols[i].name, name)) {
            return &symbols[i];
        }
    }
    return NULL;
}

/* A constant, or its mask. */
struct integer {
    enum { I_DECIMAL, I_HEX, I_IP4, I_IP6, I_MAC } format;
    uint64_t value;             /* Of the first. */
    unsigned int width;         /* Bits that it takes. */
};

static unsigned int
bits_of(uint64_t value)
{
    return value ? 1 + log_2_floor(value) : 0;
}

static bool
parse_hex(const char *s, struct integer *n)
{
    size_t len = strspn(s, "0123456789abcdefABCDEF");
    size_t zeros = strspn(s, "0");

    if (!len || s[len] || len - zeros > MAX_DIGITS) {
        return false;
    }
    n->format = I_HEX;
    n->width = (len > zeros ? 4 * (len - zeros - 1)
                + bits_of(hexit_value(s[zeros])) : 0);
    return true;
}

static bool
parse_integer(const char *s, struct integer *n)
{
    struct eth_addr mac;
    struct in6_addr ip6;
    ovs_be32 ip4;

    *n = (struct integer) { .format = I_DECIMAL };
    if (*s && !s[strspn(s, "0123456789")]) {
        errno = 0;
        n->value = strtoull(s, NULL, 10);
        n->width = bits_of(n->value);
        return !errno && (s[0] != '0' || !s[1]);
    } else if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        return parse_hex(s + 2, n);
    } else if (strlen(s) == ETH_ADDR_STRLEN
               && eth_addr_from_string(s, &mac)) {
        n->format = I_MAC;
        n->width = 48;
        return true;
    } else if (ip_parse(s, &ip4)) {
        n->format = I_IP4;
        n->width = 32;
        return true;
    }
    n->format = I_IP6;
    n->width = 128;
    return ipv6_parse(s, &ip6);
}

/* "VALUE", or "VALUE/MASK".  What it takes is what the mask does. */
static bool
parse_constant(struct ovn *m, const char *s, unsigned int *width,
               bool *masked)
{
    const char *slash = strchr(s, '/');
    struct integer value, mask;

    *masked = slash != NULL;
    if (!slash) {
        *width = parse_integer(s, &value) ? value.width : UINT_MAX;
        return *width != UINT_MAX;
    }
    if (!parse_integer(arena_strndup(m->arena, s, slash - s), &value)
        || !parse_integer(slash + 1, &mask)) {
        return false;
    }
    *width = MAX(value.width, mask.width);
    return (value.format == mask.format
            || (mask.format == I_DECIMAL
                && ((value.format == I_IP4 && mask.value <= 32)
                    || (value.format == I_IP6 && mask.value <= 128))));
}

bool
ovn_takes_test(const char *field, bool negated)
{
    const struct symbol *s = find(field);

    return (s && s->width && (s->width == 1 || negated)
            && !(s->predicate && s->nominal && negated));
}

/* May the value, which is the only one if 'single', stand behind the relation,
 * which is what is left of it when enclosing '!' are taken into account? */
static bool
takes_value(struct ovn *m, const struct symbol *s, enum ovn_relation relation,
            const char *value, bool single)
{
    bool string = value[0] == '"' || value[0] == '@';
    unsigned int width = 0;
    bool masked = false;

    if (string || !s->width) {
        return (string && !s->width && relation == OVN_EQ
                && (value[0] == '"' || !ovn_find_set(m, value)->missing));
    }
    if (value[0] == '$') {
        const struct ovn_named *named = ovn_find_set(m, value);

        if (named->missing) {
            return false;
        }
        width = named->width;
        masked = true;
    } else if (!parse_constant(m, value, &width, &masked)) {
        return false;
    }
    if (width > s->width) {
        return false;
    }
    if (s->nominal && s->predicate) {
        return (relation <= OVN_NE
                && !strcmp(value, relation == OVN_EQ ? "1" : "0"));
    }
    return (relation <= (s->nominal ? OVN_EQ : OVN_NE)
            || (!s->nominal && s->width > 1 && single && !masked));
}

bool
ovn_takes(struct ovn *m, const char *field, enum ovn_relation relation,
          const ovn_names *values, bool list)
{
    const struct symbol *s = find(field);

    for (size_t i = 0; s && i < values->n; i++) {
        if (!takes_value(m, s, relation, values->v[i], !list)) {
            return false;
        }
    }
    return s && values->n;
}
