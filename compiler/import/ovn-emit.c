/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <string.h>

#include "bitmap.h"
#include "openvswitch/json.h"
#include "sset.h"
#include "util.h"

/* Relations as rules of tenants, peerings and guardrails. */

static const struct ovn_tenant *
tenant_of(const struct ovn *m, size_t endpoint)
{
    return m->endpoints.v[endpoint].at->tenant;
}

/* The members of 'set' of a tenant; NULL if it is all of an alike set. */
static struct json *
members(struct ovn *m, const unsigned long *set,
        const struct ovn_tenant *tenant, struct json *selector)
{
    struct json *list = json_array_create_empty();
    bool all = true;

    for (size_t i = 0; i < m->endpoints.n; i++) {
        if (tenant_of(m, i) == tenant && bitmap_is_set(set, i)) {
            json_array_add(list,
                           json_string_create(m->endpoints.v[i].name));
        } else if (tenant_of(m, i) == tenant) {
            all = false;
        }
    }
    m->work += m->endpoints.n;
    if (all) {
        json_destroy(list);
    } else {
        json_object_put(selector, "endpoint", list);
    }
    return selector;
}

/* A selector of those of 'set', of tenants in the order of their names; the
 * one whose rule it is, or NULL, is not named. */
static struct json *
selector(struct ovn *m, const unsigned long *set,
         const struct ovn_tenant *own)
{
    struct json *list = json_array_create_empty(), *only;

    for (size_t i = 0; i < m->tenants.n; i++) {
        const struct ovn_tenant *tenant = m->tenants.v[i];
        bool some = false;

        for (size_t e = bitmap_scan(set, true, 0, m->endpoints.n);
             e < m->endpoints.n && !some;
             e = bitmap_scan(set, true, e + 1, m->endpoints.n)) {
            some = tenant_of(m, e) == tenant;
            m->work++;
        }
        if (some) {
            struct json *one = json_object_create();

            if (tenant != own) {
                json_object_put_string(one, "tenant", tenant->name);
            }
            json_array_add(list, members(m, set, tenant, one));
        }
    }
    if (list->array.n != 1) {
        return list;
    }
    only = json_clone(list->array.elems[0]);
    json_destroy(list);
    return only;
}

/* The tenants of 'set', a bitmap. */
static unsigned long *
tenants_of(struct ovn *m, const unsigned long *set)
{
    unsigned long *out = arena_zalloc(m->arena,
                                      bitmap_n_bytes(m->tenants.n) + 1);

    for (size_t i = 0; i < m->tenants.n; i++) {
        for (size_t e = bitmap_scan(set, true, 0, m->endpoints.n);
             e < m->endpoints.n;
             e = bitmap_scan(set, true, e + 1, m->endpoints.n)) {
            m->work++;
            if (tenant_of(m, e) == m->tenants.v[i]) {
                bitmap_set1(out, i);
                break;
            }
        }
    }
    return out;
}

/* Those of 'set' that are, or are not, of a tenant; NULL: nobody. */
static unsigned long *
part(struct ovn *m, const unsigned long *set, const struct ovn_tenant *tenant,
     bool of)
{
    unsigned long *out = arena_zalloc(m->arena,
                                      bitmap_n_bytes(m->endpoints.n) + 1);
    bool some = false;

    for (size_t e = bitmap_scan(set, true, 0, m->endpoints.n);
         e < m->endpoints.n;
         e = bitmap_scan(set, true, e + 1, m->endpoints.n)) {
        if ((tenant_of(m, e) == tenant) == of) {
            bitmap_set1(out, e);
            some = true;
        }
    }
    return some ? out : NULL;
}

static const char *
unique(struct ovn *m, const char *scope, const char *name)
{
    const char *key = arena_printf(m->arena, "%s %s", scope, name);
    size_t skip = strlen(scope) + 1;

    for (int i = 2; !sset_add(m->names, key); i++) {
        key = arena_printf(m->arena, "%s %s", scope, ovn_clean_name(
            m, arena_printf(m->arena, "%s.%d", name, i)));
    }
    return key + skip;
}

/* The class of a DSCP, which this defines. */
static const char *
class_of(struct ovn *m, int dscp)
{
    const char *name = arena_printf(m->arena, "dscp-%d", dscp);
    struct json *class;

    if (!dscp) {
        return "best-effort";
    }
    class = json_object_create();
    json_object_put(class, "dscp", json_integer_create(dscp));
    json_object_put(m->classes, name, class);
    return name;
}

struct rule {
    const struct ovn_origin *origin;
    const struct ovn_service *service;
    const char *name, *title;   /* Of the service, or "". */
    struct ovn_pair pair;
};

