/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/region.h"

#include <netinet/in.h>
#include <string.h>

#include "packets.h"
#include "sema/meaning-endpoint.h"
#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"
#include "verify/proof.h"
#include "verify/round.h"
#include "verify/scope.h"

/* A packet that can meet nothing which has changed. */
struct witness_packet {
    struct entry *entry;        /* NULL: there is none. */
    dd_t set;
};

struct search {
    struct proof *proof;
    const struct region *region;
    struct side *side;
    comers_vec *flows;          /* By flow that has changed. */
    dd_t *rules;                /* By rule: by its service and receivers. */
    dd_t *sets;                 /* By entry: what is asked. */
    dd_t all;                   /* All that is run. */
    struct witness_packet *witnesses;   /* By tenant. */
};

bool
region_rule_names(const struct region_rule *rule,
                  const struct policy_endpoint *e)
{
    size_t low = 0, high = rule->endpoints.n;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(rule->endpoints.v[middle], e->name);

        if (!order) {
            return true;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return false;
}

/* The packets of which 'port' is the service's. */
static dd_t
has_port(struct space *space, const struct service_match *m, enum field proto,
         enum field port)
{
    dd_t set = space_is(space, proto, m->protocol);

    return (!m->ports.last ? set
            : dd_and(space->dd, set, space_range(space, port, m->ports.first,
                                                 m->ports.last)));
}

/* All packets of which a rule for the service may speak: by the track, other
 * fields tell what opened their connection (expect-route.c). */
static dd_t
find_service(struct judge *j, const struct region_rule *rule)
{
    static const struct {
        enum track first, last;
        enum field proto, port;
        int whole;              /* 1: of fragments not; 0: of them, and of
                                 * ICMP; -1: of all. */
    } told[] = {
        { TRACK_NEW, TRACK_FORWARD, F_NW_PROTO, F_TP_DST, 1 },
        { TRACK_REPLY, TRACK_REPLY, F_NW_PROTO, F_TP_SRC, 1 },
        { TRACK_NEW, TRACK_REPLY, F_NW_PROTO, F_OPEN_DST, 0 },
        { TRACK_RELATED, TRACK_RELATED, F_OPEN_PROTO, F_OPEN_DST, -1 },
    };
    struct space *space = j->space;
    dd_t set = rule->matches.n ? DD_NONE : DD_ALL, kinds[2];

    kinds[1] = space_is(space, F_NW_FRAG, 0);
    kinds[0] = dd_or(space->dd, dd_not(space->dd, kinds[1]), dd_or(
        space->dd, space_is(space, F_NW_PROTO, IPPROTO_ICMP),
        space_is(space, F_NW_PROTO, IPPROTO_ICMPV6)));

    for (size_t i = 0; i < rule->matches.n; i++) {
        const struct service_match *m = &rule->matches.v[i];

        for (size_t k = 0; k < ARRAY_SIZE(told); k++) {
            dd_t those = dd_and(space->dd, has_port(
                space, m, told[k].proto, told[k].port), space_range(
                space, F_CONN1, told[k].first, told[k].last));

            set = dd_or(space->dd, set, told[k].whole < 0 ? those
                        : dd_and(space->dd, those, kinds[told[k].whole]));
        }
        set = dd_or(space->dd, set, dd_and(
            space->dd, has_port(space, m, F_NW_PROTO, F_TP_DST),
            is_for_symmetric(j, F_NW_PROTO, F_TP_DST)));
    }
    return set;
}

/* Those, to one of the rule's endpoints: of others it does not speak. */
static dd_t
find_rule(const struct search *s, const struct region_rule *rule)
{
    const struct policy *policy = s->proof->task->policy;
    struct dd *dd = s->side->space.dd;
    dd_t to = DD_NONE;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t k = 0; k < tenant->endpoints.n; k++) {
            if (region_rule_names(rule, tenant->endpoints.v[k])) {
                to = dd_or(dd, to, is_to(&s->side->judge,
                                         tenant->endpoints.v[k]));
            }
        }
    }
    return dd_and(dd, to, find_service(&s->side->judge, rule));
}

/* What is asked of the packets that come by 'entry'. */
static dd_t
find_set(const struct search *s, const struct entry *entry)
{
    struct space *space = &s->side->space;
    dd_t set = DD_NONE;

    for (size_t i = 0; i < s->region->n_flows; i++) {
        set = dd_or(space->dd, set, origin_by_port(
            &s->flows[i], entry->ingress.port, space));
    }
    for (size_t i = 0; i < s->region->n_rules; i++) {
        if (region_rule_names(&s->region->rules[i], entry->endpoint)) {
            set = dd_or(space->dd, set, s->rules[i]);
        }
    }
    return set;
}

