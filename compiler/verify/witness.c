/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/witness.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "sema/packet.h"
#include "util.h"

static struct flow
to_flow(const u128 values[])
{
    struct flow flow;

    memset(&flow, 0, sizeof flow);
    for (int f = F_FIRST_OF_PACKET; f < N_FIELDS; f++) {
        if (fields[f].mf != MFF_N_IDS && values[f]) {
            const struct mf_field *mf = mf_from_id(fields[f].mf);
            union mf_value value;

            field_to_value(values[f], mf->n_bytes, &value);
            mf_set_flow_value(mf, &value, &flow);
        }
    }
    return flow;
}

static struct in6_addr
to_ip(u128 bits)
{
    struct in6_addr ip;

    for (int i = 15; i >= 0; i--, bits >>= 8) {
        ip.s6_addr[i] = bits;
    }
    return ip;
}

static bool
is_known(enum track track)
{
    return track >= TRACK_FORWARD && track <= TRACK_ERROR;
}

/* Does the packet not tell what opened its connection? */
static bool
has_opener(const u128 values[])
{
    bool icmp = (values[F_NW_PROTO] == IPPROTO_ICMP
                 || values[F_NW_PROTO] == IPPROTO_ICMPV6);

    return (values[F_NW_FRAG] || values[F_CONN1] == TRACK_RELATED
            || values[F_CONN1] == TRACK_ERROR
            || (values[F_CONN1] == TRACK_REPLY && icmp));
}

/* --ct-next gives a state only: what is noted stands in the packet, as if it
 * had been tracked before. */
static void
put_tracked(struct ds *ds, const u128 v[], const struct flow *packet)
{
    enum track track = v[F_CONN1];
    bool error = track == TRACK_RELATED || track == TRACK_ERROR;
    bool back = track == TRACK_REPLY || track == TRACK_RELATED;
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);
    bool told = !has_opener(v);
    struct in6_addr src = to_ip(v[back ? F_IPV6_DST : F_IPV6_SRC]);
    struct in6_addr dst = to_ip(error ? v[F_OUTSIDE6]
                                : v[back ? F_IPV6_SRC : F_IPV6_DST]);

    ds_put_format(ds, ",ct_state=trk|new,ct_mark=%#"PRIx32",ct_nw_proto=%u,"
                  "ct_tp_src=%u,ct_tp_dst=%u,",
                  is_known(track) ? (uint32_t) v[F_MARK1]
                  : (uint32_t) v[F_MARK2],
                  (unsigned int) v[error ? F_OPEN_PROTO : F_NW_PROTO],
                  (unsigned int) v[!told ? F_OPEN_SRC
                                   : back ? F_TP_DST : F_TP_SRC],
                  (unsigned int) v[!told ? F_OPEN_DST
                                   : back ? F_TP_SRC : F_TP_DST]);
    if (ip6) {
        ds_put_cstr(ds, "ct_ipv6_src=");
        ipv6_format_addr(&src, ds);
        ds_put_cstr(ds, ",ct_ipv6_dst=");
        ipv6_format_addr(&dst, ds);
    } else {
        ds_put_format(ds, "ct_nw_src="IP_FMT",ct_nw_dst="IP_FMT,
                      IP_ARGS(htonl(v[back ? F_NW_DST : F_NW_SRC])),
                      IP_ARGS(htonl(error ? v[F_OUTSIDE]
                                    : v[back ? F_NW_SRC : F_NW_DST])));
    }
}

