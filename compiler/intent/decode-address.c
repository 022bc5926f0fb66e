/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* Parses decimal digits only, at most 'max'; -1 if it is anything else. */
static int
parse_plen(const char *s, int max)
{
    size_t n = strspn(s, "0123456789");
    int plen = n && n <= 3 && !s[n] ? atoi(s) : -1;

    return plen <= max ? plen : -1;
}

/* Parses the 'n' bytes of an IP address.  Returns NULL, or why it is none.
 * inet_pton() takes the canonical forms only, where libopenvswitch's parsers
 * also take 266.1.0.10. */
static const char *
parse_ip(const char *s, size_t n, struct in6_addr *ip)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr ip4;

    ovs_strlcpy(text, s, MIN(n + 1, sizeof text));
    if (n < sizeof text && inet_pton(AF_INET, text, &ip4) == 1) {
        in6_addr_set_mapped_ipv4(ip, ip4.s_addr);
    } else if (n >= sizeof text || inet_pton(AF_INET6, text, ip) != 1) {
        return "it is neither IPv4 nor IPv6";
    } else if (IN6_IS_ADDR_V4MAPPED(ip)) {
        return "write an IPv4 address as one";
    }
    return NULL;
}

/* The length at which only zeros are left, in octets (IPv6: in 16 bits). */
static int
natural_plen(const struct in6_addr *ip)
{
    int step = IN6_IS_ADDR_V4MAPPED(ip) ? 1 : 2, n = 16;

    while (n > (step == 1 ? 12 : 0) && !ip->s6_addr[n - 1]
           && !ip->s6_addr[n - step]) {
        n -= step;
    }
    return 8 * n;
}

static const char *
range_text(struct decoder *d, const struct in6_addr *ip, int plen)
{
    struct in6_addr mask = ipv6_create_mask(plen);
    struct in6_addr inside = ipv6_addr_bitand(ip, &mask);
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;

    ipv6_format_mapped(&inside, &ds);
    ds_put_format(&ds, "/%d", plen - (IN6_IS_ADDR_V4MAPPED(ip) ? 96 : 0));
    text = arena_strdup(d->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

/* The length that is meant by what stands behind 'slash', NULL if nothing
 * does, where no length does: that of a netmask, or a natural one. */
static int
suggest_plen(const char *slash, const struct in6_addr *ip)
{
    struct in_addr mask;

    return (slash && IN6_IS_ADDR_V4MAPPED(ip)
            && inet_pton(AF_INET, slash + 1, &mask) == 1
            && ip_is_cidr(mask.s_addr)
            ? 96 + ip_count_cidr_bits(mask.s_addr) : natural_plen(ip));
}

/* Parses the prefix length at 'slash', NULL if there is none, of a range.
 * Returns NULL, or why it is wrong and in '*remedy' what to write. */
static const char *
parse_range(struct decoder *d, const char *slash, struct address *address,
            const char **remedy)
{
    bool is_ip4 = IN6_IS_ADDR_V4MAPPED(&address->ip);
    int plen = slash ? parse_plen(slash + 1, is_ip4 ? 32 : 128) : -1;
    struct in6_addr mask, inside;

    if (plen < 0) {
        *remedy = arena_printf(d->arena, "write \"%s\", or the length that is "
                               "meant", range_text(d, &address->ip,
                                                   suggest_plen(
                                                       slash, &address->ip)));
        return (slash ? "the prefix length is not one"
                : "the prefix length is missing");
    }
    address->plen = plen + (is_ip4 ? 96 : 0);
    mask = ipv6_create_mask(address->plen);
    inside = ipv6_addr_bitand(&address->ip, &mask);
    if (!ipv6_addr_equals(&inside, &address->ip) && d->masks) {
        diag_remedy(d->diags, value_warning(
            d->diags, address->at, "bits behind the prefix are set: it is "
            "taken as \"%s\"", range_text(d, &inside, address->plen)),
            "write it so, if that is what is meant");
        address->ip = inside;
    } else if (!ipv6_addr_equals(&inside, &address->ip)) {
        *remedy = arena_printf(d->arena, "write \"%s\"; or \"%s\", which is "
                               "this address alone",
                               range_text(d, &address->ip, plen
                                          ? address->plen
                                          : natural_plen(&address->ip)),
                               range_text(d, &address->ip, 128));
        return "bits behind the prefix are set";
    }
    return NULL;
}

static void
decode_address(struct decoder *d, const struct value *v, bool prefixes,
               address_vec *list)
{
    struct text text = decode_string(d, v);
    const char *slash = text.s ? strchr(text.s, '/') : NULL;
    const char *error, *remedy = (
        prefixes ? "write it like \"10.1.0.0/16\" or \"fd00:1::/64\""
        : "write it like \"10.1.0.10\" or \"fd00:1::10\"");
    struct address address = { .plen = 128, .at = v };
    size_t n;

    if (!text.s) {
        return;
    }
    n = slash ? slash - text.s : strlen(text.s);
    error = parse_ip(text.s, n, &address.ip);
    if (!error && prefixes) {
        error = parse_range(d, slash, &address, &remedy);
    } else if (!error && slash) {
        error = "a prefix length has no place here";
        remedy = arena_printf(d->arena, "write \"%.*s\"", (int) n, text.s);
    }
    if (error) {
        decode_error(d, v, arena_printf(
            d->arena, "this is not %s: %s",
            prefixes ? "a range of addresses" : "an address", error), remedy);
    } else {
        *vec_push(d->arena, list) = address;
    }
}

void
decode_addresses(struct decoder *d, const struct value *v, bool prefixes,
                 address_vec *list)
{
    if (v && v->type == VALUE_STRING) {
        decode_address(d, v, prefixes, list);
    } else if (decode_list(d, v, "a list of addresses")) {
        for (size_t i = 0; i < v->n; i++) {
            decode_address(d, &v->elems[i], prefixes, list);
        }
    }
}

/* Parses exactly XX:XX:XX:XX:XX:XX. */
static bool
parse_mac(const char *s, struct eth_addr *mac)
{
    for (int i = 0; i < ETH_ADDR_STRLEN; i++) {
        if (i % 3 == 2 ? s[i] != ':' : !isxdigit((unsigned char) s[i])) {
            return false;
        }
    }
    return !s[ETH_ADDR_STRLEN] && eth_addr_from_string(s, mac);
}

void
decode_mac(struct decoder *d, const struct value *v, const char *key,
           struct text *text, struct eth_addr *mac)
{
    *text = decode_text(d, v, key);
    if (text->s && (!parse_mac(text->s, mac)
                    || eth_addr_is_multicast(*mac)
                    || eth_addr_is_zero(*mac))) {
        decode_error(d, text->at, "this is not the MAC address of a station",
                     "write a unicast address like \"02:00:00:01:00:00\"");
        text->s = NULL;
    }
}
