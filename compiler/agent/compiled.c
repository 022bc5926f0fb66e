/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/compiled-private.h"

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/diag.h"
#include "intent/intent.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "plan/record.h"
#include "resident/prove.h"
#include "sema/policy.h"
#include "sset.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(intent);

/* More are not looked at one by one. */
enum { MAX_CHANGED = 16 };

struct compiled *
compiled_create(const char *const names[], size_t n, const char *node,
                const char *bridge)
{
    struct compiled *c = xzalloc(sizeof *c);

    c->names = names;
    c->n_names = n;
    attached_init(&c->attached);
    c->site = (struct site) {
        .node = node, .bridge = bridge, .attached = &c->attached,
    };
    shash_init(&c->tenants);
    bound_init(&c->externals);
    return c;
}

void
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
        attached_destroy(&c->attached);
        arena_destroy(c->arena);
        free(c->errors);
        free(c);
    }
}

static void
take_errors(struct compiled *c, struct diags *diags)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    free(c->errors);
    c->errors = NULL;
    if (diags->n_errors) {
        diags_format(diags, &ds);
        c->errors = ds_steal_cstr(&ds);
    }
    ds_destroy(&ds);
}

void
compiled_set_errors(struct compiled *c, struct diags *diags)
{
    take_errors(c, diags);
    if (c->errors) {
        VLOG_WARN("the intent is wrong, and the last good one stays:\n%s",
                  c->errors);
    }
}

static bool
has_node(const struct compiled *c, const struct intent *intent,
         struct diags *diags)
{
    for (size_t i = 0; i < intent->nodes.n; i++) {
        if (!strcmp(intent->nodes.v[i].name.s, c->site.node)) {
            return true;
        }
    }
    diag_remedy(diags, diag_error(diags, (struct span) { NULL, 0, 0 }, NULL,
                                  "the intent has no node '%s'",
                                  c->site.node),
                "add it, or run bulkheadd for another --node");
    return false;
}

/* Reads all files.  Returns NULL, after adding at least one error to 'diags',
 * if they are wrong. */
static const struct intent *
read_all(const struct compiled *c, struct arena *arena, struct diags *diags,
         intent_files *files)
{
    const struct intent *intent = NULL;

    if (intent_read(c->names, c->n_names, arena, diags, files)) {
        intent = intent_parse_files(files->v, files->n, arena, diags);
    }
    return intent && has_node(c, intent, diags) ? intent : NULL;
}

bool
compiled_try(struct compiled *c)
{
    struct arena *arena = arena_create();
    intent_files files = VEC_INIT;
    const struct policy *policy = NULL;
    const struct intent *intent;
    struct diags diags;
    struct plan plan;
    bool ok;

    diags_init(&diags, arena);
    intent = read_all(c, arena, &diags, &files);
    policy = intent ? policy_resolve(intent, arena, &diags) : NULL;
    ok = policy && backend_compile(backends[0],
                                   ir_build(policy, c->site.node, arena),
                                   arena, &diags, &plan);
    take_errors(c, &diags);
    arena_destroy(arena);
    return ok;
}

enum compiled_news
compiled_load(struct compiled *c, const struct bridge_info *info)
{
    struct arena *arena = arena_create();
    intent_files files = VEC_INIT;
    const struct intent *intent;
    struct diags diags;
    bool ok;

    c->site.info = info;
    diags_init(&diags, arena);
    intent = read_all(c, arena, &diags, &files);
    ok = intent && compile_all(c, intent, &files, arena, &diags);
    compiled_set_errors(c, &diags);
    c->stuck = false;
    if (!ok) {
        arena_destroy(arena);
        return COMPILED_SAME;
    }
    VLOG_INFO("read %"PRIuSIZE" files of %"PRIuSIZE" tenants", files.n,
              intent->tenants.n);
    return COMPILED_ANEW;
}

/* Compiles the tenant 'name' of the file 'source', alone.  'arena', which
 * holds it, is the tenant's then.  Returns false, with 'arena' still the
 * caller's, if that cannot be. */
static bool
put_file(struct compiled *c, struct tenant *t, const char *name,
         const struct source *source, struct arena *arena,
         struct resident_diff *diff)
{
    struct intent_file file = {
        .source = source, .role = FILE_TENANT, .tenant = name,
    };
    const struct intent *part;
    struct diags diags;
    bool blamed;