static void
find_sets(struct search *s)
{
    const struct region *r = s->region;
    struct proof *p = s->proof;

    s->flows = arena_zalloc(p->arena, (r->n_flows + 1) * sizeof *s->flows);
    s->rules = arena_zalloc(p->arena, (r->n_rules + 1) * sizeof *s->rules);
    s->sets = arena_zalloc(p->arena, (p->entries.n + 1) * sizeof *s->sets);
    for (size_t i = 0; i < r->n_flows; i++) {
        origins_find(r->origins, r->flows[i], &s->side->space, p->arena,
                     &s->flows[i]);
    }
    for (size_t i = 0; i < r->n_rules; i++) {
        s->rules[i] = find_rule(s, &r->rules[i]);
    }
    s->all = DD_NONE;
    for (size_t i = 0; i < p->entries.n; i++) {
        s->sets[i] = (p->entries.v[i].asked
                      ? find_set(s, &p->entries.v[i]) : DD_NONE);
        s->all = dd_or(s->side->space.dd, s->all, s->sets[i]);
    }
}

static bool
holds_port(const struct policy_service *service, uint8_t protocol,
           uint16_t port)
{
    for (size_t i = 0; service && i < service->matches.n; i++) {
        const struct service_match *m = &service->matches.v[i];

        if (m->protocol == protocol && m->ports.first <= port
            && port <= m->ports.last) {
            return true;
        }
    }
    return !service;
}

/* Could what 'rule' allows between these be denied by another? */
static bool
may_be_denied(const struct policy *policy, const struct policy_endpoint *from,
              const struct policy_endpoint *to, uint8_t protocol,
              uint16_t port)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule_kind_denies(rule->kind)
            && endpoint_is_in(from, &rule->from)
            && endpoint_is_in(to, &rule->to)
            && holds_port(rule->service, protocol, port)) {
            return true;
        }
    }
    return false;
}

/* What 'from' sends to open a connection with 'to', by the rule's service. */
static dd_t
opens(struct judge *j, const struct policy_rule *rule,
      const struct policy_endpoint *from, const struct policy_endpoint *to)
{
    const struct service_match *m = &rule->service->matches.v[0];
    struct dd *dd = j->space->dd;
    dd_t set = dd_and(dd, is_from(j, from), is_to(j, to));

    set = dd_and(dd, set, space_is(j->space, F_VLAN_TCI, 0));
    set = dd_and(dd, set, is_mac(j, F_ETH_SRC, from->intent->mac));
    set = dd_and(dd, set, is_mac(j, F_ETH_DST, to->intent->mac));
    set = dd_and(dd, set, space_is(j->space, F_CONN1, TRACK_NEW));
    set = dd_and(dd, set, space_is(j->space, F_NW_FRAG, 0));
    set = dd_and(dd, set, space_is(j->space, F_NW_PROTO, m->protocol));
    set = dd_and(dd, set, space_is(j->space, F_TP_SRC, UINT16_MAX));
    set = dd_and(dd, set, space_is(j->space, F_OPEN_SRC, 0));
    set = dd_and(dd, set, space_is(j->space, F_OPEN_DST, 0));
    return dd_and(dd, set, space_is(j->space, F_TP_DST, m->ports.first));
}

static size_t
find_entry(const struct proof *p, const struct policy_endpoint *e)
{
    size_t i = 0;

    while (i < p->entries.n && p->entries.v[i].endpoint != e) {
        i++;
    }
    return i;
}

/* Takes what the rule lets one of 'from' send to one of 'to'. */
static bool
try_pair(struct search *s, const struct policy_rule *rule,
         const struct policy_endpoint *from, const struct policy_endpoint *to,
         struct witness_packet *witness)
{
    const struct service_match *m = &rule->service->matches.v[0];
    struct proof *p = s->proof;
    size_t i = find_entry(p, from);
    dd_t set;

    if (from == to || i == p->entries.n || from->network != to->network
        || find_entry(p, to) == p->entries.n
        || may_be_denied(p->task->policy, from, to, m->protocol,
                         m->ports.first)) {
        return false;
    }
    set = opens(&s->side->judge, rule, from, to);
    if (set == DD_NONE
        || dd_and(s->side->space.dd, set, s->sets[i]) != DD_NONE) {
        return false;
    }
    *witness = (struct witness_packet) { &p->entries.v[i], set };
    return true;
}

