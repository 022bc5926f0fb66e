/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/meant.h"

#include <stdlib.h>
#include <string.h>

#include "intent/value.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "packets.h"
#include "sema/policy.h"
#include "util.h"
#include "verify/base.h"

/* A rule; those that stay as they are share it. */
struct known_rule {
    size_t n_users;
    const char *name;
    const char *text;           /* Of all that makes it another. */
    bool stateless;             /* It says more than who may reach whom. */
    struct arena *arena;        /* Holds this, too. */
    struct region_rule region;
};

/* Of a tenant. */
struct said {
    char *rest;                 /* All but its rules; NULL: not known. */
    struct known_rule **rules;        /* Its own, and peerings; by name. */
    size_t n_rules, allocated_rules;
};

struct meant {
    struct shash tenants;       /* Contains "struct said *"s. */
};

static bool
is_rate(const struct value *v)
{
    const struct value *of = v->parent;

    return ((!strcmp(v->key, "limit") || !strcmp(v->key, "burst"))
            && of && of->key
            && (!strcmp(of->key, "bandwidth") || !strcmp(of->key, "send")
                || !strcmp(of->key, "receive")));
}

/* ds_put_format() takes as long as all else that is done here. */
static void
put_number(struct ds *ds, char kind, uint64_t number)
{
    char digits[18], *p = &digits[sizeof digits];

    *--p = ' ';
    do {
        *--p = "0123456789abcdef"[number % 16];
    } while (number /= 16);
    ds_put_char(ds, kind);
    ds_put_buffer(ds, p, &digits[sizeof digits] - p);
}

static void
put_string(struct ds *ds, char kind, const char *s)
{
    size_t n = strlen(s);

    put_number(ds, kind, n);
    ds_put_buffer(ds, s, n);
}

static bool put_value(struct ds *, const struct value *);

static bool
put_member(struct ds *ds, const struct value *v)
{
    if (value_is_comment(v)) {
        return true;
    }
    put_string(ds, 'k', v->key);
    return is_rate(v) || put_value(ds, v);
}

/* Appends 'v', so that two that differ are two texts.  Returns false if they
 * might not be. */
static bool
put_value(struct ds *ds, const struct value *v)
{
    bool known = true;

    switch (v->type) {
    case VALUE_NULL: ds_put_char(ds, 'n'); break;
    case VALUE_BOOLEAN: ds_put_char(ds, v->boolean ? 't' : 'f'); break;
    case VALUE_INTEGER: put_number(ds, 'i', v->integer); break;
    case VALUE_REAL: return false;
    case VALUE_STRING: put_string(ds, 's', v->string); break;
    case VALUE_ARRAY: case VALUE_OBJECT:
        ds_put_char(ds, v->type == VALUE_ARRAY ? '[' : '{');
        for (size_t i = 0; i < v->n && known; i++) {
            known = (v->type == VALUE_ARRAY ? put_value(ds, &v->elems[i])
                     : put_member(ds, &v->elems[i]));
        }
        ds_put_char(ds, '}');
        break;
    }
    return known;
}

/* What is known of an endpoint: interfaces and bindings may say it. */
static void
put_endpoint(struct ds *ds, const struct policy_endpoint *e)
{
    const struct intent_endpoint *intent = e->intent;

    put_string(ds, 'e', e->name);
    put_number(ds, 'b', e->bound);
    put_number(ds, 'l', e->legacy);
    put_string(ds, 'n', e->node ? e->node->name.s : "");
    put_string(ds, 'i', intent->interface.s ? intent->interface.s : "");
    put_number(ds, 'm', eth_addr_to_uint64(intent->mac));
    for (size_t i = 0; i < intent->addresses.n; i++) {
        u128 ip = field_from_ip(&intent->addresses.v[i].ip);

        put_number(ds, 'a', ip >> 64);
        put_number(ds, 'a', ip);
    }
    ds_put_char(ds, '\n');
}

/* All that is said of the tenant but its rules; NULL if that is not known. */
static char *
find_rest(const struct policy_tenant *tenant)
{
    const struct value *at = tenant->intent->name.at;
    struct ds ds = DS_EMPTY_INITIALIZER;
    bool known = true;

    for (size_t i = 0; i < at->n && known; i++) {
        const struct value *v = &at->elems[i];

        known = !strcmp(v->key, "rules") || put_member(&ds, v);
    }
    ds_put_char(&ds, '\n');
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        put_endpoint(&ds, tenant->endpoints.v[i]);
    }
    if (!known) {
        ds_destroy(&ds);
        return NULL;
    }
    return ds_steal_cstr(&ds);
}

/* Returns false if it is not known what it says. */
static bool
put_rule(struct ds *ds, const struct policy_rule *rule)
{
    const struct value *at = rule->intent ? rule->intent->name.at : NULL;

    put_string(ds, 'r', rule->name);
    put_number(ds, 'k', rule->kind);
    put_number(ds, 'd', rule->depth);
    put_number(ds, 'i', rule->id);
    /* Of a peering the name is its key. */
    return !at || put_value(ds, at->type == VALUE_OBJECT ? at : at->parent);
}

static int
compare_names(const void *a_, const void *b_)
{
    const char *const *a = a_, *const *b = b_;

    return strcmp(*a, *b);
}

static void
add_endpoints(struct known_rule *rule, const endpoint_vec *endpoints)
{
    for (size_t i = 0; i < endpoints->n; i++) {
        *vec_push(rule->arena, &rule->region.endpoints)
            = arena_strdup(rule->arena, endpoints->v[i]->name);
    }
}

