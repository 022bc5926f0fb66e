/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/meant.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "resident/meant-text.h"
#include "sema/meaning-reach.h"
#include "sema/policy.h"
#include "util.h"
#include "verify/base.h"

/* A rule; those that stay as they are share it. */
struct known_rule {
    size_t n_users;
    const char *name;
    const char *written;        /* As it is, and... */
    const char *text;           /* ...of all that makes it another... */
    bool is_known;              /* ...if that is so. */
    bool stateless;             /* It says more than who may reach whom. */
    struct arena *arena;        /* Holds this, too. */
    struct region_rule region;
};

/* An endpoint; shared as rules are. */
struct known_endpoint {
    size_t n_users;
    const char *name;
    const char *written;        /* As it is, and... */
    const char *text;           /* ...of all that is said of it; ... */
    size_t names;               /* ...from here on who it is; ... */
    bool is_known;              /* ...if that is so. */
    bool bound;
    struct arena *arena;        /* Holds this, too. */
    struct verify_endpoint is;  /* 'now', 'came', 'alike': not set. */
};

/* Of a tenant. */
struct said {
    char *rest;                 /* All but these; NULL: not known. */
    struct known_endpoint **endpoints;  /* By name. */
    size_t n_endpoints;
    struct known_rule **rules;        /* Its own, and peerings; by name. */
    size_t n_rules, allocated_rules;
};

struct meant {
    struct shash tenants;       /* Contains "struct said *"s. */
};

