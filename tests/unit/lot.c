/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>

#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "unit.h"
#include "util.h"

enum { N_ENDPOINTS = 7 };       /* A tenant. */

static const char *
lot_selector(struct arena *arena, const char *tenant)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    int n = 1 + random_range(4);

    ds_put_char(&ds, '[');
    for (int i = 0; i < n; i++) {
        ds_put_cstr(&ds, i ? ", {" : "{");
        if (tenant) {
            ds_put_format(&ds, "'tenant': '%s', ", tenant);
        }
        if (random_range(8)) {
            ds_put_format(&ds, "'endpoint': 'e%"PRIu32"'",
                          random_range(N_ENDPOINTS));
        } else if (random_range(2)) {
            ds_put_cstr(&ds, "'labels': {'role': 'odd'}");
        } else {
            ds_put_cstr(&ds, "'network': 'net'");
        }
        ds_put_char(&ds, '}');
    }
    ds_put_char(&ds, ']');
    const char *s = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return s;
}

/* A rule between tenants 'from' and 'to', or within one if they are NULL.
 * The class follows from the service, so that most policies are consistent. */
static void
lot_rule(struct arena *arena, struct ds *ds, const char *from, const char *to)
{
    static const char *const services[] = {
        "'ssh', 'class': 'gold'", "'ssh', 'class': 'gold'", "'dns'",
        "'many', 'class': 'silver'", "'many', 'class': 'silver'", "'icmp'",
        "'rocev2'",
    };

    ds_put_format(ds, "'from': %s, 'to': %s", lot_selector(arena, from),
                  lot_selector(arena, to));
    if (!from && !random_range(4)) {
        static const char *const any[] = { "", ", 'service': 'wide'",
                                           ", 'service': 'http'" };

        ds_put_format(ds, "%s, 'action': 'deny'",
                      any[random_range(ARRAY_SIZE(any))]);
    } else {
        ds_put_format(ds, ", 'service': %s",
                      services[random_range(ARRAY_SIZE(services))]);
    }
}

static void
lot_tenant(struct arena *arena, struct ds *ds, const char *name, int vni)
{
    int n_rules = random_range(10);

    ds_put_format(ds, "'%s': {'peers': ['%s'], 'default': '%s', 'networks':"
                  "{'net': {'vni': %d, 'subnets': ['10.%d.0.0/16'],"
                  "'gateway': '10.%d.0.1'}}, 'endpoints': {", name,
                  name[0] == 'a' ? "b" : "a", random_range(2) ? "allow"
                  : "deny", vni, vni, vni);
    for (int i = 0; i < N_ENDPOINTS; i++) {
        ds_put_format(ds, "%s'e%d': {'network': 'net', 'node': 'n1',"
                      "'interface': '%s%d', 'mac': '02:00:00:00:0%d:0%d',"
                      "'addresses': ['10.%d.0.%d'], 'labels': {'role': '%s'}}",
                      i ? ", " : "", i, name, i, vni, i, vni, 10 + i,
                      i % 2 ? "odd" : "even");
    }
    ds_put_cstr(ds, "}, 'rules': [");
    for (int i = 0; i < n_rules; i++) {
        ds_put_format(ds, "%s{'name': 'r%d', ", i ? ", " : "", i);
        lot_rule(arena, ds, NULL, NULL);
        ds_put_char(ds, '}');
    }
    ds_put_cstr(ds, "]}");
}

const char *
unit_lot(struct arena *arena, unsigned int seed)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    int n_peerings;

    random_set_seed(seed);
    ds_put_cstr(&ds, "{" FABRIC ", " CLASSES ", 'services': {"
                "'many': {'protocol': 'tcp', 'ports': [80, '100-150']},"
                "'wide': {'protocol': 'tcp', 'ports': ['99-131']}},"
                "'tenants': {");
    lot_tenant(arena, &ds, "a", 1);
    ds_put_cstr(&ds, ", ");
    lot_tenant(arena, &ds, "b", 2);
    ds_put_cstr(&ds, "}, 'peerings': {");
    n_peerings = random_range(4);
    for (int i = 0; i < n_peerings; i++) {
        bool a_first = random_range(2);

        ds_put_format(&ds, "%s'p%d': {", i ? ", " : "", i);
        lot_rule(arena, &ds, a_first ? "a" : "b", a_first ? "b" : "a");
        ds_put_char(&ds, '}');
    }
    ds_put_cstr(&ds, "}}");
    const char *s = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return s;
}
