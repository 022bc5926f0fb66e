/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/base.h"

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "sema/ident.h"
#include "sema/policy.h"
#include "util.h"
#include "verify/compare.h"
#include "verify/cookies.h"
#include "verify/scope.h"
#include "verify/touched.h"

/* Memory of flows that have gone is given back with the base. */
enum { MAX_GONE = 1000 };

/* More flows are not looked at one by one. */
enum { MAX_CHANGED = 64 };

struct verify_base {
    struct table_set *tables;
    struct slices *slices;
    struct exec_fields *fields; /* NULL: not known any more. */
    struct origins *origins;
    struct cookies cookies;
    char **names;               /* Of tenants, sorted: those of slices. */
    size_t n;                   /* Tenants; there is one slice more. */
    struct {
        uint32_t *v;
        size_t n, allocated;
    } meters;
    bool tags;
    uint32_t *owners;           /* By port: the slice whose it is, or 'n'. */
    size_t n_ports;             /* From here on they are nobody's. */
    size_t n_gone;
    struct touched asked;       /* In the proof that has begun, or is to be
                                 * asked in the next. */
    struct touched later;       /* Since it began. */
    char *lost;
};

/* Notes whose a port is.  Returns false if it was another's. */
static bool
note_port(struct verify_base *b, ofp_port_t port, size_t slice)
{
    uint32_t *owner = &b->owners[ofp_to_u16(port)];

    *owner = *owner == b->n ? slice : *owner;
    b->n_ports = MAX(b->n_ports, ofp_to_u16(port) + 1);
    return port != OFPP_NONE && *owner == slice;
}

/* The port of an endpoint that is here; OFPP_NONE if it is not. */
static ofp_port_t
port_of(const struct verify_task *task, const struct policy_endpoint *e)
{
    return (e->bound && !strcmp(e->node->name.s, task->node)
            ? table_set_port(task->tables, e->intent->interface.s)
            : OFPP_NONE);
}

static void
note_ports(struct verify_base *b, const struct verify_task *task)
{
    b->owners = xcalloc(UINT16_MAX + 1, sizeof *b->owners);
    for (size_t i = 0; i <= UINT16_MAX; i++) {
        b->owners[i] = b->n;
    }
    for (size_t i = 0; i < b->n; i++) {
        const struct policy_tenant *tenant = task->policy->tenants.v[i];

        for (size_t k = 0; k < tenant->endpoints.n; k++) {
            ofp_port_t port = port_of(task, tenant->endpoints.v[k]);

            if (port != OFPP_NONE) {
                note_port(b, port, i);
            }
        }
    }
}

struct verify_base *
verify_base_create(const struct verify_task *task)
{
    struct slices *slices = slices_create(task);
    const struct policy *policy = task->policy;
    struct verify_base *b;

    if (!slices) {
        return NULL;
    }
    b = xzalloc(sizeof *b);
    b->tables = task->tables;
    b->slices = slices;
    b->fields = exec_fields_create(task->tables);
    b->origins = origins_create(task->tables);
    cookies_init(&b->cookies, task->tables);
    b->n = policy->tenants.n;
    b->names = xcalloc(b->n + 1, sizeof *b->names);
    for (size_t i = 0; i < b->n; i++) {
        b->names[i] = xstrdup(policy->tenants.v[i]->name);
    }
    b->tags = task->tags;
    b->meters.n = task->n_meters;
    b->meters.allocated = task->n_meters + 1;
    b->meters.v = xcalloc(b->meters.allocated, sizeof *b->meters.v);
    nullable_memcpy(b->meters.v, task->meters,
                    task->n_meters * sizeof *b->meters.v);
    note_ports(b, task);
    touched_init(&b->asked, b->n);
    touched_init(&b->later, b->n);
    return b;
}

