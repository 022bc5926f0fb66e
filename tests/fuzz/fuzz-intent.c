/* Copyright (c) 2026 The Bulkhead authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: the files of an intent, through the whole front end;
 * fuzz-intent.h says how they are one input.
 *
 * Nothing may crash.  What is refused has an error with its place.  What is
 * accepted prints as an intent that is accepted too, with as many warnings,
 * and prints the same.  Each node of a small one has a valid program, which
 * every target compiles, or says why not. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/diag.h"
#include "fuzz-intent.h"
#include "intent/files.h"
#include "intent/intent.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "plan/plan.h"
#include "sema/policy.h"
#include "util.h"

/* Larger intents are not compiled: what is to be found shows in small ones,
 * many a second. */
enum { MAX_COMPILED = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An intent, and the policy of one that is right. */
struct front {
    const struct intent *intent;        /* NULL: it is none. */
    const struct policy *policy;        /* NULL: it is wrong. */
    struct diags diags;
};

/* The role of a file that is called 'name', as intent_read() has it. */
static struct intent_file
file_create(struct arena *arena, const char *name, const char *text,
            size_t size)
{
    struct intent_file file = { .role = FILE_OPERATOR };
    const char *tenant = name + strlen("tenants/");

    if (!strncmp(name, "tenants/", strlen("tenants/"))) {
        file.role = FILE_TENANT;
        file.tenant = arena_strndup(arena, tenant, strcspn(tenant, "."));
    } else if (!strncmp(name, "bindings/", strlen("bindings/"))) {
        file.role = FILE_BINDINGS;
    }
    file.source = source_create(arena, name, arena_strndup(arena, text, size),
                                size);
    return file;
}

/* What stands before the first separator is a file of the operator's. */
static void
split(const char *data, size_t size, struct arena *arena, intent_files *files)
{
    const char *limit = data + size;
    const char *end;

    for (const char *p = data; p <= limit; p = end + 1) {
        const char *name = "input";

        end = memchr(p, FILE_SEPARATOR, limit - p);
        end = end ? end : limit;
        if (p > data) {
            size_t len = strcspn(p, "\n");

            len = MIN(len, (size_t) (end - p));
            name = arena_strndup(arena, p, len);
            p += MIN(len + 1, (size_t) (end - p));
        } else if (end == p && size) {
            continue;
        }
        *vec_push(arena, files) = file_create(arena, name, p, end - p);
    }
}

/* Only what is missing in all of several files is in none of them. */
static bool
has_place(const struct diag *d, size_t n_files)
{
    static const char missing[] = "no file of the intent has ";

    return (d->span.source
            || (n_files > 1
                && !strncmp(d->cause, missing, strlen(missing))));
}

static void
front_end(const struct intent_file *files, size_t n, struct arena *arena,
          struct front *front)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    diags_init(&front->diags, arena);
    front->intent = intent_parse_files(files, n, arena, &front->diags);
    front->policy = (front->intent
                     ? policy_resolve(front->intent, arena, &front->diags)
                     : NULL);
    ovs_assert(!front->policy == (front->diags.n_errors > 0));
    for (size_t i = 0; i < front->diags.list.n; i++) {
        ovs_assert(has_place(&front->diags.list.v[i], n));
    }
    diags_format(&front->diags, &ds);
    ds_destroy(&ds);
}

/* Prints the intent, as one file, and takes what it printed for another. */
static void
check_print(const struct front *front, struct arena *arena)
{
    struct ds first = DS_EMPTY_INITIALIZER, second = DS_EMPTY_INITIALIZER;
    struct intent_file file;
    struct front again;

    intent_print(front->intent, &first);
    file = file_create(arena, "printed", ds_cstr(&first), first.length);
    front_end(&file, 1, arena, &again);
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
    intent_files files = VEC_INIT;
    struct front front;

    split(arena_strndup(arena, (const char *) data, size), size, arena,
          &files);
    front_end(files.v, files.n, arena, &front);
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
