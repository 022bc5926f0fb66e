/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/resolve.h"

#include <string.h>

#include "sema/check.h"
#include "sema/tree.h"

/* Classes are told apart by what is written into packets. */
static bool
is_same(const struct policy_class *a, const struct policy_class *b)
{
    return a->dscp == b->dscp && a->queue == b->queue;
}

static void
refuse_same(struct resolver *r, const struct intent_part *intent,
            const struct policy_class *class,
            const struct policy_class *other)
{
    struct diag *d = diag_error(
        r->diags, intent->class.at->key_span,
        value_pointer(intent->class.at, r->diags->arena),
        "class '%s' cannot be told from %s%s%s: both have DSCP %u and queue "
        "%u", class->name, other ? "class '" : "best-effort",
        other ? other->name : "", other ? "'" : "", class->dscp,
        class->queue);

    diag_remedy(r->diags, d, "give it another DSCP or queue, or remove it "
                "here");
}

static void
add_part(struct resolver *r, struct policy_tenant *tenant, bool receive,
         const struct intent_part *intent)
{
    const struct policy_class *class = resolve_class(r, intent->class);

    if (!strcmp(intent->class.s, POLICY_BEST_EFFORT)) {
        struct diag *d = diag_error(
            r->diags, intent->class.at->key_span,
            value_pointer(intent->class.at, r->diags->arena),
            "best-effort has what no class here has");

        diag_remedy(r->diags, d, "remove it");
    } else if (class) {
        if (!class->dscp && !class->queue) {
            refuse_same(r, intent, class, NULL);
        }
        for (size_t i = 0; i < tenant->parts[receive].n; i++) {
            const struct policy_class *other
                = tenant->parts[receive].v[i].class;

            if (is_same(class, other)) {
                refuse_same(r, intent, class, other);
            }
        }
        *vec_push(r->arena, &tenant->parts[receive])
            = (struct policy_part) { class, &intent->bandwidth,
                                     intent->class.at };
    }
}

void
resolve_parts(struct resolver *r, struct policy_tenant *tenant)
{
    for (int receive = 0; receive < 2; receive++) {
        const struct intent_bandwidth *b = tenant_bandwidth(tenant, receive);
        size_t n_errors = r->diags->n_errors;

        for (size_t i = 0; i < b->parts.n; i++) {
            add_part(r, tenant, receive, &b->parts.v[i]);
        }
        /* One text may be for both directions. */
        if (r->diags->n_errors > n_errors) {
            break;
        }
    }
}

const struct policy_part *
tenant_part(const struct policy_tenant *tenant, bool receive, uint8_t dscp,
            uint16_t queue)
{
    for (size_t i = 0; i < tenant->parts[receive].n; i++) {
        const struct policy_part *part = &tenant->parts[receive].v[i];

        if (part->class->dscp == dscp && part->class->queue == queue) {
            return part;
        }
    }
    return NULL;
}
