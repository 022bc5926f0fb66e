/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "backend/asap2/asap2.h"
#include "backend/openflow/openflow.h"
#include "offload/offload.h"
#include "unit.h"
#include "util.h"

/* What a NIC would hold of small intents.  Whether the megaflows are those of
 * a switch, tests/system/offload-test.sh asks one. */

#define NEED(CAP) (UINT64_C(1) << CAP_##CAP)

#define AT(NAME, N)                                                     \
    "'" NAME "': {'network': 'net', 'node': 'n1', 'interface': 'i" N    \
    "', 'mac': '02:00:00:00:00:0" N "', 'addresses': ['10.0.0." N "']}"
#define HOME(NAME, VNI, RATE, A, B, REST)                             \
    "'" NAME "': {'bandwidth': {'limit': '" RATE "', 'burst': '64KiB'}, " \
    "'networks': {'net': {'vni': " VNI ", "                             \
    "'subnets': ['10.0.0.0/24'], 'gateway': '10.0.0.1'}}, "             \
    "'endpoints': {" AT("a", A) ", " AT("b", B) "}" REST "}"
#define HALL(TENANTS)                                                 \
    "{'version': 1, 'fabric': {'nodes': {'n1': {'uplinks': {'up': {"     \
    "'interface': 'p0', 'rate': '10Gbps', 'burst': '64KiB'}}}}}, "      \
    "'classes': {'fast': {'dscp': 46, 'queue': 5}}, "                   \
    "'tenants': {" TENANTS "}}"
#define WITHIN(NAME, SERVICE)                                             \
    "{'name': '" NAME "', 'from': {'network': 'net'}, 'to': {'network': " \
    "'net'}, 'service': '" SERVICE "', 'class': 'fast'}"

static struct unit u;
static struct offload_report report;

static void
explain(const struct backend *backend, const char *text)
{
    const char *reason;

    unit_init(&u);
    unit_resolve(&u, text);
    ck_assert_msg(u.policy != NULL, "%s", unit_diags(&u));
    u.prog = ir_build(u.policy, "n1", u.arena);
    ck_assert_msg(backend_compile(backend, u.prog, u.arena, &u.diags,
                                  &u.plan), "%s", unit_diags(&u));
    reason = offload_explain(u.prog, &u.plan, &profile_connectx7, u.arena,
                             &report);
    ck_assert_msg(!reason, "%s", reason);
}

static const struct offload_rule *
find_rule(const char *name)
{
    for (size_t i = 0; i < report.rules.n; i++) {
        if (!strcmp(report.rules.v[i].name, name)) {
            return &report.rules.v[i];
        }
    }
    ck_abort_msg("no rule %s", name);
}

/* All that the paths of a rule need in the role. */
static cap_set
rule_needs(const struct offload_rule *r, enum offload_role role)
{
    cap_set needs = 0;

    for (size_t i = 0; i < r->paths.n; i++) {
        const struct offload_path *path = &r->paths.v[i];

        for (size_t j = 0; path->role == role && j < path->walk.megaflows.n;
             j++) {
            needs |= path->passes[j].needs;
        }
    }
    return needs;
}

/* How often 'layer' itself, without its bases, has 'cap'. */
static size_t
n_facts(const struct layer *layer, enum cap cap)
{
    size_t n = 0;

    for (size_t i = 0; i < layer->n_facts; i++) {
        n += layer->facts[i].cap == cap;
    }
    return n;
}

START_TEST(every_layer_has_a_fact_with_its_source)
{
    for (size_t i = 0; i < n_profiles; i++) {
        const struct profile *profile = profiles[i];

        ck_assert_ptr_eq(profile_find(profile->name, profile->target),
                         profile);
        for (size_t j = 0; j < MAX_LAYERS && profile->layers[j]; j++) {
            for (int cap = 0; cap < N_CAPS; cap++) {
                const struct layer *layer = profile->layers[j];
                struct cap_fact fact = layer_fact(layer, cap);
                size_t n = 0;

                ck_assert_msg(!fact.source == !fact.support, "%s: %s",
                              layer->name, cap_infos[cap].name);
                for (; layer; layer = layer->base) {
                    ck_assert_uint_le(n_facts(layer, cap), 1);
                    n += n_facts(layer, cap);
                }
                ck_assert_msg(n, "%s: no fact for %s",
                              profile->layers[j]->name, cap_infos[cap].name);
            }
        }
    }
}
END_TEST