static bool
try_rule(struct search *s, const struct policy_rule *rule,
         const struct policy_tenant *tenant, struct witness_packet *witness)
{
    if (rule->tenant != tenant || rule_kind_denies(rule->kind)
        || rule->stateless || !rule->service || rule->service->symmetric
        || !rule->service->matches.v[0].ports.last) {
        return false;
    }
    for (size_t i = 0; i < rule->from.n; i++) {
        for (size_t k = 0; k < rule->to.n && k < 2; k++) {
            if (try_pair(s, rule, rule->from.v[i], rule->to.v[k], witness)) {
                return true;
            }
        }
    }
    return false;
}

/* Finds a witness for each tenant that packets are asked about of.  Returns
 * false if one has none. */
static bool
find_witnesses(struct search *s)
{
    struct proof *p = s->proof;
    const struct policy *policy = p->task->policy;

    s->witnesses = arena_zalloc(p->arena, (policy->tenants.n + 1)
                                * sizeof *s->witnesses);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        struct witness_packet *w = &s->witnesses[i];

        for (size_t k = 0; k < policy->rules.n && !w->entry; k++) {
            try_rule(s, policy->rules.v[k], policy->tenants.v[i], w);
        }
        s->all = w->entry ? dd_or(s->side->space.dd, s->all, w->set) : s->all;
    }
    for (size_t i = 0; i < p->entries.n; i++) {
        if (s->sets[i] != DD_NONE && !s->witnesses[scope_number(
                policy, p->entries.v[i].endpoint->tenant)].entry) {
            return false;
        }
    }
    return true;
}

/* Runs what is asked of 'entry'. */
static bool
run(struct search *s, struct entry *entry, dd_t set)
{
    entry->within = set;
    proof_run(s->proof, entry);
    entry->effects = dd_cut(s->side->space.dd, set, entry->effects);
    return !s->proof->result->unproved;
}

/* Finds what tenants use, by their witnesses. */
static bool
ask_witnesses(struct search *s)
{
    struct proof *p = s->proof;
    size_t n = p->task->policy->tenants.n;

    for (size_t i = 0; i < n; i++) {
        struct witness_packet *w = &s->witnesses[i];

        if (w->entry) {
            if (!run(s, w->entry, w->set)) {
                return false;
            }
            proof_vote(p, w->entry, false);
        }
        p->marks[i] = round_find_mark(p, i);
        if (w->entry && !round_is_known(p, p->task->policy->tenants.v[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct witness_packet *w = &s->witnesses[i];

        if (w->entry && (!run(s, w->entry, w->set)
                         || !proof_compare(p, w->entry, true))) {
            return false;
        }
    }
    return true;
}

static bool
ask_sets(struct search *s)
{
    struct proof *p = s->proof;
    bool same = true;

    for (size_t i = 0; i < p->entries.n && same; i++) {
        struct entry *entry = &p->entries.v[i];

        same = (s->sets[i] == DD_NONE
                || (!proof_is_late(p) && run(s, entry, s->sets[i])
                    && proof_compare(p, entry, true)));
    }
    return same;
}

bool
region_is_simple(const struct proof *p)
{
    for (size_t i = 0; i < p->entries.n; i++) {
        const struct policy_endpoint *e = p->entries.v[i].endpoint;

        if (!e || e->network->intent->groups.n) {
            return false;
        }
    }
    return true;
}

/* Lets only that be run that is asked. */
static void
limit(struct search *s)
{
    struct proof *p = s->proof;
    const struct ingress **from = arena_zalloc(
        p->arena, (p->entries.n + p->task->policy->tenants.n + 1)
        * sizeof *from);
    size_t n = 0;

    for (size_t i = 0; i < p->entries.n; i++) {
        if (s->sets[i] != DD_NONE) {
            from[n++] = &p->entries.v[i].ingress;
        }
    }
    for (size_t i = 0; i < p->task->policy->tenants.n; i++) {
        if (s->witnesses[i].entry) {
            from[n++] = &s->witnesses[i].entry->ingress;
        }
    }
    exec_within(s->side->exec, s->all, from, n);
    s->side->judge.within = s->all;
}

bool
region_prove(struct proof *p, const struct region *region)
{
    struct search s = { .proof = p, .region = region };
    size_t n_known;

    if (!region_is_simple(p)) {
        return false;
    }
    s.side = proof_side(p, LAYOUT_WHOLE);
    find_sets(&s);
    if (dd_is_refused(s.side->space.dd)) {
        return false;           /* What is in no set may be in one. */
    } else if (s.all == DD_NONE) {
        return true;
    }
    if (!find_witnesses(&s)) {
        return false;
    }
    limit(&s);
    if (!ask_witnesses(&s)) {
        return false;
    }
    n_known = hmap_count(&p->comparison.usages);
    return (ask_sets(&s) && proof_is_fine(p) && !p->comparison.disputed
            && hmap_count(&p->comparison.usages) == n_known);
}
