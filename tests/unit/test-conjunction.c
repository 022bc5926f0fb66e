/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "backend/openflow/conjunction.h"
#include "backend/openflow/pipeline.h"
#include "classifier.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofpbuf.h"
#include "random.h"
#include "sema/ident.h"
#include "unit.h"
#include "util.h"

/* Random policies of two tenants: Open vSwitch's own classifier, with the
 * flows of the POLICY table, must decide as each rule does that is looked at
 * by itself, for every pair of endpoints and every service. */

/* The number in the name of a register. */
#define REG(NAME) (atoi((NAME) + strlen("reg")))

enum { N_WORLDS = 150 };

struct table {
    struct classifier cls;
    VEC(struct table_rule *) rules;
};

struct table_rule {
    struct cls_rule cls_rule;
    const struct plan_flow *flow;
};

/* What a packet is judged by; see REG_SERVICE. */
struct judged {
    const struct ir_endpoint *from, *to;
    bool stateless, ip6;
    uint8_t protocol;
    uint16_t port;
};

static size_t n_conjunctions, n_plain, n_most;

static size_t
conjunctions_of(struct unit *u, const struct ofputil_flow_mod *fm,
                struct cls_conjunction **out)
{
    VEC(struct cls_conjunction) all = VEC_INIT;
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, fm->ofpacts, fm->ofpacts_len) {
        if (a->type == OFPACT_CONJUNCTION) {
            const struct ofpact_conjunction *c = ofpact_get_CONJUNCTION(a);

            *vec_push(u->arena, &all) = (struct cls_conjunction) {
                .id = c->id, .clause = c->clause, .n_clauses = c->n_clauses,
            };
        }
    }
    *out = all.v;
    n_most = MAX(n_most, all.n);
    return all.n;
}

static void
insert(struct unit *u, struct table *t, const struct plan_flow *flow)
{
    struct table_rule *rule = arena_zalloc(u->arena, sizeof *rule);
    const char *text = plan_flow_string(&u->plan, flow);
    enum ofputil_protocol usable;
    struct cls_conjunction *conj;
    struct ofputil_flow_mod fm;
    char *error = parse_ofp_str(&fm, OFPFC_ADD, text, NULL, NULL, &usable);

    ck_assert_msg(!error, "%s: %s", text, error);

    /* Its actions fit into a message. */
    struct ofpbuf *msg = ofputil_encode_flow_mod(&fm,
                                                 OFPUTIL_P_OF14_OXM);
    ck_assert_uint_lt(msg->size, UINT16_MAX);
    ofpbuf_delete(msg);

    size_t n = conjunctions_of(u, &fm, &conj);
    rule->flow = flow;
    cls_rule_init_from_minimatch(&rule->cls_rule, &fm.match, flow->priority);
    ck_assert_msg(!classifier_replace(&t->cls, &rule->cls_rule,
                                      OVS_VERSION_MIN, conj, n),
                  "this match stands twice: %s", text);
    n_conjunctions += !strncmp(flow->match, "conj_id=", 8);
    n_plain += flow->priority && !n && strncmp(flow->match, "conj_id=", 8);
    *vec_push(u->arena, &t->rules) = rule;
    minimatch_destroy(&fm.match);
    free(fm.ofpacts);
}

static void
table_init(struct unit *u, struct table *t, enum of_table table)
{
    memset(t, 0, sizeof *t);
    classifier_init(&t->cls, NULL);
    for (size_t i = 0; i < u->plan.flows.n; i++) {
        if (u->plan.flows.v[i].table == table) {
            insert(u, t, &u->plan.flows.v[i]);
        }
    }
}

static void
table_destroy(struct table *t)
{
    for (size_t i = 0; i < t->rules.n; i++) {
        classifier_remove_assert(&t->cls, &t->rules.v[i]->cls_rule);
        cls_rule_destroy(&t->rules.v[i]->cls_rule);
    }
    classifier_destroy(&t->cls);
}

