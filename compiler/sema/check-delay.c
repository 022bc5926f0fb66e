/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "sema/policy.h"

void
check_delays(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->classes.n; i++) {
        const struct value *at = policy->classes.v[i]->delay_bound.at;

        if (at) {
            struct diag *d = value_warning(
                diags, at, "this bound is not proved: nothing computes how "
                "long packets of a class may wait");

            diag_remedy(diags, d, "remove it before you compile for a "
                        "switch; \"burst\" bounds what may wait at once");
        }
    }
}
