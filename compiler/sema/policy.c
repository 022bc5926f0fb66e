/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "bitmap.h"
#include "packets.h"
#include "sema/charge.h"
#include "sema/check.h"
#include "sema/ident.h"
#include "sema/resolve.h"
#include "sema/tree.h"
#include "util.h"

/* Comparison of pointers to things that have a 'name', for qsort(). */
#define DEFINE_COMPARE_NAMES(TYPE)                                      \
    static int                                                          \
    compare_##TYPE(const void *a_, const void *b_)                      \
    {                                                                   \
        const struct policy_##TYPE *const *a = a_;                      \
        const struct policy_##TYPE *const *b = b_;                      \
                                                                        \
        return strcmp((*a)->name, (*b)->name);                          \
    }
DEFINE_COMPARE_NAMES(endpoint)
DEFINE_COMPARE_NAMES(tenant)
DEFINE_COMPARE_NAMES(external)
DEFINE_COMPARE_NAMES(rule)

/* Of what is sorted so. */
#define DEFINE_FIND(TYPE)                                               \
    const struct policy_##TYPE *                                        \
    policy_find_##TYPE(const struct policy *policy, const char *name)   \
    {                                                                   \
        const struct policy_##TYPE key = { .name = name };              \
        const struct policy_##TYPE *wanted = &key;                      \
        struct policy_##TYPE **found                                    \
            = (policy->TYPE##s.n                                        \
               ? bsearch(&wanted, policy->TYPE##s.v, policy->TYPE##s.n, \
                         sizeof wanted, compare_##TYPE) : NULL);        \
                                                                        \
        return found ? *found : NULL;                                   \
    }
DEFINE_FIND(tenant)
DEFINE_FIND(external)

/* File order never matters: everything is in the order of its name. */
#define SORT_BY_NAME(VEC, TYPE)                                         \
    do {                                                                \
        if ((VEC)->n) {                                                 \
            qsort((VEC)->v, (VEC)->n, sizeof *(VEC)->v, compare_##TYPE); \
        }                                                               \
    } while (0)

static const struct {
    const char *name;
    struct service_match match;
    bool symmetric;
} builtin[] = {
#define SERVICE(NAME, PROTOCOL, FIRST, LAST, SYMMETRIC) \
    { NAME, { PROTOCOL, { FIRST, LAST } }, SYMMETRIC },
#include "sema/services.def"
#undef SERVICE
};

bool
service_has_symmetric(const struct policy_service *service)
{
    for (size_t i = 0; i < ARRAY_SIZE(builtin); i++) {
        const struct service_match *b = &builtin[i].match;

        for (size_t j = 0; builtin[i].symmetric && service
             && j < service->matches.n; j++) {
            const struct service_match *m = &service->matches.v[j];

            if (m->protocol == b->protocol && m->ports.first <= b->ports.last
                && b->ports.first <= m->ports.last) {
                return true;
            }
        }
    }
    return !service;
}

static void
add_builtin_services(struct resolver *r)
{
    struct policy_service *service = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(builtin); i++) {
        if (!service || strcmp(service->name, builtin[i].name)) {
            service = arena_zalloc(r->arena, sizeof *service);
            service->name = builtin[i].name;
            service->symmetric = builtin[i].symmetric;
            *vec_push(r->arena, &r->policy->services) = service;
        }
        *vec_push(r->arena, &service->matches) = builtin[i].match;
    }
}

static void
report_built_in(struct resolver *r, const char *what, struct text name)
{
    struct diag *d = value_key_error(r->diags, name.at, "%s '%s' is built in",
                                     what, name.s);

    diag_remedy(r->diags, d, "use the built-in one, or choose another name");
}

static void
add_service(struct resolver *r, const struct intent_service *intent)
{
    struct policy_service *service = arena_zalloc(r->arena, sizeof *service);

    service->name = intent->name.s;
    service->at = intent->name.at;
    for (size_t i = 0; i < intent->ports.n; i++) {
        *vec_push(r->arena, &service->matches)
            = (struct service_match) { intent->protocol, intent->ports.v[i] };
    }
    if (!intent->ports.n) {
        vec_push(r->arena, &service->matches)->protocol = intent->protocol;
    }
    for (size_t i = 0; i < ARRAY_SIZE(builtin); i++) {
        if (!strcmp(builtin[i].name, service->name)) {
            report_built_in(r, "service", intent->name);
            break;
        }
    }
    *vec_push(r->arena, &r->policy->services) = service;
}

static void
add_class(struct resolver *r, const struct intent_class *intent)
{
    struct policy_class *class = arena_zalloc(r->arena, sizeof *class);

    class->name = intent->name.s;
    class->at = intent->name.at;
    class->dscp = intent->dscp;
    class->queue = intent->queue;
    class->lossless = intent->lossless;
    class->buffer = intent->buffer;
    class->delay_bound = intent->delay_bound;
    class->dscp_in = intent->dscp_in.at ? &intent->dscp_in : NULL;
    if (!strcmp(class->name, POLICY_BEST_EFFORT)) {
        report_built_in(r, "class", intent->name);
    }
    *vec_push(r->arena, &r->policy->classes) = class;
}

/* 'networks' holds those of the tenant. */
static void
add_network(struct resolver *r, struct policy_tenant *tenant,
            struct shash *networks, const struct intent_network *intent)
{
    struct policy_network *network = arena_zalloc(r->arena, sizeof *network);
    uint32_t vni = intent->vni;

    network->tenant = tenant;
    network->intent = intent;
    /* Locally administered, so no vendor's address. */
    network->gateway_mac = (struct eth_addr) ETH_ADDR_C(0a,b1,7d,00,00,00);
    network->gateway_mac.ea[3] = vni >> 16;
    network->gateway_mac.ea[4] = vni >> 8;
    network->gateway_mac.ea[5] = vni;
    shash_add(networks, intent->name.s, network);
    *vec_push(r->arena, &tenant->networks) = network;
}

static const struct intent_node *
find_node(struct resolver *r, struct text name)
{
    const struct intent_node *node
        = name.s ? shash_find_data(&r->nodes, name.s) : NULL;

    if (name.s && !node) {
        struct nearest nearest = nearest_init(name.s);

        for (size_t i = 0; i < r->policy->intent->nodes.n
             && !diags_are_full(r->diags, DIAG_ERROR); i++) {
            nearest_try(&nearest, r->policy->intent->nodes.v[i].name.s);
        }
        dangling(r, name, "the fabric", "node", nearest.best);
    }
    return node;
}

static void
add_external(struct resolver *r, const struct intent_external *intent)
{
    struct policy_external *e = arena_zalloc(r->arena, sizeof *e);

    e->name = intent->name.s;
    e->intent = intent;
    for (size_t i = 0; i < intent->attachments.n; i++) {
        struct policy_attachment *a = arena_zalloc(r->arena, sizeof *a);

        a->external = e;
        a->intent = &intent->attachments.v[i];
        a->node = find_node(r, a->intent->node);
        a->gateway_mac = external_gateway_mac(a);
        *vec_push(r->arena, &e->attachments) = a;
    }
    *vec_push(r->arena, &r->policy->externals) = e;
}

static void
report_no_network(struct resolver *r, const struct policy_tenant *tenant,
                  struct text name)
{
    struct nearest nearest = nearest_init(name.s);

    for (size_t i = 0; i < tenant->networks.n
         && !diags_are_full(r->diags, DIAG_ERROR); i++) {
        nearest_try(&nearest, tenant->networks.v[i]->intent->name.s);
    }
    dangling(r, name, owner_title(r, tenant), "network", nearest.best);
}

static void
add_endpoint(struct resolver *r, struct policy_tenant *tenant,
             const struct shash *networks,
             const struct intent_endpoint *intent)
{
    struct policy_endpoint *e = arena_zalloc(r->arena, sizeof *e);

    e->tenant = tenant;
    e->intent = intent;
    e->name = arena_printf(r->arena, "%s/%s", tenant->name, intent->name.s);
    e->legacy = intent->port.s && !strcmp(intent->port.s, INTENT_LEGACY);
    e->bound = (intent->node.s && intent->interface.s && intent->mac_text.s
                && intent->addresses.n && !e->legacy);
    e->network = shash_find_data(networks, intent->network.s);
    if (!e->network) {
        report_no_network(r, tenant, intent->network);
    }
    e->node = find_node(r, intent->node);
    *vec_push(r->arena, &tenant->endpoints) = e;
}

static void
add_tenant(struct resolver *r, const struct intent_tenant *intent)
{
    struct policy_tenant *tenant = arena_zalloc(r->arena, sizeof *tenant);
    struct shash networks = SHASH_INITIALIZER(&networks);

    tenant->name = intent->name.s;
    tenant->policy = r->policy;
    tenant->intent = intent;
    for (size_t i = 0; i < intent->networks.n; i++) {
        add_network(r, tenant, &networks, &intent->networks.v[i]);
    }
    for (size_t i = 0; i < intent->endpoints.n; i++) {
        add_endpoint(r, tenant, &networks, &intent->endpoints.v[i]);
    }
    shash_destroy(&networks);
    SORT_BY_NAME(&tenant->endpoints, endpoint);
    resolve_dhcp(tenant, r->diags);
    *vec_push(r->arena, &r->policy->tenants) = tenant;
}

static struct policy_rule *
add_rule(struct resolver *r, enum rule_kind kind,
         const struct policy_tenant *tenant, const char *name,
         const struct value *at)
{
    struct policy_rule *rule = arena_zalloc(r->arena, sizeof *rule);

    rule->kind = kind;
    rule->name = (rule_kind_is_operators(kind)
                  ? arena_printf(r->arena, "%s:%s", rule_kind_name(kind), name)
                  : arena_printf(r->arena, "%s/%s", tenant->name, name));
    rule->id = ident(rule_kind_is_operators(kind) ? rule_kind_name(kind)
                     : "rule", rule->name, 48);
    rule->at = at;
    rule->tenant = tenant;
    *vec_push(r->arena, &r->policy->rules) = rule;
    return rule;
}

/* Does the side select every endpoint of every tenant, whatever those are? */
static bool
selects_every(const selector_vec *side)
{
    for (size_t i = 0; i < side->n; i++) {
        const struct intent_selector *s = &side->v[i];

        if (s->tenant.s && !strcmp(s->tenant.s, POLICY_EVERY_TENANT)
            && !s->networks.n
            && !s->endpoints.n && !s->labels.n && !s->cidrs.n
            && !s->except.n) {
            return true;
        }
    }
    return false;
}

const struct policy_class *
resolve_class(struct resolver *r, struct text name)
{
    if (name.s && !strcmp(name.s, POLICY_BEST_EFFORT)) {
        return NULL;
    }
    return RESOLVE(r, &r->policy->classes, name, "class");
}

/* The class of that name that 'rule' gives; NULL for best-effort. */
static const struct policy_class *
find_class(struct resolver *r, const struct intent_rule *rule,
           struct text name)
{
    if (rule->deny && name.s) {
        struct diag *d = value_error(r->diags, name.at,
                                     "a rule that denies has no class");
        diag_remedy(r->diags, d, "remove the class");
    }
    return resolve_class(r, name);
}

/* 'tenant' is NULL for what is the operator's. */
static void
add_intent_rule(struct resolver *r, const struct intent_rule *intent,
                const struct policy_tenant *tenant)
{
    enum rule_kind kind = (intent->deny ? tenant ? RULE_DENY : RULE_GUARDRAIL
                           : tenant ? RULE_ALLOW : RULE_PEERING);
    struct policy_rule *rule = add_rule(r, kind, tenant, intent->name.s,
                                        intent->name.at);

    rule->intent = intent;
    if (tenant) {
        check_authority(r, intent, tenant);
    }
    if (kind == RULE_PEERING) {
        expand_peering(r, intent, rule);
    } else {
        expand_selector(r, &intent->from, tenant, &rule->from,
                        &rule->from_ranges, &rule->from_tenants);
        expand_selector(r, &intent->to, tenant, &rule->to, &rule->to_ranges,
                        &rule->to_tenants);
    }
    if (kind == RULE_GUARDRAIL) {
        rule->from_every = selects_every(&intent->from);
        rule->to_every = selects_every(&intent->to);
    }
    /* The encryptions are built-in services of their names. */
    rule->service = RESOLVE(r, &r->policy->services, intent->require.s
                            ? intent->require : intent->service, "service");
    rule->stateless = intent->stateless;
    rule->charge = (!intent->charge.s ? CHARGE_SENDER
                    : !strcmp(intent->charge.s, "from") ? CHARGE_FROM
                    : CHARGE_TO);
    rule->class = find_class(r, intent, intent->class);
    rule->reply_class = (intent->reply_class.s
                         ? find_class(r, intent, intent->reply_class)
                         : rule->class);
    if (intent->reply_class.s && rule->service && rule->service->symmetric) {
        struct diag *d = value_error(r->diags, intent->reply_class.at,
                                     "nobody knows what is a reply of '%s', "
                                     "which is symmetric",
                                     rule->service->name);
        diag_remedy(r->diags, d, "remove it; both ways are of the class");
    }
}

/* A tenant's "default": "allow", as a rule of its own. */
static void
add_default_rule(struct resolver *r, const struct policy_tenant *tenant)
{
    /* The name cannot be a rule's: those begin with a letter or digit. */
    struct policy_rule *rule = add_rule(r, RULE_DEFAULT, tenant, "(default)",
                                        tenant->intent->name.at);

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        *vec_push(r->arena, &rule->from) = tenant->endpoints.v[i];
        *vec_push(r->arena, &rule->to) = tenant->endpoints.v[i];
    }
}

static void
resolve_all(struct resolver *r, const struct intent *intent)
{
    struct policy *policy = r->policy;
    size_t index = 0;

    for (size_t i = 0; i < intent->nodes.n; i++) {
        shash_add(&r->nodes, intent->nodes.v[i].name.s, &intent->nodes.v[i]);
    }
    add_builtin_services(r);
    for (size_t i = 0; i < intent->services.n; i++) {
        add_service(r, &intent->services.v[i]);
    }
    for (size_t i = 0; i < intent->classes.n; i++) {
        add_class(r, &intent->classes.v[i]);
    }
    for (size_t i = 0; i < intent->tenants.n; i++) {
        add_tenant(r, &intent->tenants.v[i]);
    }
    SORT_BY_NAME(&policy->tenants, tenant);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        resolve_parts(r, policy->tenants.v[i]);
    }
    for (size_t i = 0; i < policy->tenants.n; i++) {
        for (size_t j = 0; j < policy->tenants.v[i]->endpoints.n; j++) {
            policy->tenants.v[i]->endpoints.v[j]->index = index++;
        }
    }
    r->taken = bitmap_allocate(index);
    for (size_t i = 0; i < intent->externals.n; i++) {
        add_external(r, &intent->externals.v[i]);
    }
    SORT_BY_NAME(&policy->externals, external);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->intent->rules.n; j++) {
            add_intent_rule(r, &tenant->intent->rules.v[j], tenant);
        }
        if (tenant->intent->default_allow) {
            add_default_rule(r, tenant);
        }
    }
    for (size_t i = 0; i < intent->peerings.n; i++) {
        add_intent_rule(r, &intent->peerings.v[i], NULL);
    }
    for (size_t i = 0; i < intent->guardrails.n; i++) {
        add_intent_rule(r, &intent->guardrails.v[i], NULL);
    }
    SORT_BY_NAME(&policy->rules, rule);
    for (size_t i = 0; i < policy->externals.n; i++) {
        find_users(policy, policy->externals.v[i], r->arena);
    }
}

