/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/base-private.h"

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "sema/policy.h"
#include "util.h"
#include "verify/compare.h"

/* Memory of flows that have gone is given back with the base. */
enum { MAX_GONE = 1000 };

/* What is made of the base as it is, is not of what it was. */
static void
change_state(struct verify_base *b)
{
    static uint64_t last;

    b->state = ++last;
}

/* Notes whose a port is.  Returns false if it was another's. */
static bool
note_port(struct verify_base *b, ofp_port_t port, size_t slice)
{
    uint32_t *owner = &b->owners[ofp_to_u16(port)];
    struct slice_ports *ports = &b->ports[slice];

    if (*owner == b->n && slice < b->n) {
        if (ports->n >= ports->allocated) {
            ports->v = x2nrealloc(ports->v, &ports->allocated,
                                  sizeof *ports->v);
        }
        ports->v[ports->n++] = ofp_to_u16(port);
        *owner = slice;
    }
    return port != OFPP_NONE && *owner == slice;
}

ofp_port_t
base_port_of(const struct verify_task *task, const struct policy_endpoint *e)
{
    return (e->bound && !strcmp(e->node->name.s, task->node)
            ? table_set_port(task->tables, e->intent->interface.s)
            : OFPP_NONE);
}

static void
note_ports(struct verify_base *b, const struct verify_task *task)
{
    b->ports = xcalloc(b->n + 1, sizeof *b->ports);
    b->owners = xcalloc(UINT16_MAX + 1, sizeof *b->owners);
    for (size_t i = 0; i <= UINT16_MAX; i++) {
        b->owners[i] = b->n;
    }
    for (size_t i = 0; i < b->n; i++) {
        const struct policy_tenant *tenant = task->policy->tenants.v[i];

        for (size_t k = 0; k < tenant->endpoints.n; k++) {
            ofp_port_t port = base_port_of(task, tenant->endpoints.v[k]);

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
    b->seams = xcalloc(b->n + 1, sizeof *b->seams);
    b->tried = bitmap_allocate(b->n + 1);
    change_state(b);
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
        for (size_t i = 0; i < b->n; i++) {
            seam_destroy(b->seams[i]);
            free(b->ports[i].v);
        }
        free(b->ports);
        free(b->seams);
        free(b->tried);
        free(b->lost);
        free(b);
    }
}

void
verify_base_lose(struct verify_base *b, const char *why)
{
    change_state(b);
    b->lost = b->lost ? b->lost : xstrdup(why);
}

const char *
verify_base_lost(const struct verify_base *b)
{
    return b->lost;
}

size_t
base_find_slice(const struct verify_base *b, const char *name)
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

/* Forgets the seams of these slices. */
static void
forget_seams(struct verify_base *b, const unsigned long who[])
{
    size_t i;

    BITMAP_FOR_EACH_1 (i, b->n, who) {
        seam_destroy(b->seams[i]);
        b->seams[i] = NULL;
        bitmap_set0(b->tried, i);
    }
}

static void
touch_flow(struct verify_base *b, const struct table_flow *flow)
{
    const unsigned long *who = slices_of(b->slices, flow);

    change_state(b);
    bitmap_or(b->later.who, who, b->n + 1);
    if (!seam_is_about(flow)) {
        forget_seams(b, who);
    }
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

bool
base_has_meter(const struct verify_base *b, uint32_t id)
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
    unsigned long *who = bitmap_allocate(b->n + 1);
    uint32_t near[COMPARE_MAX_NEAR];
    size_t n = 0, n_near = compare_near(id, 1, near);

    change_state(b);
    touched_meter(&b->later, id, base_has_meter(b, id));
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
    for (size_t i = 0; i < n_near; i++) {
        slices_add_calling(b->slices, near[i], who);
    }
    bitmap_or(b->later.who, who, b->n + 1);
    forget_seams(b, who);
    free(who);
}

void
verify_base_tenant(struct verify_base *b, const char *tenant)
{
    size_t slice = base_find_slice(b, tenant);

    if (slice == b->n) {
        verify_base_lose(b, "there is another tenant");
    }
    change_state(b);
    bitmap_set1(b->later.who, slice);
}

void
verify_base_port(struct verify_base *b, const char *tenant,
                 const char *interface)
{
    ofp_port_t port = table_set_port(b->tables, interface);
    size_t slice = base_find_slice(b, tenant);

    change_state(b);
    if (slice == b->n || !note_port(b, port, slice)
        || !slices_add_port(b->slices, slice, port)) {
        verify_base_lose(b, "an interface is another's");
    }
}

void
verify_base_means_else(struct verify_base *b)
{
    change_state(b);
    forget_seams(b, b->asked.who);
}

void
verify_base_begin(struct verify_base *b)
{
    change_state(b);
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
    size_t i;

    change_state(b);
    if (proved) {               /* Who had no seam may have one now. */
        BITMAP_FOR_EACH_1 (i, b->n, b->asked.who) {
            bitmap_set(b->tried, i, b->seams[i] != NULL);
        }
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
