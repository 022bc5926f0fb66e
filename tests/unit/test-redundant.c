/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "random.h"
#include "sema/meaning.h"
#include "unit.h"
#include "util.h"

/* Rules that change nothing: in small worlds that are drawn by lot, a rule is
 * warned of if and only if no packet's verdict or class is another without
 * it, be all denied otherwise, or all allowed.  What a tenant denies is held
 * against its own rules alone. */

enum { N_WORLDS = 1000 };

VEC_TYPEDEF(rule_vec, struct policy_rule *);

struct world {
    struct unit u;
    rule_vec alive;             /* Rules that were not taken away. */
};

struct tally {
    size_t worlds, warned, kept, by_several, of_peerings, of_denials;
    size_t of_peerings_denied;
};

static const char *
any(const char *const *list, size_t n)
{
    return list[random_range(n)];
}
#define ANY(LIST) any(LIST, ARRAY_SIZE(LIST))

/* Draws what is in both selectors, and 'service' if there must be one. */
static void
draw_sides(struct ds *ds, const char *from, const char *to, bool service)
{
    static const char *const selectors[] = {
        "'labels': {'role': 'left'}", "'labels': {'role': 'right'}",
        "'endpoint': 'x'", "'endpoint': 'y'", "'network': 'net'",
    };
    static const char *const services[] = {
        ", 'service': 'low'", ", 'service': 'high'", ", 'service': 'both'",
        ", 'service': 'near'", ", 'service': 'rocev2'", ", 'service': 'icmp'",
        ", 'service': 'ssh'",
    };

    ds_put_format(ds, "'from': {%s%s}, 'to': {%s%s}", from, ANY(selectors),
                  to, ANY(selectors));
    if (service || random_range(4)) {
        ds_put_cstr(ds, ANY(services));
    }
}

static void
draw_class(struct ds *ds)
{
    if (!random_range(8)) {
        ds_put_cstr(ds, ", 'class': 'gold'");
    }
}

static const char *
draw_rules(struct arena *arena)
{
    static const char *const tenants[] = {
        "", "", "'tenant': '*', ", "'tenant': 'a', ", "'tenant': 'b', ",
    };
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (uint32_t i = 0, n = random_range(7); i < n; i++) {
        const char *from = ANY(tenants), *to = ANY(tenants);

        ds_put_format(&ds, "%s{'name': 'r%"PRIu32"', ", i ? ", " : "", i);
        if (random_range(3)) {
            draw_sides(&ds, "", "", false);
            draw_class(&ds);
        } else {
            draw_sides(&ds, random_range(2) ? from : "", *from ? "" : to,
                       false);
            ds_put_cstr(&ds, ", 'action': 'deny'");
        }
        ds_put_char(&ds, '}');
    }
    const char *s = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return s;
}

static const char *
draw_peerings(struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (uint32_t i = 0, n = random_range(4); i < n; i++) {
        bool back = !random_range(3);

        ds_put_format(&ds, "%s'p%"PRIu32"': {", i ? ", " : "", i);
        draw_sides(&ds, back ? "'tenant': 'b', " : "'tenant': 'a', ",
                   back ? "'tenant': 'a', " : "'tenant': 'b', ", true);
        draw_class(&ds);
        ds_put_char(&ds, '}');
    }
    const char *s = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return s;
}

#define THREE(NAME, N, MORE)                                            \
    "'" NAME "': {'networks': {" NETWORK(N) "}, 'endpoints': {"         \
    ENDPOINT("x", N, 10, "left") ", " ENDPOINT("y", N, 11, "right") ", " \
    ENDPOINT("z", N, 12, "right") "}, " MORE "}"

