/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/contract-policy.h"

#include <stdlib.h>

#include "openvswitch/ofp-actions.h"
#include "packets.h"
#include "util.h"

/* POLICY as a whole: does it decide what the rules say, of all packets between
 * two groups one of which has an endpoint here, also of those that no table
 * before it lets through?  Of what an endpoint sends to itself, and of numbers
 * that are nobody's, nothing is asked: SELF and those that note numbers must
 * keep them away. */

enum { OP_DIFFERS = DD_OP_USER, MAX_REPORTS = 20 };

static void
add_side(struct policy_space *s, const struct policy_endpoint *e,
         size_t first)
{
    struct contract *c = s->contract;
    uint64_t tenant, group;
    struct side_of_policy *side;

    if (!note_value(c, NOTE_TENANT, e->tenant, &tenant)
        || !note_value(c, NOTE_GROUP, e, &group)) {
        return;
    }
    for (size_t i = first; i < s->sides.n; i++) {
        if (s->sides.v[i].group == group) {
            s->sides.v[i].many = true;
            s->sides.v[i].here |= endpoint_is_at(c, e);
            s->of_endpoints[e->index] = i + 1;
            return;
        }
    }
    side = vec_push(c->arena, &s->sides);
    side->name = e->name;
    side->tenant = tenant;
    side->group = group;
    side->here = endpoint_is_at(c, e);
    s->of_endpoints[e->index] = s->sides.n;
}

static void
add_part(struct policy_space *s, const struct policy_external *external,
         uint32_t number, const struct flow_address *a)
{
    struct side_of_policy *side;
    uint64_t tenant;

    note_value(s->contract, NOTE_TENANT, external, &tenant);
    for (size_t i = s->n_own; i < s->sides.n; i++) {
        if (s->sides.v[i].tenant == tenant && s->sides.v[i].group == number) {
            return;
        }
    }
    side = vec_push(s->contract->arena, &s->sides);
    *side = (struct side_of_policy) {
        .name = arena_printf(s->contract->arena, "external:%s",
                             external->name),
        .external = external, .prefix = address_prefix(a),
        .tenant = tenant, .group = number,
    };
}

/* The parts of externals are what SPOOF and GATEWAY take their addresses
 * for. */
static void
add_parts(struct policy_space *s)
{
    struct contract *c = s->contract;
    const flow_vec *flows = &c->task->tables->flows;

    for (size_t i = 0; i < flows->n; i++) {
        const struct table_flow *flow = flows->v[i];
        bool from = flow->table == TABLE_SPOOF;
        const struct policy_attachment *at = NULL;
        struct flow_address a;
        struct deed deed;
        u128 port, number;

        if (!from && flow->table != TABLE_GATEWAY) {
            continue;
        }
        deed_read(c, flow->ofpacts, ofpact_end(flow->ofpacts,
                                               flow->ofpacts_len), &deed);
        if ((from ? flow_matches(flow, F_REG1, &port)
             : deed_sets(&deed, F_REG3, &port))
            && !note_endpoint(c, port, &at) && at
            && deed_sets(&deed, from ? F_REG12 : F_REG14, &number)
            && (from ? flow_source(flow, &a) : flow_destination(flow, &a))) {
            add_part(s, at->external, number, &a);
        }
    }
}

dd_t
policy_sides(struct policy_space *s, enum policy_digit digit, uint32_t first,
             uint32_t end)
{
    if (digit == P_FROM) {
        first = MAX(first, s->first);
        end = MIN(end, s->end);
    }
    return first < end ? dd_range(s->dd, digit, first, end - 1) : DD_NONE;
}

static dd_t
are_here(struct policy_space *s, enum policy_digit digit)
{
    VEC(dd_t) runs = VEC_INIT;

    for (size_t i = 0, end; i < s->sides.n; i = end + 1) {
        for (end = i; end < s->sides.n && s->sides.v[end].here; end++) {
            continue;
        }
        if (end > i) {
            *vec_push(s->arena, &runs) = policy_sides(s, digit, i, end);
        }
    }
    return runs.n ? dd_over_all(s->dd, runs.v, runs.n) : DD_NONE;
}

/* Those of a tenant are side by side. */
static void
add_sides(struct policy_space *s)
{
    const struct policy *policy = s->contract->task->policy;
    size_t n = policy_n_endpoints(policy);

    s->of_endpoints = arena_zalloc(s->contract->arena,
                                   (n + 1) * sizeof *s->of_endpoints);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        size_t first = s->sides.n;

        for (size_t k = 0; k < tenant->endpoints.n; k++) {
            if (tenant->endpoints.v[k]->bound) {
                add_side(s, tenant->endpoints.v[k], first);
            }
        }
    }
    s->n_own = s->sides.n;
    add_parts(s);
}

