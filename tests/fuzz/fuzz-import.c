/* Copyright (c) 2026 The Bulkhead authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: what others wrote, as import reads it: objects of Kubernetes,
 * and a dump of OVN's northbound database, in one file or several, as
 * fuzz-intent.h has them.
 *
 * Nothing may crash.  What is refused has an error.  What is imported is JSON
 * of one object, which the front end takes or refuses with places. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/vec.h"
#include "fuzz-intent.h"
#include "import/import.h"
#include "intent/intent.h"
#include "intent/value.h"
#include "openvswitch/dynamic-string.h"
#include "sema/policy.h"
#include "util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where the ports of a dump are bound. */
static const char fabric[]
    = "{\"version\": 1, \"fabric\": {\"nodes\": {"
      "\"n1\": {\"uplinks\": {\"up\": {\"interface\": \"p0\", "
      "\"rate\": \"10Gbps\", \"burst\": \"64KiB\"}}}, "
      "\"n2\": {\"uplinks\": {\"up\": {\"interface\": \"p0\", "
      "\"rate\": \"10Gbps\", \"burst\": \"64KiB\"}}}}}}";

static void
check_diags(struct diags *diags, bool ok)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ovs_assert(ok == !diags->n_errors);
    diags_format(diags, &ds);
    ds_destroy(&ds);
}

static void
check_imported(const char *text, struct diags *diags, struct arena *arena)
{
    const struct source *source;
    const struct intent *intent;
    const struct value *value;

    check_diags(diags, text != NULL);
    if (!text) {
        return;
    }
    source = source_create(arena, "imported", text, strlen(text));
    diags_init(diags, arena);
    value = value_parse(source, arena, diags);
    ovs_assert(value && value->type == VALUE_OBJECT);
    intent = intent_parse(source, arena, diags);
    check_diags(diags, intent && policy_resolve(intent, arena, diags));
}

VEC_TYPEDEF(source_vec, const struct source *);

static source_vec
split(const char *data, size_t size, struct arena *arena)
{
    source_vec sources = VEC_INIT;
    const char *end;

    for (const char *p = data; p <= data + size; p = end + 1) {
        end = memchr(p, FILE_SEPARATOR, data + size - p);
        end = end ? end : data + size;
        if (p > data) {
            const char *line = memchr(p, '\n', end - p);

            p = line ? line + 1 : end;
        }
        *vec_push(arena, &sources) = source_create(
            arena, "input", arena_strndup(arena, p, end - p), end - p);
    }
    return sources;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    source_vec sources = split((const char *) data, size, arena);
    struct diags diags;

    for (int per_namespace = 0; per_namespace < 2; per_namespace++) {
        diags_init(&diags, arena);
        check_imported(import_k8s(sources.v, sources.n, per_namespace, arena,
                                  &diags), &diags, arena);
    }
    *vec_push(arena, &sources) = source_create(arena, "fabric", fabric,
                                               strlen(fabric));
    diags_init(&diags, arena);
    check_imported(import_ovn(sources.v, sources.n, arena, &diags), &diags,
                   arena);
    arena_destroy(arena);
    return 0;
}
