/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <netinet/in.h>
#include <string.h>

#include "import/ranges.h"
#include "openvswitch/json.h"
#include "util.h"

/* Sets of protocols and ports. */

const struct ovn_service ovn_any = { .any = true };

/* The built-in services, a match a line. */
static const struct {
    const char *name;
    uint8_t protocol;
    uint16_t first, last;
    bool symmetric;
} builtin[] = {
#define SERVICE(NAME, PROTOCOL, FIRST, LAST, SYMMETRIC) \
    { NAME, PROTOCOL, FIRST, LAST, SYMMETRIC },
#include "sema/services.def"
#undef SERVICE
};

/* Is it one that no service has (docs/intents.md, "Protocols")? */
static bool
is_refused(uint8_t protocol)
{
    return (protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_IGMP
            || protocol == IPPROTO_ROUTING || protocol == IPPROTO_FRAGMENT
            || protocol == IPPROTO_AH || protocol == IPPROTO_DSTOPTS);
}

struct ovn_service
ovn_of_ranges(struct ovn *m, uint8_t protocol, const port_ranges *ranges)
{
    struct ovn_service s = { .any = false };
    port_ranges *ports = (protocol == IPPROTO_TCP ? &s.tcp
                          : protocol == IPPROTO_UDP ? &s.udp : NULL);

    for (size_t i = 0; ports && i < ranges->n; i++) {
        ranges_add(m->arena, ports, MAX(ranges->v[i].first, 1),
                   ranges->v[i].last);
    }
    if (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6) {
        s.icmp = true;
    } else if (!ports && !is_refused(protocol)) {
        ranges_add(m->arena, &s.others, protocol, protocol);
    }
    return s;
}

struct ovn_service
ovn_ports(struct ovn *m, uint8_t protocol, int first, int last)
{
    port_ranges one = VEC_INIT;

    ranges_add(m->arena, &one, first, last);
    return ovn_of_ranges(m, protocol, &one);
}

/* All that a few rules can name. */
static struct ovn_service
everything(struct ovn *m)
{
    struct ovn_service s = { .icmp = true };

    ranges_add(m->arena, &s.tcp, 1, UINT16_MAX);
    ranges_add(m->arena, &s.udp, 1, UINT16_MAX);
    ranges_add(m->arena, &s.others, IPPROTO_ESP, IPPROTO_ESP);
    return s;
}

/* Both, in order, those that meet joined. */
static port_ranges
join(struct ovn *m, const port_ranges *a, const port_ranges *b)
{
    port_ranges all = VEC_INIT;

    for (size_t i = 0; i < a->n + b->n; i++) {
        *vec_push(m->arena, &all) = i < a->n ? a->v[i] : b->v[i - a->n];
    }
    m->work += all.n;
    return ranges_join(m->arena, &all);
}

struct ovn_service
ovn_common(struct ovn *m, const struct ovn_service *a,
           const struct ovn_service *b)
{
    if (a->any || b->any) {
        return a->any ? *b : *a;
    }
    return (struct ovn_service) {
        .icmp = a->icmp && b->icmp,
        .others = ranges_common(m->arena, &a->others, &b->others, &m->work),
        .tcp = ranges_common(m->arena, &a->tcp, &b->tcp, &m->work),
        .udp = ranges_common(m->arena, &a->udp, &b->udp, &m->work),
    };
}

struct ovn_service
ovn_union(struct ovn *m, const struct ovn_service *a,
          const struct ovn_service *b)
{
    if (a->any || b->any) {
        return ovn_any;
    }
    return (struct ovn_service) {
        .icmp = a->icmp || b->icmp, .others = join(m, &a->others, &b->others),
        .tcp = join(m, &a->tcp, &b->tcp), .udp = join(m, &a->udp, &b->udp),
    };
}

bool
ovn_service_is_empty(const struct ovn_service *s)
{
    return !s->any && !s->icmp && !s->others.n && !s->tcp.n && !s->udp.n;
}

static bool
is_within(const port_ranges *part, const port_ranges *whole)
{
    size_t j = 0;

    for (size_t i = 0; i < part->n; i++) {
        while (j < whole->n && whole->v[j].last < part->v[i].first) {
            j++;
        }
        if (j == whole->n || whole->v[j].first > part->v[i].first
            || whole->v[j].last < part->v[i].last) {
            return false;
        }
    }
    return true;
}

bool
ovn_service_has(struct ovn *m, const struct ovn_service *s,
                const struct ovn_service *part)
{
    m->work += part->tcp.n + part->udp.n;
    return s->any || (!part->any && (s->icmp || !part->icmp)
                      && is_within(&part->others, &s->others)
                      && is_within(&part->tcp, &s->tcp)
                      && is_within(&part->udp, &s->udp));
}

