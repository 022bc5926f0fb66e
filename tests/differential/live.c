/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonrpc.h"
#include "packets.h"
#include "push/push.h"
#include "sema/ident.h"
#include "tables.h"
#include "unixctl.h"
#include "util.h"

struct live {
    struct jsonrpc *rpc;
    const char *db, *bridge;
    char *tunnel;               /* The command for its tunnel port. */
};

struct live *
live_open(const char *db, const char *unixctl, const char *bridge,
          const char **reason)
{
    struct live *live = xzalloc(sizeof *live);

    live->db = db;
    live->bridge = bridge;
    if (!db || !unixctl || unixctl_client_create(unixctl, &live->rpc)) {
        *reason = "--db and --unixctl must name sockets of a live switch";
        free(live);
        return NULL;
    }
    return live;
}

void
live_close(struct live *live)
{
    jsonrpc_close(live->rpc);
    free(live->tunnel);
    free(live);
}

/* Gives the bridge the tunnel port that 'plan' wants, as an operator would. */
static const char *
make_tunnel(struct live *live, const struct plan *plan)
{
    const char *command = plan_tunnel_command(plan, live->bridge);

    if (live->tunnel && !strcmp(live->tunnel, command)) {
        return NULL;
    }
    free(live->tunnel);
    live->tunnel = xstrdup(command);
    return system(command) ? "ovs-vsctl could not make the tunnel port" : NULL;
}

const char *
live_load(struct live *live, const struct plan *plan)
{
    struct push_target target = {
        .db = live->db, .bridge = live->bridge, .timeout_ms = 10000,
    };
    struct plan_record order = { .plan = plan };
    struct push_diff diff;

    const char *reason = plan->tunnel.type ? make_tunnel(live, plan) : NULL;

    return (reason ? reason : plan->conflict ? plan->conflict
            : push_apply(&target, &order, &diff));
}

static const char *
ct_next(const struct question *q, enum connection connection)
{
    switch (connection) {
    case CONNECTION_FOREIGN: return ct_next(q, q->foreign);
    case CONNECTION_NONE: return "trk";
    case CONNECTION_NEW: return "trk,new";
    case CONNECTION_FORWARD: return "trk,est";
    case CONNECTION_REPLY: return "trk,est,rpl";
    case CONNECTION_RELATED: return "trk,rel,rpl";
    case CONNECTION_INVALID: return "trk,inv";
    case N_CONNECTIONS: break;
    }
    OVS_NOT_REACHED();
}

/* A trace being read: first the flows that a packet met, then what the
 * datapath is told to do, which decides; and so on for each recirculation. */
struct reader {
    struct outcome *o;
    uint32_t queue;
    struct meters meters;
    bool copy;                  /* It is in a clone(), ... */
    size_t n_before;            /* ... before which there were as many. */
    struct flow packet;         /* As the datapath has it, after ... */
    int n_meters;               /* ... so many that may drop it. */
    size_t n_out;               /* Of the datapath. */
};

static const char *
strip(const char *s)
{
    return s + strspn(s, " ");
}

static void
end_copy(struct reader *r)
{
    if (r->copy) {
        outcome_end_copy(r->o, r->n_before);
    }
    r->copy = false;
}

/* What a copy meets is its own. */
static void
begin_copy(struct reader *r)
{
    end_copy(r);
    r->copy = true;
    r->n_before = r->o->n_out;
    r->o->rule = 0;
    r->queue = 0;
    r->meters.n = 0;
}

/* A line of an executed flow or action. */
static void
read_line(struct reader *r, const char *line)
{
    const char *cookie = strstr(line, ", cookie 0x");
    struct outcome *o = r->o;
    unsigned int n;

    if (cookie) {
        o->cookie = strtoull(cookie + strlen(", cookie "), NULL, 16);
        if ((o->cookie & ~COOKIE_MARK_MASK) >= IDENT_RESERVED) {
            o->rule = o->cookie;
        }
    } else if (strstr(line, "No match.")) {
        o->broken = "it matches no flow of a table";
    } else if (sscanf(line, " set_queue:%u", &n) == 1) {
        r->queue = n;
    } else if (sscanf(line, " meter:%u", &n) == 1) {
        outcome_call_meter(o, n, &r->meters);
    } else if (sscanf(line, " output:%u", &n) == 1) {
        outcome_deliver(o, u16_to_ofp(n), &r->meters, r->queue);
    } else if (!strcmp(line, "    IN_PORT")) {
        outcome_deliver(o, OFPP_IN_PORT, &r->meters, r->queue);
    } else if (!strncmp(strip(line), "clone(", strlen("clone("))) {
        begin_copy(r);
    }
}

