/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/resolve.h"

#include "base/diag.h"
#include "sema/check.h"
#include "sema/policy.h"

/* By index: which of the label's values has no endpoint in 'scope'? */
static bool *
find_dead(const struct intent_label *label, struct scope scope,
          struct arena *arena)
{
    bool *dead = arena_zalloc(arena, label->values.n * sizeof *dead);

    memset(dead, true, label->values.n);
    for (size_t i = 0; i < scope.n; i++) {
        for (size_t j = 0; j < scope.v[i]->endpoints.n; j++) {
            const struct text *value
                = label_value(scope.v[i]->endpoints.v[j]->intent,
                              label->name.s);
            const struct text *same = value ? texts_find(&label->values,
                                                         value->s) : NULL;

            if (same) {
                dead[same - label->values.v] = false;
            }
        }
    }
    /* One that is listed twice is found once. */
    for (size_t i = 1; i < label->values.n; i++) {
        if (!strcmp(label->values.v[i - 1].s, label->values.v[i].s)) {
            dead[i] &= dead[i - 1];
        }
    }
    for (size_t i = label->values.n - 1; i > 0; i--) {
        if (!strcmp(label->values.v[i - 1].s, label->values.v[i].s)) {
            dead[i - 1] &= dead[i];
        }
    }
    return dead;
}

/* The value in 'scope', of those that the label does not list, that looks most
 * like 'wanted'; NULL: none does, or nobody would see it. */
static const char *
nearest_value(const struct resolver *r, const char *wanted,
              const struct intent_label *label, struct scope scope)
{
    struct nearest nearest = nearest_init(wanted);

    if (r->diags->n_warnings >= r->diags->max) {
        return NULL;
    }
    for (size_t i = 0; i < scope.n; i++) {
        for (size_t j = 0; j < scope.v[i]->endpoints.n; j++) {
            const struct text *value
                = label_value(scope.v[i]->endpoints.v[j]->intent,
                              label->name.s);

            if (value && !texts_hold(&label->values, value->s)) {
                nearest_try(&nearest, value->s);
            }
        }
    }
    return nearest.best;
}

const char *
suggest_label(struct resolver *r, const struct intent_selector *s,
              struct scope scope)
{
    for (size_t i = 0; i < s->labels.n; i++) {
        const struct intent_label *label = &s->labels.v[i];
        const bool *dead = find_dead(label, scope, r->arena);

        for (size_t j = 0; j < label->values.n; j++) {
            const char *nearest
                = (dead[j] ? nearest_value(r, label->values.v[j].s, label,
                                           scope) : NULL);

            if (nearest) {
                return arena_printf(r->arena, "did you mean '%s', as \"%s\" "
                                    "of some endpoints is?", nearest,
                                    label->name.s);
            }
        }
    }
    return NULL;
}

void
doubt_labels(struct resolver *r, const struct intent_selector *s,
             struct scope scope)
{
    for (size_t i = 0; i < s->labels.n; i++) {
        const struct intent_label *label = &s->labels.v[i];
        /* Who is selected has the value if there is but one. */
        const bool *dead = (label->values.n == 1 ? NULL
                            : find_dead(label, scope, r->arena));

        for (size_t j = 0; dead && j < label->values.n; j++) {
            const struct text *value = &label->values.v[j];
            const char *nearest;
            struct diag *d;

            if (!dead[j]) {
                continue;
            }
            nearest = nearest_value(r, value->s, label, scope);
            d = value_warning(r->diags, value->at, "no endpoint here has "
                              "\"%s\": \"%s\"", label->name.s, value->s);
            if (nearest) {
                diag_remedy(r->diags, d, "did you mean '%s'?", nearest);
            } else {
                diag_remedy(r->diags, d, "remove it, or ignore this until "
                            "one has");
            }
        }
    }
}
