/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "cli/show.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "sema/ident.h"
#include "sema/policy.h"
#include "sema/reason.h"
#include "util.h"

/* Parses a cookie as ovs-ofctl prints them, with or without "0x". */
static bool
parse_cookie(const char *s, uint64_t *cookie)
{
    const char *digits = s + (!strncmp(s, "0x", 2) ? 2 : 0);
    size_t n = strspn(digits, "0123456789abcdefABCDEF");

    if (!n || n > 16 || digits[n]) {
        fprintf(stderr, "bulkhead: '%s' is no cookie; write it as ovs-ofctl "
                "dump-flows does, as in 0xb17d000000000007\n", s);
        return false;
    }
    *cookie = strtoull(digits, NULL, 16);
    return true;
}

static struct json *
cookie_json(uint64_t cookie, const char *kind, const char *name)
{
    struct json *object = json_object_create();

    json_object_put_format(object, "cookie", "%#"PRIx64, cookie);
    show_put(object, "kind", kind);
    show_put(object, "name", name);
    return object;
}

static void
print_reason(const struct reason_info *info, uint64_t cookie, bool json)
{
    if (json) {
        struct json *object = cookie_json(cookie, "implicit", info->name);

        show_put(object, "text", info->text);
        show_put(object, "remedy", info->remedy);
        show_json(object);
    } else {
        printf("%#"PRIx64": %s, no rule of an intent\n"
               "  meaning: %s\n  remedy: %s\n", cookie, info->name,
               info->text, info->remedy);
    }
}

static void
print_snippet(const struct policy_rule *rule)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct span span = policy_rule_span(rule);

    diag_put_snippet(&ds, &span, '^');
    fputs(ds_cstr(&ds), stdout);
    ds_destroy(&ds);
}

static void
print_rule(const struct policy_rule *rule, uint64_t cookie, bool json)
{
    if (json) {
        struct json *object = cookie_json(cookie, rule_kind_name(rule->kind),
                                          rule->name);

        json_object_put(object, "place", show_rule_place_json(rule));
        show_json(object);
    } else {
        printf("%#"PRIx64": ", cookie);
        show_rule(rule);
        putchar('\n');
        show_rule_place(rule);
        puts(":");
        print_snippet(rule);
    }
}

static int
explain_rule(const struct cli_options *options, uint64_t cookie)
{
    struct arena *arena = arena_create();
    const struct policy *policy = cli_consult_policy(options, arena);
    const struct policy_rule *found = NULL;

    for (size_t i = 0; policy && i < policy->rules.n; i++) {
        if ((COOKIE_MARK | policy->rules.v[i]->id) == cookie) {
            found = policy->rules.v[i];
        }
    }
    if (found) {
        print_rule(found, cookie, options->format == FORMAT_JSON);
    } else if (policy) {
        fprintf(stderr, "bulkhead: %s has no rule and no peering of cookie "
                "%#"PRIx64"; look in the version of it that was applied, for "
                "the name makes the cookie; 'bulkhead status' tells whether "
                "the bridge holds this one\n", cli_intent_title(options),
                cookie);
    }
    arena_destroy(arena);
    return found ? EXIT_DONE : policy ? EXIT_USAGE : EXIT_WRONG;
}

int
cmd_explain(const struct cli_options *options)
{
    uint64_t cookie, id;

    if (!parse_cookie(options->argument, &cookie)) {
        return EXIT_USAGE;
    }
    id = cookie & ~COOKIE_MARK_MASK;
    if ((cookie & COOKIE_MARK_MASK) != COOKIE_MARK) {
        fprintf(stderr, "bulkhead: %#"PRIx64" is not a cookie of Bulkhead's, "
                "which begin with 0xb17d; ask whoever put that flow there\n",
                cookie);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < n_reason_infos; i++) {
        if (reason_infos[i].reason == id) {
            print_reason(&reason_infos[i], cookie,
                         options->format == FORMAT_JSON);
            return EXIT_DONE;
        }
    }
    if (id < IDENT_RESERVED) {
        fprintf(stderr, "bulkhead: %#"PRIx64" is reserved, and this version "
                "gives it no meaning; ask the version that wrote the flow\n",
                cookie);
        return EXIT_USAGE;
    } else if (!options->n_intent) {
        fprintf(stderr, "bulkhead: %#"PRIx64" is the cookie of a rule; name "
                "the intent: bulkhead explain INTENT %s\n", cookie,
                options->argument);
        return EXIT_USAGE;
    }
    return explain_rule(options, cookie);
}
