/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include <stdlib.h>
#include <string.h>

#include "backend/openflow/openflow.h"
#include "base/diag.h"
#include "intent/exceed.h"
#include "intent/intent.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* RoCEv2's port and what lies about it decide much. */
static int
random_port(struct rng *rng)
{
    static const int ports[] = {
        1, 22, 53, 67, 443, 1000, 4420, 4790, 4791, 4793, 8009, 65535,
    };

    return (rng_chance(rng, 60) ? ports[rng_below(rng, ARRAY_SIZE(ports))]
            : 1 + (int) rng_below(rng, 65535));
}

static void
init_services(struct world *w, struct rng *rng)
{
    for (int i = 0; i < MAX_SERVICES; i++) {
        w->services[i].udp = rng_chance(rng, 50);
        for (int j = 0; j < 2; j++) {
            int first = random_port(rng);
            int size = rng_chance(rng, 50) ? 0 : rng_below(rng, 2000);

            if (rng_chance(rng, 15)) {
                first = 4791 - rng_below(rng, 100);     /* About RoCEv2's. */
            }
            w->services[i].first[j] = first;
            w->services[i].last[j] = MIN(first + size, 65535);
        }
    }
    for (int i = 0; i < MAX_CLASSES; i++) {
        w->classes[i].dscp = rng_below(rng, 64);
        w->classes[i].queue = rng_below(rng, 8);
    }
}

static void
init_fabric(struct world *w, struct rng *rng)
{
    w->n_uplinks = rng_chance(rng, 50) ? 1 : 1 + rng_below(rng, MAX_UPLINKS);
    if (rng_chance(rng, 60)) {
        w->encapsulation = rng_chance(rng, 50) ? "geneve" : "vxlan";
        w->underlay6 = rng_chance(rng, 50);
        for (int i = 0; i < MAX_NODES; i++) {
            w->tunnels |= rng_chance(rng, 90) << i;
        }
    }
}

/* A depth that is at most the limit, or none. */
static int
draw_depth(const struct world_tenant *t, struct rng *rng)
{
    int most = t->limit_kib ? t->limit_kib : 1000;

    return rng_chance(rng, 60) ? 32 + rng_below(rng, most - 31) : 0;
}

/* From the rest of the meter, so that nothing else that is drawn depends on
 * it. */
static void
init_bursts(struct world_tenant *t)
{
    struct rng rng = { t->mbps * 1000 + t->burst_kib };

    t->bursts = rng_chance(&rng, 50);
    t->limit_kib = rng_chance(&rng, 60) ? 64 + rng_below(&rng, 1000) : 0;
    t->mark_kib = draw_depth(t, &rng);
    t->depth_kib = draw_depth(t, &rng);
    if (t->limit_kib && rng_chance(&rng, 50)) {
        t->exceed = (rng_chance(&rng, 50) ? EXCEED_ECN
                     : rng_chance(&rng, 50) ? EXCEED_PASS
                     : EXCEED_DSCP + rng_below(&rng, 64));
    }
}

/* High enough for a test that sends real packets, and odd enough to show a
 * wrong unit. */
static void
init_meters(struct world_tenant *t, struct rng *rng)
{
    t->limited = rng_chance(rng, 50);
    t->counted = rng_chance(rng, 40);
    t->mbps = 1000 + rng_below(rng, UPLINK_MBPS(0) - 999);
    t->burst_kib = 64 + rng_below(rng, 1000);
    t->kpps = 1000 + rng_below(rng, 10000);
    t->burst_packets = 1000 + rng_below(rng, 100000);
    init_bursts(t);
}

/* Draws for itself, so that the world is otherwise as without it. */
static void
init_received(struct world_tenant *t, struct rng rng)
{
    t->both = rng_chance(&rng, 50);
    t->received_mbps = (t->both ? t->mbps : rng_chance(&rng, 30) ? 0
                        : 1000 + rng_below(&rng, UPLINK_MBPS(0) - 999));
    t->received_kib = t->both ? t->burst_kib : 64 + rng_below(&rng, 1000);
}