/* "tun_id=0x5,src=192.0.2.1,dst=192.0.2.2,...". */
static void
read_outer(const char *set, struct flow_tnl *outer)
{
    const char *dst = strstr(set, "dst=");
    char s[INET6_ADDRSTRLEN + 1];
    unsigned int vni;

    if (dst && ovs_scan(set, "tun_id=%x,", &vni)
        && ovs_scan(dst, "dst=%46[0-9a-f.:]", s)) {
        outer->tun_id = htonll(vni);
        if (!ip_parse(s, &outer->ip_dst)) {
            ipv6_parse(s, &outer->ipv6_dst);
        }
    }
}

/* The value of "KEY=VALUE" or "KEY=VALUE/MASK" in 'set', else 'old'. */
static uint8_t
read_byte(const char *set, const char *key, uint8_t old)
{
    const char *at = strstr(set, key);
    unsigned int value, mask = 0xff;
    char *end;

    if (!at) {
        return old;
    }
    value = strtoul(at + strlen(key), &end, 0);
    if (*end == '/') {
        mask = strtoul(end + 1, NULL, 0);
    }
    return (old & ~mask) | (value & mask);
}

static void
read_mac(const char *set, const char *key, struct eth_addr *mac)
{
    const char *at = strstr(set, key);

    if (at) {
        ovs_scan(at + strlen(key), ETH_ADDR_SCAN_FMT,
                 ETH_ADDR_SCAN_ARGS(*mac));
    }
}

/* "set(ipv4(tos=0x24/0xfc))": of the packet only MACs, TTL and DSCP are
 * noted. */
static void
read_set(const char *set, struct flow *packet)
{
    if (!strncmp(set, "tunnel(", strlen("tunnel("))) {
        read_outer(set + strlen("tunnel("), &packet->tunnel);
    } else if (!strncmp(set, "eth(", strlen("eth("))) {
        read_mac(set, "src=", &packet->dl_src);
        read_mac(set, "dst=", &packet->dl_dst);
    } else if (!strncmp(set, "ipv4(", strlen("ipv4("))) {
        packet->nw_tos = read_byte(set, "tos=", packet->nw_tos);
        packet->nw_ttl = read_byte(set, "ttl=", packet->nw_ttl);
    } else if (!strncmp(set, "ipv6(", strlen("ipv6("))) {
        packet->nw_tos = read_byte(set, "tclass=", packet->nw_tos);
        packet->nw_ttl = read_byte(set, "hlimit=", packet->nw_ttl);
    }
}

static void
read_ct(const char *ct, struct outcome *o)
{
    const char *zone = strstr(ct, "zone="), *mark = strstr(ct, "mark=");
    bool commit = !strncmp(ct, "commit", strlen("commit"));

    outcome_add_zone(o, commit ? &o->committed : &o->tracked,
                     zone ? atoi(zone + strlen("zone=")) : 0,
                     commit && mark ? strtoul(mark + strlen("mark="), NULL, 0)
                     : 0);
}

static void
read_output(struct reader *r)
{
    struct delivery *out = &r->o->out[r->n_out];

    if (r->n_out >= r->o->n_out) {
        r->o->broken = "the datapath sends it to more ports";
    } else if (r->n_meters != !!r->o->counter + (int) out->meters.n) {
        r->o->broken = "in the datapath, the meter of another copy drops it";
    } else {
        out->packet = r->packet;
        r->n_out++;
    }
}

/* The name of an action and what is in its brackets, which are cut off. */
static char *
next_action(char **actions, char **arguments)
{
    char *name = *actions, *p = name + strcspn(name, ",()");
    int depth = 0;

    *arguments = p + strlen(p);
    if (*p == '(') {
        *arguments = p + 1;
        *p++ = '\0';
        for (depth = 1; *p && depth; p++) {
            depth += (*p == '(') - (*p == ')');
        }
        if (!depth) {
            p[-1] = '\0';
        }
    }
    if (*p) {
        *p++ = '\0';
    }
    *actions = p;
    return name;
}