static const struct plan_flow *
look_up_flow(struct table *t, struct flow *flow)
{
    const struct cls_rule *rule = classifier_lookup(&t->cls, OVS_VERSION_MIN,
                                                    flow, NULL);

    return CONTAINER_OF(rule, struct table_rule, cls_rule)->flow;
}

static const struct plan_flow *
look_up(struct table *t, const struct judged *j)
{
    struct flow flow = { .regs = { 0 } };

    flow.regs[REG(REG_FROM_TENANT)] = j->from->tenant->number;
    flow.regs[REG(REG_FROM)] = j->from->group->number;
    flow.regs[REG(REG_TO_TENANT)] = j->to->tenant->number;
    flow.regs[REG(REG_TO)] = j->to->group->number;
    flow.regs[REG(REG_SERVICE)]
        = ((j->stateless ? SERVICE_STATELESS : SERVICE_TRACKED)
           | (j->ip6 && !j->stateless ? SERVICE_IPV6 : 0)
           | SERVICE_PROTOCOL(j->protocol) | j->port);
    return look_up_flow(t, &flow);
}

static bool
side_has(const struct ir_side *side, const struct ir_endpoint *e)
{
    for (size_t i = 0; i < side->endpoints.n; i++) {
        if (side->endpoints.v[i] == e) {
            return true;
        }
    }
    return false;
}

static bool
service_has(const struct ir_service *service, const struct judged *j)
{
    for (size_t i = 0; service && i < service->matches.n; i++) {
        const struct ir_match *m = &service->matches.v[i];

        if (m->protocol == j->protocol
            && (m->last
                ? j->port >= m->first && j->port <= m->last
                : (m->protocol == IPPROTO_ICMPV6) == j->ip6)) {
            return true;
        }
    }
    return !service;
}

static bool
rule_matches(const struct ir_rule *rule, const struct judged *j)
{
    if (!service_has(rule->service, j)) {
        return false;
    }
    return ((side_has(&rule->from, j->from) && side_has(&rule->to, j->to))
            || (j->stateless && side_has(&rule->from, j->to)
                && side_has(&rule->to, j->from)));
}

/* Peerings are as strong as a tenant's own rules. */
static int
strength(enum rule_kind kind)
{
    return kind == RULE_DENY ? 3 : kind == RULE_DEFAULT ? 1 : 2;
}

static void
assert_judgement(struct unit *u, const struct judged *j,
                 const struct plan_flow *flow, unsigned int seed)
{
    const struct ir_rule *decided = NULL;
    int best = 0;

    for (size_t i = 0; i < u->prog->rules.n; i++) {
        const struct ir_rule *rule = u->prog->rules.v[i];

        if (rule_matches(rule, j)) {
            best = MAX(best, strength(rule->kind));
            if (flow->cookie == (COOKIE_MARK | rule->id)) {
                decided = rule;
            }
        }
    }

    const struct ir_class *class = decided ? decided->class : NULL;
    bool allows = decided && decided->kind != RULE_DENY;
    const char *actions
        = !allows ? "drop"
          : class ? arena_printf(u->arena, "set_field:%#x->"REG_CLASS
                                 ",goto_table:%d",
                                 CLASS_VALUE(class->dscp, class->queue),
                                 TABLE_COMMIT)
          : arena_printf(u->arena, "goto_table:%d", TABLE_COMMIT);
    ck_assert_msg((decided ? strength(decided->kind) == best
                   : !best && flow->cookie == (COOKIE_MARK | REASON_DEFAULT))
                  && !strcmp(flow->actions, actions),
                  "seed %u: %s -> %s, protocol %d, port %d%s%s: %s", seed,
                  j->from->name, j->to->name, j->protocol,
                  j->port, j->stateless ? ", stateless" : "",
                  j->ip6 ? ", IPv6" : "", plan_flow_string(&u->plan, flow));
}