static struct json *
make_rule(struct ovn *m, const struct rule *r, const struct ovn_tenant *own)
{
    const struct ovn_origin *o = r->origin;
    struct json *rule = json_object_create();
    struct ovn_service both = ovn_both_ways(m, r->service);

    json_object_put(rule, "from", selector(m, r->pair.from, own));
    json_object_put(rule, "to", selector(m, r->pair.to, own));
    if (r->title[0]) {
        json_object_put_string(rule, "service", r->title);
    }
    if (o->rule && !o->deny) {
        int dscp = ovn_dscp(m, o->rule, &r->pair, r->service, false);
        int reply = (r->service->any || !ovn_service_has(m, &both, r->service)
                     ? ovn_dscp(m, o->rule, &r->pair, r->service, true)
                     : dscp);

        if (dscp) {
            json_object_put_string(rule, "class", class_of(m, dscp));
        }
        if (reply != dscp) {
            json_object_put_string(rule, "reply_class", class_of(m, reply));
        }
    }
    return rule;
}

/* A rule of the tenant. */
static void
add_rule(struct ovn *m, const struct rule *r, const struct ovn_tenant *tenant)
{
    struct json *rules = shash_find_data(&m->rules, tenant->name);
    struct json *rule = make_rule(m, r, tenant);

    if (r->origin->deny) {
        json_object_put_string(rule, "action", "deny");
    }
    json_object_put_string(rule, "name", unique(m, arena_printf(
        m->arena, "rule:%s", tenant->name), r->name));
    json_array_add(rules, rule);
}

static void
add_peering(struct ovn *m, const struct rule *r, const char *name)
{
    struct json *peering = make_rule(m, r, NULL);

    json_object_put(peering, "imposed", json_boolean_create(true));
    json_object_put(m->peerings, unique(m, "peering", name), peering);
}

/* Allows within tenants, and between them. */
static void
allow(struct ovn *m, const struct rule *r)
{
    unsigned long *froms = tenants_of(m, r->pair.from);
    unsigned long *tos = tenants_of(m, r->pair.to);
    size_t n = m->tenants.n, i, j;
    bool apart = true;

    BITMAP_FOR_EACH_1 (i, n, froms) {
        apart &= !bitmap_is_set(tos, i);
    }
    if (apart) {
        add_peering(m, r, r->name);
        return;
    }
    BITMAP_FOR_EACH_1 (i, n, froms) {
        struct rule one = *r;

        one.pair.from = part(m, r->pair.from, m->tenants.v[i], true);
        one.pair.to = part(m, r->pair.to, m->tenants.v[i], true);
        if (one.pair.to) {
            add_rule(m, &one, m->tenants.v[i]);
        }
        one.pair.to = part(m, r->pair.to, m->tenants.v[i], false);
        if (one.pair.to) {
            j = strlen(m->tenants.v[i]->name);
            add_peering(m, &one, ovn_clean_name(m, arena_printf(
                m->arena, "%.*s.%s", (int) j, m->tenants.v[i]->name,
                r->name)));
        }
    }
}

/* A rule of the tenant that is all of one side, or a guardrail. */
static void
deny(struct ovn *m, const struct rule *r)
{
    unsigned long *sides[] = { tenants_of(m, r->pair.from),
                               tenants_of(m, r->pair.to) };
    bool guardrail = r->origin->rule
                     && !strncmp(r->origin->rule, "guardrail:", 10);
    const struct ovn_tenant *owner = NULL;

    for (size_t i = 0; !guardrail && i < m->tenants.n; i++) {
        for (int j = 0; j < 2; j++) {
            if (bitmap_is_set(sides[j], i)
                && bitmap_count1(sides[j], m->tenants.n) == 1
                && (!r->origin->rule
                    || (!strncmp(r->origin->rule, m->tenants.v[i]->name,
                                 strlen(m->tenants.v[i]->name))
                        && r->origin->rule[strlen(m->tenants.v[i]->name)]
                        == '/'))) {
                owner = m->tenants.v[i];
            }
        }
    }
    if (owner) {
        add_rule(m, r, owner);
    } else {
        json_object_put(m->guardrails, unique(m, "guardrail", r->name),
                        make_rule(m, r, NULL));
    }
}

/* "TENANT/NAME" and "KIND:NAME" are called NAME. */
static const char *
title_of(struct ovn *m, const struct ovn_origin *o)
{
    const char *at = o->rule ? strpbrk(o->rule, "/:") : NULL;

    return ovn_clean_name(m, at && at[1] ? at + 1 : o->name);
}

void
ovn_emit(struct ovn *m, const struct ovn_origin *o,
         const struct ovn_service *service, const ovn_pairs *pairs)
{
    ovn_names names = ovn_service_names(m, service);
    const char *base = title_of(m, o);

    for (size_t i = 0; i < pairs->n; i++) {
        for (size_t j = 0; j < names.n; j++) {
            struct rule r = {
                .origin = o, .service = service, .title = names.v[j],
                .name = names.n == 1 ? base : ovn_clean_name(
                    m, arena_printf(m->arena, "%s.%s", base, names.v[j])),
                .pair = pairs->v[i],
            };

            (o->deny ? deny : allow)(m, &r);
        }
    }
}