static void
init_tenants(struct world *w, struct rng *rng)
{
    w->n_tenants = 1 + rng_below(rng, MAX_TENANTS);
    for (int i = 0; i < w->n_tenants; i++) {
        w->tenants[i].allow = rng_chance(rng, 30);
        init_meters(&w->tenants[i], rng);
        init_received(&w->tenants[i], (struct rng) { ~rng->state });
        w->tenants[i].peers_all = rng_chance(rng, 15);
        for (int j = 0; j < w->n_tenants; j++) {
            w->tenants[i].peers |= (j != i && rng_chance(rng, 80)) << j;
        }
    }
    for (int i = 0; i < w->n_tenants && w->n_networks < MAX_NETWORKS; i++) {
        int n = 1 + rng_below(rng, 2);

        for (int j = 0; j < n && w->n_networks < MAX_NETWORKS; j++) {
            struct world_network *network = &w->networks[w->n_networks++];

            network->tenant = i;
            network->uplink = rng_below(rng, w->n_uplinks);
            /* Tenants may have one another's addresses. */
            network->subnet = rng_chance(rng, 25) ? 20 + j : w->n_networks;
            network->gateway4 = rng_chance(rng, 85);
            network->gateway6 = rng_chance(rng, 70);
        }
    }
}

/* As init_received().  Less than any tenant has. */
static void
init_own(struct world_endpoint *e, struct rng rng)
{
    e->sent_mbps = rng_chance(&rng, 25) ? 500 + rng_below(&rng, 499) : 0;
    e->received_mbps = rng_chance(&rng, 25) ? 500 + rng_below(&rng, 499) : 0;
}

static void
init_endpoints(struct world *w, struct rng *rng)
{
    w->n_endpoints = 2 + rng_below(rng, rng_chance(rng, 50) ? 7
                                   : MAX_ENDPOINTS - 1);
    for (int i = 0; i < w->n_endpoints; i++) {
        struct world_endpoint *e = &w->endpoints[i];

        e->network = rng_below(rng, w->n_networks);
        for (int j = 0; j < i; j++) {
            e->host += w->endpoints[j].network == e->network;
        }
        /* Networks may have one another's MACs. */
        e->mac = rng_chance(rng, 30) ? e->host : 32 + i;
        e->ip6 = rng_chance(rng, 60);
        e->ip4 = !e->ip6 || rng_chance(rng, 80);
        e->second = rng_chance(rng, 20);
        e->role = rng_below(rng, 3);
        e->tier = rng_below(rng, 2);
        e->bound = rng_chance(rng, 97);
        e->node = (rng_chance(rng, w->encapsulation ? 45 : 5)
                   ? 1 + rng_below(rng, MAX_NODES - 1) : 0);
        init_own(e, (struct rng) { ~rng->state });
    }
}

/* Some networks name one of their endpoints, some carry groups. */
static void
init_copies(struct world *w, struct rng *rng)
{
    for (int i = 0; i < w->n_networks; i++) {
        w->networks[i].dhcp_server = -1;
        w->networks[i].groups = rng_chance(rng, 50) ? 0
                                : rng_below(rng, 1u << N_GROUPS);
    }
    for (int i = 0; i < w->n_endpoints; i++) {
        if (rng_chance(rng, 15)) {
            w->networks[w->endpoints[i].network].dhcp_server = i;
        }
    }
}

/* A peering may be with every tenant, and without consent. */
static void
init_peering(struct rng *rng, struct world_rule *rule)
{
    rule->imposed = rng_chance(rng, 15);
    if (rng_chance(rng, 25)) {
        struct world_selector *side = rng_chance(rng, 50) ? &rule->from
                                      : &rule->to;

        side->choices[0].in = (struct world_choice) {
            .tenant = EVERY_TENANT, .roles = rng_below(rng, 8),
        };
    }
}

/* A rule that denies may have other tenants on one side: often those that a
 * peering before it joins with its own. */
