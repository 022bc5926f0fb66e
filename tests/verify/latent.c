/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Errors of one table that another one hides, planted in the tables of random
 * intents: no packet shows them, but the contract of the table must.
 *
 * Each is a copy of a flow, for what no table before lets through, or a flow
 * that notes what the tables behind overwrite. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/openflow/pipeline.h"
#include "mutate.h"
#include "openvswitch/vlog.h"
#include "proving.h"
#include "util.h"

/* A flow of 'table' that has 'match' and 'action' is copied, or changed if
 * 'same': with the others for these, and if 'weak', weaker than all others;
 * in POLICY stronger, and of a class that is none, so that no rule can say the
 * same. */
static const struct latent {
    const char *name;
    enum of_table table;
    const char *match, *other_match;    /* NULL: as it is. */
    const char *action, *other_action;
    bool same, weak;
} latents[] = {
    { "a port notes a group", TABLE_ADMIT, "in_port=", NULL,
      "*->reg6", "set_field:0x77->reg14", true, false },
    { "a port notes what is scratch", TABLE_ADMIT, "in_port=", NULL,
      "*->reg6", "set_field:0x77->reg15", true, false },
    { "a VNI that is no network's", TABLE_TUNNEL, "tun_id=", "tun_id=0xfffff0",
      NULL, NULL, false, false },
    { "a sender that is nobody", TABLE_SPOOF, "reg1=", "reg1=0x77",
      "goto_table:", NULL, false, false },
    { "a node that is none", TABLE_SPOOF, "metadata=", "metadata=0x77", NULL,
      NULL, false, false },
    { "an answer in no network", TABLE_NEIGHBOR, "reg2=", "reg2=0xfffff0",
      NULL, NULL, false, false },
    { "DHCP in no network", TABLE_DHCP, "reg2=", "reg2=0xfffff0", NULL, NULL,
      false, false },
    { "a group in no network", TABLE_TRACK, "reg2=", "reg2=0xfffff0",
      NULL, NULL, false, false },
    { "a zone that is nobody's", TABLE_OWNER, "ct_zone=", "ct_zone=77", NULL,
      NULL, false, false },
    { "a zone of a peer that is nobody's", TABLE_PEER_OWNER, "ct_zone=",
      "ct_zone=77", NULL, NULL, false, false },
    { "a state that is not valid", TABLE_STATE, "ct_state=",
      "ct_state=+trk+new+inv", "*->reg7", NULL, false, false },
    { "copies in no network", TABLE_COPY, "reg2=", "reg2=0xfffff0", NULL,
      NULL, false, false },
    { "a route of no network", TABLE_ROUTE, "reg2=", "reg2=0xfffff0", NULL,
      NULL, false, false },
    { "a gateway for nobody", TABLE_GATEWAY, "reg0=", "reg0=0x77",
      "goto_table:", NULL, false, false },
    { "to itself", TABLE_SELF, "reg3=", "reg1=0x77,reg3=0x77", NULL, NULL,
      false, true },
    { "a direction that is none", TABLE_SIDES, "reg7=", "reg7=9", NULL, NULL,
      false, false },
    { "a rule for a group of another tenant", TABLE_POLICY, "reg11=",
      "OTHER", "goto_table:", "set_field:0x8000ffff->reg5,goto_table:16",
      false, false },
    { "a rule less", TABLE_POLICY, "reg12=", "reg12=0x77", "goto_table:",
      NULL, true, false },
    { "the sender's mark in the receiver's zone", TABLE_PEER_STATE, "reg10=",
      "reg10=9", "ct(commit",
      "ct(commit,zone=NXM_NX_REG9[0..15],exec(move:reg0->ct_mark))", false,
      false },
    { "the receiver's mark in the sender's zone", TABLE_COMMIT, "reg10=",
      "reg10=9", "ct(commit",
      "ct(commit,zone=NXM_NX_REG6[0..15],exec(move:reg13->ct_mark))", false,
      false },
    { "a limit of connections that nobody asks about", TABLE_COMMIT, "reg0=",
      "reg0=0x77", "ct(commit", NULL, true, false },
    { "the sender's zone for the receiver's", TABLE_PEER, "reg10=", "reg10=9",
      "ct(table", "ct(table=18,zone=NXM_NX_REG6[0..15])", false, false },
    { "a class that is none", TABLE_CLASS, "reg5=", "reg5=0x8000ffff", NULL,
      NULL, false, false },
    { "at nobody's cost", TABLE_METER, "reg0=", "reg0=0x77", "goto_table:",
      NULL, false, false },
    { "a meter that leads back", TABLE_METER, "reg0=", "reg0=0x77",
      "goto_table:", "goto_table:24", false, false },
    { "a port for nobody", TABLE_OUTPUT, "reg3=", "reg3=0x77",
      "output:\"i", NULL, false, false },
    { "a port for all others", TABLE_OUTPUT, "reg3=", "", "output:\"i",
      NULL, false, true },
};

