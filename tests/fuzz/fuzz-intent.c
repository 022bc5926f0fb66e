/* Copyright (c) 2026 The Bulkhead authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: the text of an intent, through the whole front end.
 *
 * Nothing may crash.  What is refused has an error with a place.  What is
 * accepted prints as an intent that is accepted too, with as many warnings,
 * and prints the same.  Each node of a small one has a valid program, which
 * every target compiles, or says why not. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/diag.h"
#include "intent/intent.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "plan/plan.h"
#include "sema/policy.h"
#include "util.h"

/* Larger intents are not compiled: what is to be found shows in small ones,
 * many a second. */
enum { MAX_COMPILED = 8192 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void) argc;
    (void) argv;
    return 0;
}

/* An intent, and the policy of one that is right. */
struct front {
    const struct intent *intent;        /* NULL: it is none. */
    const struct policy *policy;        /* NULL: it is wrong. */
    struct diags diags;
};

static void
front_end(const char *text, size_t size, struct arena *arena,
          struct front *front)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    diags_init(&front->diags, arena);
    front->intent = intent_parse(source_create(arena, "input", text, size),
                                 arena, &front->diags);
    front->policy = (front->intent
                     ? policy_resolve(front->intent, arena, &front->diags)
                     : NULL);
    ovs_assert(!front->policy == (front->diags.n_errors > 0));
    for (size_t i = 0; i < front->diags.list.n; i++) {
        ovs_assert(front->diags.list.v[i].span.source);
    }
    diags_format(&front->diags, &ds);
    ds_destroy(&ds);
}

/* Prints the intent and takes what it printed for another. */
static void
check_print(const struct front *front, struct arena *arena)
{
    struct ds first = DS_EMPTY_INITIALIZER, second = DS_EMPTY_INITIALIZER;
    struct front again;

    intent_print(front->intent, &first);
    front_end(ds_cstr(&first), first.length, arena, &again);
    ovs_assert(again.intent);
    ovs_assert(!again.policy == !front->policy);
    ovs_assert(again.diags.n_warnings == front->diags.n_warnings);
    intent_print(again.intent, &second);
    ovs_assert(!strcmp(ds_cstr(&first), ds_cstr(&second)));
    ds_destroy(&first);
    ds_destroy(&second);
}

/* 'node' is NULL for the whole fabric. */
static void
check_node(const struct policy *policy, const char *node, struct arena *arena)
{
    for (size_t i = 0; i < n_backends; i++) {
        struct ir_prog *prog = ir_build(policy, node, arena);
        struct diags diags;
        struct plan plan;

        diags_init(&diags, arena);
        ovs_assert(prog && ir_validate(prog, &diags));
        ovs_assert(backend_compile(backends[i], prog, arena, &diags, &plan)
                   == !diags.n_errors);
        ovs_assert(!plan.conflict);
        ovs_assert(ir_validate(prog, &diags));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    struct front front;

    front_end(arena_strndup(arena, (const char *) data, size), size, arena,
              &front);
    if (front.intent) {
        check_print(&front, arena);
    }
    for (size_t i = 0; front.policy && size <= MAX_COMPILED
         && i < front.intent->nodes.n; i++) {
        check_node(front.policy, front.intent->nodes.v[i].name.s, arena);
    }
    if (front.policy && size <= MAX_COMPILED) {
        check_node(front.policy, NULL, arena);
    }
    arena_destroy(arena);
    return 0;
}