START_TEST(what_is_unknown_is_refused)
{
    struct cap_fact fact;

    ck_assert_ptr_eq(profile_refusal(&profile_connectx7, CAP_MATCH_ICMP,
                                     &fact), profile_connectx7.layers[3]);
    ck_assert_ptr_null(fact.source);
    ck_assert_ptr_null(profile_refusal(&profile_connectx7, CAP_MATCH_IP4,
                                       &fact));
}
END_TEST

START_TEST(quotas_are_the_least_of_all_layers)
{
    ck_assert_uint_eq(profile_quota(&profile_connectx7, QUOTA_FLOWS).n,
                      200000);
    ck_assert_ptr_null(profile_quota(&profile_connectx7,
                                     QUOTA_FLOW_RATE).source);
}
END_TEST

static const char one[] = HALL(HOME("t", "7", "1Gbps", "2", "3",
    ", 'rules': [" WITHIN("web", "https") ", " WITHIN("rdma", "rocev2") "]"));

START_TEST(userspace_tables_are_not_for_hardware)
{
    const struct offload_rule *web, *rdma;

    explain(&openflow_backend, one);
    web = find_rule("t/web");
    rdma = find_rule("t/rdma");
    ck_assert_int_eq(web->verdict, OFFLOAD_PARTIAL);
    ck_assert_int_eq(rdma->verdict, OFFLOAD_SOFTWARE);
    ck_assert(rule_needs(web, ROLE_FORWARD) & NEED(SET_PRIORITY));
    ck_assert(rule_needs(web, ROLE_FORWARD) & NEED(MATCH_CT_TUPLE));
    ck_assert(rule_needs(rdma, ROLE_ANY) & NEED(SET_PRIORITY));
    unit_destroy(&u);
}
END_TEST

/* Nobody opens a connection that is not tracked. */
START_TEST(a_stateless_rule_is_in_hardware)
{
    static const char text[] = HALL(HOME("t", "7", "1Gbps", "2", "3",
        ", 'rules': [{'name': 'web', 'from': {'endpoint': 'a'}, 'to': "
        "{'endpoint': 'b'}, 'service': 'https', 'stateful': false}]"));
    const struct offload_rule *web;

    explain(&asap2_backend, text);
    web = find_rule("t/web");
    ck_assert_uint_gt(web->paths.n, 1);
    ck_assert_int_eq(web->verdict, OFFLOAD_HARDWARE);
    ck_assert(!rule_needs(web, ROLE_OPENS));
    ck_assert(!(rule_needs(web, ROLE_ANY) & NEED(CT)));
    unit_destroy(&u);
}
END_TEST

START_TEST(asap2_tables_are)
{
    const struct offload_rule *web, *rdma;
    cap_set forward;

    explain(&asap2_backend, one);
    web = find_rule("t/web");
    rdma = find_rule("t/rdma");
    forward = rule_needs(web, ROLE_FORWARD);
    ck_assert_int_eq(web->verdict, OFFLOAD_PARTIAL);
    ck_assert_int_eq(rdma->verdict, OFFLOAD_HARDWARE);
    ck_assert(!(forward & (NEED(SET_PRIORITY) | NEED(MATCH_CT_TUPLE)
                           | NEED(MATCH_CT_NEW) | NEED(CT_COMMIT))));
    ck_assert((forward & NEED(MATCH_PORTS)) && (forward & NEED(CT))
              && (forward & NEED(CHAIN)) && (forward & NEED(METER))
              && (forward & NEED(SET_DSCP4)) && (forward & NEED(OUTPUT)));
    ck_assert(rule_needs(web, ROLE_OPENS) & NEED(MATCH_CT_NEW));
    ck_assert(rule_needs(web, ROLE_OPENS) & NEED(CT_COMMIT));
    ck_assert(!(rule_needs(rdma, ROLE_ANY) & NEED(CT)));
    unit_destroy(&u);
}
END_TEST

