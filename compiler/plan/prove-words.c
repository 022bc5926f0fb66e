/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/prove.h"

#include <inttypes.h>

#include "base/diag.h"
#include "openvswitch/dynamic-string.h"
#include "plan/nic.h"
#include "sema/policy.h"
#include "util.h"

const char *
plan_proof_trace(const struct verify_difference *d, const char *bridge,
                 struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *line;

    ds_put_format(&ds, "ovs-appctl ofproto/trace%s %s%s ",
                  d->of_table ? "-packet-out" : "", d->ct_next, bridge);
    plan_put_quoted(&ds, d->packet);    /* Names of ports may be anything. */
    if (d->of_table) {
        ds_put_format(&ds, " 'resubmit(,%u)'", d->table);
    }
    line = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return line;
}

/* Where the intent says what is meant. */
static void
put_place(const struct verify_difference *d, struct ds *ds)
{
    if (d->rule || d->at) {
        struct span span = (d->rule ? policy_rule_span(d->rule)
                            : d->at->type == VALUE_OBJECT ? d->at->key_span
                            : d->at->span);

        ds_put_cstr(ds, "          ");
        diag_put_place(ds, &span);
        ds_put_char(ds, '\n');
    }
}

static void
put_difference(const struct verify_task *task,
               const struct verify_difference *d, const char *bridge,
               struct ds *ds)
{
    ds_put_format(ds, "%s: %s%s: %s\n", verify_kind_name(d->kind),
                  d->of_table ? "" : "from ", d->from, d->what);
    if (d->packet) {
        ds_put_format(ds, "  meant   %s\n", d->meant);
        put_place(d, ds);
        ds_put_format(ds, "  found   %s\n", d->found);
        for (size_t i = 0; i < d->steps.n; i++) {
            ds_put_format(ds, "  %s %s: %s\n", i ? "       " : "flows  ",
                          flow_place(task->tables, d->steps.v[i]),
                          d->steps.v[i]->text);
        }
        ds_put_format(ds, "  trace   %s\n",
                      plan_proof_trace(d, bridge, task->tables->arena));
    }
    ds_put_char(ds, '\n');
}

void
plan_proof_words(const struct verify_task *task,
                 const struct verify_result *r, const char *bridge,
                 size_t max, struct ds *ds)
{
    size_t n = MIN(max, r->differences.n);

    for (size_t i = 0; i < n; i++) {
        put_difference(task, &r->differences.v[i], bridge, ds);
    }
    if (r->n_differences > n) {
        ds_put_format(ds, "and %"PRIuSIZE" more\n\n", r->n_differences - n);
    }
    for (size_t i = 0; i < r->shadowed.n && i < max; i++) {
        const struct verify_shadow *shadow = &r->shadowed.v[i];

        ds_put_format(ds, "shadows: %s matches nothing: %s\n  for it is "
                      "weaker than %s: %s\n\n",
                      flow_place(task->tables, shadow->flow),
                      shadow->flow->text,
                      flow_place(task->tables, shadow->by),
                      shadow->by->text);
    }
    if (r->unproved) {
        ds_put_format(ds, "UNPROVED: %s\n", r->unproved);
    }
}
