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
    struct push_diff diff;

    const char *reason = plan->tunnel.type ? make_tunnel(live, plan) : NULL;

    return (reason ? reason : plan->conflict ? plan->conflict
            : push_apply(&target, plan, &diff));
}

static const char *
ct_next(enum connection connection)
{
    switch (connection) {
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

static const char *
strip(const char *s)
{
    return s + strspn(s, " ");
}

/* A line of an executed flow or action. */
static void
read_line(const char *line, struct outcome *o, uint32_t *queue,
          uint32_t *meter)
{
    const char *cookie = strstr(line, ", cookie 0x");
    unsigned int n;

    if (cookie) {
        o->cookie = strtoull(cookie + strlen(", cookie "), NULL, 16);
        if ((o->cookie & ~COOKIE_MARK_MASK) >= IDENT_RESERVED) {
            o->rule = o->cookie;
        }
    } else if (strstr(line, "No match.")) {
        o->broken = "it matches no flow of a table";
    } else if (sscanf(line, " set_queue:%u", &n) == 1) {
        *queue = n;
    } else if (sscanf(line, " meter:%u", &n) == 1) {
        outcome_call_meter(o, n, meter);
    } else if (sscanf(line, " output:%u", &n) == 1) {
        outcome_deliver(o, u16_to_ofp(n), *meter, *queue);
    } else if (!strcmp(line, "    IN_PORT")) {
        outcome_deliver(o, OFPP_IN_PORT, *meter, *queue);
    } else if (!strncmp(strip(line), "clone(", strlen("clone("))) {
        o->rule = 0;            /* What the copy meets is its own. */
        *queue = *meter = 0;
    }
}

/* "set(tunnel(tun_id=0x5,src=192.0.2.1,dst=192.0.2.2,...". */
static void
read_outer(const char *actions, struct flow_tnl *outer)
{
    const char *set = strstr(actions, "set(tunnel(");
    const char *dst = set ? strstr(set, "dst=") : NULL;
    char s[INET6_ADDRSTRLEN + 1];
    unsigned int vni;

    if (dst && ovs_scan(set, "set(tunnel(tun_id=%x,", &vni)
        && ovs_scan(dst, "dst=%46[0-9a-f.:]", s)) {
        outer->tun_id = htonll(vni);
        if (!ip_parse(s, &outer->ip_dst)) {
            ipv6_parse(s, &outer->ipv6_dst);
        }
    }
}

/* "Datapath actions: ct(commit,zone=5),...": the last ones decide whether the
 * packet leaves at all. */
static void
read_datapath_actions(const char *actions, struct outcome *o, bool *drops)
{
    const char *ct = actions;

    while ((ct = strstr(ct, "ct(")) != NULL) {
        const char *zone = strstr(ct, "zone=");
        bool commit = !strncmp(ct, "ct(commit", strlen("ct(commit"));

        outcome_add_zone(o, commit ? &o->committed : &o->tracked,
                         zone ? atoi(zone + strlen("zone=")) : 0);
        ct += strlen("ct(");
    }
    read_outer(actions, &o->out[0].packet.tunnel);
    /* A packet that is dropped may have been counted before. */
    *drops = (!strcmp(actions, "drop")
              || (!strncmp(actions, "meter(", strlen("meter("))
                  && !strchr(actions, ',')));
}

/* The value after "KEY=" in a flow's text, or "". */
static const char *
find_value(const char *flow, const char *key)
{
    const char *p = strstr(flow, key);

    return p ? p + strlen(key) : "";
}

/* "Final flow: tcp,reg0=...,dl_src=...": what is known of the packet. */
static void
read_final_flow(const char *flow, struct flow *packet)
{
    int n;

    if (!strcmp(flow, "unchanged")) {
        return;
    }
    ovs_scan(find_value(flow, "dl_src="), ETH_ADDR_SCAN_FMT,
             ETH_ADDR_SCAN_ARGS(packet->dl_src));
    ovs_scan(find_value(flow, "dl_dst="), ETH_ADDR_SCAN_FMT,
             ETH_ADDR_SCAN_ARGS(packet->dl_dst));
    if (sscanf(find_value(flow, "nw_tos="), "%d", &n) == 1) {
        packet->nw_tos = n;
    }
    if (sscanf(find_value(flow, "nw_ttl="), "%d", &n) == 1) {
        packet->nw_ttl = n;
    }
}

static void
read_trace(char *trace, const struct question *q, struct outcome *o)
{
    static const char final[] = "Final flow: ";
    static const char datapath[] = "Datapath actions: ";
    struct flow packet = q->packet;
    uint32_t queue = 0, meter = 0;
    bool drops = true;
    char *save = NULL;

    o->headers_only = true;
    for (char *line = strtok_r(trace, "\n", &save); line && !o->broken;
         line = strtok_r(NULL, "\n", &save)) {
        if (!strncmp(line, final, strlen(final))) {
            read_final_flow(line + strlen(final), &packet);
        } else if (!strncmp(line, datapath, strlen(datapath))) {
            read_datapath_actions(line + strlen(datapath), o, &drops);
        } else if (strstr(line, "Translation failed")) {
            o->broken = "its translation failed";
        } else {
            read_line(line, o, &queue, &meter);
        }
    }
    packet.tunnel = o->out[0].packet.tunnel;
    o->out[0].packet = packet;
    if (!o->n_out != drops && !o->broken) {
        o->broken = (drops ? "it has an output but is dropped"
                     : "it has no output but datapath actions");
    }
}

void
live_run(struct live *live, const struct question *q, bool tracked,
         struct outcome *o, struct arena *arena)
{
    const char *const args[] = {
        "--ct-next", ct_next(q->connection), "--ct-next", ct_next(q->beyond),
        live->bridge, question_trace_text(q, tracked, arena),
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
