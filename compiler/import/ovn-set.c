/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <stdlib.h>
#include <string.h>

#include "bitmap.h"
#include "sema/check.h"
#include "util.h"

/* Sets of addresses of endpoints. */

VEC_TYPEDEF(ovn_ips, struct in6_addr);

static size_t
n_words(struct ovn *m)
{
    size_t n = bitmap_n_longs(m->n);

    m->work += n;
    return n;
}

static unsigned long
word(struct ovn *m, const unsigned long *set, size_t i)
{
    return set ? set[i] : m->ip4[i] | m->ip6[i];
}

ovn_set
ovn_empty(struct ovn *m)
{
    return arena_zalloc(m->arena, n_words(m) * sizeof(unsigned long) + 1);
}

ovn_set
ovn_and(struct ovn *m, const unsigned long *a, const unsigned long *b)
{
    ovn_set out = ovn_empty(m);

    for (size_t i = 0, n = n_words(m); i < n; i++) {
        out[i] = word(m, a, i) & word(m, b, i);
    }
    return out;
}

ovn_set
ovn_without(struct ovn *m, const unsigned long *a, const unsigned long *b)
{
    ovn_set out = ovn_empty(m);

    for (size_t i = 0, n = n_words(m); i < n; i++) {
        out[i] = word(m, a, i) & ~word(m, b, i);
    }
    return out;
}

void
ovn_add(struct ovn *m, ovn_set to, const unsigned long *more)
{
    for (size_t i = 0, n = n_words(m); i < n; i++) {
        to[i] |= word(m, more, i);
    }
}

bool
ovn_is_empty(struct ovn *m, const unsigned long *set)
{
    for (size_t i = 0, n = n_words(m); i < n; i++) {
        if (word(m, set, i)) {
            return false;
        }
    }
    return true;
}

bool
ovn_has(struct ovn *m, const unsigned long *set, const unsigned long *part)
{
    for (size_t i = 0, n = set ? n_words(m) : 0; i < n; i++) {
        if (word(m, part, i) & ~set[i]) {
            return false;
        }
    }
    return true;
}

bool
ovn_meet(struct ovn *m, const unsigned long *a, const unsigned long *b)
{
    for (size_t i = 0, n = n_words(m); i < n; i++) {
        if (word(m, a, i) & word(m, b, i)) {
            return true;
        }
    }
    return false;
}

ovn_set
ovn_within(struct ovn *m, const struct address *range)
{
    ovn_set out = ovn_empty(m);

    m->work += m->n;
    for (size_t i = 0; i < m->n; i++) {
        if (subnet_holds(range, &m->addresses.v[i].ip)) {
            bitmap_set1(out, i);
        }
    }
    return out;
}

struct ovn_named
ovn_find_port(struct ovn *m, const char *name)
{
    size_t e = (uintptr_t) shash_find_data(&m->ports, name);
    const struct ovn_row *row = ovn_find(m, "Logical_Switch_Port", name);
    struct ovn_named named = { .set = ovn_empty(m), .missing = !row };

    if (e) {
        bitmap_set_multiple(named.set, m->endpoints.v[e - 1].first,
                            m->endpoints.v[e - 1].n, true);
    } else if (row) {
        const struct ovn_switch *s = shash_find_data(&m->at, name);

        named.routers = (s && !strcmp(ovn_string(m, row, "type"), "router")
                         ? s->own : NULL);
    }
    return named;
}

static void
add_ports(struct ovn *m, struct ovn_named *named, const struct ovn_row *group)
{
    ovn_row_vec ports = ovn_refs(m, group, "ports", "Logical_Switch_Port");

    for (size_t i = 0; i < ports.n; i++) {
        struct ovn_named port = ovn_find_port(
            m, ovn_string(m, ports.v[i], "name"));
        const struct ovn_switch *s = shash_find_data(
            &m->at, ovn_string(m, ports.v[i], "name"));

        ovn_add(m, named->set, port.set);
        if (s) {
            ovn_add(m, named->at, s->own);
        }
        if (port.routers && !named->routers) {
            named->routers = ovn_empty(m);
        }
        if (port.routers) {
            ovn_add(m, named->routers, port.routers);
        }
    }
}

static int
compare_ips(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct in6_addr));
}

/* The endpoints that have these addresses. */
static void
add_ips(struct ovn *m, struct ovn_named *named, ovn_ips *ips)
{
    if (!ips->n) {
        return;
    }
    qsort(ips->v, ips->n, sizeof *ips->v, compare_ips);
    m->work += m->n + ips->n;
    for (size_t i = 0; i < m->n; i++) {
        if (bsearch(&m->addresses.v[i].ip, ips->v, ips->n, sizeof *ips->v,
                    compare_ips)) {
            bitmap_set1(named->set, i);
        }
    }
}

static void
add_addresses(struct ovn *m, struct ovn_named *named,
              const struct ovn_row *row)
{
    value_vec atoms = ovn_atoms(m, row, "addresses");
    ovn_ips ips = VEC_INIT;     /* Ranges of one. */

    for (size_t i = 0; i < atoms.n; i++) {
        struct address range;

        if (atoms.v[i]->type != VALUE_STRING
            || !ovn_parse_prefix(atoms.v[i]->string, &range)) {
            named->missing = true;
            continue;
        } else if (range.plen == 128) {
            *vec_push(m->arena, &ips) = range.ip;
        } else {
            ovn_add(m, named->set, ovn_within(m, &range));
        }
        named->width = MAX(named->width,
                           IN6_IS_ADDR_V4MAPPED(&range.ip) ? 32 : 128);
    }
    add_ips(m, named, &ips);
}

/* "$GROUP_ip4" is of the ports of a group. */
static void
add_group_addresses(struct ovn *m, struct ovn_named *named, const char *name)
{
    size_t len = strlen(name);
    const char *end = len > 4 ? name + len - 4 : "";
    const struct ovn_row *group = NULL;

    if (!strcmp(end, "_ip4") || !strcmp(end, "_ip6")) {
        group = ovn_find(m, "Port_Group",
                         arena_strndup(m->arena, name, len - 4));
    }
    named->missing = !group;
    if (group) {
        add_ports(m, named, group);
        named->set = ovn_and(m, named->set,
                             end[3] == '4' ? m->ip4 : m->ip6);
        named->width = end[3] == '4' ? 32 : 128;
    }
}

const struct ovn_named *
ovn_find_set(struct ovn *m, const char *name)
{
    struct ovn_named *named = shash_find_data(&m->sets, name);
    const struct ovn_row *row;

    if (named) {
        return named;
    }
    named = arena_zalloc(m->arena, sizeof *named);
    named->set = ovn_empty(m);
    named->at = ovn_empty(m);
    shash_add(&m->sets, name, named);
    row = ovn_find(m, name[0] == '@' ? "Port_Group" : "Address_Set",
                   name + 1);
    if (row && name[0] == '@') {
        add_ports(m, named, row);
    } else if (row) {
        add_addresses(m, named, row);
    } else if (name[0] == '$') {
        add_group_addresses(m, named, name + 1);
    } else {
        named->missing = true;
    }
    return named;
}
