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
#include "cli/show.h"
#include "flow.h"
#include "packets.h"
#include "sema/meaning.h"
#include "sema/packet.h"
#include "sema/policy.h"
#include "util.h"

/* What --from begins with if it is not an endpoint. */
#define TUNNEL "tunnel:"

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
        fputs("; --from takes TENANT/ENDPOINT, or tunnel:NODE:VNI", stderr);
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
class_name(const struct policy_rule *rule)
{
    return rule && rule->class ? rule->class->name : POLICY_BEST_EFFORT;
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

/* The packet without its outer header and what no packet has, or says, in
 * every case.  The caller must free it. */
static char *
packet_text(const struct flow *packet)
{
    static const char *const noise[] = {
        ",in_port=ANY", "in_port=ANY,", ",vlan_tci=0x0000",
        "vlan_tci=0x0000,", ",nw_frag=no", ",tcp_flags=0",
    };
    struct flow inner = *packet;

    memset(&inner.tunnel, 0, sizeof inner.tunnel);

    char *text = flow_to_string(&inner, NULL);

    for (size_t i = 0; i < ARRAY_SIZE(noise); i++) {
        char *p = strstr(text, noise[i]);

        if (p) {
            size_t length = strlen(noise[i]);

            memmove(p, p + length, strlen(p + length) + 1);
        }
    }
    return text;
}

/* "rule 'a/web', intent.json:12:9". */
static void
print_rule(const struct policy_rule *rule)
{
    if (rule) {
        show_rule(rule);
        printf(", ");
        show_rule_place(rule);
    } else {
        printf("DHCP, which the network's \"dhcp\" allows");
    }
}

static void
print_copies(const struct meaning *m)
{
    for (size_t i = 0; i < m->n_copies; i++) {
        const struct meaning_copy *copy = &m->copies[i];

        printf("copy         to %s, class %s: DSCP %u, queue %u; decided by ",
               copy->to->name, class_name(copy->rule), copy->dscp,
               copy->queue);
        print_rule(copy->rule);
        putchar('\n');
    }
    printf("charged      %s, for each copy\n", m->charged->name);
}

static void
print_decision(const struct meaning *m)
{
    printf("decided by   ");
    print_rule(m->rule);
    putchar('\n');
    if (m->allow) {
        printf("class        %s: DSCP %u, queue %u\n", class_name(m->rule),
               m->dscp, m->queue);
        printf("charged      %s\n", m->charged ? m->charged->name
               : "nobody here, the sender on its own node");
    }
    printf("destination  %s%s%s", m->allow ? "" : "none; it would have "
           "gone to ", m->to->name, m->routed ? ", through the gateway" : "");
    if (m->node) {
        printf(", by tunnel to %s with VNI %"PRIu32, m->node->name.s,
               m->to->network->intent->vni);
    }
    putchar('\n');
}

static void
print_number(const char *key, bool known, unsigned int value)
{
    if (known) {
        printf(", \"%s\": %u", key, value);
    } else {
        show_member(key, NULL);
    }
}

static void
print_copies_json(const struct meaning *m)
{
    printf(", \"copies\": [");
    for (size_t i = 0; i < m->n_copies; i++) {
        const struct meaning_copy *copy = &m->copies[i];

        printf("%s{\"destination\": \"%s\"", i ? ", " : "",
               copy->to->name);
        show_member("rule", copy->rule ? copy->rule->name : NULL);
        show_member("class", class_name(copy->rule));
        print_number("dscp", true, copy->dscp);
        print_number("queue", true, copy->queue);
        putchar('}');
    }
    putchar(']');
}

static void
print_json(const struct meaning_question *q, const struct meaning *m,
           const char *from, const char *note)
{
    bool forwarded = m->allow && !m->answered;
    bool one = forwarded && !m->n_copies;
    char *packet = packet_text(q->packet);

    printf("{\"verdict\": \"%s\"", m->allow ? "allow" : "deny");
    show_member("reason", m->allow || m->rule ? NULL
                : reason_info(m->reason)->name);
    show_member("rule", m->rule ? m->rule->name : NULL);
    show_member("class", one ? class_name(m->rule) : NULL);
    show_member("tenant", forwarded && m->charged ? m->charged->name : NULL);
    show_member("destination", one ? m->to->name
                : m->answered ? "answered here" : NULL);
    show_member("node", one && m->node ? m->node->name.s : NULL);
    print_number("dscp", one, m->dscp);
    print_number("queue", one, m->queue);
    if (m->n_copies) {
        print_copies_json(m);
    }
    if (m->rule) {
        show_rule_place_member(m->rule);
    } else {
        show_member("place", NULL);
    }
    show_member("note", note);
    show_member("from", from);
    show_member("connection", connection_name(q->connection));
    show_member("packet", packet);
    puts("}");
    free(packet);
}

static void
print_table(const struct meaning_question *q, const struct meaning *m,
            const char *from, const char *note)
{
    char *packet = packet_text(q->packet);

    printf("packet       %s\n", packet);
    free(packet);
    printf("from         %s, connection: %s\n", from,
           connection_name(q->connection));
    printf("verdict      %s\n", m->allow ? "allow" : "deny");
    if (m->answered) {
        printf("destination  answered here, for %s "ETH_ADDR_FMT"\n",
               m->answer_router ? "the gateway" : "the endpoint",
               ETH_ADDR_ARGS(m->answer));
    } else if (m->n_copies) {
        print_copies(m);
    } else if (m->allow || m->rule) {
        print_decision(m);
    } else {
        print_reason(m);
    }
    if (note) {
        printf("note         %s\n", note);
    }
}

/* What a reader would look for in vain, in 'arena', or NULL. */
static const char *
find_note(const struct policy *policy, const struct meaning_question *q,
          const struct meaning *m, struct arena *arena)
{
    const struct policy_endpoint *unbound = NULL;

    if (q->from && !q->from->bound) {
        return arena_printf(arena, "%s is unbound: it has no \"%s\"",
                            q->from->name, packet_missing_binding(q->from));
    } else if (q->from && !m->allow && !m->rule
               && m->reason == REASON_UNREACHABLE) {
        unbound = packet_find_unbound(policy, q->from, q->packet);
    }
    if (unbound) {
        return arena_printf(arena, "%s, which has the destination's address, "
                            "is unbound: it has no \"%s\"", unbound->name,
                            packet_missing_binding(unbound));
    } else if (!q->opener && is_ip_any(q->packet)
               && (q->connection == CONNECTION_RELATED
                   || q->packet->nw_frag)) {
        return "the packet does not tell what opened its connection; "
               "--opener does";
    }
    return NULL;
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

/* "tunnel:NODE:VNI": gives 'packet' the outer header.  Prints why not. */
static bool
enter_tunnel(const struct policy *policy, const struct cli_options *options,
             const struct flow_wildcards *given, struct flow *packet)
{
    const char *name = options->from + strlen(TUNNEL);
    const struct intent_node *from = NULL, *to = NULL;
    int len = strcspn(name, ":"), n;
    uint32_t vni;

    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct intent_node *node = &policy->intent->nodes.v[i];

        if (!strncmp(node->name.s, name, len) && !node->name.s[len]) {
            from = node;
        }
        if (options->node && !strcmp(node->name.s, options->node)) {
            to = node;
        }
    }
    if (!from || !from->tunnel.at || !to || !to->tunnel.at
        || !ovs_scan(name + len, ":%"SCNu32"%n", &vni, &n)
        || name[len + n]) {
        fprintf(stderr, "bulkhead: --from=tunnel:NODE:VNI and --node take "
                "nodes of %s that have a \"tunnel_address\", as in "
                "--from=tunnel:n2:5001 --node=n1\n", options->intent);
        return false;
    } else if (eth_addr_is_zero(given->masks.dl_src)
               || eth_addr_is_zero(given->masks.dl_dst)) {
        fputs("bulkhead: what comes by tunnel is judged as it stands: write "
              "its dl_src and dl_dst too\n", stderr);
        return false;
    }
    packet_encapsulate(packet, &from->tunnel.ip, &to->tunnel.ip, vni);
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
    const char *note;
    struct meaning m;

    if (!policy) {
        return EXIT_WRONG;
    }
    q.tunnel = !strncmp(options->from, TUNNEL, strlen(TUNNEL));
    if (!(q.tunnel ? enter_tunnel(policy, options, given, packet)
          : find_sender(policy, options, given, packet, &q.from))) {
        return EXIT_USAGE;
    }
    m = meaning_judge(policy, &q);
    note = find_note(policy, &q, &m, arena);
    if (options->format == FORMAT_JSON) {
        print_json(&q, &m, options->from, note);
    } else {
        print_table(&q, &m, options->from, note);
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
    if (!options->state && !check_opens(&packet)) {
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