static void
init_sides(struct world *w, struct rng *rng, int number)
{
    struct world_rule *rule = &w->rules[number];
    struct world_rule *peering = &w->rules[rng_below(rng, number + 1)];
    int foreign = rule->deny && rng_chance(rng, 70) ? rng_below(rng, 2) : -1;

    world_init_selector(w, rng, rule->tenant, rule->tenant < 0 || !foreign,
                        &rule->from);
    world_init_selector(w, rng, rule->tenant,
                        rule->tenant < 0 || foreign == 1, &rule->to);
    if (rule->tenant == PEERING) {
        init_peering(rng, rule);
    }
    if (rule->tenant >= 0 && foreign >= 0 && peering->tenant == PEERING
        && (foreign ? &peering->from
            : &peering->to)->choices[0].in.tenant != EVERY_TENANT) {
        rule->from = rule->to = (struct world_selector) { .n = 1 };
        rule->from.choices[0].in.tenant = rule->to.choices[0].in.tenant = -1;
        rule->from.choices[0].external = rule->to.choices[0].external = -1;
        if (foreign) {
            rule->to.choices[0].in = peering->to.choices[0].in;
            rule->tenant = peering->from.choices[0].in.tenant;
        } else {
            rule->from.choices[0].in = peering->from.choices[0].in;
            rule->tenant = peering->to.choices[0].in.tenant;
        }
        rule->service = rng_chance(rng, 50) ? peering->service : -1;
    }
}

static void
init_rules(struct world *w, struct rng *rng)
{
    int n = rng_below(rng, rng_chance(rng, 50) ? 8 : MAX_RULES);
    int class = (int) rng_below(rng, MAX_CLASSES + 1) - 1;

    w->n_rules = n;
    for (int i = 0; i < n; i++) {
        struct world_rule *rule = &w->rules[i];

        rule->tenant = (rng_chance(rng, 10) ? GUARDRAIL
                        : rng_chance(rng, 30) ? PEERING
                        : (int) rng_below(rng, w->n_tenants));
        rule->deny = (rule->tenant == GUARDRAIL
                      || (rule->tenant >= 0 && rng_chance(rng, 25)));
        rule->service = (int) rng_below(rng, N_BUILTIN_LINES
                                        + MAX_SERVICES + 2) - 2;
        rule->service = MAX(rule->service, -1);
        /* Mostly one class, or most would contradict one another. */
        rule->class = rule->deny ? -1 : rng_chance(rng, 70) ? class
                      : (int) rng_below(rng, MAX_CLASSES + 1) - 1;
        rule->reply_class = (rule->deny || rng_chance(rng, 80) ? -2
                             : (int) rng_below(rng, MAX_CLASSES + 1) - 1);
        init_sides(w, rng, i);
    }
}

/* Leaves out the rules that contradict those before them, and notes whether
 * the world sees why. */
static void
leave_out_contradictions(struct world *w)
{
    for (int i = 0; i < w->n_rules; i++) {
        w->rules[i].left_out = true;
    }
    for (int i = 0; i < w->n_rules; i++) {
        struct compiled c;

        w->rules[i].left_out = false;
        world_compile(w, &c);
        w->rules[i].misjudged = world_find_misjudged(w, &w->rules[i],
                                                     c.diags);
        w->rules[i].left_out = !c.policy;
        compiled_destroy(&c);
    }
}

void
world_init(struct world *w, uint64_t seed)
{
    struct rng rng = { seed };

    memset(w, 0, sizeof *w);
    w->seed = seed;
    init_services(w, &rng);
    init_fabric(w, &rng);
    world_init_telemetry(w, (struct rng) { ~rng.state ^ 3 });
    init_tenants(w, &rng);
    init_endpoints(w, &rng);
    world_init_shares(w, (struct rng) { ~rng.state });
    world_init_dscp_in(w, (struct rng) { ~rng.state ^ 1 });
    world_init_upcalls(w, (struct rng) { ~rng.state ^ 2 });
    init_copies(w, &rng);
    world_init_externals(w, &rng);
    init_rules(w, &rng);
    world_init_late(w, &rng);
    leave_out_contradictions(w);
}

/* Parses and resolves 'text'; NULL if that fails. */
static const struct policy *
resolve(const char *text, struct diags *diags)
{
    const struct source *source = source_create(diags->arena, "intent.json",
                                                text, strlen(text));
    const struct intent *intent = intent_parse(source, diags->arena, diags);

    return intent ? policy_resolve(intent, diags->arena, diags) : NULL;
}

void
world_compile(const struct world *w, struct compiled *c)
{
    memset(c, 0, sizeof *c);
    c->arena = arena_create();
    c->text = world_text(w, c->arena);
    c->diags = arena_zalloc(c->arena, sizeof *c->diags);
    diags_init(c->diags, c->arena);
    c->policy = resolve(c->text, c->diags);
}

