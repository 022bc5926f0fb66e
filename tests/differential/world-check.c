/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

/* All judges of packets stand on the same policy, and no packet shows a
 * meter's rate.  So these are held against what the world knows it wrote, by
 * computations of its own. */

struct check {
    const struct world *w;
    const struct compiled *c;
};

/* The number N of what is named "eN", "nN", "tN" or "sN". */
static int
number_of(const char *name)
{
    return atoi(name + 1);
}

bool
world_is_there(const struct world *w, int endpoint)
{
    const struct world_endpoint *e = &w->endpoints[endpoint];

    return (!e->left_out
            && !w->tenants[w->networks[e->network].tenant].left_out);
}

/* 1-bits: the endpoints of a tenant. */
static unsigned int
all_of(const struct world *w, int tenant)
{
    unsigned int set = 0;

    for (int i = 0; i < w->n_endpoints; i++) {
        const struct world_endpoint *e = &w->endpoints[i];

        set |= (unsigned int) (world_is_there(w, i)
                               && w->networks[e->network].tenant == tenant)
               << i;
    }
    return set;
}

static bool
is_set(const endpoint_vec *endpoints, unsigned int set)
{
    for (size_t i = 0; i < endpoints->n; i++) {
        unsigned int bit = 1u << number_of(endpoints->v[i]->intent->name.s);

        if (!(set & bit)) {
            return false;       /* Or it is there twice. */
        }
        set &= ~bit;
    }
    return !set;
}

static const struct policy_rule *
find_rule(const struct compiled *c, const char *name)
{
    for (size_t i = 0; i < c->policy->rules.n; i++) {
        if (!strcmp(c->policy->rules.v[i]->name, name)) {
            return c->policy->rules.v[i];
        }
    }
    return NULL;
}

static bool
class_fits(const struct world *w, int number,
           const struct policy_class *class)
{
    return (number < 0 ? !class
            : class && class->dscp == w->classes[number].dscp
              && class->queue == w->classes[number].queue);
}

/* Of the world's own services; the built-in ones are by name. */
static bool
service_fits(const struct world *w, const struct world_rule *rule,
             const struct policy_service *service)
{
    if (rule->service < 0 || !service) {
        return rule->service < 0 && !service;
    } else if (strcmp(service->name, world_service_name(rule->service))) {
        return false;
    }
    int own = rule->service - N_BUILTIN_LINES;

    if (own >= 0 && w->services[own].protocol) {
        return (service->matches.n == 1 && !service->matches.v[0].ports.last
                && (service->matches.v[0].protocol
                    == w->services[own].protocol));
    }
    for (int i = 0; i < 2 && own >= 0; i++) {
        const struct service_match *m = &service->matches.v[i];

        if (service->matches.n != 2
            || m->protocol != (w->services[own].udp ? IPPROTO_UDP
                               : IPPROTO_TCP)
            || m->ports.first != w->services[own].first[i]
            || m->ports.last != (i ? w->services[own].last[i]
                                 : w->services[own].first[i])) {
            return false;
        }
    }
    return true;
}

static const char *
check_rule(const struct check *check, int number)
{
    const struct world *w = check->w;
    const struct world_rule *rule = &w->rules[number];
    const char *name = (rule->tenant < 0
                        ? arena_printf(check->c->arena, "%s:r%d",
                                       rule->deny ? "guardrail" : "peering",
                                       number)
                        : arena_printf(check->c->arena, "t%d/r%d",
                                       rule->tenant, number));
    const struct policy_rule *policy = find_rule(check->c, name);
    const char *wrong
        = (!policy ? "is not there"
           : policy->kind != (rule->tenant == PEERING ? RULE_PEERING
                              : rule->tenant == GUARDRAIL ? RULE_GUARDRAIL
                              : rule->deny ? RULE_DENY : RULE_ALLOW)
           ? "is of another kind"
           : !is_set(&policy->from,
                     world_selected(w, rule, true))
           ? "is from other endpoints"
           : !is_set(&policy->to,
                     world_selected(w, rule, false))
           ? "is to other endpoints"
           : !world_ranges_fit(&rule->from, &policy->from_ranges)
             || !world_ranges_fit(&rule->to, &policy->to_ranges)
           ? "names other externals"
           : !world_is_consented(w, rule) ? "has not everybody's consent"
           : !class_fits(w, rule->class, policy->class) ? "has another class"
           : !class_fits(w, rule->reply_class == -2 ? rule->class
                         : rule->reply_class, policy->reply_class)
           ? "has another class of replies"
           : !service_fits(w, rule, policy->service) ? "has another service"
           : !rule->deny && policy->depth != world_depth(w, rule)
           ? "has another depth"
           : !policy->stateless != !rule->stateless
           ? "is stateful, or not, against the intent"
           : policy->charge != rule->charge ? "charges somebody else"
           : NULL);

    return wrong ? arena_printf(check->c->arena, "rule %s %s", name, wrong)
           : NULL;
}

