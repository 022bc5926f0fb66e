/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/backend.h"

#include <string.h>

#include "backend/asap2/asap2.h"
#include "backend/kernel/kernel.h"
#include "backend/openflow/openflow.h"
#include "backend/ovn/ovn.h"
#include "backend/text/text.h"
#include "base/diag.h"
#include "ir/ir.h"
#include "plan/plan.h"
#include "util.h"

const struct backend *const backends[] = {
    &openflow_backend,
    &text_backend,
    &ovn_backend,
    &asap2_backend,
    &kernel_backend,
};
const size_t n_backends = ARRAY_SIZE(backends);

const struct backend *
backend_find(const char *name)
{
    for (size_t i = 0; i < n_backends; i++) {
        if (!strcmp(backends[i]->name, name)) {
            return backends[i];
        }
    }
    return NULL;
}

bool
backend_compile(const struct backend *backend, struct ir_prog *prog,
                struct arena *arena, struct diags *diags, struct plan *plan)
{
    size_t n_errors = diags->n_errors;

    plan_init(plan, arena, prog->node, backend->name);
    if (backend->fabric != ir_is_fabric(prog)) {
        diag_error(diags, prog->place.span, prog->place.pointer,
                   "the target %s takes the program of %s", backend->name,
                   backend->fabric ? "the fabric" : "a node");
    } else if (backend->check(prog, backend->caps, diags)) {
        if (backend->note) {
            backend->note(prog, plan);
        }
        if (backend->lower) {
            backend->lower(prog, arena);
        }
        backend->emit(prog, backend->caps, plan, diags);
    }
    return diags->n_errors == n_errors;
}