static int
compare_decisions(const void *a_, const void *b_)
{
    const struct decision *a = a_, *b = b_;

    return (a->weakness != b->weakness
            ? (a->weakness < b->weakness ? -1 : 1)
            : a->flow && b->flow && a->flow->order != b->flow->order
            ? (a->flow->order < b->flow->order ? -1 : 1) : 0);
}

/* What decisions come to: leaves are numbers of outcomes. */
static dd_t
decide(struct policy_space *s, struct pool *outcomes, decision_vec *v)
{
    const struct outcome denied = { .allow = false };
    dd_t all = DD_NONE, *level = xmalloc((v->n + 1) * sizeof *level);

    if (v->n) {
        qsort(v->v, v->n, sizeof *v->v, compare_decisions);
    }
    for (size_t i = 0, n; i < v->n; i += n) {
        for (n = 0; i + n < v->n
             && v->v[i + n].weakness == v->v[i].weakness; n++) {
            const struct decision *d = &v->v[i + n];

            level[n] = dd_cut(s->dd, d->set, DD_LEAF(
                pool_add(outcomes, &d->outcome, sizeof d->outcome) + 1));
        }
        all = dd_over(s->dd, all, dd_over_all(s->dd, level, n));
    }
    free(level);
    return dd_over(s->dd, all, DD_LEAF(pool_add(outcomes, &denied,
                                                sizeof denied) + 1));
}

static dd_t
leaf_differs(void *aux OVS_UNUSED, dd_t a, dd_t b)
{
    return a == b ? DD_NONE : DD_ALL;
}

/* What comes to POLICY of the packets of 'set'. */
static dd_t
cut_to_possible(struct policy_space *s, dd_t set)
{
    struct dd *dd = s->dd;
    dd_t tracked = dd_range(dd, P_KIND, 0, SERVICE_KIND_UNTRACKED - 1);
    dd_t untracked;

    set = dd_and(dd, set, policy_sides(s, P_FROM, 0, s->sides.n));
    set = dd_and(dd, set, policy_sides(s, P_TO, 0, s->sides.n));
    set = dd_and(dd, set, dd_or(dd, s->here[0], s->here[1]));
    for (size_t i = s->first; i < s->end && set != DD_NONE; i++) {
        if (!s->sides.v[i].many) {
            set = dd_and(dd, set, dd_not(dd, policy_within(s, i)));
        }
    }
    untracked = dd_and(dd, set, dd_range(dd, P_KIND, SERVICE_KIND_UNTRACKED,
                                         SERVICE_KIND_UNTRACKED));
    for (int i = P_SERVICE_IP6; i <= P_SERVICE_PORT; i++) {
        untracked = dd_and(dd, untracked, dd_range(dd, i, 0, 0));
    }
    return dd_or(dd, dd_and(dd, set, tracked), untracked);
}

static const struct decision *
strongest(const struct policy_space *s, const decision_vec *v,
          const u128 digits[])
{
    for (size_t i = 0; i < v->n; i++) {
        if (dd_eval(s->dd, v->v[i].set, digits) != DD_NONE) {
            return &v->v[i];
        }
    }
    return NULL;
}

static const char *
outcome_words(const struct contract *c, const struct outcome *o)
{
    static const char *const payers[] = {
        "", ", at the cost of the opener's tenant",
        ", at the cost of the other's",
    };

    return (!o || !o->allow ? "dropped"
            : arena_printf(c->arena, "allowed with DSCP %u and queue %u%s",
                           o->class & 0xff, o->class >> 8,
                           payers[o->payer]));
}

enum { N_SAMPLE = 9 };

static void
set_sample(const struct policy_space *s, const u128 d[],
           struct condition v[N_SAMPLE])
{
    const struct side_of_policy *from = &s->sides.v[d[P_FROM]];
    const struct side_of_policy *to = &s->sides.v[d[P_TO]];
    bool own = d[P_KIND] == SERVICE_KIND_UNTRACKED;
    bool ip6 = d[own ? P_IP6 : P_SERVICE_IP6];

    v[0] = (struct condition) { .field = F_REG11, .value = from->tenant };
    v[1] = (struct condition) { .field = F_REG12, .value = from->group };
    v[2] = (struct condition) { .field = F_REG13, .value = to->tenant };
    v[3] = (struct condition) { .field = F_REG14, .value = to->group };
    v[4] = (struct condition) {
        .field = F_REG8,
        .value = (service_kind_bits[d[P_KIND]] << 28 | d[P_SERVICE_IP6] << 24
                  | d[P_SERVICE_PROTO] << 16 | d[P_SERVICE_PORT]),
    };
    v[5] = (struct condition) {
        .field = F_ETH_TYPE, .value = ip6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP,
    };
    v[6] = (struct condition) { .field = F_NW_PROTO, .value = d[P_PROTO] };
    v[7] = (struct condition) { .field = F_TP_SRC, .value = d[P_SRC] };
    v[8] = (struct condition) { .field = F_TP_DST, .value = d[P_DST] };
}

