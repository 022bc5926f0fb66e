/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "sema/policy.h"

/* What is not paused drops above the buffer of all. */
static void
check_buffer(const struct policy_class *class, struct diags *diags)
{
    const struct quantity *buffer = &class->buffer;

    if (!class->lossless) {
        struct diag *d = value_error(diags, buffer->at, "class '%s' is not "
                                     "lossless, and only such a class has a "
                                     "buffer of its own", class->name);

        diag_remedy(diags, d, "write \"lossless\": true, or remove "
                    "\"buffer\"");
    } else if (buffer->n < MIN_BURST || buffer->n > MAX_BURST) {
        struct diag *d = value_error(
            diags, buffer->at, buffer->n < MIN_BURST
            ? "this does not hold a full frame of %d bytes"
            : "this is more than any port has (%d bytes)",
            buffer->n < MIN_BURST ? MIN_BURST : MAX_BURST);

        diag_remedy(diags, d, "choose a buffer from %d bytes to 1GiB",
                    MIN_BURST);
    }
}

void
check_buffers(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->classes.n; i++) {
        if (policy->classes.v[i]->buffer.at) {
            check_buffer(policy->classes.v[i], diags);
        }
    }
}

/* A limit of a tenant that sends in the class; NULL if none does.  That of a
 * legacy VF is a rate of the NIC. */
static const struct quantity *
find_limit(const struct policy *policy, const struct policy_class *class,
           const struct policy_tenant **tenant)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        for (size_t j = 0; rule->class == class && j < rule->from.n; j++) {
            *tenant = rule->from.v[j]->tenant;
            if (!rule->from.v[j]->legacy
                && (*tenant)->intent->send.limit.at) {
                return &(*tenant)->intent->send.limit;
            }
        }
    }
    return NULL;
}

void
check_lossless(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->classes.n; i++) {
        const struct policy_class *class = policy->classes.v[i];
        const struct policy_tenant *tenant = NULL;
        const struct quantity *limit
            = class->lossless ? find_limit(policy, class, &tenant) : NULL;

        if (limit) {
            struct diag *d = value_warning(
                diags, class->lossless, "packets of this lossless class drop "
                "above the limit of tenant '%s'", tenant->name);

            diag_remedy(diags, d, "a lossless class needs a rate of the NIC, "
                        "or pause frames, below the limit: see to it, and "
                        "ignore this");
            diag_see(diags, d, limit->at->span, "the limit");
        }
    }
}
