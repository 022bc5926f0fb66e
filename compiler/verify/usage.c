/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>

#include "hash.h"
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

static uint32_t
hash_about(const struct usage *u)
{
    uint32_t hash = hash_pointer(u->tenant, u->kind);

    hash = hash_pointer(u->endpoint, hash);
    hash = hash_pointer(u->uplink, hash);
    hash = hash_pointer(u->class, hash);
    return hash_2words(hash, hash_2words(u->zone, u->limit));
}

/* What is known of the values that are used for the same; NULL if nothing. */
static struct usage *
find_same(const struct comparison *c, const struct usage *usage)
{
    uint32_t hash = hash_about(usage);
    struct usage *other;

    HMAP_FOR_EACH_WITH_HASH (other, node, hash, &c->usages) {
        if (is_about_same(other, usage)) {
            return other;
        }
    }
    return NULL;
}

void
usage_count(struct comparison *c, const struct usage *usage)
{
    struct usage *first = find_same(c, usage), *new;

    for (new = first; new; new = new->next) {
        if (new->value == usage->value) {
            new->n += usage->n;
            return;
        }
    }
    new = arena_zalloc(c->arena, sizeof *new);
    *new = *usage;
    new->next = NULL;
    if (first) {
        new->next = first->next;
        first->next = new;
        c->disputed = true;
    } else {
        hmap_insert(&c->usages, &new->node, hash_about(usage));
    }
}

void
usage_vote(struct comparison *c, const struct usage *usage)
{
    struct usage once = *usage;

    once.n = 1;
    usage_count(c, &once);
}

bool
usage_winner(const struct comparison *c, const struct usage *usage,
             uint64_t *value)
{
    const struct usage *best = find_same(c, usage);

    for (const struct usage *u = best; u; u = u->next) {
        best = u->n > best->n ? u : best;
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
        [USE_TAG] = "meter",
    };

    return names[usage->kind];
}

/* Whose value is used. */
struct user {
    struct hmap_node node;
    const struct usage *usage;
};

static const char *
find_sharing(const struct comparison *c, struct hmap *users,
             const struct usage *a)
{
    uint32_t hash = hash_uint64(a->value);
    struct user *user;

    HMAP_FOR_EACH_WITH_HASH (user, node, hash, users) {
        const struct usage *b = user->usage;

        if (a->value == b->value
            && (a->kind == b->kind || (is_meter(a) && is_meter(b)))) {
            return arena_printf(
                c->arena, "%s %"PRIu64" is for more than one thing%s%s",
                usage_name(a), a->value, a->tenant ? ", one of tenant " : "",
                a->tenant ? ((const struct policy_tenant *) a->tenant)->name
                : "");
        }
    }
    user = arena_zalloc(c->arena, sizeof *user);
    user->usage = a;
    hmap_insert(users, &user->node, hash);
    return NULL;
}

const char *
usages_shared(const struct comparison *c)
{
    struct hmap users = HMAP_INITIALIZER(&users);
    const char *shared = NULL;
    struct usage *usage;

    HMAP_FOR_EACH (usage, node, &c->usages) {
        const struct usage *best = usage;

        if (!usage_is_exclusive(usage)) {
            continue;
        }
        for (const struct usage *u = usage; u; u = u->next) {
            best = u->n > best->n ? u : best;
        }
        shared = shared ? shared : find_sharing(c, &users, best);
    }
    hmap_destroy(&users);
    return shared;
}