    t->doubts = false;          /* Of what is another file now. */
    diags_init(&diags, arena);
    part = intent_parse_tenants(&file, c->intent, arena, &diags);
    if (!part || part->tenants.n != 1
        || strcmp(part->tenants.v[0].name.s, name)
        || !compile_tenant(c, t, &part->tenants.v[0], diff, &blamed)) {
        return false;
    }
    arena_destroy(t->arena);
    t->arena = arena;
    t->source = source;
    t->intent = &part->tenants.v[0];
    try_waiting(c, t);
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

    c->site.info = info;
    if (node && !source_read(arena, path, &source)
        && put_file(c, node->data, node->name, source, arena, diff)) {
        return COMPILED_CHANGED;
    }
    arena_destroy(arena);
    /* What is wrong is judged with all that may have changed too. */
    return compiled_load(c, info);
}

const struct intent *
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

bool
compiled_wants_bind(const struct compiled *c)
{
    return c->waits;
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

const struct intent *
compiled_intent(const struct compiled *c, struct arena *arena)
{
    return resident_intent(c->resident, arena);
}

void
compiled_begin_proof(struct compiled *c, struct proved *proved)
{
    proved_begin(proved, c->resident);
}

static void
add_bound(const struct compiled *c, const struct bound *bound,
          struct smap *all, struct sset *claimed)
{
    const struct smap_node *node;
    const char *by, *reason;

    SMAP_FOR_EACH (node, &bound->here) {
        smap_replace(all, node->key, node->value);
        by = attached_find(&c->attached, node->value, &reason);
        if (by && !strcmp(by, node->key)) {
            sset_add(claimed, node->key);
        }
    }
}

/* Have no more than MAX_CHANGED tenants? */
static bool
have_few_changed(const struct compiled *c, unsigned int since)
{
    struct shash_node *node;
    size_t n = 0;

    SHASH_FOR_EACH (node, &c->tenants) {
        const struct tenant *t = node->data;

        n += t->bound_seqno > since;
    }
    return n <= MAX_CHANGED;
}

bool
compiled_bound(const struct compiled *c, unsigned int since,
               struct smap *bound, struct sset *claimed,
               struct sset *changed)
{
    bool some = (since && since >= c->all_seqno
                 && have_few_changed(c, since));
    struct shash_node *node;

    SHASH_FOR_EACH (node, &c->tenants) {
        const struct tenant *t = node->data;

        if (!some || t->bound_seqno > since) {
            add_bound(c, &t->bound, bound, claimed);
            if (some) {
                sset_add(changed, node->name);
            }
        }
    }
    if (!some) {
        add_bound(c, &c->externals, bound, claimed);
    }
    return some;
}

/* The text of the intent as the files have it. */
static void
print_kept(const struct compiled *c, struct arena *arena, struct ds *ds)
{
    struct intent kept = { .roots = VEC_INIT };

    for (size_t i = 0; i < c->files.n; i++) {
        const struct value *root = c->intent->roots.v[i];
        const char *tenant = c->files.v[i].tenant;
        const struct tenant *t = (tenant ? shash_find_data(&c->tenants, tenant)
                                  : NULL);

        if (t && t->source) {   /* Read by itself since. */
            root = t->intent->name.at;
            while (root->parent) {
                root = root->parent;
            }
        }
        *vec_push(arena, &kept.roots) = root;
    }
    intent_print(&kept, ds);
}

void
compiled_record(const struct compiled *c, struct plan_record *record,
                struct plan *plan, struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    compiled_plan(c, plan, arena);
    *record = (struct plan_record) {
        .plan = plan, .partial = compiled_is_partial(c),
    };
    print_kept(c, arena, &ds);
    record->intent = plan_hash(arena, ds.string, ds.length);
    for (size_t i = 0; i < c->n_names; i++) {
        *vec_push(arena, &record->files) = c->names[i];
    }
    ds_destroy(&ds);
}

unsigned int
compiled_bound_seqno(const struct compiled *c)
{
    return c->bound_seqno;
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
compiled_refused(const struct compiled *c, struct arena *arena,
                 plan_names *names)
{
    attached_refused(&c->attached, arena, names);
}

bool
compiled_is_attached(const struct compiled *c, const char *endpoint,
                     const char **reason)
{
    const char *interface = attached_find(&c->attached, endpoint, reason);
    struct shash_node *node;

    SHASH_FOR_EACH (node, &c->tenants) {
        const struct tenant *t = node->data;

        if (interface && smap_get(&t->bound.missing, interface)) {
            return false;
        }
    }
    return interface != NULL;
}

void
compiled_stats(const struct compiled *c, struct resident_stats *stats)
{
    resident_stats(c->resident, stats);
}
