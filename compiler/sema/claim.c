/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/claim.h"

struct claims *
claims_create(struct arena *arena)
{
    struct claims *claims = arena_zalloc(arena, sizeof *claims);

    claims->arena = arena;
    return claims;
}

void
claim_number(struct claims *claims, const char *what, uint64_t number,
             const char *by)
{
    if (claims) {
        *vec_push(claims->arena, &claims->list) = (struct claim) {
            .what = what, .key = "", .number = number, .by = by,
        };
    }
}

void
claim_key(struct claims *claims, const char *what, const char *key,
          const void *at)
{
    if (claims) {
        *vec_push(claims->arena, &claims->list) = (struct claim) {
            .what = what, .key = key, .by = "", .at = at,
        };
    }
}

void
claim_share(struct claims *claims, const char *what, const char *key,
            uint64_t amount, uint64_t room)
{
    if (claims) {
        *vec_push(claims->arena, &claims->shares) = (struct share) {
            what, key, amount, room,
        };
    }
}
