/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/attached-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/source.h"
#include "util.h"

/* Which of them cannot be, going by the errors that come with them. */

static bool
is_of(const char *endpoint, const char *tenant)
{
    size_t len = tenant ? strlen(tenant) : 0;

    return (!tenant
            || (!strncmp(endpoint, tenant, len) && endpoint[len] == '/'));
}

/* Does the error speak of 'a'? */
static bool
is_about(const struct diag *d, const struct attachment *a)
{
    bool about = d->span.source && !strcmp(d->span.source->name, a->name);

    for (size_t i = 0; i < d->n_notes; i++) {
        const struct source *source = d->notes[i].span.source;

        about = about || (source && !strcmp(source->name, a->name));
    }
    return about;
}

static void
refuse(struct attachment *a, const struct diag *d)
{
    free(a->refused);
    a->refused = xasprintf("%s%s%s", d->cause, d->remedy ? "; " : "",
                           d->remedy ? d->remedy : "");
}

/* Leaves out those that the error speaks of, of 'tenant'; of new ones and old,
 * the new ones. */
static bool
blame(struct attached *attached, const char *tenant, const struct diag *d,
      bool settled, bool any)
{
    struct shash_node *node;
    bool found = false;

    SHASH_FOR_EACH (node, &attached->all) {
        struct attachment *a = node->data;

        if (is_of(node->name, tenant) && !a->refused && a->used
            && a->settled == settled && (any || is_about(d, a))) {
            refuse(a, d);
            a->doubted = any;
            attached->any_doubted |= any;
            found = true;
        }
    }
    return found;
}

bool
attached_blame(struct attached *attached, const char *tenant,
               const struct diags *diags)
{
    bool found = false;

    for (size_t i = 0; i < diags->list.n && !found; i++) {
        const struct diag *d = &diags->list.v[i];

        found = (d->severity == DIAG_ERROR
                 && (blame(attached, tenant, d, false, false)
                     || blame(attached, tenant, d, true, false)));
    }
    for (size_t i = 0; i < diags->list.n && !found; i++) {
        const struct diag *d = &diags->list.v[i];

        found = (d->severity == DIAG_ERROR
                 && blame(attached, tenant, d, false, true));
    }
    return found;
}

void
attached_forgive(struct attached *attached, const char *tenant)
{
    struct shash_node *node;

    attached->any_doubted &= tenant != NULL;
    SHASH_FOR_EACH (node, &attached->all) {
        struct attachment *a = node->data;

        if (is_of(node->name, tenant)) {
            a->used = a->doubted = a->tried = false;
            a->lacks = NULL;
            if (!a->twice) {
                free(a->refused);
                a->refused = NULL;
            }
        }
    }
}

/* One of the tenant's that is doubted and has not been tried, or NULL. */
static struct attachment *
find_doubted(const struct attached *attached, const char *tenant)
{
    struct shash_node *node;

    if (attached->any_doubted) {
        SHASH_FOR_EACH (node, &attached->all) {
            struct attachment *a = node->data;

            if (is_of(node->name, tenant) && a->doubted && !a->tried) {
                return a;
            }
        }
    }
    return NULL;
}

bool
attached_doubts(const struct attached *attached, const char *tenant)
{
    return find_doubted(attached, tenant) != NULL;
}

bool
attached_next(struct attached *attached, const char *tenant)
{
    struct attachment *a = find_doubted(attached, tenant);

    if (a) {
        free(a->refused);
        a->refused = NULL;
        a->doubted = false;
        a->tried = true;
    }
    return a != NULL;
}

bool
attached_settle(struct attached *attached, const char *tenant)
{
    struct shash_node *node;
    bool changed = false;

    SHASH_FOR_EACH (node, &attached->all) {
        struct attachment *a = node->data;

        if (is_of(node->name, tenant)) {
            bool settled = a->used && !a->refused && !a->lacks;

            changed |= a->settled != settled;
            a->settled = settled;
        }
    }
    return changed;
}