/* What is wrong about one packet, and what else is so for the same reason. */
struct finding {
    struct policy_space *space;
    const struct decision *flow, *rule;
};

static bool
report(void *finding_, dd_t leaf OVS_UNUSED, const u128 digits[])
{
    struct finding *f = finding_;
    struct policy_space *s = f->space;
    struct contract *c = s->contract;
    struct condition sample[N_SAMPLE];
    struct verify_difference *d;
    bool own = digits[P_KIND] == SERVICE_KIND_UNTRACKED;

    f->flow = strongest(s, &s->flows, digits);
    f->rule = strongest(s, &s->rules, digits);
    if (!f->flow) {
        return true;
    }
    c->flow = f->flow->flow;
    c->wrong = arena_printf(
        c->arena, "it decides otherwise than the rules between %s and %s",
        s->sides.v[digits[P_FROM]].name,
        s->sides.v[digits[P_TO]].name);
    c->meant = arena_printf(c->arena, "%s %s%s", outcome_words(
        c, f->rule ? &f->rule->outcome : NULL), f->rule ? "by " : "as no "
        "rule says else", f->rule ? f->rule->rule->name : "");
    c->at = NULL;
    set_sample(s, digits, sample);
    d = contract_report(c, sample, own ? N_SAMPLE : N_SAMPLE - 3);
    if (d) {
        d->rule = f->rule ? f->rule->rule : NULL;
        d->found = arena_strdup(c->proof->arena,
                                outcome_words(c, &f->flow->outcome));
    }
    return true;
}

/* Each flow, and each rule, is named once. */
static void
report_all(struct policy_space *s, dd_t wrong)
{
    struct finding f = { .space = s };

    for (int i = 0; i < MAX_REPORTS && wrong != DD_NONE; i++) {
        dd_leaves(s->dd, wrong, report, &f);
        if (!f.flow) {
            return;
        }
        wrong = dd_and(s->dd, wrong, dd_not(
            s->dd, f.flow->flow->priority || !f.rule ? f.flow->set
            : f.rule->set));
    }
}

static void
ask_openers(struct policy_space *s)
{
    const struct dd_op differs = {
        leaf_differs, NULL, NULL, false, false, OP_DIFFERS,
    };
    struct pool outcomes;
    dd_t wrong;

    s->arena = arena_create();
    s->flows = s->rules = (decision_vec) VEC_INIT;
    pool_init(&outcomes);
    s->here[0] = are_here(s, P_FROM);
    s->here[1] = are_here(s, P_TO);
    policy_add_flows(s);
    policy_add_rules(s);
    wrong = dd_apply(s->dd, &differs, decide(s, &outcomes, &s->flows),
                     decide(s, &outcomes, &s->rules));
    wrong = cut_to_possible(s, wrong);
    if (dd_is_refused(s->dd)) {
        s->contract->proof->result->unproved = "POLICY scatters over too many "
                                               "ranges to ask what it does";
    } else {
        report_all(s, wrong);
    }
    pool_destroy(&outcomes);
    arena_destroy(s->arena);
    dd_clear(s->dd);
}

void
ask_policy(struct contract *c)
{
    static const uint8_t widths[N_POLICY_DIGITS] = {
        [P_FROM] = 20, [P_TO] = 20, [P_KIND] = 2, [P_SERVICE_IP6] = 1,
        [P_SERVICE_PROTO] = 8, [P_SERVICE_PORT] = 16, [P_IP6] = 1,
        [P_PROTO] = 8, [P_SRC] = 16, [P_DST] = 16,
    };
    struct policy_space s = {
        .contract = c, .dd = dd_create(widths, N_POLICY_DIGITS),
        .conjunctions = HMAP_INITIALIZER(&s.conjunctions),
    };

    add_sides(&s);
    policy_find_flows(&s);
    policy_find_rules(&s);
    for (; s.first < s.sides.n && !c->proof->result->unproved;
         s.first = s.end) {
        for (s.end = s.first + 1; s.end < s.sides.n
             && s.sides.v[s.end].tenant == s.sides.v[s.first].tenant;
             s.end++) {
            continue;
        }
        ask_openers(&s);
    }
    hmap_destroy(&s.conjunctions);
    dd_destroy(s.dd);
}
