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
 * same.  What changes there is a flow that a packet needs: one that stronger
 * flows hide, or that lets through what others do, too, or what is to nobody
 * here, is no loss. */
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
    { "a rule less that a packet needs", TABLE_POLICY, "reg12=",
      "reg12=0x77", "goto_table:", NULL, true, false },
    { "the sender's mark in the receiver's zone", TABLE_PEER_STATE, "reg10=",
      "reg10=9", "ct(commit",
      "ct(commit,zone=NXM_NX_REG9[0..15],exec(move:reg0->ct_mark))", false,
      false },
    { "the receiver's mark in the sender's zone", TABLE_COMMIT, "reg10=",
      "reg10=9", "ct(commit",
      "ct(commit,zone=NXM_NX_REG6[0..15],exec(move:reg13->ct_mark))", false,
      false },
    { "a zone of other bits of the register", TABLE_COMMIT, "reg10=",
      "reg10=9", "ct(commit",
      "ct(commit,zone=NXM_NX_REG6[16..31],exec(move:reg0->ct_mark))", false,
      false },
    { "a connection that is noted by force", TABLE_COMMIT, "reg10=",
      "reg10=9", "ct(commit",
      "ct(commit,force,zone=NXM_NX_REG6[0..15],exec(move:reg0->ct_mark))",
      false, false },
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

enum { N_LATENTS = ARRAY_SIZE(latents) };

/* What came of the errors of a kind. */
struct count {
    size_t planted, found, seen, unproved, missed;
};

