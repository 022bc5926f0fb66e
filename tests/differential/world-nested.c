/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include <netinet/in.h>
#include <string.h>

#include "util.h"

/* Rules of worlds of which one is the narrower: drawn, and found by a
 * computation of its own, over sets of bits. */

/* Some more of what the rule says is said. */
static void
narrow_choice(struct world *w, struct rng *rng, struct world_choice *c)
{
    int e = rng_below(rng, w->n_endpoints);
    int host = 10 + w->endpoints[e].host;

    switch (rng_below(rng, 6)) {
    case 0:
        c->roles = (c->roles ? c->roles & -c->roles
                    : 1u << w->endpoints[e].role);
        break;
    case 1: c->tiers = 1u << w->endpoints[e].tier; break;
    case 2: c->endpoints |= 1u << e; break;
    case 3: c->networks = 1u << w->endpoints[e].network; break;
    case 4:
        c->cidr = true;
        c->subnet = w->networks[w->endpoints[e].network].subnet;
        c->block = host / (c->cidr6 ? 10 : 16);
        break;
    }
}

static void
narrow_selector(struct world *w, struct rng *rng, struct world_selector *s)
{
    for (int i = 0; i < s->n; i++) {
        if (s->choices[i].external < 0) {
            narrow_choice(w, rng, &s->choices[i].in);
            if (rng_chance(rng, 15)) {
                s->choices[i].has_except = true;
                s->choices[i].except.roles |= 1u << rng_below(rng, 3);
            }
        } else if (s->choices[i].range < 0) {
            s->choices[i].range = rng_below(rng, N_CIDRS);
        }
    }
}

/* Takes 's' into more that it does not say. */
static void
widen_selector(struct rng *rng, struct world_selector *s)
{
    s->n = 1;
    s->choices[0].has_except &= rng_chance(rng, 30);
    s->choices[0].range = -1;
    s->choices[0].in = (struct world_choice) {
        .tenant = s->choices[0].in.tenant,
        .roles = rng_chance(rng, 30) ? s->choices[0].in.roles : 0,
    };
}

/* Beside some rules stand others that say more, or less, with another
 * class. */
void
world_init_nested(struct world *w, struct rng *rng)
{
    if (rng_chance(rng, 50)) {  /* A service inside of another. */
        w->services[3] = w->services[2];
        w->services[3].last[1] -= ((w->services[3].last[1]
                                    - w->services[3].first[1]) / 2);
    }
    /* Of those that are added, too. */
    for (int i = 0; i < w->n_rules && w->n_rules < MAX_RULES; i++) {
        struct world_rule *rule;

        if (w->rules[i].deny
            || !rng_chance(rng, w->rules[i].tenant == PEERING ? 80 : 38)) {
            continue;
        }
        rule = &w->rules[w->n_rules++];
        *rule = w->rules[i];
        if (!rule->stateless && rng_chance(rng, 25)) {
            rule->reply_class = (int) rng_below(rng, MAX_CLASSES + 1) - 1;
        } else {
            rule->class = (int) rng_below(rng, MAX_CLASSES + 1) - 1;
        }
        if (rng_chance(rng, 60)) {
            narrow_selector(w, rng, &rule->from);
            narrow_selector(w, rng, &rule->to);
            if (rng_chance(rng, 40)) {
                rule->service = (rule->service == N_BUILTIN_LINES + 2
                                 ? N_BUILTIN_LINES + 3 : rule->service < 0
                                 ? (int) rng_below(rng, N_BUILTIN_LINES)
                                 : rule->service);
            }
            if (rng_chance(rng, 10)) {
                rule->from = w->rules[i].to;
                rule->to = w->rules[i].from;
            }
        } else {
            widen_selector(rng, &rule->from);
            widen_selector(rng, &rule->to);
            rule->service = rng_chance(rng, 50) && rule->tenant >= 0 ? -1
                            : rule->service;
        }
    }
}

struct match {
    int protocol, first, last;  /* 0..0 is any port. */
};
struct service {
    struct match matches[4];
    int n;                      /* 0: any. */
    bool symmetric;
};

static const struct {
    const char *name;
    struct match match;
    bool symmetric;
} lines[] = {
#define SERVICE(NAME, PROTOCOL, FIRST, LAST, SYMMETRIC)                 \
    { NAME, { PROTOCOL, FIRST, LAST }, SYMMETRIC },
#include "sema/services.def"
#undef SERVICE
};

static struct service
service_of(const struct world *w, const struct world_rule *rule)
{
    struct service s = { .n = 0 };
    int own = rule->service - N_BUILTIN_LINES;

    if (rule->service < 0) {
        return s;
    } else if (own >= 0 && w->services[own].protocol) {
        s.matches[s.n++].protocol = w->services[own].protocol;
        return s;
    }
    for (int i = 0; own >= 0 && i < 2; i++) {
        s.matches[s.n++] = (struct match) {
            w->services[own].udp ? IPPROTO_UDP : IPPROTO_TCP,
            w->services[own].first[i],
            i ? w->services[own].last[i] : w->services[own].first[i],
        };
    }
    for (int i = 0; own < 0 && i < N_BUILTIN_LINES; i++) {
        if (!strcmp(lines[i].name, lines[rule->service].name)) {
            s.matches[s.n++] = lines[i].match;
            s.symmetric = lines[i].symmetric;
        }
    }
    return s;
}

