/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/ident.h"

#include <string.h>

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