START_TEST(anti_spoofing_stays)
{
    const struct offload_rule *spoof;

    explain(&asap2_backend, one);
    spoof = find_rule("anti-spoofing");
    ck_assert_uint_eq(spoof->paths.n, 2);
    for (size_t i = 0; i < spoof->paths.n; i++) {
        ck_assert_uint_eq(spoof->paths.v[i].walk.n_outputs, 0);
        ck_assert_uint_eq(spoof->paths.v[i].walk.cookie & 0xff,
                          REASON_SPOOF);
    }
    unit_destroy(&u);
}
END_TEST

/* What a meter lets through, and no action follows, is not dropped. */
START_TEST(a_meter_is_no_drop)
{
    static const char text[] = HALL(HOME("t", "7", "1Gbps", "2", "3",
        ", 'limits': {'packets': {'rate': '1kpps', 'burst': '64pkt'}}"));

    explain(&asap2_backend, text);
    ck_assert(rule_needs(find_rule("anti-spoofing"), ROLE_ANY)
              & NEED(METER_DROP));
    unit_destroy(&u);
}
END_TEST

START_TEST(a_chain_is_needed_at_both_ends)
{
    const struct offload_rule *web;

    explain(&asap2_backend, one);
    web = find_rule("t/web");
    for (size_t i = 0; i < web->paths.n; i++) {
        const struct offload_path *path = &web->paths.v[i];

        ck_assert_uint_eq(path->walk.megaflows.n, 2);
        ck_assert(path->passes[0].needs & NEED(CHAIN));
        ck_assert(path->passes[1].needs & NEED(CHAIN));
    }
    unit_destroy(&u);
}
END_TEST

/* Both targets mean the same, packet by packet. */
START_TEST(targets_agree)
{
    static const char text[] = HALL(
        HOME("t", "7", "1Gbps", "2", "3", ", 'rules': ["
               WITHIN("web", "https") ", " WITHIN("rdma", "rocev2") ", "
               WITHIN("ping", "icmp") ", {'name': 'no', 'action': 'deny', "
               "'from': {'network': 'net'}, 'to': {'network': 'net'}, "
               "'service': 'ssh'}]") ", "
        HOME("v", "8", "2Gbps", "4", "5", ", 'default': 'allow'"));
    struct offload_report first;
    struct unit before;
    size_t n = 0;

    explain(&openflow_backend, text);
    first = report;
    before = u;
    explain(&asap2_backend, text);
    ck_assert_uint_eq(first.rules.n, report.rules.n);
    for (size_t i = 0; i < report.rules.n; i++) {
        const offload_path_vec *a = &first.rules.v[i].paths;
        const offload_path_vec *b = &report.rules.v[i].paths;

        ck_assert_str_eq(first.rules.v[i].name, report.rules.v[i].name);
        ck_assert_uint_eq(a->n, b->n);
        for (size_t j = 0; j < a->n; j++, n++) {
            ck_assert_int_eq(a->v[j].role, b->v[j].role);
            ck_assert_uint_eq(a->v[j].walk.n_outputs,
                              b->v[j].walk.n_outputs);
            ck_assert_uint_eq(a->v[j].walk.rule, b->v[j].walk.rule);
        }
    }
    ck_assert_uint_ge(n, 20);
    unit_destroy(&before);
    unit_destroy(&u);
}
END_TEST

START_TEST(least_traffic_leaves_first)
{
    static const char text[] = HALL(
        HOME("fast", "7", "5Gbps", "2", "3", ", 'rules': ["
               WITHIN("rdma", "rocev2") "]") ", "
        HOME("slow", "8", "1Gbps", "4", "5", ", 'rules': ["
               WITHIN("rdma", "rocev2") "]"));
    size_t all;

    explain(&asap2_backend, text);
    all = report.n_flows;
    offload_fit(&report, all);
    ck_assert(!find_rule("slow/rdma")->over_budget);
    offload_fit(&report, all - 1);
    ck_assert(find_rule("slow/rdma")->over_budget);
    ck_assert_int_eq(find_rule("slow/rdma")->verdict, OFFLOAD_SOFTWARE);
    ck_assert(!find_rule("fast/rdma")->over_budget);
    ck_assert_uint_eq(report.n_flows,
                      all - find_rule("slow/rdma")->n_flows);
    unit_destroy(&u);
}
END_TEST

