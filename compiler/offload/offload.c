/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/offload.h"

#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "offload/common.h"
#include "sema/ident.h"
#include "util.h"

const char *const offload_verdict_names[] = {
    [OFFLOAD_HARDWARE] = "hardware",
    [OFFLOAD_PARTIAL] = "partial",
    [OFFLOAD_SOFTWARE] = "software",
    [OFFLOAD_NONE] = "none",
};

const char *const offload_role_names[N_ROLES] = {
    [ROLE_ANY] = "any",
    [ROLE_OPENS] = "opens",
    [ROLE_FORWARD] = "forward",
    [ROLE_REPLY] = "reply",
};

struct explainer {
    const struct ir_prog *prog;
    const struct plan *plan;
    const struct profile *profile;
    struct walker *walker;
    struct arena *arena;
    cap_set carried;            /* By all layers of the profile. */
};

cap_set
offload_carried(const struct profile *profile)
{
    struct cap_fact fact;
    cap_set caps = 0;

    for (int cap = 0; cap < N_CAPS; cap++) {
        if (!profile_refusal(profile, cap, &fact)) {
            caps |= UINT64_C(1) << cap;
        }
    }
    return caps;
}

/* All that is needed of a match is before what is needed of actions. */
#define MATCH_CAPS ((UINT64_C(1) << CAP_OUTPUT) - 1)

/* Does netdev_offload_dpdk_add_flow() fall back to marking?  It does where all
 * of the match is carried, and not all of the actions. */
static bool
is_marked(cap_set carried, const struct offload_pass *pass)
{
    return (carried & (UINT64_C(1) << CAP_MARK) && pass->refused
            && !(pass->refused & MATCH_CAPS) && !pass->megaflow->chain);
}

void
offload_judge_pass(cap_set carried, const struct plan *plan,
                   struct offload_pass *pass)
{
    pass->needs = megaflow_needs(pass->megaflow, plan);
    pass->refused = pass->needs & ~carried;
    pass->marked = is_marked(carried, pass);
}

cap_set
offload_path_refused(const struct offload_path *path)
{
    cap_set refused = 0;

    for (size_t i = 0; i < path->walk.megaflows.n; i++) {
        refused |= path->passes[i].refused;
    }
    return refused;
}

/* Fills in the passes and the verdict of a path that has been walked. */
static void
judge(const struct explainer *e, struct offload_path *path)
{
    size_t n = path->walk.megaflows.n, n_refused = 0;

    path->passes = arena_zalloc(e->arena, n * sizeof *path->passes);
    for (size_t i = 0; i < n; i++) {
        struct offload_pass *pass = &path->passes[i];

        pass->megaflow = &path->walk.megaflows.v[i];
        offload_judge_pass(e->carried, e->plan, pass);
        n_refused += pass->refused != 0;
    }
    /* What misses in hardware goes on in software, so a pass is of use only if
     * all before it are in hardware too; the last one decides. */
    path->verdict = (path->walk.broken ? OFFLOAD_SOFTWARE
                     : !n_refused ? OFFLOAD_HARDWARE
                     : path->passes[0].refused ? OFFLOAD_SOFTWARE
                     : OFFLOAD_PARTIAL);
}

/* Walks a packet of the rule.  Returns the path if it is the rule that
 * decides, or nobody knows what does, else NULL. */
static struct offload_path *
add_path(const struct explainer *e, struct offload_rule *r,
         const struct rule_packet *packet, enum offload_role role, bool back)
{
    static const enum walk_state states[N_ROLES] = {
        [ROLE_ANY] = WALK_OPENS,
        [ROLE_OPENS] = WALK_OPENS,
        [ROLE_FORWARD] = WALK_FORWARD,
        [ROLE_REPLY] = WALK_REPLY,
    };
    struct offload_path path = { .packet = packet, .role = role };

    walker_run(e->walker, back ? &packet->back : &packet->opens,
               states[role], e->arena, &path.walk);
    if (!path.walk.broken && r->rule
        && path.walk.rule != (COOKIE_MARK | r->rule->id)) {
        return NULL;
    }
    if (!path.walk.tracked) {
        path.role = ROLE_ANY;
    }
    judge(e, &path);
    return memcpy(vec_push(e->arena, &r->paths), &path, sizeof path);
}

/* All packets of a connection, or both directions of what is not tracked. */
static void
add_paths(const struct explainer *e, struct offload_rule *r,
          const struct rule_packet *packet)
{
    const struct offload_path *opens = add_path(e, r, packet, ROLE_OPENS,
                                                false);

    if (opens && opens->walk.n_outputs) {
        bool tracked = opens->walk.tracked;

        if (tracked) {
            add_path(e, r, packet, ROLE_FORWARD, false);
        }
        add_path(e, r, packet, tracked ? ROLE_REPLY : ROLE_OPENS, true);
    }
}

static enum offload_verdict
rule_verdict(const struct offload_rule *r)
{
    size_t n[OFFLOAD_NONE + 1] = { 0 };

    for (size_t i = 0; i < r->paths.n; i++) {
        n[r->paths.v[i].verdict]++;
    }
    return (!r->paths.n ? OFFLOAD_NONE
            : n[OFFLOAD_HARDWARE] == r->paths.n ? OFFLOAD_HARDWARE
            : n[OFFLOAD_SOFTWARE] == r->paths.n ? OFFLOAD_SOFTWARE
            : OFFLOAD_PARTIAL);
}

