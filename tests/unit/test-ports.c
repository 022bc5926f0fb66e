/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/openflow/pipeline.h"
#include "unit.h"
#include "util.h"

/* The masks that stand for a range of ports: each range goes through a whole
 * compilation, and every one of the 65536 ports is looked up in the flows. */

enum { N_PORTS = 65536 };

/* Compiles a service with 'ports', the text of a JSON list. */
static void
compile_ports(struct unit *u, const char *ports)
{
    static const char text[] =
        INTENT(TENANT("a", 1, ", 'rules': ["
                      RULE("r", LEFT, RIGHT, ", 'service': 's'") "]"),
               ", 'services': {'s': {'protocol': 'tcp', 'ports': %s}}");

    unit_init(u);
    unit_compile(u, arena_printf(u->arena, text, ports), "n1");
}

/* Adds 1 to 'hits' of each port that a policy flow matches with 'service',
 * REG_SERVICE without the port.  Returns how many flows match any. */
static int
count_hits(const struct unit *u, uint32_t service, uint8_t hits[N_PORTS])
{
    static const char field[] = ","REG_SERVICE"=";
    int n = 0;

    memset(hits, 0, N_PORTS);
    for (size_t i = 0; i < u->plan.flows.n; i++) {
        const struct plan_flow *flow = &u->plan.flows.v[i];
        const char *p = strstr(flow->match, field);

        if (flow->table == TABLE_POLICY && p) {
            char *end;
            uint32_t value = strtoul(p + strlen(field), &end, 0);
            uint32_t mask = (*end == '/' ? strtoul(end + 1, &end, 0)
                             : UINT32_MAX);
            bool hit = false;

            ck_assert_msg(!*end, "%s", flow->match);
            for (uint32_t port = 0; port < N_PORTS; port++) {
                if (((service | port) & mask) == value) {
                    hits[port]++;
                    hit = true;
                }
            }
            n += hit;
        }
    }
    return n;
}

/* Checks that the flows for 'ports' match exactly 'ranges', each port once if
 * 'once', with 'n_flows' flows unless that is 0. */
static void
assert_cover(const char *ports, const struct port_range *ranges,
             size_t n_ranges, bool once, int n_flows)
{
    static const uint32_t services[] = {
        SERVICE_TRACKED | SERVICE_PROTOCOL(IPPROTO_TCP),
        SERVICE_TRACKED | SERVICE_PROTOCOL(IPPROTO_TCP) | SERVICE_IPV6,
    };
    static const uint32_t others[] = {
        SERVICE_TRACKED | SERVICE_PROTOCOL(IPPROTO_UDP),
        SERVICE_STATELESS | SERVICE_PROTOCOL(IPPROTO_TCP),
        SERVICE_STATELESS | SERVICE_PROTOCOL(IPPROTO_UDP),
        0,
    };
    static uint8_t hits[N_PORTS];
    struct unit u;

    compile_ports(&u, ports);
    for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
        int n = count_hits(&u, services[i], hits);

        ck_assert_msg(!n_flows || n == n_flows, "%s: %d flows, not %d",
                      ports, n, n_flows);
        for (uint32_t port = 0; port < N_PORTS; port++) {
            bool in = false;

            for (size_t j = 0; j < n_ranges; j++) {
                in = in || (port >= ranges[j].first
                            && port <= ranges[j].last);
            }
            ck_assert_msg(in ? (once ? hits[port] == 1 : hits[port] > 0)
                          : !hits[port], "%s: %#x port %u is matched %d "
                          "times", ports, services[i], port, hits[port]);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        ck_assert_msg(!count_hits(&u, others[i], hits), "%s: %#x is matched",
                      ports, others[i]);
    }
    unit_destroy(&u);
}

START_TEST(test_known_ranges)
{
    /* With the least number of masks, worked out by hand. */
    static const struct {
        uint16_t first, last;
        int n_flows;
    } cases[] = {
        { 1, 65535, 16 },           /* 1, 2-3, 4-7, ..., 32768-65535. */
        { 1, 1, 1 },
        { 1, 2, 2 },
        { 2, 3, 1 },
        { 1, 65534, 30 },           /* 15 up to 32767, 15 back down. */
        { 65535, 65535, 1 },
        { 65534, 65535, 1 },
        { 8000, 8100, 4 },          /* 64 + 32 + 4 + 1 ports. */
        { 1024, 65535, 6 },
        { 32768, 65535, 1 },
        { 32767, 32768, 2 },
        { 443, 443, 1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct port_range range = { cases[i].first, cases[i].last };
        char ports[32];

        snprintf(ports, sizeof ports, "['%d-%d']", range.first, range.last);
        assert_cover(ports, &range, 1, true, cases[i].n_flows);
    }
}
END_TEST

START_TEST(test_single_port)
{
    assert_cover("[443]", (struct port_range[]) { { 443, 443 } }, 1, true, 1);
}
END_TEST

START_TEST(test_random_ranges)
{
    unsigned int seed = 20260101;

    for (int i = 0; i < 20; i++) {
        uint16_t a = 1 + rand_r(&seed) % 65535, b = 1 + rand_r(&seed) % 65535;
        struct port_range range = { MIN(a, b), MAX(a, b) };
        char ports[32];

        snprintf(ports, sizeof ports, "['%d-%d']", range.first, range.last);
        assert_cover(ports, &range, 1, true, 0);
    }
}
END_TEST

START_TEST(test_several_ranges)
{
    assert_cover("[22, '1000-1999', '1500-2500', 65535, 22]",
                 (struct port_range[]) {
                     { 22, 22 }, { 1000, 2500 }, { 65535, 65535 } },
                 3, false, 0);
}
END_TEST

Suite *
ports_suite(void)
{
    Suite *suite = suite_create("ports");
    TCase *tc = unit_case(suite, "cover");

    tcase_add_test(tc, test_known_ranges);
    tcase_add_test(tc, test_single_port);
    tcase_add_test(tc, test_random_ranges);
    tcase_add_test(tc, test_several_ranges);
    return suite;
}
