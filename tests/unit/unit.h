/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef UNIT_H
#define UNIT_H 1

/* What the unit tests share: intents in little space, and the stages of a
 * compilation one by one.
 *
 * Intents stand in C strings with ' for ", which moves no offset. */

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/source.h"
#include "intent/intent.h"
#include "ir/ir.h"
#include "plan/plan.h"
#include "sema/policy.h"

/* One suite a module; see unit.c. */
Suite *admitted_suite(void);
Suite *base_suite(void);
Suite *child_suite(void);
Suite *source_suite(void);
Suite *diag_suite(void);
Suite *units_suite(void);
Suite *verify_suite(void);
Suite *verify_parts_suite(void);
Suite *value_suite(void);
Suite *intent_suite(void);
Suite *seam_suite(void);
Suite *symmetry_suite(void);
Suite *symmetry_wrong_suite(void);
Suite *sema_suite(void);
Suite *conflict_suite(void);
Suite *narrower_suite(void);
Suite *redundant_suite(void);
Suite *externals_suite(void);
Suite *meaning_suite(void);
Suite *meant_suite(void);
Suite *ir_suite(void);
Suite *round_trip_suite(void);
Suite *pass_suite(void);
Suite *backend_suite(void);
Suite *openflow_suite(void);
Suite *conjunction_suite(void);
Suite *dp_meter_phantom_suite(void);
Suite *dp_meter_rows_suite(void);
Suite *lost_suite(void);
Suite *kernel_suite(void);
Suite *nic_suite(void);
Suite *dpdk_suite(void);
Suite *offload_suite(void);
Suite *heap_suite(void);
Suite *held_suite(void);
Suite *tc_suite(void);
Suite *rte_suite(void);
Suite *ovn_suite(void);
Suite *plan_suite(void);
Suite *resident_suite(void);
Suite *record_suite(void);
Suite *recording_suite(void);
Suite *telemetry_meters_suite(void);
Suite *telemetry_race_suite(void);
Suite *telemetry_suite(void);
Suite *ports_suite(void);
Suite *files_suite(void);
Suite *flows_suite(void);
Suite *tunnels_suite(void);
Suite *borrow_suite(void);
Suite *gcra_suite(void);
Suite *gcra_both_suite(void);
Suite *gcra_time_suite(void);
Suite *dp_meter_pool_suite(void);
Suite *dp_meter_suite(void);
Suite *odp_ahead_suite(void);
Suite *ofp_microburst_suite(void);
Suite *worker_suite(void);

/* A test case 'name' in 'suite', with time enough for sanitizers. */
TCase *unit_case(Suite *, const char *name);

/* A compilation, as far as it got: what was not reached is NULL. */
struct unit {
    struct arena *arena;
    struct diags diags;
    const struct source *source;
    const struct value *value;
    const struct intent *intent;
    const struct policy *policy;
    struct ir_prog *prog;
    struct plan plan;
};

void unit_init(struct unit *);
void unit_destroy(struct unit *);

/* Each goes as far as its name says.  The texts have ' for ". */
void unit_value(struct unit *, const char *text);
void unit_parse(struct unit *, const char *text);
void unit_resolve(struct unit *, const char *text);

/* Compiles what unit_resolve() resolved for 'node'. */
void unit_build(struct unit *, const char *node);

/* Compiles for 'node' and fails the test if anything is wrong. */
void unit_compile(struct unit *, const char *text, const char *node);

/* The same with text as it stands, whose quotes are real. */
void unit_compile_raw(struct unit *, const char *text, size_t len,
                      const char *node);

/* All diagnostics as text. */
const char *unit_diags(struct unit *);

/* Fails the test unless some diagnostic's text holds 'needle'. */
void unit_complains(struct unit *, const char *needle);

/* All flows and meters as text, a line each. */
const char *unit_plan_text(struct unit *);

/* The text of a program, and the program of a text, "prog.ir"; NULL with
 * diagnostics if it is refused. */
const char *unit_prog_text(struct arena *, const struct ir_prog *);
struct ir_prog *unit_parse_prog(struct unit *, const char *text);

/* The files that the program is compiled to, as text. */
const char *unit_planned(struct arena *, struct ir_prog *);

/* Asserts that what was compiled survives its text. */
void unit_round_trip(struct unit *);

/* The text of 'value' with the members of every object and the elements of
 * every list in another order, which 'seed' decides. */
const char *unit_shuffle(struct arena *, const struct value *,
                         unsigned int seed);

/* The text of an intent of tenants "a" and "b" on node "n1", with rules and
 * peerings that 'seed' draws by lot.  It may contradict itself in classes. */
const char *unit_lot(struct arena *, unsigned int seed);

/* The rule of this name, such as "a/r"; fails the test if it is not there. */
const struct policy_rule *unit_rule(const struct unit *, const char *name);

/* Reads examples/NAME.json. */
const struct source *unit_example(struct arena *, const char *name);

/* The pieces of an intent.  FABRIC has the nodes "n1" and "n2". */
#define UPLINK "{'interface': 'p0', 'rate': '100Gbps', 'burst': '256KiB'}"
#define FABRIC                                                          \
    "'version': 1, 'fabric': {'nodes': {"                               \
    "'n1': {'uplinks': {'up': " UPLINK "}},"                            \
    "'n2': {'uplinks': {'up': " UPLINK "}}}}"
#define CLASSES "'classes': {'gold': {'dscp': 46, 'queue': 5}, "        \
                "'silver': {'dscp': 18, 'queue': 2}}"

/* Network "net" with 10.N.0.0/16, N = VNI. */
#define NETWORK(N)                                                      \
    "'net': {'vni': " #N ", 'subnets': ['10." #N ".0.0/16'], "          \
    "'gateway': '10." #N ".0.1'}"

/* Endpoint NAME of network "net" on n1: 10.NET.0.HOST behind interface
 * "iNETxHOST", with label role=ROLE. */
#define ENDPOINT(NAME, NET, HOST, ROLE)                                 \
    "'" NAME "': {'network': 'net', 'node': 'n1', "                     \
    "'interface': 'i" #NET "x" #HOST "', "                              \
    "'mac': '02:00:00:00:0" #NET ":" #HOST "', "                        \
    "'addresses': ['10." #NET ".0." #HOST "'], "                        \
    "'labels': {'role': '" ROLE "'}}"

/* Tenant NAME with network NETWORK(N) and two endpoints, "x" with role
 * "left" and "y" with role "right"; MORE are more members. */
#define TENANT(NAME, N, MORE)                                           \
    "'" NAME "': {'networks': {" NETWORK(N) "}, 'endpoints': {"         \
    ENDPOINT("x", N, 10, "left") ", " ENDPOINT("y", N, 11, "right")     \
    "}" MORE "}"

#define LEFT "{'labels': {'role': 'left'}}"
#define RIGHT "{'labels': {'role': 'right'}}"
#define RULE(NAME, FROM, TO, MORE)                                      \
    "{'name': '" NAME "', 'from': " FROM ", 'to': " TO MORE "}"

#define INTENT(TENANTS, MORE)                                           \
    "{" FABRIC ", " CLASSES ", 'tenants': {" TENANTS "}" MORE "}"

#endif /* unit.h */