static void
assert_pair(struct unit *u, struct table *t, const struct ir_endpoint *from,
            const struct ir_endpoint *to, unsigned int seed)
{
    static const struct {
        uint8_t protocol;
        uint16_t port;
        bool stateless;
    } packets[] = {
        { IPPROTO_TCP, 22, false }, { IPPROTO_TCP, 80, false },
        { IPPROTO_TCP, 99, false }, { IPPROTO_TCP, 100, false },
        { IPPROTO_TCP, 131, false }, { IPPROTO_TCP, 150, false },
        { IPPROTO_TCP, 151, false }, { IPPROTO_UDP, 80, false },
        { IPPROTO_UDP, 4790, false }, { IPPROTO_UDP, 53, false },
        { IPPROTO_UDP, 4791, true }, { IPPROTO_ICMP, 0, false },
        { IPPROTO_ICMPV6, 1, false }, { IPPROTO_SCTP, 80, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
        for (int ip6 = 0; ip6 < 2; ip6++) {
            struct judged j = {
                from, to, packets[i].stateless, ip6, packets[i].protocol,
                packets[i].port,
            };

            assert_judgement(u, &j, look_up(t, &j), seed);
        }
    }
}

/* Returns false if the lot gave a policy that contradicts itself. */
static bool
try_world(unsigned int seed)
{
    struct table table;
    struct unit u;

    unit_init(&u);
    unit_resolve(&u, unit_lot(u.arena, seed));
    bool ok = u.policy != NULL;
    if (ok) {
        unit_build(&u, "n1");
        ck_assert_ptr_null(u.plan.conflict);
        table_init(&u, &table, TABLE_POLICY);
        for (size_t i = 0; i < u.prog->endpoints.n; i++) {
            for (size_t j = 0; j < u.prog->endpoints.n; j++) {
                if (i != j) {
                    assert_pair(&u, &table, u.prog->endpoints.v[i],
                                u.prog->endpoints.v[j], seed);
                }
            }
        }
        table_destroy(&table);
    } else {
        unit_complains(&u, "with another class");
    }
    unit_destroy(&u);
    return ok;
}

START_TEST(test_worlds)
{
    int n_ok = 0;

    n_conjunctions = n_plain = 0;
    for (unsigned int seed = 1; seed <= N_WORLDS; seed++) {
        n_ok += try_world(seed);
    }
    /* Both ways of lowering have been seen, often. */
    ck_assert_int_ge(n_ok, N_WORLDS / 2);
    ck_assert_uint_ge(n_conjunctions, N_WORLDS);
    ck_assert_uint_ge(n_plain, N_WORLDS);
}
END_TEST

/* More rules than one flow can carry conjunctions. */
START_TEST(test_room)
{
    enum { MOST = 4000 };       /* 64,000 bytes of 16 each. */
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct table table;
    struct unit u;

    unit_init(&u);
    for (int i = 0; i < MOST + 9; i++) {
        ds_put_format(&ds, "%s" RULE("r%d", LEFT, RIGHT,
                                     ", 'service': 'many'"),
                      i ? ", " : "", i);
    }
    unit_resolve(&u, arena_printf(
        u.arena, INTENT("'a': {'networks': {" NETWORK(1) "}, 'endpoints': {"
                        ENDPOINT("w", 1, 10, "left") ", "
                        ENDPOINT("x", 1, 11, "left") ", "
                        ENDPOINT("y", 1, 12, "right") ", "
                        ENDPOINT("z", 1, 13, "right") "}, 'rules': ["
                        RULE("w", "{'endpoint': 'w'}", RIGHT, "") ", "
                        RULE("y", LEFT, "{'endpoint': 'y'}", "") ", %s]}",
                        ", 'services': {'many': {'protocol': 'tcp', 'ports':"
                        "[1, 5, 11]}}"), ds_cstr(&ds)));
    ds_destroy(&ds);
    ck_assert_msg(u.policy, "%s", unit_diags(&u));
    unit_build(&u, "n1");
    n_most = 0;
    table_init(&u, &table, TABLE_POLICY);
    ck_assert_uint_eq(n_most, MOST);
    table_destroy(&table);
    unit_destroy(&u);
}
END_TEST

/* Rules of different classes that have nothing but the pair of an endpoint
 * with itself in common do not meet in the table either. */
START_TEST(test_self_pairs)
{
    static const char one[] = ENDPOINT("x", 1, 10, "left");
    static const char three[] =
        ENDPOINT("x", 1, 10, "left") ", " ENDPOINT("y", 1, 11, "right") ", "
        ENDPOINT("z", 1, 12, "other");
    static const char *const endpoints[] = { one, three };

    for (size_t i = 0; i < ARRAY_SIZE(endpoints); i++) {
        struct unit u;

        unit_init(&u);
        unit_resolve(&u, arena_printf(
            u.arena, INTENT("'a': {'networks': {" NETWORK(1) "}, 'endpoints':"
                            "{%s}, 'rules': ["
                            RULE("r", LEFT, LEFT, ", 'class': 'gold'") ", "
                            RULE("s", LEFT, "{}", "") "]}", ""),
            endpoints[i]));
        ck_assert_msg(u.policy, "%s", unit_diags(&u));
        unit_build(&u, "n1");
        ck_assert_msg(!u.plan.conflict, "%s", u.plan.conflict);
        for (size_t j = 0; j < u.plan.flows.n; j++) {
            ck_assert_uint_ne(u.plan.flows.v[j].cookie,
                              COOKIE_MARK | unit_rule(&u, "a/r")->id);
        }
        unit_destroy(&u);
    }
}
END_TEST

/* The flows of a guardrail to everybody look like the members of another's
 * conjunction: both must be there. */
START_TEST(test_everybody)
{
    struct unit u;

    unit_init(&u);
    unit_compile(&u, INTENT(
        TENANT("a", 1, "") ", " TENANT("b", 2, ""),
        ", 'services': {'many': {'protocol': 'tcp', 'ports': [1, 5, 11]}}"
        ", 'guardrails': {"
        "'every': {'from': {'tenant': 'a'}, 'to': {'tenant': '*'},"
        "          'service': 'many'},"
        "'some': {'from': {'tenant': '*', 'network': 'net'},"
        "         'to': {'tenant': '*', 'endpoint': 'x'},"
        "         'service': 'many'}}"), "n1");
    ck_assert_msg(!u.plan.conflict, "%s", u.plan.conflict);
    for (int i = 0; i < 2; i++) {
        const char *const names[] = { "guardrail:every", "guardrail:some" };
        uint64_t cookie = COOKIE_MARK | unit_rule(&u, names[i])->id;
        size_t n = 0;

        for (size_t j = 0; j < u.plan.flows.n; j++) {
            n += u.plan.flows.v[j].cookie == cookie;
        }
        ck_assert_uint_eq(n, i ? 1 : 3);
    }
    unit_destroy(&u);
}
END_TEST

START_TEST(test_self)
{
    struct table table;
    struct unit u;

    unit_init(&u);
    unit_compile(&u, INTENT(TENANT("a", 1, ""), ""), "n1");
    table_init(&u, &table, TABLE_SELF);
    for (int i = 0; i < 1000; i++) {
        uint32_t one = random_uint32();
        uint32_t other = one ^ (UINT32_C(1) << i % 32)
                         ^ (i < 64 ? 0 : random_uint32());
        struct flow flow = { .regs = { 0 } };

        flow.regs[REG(REG_SOURCE)] = one;
        flow.regs[REG(REG_DEST)] = other;
        ck_assert_int_eq(look_up_flow(&table, &flow)->priority,
                         one == other ? PRIORITY_MISS : PRIORITY_ALLOW);
        flow.regs[REG(REG_DEST)] = one;
        ck_assert_str_eq(look_up_flow(&table, &flow)->actions, "drop");
    }
    table_destroy(&table);
    unit_destroy(&u);
}
END_TEST

Suite *
conjunction_suite(void)
{
    Suite *suite = suite_create("conjunction");
    TCase *tc = unit_case(suite, "conjunction");

    tcase_add_test(tc, test_worlds);
    tcase_add_test(tc, test_room);
    tcase_add_test(tc, test_self_pairs);
    tcase_add_test(tc, test_self);
    tcase_add_test(tc, test_everybody);
    return suite;
}
