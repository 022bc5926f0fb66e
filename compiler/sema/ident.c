/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/ident.h"

#include <string.h>

#include "base/arena.h"
#include "hash.h"
#include "sema/claim.h"
#include "sha1.h"

uint64_t
ident(const char *kind, const char *name, int n_bits)
{
    uint8_t digest[SHA1_DIGEST_SIZE];
    struct sha1_ctx ctx;
    uint64_t id = 0;

    sha1_init(&ctx);
    sha1_update(&ctx, kind, strlen(kind) + 1);
    sha1_update(&ctx, name, strlen(name));
    sha1_final(&ctx, digest);

    for (int i = 0; i < 8; i++) {
        id = id << 8 | digest[i];
    }
    id >>= 64 - n_bits;
    return id < IDENT_RESERVED ? id + IDENT_RESERVED : id;
}

struct taken {
    struct hmap_node node;
    uint32_t number;
};

void
ident_set_init(struct ident_set *set, struct arena *arena,
               struct claims *claims)
{
    set->arena = arena;
    set->claims = claims;
    hmap_init(&set->numbers);
}

void
ident_set_destroy(struct ident_set *set)
{
    hmap_destroy(&set->numbers);
}

static bool
is_taken(const struct ident_set *set, uint32_t number)
{
    const struct taken *taken;

    HMAP_FOR_EACH_WITH_HASH (taken, node, hash_int(number, 0),
                             &set->numbers) {
        if (taken->number == number) {
            return true;
        }
    }
    return false;
}

uint32_t
ident_take(struct ident_set *set, const char *kind, const char *name,
           int n_bits)
{
    uint32_t number = ident(kind, name, n_bits);
    uint32_t mask = n_bits == 32 ? UINT32_MAX : (1u << n_bits) - 1;

    if (hmap_count(&set->numbers) > mask - IDENT_RESERVED) {
        return 0;
    }
    while (number < IDENT_RESERVED || is_taken(set, number)) {
        number = (number + 1) & mask;
    }

    struct taken *taken = arena_zalloc(set->arena, sizeof *taken);
    taken->number = number;
    hmap_insert(&set->numbers, &taken->node, hash_int(number, 0));
    claim_number(set->claims, kind, number, name);
    return number;
}
