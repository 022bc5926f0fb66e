/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include <stdlib.h>
#include <string.h>

/* Selectors: one grammar, wherever endpoints are selected. */

enum { MAX_EXCEPTS = 16 };      /* One inside the other. */

static int
compare_texts(const void *a_, const void *b_)
{
    const struct text *a = a_, *b = b_;

    return strcmp(a->s, b->s);
}

const struct text *
texts_find(const text_vec *sorted, const char *s)
{
    const struct text wanted = { .s = s };

    return sorted->n ? bsearch(&wanted, sorted->v, sorted->n,
                               sizeof *sorted->v, compare_texts) : NULL;
}

bool
texts_hold(const text_vec *sorted, const char *s)
{
    return texts_find(sorted, s) != NULL;
}

static void
check_not_empty(struct decoder *d, const struct value *v)
{
    if (v && v->type == VALUE_ARRAY && !v->n) {
        decode_error(d, v, "an empty list selects nothing",
                     "list what is meant");
    }
}

/* The texts of member 'key', a list or one by itself, sorted. */
static void
decode_texts(struct decoder *d, const struct value *v, const char *key,
             text_vec *texts)
{
    const struct value *m = value_member(v, key);

    if (m && m->type == VALUE_ARRAY) {
        decode_text_list(d, m, texts);
        check_not_empty(d, m);
        if (texts->n) {
            qsort(texts->v, texts->n, sizeof *texts->v, compare_texts);
        }
    } else if (m) {
        struct text text = decode_text(d, v, key);

        if (text.s) {
            *vec_push(d->arena, texts) = text;
        }
    }
}

static void
decode_wanted_labels(struct decoder *d, const struct value *v,
                     struct intent_selector *s)
{
    if (decode_map(d, v, "a map of labels")) {
        for (size_t i = 0; i < v->n; i++) {
            struct intent_label *label = vec_push(d->arena, &s->labels);

            label->name = decode_key(&v->elems[i]);
            decode_texts(d, v, v->elems[i].key, &label->values);
        }
    }
}

static void
refuse_externals(struct decoder *d, const selector_vec *except)
{
    for (size_t i = 0; i < except->n; i++) {
        if (except->v[i].external.s) {
            decode_error(d, except->v[i].external.at, "this takes away from "
                         "endpoints, and an external has none",
                         "remove it; \"cidr\" narrows an external");
        }
    }
}

static void
decode_except(struct decoder *d, const struct value *v, selector_vec *except)
{
    if (v && d->n_excepts == MAX_EXCEPTS) {
        struct diag *diag = value_error(d->diags, v, "\"except\" is nested "
                                        "more than %d deep", MAX_EXCEPTS);

        diag_remedy(d->diags, diag, "nest less deeply");
        return;
    }
    d->n_excepts++;
    decode_selector(d, v, false, except);
    d->n_excepts--;
    refuse_externals(d, except);
}

static void
decode_alternative(struct decoder *d, const struct value *v,
                   bool needs_tenant, selector_vec *alternatives)
{
    static const struct member members[] = {
        { "tenant", false }, { "network", false }, { "endpoint", false },
        { "labels", false }, { "cidr", false }, { "except", false },
        { "external", false }, { NULL, false },
    };
    static const struct member of_external[] = {
        { "external", true }, { "cidr", false }, { NULL, false },
    };
    static const struct member of_named[] = {
        { "tenant", true }, { "network", false }, { "endpoint", false },
        { "labels", false }, { "cidr", false }, { "except", false },
        { "external", false }, { NULL, false },
    };
    struct intent_selector s = { .at = v };

    if (v->type == VALUE_OBJECT && value_member(v, "external")) {
        decode_object(d, v, "a selector of an external", of_external);
        s.external = decode_text(d, v, "external");
        decode_addresses(d, value_member(v, "cidr"), true, &s.cidrs);
        check_not_empty(d, value_member(v, "cidr"));
    } else if (decode_object(d, v, "a selector",
                      needs_tenant ? of_named : members)) {
        s.tenant = decode_text(d, v, "tenant");
        decode_texts(d, v, "network", &s.networks);
        decode_texts(d, v, "endpoint", &s.endpoints);
        decode_wanted_labels(d, value_member(v, "labels"), &s);
        decode_addresses(d, value_member(v, "cidr"), true, &s.cidrs);
        check_not_empty(d, value_member(v, "cidr"));
        decode_except(d, value_member(v, "except"), &s.except);
    }
    *vec_push(d->arena, alternatives) = s;
}

void
decode_selector(struct decoder *d, const struct value *v, bool needs_tenant,
                selector_vec *alternatives)
{
    if (v && v->type == VALUE_ARRAY) {
        for (size_t i = 0; i < v->n; i++) {
            decode_alternative(d, &v->elems[i], needs_tenant, alternatives);
        }
        check_not_empty(d, v);
    } else if (v) {
        decode_alternative(d, v, needs_tenant, alternatives);
    }
}