static struct known_rule *
rule_create(const struct policy_rule *policy_rule, const char *text)
{
    struct arena *arena = arena_create();
    struct known_rule *rule = arena_zalloc(arena, sizeof *rule);
    const struct policy_service *service = policy_rule->service;

    rule->n_users = 1;
    rule->arena = arena;
    rule->name = arena_strdup(arena, policy_rule->name);
    rule->text = arena_strdup(arena, text);
    rule->stateless = policy_rule->stateless;
    rule->region.id = policy_rule->id;
    for (size_t i = 0; service && i < service->matches.n; i++) {
        *vec_push(arena, &rule->region.matches) = service->matches.v[i];
    }
    add_endpoints(rule, &policy_rule->from);
    add_endpoints(rule, &policy_rule->to);
    if (rule->region.endpoints.n) {
        qsort(rule->region.endpoints.v, rule->region.endpoints.n,
              sizeof *rule->region.endpoints.v, compare_names);
    }
    return rule;
}

static void
rule_unuse(struct known_rule *rule)
{
    if (!--rule->n_users) {
        arena_destroy(rule->arena);
    }
}

static void
meaning_destroy(struct said *m)
{
    for (size_t i = 0; i < m->n_rules; i++) {
        rule_unuse(m->rules[i]);
    }
    free(m->rules);
    free(m->rest);
    free(m);
}

static void
add_news(const struct known_rule *rule, struct arena *arena,
         struct verify_news *news)
{
    news->known &= !rule->stateless;
    *vec_push(arena, &news->rules) = rule->region;
}

/* The first rule of 'm' from '*i' on whose name is not before 'name'; those
 * that are, have gone. */
static struct known_rule *
next_rule(const struct said *m, size_t *i, const char *name,
          struct arena *arena, struct verify_news *news)
{
    while (*i < m->n_rules
           && (!name || strcmp(m->rules[*i]->name, name) < 0)) {
        add_news(m->rules[(*i)++], arena, news);
    }
    return (*i < m->n_rules && !strcmp(m->rules[*i]->name, name)
            ? m->rules[(*i)++] : NULL);
}

/* A rule as before is the same; else both are news.  Overwrites 'ds'. */
static struct known_rule *
compare_rule(struct known_rule *old, const struct policy_rule *rule,
             struct arena *arena, struct verify_news *news, struct ds *ds)
{
    struct known_rule *new;

    ds_clear(ds);
    news->known &= put_rule(ds, rule);
    if (old && !strcmp(old->text, ds_cstr(ds))) {
        new = old;
        new->n_users++;
    } else {
        new = rule_create(rule, ds_cstr(ds));
        add_news(new, arena, news);
        if (old) {
            add_news(old, arena, news);
        }
    }
    return new;
}

static bool
is_about(const struct policy_rule *rule, const struct policy_tenant *tenant)
{
    bool about = rule->tenant == tenant;

    for (size_t i = 0; i < rule->from_tenants.n; i++) {
        about |= rule->from_tenants.v[i] == tenant;
    }
    for (size_t i = 0; i < rule->to_tenants.n; i++) {
        about |= rule->to_tenants.v[i] == tenant;
    }
    return about;
}

/* Of a tenant that was not known, 'old' is empty, and all is news. */
static struct said *
compare_tenant(const struct said *old, const struct policy_tenant *tenant,
               struct arena *arena, struct verify_news *news)
{
    const struct policy *policy = tenant->policy;
    struct said *new = xzalloc(sizeof *new);
    struct ds ds = DS_EMPTY_INITIALIZER;
    size_t at = 0;

    new->rest = find_rest(tenant);
    news->known &= (old->rest && new->rest
                    && !strcmp(old->rest, new->rest));
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (!is_about(rule, tenant)) {
            continue;
        }
        if (new->n_rules >= new->allocated_rules) {
            new->rules = x2nrealloc(new->rules, &new->allocated_rules,
                                    sizeof *new->rules);
        }
        new->rules[new->n_rules++] = compare_rule(
            next_rule(old, &at, rule->name, arena, news), rule, arena, news,
            &ds);
    }
    ds_destroy(&ds);
    next_rule(old, &at, NULL, arena, news);
    return new;
}

struct meant *
meant_compare(const struct meant *old, const struct policy *policy,
              struct arena *arena, struct verify_news *news)
{
    static const struct said unknown;
    struct meant *new = xzalloc(sizeof *new);

    shash_init(&new->tenants);
    *news = (struct verify_news) { .known = true };
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        const struct said *was
            = old ? shash_find_data(&old->tenants, tenant->name) : NULL;

        shash_add(&new->tenants, tenant->name,
                  compare_tenant(was ? was : &unknown, tenant, arena, news));
    }
    return new;
}

struct meant *
meant_create(const struct policy *policy)
{
    struct arena *arena = arena_create();
    struct verify_news news;
    struct meant *meant = meant_compare(NULL, policy, arena, &news);

    arena_destroy(arena);
    return meant;
}

void
meant_destroy(struct meant *meant)
{
    struct shash_node *node;

    if (meant) {
        SHASH_FOR_EACH (node, &meant->tenants) {
            meaning_destroy(node->data);
        }
        shash_destroy(&meant->tenants);
        free(meant);
    }
}

void
meant_take_over(struct meant *meant, struct meant *new)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &new->tenants) {
        struct said *old = shash_replace(&meant->tenants, node->name,
                                            node->data);

        if (old) {
            meaning_destroy(old);
        }
    }
    shash_destroy(&new->tenants);
    free(new);
}
