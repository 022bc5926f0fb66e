/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit rate_units[] = {
    { "bps", 1 },
    { "kbps", 1000 },
    { "Mbps", 1000 * 1000 },
    { "Gbps", 1000 * 1000 * 1000 },
    { "Tbps", UINT64_C(1000) * 1000 * 1000 * 1000 },
    { NULL, 0 },
};

static const struct unit byte_units[] = {
    { "B", 1 },
    { "kB", 1000 },
    { "KB", 1000 },
    { "MB", 1000 * 1000 },
    { "GB", 1000 * 1000 * 1000 },
    { "KiB", 1024 },
    { "MiB", 1024 * 1024 },
    { "GiB", 1024 * 1024 * 1024 },
    { NULL, 0 },
};

static const struct unit packet_rate_units[] = {
    { "pps", 1 },
    { "kpps", 1000 },
    { "Mpps", 1000 * 1000 },
    { "Gpps", 1000 * 1000 * 1000 },
    { NULL, 0 },
};

static const struct unit packet_units[] = {
    { "pkt", 1 },
    { "kpkt", 1000 },
    { "Mpkt", 1000 * 1000 },
    { NULL, 0 },
};

static const struct unit duration_units[] = {
    { "ns", 1 },
    { "us", 1000 },
    { "ms", 1000 * 1000 },
    { "s", 1000 * 1000 * 1000 },
    { NULL, 0 },
};

/* n = n * factor + add, or false if that overflows. */
static bool
multiply_add(uint64_t *n, uint64_t factor, uint64_t add)
{
    return (!__builtin_mul_overflow(*n, factor, n)
            && !__builtin_add_overflow(*n, add, n));
}

/* Parses digits, at least one, at '*sp' and moves it behind them. */
static const char *
parse_digits(const char **sp, uint64_t *n, size_t *n_digits)
{
    const char *s = *sp;

    *n = 0;
    while (isdigit((unsigned char) *s)) {
        if (!multiply_add(n, 10, *s++ - '0')) {
            return "the number is too large";
        }
    }
    *n_digits = s - *sp;
    *sp = s;
    return *n_digits ? NULL : "a number must come first";
}

/* Is 's', behind a number, more of one as others write it: an exponent,
 * separators, another base? */
static bool
is_number(const char *s)
{
    size_t n = strcspn(s, "0123456789");

    return s[n] && n && n <= 2 && strspn(s, "eExX_,'. +-") >= n;
}

static const char *
parse_quantity(const char *s, const struct unit *units, const char *bad_unit,
               uint64_t *np)
{
    uint64_t whole, fraction = 0, divisor = 1;
    size_t n_digits;
    const char *error = parse_digits(&s, &whole, &n_digits);

    if (!error && *s == '.') {
        s++;
        error = parse_digits(&s, &fraction, &n_digits);
        if (!error && n_digits > 12) {
            error = "there are too many digits after the point";
        }
        for (size_t i = 0; !error && i < n_digits; i++) {
            divisor *= 10;
        }
    }
    if (error) {
        return error;
    }

    while (units->name && strcmp(units->name, s)) {
        units++;
    }
    if (!units->name) {
        return (is_number(s) ? "a number has digits only, and a point at most"
                : bad_unit);
    }
    if (__builtin_mul_overflow(fraction, units->factor, &fraction)) {
        return "there are too many digits after the point";
    }
    if (fraction % divisor) {
        return "the result is not a whole number of the base unit";
    }
    if (!multiply_add(&whole, units->factor, fraction / divisor)) {
        return "the number is too large";
    }
    *np = whole;
    return NULL;
}

const char *
parse_rate(const char *s, uint64_t *n)
{
    return parse_quantity(s, rate_units, "the unit must be one of bps, kbps, "
                          "Mbps, Gbps, Tbps", n);
}

const char *
parse_bytes(const char *s, uint64_t *n)
{
    return parse_quantity(s, byte_units, "the unit must be one of B, kB, MB, "
                          "GB, KiB, MiB, GiB", n);
}

const char *
parse_packet_rate(const char *s, uint64_t *n)
{
    return parse_quantity(s, packet_rate_units, "the unit must be one of pps, "
                          "kpps, Mpps, Gpps", n);
}

const char *
parse_packets(const char *s, uint64_t *n)
{
    return parse_quantity(s, packet_units, "the unit must be one of pkt, "
                          "kpkt, Mpkt", n);
}

const char *
parse_duration(const char *s, uint64_t *n)
{
    return parse_quantity(s, duration_units, "the unit must be one of ns, us, "
                          "ms, s", n);
}

/* The number that 's' begins with, as it should be written, and what follows
 * it in '*rest'. */
static void
tidy_number(const char *s, struct ds *number, const char **rest)
{
    for (; *s && strchr("0123456789 _'.,", *s); s++) {
        if (*s == ',' && strspn(s + 1, "0123456789") != 3) {
            ds_put_char(number, '.');   /* Three digits may be thousands. */
        } else if (!strchr(" _'", *s)) {
            ds_put_char(number, *s);
        }
    }
    *rest = s;
}

const char *
suggest_quantity(const char *s, quantity_parser *parse, struct arena *arena)
{
    static const struct unit *const tables[] = {
        rate_units, byte_units, packet_rate_units, packet_units,
        duration_units,
    };
    struct ds number = DS_EMPTY_INITIALIZER;
    const char *rest, *found = NULL;
    uint64_t n;

    tidy_number(s, &number, &rest);
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        for (const struct unit *u = tables[i]; u->name && !found; u++) {
            /* "GBps" may well be bytes. */
            bool bytes = tables[i] == rate_units && strchr(rest, 'B');

            size_t len = strlen(u->name);

            if (!bytes && !strncasecmp(u->name, rest, len)
                && !rest[len + strspn(rest + len, " ")]) {
                found = arena_printf(arena, "%s%s", ds_cstr(&number),
                                     u->name);
                found = parse(found, &n) ? NULL : found;
            }
        }
    }
    ds_destroy(&number);
    return found;
}

static void
format_quantity(uint64_t n, const struct unit *units, struct ds *ds)
{
    const struct unit *best = units;

    for (const struct unit *u = units; n && u->name; u++) {
        if (!(n % u->factor) && u->factor > best->factor) {
            best = u;
        }
    }
    ds_put_format(ds, "%"PRIu64"%s", n / best->factor, best->name);
}

void
format_rate(uint64_t n, struct ds *ds)
{
    format_quantity(n, rate_units, ds);
}

void
format_bytes(uint64_t n, struct ds *ds)
{
    format_quantity(n, byte_units, ds);
}

void
format_packet_rate(uint64_t n, struct ds *ds)
{
    format_quantity(n, packet_rate_units, ds);
}

void
format_packets(uint64_t n, struct ds *ds)
{
    format_quantity(n, packet_units, ds);
}
