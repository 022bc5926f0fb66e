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
#include "push/ovsdb.h"
#include "sema/policy.h"
#include "sset.h"
#include "util.h"

void
try_waiting(struct compiled *c, const struct tenant *changed)
{
    struct sset tenants = SSET_INITIALIZER(&tenants);
    const char *name;

    attached_waiting(&c->attached, &tenants);
    SSET_FOR_EACH (name, &tenants) {
        struct tenant *t = shash_find_data(&c->tenants, name);

        if (t && t != changed) {
            t->waits = true;
            c->waits = true;
        }
    }
    sset_destroy(&tenants);
}

/* What is left out of the tenant for no reason of its own is tried again, one
 * after the other. */
static void
note_doubts(struct compiled *c, const char *name, struct tenant *t)
{
    t->doubts = attached_doubts(&c->attached, name);
    if (t->doubts) {
        t->waits = c->waits = true;
    }
}

/* Takes what interfaces say now. */
static void
take_attached(struct compiled *c)
{
    struct sset tenants = SSET_INITIALIZER(&tenants);
    const char *name;

    attached_update(&c->attached, c->site.info, c->site.node, c->site.bridge,
                    &tenants);
    SSET_FOR_EACH (name, &tenants) {
        struct tenant *t = shash_find_data(&c->tenants, name);

        if (t) {
            t->stale = true;
        }
    }
    if (!sset_is_empty(&tenants)) {
        try_waiting(c, NULL);
    }
    sset_destroy(&tenants);
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
         const intent_files *files, struct arena *arena, struct diags *diags,
         struct shash *tenants, struct bound *externals)
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
            t, &c->site, arena, &tenant->bound, diags);
        shash_add(tenants, t->name.s, tenant);
    }
    bind_externals(intent, &c->site, arena, externals, whole);
    return whole;
}

/* Is an interface missing that something is bound to? */
static bool
is_any_missing(const struct shash *tenants, const struct bound *externals)
{
    bool missing = !smap_is_empty(&externals->missing);
    struct shash_node *node;

    SHASH_FOR_EACH (node, tenants) {
        const struct tenant *t = node->data;

        missing = missing || !smap_is_empty(&t->bound.missing);
    }
    return missing;
}

/* Is the intent right once all is there that is missing now?  If not, it would
 * be refused just when an interface comes. */
static bool
is_right_when_bound(const struct intent *intent, const struct shash *tenants,
                    const struct bound *externals, struct arena *arena,
                    struct diags *diags)
{
    return (!is_any_missing(tenants, externals)
            || policy_resolve(intent, arena, diags));
}

bool
compiled_is_partial(const struct compiled *c)
{
    return is_any_missing(&c->tenants, &c->externals);
}

/* As compile_all(), without the attachments that are refused. */
static bool
try_all(struct compiled *c, const struct intent *intent,
        const intent_files *files, struct arena *arena, struct diags *diags)
{
    struct shash tenants = SHASH_INITIALIZER(&tenants);
    struct resident *resident = NULL;
    const struct intent *whole;
    struct bound externals;

    bound_init(&externals);
    whole = bind_all(c, intent, files, arena, diags, &tenants, &externals);
    if (!diags->n_errors
        && is_right_when_bound(intent, &tenants, &externals, arena, diags)) {
        resident = resident_create(whole, c->site.node, backends[0], diags);
    }
    if (resident) {
        resident_destroy(c->resident);
        arena_destroy(c->arena);
        c->arena = arena;
        c->files = *files;
        c->intent = intent;
        c->resident = resident;
        shash_swap(&c->tenants, &tenants);
        c->waits = false;
        bound_swap(&c->externals, &externals);
        c->all_seqno = ++c->bound_seqno;
        attached_settle(&c->attached, NULL);
    }
    bound_destroy(&externals);
    clear_tenants(&tenants);
    return resident != NULL;
}

bool
compile_all(struct compiled *c, const struct intent *intent,
            const intent_files *files, struct arena *arena,
            struct diags *diags)
{
    take_attached(c);
    attached_forgive(&c->attached, NULL);
    for (;;) {
        struct diags tried;

        diags_init(&tried, arena);
        if (try_all(c, intent, files, arena, &tried)) {
            struct shash_node *node;

            SHASH_FOR_EACH (node, &c->tenants) {
                note_doubts(c, node->name, node->data);
            }
            return true;
        } else if (!attached_blame(&c->attached, NULL, &tried)) {
            diags_append(diags, &tried);
            return false;
        }
    }
}

