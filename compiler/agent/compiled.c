/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/compiled.h"

#include <stdlib.h>
#include <string.h>

#include "agent/bind.h"
#include "backend/backend.h"
#include "base/diag.h"
#include "intent/files.h"
#include "intent/intent.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "plan/record.h"
#include "push/ovsdb.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(intent);

/* A tenant, as its file has it. */
struct tenant {
    const struct intent_tenant *intent; /* In the arena of all files; or NULL:
                                         * 'text' is newer. */
    char *path;                 /* Of its own file, or NULL. */
    char *text;                 /* Of that, if it was read by itself. */
    size_t len;
    struct bound bound;
};

/* All that was read at once. */
struct compiled {
    const char *const *names;
    size_t n_names;
    const char *node, *bridge;
    struct arena *arena;        /* Of what follows. */
    intent_files files;
    const struct intent *intent;        /* As the files have it. */
    struct shash tenants;       /* Contains "struct tenant"s. */
    struct resident *resident;
    char *errors;
};

struct compiled *
compiled_create(const char *const names[], size_t n, const char *node,
                const char *bridge)
{
    struct compiled *c = xzalloc(sizeof *c);

    c->names = names;
    c->n_names = n;
    c->node = node;
    c->bridge = bridge;
    shash_init(&c->tenants);
    return c;
}

static void
clear_tenants(struct shash *tenants)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, tenants) {
        struct tenant *t = node->data;

        bound_destroy(&t->bound);
        free(t->path);
        free(t->text);
        free(t);
    }
    shash_destroy(tenants);
}

void
compiled_destroy(struct compiled *c)
{
    if (c) {
        resident_destroy(c->resident);
        clear_tenants(&c->tenants);
        arena_destroy(c->arena);
        free(c->errors);
        free(c);
    }
}

/* Notes what is wrong; NULL if nothing is. */
static void
set_errors(struct compiled *c, struct diags *diags)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    free(c->errors);
    c->errors = NULL;
    if (diags && diags->n_errors) {
        diags_format(diags, &ds);
        c->errors = ds_steal_cstr(&ds);
        VLOG_WARN("the intent is wrong, and the last good one stays:\n%s",
                  c->errors);
    }
    ds_destroy(&ds);
}

static bool
has_node(const struct compiled *c, const struct intent *intent,
         struct diags *diags)
{
    for (size_t i = 0; i < intent->nodes.n; i++) {
        if (!strcmp(intent->nodes.v[i].name.s, c->node)) {
            return true;
        }
    }
    diag_remedy(diags, diag_error(diags, (struct span) { NULL, 0, 0 }, NULL,
                                  "the intent has no node '%s'", c->node),
                "add it, or run bulkheadd for another --node");
    return false;
}

/* The file that defines the tenant and nothing else, or NULL. */
static const struct intent_file *
file_of(const intent_files *files, const char *tenant)
{
    for (size_t i = 0; i < files->n; i++) {
        if (files->v[i].role == FILE_TENANT
            && !strcmp(files->v[i].tenant, tenant)) {
            return &files->v[i];
        }
    }
    return NULL;
}

/* Makes 'whole' the intent of what the bridge has of the tenants of
 * 'intent'. */
static void
bind_all(const struct compiled *c, const struct intent *intent,
         const intent_files *files, const struct bridge_info *info,
         struct arena *arena, struct shash *tenants, struct intent *whole)
{
    *whole = *intent;
    memset(&whole->tenants, 0, sizeof whole->tenants);
    for (size_t i = 0; i < intent->tenants.n; i++) {
        const struct intent_tenant *t = &intent->tenants.v[i];
        const struct intent_file *file = file_of(files, t->name.s);
        struct tenant *tenant = xzalloc(sizeof *tenant);

        tenant->intent = t;
        tenant->path = file ? xstrdup(file->source->name) : NULL;
        bound_init(&tenant->bound);
        *vec_push(arena, &whole->tenants) = *bind_tenant(
            t, c->node, c->bridge, info, arena, &tenant->bound);
        shash_add(tenants, t->name.s, tenant);
    }
}

