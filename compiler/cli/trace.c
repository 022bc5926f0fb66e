/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/trace.h"
#include "flow.h"
#include "packets.h"
#include "sema/apart.h"
#include "sema/check.h"
#include "sema/meaning-legacy.h"
#include "sema/meaning-reach.h"
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
    fprintf(stderr, "bulkhead: %s knows no endpoint '%s'",
            cli_intent_title(options), options->from);
    if (nearest.best) {
        fprintf(stderr, ": did you mean '%s'?", nearest.best);
    } else if (!strchr(options->from, '/')) {
        fputs("; --from takes TENANT/ENDPOINT, external:NAME, or "
              "tunnel:NODE:VNI", stderr);
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

/* Is nobody of the sender's network on the node but the sender? */
static bool
is_alone(const struct policy_endpoint *from)
{
    for (size_t i = 0; i < from->tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = from->tenant->endpoints.v[i];

        if (e != from && e->network == from->network && e->bound
            && e->node == from->node) {
            return false;
        }
    }
    return true;
}

/* The DHCP server that a request does not reach because it is on another
 * node; NULL if that is not so. */
static const struct policy_endpoint *
find_far_server(const struct meaning_question *q)
{
    const struct policy_endpoint *server = q->from->network->dhcp_server;
    const struct flow *packet = q->packet;
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);

    return (server && server->bound && server->node != q->from->node
            && is_ip_any(packet) && packet->nw_proto == IPPROTO_UDP
            && !packet->nw_frag
            && packet->tp_src == htons(ip6 ? 546 : 68)
            && packet->tp_dst == htons(ip6 ? 547 : 67) ? server : NULL);
}

/* Why it does not reach an endpoint of another node, which it may have to do
 * with; NULL if there is another reason. */
static const char *
explain_apart(const struct policy *policy, const struct meaning_question *q,
              struct arena *arena)
{
    const struct policy_endpoint *from = q->from;
    const struct policy_endpoint *to = packet_find_owner(policy, from,
                                                         q->packet, true);
    const char *reason = (to && (to->network == from->network
                                 || gateways_join(policy, q, from->tenant, to))
                          ? apart_reason(policy, from, to, arena) : NULL);

    return reason ? arena_printf(arena, "%s, which has the destination's "
                                 "address, is on %s, and no tunnel goes there "
                                 "from %s: %s", to->name, to->node->name.s,
                                 from->node->name.s, reason) : NULL;
}

/* Why a bound sender's packet was denied without a rule, if there is more to
 * say than the reason does. */
static const char *
explain_denial(const struct policy *policy, const struct meaning_question *q,
               const struct meaning *m, struct arena *arena)
{
    const struct policy_endpoint *from = q->from, *other;
    const char *legacy;

    if (q->node && strcmp(q->node, from->node->name.s)) {
        return arena_printf(arena, "%s is on %s, and no port of %s is its own",
                            from->name, from->node->name.s, q->node);
    } else if (m->many && is_alone(from)) {
        return arena_printf(arena, "no receiver on this node: %s is the only "
                            "endpoint of its network on %s, and groups never "
                            "leave a node", from->name, from->node->name.s);
    }
    legacy = trace_to_legacy_note(policy, q, m, arena);
    if (legacy || m->reason != REASON_UNREACHABLE) {
        return legacy;
    }
    other = find_far_server(q);
    if (other) {
        return arena_printf(arena, "the network's DHCP server, %s, is on %s, "
                            "and DHCP never leaves a node", other->name,
                            other->node->name.s);
    }
    other = packet_find_owner(policy, from, q->packet, false);
    return other ? arena_printf(arena, "%s, which has the destination's "
                                "address, is unbound: it has no \"%s\"",
                                other->name, packet_missing_binding(other))
                 : explain_apart(policy, q, arena);
}

/* What a reader would look for in vain, in 'arena', or NULL. */
static const char *
find_note(const struct policy *policy, const struct meaning_question *q,
          const struct meaning *m, struct arena *arena)
{
    if (legacy_sends(q)) {
        return trace_legacy_note(policy, q, m, arena);
    } else if (q->from && !q->from->bound && !legacy_uplink(q->from)) {
        return arena_printf(arena, "%s is unbound: it has no \"%s\"",
                            q->from->name, packet_missing_binding(q->from));
    }
    return (m->allow || m->rule ? NULL
            : q->from ? explain_denial(policy, q, m, arena)
            : trace_to_legacy_note(policy, q, m, arena));
}

/* Has the verdict been asked of the rules, although the packet does not tell
 * what opened its connection?  The first fragment does, its ports are there.
 */
static bool
is_undecided(const struct meaning_question *q, const struct meaning *m)
{
    return ((m->to || m->external) && !m->untracked && !q->opener
            && (q->connection == CONNECTION_RELATED
                || q->packet->nw_frag & FLOW_NW_FRAG_LATER));
}

/* Parses a packet of the command line; prints what is wrong with it. */
static bool
parse_packet(const char *text, struct flow *packet,
             struct flow_wildcards *given)
{
    char *error = packet_parse(text, packet, given);

    if (error) {
        fprintf(stderr, "bulkhead: this is no packet: %s\n", error);
        free(error);
        return false;
    }
    return true;
}