static bool
matches_port(const struct service *s, int protocol, int port)
{
    for (int i = 0; i < s->n; i++) {
        if (s->matches[i].protocol == protocol
            && (!s->matches[i].last || (s->matches[i].first <= port
                                        && s->matches[i].last >= port))) {
            return true;
        }
    }
    return !s->n;
}

/* Port by port. */
static bool
service_holds(const struct service *all, const struct service *some)
{
    for (int i = 0; i < some->n; i++) {
        const struct match *m = &some->matches[i];

        for (int port = m->first; port <= m->last; port++) {
            if (!matches_port(all, m->protocol, port)) {
                return false;
            }
        }
    }
    return some->n || !all->n;
}

static bool
services_meet(const struct service *a, const struct service *b)
{
    for (int i = 0; i < a->n; i++) {
        for (int port = a->matches[i].first; port <= a->matches[i].last;
             port++) {
            if (matches_port(b, a->matches[i].protocol, port)) {
                return true;
            }
        }
    }
    return !a->n;
}

static bool
has_symmetric(const struct service *s)
{
    for (int i = 0; i < N_BUILTIN_LINES; i++) {
        if (lines[i].symmetric && matches_port(s, lines[i].match.protocol,
                                               lines[i].match.first)) {
            return true;
        }
    }
    return false;
}

/* Of sets, of which the empty one is any. */
static bool
within(unsigned int all, unsigned int some)
{
    return !all || (some && !(some & ~all));
}

static bool
apart(unsigned int a, unsigned int b)
{
    return a && b && !(a & b);
}

static bool
same_block(const struct world_choice *a, const struct world_choice *b)
{
    return (b->cidr && a->cidr6 == b->cidr6 && a->subnet == b->subnet
            && a->block == b->block);
}

/* A choice, and one of the endpoints that it names, or -1. */
struct some {
    const struct world *w;
    const struct world_choice *in, *except;     /* 'except' may be NULL. */
    int e;
    bool ever;                  /* Whatever labels and network that has. */
};

static bool
stands(const struct some *some, const struct world_choice *c)
{
    const struct world_endpoint *e = &some->w->endpoints[some->e];

    return (some->ever
            || ((!c->networks || c->networks >> e->network & 1)
                && (!c->endpoints || c->endpoints >> some->e & 1)
                && (!c->roles || c->roles >> e->role & 1)
                && (!c->tiers || c->tiers >> e->tier & 1)));
}

static bool
is_without(const struct some *some, const struct world_choice *except)
{
    const struct world_choice *in = some->in, *own = some->except;

    if (own && within(own->networks, except->networks)
        && within(own->endpoints, except->endpoints)
        && within(own->roles, except->roles)
        && within(own->tiers, except->tiers)
        && (!own->cidr || same_block(own, except))) {
        return true;
    }
    return (apart(in->networks, except->networks)
            || apart(in->endpoints, except->endpoints)
            || apart(in->roles, except->roles)
            || apart(in->tiers, except->tiers)
            || (some->e >= 0 && (some->ever || !stands(some, except))));
}

static bool
choice_holds(const struct world_choice *all, const struct world_choice *except,
             const struct some *some)
{
    int tenant = (some->e >= 0 && some->in->tenant == EVERY_TENANT
                  ? some->w->networks[some->w->endpoints[some->e].network]
                    .tenant : some->in->tenant);
    bool anybodys = some->ever && tenant != some->in->tenant;

    if (all->tenant != EVERY_TENANT && all->tenant != tenant && !anybodys) {
        return false;
    } else if (some->e >= 0 && !all->endpoints ? !stands(some, all)
               : !(within(all->networks, some->in->networks)
                   && (some->e >= 0 ? all->endpoints >> some->e & 1
                       : within(all->endpoints, some->in->endpoints))
                   && within(all->roles, some->in->roles)
                   && within(all->tiers, some->in->tiers))) {
        return false;
    }
    return ((!all->cidr || same_block(all, some->in))
            && (!except || is_without(some, except)));
}