static size_t
count_flows(const struct offload_rule *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->paths.n; i++) {
        const struct offload_path *path = &r->paths.v[i];

        for (size_t j = 0; j < path->walk.megaflows.n && !path->walk.broken
             && (!path->passes[j].refused || path->passes[j].marked); j++) {
            n += path->packet->n_pairs;
        }
    }
    return n;
}

static uint64_t
tenant_rate(const struct ir_prog *prog, const struct ir_tenant *tenant)
{
    uint64_t rate = 0;

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->tenant == tenant && !meter->receive && !meter->endpoint) {
            rate = MAX(rate, meter->rate_kbps);
        }
    }
    return rate;
}

static uint64_t
rule_rate(const struct ir_prog *prog, const struct ir_rule *rule)
{
    const ir_endpoint_vec *from = &rule->from.endpoints;
    uint64_t rate = 0;

    for (size_t i = 0; i < from->n; i++) {
        if (!i || from->v[i]->tenant != from->v[i - 1]->tenant) {
            rate = MAX(rate, tenant_rate(prog, from->v[i]->tenant));
        }
    }
    return rate;
}

static void
explain_rule(const struct explainer *e, const struct ir_rule *rule,
             struct offload_rule *r)
{
    rule_packet_vec packets = VEC_INIT;

    r->rule = rule;
    r->name = rule->name;
    rule_packets(e->prog, rule, e->walker, e->arena, &packets);
    for (size_t i = 0; i < packets.n; i++) {
        add_paths(e, r, &packets.v[i]);
    }
    r->rate_kbps = rule_rate(e->prog, rule);
}

/* What every packet passes, whatever the rules: none of it is traded for
 * offload. */
static void
explain_common(const struct explainer *e, enum common_packet which,
               struct offload_rule *r)
{
    rule_packet_vec packets = VEC_INIT;

    r->name = common_packet_names[which];
    common_packets(e->prog, which, e->walker, e->arena, &packets);
    for (size_t i = 0; i < packets.n; i++) {
        add_path(e, r, &packets.v[i], ROLE_OPENS, false);
    }
}

/* The highest rate first. */
static int
compare_rates(const void *a_, const void *b_)
{
    const struct offload_rule *const *a = a_, *const *b = b_;

    return ((*a)->rate_kbps != (*b)->rate_kbps
            ? ((*a)->rate_kbps < (*b)->rate_kbps ? 1 : -1)
            : strcmp((*b)->name, (*a)->name));
}

void
offload_fit(struct offload_report *report, uint64_t n_flows)
{
    struct offload_rule **order = xcalloc(report->rules.n + 1, sizeof *order);
    size_t n = 0;

    for (size_t i = 0; i < report->rules.n; i++) {
        struct offload_rule *r = &report->rules.v[i];

        if (r->rule && r->n_flows) {
            order[n++] = r;
            report->n_flows -= r->n_flows;
        }
    }
    qsort(order, n, sizeof *order, compare_rates);
    for (size_t i = 0; i < n; i++) {
        if (report->n_flows + order[i]->n_flows <= n_flows) {
            report->n_flows += order[i]->n_flows;
        } else {
            order[i]->over_budget = true;
            order[i]->verdict = OFFLOAD_SOFTWARE;
        }
    }
    free(order);
}

static void
explain_all(const struct explainer *e, struct offload_report *report)
{
    for (size_t i = 0; i < e->prog->rules.n; i++) {
        explain_rule(e, e->prog->rules.v[i], vec_push(e->arena,
                                                      &report->rules));
    }
    for (int i = 0; i < N_COMMON_PACKETS; i++) {
        explain_common(e, i, vec_push(e->arena, &report->rules));
    }
    for (size_t i = 0; i < report->rules.n; i++) {
        struct offload_rule *r = &report->rules.v[i];

        r->verdict = rule_verdict(r);
        r->n_flows = count_flows(r);
        report->n_flows += r->n_flows;
    }
    report->n_meters = (e->carried & (UINT64_C(1) << CAP_METER)
                        ? e->plan->meters.n : 0);
}

const char *
offload_explain(const struct ir_prog *prog, const struct plan *plan,
                const struct profile *profile, struct arena *arena,
                struct offload_report *report)
{
    struct explainer e = {
        .prog = prog, .plan = plan, .profile = profile, .arena = arena,
        .carried = offload_carried(profile),
    };
    const char *reason;

    memset(report, 0, sizeof *report);
    report->profile = profile;
    report->plan = plan;
    e.walker = walker_create(prog, plan, &reason);
    if (!e.walker) {
        return reason;
    }
    explain_all(&e, report);
    walker_destroy(e.walker);
    return NULL;
}

const char *
offload_predict(const struct ir_prog *prog, const struct plan *plan,
                const struct profile *profile, struct arena *arena,
                struct offload_report *report)
{
    const char *reason = offload_explain(prog, plan, profile, arena, report);
    struct quota_fact room = profile_quota(profile, QUOTA_FLOWS);

    if (!reason && room.n) {
        offload_fit(report, room.n);
    }
    return reason;
}