struct span
policy_rule_span(const struct policy_rule *rule)
{
    /* A string, or the key of a tenant or a peering. */
    return (rule->at->type == VALUE_OBJECT ? rule->at->key_span
            : rule->at->span);
}

static const struct policy *
resolve(const struct intent *intent, struct arena *arena, bool check,
        struct diags *diags)
{
    struct policy *policy = arena_zalloc(arena, sizeof *policy);
    struct resolver r = {
        .arena = arena, .diags = diags, .policy = policy,
        .nodes = SHASH_INITIALIZER(&r.nodes),
    };
    size_t n_errors = diags->n_errors;

    policy->intent = intent;
    policy->claims = claims_create(arena);
    resolve_all(&r, intent);
    shash_destroy(&r.nodes);
    bitmap_free(r.taken);
    if (diags->n_errors == n_errors) {
        find_payers(policy, arena);
        find_trees(policy, arena);
        if (check) {
            policy_check(policy, arena, diags);
        }
    } else {
        diags->unchecked = "conflicts";
    }
    return diags->n_errors == n_errors ? policy : NULL;
}

const struct policy *
policy_resolve(const struct intent *intent, struct arena *arena,
               struct diags *diags)
{
    return resolve(intent, arena, true, diags);
}

const struct policy *
policy_resolve_checked(const struct intent *intent, struct arena *arena)
{
    struct diags diags;

    diags_init(&diags, arena);
    return resolve(intent, arena, false, &diags);
}
