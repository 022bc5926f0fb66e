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
#include "sema/policy.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(intent);

/* A tenant, as its file has it. */
struct tenant {
    const struct intent_tenant *intent; /* In the arena of all files, or: */
    struct arena *arena;        /* Of its own file, if that was read by
                                 * itself. */
    const struct source *source;        /* That; or NULL. */
    char *path;                 /* Of its own file, or NULL. */
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
    struct bound externals;
    struct resident *resident;
    char *errors;
    bool stuck;                 /* Are they about what the bridge has? */
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
    bound_init(&c->externals);
    return c;
}

static void
clear_tenants(struct shash *tenants)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, tenants) {
        struct tenant *t = node->data;

        bound_destroy(&t->bound);
        arena_destroy(t->arena);
        free(t->path);
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
        bound_destroy(&c->externals);
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

/* What the bridge has of the tenants and externals of 'intent'. */
static const struct intent *
bind_all(const struct compiled *c, const struct intent *intent,
         const intent_files *files, const struct bridge_info *info,
         struct arena *arena, struct shash *tenants, struct bound *externals)
{
    struct intent *whole = arena_zalloc(arena, sizeof *whole);

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
    bind_externals(intent, c->node, c->bridge, info, arena, externals, whole);
    return whole;
}

/* Is the intent right once all is there that is missing now?  If not, it would
 * be refused just when an interface comes. */
static bool
is_right_when_bound(const struct intent *intent, const struct shash *tenants,
                    const struct bound *externals, struct arena *arena,
                    struct diags *diags)
{
    bool missing = !smap_is_empty(&externals->missing);
    struct shash_node *node;

    SHASH_FOR_EACH (node, tenants) {
        const struct tenant *t = node->data;

        missing = missing || !smap_is_empty(&t->bound.missing);
    }
    return !missing || policy_resolve(intent, arena, diags);
}

/* Compiles 'intent', of 'files', in the place of what there is.  'arena',
 * which holds both, is the compiled's then.  Returns false, with 'arena' still
 * the caller's, if that cannot be. */
static bool
compile(struct compiled *c, const struct intent *intent,
        const intent_files *files, const struct bridge_info *info,
        struct arena *arena, struct diags *diags)
{
    struct shash tenants = SHASH_INITIALIZER(&tenants);
    const struct intent *whole;
    struct resident *resident = NULL;
    struct bound externals;

    bound_init(&externals);
    whole = bind_all(c, intent, files, info, arena, &tenants, &externals);
    if (is_right_when_bound(intent, &tenants, &externals, arena, diags)) {
        resident = resident_create(whole, c->node, backends[0], diags);
    }
    if (resident) {
        resident_destroy(c->resident);
        arena_destroy(c->arena);
        c->arena = arena;
        c->files = *files;
        c->intent = intent;
        c->resident = resident;
        shash_swap(&c->tenants, &tenants);
        bound_swap(&c->externals, &externals);
    }
    bound_destroy(&externals);
    clear_tenants(&tenants);
    return resident != NULL;
}

enum compiled_news
compiled_load(struct compiled *c, const struct bridge_info *info)
{
    struct arena *arena = arena_create();
    const struct intent *intent = NULL;
    intent_files files = VEC_INIT;
    struct diags diags;
    bool ok;

    diags_init(&diags, arena);
    if (intent_read(c->names, c->n_names, arena, &diags, &files)) {
        intent = intent_parse_files(files.v, files.n, arena, &diags);
    }
    ok = (intent && has_node(c, intent, &diags)
          && compile(c, intent, &files, info, arena, &diags));
    set_errors(c, &diags);
    c->stuck = false;
    if (!ok) {
        arena_destroy(arena);
        return COMPILED_SAME;
    }
    VLOG_INFO("read %"PRIuSIZE" files of %"PRIuSIZE" tenants", files.n,
              intent->tenants.n);
    return COMPILED_ANEW;
}

/* Compiles what the bridge has of 'intent' in the place of 't'.  Returns false
 * if that cannot be. */
static bool
put_tenant(struct compiled *c, struct tenant *t,
           const struct intent_tenant *intent, const struct bridge_info *info,
           struct resident_diff *diff)
{
    struct arena *arena = arena_create(), *scratch = arena_create();
    const struct intent_tenant *here;
    struct bound bound;
    struct diags diags;
    bool ok;

    bound_init(&bound);
    diags_init(&diags, scratch);
    here = bind_tenant(intent, c->node, c->bridge, info, arena, &bound);
    /* What is new and missing is judged with all the rest. */
    ok = ((intent == t->intent || smap_is_empty(&bound.missing))
          && resident_put(c->resident, here, arena, &diags, diff));
    if (ok) {
        bound_swap(&t->bound, &bound);
    } else {
        arena_destroy(arena);
    }
    bound_destroy(&bound);
    arena_destroy(scratch);
    return ok;
}

/* Compiles the tenant 'name' of the file 'source', alone.  'arena', which
 * holds it, is the tenant's then.  Returns false, with 'arena' still the
 * caller's, if that cannot be. */
static bool
put_file(struct compiled *c, struct tenant *t, const char *name,
         const struct source *source, const struct bridge_info *info,
         struct arena *arena, struct resident_diff *diff)
{
    struct intent_file file = {
        .source = source, .role = FILE_TENANT, .tenant = name,
    };
    const struct intent *part;
    struct diags diags;

    diags_init(&diags, arena);
    part = intent_parse_tenants(&file, c->intent, arena, &diags);
    if (!part || part->tenants.n != 1
        || strcmp(part->tenants.v[0].name.s, name)
        || !put_tenant(c, t, &part->tenants.v[0], info, diff)) {
        return false;
    }
    arena_destroy(t->arena);
    t->arena = arena;
    t->source = source;
    t->intent = &part->tenants.v[0];
    return true;
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

    if (node && !source_read(arena, path, &source)
        && put_file(c, node->data, node->name, source, info, arena, diff)) {
        return COMPILED_CHANGED;
    }
    arena_destroy(arena);
    /* What is wrong is judged with all that may have changed too. */
    return compiled_load(c, info);
}

/* Copies to 'arena' the files as they are compiled, in the order in which they
 * were read, and parses them. */
static const struct intent *
parse_kept(const struct compiled *c, struct arena *arena, struct diags *diags,
           intent_files *files)
{
    for (size_t i = 0; i < c->files.n; i++) {
        struct intent_file *file = vec_push(arena, files);
        const struct source *source = c->files.v[i].source;

        *file = c->files.v[i];
        if (file->tenant) {
            const struct tenant *t = shash_find_data(&c->tenants,
                                                     file->tenant);

            source = t && t->source ? t->source : source;
            file->tenant = arena_strdup(arena, file->tenant);
        }
        file->source = source_create(
            arena, source->name,
            arena_strndup(arena, source->text, source->len), source->len);
    }
    return intent_parse_files(files->v, files->n, arena, diags);
}

/* Compiles anew what the bridge has now of the intent that is kept. */
static enum compiled_news
rebind_all(struct compiled *c, const struct bridge_info *info)
{
    struct arena *arena = arena_create();
    const struct intent *intent;
    intent_files files = VEC_INIT;
    struct diags diags;
    bool ok;

    diags_init(&diags, arena);
    intent = parse_kept(c, arena, &diags, &files);
    ok = intent && compile(c, intent, &files, info, arena, &diags);
    if (!ok) {
        c->stuck = true;
        set_errors(c, &diags);
        arena_destroy(arena);
    } else if (c->stuck) {
        compiled_load(c, info); /* For what it says of the files. */
    }
    return ok ? COMPILED_ANEW : COMPILED_SAME;
}

enum compiled_news
compiled_bind(struct compiled *c, const struct bridge_info *info,
              struct resident_diff *diff)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &c->tenants) {
        struct tenant *t = node->data;

        if (bound_has_changed(&t->bound, c->bridge, info)) {
            return (put_tenant(c, t, t->intent, info, diff) ? COMPILED_CHANGED
                    : rebind_all(c, info));
        }
    }
    return (bound_has_changed(&c->externals, c->bridge, info)
            ? rebind_all(c, info) : COMPILED_SAME);
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

void
compiled_record(const struct compiled *c, struct plan_record *record,
                struct plan *plan, struct arena *arena)
{
    const struct intent *intent;
    struct ds ds = DS_EMPTY_INITIALIZER;
    plan_names missing = VEC_INIT;
    intent_files files = VEC_INIT;
    struct diags diags;

    diags_init(&diags, arena);
    intent = parse_kept(c, arena, &diags, &files);
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
    bound_missing(&c->externals, arena, names);
}

void
compiled_stats(const struct compiled *c, struct resident_stats *stats)
{
    resident_stats(c->resident, stats);
}