enum compiled_news
compiled_load(struct compiled *c, const struct bridge_info *info)
{
    struct arena *arena = arena_create();
    struct shash tenants = SHASH_INITIALIZER(&tenants);
    struct intent *whole = arena_zalloc(arena, sizeof *whole);
    const struct intent *intent = NULL;
    struct resident *resident = NULL;
    intent_files files = VEC_INIT;
    struct diags diags;

    diags_init(&diags, arena);
    if (intent_read(c->names, c->n_names, arena, &diags, &files)) {
        intent = intent_parse_files(files.v, files.n, arena, &diags);
    }
    if (intent && has_node(c, intent, &diags)) {
        bind_all(c, intent, &files, info, arena, &tenants, whole);
        resident = resident_create(whole, c->node, backends[0], &diags);
    }
    set_errors(c, &diags);
    if (!resident) {
        clear_tenants(&tenants);
        arena_destroy(arena);
        return COMPILED_SAME;
    }
    resident_destroy(c->resident);
    clear_tenants(&c->tenants);
    arena_destroy(c->arena);
    c->arena = arena;
    c->files = files;
    c->intent = intent;
    shash_init(&c->tenants);
    shash_swap(&c->tenants, &tenants);
    c->resident = resident;
    VLOG_INFO("read %"PRIuSIZE" files of %"PRIuSIZE" tenants", files.n,
              intent->tenants.n);
    return COMPILED_ANEW;
}

/* Compiles 'intent' in the place of 't'.  'arena', which holds it, is the
 * resident's then.  Returns false, with 'arena' still the caller's, if that
 * cannot be. */
static bool
put_tenant(struct compiled *c, struct tenant *t,
           const struct intent_tenant *intent, const struct bridge_info *info,
           struct arena *arena, struct diags *diags,
           struct resident_diff *diff)
{
    struct bound bound;
    bool ok;

    bound_init(&bound);
    ok = resident_put(c->resident,
                      bind_tenant(intent, c->node, c->bridge, info, arena,
                                  &bound), arena, diags, diff);
    if (ok) {
        bound_swap(&t->bound, &bound);
    }
    bound_destroy(&bound);
    return ok;
}

/* Compiles the tenant that is in 'file', alone.  Returns false, with 'arena'
 * still the caller's, if that cannot be. */
static bool
put_file(struct compiled *c, struct tenant *t, const struct intent_file *file,
         const struct bridge_info *info, struct arena *arena,
         struct diags *diags, struct resident_diff *diff)
{
    const struct intent *part = intent_parse_tenants(file, c->intent, arena,
                                                     diags);

    if (!part || part->tenants.n != 1
        || strcmp(part->tenants.v[0].name.s, file->tenant)
        || !put_tenant(c, t, &part->tenants.v[0], info, arena, diags, diff)) {
        return false;
    }
    free(t->text);
    t->text = xmemdup0(file->source->text, file->source->len);
    t->len = file->source->len;
    t->intent = NULL;
    return true;
}

/* As put_file(), of 'text'; the bytes are copied. */
static bool
put_text(struct compiled *c, struct tenant *t, const char *name,
         const char *text, size_t len, const struct bridge_info *info,
         struct resident_diff *diff)
{
    struct arena *arena = arena_create(), *scratch = arena_create();
    struct intent_file file = {
        .source = source_create(arena, arena_strdup(arena, t->path),
                                arena_strndup(arena, text, len), len),
        .role = FILE_TENANT, .tenant = name,
    };
    struct diags diags;
    bool ok;

    diags_init(&diags, scratch);
    ok = put_file(c, t, &file, info, arena, &diags, diff);
    if (!ok) {
        arena_destroy(arena);
    }
    arena_destroy(scratch);
    return ok;
}

