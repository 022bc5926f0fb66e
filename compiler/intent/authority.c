/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include <string.h>

#include "util.h"

/* Who may define what.  A file that is not the operator's may have the
 * members named here and no other, so what is added to the language is the
 * operator's until it is named here. */

static bool
is_own(const struct intent_file *file, const char *key)
{
    return (!strcmp(key, "version")
            || !strcmp(key, file->role == FILE_TENANT ? "tenants"
                       : "bindings"));
}

/* The file, as the subject of a sentence. */
static const char *
title(struct decoder *d)
{
    return (d->file->role == FILE_TENANT
            ? arena_printf(d->arena, "the file of tenant '%s'",
                           d->file->tenant)
            : "a file in the folder 'bindings'");
}

/* A tenant's file defines that tenant, and no other. */
static void
check_tenants(struct decoder *d, const struct value *root)
{
    const struct value *tenants = value_member(root, "tenants");
    const char *own = d->file->tenant;
    bool has_tenants = tenants && tenants->type == VALUE_OBJECT && tenants->n;

    for (size_t i = 0; has_tenants && i < tenants->n; i++) {
        const struct value *v = &tenants->elems[i];

        if (strcmp(v->key, own)) {
            struct diag *diag = value_key_error(d->diags, v, "%s holds tenant "
                                                "'%s'", title(d), v->key);
            diag_remedy(d->diags, diag, "move that to tenants/%s.json",
                        v->key);
        }
    }
    if (!has_tenants) {
        struct span start = { root->span.source, root->span.start,
                              root->span.start + 1 };
        struct diag *diag = diag_error(d->diags, start,
                                       value_pointer(root, d->arena),
                                       "%s does not define it", title(d));
        diag_remedy(d->diags, diag, "add \"tenants\": { \"%s\": ... }", own);
    }
}

void
check_file(struct decoder *d, const struct value *root)
{
    if (d->file->role == FILE_OPERATOR) {
        return;
    }
    for (const struct member *m = root->members; m->name; m++) {
        const struct value *v = value_member(root, m->name);

        if (v && !is_own(d->file, m->name)) {
            struct diag *diag = value_key_error(d->diags, v, "%s holds '%s', "
                                                "which is the operator's",
                                                title(d), m->name);
            diag_remedy(d->diags, diag, "move it to a file beside the folder "
                        "that this one is in");
        }
    }
    if (d->file->role == FILE_TENANT) {
        check_tenants(d, root);
    }
}

void
check_right_to_bind(struct decoder *d, const struct value *endpoint)
{
    /* Which addresses of its own networks an endpoint has is the tenant's to
     * say; on whose interface and in whose name it speaks is not. */
    static const char *const binding[] = {
        "node", "interface", "port", "vf", "mac",
    };

    for (size_t i = 0; i < ARRAY_SIZE(binding); i++) {
        const struct value *v = value_member(endpoint, binding[i]);

        if (v && d->file->role == FILE_TENANT) {
            struct diag *diag = value_key_error(d->diags, v, "%s holds '%s' "
                                                "of an endpoint, which is the "
                                                "operator's", title(d),
                                                binding[i]);
            diag_remedy(d->diags, diag, "move it to \"bindings\": { \"%s/%s\":"
                        " ... } in a file of the operator's or in the folder "
                        "'bindings'", d->file->tenant, endpoint->key);
            return;
        }
    }
}
