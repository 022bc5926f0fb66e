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

/* Parses an address, with a prefix length if 'prefix'.  Returns NULL, or why
 * it is not one.  inet_pton() takes the canonical forms only, where
 * libopenvswitch's parsers also take 266.1.0.10. */
static const char *
parse_address(const char *s, bool prefix, struct address *address)
{
    const char *slash = strchr(s, '/');
    size_t n = slash ? slash - s : strlen(s);
    char ip[INET6_ADDRSTRLEN];
    struct in_addr ip4;
    bool is_ip4;

    if (prefix != (slash != NULL)) {
        return prefix ? "the prefix length is missing"
                      : "a prefix length has no place here";
    }
    ovs_strlcpy(ip, s, MIN(n + 1, sizeof ip));
    is_ip4 = n < sizeof ip && inet_pton(AF_INET, ip, &ip4) == 1;
    if (is_ip4) {
        in6_addr_set_mapped_ipv4(&address->ip, ip4.s_addr);
    } else if (n >= sizeof ip || inet_pton(AF_INET6, ip, &address->ip) != 1) {
        return "it is neither IPv4 nor IPv6";
    } else if (IN6_IS_ADDR_V4MAPPED(&address->ip)) {
        return "write an IPv4 address as one";
    }

    address->plen = 128;
    if (prefix) {
        int plen = parse_plen(slash + 1, is_ip4 ? 32 : 128);
        struct in6_addr mask, inside;

        if (plen < 0) {
            return "the prefix length is not one";
        }
        address->plen = plen + (is_ip4 ? 96 : 0);
        mask = ipv6_create_mask(address->plen);
        inside = ipv6_addr_bitand(&address->ip, &mask);
        if (!ipv6_addr_equals(&inside, &address->ip)) {
            return "bits behind the prefix are set";
        }
    }
    return NULL;
}

static void
decode_address(struct decoder *d, const struct value *v, bool prefixes,
               address_vec *list)
{
    struct text text = decode_string(d, v);
    struct address address = { .at = v };
    const char *error;

    if (!text.s) {
        return;
    }
    error = parse_address(text.s, prefixes, &address);
    if (error) {
        decode_error(d, v, arena_printf(
            d->arena, "this is not %s: %s",
            prefixes ? "a range of addresses" : "an address", error),
            prefixes ? "write it like \"10.1.0.0/16\" or \"fd00:1::/64\""
            : "write it like \"10.1.0.10\" or \"fd00:1::10\"");
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