const char *
witness_packet(const struct witness *w, struct arena *arena)
{
    struct flow packet = to_flow(w->values);
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;
    char *inner;

    ds_put_cstr(&ds, "in_port=");
    ofputil_format_port(w->entry->ingress.port, w->ports, &ds);
    if (w->entry->ingress.outer) {
        ds_put_char(&ds, ',');
        packet_put_outer(&ds, &packet.tunnel);
    }
    inner = packet_format(&packet);
    ds_put_format(&ds, ",%s", inner);
    free(inner);
    if (is_ip_any(&packet) && w->values[F_CONN1] != TRACK_NONE
        && w->values[F_CONN1] != TRACK_INVALID) {
        put_tracked(&ds, w->values, &packet);
    }
    text = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

static const char *
track_state(enum track track)
{
    switch (track) {
    case TRACK_NONE: return "trk";
    case TRACK_NEW: return "trk,new";
    case TRACK_FORWARD: return "trk,est";
    case TRACK_REPLY: return "trk,est,rpl";
    case TRACK_RELATED: return "trk,rel,rpl";
    case TRACK_ERROR: return "trk,rel";
    case TRACK_INVALID: return "trk,inv";
    case N_TRACKS: break;
    }
    OVS_NOT_REACHED();
}

const char *
witness_ct_next(const struct witness *w, const struct effect *e, size_t n,
                struct arena *arena)
{
    const char *text = "";
    enum field next = F_CONN1;

    for (size_t i = 0; i < n; i++) {
        if (e[i].kind == EFFECT_TRACK) {
            text = arena_printf(arena, "%s--ct-next '%s' ", text,
                                track_state(w->values[next]));
            next = F_CONN2;
        }
    }
    return text;
}

static uint32_t
own_mark(const struct judge *j, const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < j->policy->tenants.n; i++) {
        if (j->policy->tenants.v[i] == tenant) {
            return j->marks[i];
        }
    }
    return 0;
}

static enum connection
to_connection(enum track track, uint32_t mark, uint32_t own)
{
    static const enum connection connections[N_TRACKS] = {
        [TRACK_NONE] = CONNECTION_NONE,
        [TRACK_NEW] = CONNECTION_NEW,
        [TRACK_FORWARD] = CONNECTION_FORWARD,
        [TRACK_REPLY] = CONNECTION_REPLY,
        [TRACK_RELATED] = CONNECTION_RELATED,
        [TRACK_ERROR] = CONNECTION_INVALID,
        [TRACK_INVALID] = CONNECTION_INVALID,
    };

    return (is_known(track) && mark != own ? CONNECTION_FOREIGN
            : connections[track]);
}

const char *
witness_confirm(const struct witness *w, const struct judge *j,
                const struct expect *expect, struct arena *arena)
{
    const u128 *v = w->values;
    const struct entry *entry = w->entry;
    struct flow packet = to_flow(v);
    const struct policy_tenant *zone
        = (expect->zones[0] ? expect->zones[0]
           : entry->endpoint ? entry->endpoint->tenant : NULL);
    struct meaning_opener opener = {
        .protocol = v[v[F_CONN1] == TRACK_RELATED ? F_OPEN_PROTO
                      : F_NW_PROTO],
        .source = htons(v[F_OPEN_SRC]), .destination = htons(v[F_OPEN_DST]),
        .outside = (packet.dl_type == htons(ETH_TYPE_IPV6)
                    ? to_ip(v[F_OUTSIDE6])
                    : in6_addr_mapped_ipv4(htonl(v[F_OUTSIDE]))),
    };
    enum connection beyond = (expect->to ? to_connection(
        v[F_CONN2], v[F_MARK2], own_mark(j, expect->to->tenant))
        : CONNECTION_NONE);
    struct meaning_question q = {
        .node = j->node, .from = entry->endpoint,
        .external = entry->external, .tunnel = entry->tunnel,
        .packet = &packet,
        .connection = to_connection(v[F_CONN1], v[F_MARK1],
                                    zone ? own_mark(j, zone) : v[F_MARK1]),
        .beyond = expect->zones[1] ? &beyond : NULL,
        .opener = has_opener(v) ? &opener : NULL,
    };
    struct meaning m;

    if (!entry->endpoint && !entry->external && !entry->tunnel) {
        return NULL;            /* Nobody's port. */
    }
    m = meaning_judge(j->policy, &q);
    return (m.allow != (bool) expect->allow
            || m.answered != (bool) expect->answered
            ? arena_printf(arena, "the reference meaning says %s, the diagram "
                           "%s: this is a bug of the verifier's",
                           m.allow ? "allow" : "deny",
                           expect->allow ? "allow" : "deny") : NULL);
}
