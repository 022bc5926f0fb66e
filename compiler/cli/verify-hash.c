/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* SHA-1 (FIPS 180-4) of what is held against each other, for who keeps
 * proofs.  docs/json.md says how to compute the same. */

#include <stdlib.h>
#include <string.h>

#include "cli/verify.h"
#include "openvswitch/dynamic-string.h"
#include "sema/policy.h"
#include "sha1.h"
#include "util.h"

static const char *
hash(const struct ds *ds, struct arena *arena)
{
    char hex[SHA1_HEX_DIGEST_LEN + 1];
    uint8_t digest[SHA1_DIGEST_SIZE];

    sha1_bytes(ds->string, ds->length, digest);
    sha1_to_hex(digest, hex);
    return arena_strdup(arena, hex);
}

const char *
verify_hash_intent(const struct verify_task *task, struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;

    intent_print(task->policy->intent, &ds);
    text = hash(&ds, arena);
    ds_destroy(&ds);
    return text;
}

static int
compare_texts(const void *a_, const void *b_)
{
    const char *const *a = a_, *const *b = b_;

    return strcmp(*a, *b);
}

const char *
verify_hash_flows(const struct verify_task *task, struct arena *arena)
{
    size_t n = task->tables->flows.n;
    const char **texts = xmalloc((n + 1) * sizeof *texts);
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;

    for (size_t i = 0; i < n; i++) {
        texts[i] = task->tables->flows.v[i]->text;
    }
    qsort(texts, n, sizeof *texts, compare_texts);
    for (size_t i = 0; i < n; i++) {
        ds_put_format(&ds, "%s\n", texts[i]);
    }
    text = hash(&ds, arena);
    ds_destroy(&ds);
    free(texts);
    return text;
}
