/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Proofs of what was touched. */

#include "verify/base-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "sema/ident.h"
#include "sema/policy.h"
#include "util.h"
#include "verify/scope.h"

/* More flows are not looked at one by one. */
enum { MAX_CHANGED = 64 };

/* Are the tenant's ports known as those of its slice?  Marks them. */
static bool
mark_ports(const struct verify_base *b, const struct verify_task *task,
           const struct policy_tenant *tenant, size_t slice,
           unsigned long bound[])
{
    bool known = true;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        uint16_t port = ofp_to_u16(base_port_of(task, tenant->endpoints.v[i]));

        if (port != ofp_to_u16(OFPP_NONE)) {
            known &= b->owners[port] == slice;
            bitmap_set1(bound, port);
        }
    }
    return known;
}

/* The ports that those who are asked about had, and have no more: what comes
 * by them is of their slices still, and nobody's. */
static ofp_port_t *
find_nobodys(const struct verify_base *b, const unsigned long bound[],
             struct arena *arena, size_t *n)
{
    VEC(ofp_port_t) ports = VEC_INIT;
    size_t slice;

    BITMAP_FOR_EACH_1 (slice, b->n, b->asked.who) {
        const struct slice_ports *own = &b->ports[slice];

        for (size_t i = 0; i < own->n; i++) {
            if (!bitmap_is_set(bound, own->v[i])) {
                *vec_push(arena, &ports) = u16_to_ofp(own->v[i]);
            }
        }
    }
    *n = ports.n;
    return ports.v;
}

/* Marks, in the order of the task's policy, who is asked about.  Returns false
 * if somebody is that it does not have, or of whose ports too little is
 * known. */
static bool
find_asked(const struct verify_base *b, const struct verify_task *task,
           bool tenants[], unsigned long bound[])
{
    const struct policy *policy = task->policy;
    size_t slice, n = 0;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        slice = base_find_slice(b, tenant->name);
        if (slice == b->n || !mark_ports(b, task, tenant, slice, bound)) {
            return false;
        }
        tenants[i] = bitmap_is_set(b->asked.who, slice);
        n += tenants[i];
    }
    return n == bitmap_count1(b->asked.who, b->n + 1);
}

unsigned long *
base_others(const struct verify_base *b)
{
    unsigned long *others = bitmap_clone(b->asked.who, b->n + 1);

    bitmap_not(others, b->n + 1);
    return others;
}

/* Are the meters those that were there when all was proved? */
static bool
has_same_meters(const struct verify_base *b)
{
    for (size_t i = 0; i < b->asked.n_meters; i++) {
        const struct meter_change *m = &b->asked.meters[i];

        if (base_has_meter(b, m->id) != m->before) {
            return false;
        }
    }
    return true;
}

static bool
has_rule(const struct policy *policy, uint64_t id)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        if (policy->rules.v[i]->id == id) {
            return true;
        }
    }
    return false;
}

/* Is there a flow of a rule that has gone?  A stronger one may keep it from
 * all packets, which is an error now that it is no rule's. */
static bool
keeps_flows(const struct verify_base *b, const struct policy *policy,
            const struct verify_news *news)
{
    for (size_t i = 0; i < news->rules.n; i++) {
        uint64_t id = news->rules.v[i].id;

        if (!has_rule(policy, id)
            && cookies_hold(&b->cookies, COOKIE_MARK | id)) {
            return true;
        }
    }
    return false;
}

/* Is what can meet the change all that can differ? */
static bool
is_told(const struct verify_base *b, const struct verify_news *news)
{
    return (news->known && has_same_meters(b)
            && b->asked.n_changed <= MAX_CHANGED);
}

/* The task, of what the base has. */
static struct verify_task
take_task(const struct verify_base *b, const struct verify_task *task_,
          const bool tenants[])
{
    struct verify_task task = *task_;

    task.tables = b->tables;
    task.fields = b->fields;
    task.meters = b->meters.v;
    task.n_meters = b->meters.n;
    task.tags = b->tags;
    task.tenants = tenants;
    return task;
}

/* Of the one tenant that is asked about; NULL if it has none, or if there are
 * more. */
static const struct seam *
find_seam(const struct verify_base *b)
{
    size_t slice = bitmap_scan(b->asked.who, true, 0, b->n);

    return (slice < b->n && bitmap_count1(b->asked.who, b->n + 1) == 1
            ? b->seams[slice] : NULL);
}

