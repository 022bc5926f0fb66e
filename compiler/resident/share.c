/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/part.h"

#include <stdlib.h>

#include "util.h"

/* What parts take of what has room for so much in all (sema/claim.h). */

static struct total *
find_total(struct resident *r, const struct share *share)
{
    char *name = xasprintf("%s %s", share->what, share->key);
    struct total *total = shash_find_data(&r->totals, name);

    if (!total) {
        total = arena_zalloc(r->arena, sizeof *total);
        total->room = share->room;
        shash_add(&r->totals, name, total);
    }
    /* It is the same for all; should it not be, the least counts. */
    total->room = MIN(total->room, share->room);
    free(name);
    return total;
}

void
part_share(struct resident *r, struct part *part, const struct claims *claims)
{
    free(part->shares);
    part->shares = xcalloc(claims->shares.n, sizeof *part->shares);
    part->n_shares = 0;
    for (size_t i = 0; i < claims->shares.n; i++) {
        const struct share *share = &claims->shares.v[i];

        if (share->amount) {
            part->shares[part->n_shares++] = (struct part_share) {
                find_total(r, share), share->amount,
            };
        }
    }
}

static void
weigh(const struct ovs_list *parts, bool comes)
{
    const struct part *part;

    LIST_FOR_EACH (part, node, parts) {
        for (size_t i = 0; i < part->n_shares; i++) {
            uint64_t amount = part->shares[i].amount;

            part->shares[i].total->change += comes ? amount : -amount;
        }
    }
}

bool
is_above_room(struct change *c)
{
    const struct part *part;
    bool above = false;

    weigh(&c->made, true);
    weigh(&c->leaving, false);
    LIST_FOR_EACH (part, node, &c->made) {
        for (size_t i = 0; i < part->n_shares; i++) {
            const struct total *total = part->shares[i].total;

            above |= total->sum + total->change > total->room;
        }
    }
    weigh(&c->made, false);
    weigh(&c->leaving, true);
    return above;
}

void
shares_settle(const struct part *part, bool comes)
{
    for (size_t i = 0; i < part->n_shares; i++) {
        uint64_t amount = part->shares[i].amount;

        part->shares[i].total->sum += comes ? amount : -amount;
    }
}