enum { N_LATENTS = ARRAY_SIZE(latents), MAX_DIAGRAMS = 200000 };

struct count {
    size_t worlds, planted, found, seen, unproved, missed;
    size_t of_kind[N_LATENTS];
};

/* "reg11=" with the number of a tenant that the match, which is about a whole
 * other tenant, does not name; or NULL. */
static const char *
other_tenant(const struct plan *plan, const char *match)
{
    for (size_t i = 0; strstr(match, "reg13=") && i < plan->flows.n; i++) {
        const struct plan_flow *flow = &plan->flows.v[i];
        size_t len, n_group;
        const char *set = mutation_find(flow->actions, "*->reg0", &len);
        const char *number;

        if (!set || flow->table != TABLE_ADMIT
            || !mutation_find(flow->actions, "*->reg12", &n_group)) {
            continue;           /* An external's is no tenant. */
        }
        number = arena_printf(plan->arena, "%.*s",
                              (int) (len - strlen("set_field:->reg0")),
                              set + strlen("set_field:"));
        if (!strstr(match, number)) {
            return arena_printf(plan->arena, "reg11=%s", number);
        }
    }
    return NULL;
}

/* Returns the place of the planted flow, or -1 if there is none to copy. */
static int
plant_flow(struct plan *plan, const struct latent *l, struct rng *rng)
{
    size_t start = rng_below(rng, plan->flows.n);

    for (size_t i = 0; i < plan->flows.n; i++) {
        size_t at = (start + i) % plan->flows.n, n, n_action = 0;
        struct plan_flow flow = plan->flows.v[at];
        const char *item = mutation_find(flow.match, l->match, &n);
        const char *action = (l->action ? mutation_find(
            flow.actions, l->action, &n_action) : NULL);
        const char *other = l->other_match;

        if (flow.table != l->table || !item || (l->action && !action)) {
            continue;
        } else if (l->table == TABLE_METER && strstr(flow.match, "in_port=")) {
            continue;           /* What came by tunnel has paid. */
        }
        if (other && !strcmp(other, "OTHER")) {
            other = other_tenant(plan, flow.match);
            if (!other) {
                continue;
            }
        }
        if (other) {
            flow.match = mutation_replace(plan->arena, flow.match, item, n,
                                          other, strlen(other));
        }
        if (l->other_action) {
            flow.actions = mutation_replace(
                plan->arena, flow.actions, action, n_action, arena_printf(
                    plan->arena, "%.*s,%s", l->same ? (int) n_action : 0,
                    action, l->other_action) + !l->same,
                strlen(l->other_action) + (l->same ? n_action + 1 : 0));
        }
        flow.priority = (l->weak ? 1 : l->table == TABLE_POLICY && !l->same
                         ? 900 : flow.priority);
        if (l->same) {
            plan->flows.v[at] = flow;
            return at;
        }
        *vec_push(plan->arena, &plan->flows) = flow;
        return plan->flows.n - 1;
    }
    return -1;
}

/* Is it said of that flow, in words that name its table? */
static bool
is_named(const struct verify_result *result, const char *line)
{
    for (size_t i = 0; i < result->differences.n; i++) {
        const struct verify_difference *d = &result->differences.v[i];

        if (d->kind == VERIFY_CONTRACT && d->of_table && d->packet
            && d->steps.n == 1 && !strcmp(d->steps.v[0]->text, line)) {
            return true;
        }
    }
    return false;
}