static const char *
draw_world(struct arena *arena)
{
    const char *a = draw_rules(arena), *b = draw_rules(arena);

    return arena_printf(
        arena, "{" FABRIC ", " CLASSES ", 'services': {"
        "'low': {'protocol': 'tcp', 'ports': ['10-20', 22]},"
        "'high': {'protocol': 'tcp', 'ports': ['15-30']},"
        "'both': {'protocol': 'tcp', 'ports': ['10-30']},"
        "'near': {'protocol': 'udp', 'ports': ['4790-4791']}}, 'tenants': {"
        THREE("a", 1, "'peers': ['b'], 'rules': [%s]") ", "
        THREE("b", 2, "'peers': ['a'], 'rules': [%s]") "},"
        "'peerings': {%s}}", a, b, draw_peerings(arena));
}

static ovs_be32
address_of(const struct policy_endpoint *e)
{
    return in6_addr_get_mapped_ipv4(&e->intent->addresses.v[0].ip);
}

static struct flow
packet_to(const struct policy_endpoint *from, const struct policy_endpoint *to,
          uint8_t protocol, uint16_t port)
{
    struct flow flow;

    memset(&flow, 0, sizeof flow);
    flow.dl_type = htons(ETH_TYPE_IP);
    flow.dl_src = from->intent->mac;
    flow.dl_dst = (from->tenant == to->tenant ? to->intent->mac
                   : from->network->gateway_mac);
    flow.nw_src = address_of(from);
    flow.nw_dst = address_of(to);
    flow.nw_ttl = 64;
    flow.nw_proto = protocol;
    if (protocol == IPPROTO_ICMP) {
        flow.tp_src = htons(8);
    } else if (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) {
        flow.tp_src = htons(50000);
        flow.tp_dst = htons(port);
    }
    return flow;
}

/* Adds a rule that allows all between all endpoints. */
static void
add_all(struct arena *arena, struct policy *policy)
{
    struct policy_rule *all = arena_zalloc(arena, sizeof *all);

    all->kind = RULE_PEERING;   /* So that they reach each other. */
    all->name = "all";
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            *vec_push(arena, &all->from) = tenant->endpoints.v[j];
            *vec_push(arena, &all->to) = tenant->endpoints.v[j];
        }
    }
    *vec_push(arena, &policy->rules) = all;
}

/* The rules that are left, but 'rule' (NULL: all), as far as 'judged' is held
 * against them; and all others allowed if 'open'. */
static struct policy
policy_without(struct world *w, const struct policy_rule *rule,
               const struct policy_rule *judged, bool open)
{
    struct policy policy = *w->u.policy;

    memset(&policy.rules, 0, sizeof policy.rules);
    for (size_t i = 0; i < w->alive.n; i++) {
        struct policy_rule *r = w->alive.v[i];

        if (r != rule && !(judged->kind == RULE_DENY && r->kind == RULE_DENY
                           && r->tenant != judged->tenant)) {
            *vec_push(w->u.arena, &policy.rules) = r;
        }
    }
    if (open) {
        add_all(w->u.arena, &policy);
    }
    return policy;
}

static bool
judged_alike(const struct policy *a, const struct policy *b,
             const struct policy_endpoint *from, const struct flow *packet)
{
    struct meaning_question q = {
        .from = from, .packet = packet, .connection = CONNECTION_NEW,
    };
    struct meaning x = meaning_judge(a, &q);
    struct meaning y = meaning_judge(b, &q);

    return (x.allow == y.allow
            && (!x.allow || (x.dscp == y.dscp && x.queue == y.queue)));
}