/* "ct(commit,zone=5),set(eth(...)),meter(0),3": changes 'actions'. */
static void
read_datapath_actions(struct reader *r, char *actions)
{
    while (*actions && !r->o->broken) {
        char *arguments;
        const char *name = next_action(&actions, &arguments);

        if (!strcmp(name, "clone")) {
            struct flow packet = r->packet;
            int n_meters = r->n_meters;

            read_datapath_actions(r, arguments);
            r->packet = packet;
            r->n_meters = n_meters;
        } else if (!strcmp(name, "meter")) {
            r->n_meters++;
        } else if (!strcmp(name, "set")) {
            read_set(arguments, &r->packet);
        } else if (!strcmp(name, "ct")) {
            read_ct(arguments, r->o);
        } else if (*name >= '0' && *name <= '9') {
            read_output(r);
        }
    }
}

static void
read_trace(char *trace, const struct question *q, struct outcome *o)
{
    static const char datapath[] = "Datapath actions: ";
    struct reader r = { .o = o, .packet = q->packet };
    char *save = NULL;

    memset(&r.packet.tunnel, 0, sizeof r.packet.tunnel);
    o->headers_only = true;
    for (char *line = strtok_r(trace, "\n", &save); line && !o->broken;
         line = strtok_r(NULL, "\n", &save)) {
        if (!strncmp(line, datapath, strlen(datapath))) {
            end_copy(&r);
            read_datapath_actions(&r, line + strlen(datapath));
        } else if (strstr(line, "Translation failed")) {
            o->broken = "its translation failed";
        } else {
            read_line(&r, line);
        }
    }
    if (r.n_out != o->n_out && !o->broken) {
        o->broken = "the datapath sends it to fewer ports";
    }
}

/* That of whoever has the packet's destination address and uses the
 * external. */
static uint16_t
zone_behind(const struct ir_prog *prog, const struct question *q)
{
    bool ip6 = q->packet.dl_type == htons(ETH_TYPE_IPV6);
    struct in6_addr ip = (ip6 ? q->packet.ipv6_dst
                          : in6_addr_mapped_ipv4(q->packet.nw_dst));

    for (size_t i = 0; i < prog->externals.n; i++) {
        const struct ir_external *x = prog->externals.v[i];

        for (size_t j = 0; j < x->tenants.n && !strcmp(x->name, q->external);
             j++) {
            for (size_t k = 0; k < prog->endpoints.n; k++) {
                const struct ir_endpoint *e = prog->endpoints.v[k];

                for (size_t l = 0; l < e->addresses.n && !e->node
                     && e->tenant == x->tenants.v[j]; l++) {
                    if (ipv6_addr_equals(&e->addresses.v[l], &ip)) {
                        return e->tenant->zone;
                    }
                }
            }
        }
    }
    return 0;
}

/* The first zone that the packet is tracked in; 0 if nobody knows. */
static uint16_t
first_zone(const struct ir_prog *prog, const struct question *q)
{
    if (q->external[0]) {
        return zone_behind(prog, q);
    }
    for (size_t i = 0; i < prog->endpoints.n; i++) {
        const struct ir_endpoint *e = prog->endpoints.v[i];

        if (q->tunnel ? htonll(e->network->vni) == q->packet.tunnel.tun_id
            : !strcmp(e->name, q->from)) {
            return e->tenant->zone;
        }
    }
    return 0;
}

static uint16_t
zone_of(const struct ir_prog *prog, const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < prog->tenants.n; i++) {
        if (!strcmp(prog->tenants.v[i]->name, tenant->name)) {
            return prog->tenants.v[i]->zone;
        }
    }
    return 0;
}

/* The one mark that the trace knows; see question_restrict(). */
static uint32_t
known_mark(const struct compiled *c, const struct question *q)
{
    struct meaning m = outcome_meaning(c, q);
    bool second = q->connection == CONNECTION_NEW && m.to;

    return (second ? question_mark(q, c->prog,
                                   zone_of(c->prog, m.to->tenant), q->beyond)
            : question_mark(q, c->prog, first_zone(c->prog, q),
                            q->connection));
}

void
live_run(struct live *live, const struct compiled *c,
         const struct question *q, struct outcome *o)
{
    struct arena *arena = c->arena;
    const char *const args[] = {
        "--ct-next", ct_next(q, q->connection),
        "--ct-next", ct_next(q, q->beyond), live->bridge,
        question_trace_text(q, question_is_tracked(c, q),
                            known_mark(c, q), arena),
    };
    char *result = NULL, *error = NULL;

    memset(o, 0, sizeof *o);
    if (unixctl_client_transact(live->rpc, "ofproto/trace", ARRAY_SIZE(args),
                                (char **) args, &result, &error)) {
        o->broken = "the switch does not answer";
    } else if (error) {
        o->broken = arena_printf(arena, "ofproto/trace refuses: %s", error);
    } else {
        read_trace(result, q, o);
    }
    free(result);
    free(error);
}