bool
verify_change(const struct verify_base *b, const struct verify_task *task_,
              const struct verify_news *news, bool packets,
              struct arena *arena, struct verify_result *result)
{
    bool *tenants = arena_zalloc(arena, task_->policy->tenants.n + 1);
    struct verify_task task = take_task(b, task_, tenants);
    unsigned long *bound = arena_zalloc(arena, bitmap_n_bytes(UINT16_MAX + 1));
    struct region region = {
        .origins = b->origins,
        .flows = b->asked.changed, .n_flows = b->asked.n_changed,
        .rules = news->rules.v, .n_rules = news->rules.n,
    };
    struct limits limits = {
        .slices = b->slices, .change = true,
        .flows = b->asked.came, .n_flows = b->asked.n_came,
        .region = packets ? &region : NULL, .seam = find_seam(b),
    };
    unsigned long *others;
    bool proved;

    if (b->lost || task.policy->externals.n
        || (packets && !news->endpoint && !is_told(b, news))
        || !find_asked(b, &task, tenants, bound)
        || keeps_flows(b, task.policy, news)) {
        return false;
    }
    if (packets && news->endpoint) {
        *result = (struct verify_result) { .n_tenants = 1, .symmetry = true };
        return base_prove_endpoint(b, &task, news->endpoint, arena);
    }
    limits.others = others = base_others(b);
    limits.nobodys = find_nobodys(b, bound, arena, &limits.n_nobodys);
    proved = (!(packets && limits.n_nobodys)
              && verify_limited(&task, &limits, arena, result)
              && verify_is_proved(result));
    free(others);
    return proved;
}

bool
verify_base_is_proved(const struct verify_base *b)
{
    return (!b->lost && bitmap_is_all_zeros(b->asked.who, b->n + 1)
            && bitmap_is_all_zeros(b->later.who, b->n + 1));
}

const char *
verify_base_seamless(const struct verify_base *b)
{
    if (!verify_base_is_proved(b)) {
        return NULL;
    }
    for (size_t i = 0; i < b->n; i++) {
        if (!b->seams[i] && !bitmap_is_set(b->tried, i)) {
            return b->names[i];
        }
    }
    return NULL;
}

void
verify_base_try_seam(struct verify_base *b, const struct verify_task *task_,
                     const char *name, struct arena *arena)
{
    size_t slice = base_find_slice(b, name);
    const bool tenants[] = { true };
    struct verify_task task;
    unsigned long *bound, *others;
    struct verify_result result;
    struct seam *seam = NULL;
    struct limits limits = {
        .slices = b->slices, .change = true, .made = &seam,
    };

    bitmap_set1(b->tried, slice);
    if (!task_ || task_->policy->tenants.n != 1
        || task_->policy->externals.n) {
        return;
    }
    task = take_task(b, task_, tenants);
    bound = arena_zalloc(arena, bitmap_n_bytes(UINT16_MAX + 1));
    limits.others = others = bitmap_allocate1(b->n + 1);
    bitmap_set0(others, slice);
    if (mark_ports(b, &task, task.policy->tenants.v[0], slice, bound)
        && verify_limited(&task, &limits, arena, &result)
        && verify_is_proved(&result)) {
        b->seams[slice] = seam;
    } else {
        seam_destroy(seam);
    }
    free(others);
}

void
verify_base_put_seam(const struct verify_base *b, const char *tenant,
                     struct ds *ds)
{
    const struct seam *seam = b->seams[base_find_slice(b, tenant)];

    ds_put_format(ds, "%"PRIx64" ", b->state);
    if (seam) {
        seam_format(seam, ds);
    }
}

bool
verify_base_take_seam(struct verify_base *b, const char *tenant,
                      const char *text, size_t n)
{
    size_t slice = base_find_slice(b, tenant);
    struct seam *seam;
    uint64_t state;
    int skip = 0;

    if (slice == b->n || b->seams[slice] || !verify_base_is_proved(b)
        || !ovs_scan_len(text, &skip, "%"SCNx64" ", &state)
        || state != b->state) {
        return false;
    }
    seam = seam_parse(text + skip, n - skip);
    b->seams[slice] = seam;
    return seam != NULL;
}