static const char *
check_rules(const struct check *check)
{
    const struct world *w = check->w;
    const char *wrong = NULL;
    size_t n = 0;

    for (int i = 0; i < w->n_rules && !wrong; i++) {
        if (!w->rules[i].left_out
            && !(w->rules[i].tenant >= 0
                 && w->tenants[w->rules[i].tenant].left_out)) {
            wrong = check_rule(check, i);
            n++;
        }
    }
    for (int i = 0; i < w->n_tenants && !wrong; i++) {
        if (w->tenants[i].allow && !w->tenants[i].left_out) {
            const struct policy_rule *rule
                = find_rule(check->c, arena_printf(check->c->arena,
                                                   "t%d/(default)", i));

            wrong = (rule && rule->kind == RULE_DEFAULT
                     && is_set(&rule->from, all_of(w, i))
                     && is_set(&rule->to, all_of(w, i)) ? NULL
                     : "a tenant's default is not what it says");
            n++;
        }
    }
    return (wrong ? wrong : n != check->c->policy->rules.n
            ? "there are rules that nobody wrote" : NULL);
}

static const char *
check_endpoint(const struct check *check, const struct policy_endpoint *e)
{
    int number = number_of(e->intent->name.s);
    int network = check->w->endpoints[number].network;
    const struct world_network *n = &check->w->networks[network];
    struct eth_addr gateway = ETH_ADDR_C(0a,b1,7d,00,00,00);
    int server = (n->dhcp_server < 0
                  || check->w->endpoints[n->dhcp_server].left_out ? -1
                  : n->dhcp_server);

    gateway.ea[5] = WORLD_VNI(network);
    return (e->bound != check->w->endpoints[number].bound
            ? "an endpoint is bound, or not, against the intent"
            : e->bound && strcmp(e->node->name.s, world_node_name(
                check->w->endpoints[number].node))
            ? "an endpoint is on another node"
            : number_of(e->network->intent->name.s) != network
              || number_of(e->tenant->name) != n->tenant
            ? "an endpoint is in another network or tenant"
            : memcmp(&e->network->gateway_mac, &gateway, sizeof gateway)
            ? "a gateway has another MAC"
            : (e->network->dhcp_server
               ? number_of(e->network->dhcp_server->intent->name.s) : -1)
              != server
            ? "a network has another DHCP server" : NULL);
}

static const char *
check_endpoints(const struct check *check)
{
    const struct policy *policy = check->c->policy;
    const char *wrong = NULL;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        unsigned int missing = all_of(check->w, number_of(tenant->name));

        for (size_t j = 0; j < tenant->endpoints.n && !wrong; j++) {
            const struct policy_endpoint *e = tenant->endpoints.v[j];

            missing ^= 1u << number_of(e->intent->name.s);
            wrong = check_endpoint(check, e);
        }
        wrong = (wrong ? wrong : missing ? "a tenant has other endpoints"
                 : NULL);
    }
    return wrong;
}

/* How many connections zones may hold. */
static const char *
check_limits(const struct check *check)
{
    const struct plan *plan = &check->c->plan;
    const struct world *w = check->w;
    size_t n = 0;

    for (int i = 0; i < w->n_tenants; i++) {
        const struct plan_limit *found = NULL;
        int wanted = (world_uplinks_here(w, i) ? w->tenants[i].connections
                      : 0);

        for (size_t j = 0; j < plan->limits.n; j++) {
            if (number_of(plan->limits.v[j].name) == i) {
                found = &plan->limits.v[j];
                n++;
            }
        }
        if (wanted != (found ? found->connections : 0)) {
            return "a tenant has another limit of connections";
        }
    }
    return n == plan->limits.n ? NULL : "a limit of connections is nobody's";
}

const char *
world_check(const struct world *w, const struct compiled *c)
{
    const struct check check = { w, c };
    const char *wrong = check_endpoints(&check);

    wrong = wrong ? wrong : check_rules(&check);
    wrong = wrong ? wrong : check_limits(&check);
    wrong = wrong ? wrong : world_check_upcalls(w, c);
    wrong = wrong ? wrong : world_check_externals(w, c);
    wrong = wrong ? wrong : world_check_refusals(w, c->arena);
    wrong = wrong ? wrong : world_check_dscp_in(w, c);
    return wrong ? wrong : world_check_meters(w, c);
}