static bool
range_holds_range(int all, int some)
{
    static const int nested[][2] = {
        { 1, 0 }, { 2, 3 }, { 2, 4 }, { 5, 6 }, { 7, 5 }, { 7, 6 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(nested); i++) {
        if (nested[i][0] == all && nested[i][1] == some) {
            return true;
        }
    }
    return all < 0 || all == some;
}

/* Is choice 'i' of 'side', of which 'e' is one if it is not -1, in 'all'? */
static bool
is_held(const struct world *w, const struct world_selector *all,
        const struct world_selector *side, int i, int e, bool ever)
{
    struct some some = {
        w, &side->choices[i].in, side->choices[i].has_except
        ? &side->choices[i].except : NULL, e, ever,
    };

    for (int j = 0; j < all->n; j++) {
        int external = all->choices[j].external;

        if (external != side->choices[i].external) {
            continue;
        } else if (external >= 0
                   ? range_holds_range(all->choices[j].range,
                                       side->choices[i].range)
                   : choice_holds(&all->choices[j].in,
                                  all->choices[j].has_except
                                  ? &all->choices[j].except : NULL, &some)) {
            return true;
        }
    }
    return false;
}

static bool
side_holds(const struct world *w, const struct world_selector *all,
           const struct world_selector *side, int own, bool ever)
{
    for (int i = 0; i < side->n; i++) {
        const struct world_choice *in = &side->choices[i].in;
        int tenant = in->tenant < 0 ? own : in->tenant;

        if (side->choices[i].external >= 0 || !in->endpoints) {
            if (!is_held(w, all, side, i, -1, ever)) {
                return false;
            }
            continue;
        }
        for (int e = 0; e < w->n_endpoints; e++) {
            int whose = w->networks[w->endpoints[e].network].tenant;

            if (in->endpoints >> e & 1 && world_is_there(w, e)
                && (tenant == EVERY_TENANT || tenant == whose)
                && !is_held(w, all, side, i, e, ever)) {
                return false;
            }
        }
    }
    return true;
}

static bool
rule_holds(const struct world *w, const struct world_rule *all,
           const struct world_rule *some, bool ever)
{
    struct service a = service_of(w, all), b = service_of(w, some);
    int own = all->tenant;

    return (service_holds(&a, &b)
            && ((side_holds(w, &all->from, &some->from, own, ever)
                 && side_holds(w, &all->to, &some->to, own, ever))
                || (b.symmetric
                    && side_holds(w, &all->from, &some->to, own, ever)
                    && side_holds(w, &all->to, &some->from, own, ever))));
}

static bool
overrules(const struct world *w, const struct world_rule *a,
          const struct world_rule *b)
{
    int tenant = MAX(a->tenant, b->tenant);
    struct world_rule narrow = world_said_of(a, tenant);
    struct world_rule wide = world_said_of(b, tenant);

    if (tenant >= 0) {
        a = &narrow;
        b = &wide;
    }
    return (!(b->stateless && !a->stateless && !service_of(w, a).symmetric)
            && rule_holds(w, b, a, false) && !rule_holds(w, a, b, true));
}

static bool
sides_meet(unsigned int from_a, unsigned int to_a, unsigned int from_b,
           unsigned int to_b)
{
    unsigned int from = from_a & from_b, to = to_a & to_b;

    /* Not of an endpoint with itself alone. */
    return from && to && (from != to || (from & (from - 1)));
}

static bool
ranges_meet(const struct world_selector *a, const struct world_selector *b)
{
    for (int i = 0; i < a->n; i++) {
        for (int j = 0; j < b->n; j++) {
            int x = a->choices[i].range, y = b->choices[j].range;

            if (a->choices[i].external >= 0
                && a->choices[i].external == b->choices[j].external
                && (y < 0 || range_holds_range(x, y)
                    || range_holds_range(y, x))) {
                return true;
            }
        }
    }
    return false;
}

static bool
rules_meet(const struct world *w, const struct world_rule *a,
           const struct world_rule *b)
{
    struct service s = service_of(w, a), t = service_of(w, b);
    unsigned int from_a = world_selected(w, a, true);
    unsigned int from_b = world_selected(w, b, true);
    unsigned int to_a = world_selected(w, a, false);
    unsigned int to_b = world_selected(w, b, false);

    return (services_meet(&s, &t)
            && (sides_meet(from_a, to_a, from_b, to_b)
                || (from_a & from_b && ranges_meet(&a->to, &b->to))
                || (to_a & to_b && ranges_meet(&a->from, &b->from))
                || (has_symmetric(&s) && has_symmetric(&t)
                    && sides_meet(from_a, to_a, to_b, from_b))));
}

static int
replies(const struct world_rule *rule)
{
    return rule->reply_class == -2 ? rule->class : rule->reply_class;
}

/* Do both allow a packet, with different classes? */
static bool
contradict(const struct world *w, const struct world_rule *a,
           const struct world_rule *b)
{
    return (a != b && !a->left_out && !b->left_out && !a->deny && !b->deny
            && world_are_beside(a, b)
            && (a->class != b->class || replies(a) != replies(b))
            && rules_meet(w, a, b));
}

bool
world_is_contradicted(const struct world *w, const struct world_rule *rule)
{
    for (int i = 0; i < w->n_rules; i++) {
        if (contradict(w, rule, &w->rules[i])
            && !overrules(w, rule, &w->rules[i])
            && !overrules(w, &w->rules[i], rule)) {
            return true;
        }
    }
    return false;
}

int
world_depth(const struct world *w, const struct world_rule *rule)
{
    int depth = 0;

    for (int i = 0; i < w->n_rules; i++) {
        if (contradict(w, rule, &w->rules[i])
            && overrules(w, rule, &w->rules[i])) {
            depth = MAX(depth, world_depth(w, &w->rules[i]) + 1);
        }
    }
    return depth;
}