/* As compile_tenant(), without the attachments that are refused. */
static bool
try_tenant(struct compiled *c, struct tenant *t,
           const struct intent_tenant *intent, struct diags *diags,
           struct resident_diff *diff)
{
    struct arena *arena = arena_create();
    const struct intent_tenant *here;
    struct bound bound;
    bool ok;

    bound_init(&bound);
    here = bind_tenant(intent, &c->site, arena, &bound, diags);
    /* What is new and missing is judged with all the rest. */
    ok = (!diags->n_errors
          && (intent == t->intent || smap_is_empty(&bound.missing))
          && resident_put(c->resident, here, arena, diags, diff));
    if (ok) {
        if (intent == t->intent
            || !smap_equal(&t->bound.here, &bound.here)) {
            t->bound_seqno = ++c->bound_seqno;
        }
        bound_swap(&t->bound, &bound);
    } else {
        arena_destroy(arena);
    }
    bound_destroy(&bound);
    return ok;
}

bool
compile_tenant(struct compiled *c, struct tenant *t,
               const struct intent_tenant *intent, struct resident_diff *diff,
               bool *blamed)
{
    struct arena *scratch = arena_create();
    const char *name = intent->name.s;
    struct diags diags;
    bool ok;

    *blamed = false;
    if (!t->doubts || !attached_next(&c->attached, name)) {
        attached_forgive(&c->attached, name);
    }
    for (;;) {
        diags_init(&diags, scratch);
        ok = try_tenant(c, t, intent, &diags, diff);
        if (ok || !attached_blame(&c->attached, name, &diags)) {
            break;
        }
        *blamed = true;
    }
    if (ok) {
        t->stale = false;
        if (attached_settle(&c->attached, name)) {
            t->bound_seqno = ++c->bound_seqno;
        }
        note_doubts(c, name, t);
    }
    arena_destroy(scratch);
    return ok;
}

/* Compiles anew what the bridge has now of the intent that is kept. */
static enum compiled_news
bind_anew(struct compiled *c)
{
    struct arena *arena = arena_create();
    const struct intent *intent;
    intent_files files = VEC_INIT;
    struct diags diags;
    bool ok;

    diags_init(&diags, arena);
    intent = parse_kept(c, arena, &diags, &files);
    ok = intent && compile_all(c, intent, &files, arena, &diags);
    if (!ok) {
        c->stuck = true;
        compiled_set_errors(c, &diags);
        arena_destroy(arena);
    } else if (c->stuck) {      /* For what it says of the files. */
        compiled_load(c, c->site.info);
    }
    return ok ? COMPILED_ANEW : COMPILED_SAME;
}

/* Does the bridge say something else of 't' than when it was compiled? */
static bool
has_changed(const struct compiled *c, const struct tenant *t)
{
    return t->stale || (c->ports_seqno != c->site.info->ports_seqno
                        && bound_has_changed(&t->bound, &c->site));
}

static bool
has_any_changed(const struct compiled *c)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &c->tenants) {
        if (has_changed(c, node->data)) {
            return true;
        }
    }
    return false;
}

/* Compiles one tenant anew; COMPILED_SAME if that cannot be.  What was blamed
 * may stand against what another had before, as where an interface moves
 * between them: then all are judged at once, as they are now. */
static enum compiled_news
bind_one(struct compiled *c, struct tenant *t, struct resident_diff *diff)
{
    bool blamed;

    t->waits = false;
    if (!compile_tenant(c, t, t->intent, diff, &blamed)) {
        return COMPILED_SAME;
    }
    return (blamed && has_any_changed(c) && bind_anew(c) == COMPILED_ANEW
            ? COMPILED_ANEW : COMPILED_CHANGED);
}

enum compiled_news
compiled_bind(struct compiled *c, const struct bridge_info *info,
              struct resident_diff *diff)
{
    bool refused = false;

    c->site.info = info;
    take_attached(c);
    /* Those that wait do so for the others. */
    for (int waiting = 0; waiting < 2; waiting++) {
        struct shash_node *node;

        SHASH_FOR_EACH (node, &c->tenants) {
            struct tenant *t = node->data;

            if (waiting ? t->waits : has_changed(c, t)) {
                t->doubts = t->doubts && waiting;
                enum compiled_news news = bind_one(c, t, diff);

                if (news != COMPILED_SAME) {
                    return news;
                }
                refused = true;
            }
        }
    }
    c->waits = false;
    if (refused || c->stuck || bound_has_changed(&c->externals, &c->site)) {
        return bind_anew(c);
    }
    c->ports_seqno = info->ports_seqno;
    return COMPILED_SAME;
}