void
compiled_lower(struct compiled *c, const char *node)
{
    struct diags diags;

    c->prog = ir_build(c->policy, node, c->arena);
    diags_init(&diags, c->arena);
    backend_compile(&openflow_backend, c->prog, c->arena, &diags, &c->plan);
}

/* All that a plan says, of 'prog'. */
static const char *
lowered(struct compiled *c, struct ir_prog *prog, struct plan *plan)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct diags diags;
    const char *text;

    diags_init(&diags, c->arena);
    backend_compile(&openflow_backend, prog, c->arena, &diags, plan);
    plan_print(plan, &ds);
    text = arena_strdup(c->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

static const char *
printed(struct compiled *c, const struct ir_prog *prog)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;

    ir_print(prog, &ds);
    text = arena_strdup(c->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

/* Prints the intent and lowers what is printed, whose lines are others. */
static const char *
reprint_intent(struct compiled *c)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const struct policy *policy;
    struct plan plan;
    struct plan_diff diff;
    struct diags diags;

    diags_init(&diags, c->arena);
    intent_print(c->policy->intent, &ds);
    policy = resolve(arena_strdup(c->arena, ds_cstr(&ds)), &diags);
    ds_destroy(&ds);
    if (!policy) {
        return "the intent is refused once it is printed";
    }
    lowered(c, ir_build(policy, WORLD_NODE, c->arena), &plan);
    diff = plan_compare(&c->plan, &plan);
    return (diff.added.n || diff.changed.n || diff.deleted.n
            || diff.meters_added || diff.meters_deleted
            ? "the intent has another plan once it is printed" : NULL);
}

const char *
compiled_reprint(struct compiled *c)
{
    const char *text = printed(c, c->prog);
    struct ir_prog *prog;
    struct diags diags;
    struct plan plan;

    diags_init(&diags, c->arena);
    prog = ir_parse(source_create(c->arena, "prog.ir", text, strlen(text)),
                    c->arena, &diags);
    if (!prog) {
        return arena_printf(c->arena, "the program's text is refused: %s",
                            diags.list.v[0].cause);
    } else if (strcmp(printed(c, prog), text)) {
        return "the program's text says something else once it is parsed";
    } else if (strcmp(lowered(c, prog, &plan), lowered(c, c->prog, &plan))) {
        return "the program's text has another plan";
    }
    return reprint_intent(c);
}

void
compiled_destroy(struct compiled *c)
{
    arena_destroy(c->arena);
}

int
world_n_parts(const struct world *w)
{
    return (w->n_rules + w->n_tenants + w->n_networks + w->n_endpoints
            + w->n_externals);
}

bool *
world_part(struct world *w, int part)
{
    if (part < w->n_tenants) {
        return &w->tenants[part].left_out;
    }
    part -= w->n_tenants;
    if (part < w->n_networks) {
        return &w->networks[part].left_out;
    }
    part -= w->n_networks;
    if (part < w->n_endpoints) {
        return &w->endpoints[part].left_out;
    }
    part -= w->n_endpoints;
    if (part < w->n_rules) {
        return &w->rules[part].left_out;
    }
    return &w->externals[part - w->n_rules].left_out;
}

const struct policy_endpoint *
compiled_endpoint(const struct compiled *c, const char *name)
{
    for (size_t i = 0; i < c->policy->tenants.n; i++) {
        const struct policy_tenant *tenant = c->policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            if (!strcmp(tenant->endpoints.v[j]->name, name)) {
                return tenant->endpoints.v[j];
            }
        }
    }
    return NULL;
}

const struct policy_attachment *
compiled_attachment(const struct compiled *c, const char *external)
{
    for (size_t i = 0; i < c->policy->externals.n; i++) {
        const struct policy_external *e = c->policy->externals.v[i];

        for (size_t j = 0; j < e->attachments.n; j++) {
            if (!strcmp(e->name, external)
                && !strcmp(e->attachments.v[j]->node->name.s,
                           c->prog->node)) {
                return e->attachments.v[j];
            }
        }
    }
    return NULL;
}

int
external_port(const struct policy_external *e)
{
    return MAX_ENDPOINTS + atoi(e->name + 1) + 1;
}

int
endpoint_port(const struct policy_endpoint *e)
{
    return atoi(e->intent->name.s + 1) + 1;
}