struct ovn_service
ovn_both_ways(struct ovn *m, const struct ovn_service *s)
{
    struct ovn_service all = { .any = false };

    for (size_t i = 0; i < ARRAY_SIZE(builtin); i++) {
        if (builtin[i].symmetric) {
            ranges_add(m->arena, &all.udp, builtin[i].first, builtin[i].last);
        }
    }
    all = ovn_union(m, &all, &(struct ovn_service) { .any = false });
    return ovn_common(m, s, &all);
}

struct ovn_service
ovn_one_way(struct ovn *m, const struct ovn_service *s)
{
    struct ovn_service any = ovn_any;
    struct ovn_service cut = ovn_both_ways(m, &any);
    struct ovn_service out = s->any ? everything(m) : *s;
    port_ranges gaps = VEC_INIT;
    int next = 0;

    for (size_t i = 0; i < cut.udp.n; i++) {
        ranges_add(m->arena, &gaps, next, cut.udp.v[i].first - 1);
        next = cut.udp.v[i].last + 1;
    }
    ranges_add(m->arena, &gaps, next, UINT16_MAX);
    out.udp = ranges_common(m->arena, &out.udp, &gaps, &m->work);
    return out;
}

/* Do both have something? */
static bool
meet(const port_ranges *a, const port_ranges *b)
{
    size_t i = 0, j = 0;

    while (i < a->n && j < b->n) {
        if (a->v[i].last < b->v[j].first) {
            i++;
        } else if (b->v[j].last < a->v[i].first) {
            j++;
        } else {
            return true;
        }
    }
    return false;
}

/* The built-in service that begins at 'i'. */
static struct ovn_service
builtin_at(struct ovn *m, size_t i)
{
    struct ovn_service s = { .any = false };

    for (size_t j = i; j < ARRAY_SIZE(builtin)
         && !strcmp(builtin[j].name, builtin[i].name); j++) {
        struct ovn_service one = ovn_ports(m, builtin[j].protocol,
                                           builtin[j].first, builtin[j].last);

        s = ovn_union(m, &s, &one);
    }
    return s;
}

bool
ovn_service_meets(const struct ovn_service *a, const struct ovn_service *b)
{
    return (a->any || b->any || (a->icmp && b->icmp)
            || meet(&a->others, &b->others)
            || (a->tcp.n && b->tcp.n) || (a->udp.n && b->udp.n));
}

bool
ovn_service_equals(struct ovn *m, const struct ovn_service *a,
          const struct ovn_service *b)
{
    return ovn_service_has(m, a, b) && ovn_service_has(m, b, a);
}

/* The built-in service that is 's', of which "rocev2" stands for its like. */
static const char *
builtin_name(struct ovn *m, const struct ovn_service *s)
{
    const char *name = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(builtin); i++) {
        struct ovn_service b;

        if (i && !strcmp(builtin[i].name, builtin[i - 1].name)) {
            continue;
        }
        b = builtin_at(m, i);
        if (ovn_service_equals(m, s, &b)) {
            name = builtin[i].name;
        }
    }
    return name;
}

/* The ports of one protocol, by name. */
static void
add_ports(struct ovn *m, uint8_t protocol, const port_ranges *ranges,
          ovn_names *names)
{
    struct ovn_service s = { .any = false };
    const char *name;

    if (!ranges->n) {
        return;
    }
    *(protocol == IPPROTO_TCP ? &s.tcp : &s.udp) = *ranges;
    name = builtin_name(m, &s);
    *vec_push(m->arena, names) = (
        name ? name : ranges_define(m->arena, m->services,
                                    protocol == IPPROTO_TCP ? "tcp" : "udp",
                                    ranges));
}

/* The service of one protocol that has no ports. */
static const char *
define_protocol(struct ovn *m, int protocol)
{
    struct json *service = json_object_create();
    const char *name = arena_printf(m->arena, "protocol-%d", protocol);

    json_object_put(service, "protocol", json_integer_create(protocol));
    json_object_put(m->services, name, service);
    return name;
}

ovn_names
ovn_service_names(struct ovn *m, const struct ovn_service *s_)
{
    static const struct ovn_service none = { .any = false };
    struct ovn_service s = ovn_union(m, s_, &none);
    const char *name = s.any ? "" : builtin_name(m, &s);
    ovn_names names = VEC_INIT;

    if (name) {
        *vec_push(m->arena, &names) = name;
        return names;
    }
    if (s.icmp) {
        *vec_push(m->arena, &names) = "icmp";
    }
    for (size_t i = 0; i < s.others.n; i++) {
        for (int n = s.others.v[i].first; n <= s.others.v[i].last; n++) {
            *vec_push(m->arena, &names) = define_protocol(m, n);
        }
    }
    add_ports(m, IPPROTO_TCP, &s.tcp, &names);
    add_ports(m, IPPROTO_UDP, &s.udp, &names);
    return names;
}