/* May the packet open a connection?  Prints why not. */
static bool
check_opens(const struct flow *packet)
{
    uint16_t flags = ntohs(packet->tcp_flags);

    if (is_ip_any(packet) && packet->nw_proto == IPPROTO_TCP
        && flags & TCP_SYN && flags & TCP_ACK) {
        fputs("bulkhead: SYN with ACK opens no connection but answers one: "
              "say --state=reply, or --state=invalid if there is none such\n",
              stderr);
        return false;
    }
    return true;
}

static void
print_no_source(const struct policy_endpoint *from, const struct flow *packet)
{
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);

    fprintf(stderr, "bulkhead: %s has no %s address to send this from; give "
            "it one in \"addresses\", or write which it claims, as in %s\n",
            from->name, ip6 ? "IPv6" : "IPv4",
            ip6 ? "ipv6_src=fd00::1" : packet->dl_type == htons(ETH_TYPE_ARP)
            ? "arp_spa=10.1.0.10" : "nw_src=10.1.0.10");
}

/* Stores the sender that --from names and fills in the packet as it would;
 * prints why that cannot be. */
static bool
find_sender(const struct policy *policy, const struct cli_options *options,
            const struct flow_wildcards *given, struct flow *packet,
            const struct policy_endpoint **from)
{
    *from = find_endpoint(policy, options);
    if (*from && !packet_complete(*from, given, packet)) {
        print_no_source(*from, packet);
        return false;
    }
    return *from != NULL;
}

static int
trace(const struct cli_options *options, struct arena *arena,
      struct flow *packet, const struct flow_wildcards *given,
      enum connection connection, const struct meaning_opener *opener)
{
    const struct policy *policy = cli_consult_policy(options, arena);
    struct meaning_question q = {
        .node = options->node, .packet = packet, .connection = connection,
        .opener = opener,
    };
    const char *note;
    struct meaning m;
    bool external;

    if (!policy) {
        return EXIT_WRONG;
    }
    q.tunnel = !strncmp(options->from, TRACE_TUNNEL, strlen(TRACE_TUNNEL));
    external = trace_is_external(options);
    if (external) {
        q.external = trace_enter(policy, options, given, packet);
        q.node = q.external ? q.external->node->name.s : NULL;
    }
    if (!(external ? q.external != NULL
          : q.tunnel ? trace_enter_tunnel(policy, options, given, packet)
          : find_sender(policy, options, given, packet, &q.from))) {
        return EXIT_USAGE;
    }
    m = legacy_sends(&q) ? legacy_judge(&q) : meaning_judge(policy, &q);
    if (is_undecided(&q, &m)) {
        fputs("bulkhead: the packet does not tell what opened its connection, "
              "which decides about it: say that too, as in --opener="
              "'tcp,tp_src=5000,tp_dst=443'\n", stderr);
        return EXIT_USAGE;
    }
    note = find_note(policy, &q, &m, arena);
    if (options->format == FORMAT_JSON) {
        trace_print_json(&q, &m, options->from, note);
    } else {
        trace_print_table(&q, &m, options->from, note);
    }
    return EXIT_DONE;
}

/* Parses what opened the connection of 'packet' into 'opener'; prints why
 * not.  Outside, its other end is who sends the packet, unless that is an
 * ICMP error. */
static bool
parse_opener(const struct cli_options *options, enum connection connection,
             const struct flow *packet, struct meaning_opener *opener)
{
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);
    struct flow_wildcards given;
    struct flow opening;

    if (!parse_packet(options->opener, &opening, &given)) {
        return false;
    }
    *opener = (struct meaning_opener) {
        opening.nw_proto, opening.tp_src, opening.tp_dst,
        ip6 ? opening.ipv6_dst : in6_addr_mapped_ipv4(opening.nw_dst),
    };
    if (ip6 ? ipv6_is_zero(&given.masks.ipv6_dst) : !given.masks.nw_dst) {
        if (connection == CONNECTION_RELATED && trace_is_external(options)) {
            fprintf(stderr, "bulkhead: anybody may report about any "
                    "connection: say whom it was opened to, as in --opener="
                    "'%s,tp_src=5000,tp_dst=443'\n", ip6
                    ? "tcp6,ipv6_dst=2001:db8::1"
                    : "tcp,nw_dst=198.51.100.1");
            return false;
        }
        opener->outside = (ip6 ? packet->ipv6_src
                           : in6_addr_mapped_ipv4(packet->nw_src));
    }
    return true;
}

int
cmd_trace(const struct cli_options *options)
{
    struct meaning_opener opener;
    enum connection connection;
    struct flow_wildcards given;
    struct flow packet;

    if (!parse_state(options->state ? options->state : "new", &connection)
        || !parse_packet(options->argument, &packet, &given)
        || (options->opener
            && !parse_opener(options, connection, &packet, &opener))) {
        return EXIT_USAGE;
    }
    if (!options->state && !check_opens(&packet)) {
        return EXIT_USAGE;
    }

    struct arena *arena = arena_create();
    int status = trace(options, arena, &packet, &given, connection,
                       options->opener ? &opener : NULL);

    arena_destroy(arena);
    return status;
}