/* What is said of a rule or an endpoint now; see resident/meant-text.h. */
struct said_as {
    struct ds written, text;
    size_t names;               /* Of an endpoint. */
    bool is_known;
};

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
rule_create(const struct policy_rule *policy_rule, const struct said_as *as)
{
    struct arena *arena = arena_create();
    struct known_rule *rule = arena_zalloc(arena, sizeof *rule);
    const struct policy_service *service = policy_rule->service;

    rule->n_users = 1;
    rule->arena = arena;
    rule->name = arena_strdup(arena, policy_rule->name);
    rule->written = arena_strdup(arena, ds_cstr_ro(&as->written));
    rule->text = arena_strdup(arena, ds_cstr_ro(&as->text));
    rule->is_known = as->is_known;
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

static bool
shares(const struct intent_bandwidth *b)
{
    return b->weight_at || b->guarantee.at;
}

static struct known_endpoint *
endpoint_create(const struct policy_endpoint *e, const struct said_as *as)
{
    struct arena *arena = arena_create();
    struct known_endpoint *known = arena_zalloc(arena, sizeof *known);
    const struct intent_endpoint *intent = e->intent;

    known->n_users = 1;
    known->arena = arena;
    known->name = arena_strdup(arena, e->name);
    known->written = arena_strdup(arena, ds_cstr_ro(&as->written));
    known->text = arena_strdup(arena, ds_cstr_ro(&as->text));
    known->names = as->names;
    known->is_known = as->is_known;
    known->bound = e->bound;
    known->is.shares = shares(&intent->send) || shares(&intent->receive);
    known->is.network = arena_strdup(arena, e->network->intent->name.s);
    if (e->bound) {
        known->is.node = arena_strdup(arena, e->node->name.s);
        known->is.interface = arena_strdup(arena, intent->interface.s);
        known->is.mac = intent->mac;
    }
    for (size_t i = 0; i < intent->addresses.n; i++) {
        *vec_push(arena, &known->is.addresses) = intent->addresses.v[i].ip;
    }
    return known;
}

static void
endpoint_unuse(struct known_endpoint *e)
{
    if (!--e->n_users) {
        arena_destroy(e->arena);
    }
}

static void
meaning_destroy(struct said *m)
{
    for (size_t i = 0; i < m->n_rules; i++) {
        rule_unuse(m->rules[i]);
    }
    for (size_t i = 0; i < m->n_endpoints; i++) {
        endpoint_unuse(m->endpoints[i]);
    }
    free(m->rules);
    free(m->endpoints);
    free(m->rest);
    free(m);
}

/* What differs. */
struct comparing {
    struct arena *arena;
    struct verify_news *news;
    struct said_as as;          /* Scratch. */
    size_t n_endpoints;         /* That are others, and of the last... */
    struct verify_endpoint *endpoint;   /* ...what came or went; or NULL. */
    endpoint_vec others;        /* Those that there are now. */
    bool all;                   /* All else is known. */
    bool anew;                  /* Rules that stay as they are may speak of
                                 * anybody now. */
};

static void
add_news(const struct known_rule *rule, struct comparing *c)
{
    c->all &= !rule->stateless;
    *vec_push(c->arena, &c->news->rules) = rule->region;
}

/* The first rule of 'm' from '*i' on whose name is not before 'name'; those
 * that are, have gone. */
static struct known_rule *
next_rule(const struct said *m, size_t *i, const char *name,
          struct comparing *c)
{
    while (*i < m->n_rules
           && (!name || strcmp(m->rules[*i]->name, name) < 0)) {
        add_news(m->rules[(*i)++], c);
    }
    return (*i < m->n_rules && !strcmp(m->rules[*i]->name, name)
            ? m->rules[(*i)++] : NULL);
}

/* Is the region of the rule, of which the same is said, still large enough? */
static bool
may_keep(const struct known_rule *known, const struct policy_rule *rule,
         const struct comparing *c)
{
    for (size_t i = 0; i < c->others.n; i++) {
        const struct policy_endpoint *e = c->others.v[i];

        if ((endpoint_is_in(e, &rule->from) || endpoint_is_in(e, &rule->to))
            && !region_rule_names(&known->region, e)) {
            return false;
        }
    }
    return !c->anew;
}

/* A rule as before is the same; else both are news. */
static struct known_rule *
compare_rule(struct known_rule *old, const struct policy_rule *rule,
             struct comparing *c)
{
    struct said_as *as = &c->as;
    struct known_rule *new;

    ds_clear(&as->written);
    meant_put_written_rule(&as->written, rule);
    if (old && !strcmp(old->written, ds_cstr(&as->written))
        && may_keep(old, rule, c)) {
        c->all &= old->is_known;
        old->n_users++;
        return old;
    }
    ds_clear(&as->text);
    as->is_known = meant_put_rule(&as->text, rule);
    c->all &= as->is_known;
    new = rule_create(rule, as);
    if (!old || !old->is_known || strcmp(old->text, new->text)) {
        add_news(new, c);
        if (old) {
            add_news(old, c);
        }
    }
    return new;
}

/* Notes that one is another; either may be NULL. */
static void
add_endpoint_news(const struct known_endpoint *old,
                  const struct known_endpoint *new,
                  const struct policy_endpoint *now, struct comparing *c)
{
    bool was = old && old->bound, is = new && new->bound;

    c->n_endpoints++;
    c->endpoint = NULL;
    if (now) {
        *vec_push(c->arena, &c->others) = now;
    }
    if (was != is) {
        const struct known_endpoint *bound = is ? new : old;

        c->endpoint = arena_zalloc(c->arena, sizeof *c->endpoint);
        *c->endpoint = bound->is;
        c->endpoint->came = is;
        c->endpoint->now = now;
    }
}

/* As next_rule(). */
static struct known_endpoint *
next_endpoint(const struct said *m, size_t *i, const char *name,
              struct comparing *c)
{
    while (*i < m->n_endpoints
           && (!name || strcmp(m->endpoints[*i]->name, name) < 0)) {
        add_endpoint_news(m->endpoints[(*i)++], NULL, NULL, c);
    }
    return (*i < m->n_endpoints && !strcmp(m->endpoints[*i]->name, name)
            ? m->endpoints[(*i)++] : NULL);
}

static struct known_endpoint *
compare_endpoint(struct known_endpoint *old, const struct policy_endpoint *e,
                 struct comparing *c)
{
    struct said_as *as = &c->as;
    struct known_endpoint *new;

    ds_clear(&as->written);
    meant_put_written_endpoint(&as->written, e);
    if (old && !strcmp(old->written, ds_cstr(&as->written))) {
        c->all &= old->is_known;
        old->n_users++;
        return old;
    }
    ds_clear(&as->text);
    as->is_known = meant_put_endpoint(&as->text, e, &as->names);
    c->all &= as->is_known;
    new = endpoint_create(e, as);
    if (!old || !old->is_known || old->names != new->names
        || strcmp(old->text, new->text)) {
        add_endpoint_news(old, new, e, c);
    }
    return new;
}

/* Notes of whom the same is said as of the endpoint that came. */
static void
find_alike(const struct said *m, const struct policy_tenant *tenant,
           struct comparing *c)
{
    const struct known_endpoint *own = NULL;

    for (size_t i = 0; i < m->n_endpoints; i++) {
        own = tenant->endpoints.v[i] == c->endpoint->now ? m->endpoints[i]
              : own;
    }
    for (size_t i = 0; i < m->n_endpoints; i++) {
        const struct known_endpoint *other = m->endpoints[i];

        if (other != own && other->names == own->names
            && !memcmp(other->text, own->text, own->names)) {
            *vec_push(c->arena, &c->endpoint->alike)
                = tenant->endpoints.v[i];
        }
    }
}

static void
compare_endpoints(const struct said *old, struct said *new,
                  const struct policy_tenant *tenant, struct comparing *c)
{
    size_t n_before = c->n_endpoints, at = 0;

    new->n_endpoints = tenant->endpoints.n;
    new->endpoints = xcalloc(new->n_endpoints + 1, sizeof *new->endpoints);
    for (size_t i = 0; i < new->n_endpoints; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        new->endpoints[i] = compare_endpoint(
            next_endpoint(old, &at, e->name, c), e, c);
    }
    next_endpoint(old, &at, NULL, c);
    if (c->n_endpoints > n_before && c->endpoint && c->endpoint->came) {
        find_alike(new, tenant, c);
    }
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

static void
compare_rules(const struct said *old, struct said *new,
              const struct policy_tenant *tenant, struct comparing *c)
{
    const struct policy *policy = tenant->policy;
    size_t at = 0;

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
            next_rule(old, &at, rule->name, c), rule, c);
    }
    next_rule(old, &at, NULL, c);
}