void
verify_base_destroy(struct verify_base *b)
{
    if (b) {
        slices_destroy(b->slices);
        exec_fields_destroy(b->fields);
        origins_destroy(b->origins);
        cookies_destroy(&b->cookies);
        for (size_t i = 0; i < b->n; i++) {
            free(b->names[i]);
        }
        free(b->names);
        free(b->meters.v);
        free(b->owners);
        touched_destroy(&b->asked);
        touched_destroy(&b->later);
        free(b->lost);
        free(b);
    }
}

void
verify_base_lose(struct verify_base *b, const char *why)
{
    b->lost = b->lost ? b->lost : xstrdup(why);
}

const char *
verify_base_lost(const struct verify_base *b)
{
    return b->lost;
}

/* The slice of the tenant; 'b->n', which is nobody's, if it has none. */
static size_t
find_slice(const struct verify_base *b, const char *name)
{
    size_t low = 0, high = b->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (strcmp(b->names[middle], name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < b->n && !strcmp(b->names[low], name) ? low : b->n;
}

static void
touch_flow(struct verify_base *b, const struct table_flow *flow)
{
    bitmap_or(b->later.who, slices_of(b->slices, flow), b->n + 1);
}

void
verify_base_add(struct verify_base *b, const char *text)
{
    struct table_flow *flow;
    const char *wrong = b->lost ? b->lost
                        : table_set_add(b->tables, text, &flow);

    if (wrong || !slices_add(b->slices, flow)) {
        verify_base_lose(b, wrong ? wrong : "slices are not known");
        return;
    }
    if (b->fields && !exec_fields_add(b->fields, flow)) {
        exec_fields_destroy(b->fields);
        b->fields = NULL;
    }
    touch_flow(b, flow);
    origins_add(b->origins, flow);
    cookies_add(&b->cookies, flow->cookie);
    touched_come(&b->later, flow);
    touched_change(&b->later, flow);
}

void
verify_base_remove(struct verify_base *b, const char *text)
{
    struct table_flow *flow;
    const char *wrong = b->lost ? b->lost
                        : table_set_remove(b->tables, text, &flow);

    if (wrong || b->n_gone++ > b->tables->flows.n + MAX_GONE) {
        verify_base_lose(b, wrong ? wrong : "too many flows have gone");
        return;
    }
    touch_flow(b, flow);
    slices_remove(b->slices, flow, b->tables->flows.n);
    origins_remove(b->origins, flow);
    cookies_remove(&b->cookies, flow->cookie);
    touched_change(&b->later, flow);
    touched_go(&b->asked, flow);
    touched_go(&b->later, flow);
}

static bool
has_meter(const struct verify_base *b, uint32_t id)
{
    for (size_t i = 0; i < b->meters.n; i++) {
        if (b->meters.v[i] == id) {
            return true;
        }
    }
    return false;
}

void
verify_base_meter(struct verify_base *b, uint32_t id, bool there)
{
    size_t n = 0;

    touched_meter(&b->later, id, has_meter(b, id));
    for (size_t i = 0; i < b->meters.n; i++) {
        if (b->meters.v[i] != id) {
            b->meters.v[n++] = b->meters.v[i];
        }
    }
    b->meters.n = n;
    if (there) {
        if (n >= b->meters.allocated) {
            b->meters.v = x2nrealloc(b->meters.v, &b->meters.allocated,
                                     sizeof *b->meters.v);
        }
        b->meters.v[b->meters.n++] = id;
    }
    for (uint32_t i = 0; i <= COMPARE_MAX_ALIKE; i++) {
        slices_add_calling(b->slices, id + i, b->later.who);
    }
}

void
verify_base_tenant(struct verify_base *b, const char *tenant)
{
    size_t slice = find_slice(b, tenant);

    if (slice == b->n) {
        verify_base_lose(b, "there is another tenant");
    }
    bitmap_set1(b->later.who, slice);
}

void
verify_base_port(struct verify_base *b, const char *tenant,
                 const char *interface)
{
    ofp_port_t port = table_set_port(b->tables, interface);
    size_t slice = find_slice(b, tenant);

    if (slice == b->n || !note_port(b, port, slice)
        || !slices_add_port(b->slices, slice, port)) {
        verify_base_lose(b, "an interface is another's");
    }
}

void
verify_base_begin(struct verify_base *b)
{
    bitmap_or(b->asked.who, b->later.who, b->n + 1);
    for (size_t i = 0; i < b->later.n_came; i++) {
        touched_come(&b->asked, b->later.came[i]);
    }
    for (size_t i = 0; i < b->later.n_changed; i++) {
        touched_change(&b->asked, b->later.changed[i]);
    }
    for (size_t i = 0; i < b->later.n_meters; i++) {
        touched_meter(&b->asked, b->later.meters[i].id,
                   b->later.meters[i].before);
    }
    touched_clear(&b->later, b->n);
    if (!b->fields && !b->lost) {
        b->fields = exec_fields_create(b->tables);
    }
}

void
verify_base_end(struct verify_base *b, bool proved)
{
    if (proved) {
        touched_clear(&b->asked, b->n);
    }
}

const char *
verify_base_asked(const struct verify_base *b, size_t *i)
{
    size_t found = bitmap_scan(b->asked.who, true, *i, b->n);

    *i = found + 1;
    return found < b->n ? b->names[found] : NULL;
}

size_t
verify_base_n_tenants(const struct verify_base *b)
{
    return b->n;
}

/* Are the tenant's ports known as those of its slice?  Marks them. */
static bool
mark_ports(const struct verify_base *b, const struct verify_task *task,
           const struct policy_tenant *tenant, size_t slice,
           unsigned long bound[])
{
    bool known = true;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        uint16_t port = ofp_to_u16(port_of(task, tenant->endpoints.v[i]));

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

    for (size_t i = 0; i < b->n_ports; i++) {
        if (b->owners[i] != b->n && !bitmap_is_set(bound, i)
            && bitmap_is_set(b->asked.who, b->owners[i])) {
            *vec_push(arena, &ports) = u16_to_ofp(i);
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

        slice = find_slice(b, tenant->name);
        if (slice == b->n || !mark_ports(b, task, tenant, slice, bound)) {
            return false;
        }
        tenants[i] = bitmap_is_set(b->asked.who, slice);
        n += tenants[i];
    }
    return n == bitmap_count1(b->asked.who, b->n + 1);
}

/* Those that are not asked about, nobody's too. */
static unsigned long *
find_others(const struct verify_base *b)
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

        if (has_meter(b, m->id) != m->before) {
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

bool
verify_change(const struct verify_base *b, const struct verify_task *task_,
              const struct verify_news *news, bool packets,
              struct arena *arena, struct verify_result *result)
{
    size_t n_tenants = task_->policy->tenants.n;
    bool *tenants = arena_zalloc(arena, n_tenants + 1);
    struct verify_task task = *task_;
    unsigned long *bound = arena_zalloc(arena, bitmap_n_bytes(UINT16_MAX + 1));
    struct region region = {
        .origins = b->origins,
        .flows = b->asked.changed, .n_flows = b->asked.n_changed,
        .rules = news->rules.v, .n_rules = news->rules.n,
    };
    struct limits limits = {
        .slices = b->slices, .change = true,
        .flows = b->asked.came, .n_flows = b->asked.n_came,
        .region = packets ? &region : NULL,
    };
    unsigned long *others;
    bool proved;

    task.tables = b->tables;
    task.fields = b->fields;
    task.meters = b->meters.v;
    task.n_meters = b->meters.n;
    task.tags = b->tags;
    task.tenants = tenants;
    if (b->lost || task.policy->externals.n || (packets && !is_told(b, news))
        || !find_asked(b, &task, tenants, bound)
        || keeps_flows(b, task.policy, news)) {
        return false;
    }
    limits.others = others = find_others(b);
    limits.nobodys = find_nobodys(b, bound, arena, &limits.n_nobodys);
    proved = (!(packets && limits.n_nobodys)
              && verify_limited(&task, &limits, arena, result)
              && verify_is_proved(result));
    free(others);
    return proved;
}