/* Is some packet's verdict or class another without the rule? */
static bool
matters(struct world *w, const struct policy_rule *rule)
{
    static const struct {
        uint8_t protocol;
        uint16_t port;
    } packets[] = {
        { IPPROTO_TCP, 9 }, { IPPROTO_TCP, 10 }, { IPPROTO_TCP, 15 },
        { IPPROTO_TCP, 21 }, { IPPROTO_TCP, 22 }, { IPPROTO_TCP, 23 },
        { IPPROTO_TCP, 31 }, { IPPROTO_UDP, 4789 }, { IPPROTO_UDP, 4790 },
        { IPPROTO_UDP, 4791 }, { IPPROTO_UDP, 4792 }, { IPPROTO_ICMP, 0 },
        { 47, 0 },
    };
    endpoint_vec all = VEC_INIT;

    for (size_t i = 0; i < w->u.policy->tenants.n; i++) {
        const struct policy_tenant *tenant = w->u.policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            *vec_push(w->u.arena, &all) = tenant->endpoints.v[j];
        }
    }
    for (int open = 0; open < 2; open++) {
        struct policy with = policy_without(w, NULL, rule, open);
        struct policy without = policy_without(w, rule, rule, open);

        for (size_t i = 0; i < all.n * all.n; i++) {
            const struct policy_endpoint *from = all.v[i / all.n];
            const struct policy_endpoint *to = all.v[i % all.n];

            for (size_t j = 0; j < ARRAY_SIZE(packets); j++) {
                struct flow packet = packet_to(from, to, packets[j].protocol,
                                               packets[j].port);

                if (!judged_alike(&with, &without, from, &packet)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* The warning that the rule changes nothing, or NULL. */
static const struct diag *
find_warning(const struct world *w, const struct policy_rule *rule)
{
    const char *pointer = value_pointer(rule->at, w->u.arena);

    for (size_t i = 0; i < w->u.diags.list.n; i++) {
        const struct diag *d = &w->u.diags.list.v[i];

        if (!strcmp(d->pointer, pointer)
            && (strstr(d->cause, "this changes nothing")
                || strstr(d->cause, "no packet comes under this"))) {
            return d;
        }
    }
    return NULL;
}

static int
compare_places(const void *a_, const void *b_)
{
    const struct policy_rule *const *a = a_;
    const struct policy_rule *const *b = b_;
    size_t a_start = (*a)->at->span.start, b_start = (*b)->at->span.start;

    return a_start > b_start ? -1 : a_start < b_start;
}

static void
check_world(struct world *w, struct tally *tally)
{
    rule_vec rules = VEC_INIT;

    for (size_t i = 0; i < w->u.policy->rules.n; i++) {
        *vec_push(w->u.arena, &w->alive) = w->u.policy->rules.v[i];
        *vec_push(w->u.arena, &rules) = w->u.policy->rules.v[i];
    }
    if (rules.n) {
        qsort(rules.v, rules.n, sizeof *rules.v, compare_places);
    }
    for (size_t i = 0; i < rules.n; i++) {
        const struct policy_rule *rule = rules.v[i];
        const struct diag *warning = find_warning(w, rule);

        ck_assert_msg(matters(w, rule) == !warning, "%s %s:\n%s\n%s",
                      rule->name, warning ? "is warned of, and matters"
                      : "changes nothing, and is not warned of",
                      w->u.source->text, unit_diags(&w->u));
        if (warning) {
            size_t n = 0;

            tally->warned++;
            tally->by_several += warning->n_notes > 1;
            tally->of_peerings += rule->kind == RULE_PEERING;
            tally->of_peerings_denied += (rule->kind == RULE_PEERING
                                          && strstr(warning->cause, "den"));
            tally->of_denials += rule->kind == RULE_DENY;
            for (size_t j = 0; j < w->alive.n; j++) {
                if (w->alive.v[j] != rule) {
                    w->alive.v[n++] = w->alive.v[j];
                }
            }
            w->alive.n = n;
        } else {
            tally->kept++;
        }
    }
}

START_TEST(test_against_the_meaning)
{
    struct tally tally;

    memset(&tally, 0, sizeof tally);
    for (uint32_t seed = 1; seed <= N_WORLDS; seed++) {
        struct world w;

        memset(&w, 0, sizeof w);
        unit_init(&w.u);
        random_set_seed(seed);
        unit_resolve(&w.u, draw_world(w.u.arena));
        if (w.u.policy) {
            tally.worlds++;
            check_world(&w, &tally);
        }
        unit_destroy(&w.u);
    }
    /* Otherwise this has tested little. */
    ck_assert_uint_gt(tally.worlds, N_WORLDS / 2);
    ck_assert_uint_gt(tally.kept, N_WORLDS);
    ck_assert_uint_gt(tally.warned, N_WORLDS / 4);
    ck_assert_uint_gt(tally.by_several, 20);
    ck_assert_uint_gt(tally.of_peerings, 20);
    ck_assert_uint_gt(tally.of_denials, 20);
    ck_assert_uint_gt(tally.of_peerings_denied, 20);
}
END_TEST

/* What no lot may draw: 'text' has warnings of these rules, and no others. */
static void
warned(const char *rules, const char *const *names)
{
    struct world w;
    size_t n = 0;

    memset(&w, 0, sizeof w);
    unit_init(&w.u);
    unit_resolve(&w.u, arena_printf(
        w.u.arena, INTENT(TENANT("a", 1, ", 'rules': [%s]"),
                          ", 'services': {"
                          "'first': {'protocol': 'udp', 'ports': [4790]},"
                          "'rest': {'protocol': 'udp', 'ports': ['4791-4799']}"
                          ", 'all': {'protocol': 'udp', 'ports':"
                          " ['4790-4799']}}"), rules));
    ck_assert_msg(w.u.policy != NULL, "%s", unit_diags(&w.u));
    for (; names[n]; n++) {
        ck_assert_msg(find_warning(&w, unit_rule(&w.u, names[n])) != NULL,
                      "not of %s: %s", names[n], unit_diags(&w.u));
    }
    ck_assert_msg(w.u.diags.list.n == n, "%s", unit_diags(&w.u));
    unit_destroy(&w.u);
}

#define WARNED(RULES, ...) \
    warned(RULES, (const char *const[]) { __VA_ARGS__, NULL })

START_TEST(test_symmetric)
{
    /* Both ways, of one port only. */
    WARNED(RULE("r", LEFT, RIGHT, ", 'service': 'rocev2'") ", "
           RULE("s", RIGHT, LEFT, ", 'service': 'rocev2'"), "a/s");
    WARNED(RULE("r", LEFT, RIGHT, ", 'service': 'all'") ", "
           RULE("s", LEFT, RIGHT, ", 'service': 'first'") ", "
           RULE("t", RIGHT, LEFT, ", 'service': 'rest'"), "a/s");
    WARNED(RULE("r", LEFT, RIGHT, ", 'service': 'all'") ", "
           RULE("s", LEFT, RIGHT, ", 'service': 'first'") ", "
           RULE("t", LEFT, RIGHT, ", 'service': 'rest'"), "a/s", "a/t");
    WARNED(RULE("r", LEFT, RIGHT, ", 'service': 'all', 'action': 'deny'") ", "
           RULE("s", RIGHT, LEFT, ", 'service': 'rocev2'"), "a/s");
}
END_TEST

START_TEST(test_any_service)
{
    WARNED(RULE("r", "{}", "{}", "") ", "
           RULE("s", LEFT, "{}", "") ", "
           RULE("t", LEFT, RIGHT, ", 'service': 'rocev2'"), "a/s", "a/t");
    WARNED(RULE("r", LEFT, "{}", "") ", "
           RULE("s", RIGHT, "{}", "") ", "
           RULE("t", "{}", "{}", ""), "a/t");
    WARNED(RULE("r", LEFT, LEFT, ""), "a/r");
}
END_TEST

Suite *
redundant_suite(void)
{
    Suite *suite = suite_create("redundant");
    TCase *tcase = unit_case(suite, "redundant");

    tcase_add_test(tcase, test_symmetric);
    tcase_add_test(tcase, test_any_service);
    tcase_add_test(tcase, test_against_the_meaning);
    return suite;
}