struct counts {
    size_t worlds;
    struct count of_kind[N_LATENTS];
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

/* The number that the flow sets the register to; 0 if it does not. */
static uint32_t
noted(const struct plan_flow *flow, const char *reg)
{
    size_t n;
    const char *set = mutation_find(flow->actions, reg, &n);

    return set ? strtoul(set + strlen("set_field:"), NULL, 16) : 0;
}

static bool
meets(const struct table_flow *flow, const u128 packet[])
{
    for (size_t i = 0; i < flow->n_conditions; i++) {
        const struct condition *cond = &flow->conditions[i];

        if ((packet[cond->field] ^ cond->value) & cond->mask) {
            return false;
        }
    }
    return true;
}

/* The flow of POLICY that acts on the packet, if 'without' is not there; NULL
 * if it may be that of a conjunction. */
static const struct table_flow *
find_strongest(const struct table_set *tables, const u128 packet[],
               const struct table_flow *without)
{
    const struct table_flow *best = NULL;

    for (size_t i = 0; i < tables->flows.n; i++) {
        const struct table_flow *flow = tables->flows.v[i];

        if (flow->table == TABLE_POLICY && flow != without
            && (!best || flow->priority > best->priority
                || (flow->priority == best->priority && flow->clause))
            && meets(flow, packet)) {
            best = flow;
        }
    }
    return best && !best->clause ? best : NULL;
}

/* Would the packet, that 'flow' lets through, be dropped or get another class
 * without it?  Best-effort is a class, too. */
static bool
needs(const struct plan *plan, const struct table_set *tables,
      const u128 packet[], const struct table_flow *flow)
{
    const uint32_t class = ~(UINT32_C(1) << 31);
    const struct table_flow *next = find_strongest(tables, packet, flow);

    return (find_strongest(tables, packet, NULL) == flow && next
            && (!next->ofpacts_len
                || (noted(&plan->flows.v[next->order], "*->reg5") & class)
                   != (noted(&plan->flows.v[flow->order], "*->reg5")
                       & class)));
}

/* Does it take the flow of POLICY of that place to let through, with its
 * class, what an endpoint here sends to somebody of another group? */
static bool
is_needed(const struct plan *plan, const struct table_set *tables, size_t at)
{
    const struct table_flow *flow = tables->flows.v[at];
    u128 packet[N_FIELDS] = { 0 };
    bool is_here = false;

    for (size_t i = 0; i < flow->n_conditions; i++) {
        packet[flow->conditions[i].field] = flow->conditions[i].value;
    }
    for (size_t i = 0; i < plan->flows.n && !is_here; i++) {
        const struct plan_flow *sender = &plan->flows.v[i];

        is_here = (sender->table == TABLE_ADMIT
                   && noted(sender, "*->reg12") == packet[F_REG12]);
        packet[F_REG11] = noted(sender, "*->reg0");
    }
    for (size_t i = 0; i < plan->flows.n && is_here; i++) {
        const struct plan_flow *receiver = &plan->flows.v[i];

        packet[F_REG13] = noted(receiver, "*->reg13");
        packet[F_REG14] = noted(receiver, "*->reg14");
        if (packet[F_REG14] && packet[F_REG14] != packet[F_REG12]
            && needs(plan, tables, packet, flow)) {
            return true;
        }
    }
    return false;
}

/* Returns the place of the planted flow, or -1 if there is none to copy. */
static int
plant_flow(struct plan *plan, const struct table_set *tables,
           const struct latent *l, struct rng *rng)
{
    size_t start = rng_below(rng, plan->flows.n);

    for (size_t i = 0; i < plan->flows.n; i++) {
        size_t at = (start + i) % plan->flows.n, n, n_action = 0;
        struct plan_flow flow = plan->flows.v[at];
        const char *item = mutation_find(flow.match, l->match, &n);
        const char *action = (l->action ? mutation_find(
            flow.actions, l->action, &n_action) : NULL);
        const char *other = l->other_match;

        if (flow.table != l->table || !item || (l->action && !action)
            || (l->table == TABLE_POLICY && l->same
                && !is_needed(plan, tables, at))) {
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
      struct counts *counts)
{
    struct count *count = &counts->of_kind[l - latents];
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
    } else {
        count->missed++;
        printf("not ok - %s is not found: %s\n", l->name, line);
        proving_print(p);
    }
}

static void
plant(struct compiled *c, const struct proving *before,
      const struct latent *l, struct rng *rng, struct counts *counts)
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
    at = plant_flow(&c->plan, &before->tables, l, rng);
    if (at >= 0) {
        lines = proving_lines(c);
        proving_init(&p, c, &lines);
        judge(&p, l, lines.v[at], counts);
        proving_destroy(&p);
    }
    c->plan = plan;
}

/* Returns false if the tables are not proved as they are. */
static bool
try_world(uint64_t seed, struct counts *counts)
{
    struct rng rng = { ~seed };
    struct proved_world w;
    bool ok = proved_world_init(&w, seed), small = proved_world_is_small(&w);

    counts->worlds++;
    for (size_t i = 0; i < N_LATENTS && ok && small; i++) {
        plant(&w.compiled, &w.proving, &latents[i], &rng, counts);
    }
    proved_world_destroy(&w);
    return ok;
}

/* Says what came of each kind of which that must be said, and adds all up.
 * Returns false if a kind was planted and never caught. */
static bool
sum_up(const struct counts *counts, struct count *all, size_t *n_kinds)
{
    bool ok = true;

    memset(all, 0, sizeof *all);
    *n_kinds = 0;
    for (size_t i = 0; i < N_LATENTS; i++) {
        const struct count *count = &counts->of_kind[i];

        if (!count->planted) {
            printf("# never planted: %s\n", latents[i].name);
        } else if (!count->found && !count->seen) {
            printf("not ok - %"PRIuSIZE" times planted, and never caught: "
                   "%s\n", count->planted, latents[i].name);
            ok = false;
        }
        *n_kinds += count->planted > 0;
        all->planted += count->planted;
        all->found += count->found;
        all->seen += count->seen;
        all->unproved += count->unproved;
        all->missed += count->missed;
    }
    return ok;
}

int
main(int argc, char *argv[])
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20;
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 40, n_kinds;
    struct counts counts;
    struct count all;
    bool ok = true;

    ovs_set_program_name(argv[0], PACKAGE_VERSION);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    setvbuf(stdout, NULL, _IOLBF, 0);
    memset(&counts, 0, sizeof counts);
    printf("# seed %"PRIu64"\n", seed);
    while (ok && counts.worlds < n) {
        ok = try_world(seed++, &counts);
    }
    /* Nearly all kinds must have been planted, or little was tested. */
    ok &= (sum_up(&counts, &all, &n_kinds) && !all.missed
           && all.unproved <= all.planted / 20
           && N_LATENTS - n_kinds <= N_LATENTS / 8);
    printf("%sok - %"PRIuSIZE" intents proved; of %"PRIuSIZE" planted errors "
           "of %"PRIuSIZE" kinds %"PRIuSIZE" found by contracts alone, "
           "%"PRIuSIZE" seen by packets too, %"PRIuSIZE" unproved, "
           "%"PRIuSIZE" missed\n", ok ? "" : "not ", counts.worlds,
           all.planted, n_kinds, all.found, all.seen, all.unproved,
           all.missed);
    return ok ? 0 : 1;
}
