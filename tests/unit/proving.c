/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "proving.h"

#include <string.h>
#include <unistd.h>

#include "agent/worker.h"
#include "backend/openflow/openflow.h"
#include "intent/files.h"
#include "resident/prove.h"

void
proving_begin(struct proving *t, const char *text,
              void (*spoil)(struct plan *))
{
    struct plan plan;

    unit_init(&t->u);
    unit_resolve(&t->u, text);
    ck_assert_msg(t->u.policy != NULL, "%s", unit_diags(&t->u));
    t->resident = resident_create(t->u.intent, "n1", &openflow_backend,
                                  &t->u.diags);
    ck_assert_msg(t->resident != NULL, "%s", unit_diags(&t->u));
    resident_plan(t->resident, &plan, t->u.arena);
    if (spoil) {
        spoil(&plan);
    }
    t->proved = proved_create(t->u.policy, &plan);
    ck_assert_ptr_nonnull(t->proved);
}

void
proving_prepare(struct proving *t)
{
    const struct intent *intent = resident_intent(t->resident, t->u.arena);

    while (proved_prepare(t->proved, intent, 0)) {
        continue;
    }
}

struct apart {
    struct proving *t;
    const char *tenant;
};

static void
prepare_apart(const void *apart_, struct ds *ds)
{
    const struct apart *apart = apart_;

    proved_prepare_left(apart->t->proved, resident_intent(
        apart->t->resident, apart->t->u.arena), apart->tenant, ds);
}

const char *
proving_prepare_apart(struct proving *t, const char *tenant, size_t *n)
{
    struct apart apart = { t, tenant };
    struct worker worker;
    const char *said;
    int status;

    worker_init(&worker);
    ck_assert_int_eq(worker_start(&worker, prepare_apart, &apart, 60000), 0);
    while (worker_run(&worker, &status) == WORKER_RUNS) {
        usleep(1000);
    }
    ck_assert_int_eq(status, 0);
    *n = worker.said.length;
    said = arena_strndup(t->u.arena, ds_cstr(&worker.said), *n);
    worker_destroy(&worker);
    return said;
}

void
proving_end(struct proving *t)
{
    proved_destroy(t->proved);
    resident_destroy(t->resident);
    unit_destroy(&t->u);
}

static void
put(struct proving *t, const char *tenant, struct arena *arena,
    struct resident_diff *diff)
{
    char *text = arena_printf(arena, "{'version': 1, 'tenants': {%s}}",
                              tenant);
    struct intent_file file;
    const struct intent *part;

    for (char *c = text; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    file = (struct intent_file) {
        .source = source_create(arena, "part.json", text, strlen(text)),
    };
    part = intent_parse_tenants(&file, t->u.intent, arena, &t->u.diags);
    ck_assert_msg(part != NULL, "%s", unit_diags(&t->u));
    ck_assert_msg(resident_put(t->resident, &part->tenants.v[0], arena,
                               &t->u.diags, diff),
                  "%s", unit_diags(&t->u));
    ck_assert_uint_gt(diff->added.n + diff->changed.n + diff->deleted.n, 0);
}

enum proving_by
proving_change(struct proving *t, const char *tenant,
               void (*alter)(struct proving *, struct arena *,
                             struct resident_diff *))
{
    struct arena *arena = arena_create();
    struct resident_diff diff;
    struct proved_count count;
    const struct intent *whole;
    enum proving_by by;

    put(t, tenant, arena, &diff);
    if (alter) {
        alter(t, arena, &diff);
    }
    whole = resident_intent(t->resident, t->u.arena);
    proved_change(t->proved, whole, &diff);
    proved_begin(t->proved, t->resident);
    by = (!proved_prove_packets(t->proved, 0, &count) ? BY_NOTHING
          : count.seam ? BY_DECISIONS
          : count.symmetry ? BY_LIKENESS : BY_PACKETS);
    if (!by && proved_prove(t->proved, 0, &count)) {
        by = BY_ALL;
    }
    proved_end(t->proved, by);
    return by;
}
