/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/show.h"
#include "flow.h"
#include "sema/meaning.h"
#include "sema/packet.h"
#include "sema/policy.h"
#include "util.h"

/* The endpoint that --from names; prints if there is none. */
static const struct policy_endpoint *
find_endpoint(const struct policy *policy, const struct cli_options *options)
{
    struct nearest nearest = nearest_init(options->from);

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *e = tenant->endpoints.v[j];

            if (!strcmp(e->name, options->from)) {
                return e;
            }
            nearest_try(&nearest, e->name);
        }
    }
    fprintf(stderr, "bulkhead: %s knows no endpoint '%s'", options->intent,
            options->from);
    if (nearest.best) {
        fprintf(stderr, ": did you mean '%s'?", nearest.best);
    } else if (!strchr(options->from, '/')) {
        fputs("; --from takes TENANT/ENDPOINT", stderr);
    }
    putc('\n', stderr);
    return NULL;
}

/* Stores what --state names; prints if it names nothing. */
static bool
parse_state(const char *name, enum connection *connection)
{
    for (*connection = 0; *connection < N_CONNECTIONS; ++*connection) {
        if (!strcmp(connection_name(*connection), name)) {
            return true;
        }
    }
    fprintf(stderr, "bulkhead: --state takes");
    for (int i = 0; i < N_CONNECTIONS; i++) {
        fprintf(stderr, "%s %s", i ? i < N_CONNECTIONS - 1 ? "," : " or" : "",
                connection_name(i));
    }
    fprintf(stderr, ", not '%s'\n", name);
    return false;
}

static const char *
class_name(const struct meaning *m)
{
    return m->rule->class ? m->rule->class->name : POLICY_BEST_EFFORT;
}

static void
print_json(const struct meaning *m)
{
    bool forwarded = m->allow && !m->answered;

    printf("{\"verdict\": \"%s\"", m->allow ? "allow" : "deny");
    show_member("reason", m->allow || m->rule ? NULL
                 : reason_info(m->reason)->name);
    show_member("rule", m->rule ? m->rule->name : NULL);
    show_member("class", forwarded ? class_name(m) : NULL);
    show_member("tenant", forwarded ? m->charged->name : NULL);
    show_member("destination", forwarded ? m->to->name
                 : m->answered ? "answered here" : NULL);
    puts("}");
}

static void
print_reason(const struct meaning *m)
{
    const struct reason_info *info = reason_info(m->reason);

    printf("reason       %s: %s\n", info->name, info->text);
    if (m->to) {
        printf("destination  none; it would have gone to %s\n", m->to->name);
    }
}

/* Prints the packet without what no packet has, or says, in every case. */
static void
print_packet(const struct flow *packet)
{
    static const char *const noise[] = {
        ",in_port=ANY", ",vlan_tci=0x0000", ",nw_frag=no", ",tcp_flags=0",
    };
    char *text = flow_to_string(packet, NULL);

    for (size_t i = 0; i < ARRAY_SIZE(noise); i++) {
        char *p = strstr(text, noise[i]);

        if (p) {
            size_t length = strlen(noise[i]);

            memmove(p, p + length, strlen(p + length) + 1);
        }
    }
    printf("packet       %s\n", text);
    free(text);
}

static void
print_table(const struct meaning_question *q, const struct meaning *m)
{
    print_packet(q->packet);
    printf("from         %s, connection: %s\n", q->from->name,
           connection_name(q->connection));
    printf("verdict      %s\n", m->allow ? "allow" : "deny");
    if (m->answered) {
        printf("destination  answered here, for %s "ETH_ADDR_FMT"\n",
               m->answer_router ? "the gateway" : "the endpoint",
               ETH_ADDR_ARGS(m->answer));
    } else if (!m->rule) {
        print_reason(m);
    } else {
        printf("decided by   ");
        show_rule(m->rule);
        printf(", ");
        show_rule_place(m->rule);
        putchar('\n');
        if (m->allow) {
            printf("class        %s: DSCP %u, queue %u\n", class_name(m),
                   m->dscp, m->queue);
            printf("charged      %s\n", m->charged->name);
        }
        printf("destination  %s%s%s\n", m->allow ? "" : "none; it would have "
               "gone to ", m->to->name,
               m->routed ? ", through the gateway" : "");
    }
}

/* Is 'node' in the intent, or not asked for? */
static bool
check_node(const struct policy *policy, const struct cli_options *options)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        if (!options->node
            || !strcmp(policy->intent->nodes.v[i].name.s, options->node)) {
            return true;
        }
    }
    cli_print_unknown_node(policy, options);
    return false;
}

/* Parses a packet of the command line; prints what is wrong with it. */
static bool
parse_packet(const char *text, struct flow *packet,
             struct flow_wildcards *given)
{
    char *error = packet_parse(text, packet, given);

    if (error) {
        fprintf(stderr, "bulkhead: this is no packet: %s; write it as in "
                "'tcp,nw_dst=10.1.0.11,tp_dst=443'\n", error);
        free(error);
        return false;
    }
    return true;
}

static int
trace(const struct cli_options *options, struct arena *arena,
      struct flow *packet, const struct flow_wildcards *given,
      enum connection connection, const struct meaning_opener *opener)
{
    const struct policy *policy = cli_load_policy(options, arena);
    struct meaning_question q = {
        .node = options->node, .packet = packet, .connection = connection,
        .opener = opener,
    };
    struct meaning m;

    if (!policy || !check_node(policy, options)) {
        return EXIT_WRONG;
    }
    q.from = find_endpoint(policy, options);
    if (!q.from) {
        return EXIT_WRONG;
    }
    packet_complete(q.from, given, packet);
    m = meaning_judge(policy, &q);
    if (options->format == FORMAT_JSON) {
        print_json(&m);
    } else {
        print_table(&q, &m);
    }
    return EXIT_DONE;
}

int
cmd_trace(const struct cli_options *options)
{
    struct meaning_opener opener;
    enum connection connection;
    struct flow_wildcards given, ignored;
    struct flow packet, opening;

    if (!parse_state(options->state ? options->state : "new", &connection)
        || !parse_packet(options->argument, &packet, &given)
        || (options->opener
            && !parse_packet(options->opener, &opening, &ignored))) {
        return EXIT_USAGE;
    }
    if (options->opener) {
        opener.protocol = opening.nw_proto;
        opener.source = opening.tp_src;
        opener.destination = opening.tp_dst;
    }

    struct arena *arena = arena_create();
    int status = trace(options, arena, &packet, &given, connection,
                       options->opener ? &opener : NULL);

    arena_destroy(arena);
    return status;
}
