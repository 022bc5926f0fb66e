/* Copyright (c) 2026 The Bulkhead authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: the text of a policy program.
 *
 * Nothing may crash.  What is refused has an error with a place.  What is
 * accepted prints as text that is parsed to the same text, and every target
 * lowers it, or says why not. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/diag.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "plan/plan.h"
#include "util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_program(struct ir_prog *prog, struct arena *arena)
{
    struct ds first = DS_EMPTY_INITIALIZER, second = DS_EMPTY_INITIALIZER;
    const struct ir_prog *again;
    struct diags diags;

    diags_init(&diags, arena);
    ir_print(prog, &first);
    again = ir_parse(source_create(arena, "printed", ds_cstr(&first),
                                   first.length), arena, &diags);
    ovs_assert(again);
    ir_print(again, &second);
    ovs_assert(!strcmp(ds_cstr(&first), ds_cstr(&second)));
    for (size_t i = 0; i < n_backends; i++) {
        struct plan plan;

        diags_init(&diags, arena);
        bool ok = backend_compile(backends[i], prog, arena, &diags, &plan);
        ovs_assert(ok == !diags.n_errors);
        ovs_assert(ir_validate(prog, &diags));
    }
    ds_destroy(&first);
    ds_destroy(&second);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    const char *text = arena_strndup(arena, (const char *) data, size);
    struct ir_prog *prog;
    struct diags diags;

    diags_init(&diags, arena);
    prog = ir_parse(source_create(arena, "input", text, size), arena, &diags);
    ovs_assert(prog ? !diags.n_errors
               : diags.n_errors && diags.list.v[0].span.source);
    if (prog) {
        check_program(prog, arena);
    } else {
        struct ds ds = DS_EMPTY_INITIALIZER;

        diags_format(&diags, &ds);
        ds_destroy(&ds);
    }
    arena_destroy(arena);
    return 0;
}
