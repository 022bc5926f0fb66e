/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* What a proof of one tenant depends on, as a SHA-1 (FIPS 180-4): all flows
 * that its packets can meet, and all that says what they mean. */

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-actions.h"
#include "sema/policy.h"
#include "sha1.h"
#include "util.h"
#include "verify/compare.h"
#include "verify/scope.h"

typedef uint8_t digest_t[SHA1_DIGEST_SIZE];

static void
hash_text(struct sha1_ctx *ctx, const char *text)
{
    sha1_update(ctx, text, strlen(text) + 1);
}

static int
compare_texts(const void *a_, const void *b_)
{
    const struct table_flow *const *a = a_, *const *b = b_;

    return strcmp((*a)->text, (*b)->text);
}

static int
compare_ids(const void *a_, const void *b_)
{
    const uint32_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

/* Which of the meters are there that 'flow' calls, and which of those before,
 * where another's name may have the number of this one's (compare-name.c). */
static void
hash_meters(const struct table_flow *flow, const uint32_t meters[], size_t n,
            struct ds *ds)
{
    const struct ofpact_meter *m;

    OFPACT_FOR_EACH_TYPE_FLATTENED (m, METER, flow->ofpacts,
                                    flow->ofpacts_len) {
        uint32_t near[COMPARE_MAX_NEAR];
        size_t n_near = compare_near(m->meter_id, -1, near);

        for (size_t i = 0; i < n_near; i++) {
            ds_put_char(ds, bsearch(&near[i], meters, n, sizeof *meters,
                                    compare_ids) ? '1' : '0');
        }
    }
}

static void
hash_flows(const struct verify_task *task, const struct slices *slices,
           struct sha1_ctx ctxs[])
{
    const flow_vec *flows = &task->tables->flows;
    const struct table_flow **sorted
        = xmemdup(flows->v, flows->n * sizeof *sorted);
    uint32_t *meters = xcalloc(task->n_meters + 1, sizeof *meters);
    struct ds ds = DS_EMPTY_INITIALIZER;

    qsort(sorted, flows->n, sizeof *sorted, compare_texts);
    nullable_memcpy(meters, task->meters, task->n_meters * sizeof *meters);
    qsort(meters, task->n_meters, sizeof *meters, compare_ids);
    for (size_t i = 0; i < flows->n; i++) {
        size_t tenant;

        ds_clear(&ds);
        ds_put_cstr(&ds, sorted[i]->text);
        if (task->meters) {
            hash_meters(sorted[i], meters, task->n_meters, &ds);
        }
        BITMAP_FOR_EACH_1 (tenant, task->policy->tenants.n,
                           slices_of(slices, sorted[i])) {
            hash_text(&ctxs[tenant], ds_cstr(&ds));
        }
    }
    ds_destroy(&ds);
    free(meters);
    free(sorted);
}

/* Hashes of what the intent says: of each tenant, and last of all else. */
struct meanings {
    const struct policy *policy;
    struct sha1_ctx *ctxs;
};

/* 'name' is a tenant's, or TENANT/ENDPOINT. */
static void
hash_part(void *meanings_, const char *name, const char *text, size_t n)
{
    struct meanings *m = meanings_;
    size_t number = m->policy->tenants.n;

    if (name) {
        char *tenant = xmemdup0(name, strcspn(name, "/"));

        number = scope_find(m->policy, tenant);
        free(tenant);
        hash_text(&m->ctxs[number], name);
    }
    sha1_update(&m->ctxs[number], text, n + 1);
}

/* What is known of endpoints: interfaces may say it. */
static void
hash_bindings(const struct policy_tenant *tenant, struct sha1_ctx *ctx)
{
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        hash_text(ctx, e->name);
        hash_text(ctx, e->bound ? e->node->name.s : "");
        hash_text(ctx, e->bound ? e->intent->interface.s : "");
        sha1_update(ctx, &e->intent->mac, sizeof e->intent->mac);
        for (size_t k = 0; k < e->intent->addresses.n; k++) {
            sha1_update(ctx, &e->intent->addresses.v[k].ip,
                        sizeof e->intent->addresses.v[k].ip);
        }
    }
}

/* What is no tenant's: whether uplinks have trees is for all to say. */
static void
hash_rest(const struct verify_task *task, struct sha1_ctx *ctx)
{
    const struct policy *policy = task->policy;
    size_t n = 0;

    hash_text(ctx, PACKAGE_STRING);
    hash_text(ctx, task->node);
    hash_text(ctx, task->tags ? "tags" : "");
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        n += policy->intent->nodes.v[i].uplinks.n;
    }
    for (int receive = 0; receive <= 1; receive++) {
        sha1_update(ctx, policy->trees[receive],
                    n * sizeof *policy->trees[receive]);
    }
}

static void
init_all(struct sha1_ctx ctxs[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sha1_init(&ctxs[i]);
    }
}

static void
digest_meanings(const struct verify_task *task, digest_t digests[])
{
    const struct policy *policy = task->policy;
    size_t n = policy->tenants.n;
    struct meanings m = { policy, xcalloc(n + 1, sizeof *m.ctxs) };

    init_all(m.ctxs, n + 1);
    intent_print_parts(policy->intent, hash_part, &m);
    for (size_t i = 0; i < n; i++) {
        hash_bindings(policy->tenants.v[i], &m.ctxs[i]);
    }
    hash_rest(task, &m.ctxs[n]);
    for (size_t i = 0; i <= n; i++) {
        sha1_final(&m.ctxs[i], digests[i]);
    }
    free(m.ctxs);
}

/* Hashes the meanings of each tenant and of those that it has to do with; of
 * all, where there are externals, whose addresses others may leave out. */
static void
hash_meanings(const struct verify_task *task, struct sha1_ctx ctxs[])
{
    const struct policy *policy = task->policy;
    size_t n = policy->tenants.n;
    digest_t *digests = xcalloc(n + 1, sizeof *digests);
    struct neighbors neighbors;

    digest_meanings(task, digests);
    neighbors_init(&neighbors, policy);
    for (size_t i = 0; i < n; i++) {
        hash_text(&ctxs[i], policy->tenants.v[i]->name);
        for (size_t k = 0; k < n; k++) {
            if (policy->externals.n
                || bitmap_is_set(neighbors_of(&neighbors, i), k)) {
                sha1_update(&ctxs[i], digests[k], sizeof digests[k]);
            }
        }
        sha1_update(&ctxs[i], digests[n], sizeof digests[n]);
    }
    neighbors_destroy(&neighbors);
    free(digests);
}

bool
verify_digest(const struct verify_task *task, struct arena *arena,
              const char *digests[])
{
    size_t n = task->policy->tenants.n;
    struct slices *slices = slices_create(task);
    struct sha1_ctx *ctxs;

    if (!slices) {
        return false;
    }
    ctxs = xcalloc(n + 1, sizeof *ctxs);
    init_all(ctxs, n);
    hash_meanings(task, ctxs);
    hash_flows(task, slices, ctxs);
    for (size_t i = 0; i < n; i++) {
        char hex[SHA1_HEX_DIGEST_LEN + 1];
        digest_t digest;

        sha1_final(&ctxs[i], digest);
        sha1_to_hex(digest, hex);
        digests[i] = arena_strdup(arena, hex);
    }
    free(ctxs);
    slices_destroy(slices);
    return true;
}
