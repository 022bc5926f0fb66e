/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "flow.h"
#include "intent/intent.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "sema/meaning.h"
#include "sema/packet.h"
#include "sema/policy.h"
#include "util.h"

/* Says what an intent means for many packets, as "bulkhead trace" does for
 * one: for each line "FROM PACKET" of standard input, it prints "allow" or
 * "deny".  FROM is TENANT/ENDPOINT, or "external:" and the name of one that
 * is attached to one node. */

static const struct policy *
load(const char *name, struct arena *arena)
{
    const struct policy *policy = NULL;
    const struct source *source;
    const struct intent *intent;
    struct ds text = DS_EMPTY_INITIALIZER;
    struct diags diags;

    if (source_read(arena, name, &source)) {
        ovs_fatal(0, "cannot read %s", name);
    }
    diags_init(&diags, arena);
    intent = intent_parse(source, arena, &diags);
    policy = intent ? policy_resolve(intent, arena, &diags) : NULL;
    if (!policy) {
        diags_format(&diags, &text);
        ovs_fatal(0, "%s", ds_cstr(&text));
    }
    return policy;
}

static const struct policy_endpoint *
find_endpoint(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            if (!strcmp(tenant->endpoints.v[j]->name, name)) {
                return tenant->endpoints.v[j];
            }
        }
    }
    ovs_fatal(0, "there is no endpoint '%s'", name);
}

static const struct policy_attachment *
find_attachment(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->externals.n; i++) {
        const struct policy_external *e = policy->externals.v[i];

        if (!strcmp(e->name, name) && e->attachments.n == 1) {
            return e->attachments.v[0];
        }
    }
    ovs_fatal(0, "there is no attachment of '%s'", name);
}

static bool
judge(const struct policy *policy, const char *from, const char *text)
{
    struct meaning_question q = { .connection = CONNECTION_NEW };
    struct flow_wildcards given;
    struct flow packet;
    char *error = packet_parse(text, &packet, &given);

    if (error) {
        ovs_fatal(0, "%s: %s", text, error);
    }
    q.packet = &packet;
    if (!strncmp(from, "external:", 9)) {
        q.external = find_attachment(policy, from + 9);
        q.node = q.external->node->name.s;
        packet.dl_src = q.external->intent->mac;
        packet.dl_dst = q.external->gateway_mac;
        packet.nw_ttl = 64;
    } else {
        q.from = find_endpoint(policy, from);
        if (!packet_complete(q.from, &given, &packet)) {
            ovs_fatal(0, "%s cannot send %s", from, text);
        }
    }
    return meaning_judge(policy, &q).allow;
}

int
main(int argc, char *argv[])
{
    struct arena *arena = arena_create();
    const struct policy *policy;
    struct ds line = DS_EMPTY_INITIALIZER;

    if (argc != 2) {
        ovs_fatal(0, "usage: %s INTENT <QUESTIONS", argv[0]);
    }
    policy = load(argv[1], arena);
    while (!ds_get_line(&line, stdin)) {
        char *packet = strchr(ds_cstr(&line), ' ');

        if (!packet) {
            ovs_fatal(0, "a question is FROM PACKET");
        }
        *packet++ = '\0';
        puts(judge(policy, ds_cstr(&line), packet) ? "allow" : "deny");
    }
    ds_destroy(&line);
    arena_destroy(arena);
    return 0;
}