static void
judge(const struct proving *p, const struct latent *l, const char *line,
      struct count *count)
{
    const struct verify_result *r = &p->result;
    bool seen = r->n_differences > r->n_of_kind[VERIFY_CONTRACT];
    /* What is missing is said of the flow that acts in its place. */
    bool found = (l->same && l->other_match
                  ? r->n_of_kind[VERIFY_CONTRACT] > 0 : is_named(r, line));

    count->planted++;
    if (p->unreadable || r->unproved) {
        count->unproved++;
    } else if (seen) {
        count->seen++;
    } else if (found) {
        count->found++;
        count->of_kind[l - latents]++;
    } else if (l->same && l->table == TABLE_POLICY) {
        count->unproved++;      /* Another rule says the same. */
    } else {
        count->missed++;
        printf("not ok - %s is not found: %s\n", l->name, line);
        proving_print(p);
    }
}

static void
plant(struct compiled *c, const struct latent *l, struct rng *rng,
      struct count *count)
{
    struct plan plan = c->plan;
    struct proving p;
    line_vec lines;
    int at;

    c->plan.flows.v = NULL;
    c->plan.flows.n = c->plan.flows.allocated = 0;
    for (size_t i = 0; i < plan.flows.n; i++) {
        *vec_push(c->plan.arena, &c->plan.flows) = plan.flows.v[i];
    }
    at = plant_flow(&c->plan, l, rng);
    if (at >= 0) {
        lines = proving_lines(c);
        proving_init(&p, c, &lines);
        judge(&p, l, lines.v[at], count);
        proving_destroy(&p);
    }
    c->plan = plan;
}

/* Returns false if the tables are not proved as they are. */
static bool
try_world(uint64_t seed, struct count *count)
{
    struct rng rng = { ~seed };
    struct compiled c;
    struct proving p;
    struct world w;
    line_vec lines;
    bool ok, small;

    world_init(&w, seed);
    world_compile(&w, &c);
    compiled_lower(&c, WORLD_NODE);
    lines = proving_lines(&c);
    proving_init(&p, &c, &lines);
    ok = !p.unreadable && verify_is_proved(&p.result);
    count->worlds++;
    if (!ok) {
        printf("not ok - seed %"PRIu64" is not proved\n%s", seed, c.text);
        proving_print(&p);
    }
    small = p.result.n_nodes <= MAX_DIAGRAMS;
    for (size_t i = 0; i < N_LATENTS && ok && small; i++) {
        plant(&c, &latents[i], &rng, count);
    }
    proving_destroy(&p);
    compiled_destroy(&c);
    return ok;
}

int
main(int argc, char *argv[])
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20;
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 40, lacking = 0;
    struct count count;
    bool ok = true;

    ovs_set_program_name(argv[0], PACKAGE_VERSION);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    setvbuf(stdout, NULL, _IOLBF, 0);
    memset(&count, 0, sizeof count);
    printf("# seed %"PRIu64"\n", seed);
    while (ok && count.worlds < n) {
        ok = try_world(seed++, &count);
    }
    for (size_t i = 0; i < N_LATENTS; i++) {
        if (!count.of_kind[i]) {
            printf("# never planted: %s\n", latents[i].name);
            lacking++;
        }
    }
    /* Most kinds must have been hidden, or nothing was tested. */
    ok = ok && !count.missed && lacking <= N_LATENTS / 4;
    printf("%sok - %"PRIuSIZE" intents proved; of %"PRIuSIZE" planted errors "
           "of %"PRIuSIZE" kinds %"PRIuSIZE" found by contracts alone, "
           "%"PRIuSIZE" seen by packets too, %"PRIuSIZE" none or unproved, "
           "%"PRIuSIZE" missed\n", ok ? "" : "not ", count.worlds,
           count.planted, N_LATENTS - lacking, count.found, count.seen,
           count.unproved, count.missed);
    return ok ? 0 : 1;
}
