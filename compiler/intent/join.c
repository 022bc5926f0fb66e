/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include "openvswitch/shash.h"

/* One intent of several files. */

void
decode_twice(struct decoder *d, const char *what, const struct value *v,
             struct span span, struct span first)
{
    struct diag *diag = diag_error(d->diags, span, value_pointer(v, d->arena),
                                   "%s is defined twice", what);

    diag_remedy(d->diags, diag, "remove one of the two");
    diag_see(d->diags, diag, first, "the other one");
}

/* No name stands twice in a file; does one of 'VEC' in two? */
#define CHECK_TWICE(D, VEC, WHAT)                                       \
    do {                                                                \
        struct shash names__ = SHASH_INITIALIZER(&names__);             \
                                                                        \
        for (size_t i__ = 0; i__ < (VEC)->n; i__++) {                   \
            const struct text *name__ = &(VEC)->v[i__].name;            \
            const struct text *first__ = shash_find_data(&names__,      \
                                                         name__->s);    \
                                                                        \
            if (first__) {                                              \
                decode_twice(D, arena_printf((D)->arena, "%s '%s'",     \
                                             WHAT, name__->s),          \
                             name__->at, name__->at->key_span,          \
                             first__->at->key_span);                    \
            } else {                                                    \
                shash_add(&names__, name__->s, name__);                 \
            }                                                           \
        }                                                               \
        shash_destroy(&names__);                                        \
    } while (0)

static void
check_twice(struct decoder *d, const struct intent *intent)
{
    CHECK_TWICE(d, &intent->nodes, "node");
    CHECK_TWICE(d, &intent->classes, "class");
    CHECK_TWICE(d, &intent->services, "service");
    CHECK_TWICE(d, &intent->tenants, "tenant");
    CHECK_TWICE(d, &intent->peerings, "peering");
    CHECK_TWICE(d, &intent->guardrails, "guardrail");
    CHECK_TWICE(d, &intent->externals, "external");
    CHECK_TWICE(d, &intent->bindings, "the binding of");
}

/* Some file must have member 'key', which is shown as missing in the only
 * one. */
static void
check_required(struct decoder *d, const struct intent *intent,
               const char *key)
{
    const struct value *root = intent->roots.v[0];
    struct span start = { root->span.source, root->span.start,
                          root->span.start + 1 };
    bool one = intent->roots.n == 1;
    struct diag *diag;

    for (size_t i = 0; i < intent->roots.n; i++) {
        if (value_member(intent->roots.v[i], key)) {
            return;
        }
    }
    if (!one) {
        start.source = NULL;
    }
    diag = diag_error(d->diags, start, "",
                      one ? "an intent needs a member '%s'"
                      : "no file of the intent has a member '%s'", key);
    diag_remedy(d->diags, diag, "add \"%s\": ...", key);
}

/* Decodes each file for itself. */
static struct intent *
parse_each(struct decoder *d, const struct intent_file *files, size_t n)
{
    struct intent *intent = arena_zalloc(d->arena, sizeof *intent);
    size_t n_errors = d->diags->n_errors;

    for (size_t i = 0; i < n; i++) {
        const struct value *root = value_parse(files[i].source, d->arena,
                                               d->diags);

        if (root) {
            d->file = &files[i];
            *vec_push(d->arena, &intent->roots) = root;
            decode_intent(d, root, intent);
        }
    }
    return d->diags->n_errors == n_errors ? intent : NULL;
}

const struct intent *
intent_parse_files(const struct intent_file *files, size_t n,
                   struct arena *arena, struct diags *diags)
{
    struct decoder d = { .arena = arena, .diags = diags };
    struct intent *intent = parse_each(&d, files, n);
    size_t n_errors = diags->n_errors;

    if (intent) {
        check_required(&d, intent, "fabric");
        check_required(&d, intent, "tenants");
        if (n > 1) {
            check_twice(&d, intent);
        }
        if (diags->n_errors == n_errors) {
            join_bindings(&d, intent);
            sort_bindings(arena, intent);
        }
    }
    return diags->n_errors == n_errors ? intent : NULL;
}

const struct intent *
intent_parse(const struct source *source, struct arena *arena,
             struct diags *diags)
{
    struct intent_file file = { .source = source };

    return intent_parse_files(&file, 1, arena, diags);
}

const struct intent *
intent_parse_part(const struct source *source, struct arena *arena,
                  struct diags *diags)
{
    struct intent_file file = { .source = source };
    struct decoder d = { .arena = arena, .diags = diags };

    return parse_each(&d, &file, 1);
}

static void
add_bindings_of(const char *tenant, const struct intent *rest,
                struct intent *intent, struct arena *arena)
{
    size_t n;
    const struct intent_endpoint *const *bindings
        = intent_bindings_of(rest, tenant, &n);

    for (size_t i = 0; i < n; i++) {
        *vec_push(arena, &intent->bindings) = *bindings[i];
    }
}

const struct intent *
intent_parse_tenants(const struct intent_file *file,
                     const struct intent *rest, struct arena *arena,
                     struct diags *diags)
{
    struct decoder d = { .arena = arena, .diags = diags };
    struct intent *intent = parse_each(&d, file, 1);
    size_t n_errors = diags->n_errors;

    if (intent) {
        for (size_t i = 0; i < intent->tenants.n; i++) {
            add_bindings_of(intent->tenants.v[i].name.s, rest, intent, arena);
        }
        join_bindings(&d, intent);
    }
    return diags->n_errors == n_errors ? intent : NULL;
}
