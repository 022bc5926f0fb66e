/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/show.h"

#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "intent/value.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "sema/policy.h"
#include "util.h"

static void
print_string(const char *s)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    json_string_escape(s, &ds);
    fputs(ds_cstr(&ds), stdout);
    ds_destroy(&ds);
}

void
show_member(const char *key, const char *value)
{
    printf(", \"%s\": ", key);
    if (value) {
        print_string(value);
    } else {
        printf("null");
    }
}

void
show_strings_member(const char *key, const char *const *values, size_t n)
{
    printf(", \"%s\": [", key);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", stdout);
        print_string(values[i]);
    }
    putchar(']');
}

struct span
show_rule_span(const struct policy_rule *rule)
{
    /* A string, or the key of a tenant or a peering. */
    return (rule->at->type == VALUE_OBJECT ? rule->at->key_span
            : rule->at->span);
}

void
show_rule_place_member(const struct policy_rule *rule)
{
    struct arena *arena = arena_create();
    struct span span = show_rule_span(rule);
    struct source_pos pos = source_pos(span.source, span.start);

    printf(", \"place\": {\"file\": ");
    print_string(span.source->name);
    printf(", \"line\": %"PRIuSIZE", \"column\": %"PRIuSIZE, pos.line,
           pos.column);
    show_member("pointer", value_pointer(rule->at, arena));
    putchar('}');
    arena_destroy(arena);
}

static const char *
kind_in_words(enum rule_kind kind)
{
    switch (kind) {
    case RULE_DENY: return "deny rule";
    case RULE_ALLOW: return "rule";
    case RULE_PEERING: return "peering";
    case RULE_DEFAULT: return "\"default\": \"allow\" of";
    }
    OVS_NOT_REACHED();
}

void
show_rule(const struct policy_rule *rule)
{
    const char *name = rule->name;

    /* "peering:NAME" and "TENANT/(default)" say their kind already. */
    if (rule->kind == RULE_PEERING) {
        name = strchr(name, ':') + 1;
    }
    printf("%s '%.*s'", kind_in_words(rule->kind),
           (int) (rule->kind == RULE_DEFAULT ? strcspn(name, "/")
                  : strlen(name)), name);
}

void
show_rule_place(const struct policy_rule *rule)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct span span = show_rule_span(rule);

    diag_put_place(&ds, &span);
    fputs(ds_cstr(&ds), stdout);
    ds_destroy(&ds);
}
