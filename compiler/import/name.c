/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/name.h"

#include <string.h>

#include "base/arena.h"
#include "intent/intent.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "sha1.h"

enum {
    MAX_NAME = 63,
    N_HASH = 16,                /* Hex digits in place of what is cut. */
};

const char *
import_name(struct arena *arena, const char *s)
{
    char hex[SHA1_HEX_DIGEST_LEN + 1];
    uint8_t digest[SHA1_DIGEST_SIZE];

    if (strlen(s) <= MAX_NAME) {
        return arena_strdup(arena, s);
    }
    sha1_bytes(s, strlen(s), digest);
    sha1_to_hex(digest, hex);
    return arena_printf(arena, "%.*s-%.*s", MAX_NAME - N_HASH - 1, s,
                        N_HASH, hex);
}

void
import_add_address(struct json *list, const struct address *a, bool prefix)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    bool ip4 = IN6_IS_ADDR_V4MAPPED(&a->ip);

    ipv6_format_mapped(&a->ip, &ds);
    if (prefix) {
        ds_put_format(&ds, "/%d", ip4 ? a->plen - 96 : a->plen);
    }
    json_array_add(list, json_string_create(ds_cstr(&ds)));
    ds_destroy(&ds);
}