/* The tenant whose file is 'path', if it may be read by itself. */
static struct shash_node *
find_tenant(struct compiled *c, const char *path)
{
    struct shash_node *node;

    if (!c->resident || c->errors) {
        return NULL;
    }
    SHASH_FOR_EACH (node, &c->tenants) {
        const struct tenant *t = node->data;

        if (t->path && !strcmp(t->path, path)) {
            return node;
        }
    }
    return NULL;
}

enum compiled_news
compiled_load_file(struct compiled *c, const char *path,
                   const struct bridge_info *info, struct resident_diff *diff)
{
    struct shash_node *node = find_tenant(c, path);
    struct arena *arena = arena_create();
    const struct source *source;
    bool done = false;

    if (node && !source_read(arena, path, &source)) {
        done = put_text(c, node->data, node->name, source->text, source->len,
                        info, diff);
    }
    arena_destroy(arena);
    /* What is wrong is judged with all that may have changed too. */
    return done ? COMPILED_CHANGED : compiled_load(c, info);
}

static bool
rebind(struct compiled *c, struct shash_node *node,
       const struct bridge_info *info, struct resident_diff *diff)
{
    struct tenant *t = node->data;
    struct arena *arena, *scratch;
    struct diags diags;
    bool ok;

    if (!t->intent) {
        return put_text(c, t, node->name, t->text, t->len, info, diff);
    }
    arena = arena_create();
    scratch = arena_create();
    diags_init(&diags, scratch);
    ok = put_tenant(c, t, t->intent, info, arena, &diags, diff);
    if (!ok) {
        arena_destroy(arena);
    }
    arena_destroy(scratch);
    return ok;
}

enum compiled_news
compiled_bind(struct compiled *c, const struct bridge_info *info,
              struct resident_diff *diff)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &c->tenants) {
        const struct tenant *t = node->data;

        if (bound_has_changed(&t->bound, c->bridge, info)) {
            return (rebind(c, node, info, diff) ? COMPILED_CHANGED
                    : compiled_load(c, info));
        }
    }
    return COMPILED_SAME;
}

bool
compiled_is_ready(const struct compiled *c)
{
    return c->resident != NULL;
}

void
compiled_plan(const struct compiled *c, struct plan *plan,
              struct arena *arena)
{
    resident_plan(c->resident, plan, arena);
}

/* The intent as it is compiled, in the order in which all was read. */
static const struct intent *
parse_all(const struct compiled *c, struct arena *arena)
{
    intent_files files = VEC_INIT;
    struct diags diags;

    diags_init(&diags, arena);
    for (size_t i = 0; i < c->files.n; i++) {
        struct intent_file file = c->files.v[i];
        const struct tenant *t = (file.tenant
                                  ? shash_find_data(&c->tenants, file.tenant)
                                  : NULL);

        if (t && t->text) {
            file.source = source_create(arena, file.source->name, t->text,
                                        t->len);
        }
        *vec_push(arena, &files) = file;
    }
    return intent_parse_files(files.v, files.n, arena, &diags);
}

void
compiled_record(const struct compiled *c, struct plan_record *record,
                struct plan *plan, struct arena *arena)
{
    const struct intent *intent = parse_all(c, arena);
    struct ds ds = DS_EMPTY_INITIALIZER;
    plan_names missing = VEC_INIT;

    compiled_plan(c, plan, arena);
    compiled_missing(c, arena, &missing);
    *record = (struct plan_record) { .plan = plan, .partial = missing.n > 0 };
    if (intent) {
        intent_print(intent, &ds);
        record->intent = plan_hash(arena, ds.string, ds.length);
    }
    for (size_t i = 0; i < c->n_names; i++) {
        *vec_push(arena, &record->files) = c->names[i];
    }
    ds_destroy(&ds);
}

const char *
compiled_errors(const struct compiled *c)
{
    return c->errors;
}

void
compiled_missing(const struct compiled *c, struct arena *arena,
                 plan_names *names)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &c->tenants) {
        const struct tenant *t = node->data;

        bound_missing(&t->bound, arena, names);
    }
}

void
compiled_stats(const struct compiled *c, struct resident_stats *stats)
{
    resident_stats(c->resident, stats);
}