/* One that is too large for the room leaves it to those below. */
START_TEST(what_is_small_still_fits)
{
    static const char text[] = HALL(
        HOME("fast", "7", "5Gbps", "2", "3", ", 'default': 'allow'") ", "
        HOME("slow", "8", "1Gbps", "4", "5", ", 'rules': ["
               WITHIN("rdma", "rocev2") "]"));
    const struct offload_rule *slow;

    explain(&asap2_backend, text);
    slow = find_rule("slow/rdma");
    ck_assert_uint_gt(find_rule("fast/(default)")->n_flows, slow->n_flows);
    offload_fit(&report, find_rule("anti-spoofing")->n_flows
                + find_rule("fast/(default)")->n_flows - 1);
    ck_assert(find_rule("fast/(default)")->over_budget);
    ck_assert(!slow->over_budget);
    unit_destroy(&u);
}
END_TEST

START_TEST(a_rule_that_nothing_meets)
{
    static const char text[] = HALL(HOME("t", "7", "1Gbps", "2", "3",
        ", 'rules': [" WITHIN("web", "https") ", {'name': 'no', 'action': "
        "'deny', 'from': {'network': 'net'}, 'to': {'network': 'net'}}]"));

    explain(&asap2_backend, text);
    ck_assert_int_eq(find_rule("t/web")->verdict, OFFLOAD_NONE);
    ck_assert_uint_gt(find_rule("t/no")->paths.n, 0);
    unit_destroy(&u);
}
END_TEST

static void
check_no_way(const char *actions, const char *why)
{
    const struct offload_rule *rdma;
    size_t n = 0;

    explain(&asap2_backend, one);
    for (size_t i = 0; i < u.plan.flows.n; i++) {
        if (u.plan.flows.v[i].cookie == find_rule("t/rdma")->paths.v[0]
            .walk.rule) {
            u.plan.flows.v[i].actions = actions;
            n++;
        }
    }
    ck_assert_uint_gt(n, 0);
    ck_assert_ptr_null(offload_explain(u.prog, &u.plan, &profile_connectx7,
                                       u.arena, &report));
    rdma = find_rule("t/rdma");
    ck_assert_int_eq(rdma->verdict, OFFLOAD_SOFTWARE);
    ck_assert_uint_eq(rdma->n_flows, 0);
    ck_assert_str_eq(rdma->paths.v[0].walk.broken, why);
    unit_destroy(&u);
}

START_TEST(what_has_no_way_is_in_software)
{
    check_no_way("resubmit(,250)", "it matches no flow of a table");
    check_no_way("resubmit(,0)", "it goes round in circles");
    check_no_way("controller", "it meets an action that is not known here");
    check_no_way("learn(table=1)",
                 "it meets an action that is not known here");
}
END_TEST

Suite *
offload_suite(void)
{
    Suite *suite = suite_create("offload");
    TCase *tcase = tcase_create("offload");

    tcase_add_test(tcase, every_layer_has_a_fact_with_its_source);
    tcase_add_test(tcase, what_is_unknown_is_refused);
    tcase_add_test(tcase, quotas_are_the_least_of_all_layers);
    tcase_add_test(tcase, userspace_tables_are_not_for_hardware);
    tcase_add_test(tcase, asap2_tables_are);
    tcase_add_test(tcase, a_stateless_rule_is_in_hardware);
    tcase_add_test(tcase, anti_spoofing_stays);
    tcase_add_test(tcase, a_meter_is_no_drop);
    tcase_add_test(tcase, a_chain_is_needed_at_both_ends);
    tcase_add_test(tcase, targets_agree);
    tcase_add_test(tcase, least_traffic_leaves_first);
    tcase_add_test(tcase, what_is_small_still_fits);
    tcase_add_test(tcase, a_rule_that_nothing_meets);
    tcase_add_test(tcase, what_has_no_way_is_in_software);
    suite_add_tcase(suite, tcase);
    return suite;
}
