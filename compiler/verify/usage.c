/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>

#include "util.h"
#include "verify/compare.h"

static bool
is_about_same(const struct usage *a, const struct usage *b)
{
    return (a->kind == b->kind && a->tenant == b->tenant
            && a->endpoint == b->endpoint && a->uplink == b->uplink
            && a->class == b->class
            && a->zone == b->zone && a->limit == b->limit);
}

void
usage_vote(struct comparison *c, const struct usage *usage)
{
    struct usage *new;

    for (size_t i = 0; i < c->usages.n; i++) {
        struct usage *old = &c->usages.v[i];

        if (is_about_same(old, usage) && old->value == usage->value) {
            old->n++;
            return;
        }
    }
    new = vec_push(c->arena, &c->usages);
    *new = *usage;
    new->n = 1;
}

bool
usage_winner(const struct comparison *c, const struct usage *usage,
             uint64_t *value)
{
    const struct usage *best = NULL;

    for (size_t i = 0; i < c->usages.n; i++) {
        const struct usage *other = &c->usages.v[i];

        if (is_about_same(other, usage) && (!best || other->n > best->n)) {
            best = other;
        }
    }
    *value = best ? best->value : 0;
    return best != NULL;
}

bool
usage_is_usual(struct comparison *c, struct usage usage)
{
    uint64_t value;

    if (c->voting) {
        usage_vote(c, &usage);
        return true;
    }
    return usage_winner(c, &usage, &value) && value == usage.value;
}

/* What of a meter there is one of, another must not have. */
static bool
is_meter(const struct usage *usage)
{
    return usage->kind >= USE_COUNTER;
}

static const char *
usage_name(const struct usage *usage)
{
    static const char *const names[] = {
        [USE_ZONE] = "conntrack zone",
        [USE_MARK] = "mark of connections",
        [USE_COUNTER] = "meter", [USE_SEND] = "meter",
        [USE_RECEIVE] = "meter", [USE_DSCP_IN] = "meter",
    };

    return names[usage->kind];
}

const char *
usages_shared(const struct comparison *c)
{
    for (size_t i = 0; i < c->usages.n; i++) {
        const struct usage *a = &c->usages.v[i];
        uint64_t value;

        if (!usage_winner(c, a, &value) || value != a->value) {
            continue;
        }
        for (size_t k = 0; k < i; k++) {
            const struct usage *b = &c->usages.v[k];

            if (a->value == b->value && !is_about_same(a, b)
                && (a->kind == b->kind || (is_meter(a) && is_meter(b)))
                && usage_winner(c, b, &value) && value == b->value) {
                return arena_printf(
                    c->arena, "%s %"PRIu64" is for more than one thing%s%s",
                    usage_name(a), a->value, a->tenant ? ", one of tenant "
                    : "", a->tenant
                    ? ((const struct policy_tenant *) a->tenant)->name : "");
            }
        }
    }
    return NULL;
}
