/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "intent/value.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "sema/policy.h"
#include "util.h"

void
show_put(struct json *object, const char *key, const char *value)
{
    json_object_put(object, key, value ? json_string_create(value)
                    : json_null_create());
}

void
show_put_number(struct json *object, const char *key, uint64_t value)
{
    json_object_put(object, key, json_integer_create(value));
}

void
show_json(struct json *json)
{
    char *s = json_to_string(json, JSSF_SORT);

    puts(s);
    free(s);
    json_destroy(json);
}

static struct json *
place_json(const struct span *span, const struct value *at)
{
    struct arena *arena = arena_create();
    struct source_pos pos = source_pos(span->source, span->start);
    struct json *place = json_object_create();

    show_put(place, "file", span->source->name);
    show_put_number(place, "line", pos.line);
    show_put_number(place, "column", pos.column);
    show_put(place, "pointer", value_pointer(at, arena));
    arena_destroy(arena);
    return place;
}

struct json *
show_rule_place_json(const struct policy_rule *rule)
{
    struct span span = policy_rule_span(rule);

    return place_json(&span, rule->at);
}

struct json *
show_value_place_json(const struct value *at)
{
    return place_json(at->type == VALUE_OBJECT ? &at->key_span : &at->span,
                      at);
}

static const char *
kind_in_words(enum rule_kind kind)
{
    switch (kind) {
    case RULE_GUARDRAIL: return "guardrail";
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

    /* "KIND:NAME" and "TENANT/(default)" say their kind already. */
    if (rule_kind_is_operators(rule->kind)) {
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
    struct span span = policy_rule_span(rule);

    diag_put_place(&ds, &span);
    fputs(ds_cstr(&ds), stdout);
    ds_destroy(&ds);
}