/* What was said of the tenant; of one that was not known, nothing. */
static const struct said *
find_said(const struct meant *old, const struct policy_tenant *tenant)
{
    static const struct said unknown;
    const struct said *was
        = old ? shash_find_data(&old->tenants, tenant->name) : NULL;

    return was ? was : &unknown;
}

/* Rules are compared once it is known which endpoints are others. */
static void
compare_tenants(const struct meant *old, struct meant *meant,
                const struct policy *policy, struct comparing *c)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        const struct said *was = find_said(old, tenant);
        struct said *new = xzalloc(sizeof *new);

        new->rest = meant_rest(tenant);
        c->all &= was->rest && new->rest && !strcmp(was->rest, new->rest);
        compare_endpoints(was, new, tenant, c);
        shash_add(&meant->tenants, tenant->name, new);
    }
    c->anew = !c->all;
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        compare_rules(find_said(old, tenant),
                      shash_find_data(&meant->tenants, tenant->name), tenant,
                      c);
    }
}

struct meant *
meant_compare(const struct meant *old, const struct policy *policy,
              struct arena *arena, struct verify_news *news)
{
    struct meant *new = xzalloc(sizeof *new);
    struct comparing c = {
        .arena = arena, .news = news, .all = true,
        .as = { DS_EMPTY_INITIALIZER, DS_EMPTY_INITIALIZER },
    };

    shash_init(&new->tenants);
    *news = (struct verify_news) { .known = false };
    compare_tenants(old, new, policy, &c);
    ds_destroy(&c.as.written);
    ds_destroy(&c.as.text);
    news->known = c.all && !c.n_endpoints;
    news->endpoint = (c.all && c.n_endpoints == 1 && !news->rules.n
                      ? c.endpoint : NULL);
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
