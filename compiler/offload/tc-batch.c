/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/tc-batch.h"

#include <inttypes.h>
#include <string.h>

#include "flow.h"
#include "ir/ir.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "offload/offload.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "plan/plan.h"
#include "sset.h"
#include "util.h"

/* METER_POLICE_IDS_BASE: the first index that Open vSwitch takes. */
enum { FIRST_POLICE = 0x10000000 };

/* A filter that is being written. */
struct filter {
    const struct plan *plan;
    const struct megaflow *megaflow;
    struct ds *ds;
    bool said;                  /* All of it, so far? */
    bool csum;                  /* Is a checksum due? */
    bool decapsulated;          /* Or never was encapsulated. */
};

static const char *
tunnel_device(const struct plan *plan)
{
    return !strcmp(plan->tunnel.type, "geneve") ? "genev_sys_6081"
                                                : "vxlan_sys_4789";
}

/* The device of a port of the walk; see walker_port_name(). */
static const char *
port_device(const struct plan *plan, uint32_t port)
{
    return (port && port <= plan->ports.n ? plan->ports.v[port - 1].interface
            : plan->tunnel.type ? tunnel_device(plan) : "");
}

static void
put_pedit(struct filter *f, const char *format, ...)
{
    va_list args;

    ds_put_cstr(f->ds, " action pedit ex munge ");
    va_start(args, format);
    ds_put_format_valist(f->ds, format, args);
    va_end(args);
    ds_put_cstr(f->ds, " pipe");
}

static void
set_eth(struct filter *f, const struct ovs_key_ethernet *key,
        const struct ovs_key_ethernet *mask)
{
    if (!eth_addr_is_zero(mask->eth_src)) {
        put_pedit(f, "eth src set "ETH_ADDR_FMT, ETH_ADDR_ARGS(key->eth_src));
    }
    if (!eth_addr_is_zero(mask->eth_dst)) {
        put_pedit(f, "eth dst set "ETH_ADDR_FMT, ETH_ADDR_ARGS(key->eth_dst));
    }
}

/* "set V retain M" changes the bits of M. */
static void
set_ip(struct filter *f, const char *dscp, uint8_t tos, uint8_t tos_mask,
       const char *hops, uint8_t ttl, uint8_t ttl_mask)
{
    if (tos_mask) {
        put_pedit(f, "%s set %#x retain %#x", dscp, tos, tos_mask);
    }
    if (ttl_mask) {
        put_pedit(f, "%s set %u", hops, ttl);
    }
    f->csum = true;
}

static void
set_tunnel(struct filter *f, const struct nlattr *tunnel)
{
    const struct nlattr *a;
    size_t left;

    ds_put_cstr(f->ds, " action tunnel_key set");
    NL_NESTED_FOR_EACH (a, left, tunnel) {
        char s[INET6_ADDRSTRLEN];
        const void *value = nl_attr_get(a);

        switch (nl_attr_type(a)) {
        case OVS_TUNNEL_KEY_ATTR_ID:
            ds_put_format(f->ds, " id %"PRIu64, ntohll(nl_attr_get_be64(a)));
            break;
        case OVS_TUNNEL_KEY_ATTR_IPV4_SRC:
        case OVS_TUNNEL_KEY_ATTR_IPV4_DST:
            ds_put_format(f->ds, " %s "IP_FMT,
                          nl_attr_type(a) == OVS_TUNNEL_KEY_ATTR_IPV4_SRC
                          ? "src_ip" : "dst_ip",
                          IP_ARGS(nl_attr_get_be32(a)));
            break;
        case OVS_TUNNEL_KEY_ATTR_IPV6_SRC:
        case OVS_TUNNEL_KEY_ATTR_IPV6_DST:
            inet_ntop(AF_INET6, value, s, sizeof s);
            ds_put_format(f->ds, " %s %s",
                          nl_attr_type(a) == OVS_TUNNEL_KEY_ATTR_IPV6_SRC
                          ? "src_ip" : "dst_ip", s);
            break;
        case OVS_TUNNEL_KEY_ATTR_TOS:
            ds_put_format(f->ds, " tos %#x", nl_attr_get_u8(a));
            break;
        case OVS_TUNNEL_KEY_ATTR_TTL:
            ds_put_format(f->ds, " ttl %u", nl_attr_get_u8(a));
            break;
        case OVS_TUNNEL_KEY_ATTR_TP_DST:
            ds_put_format(f->ds, " dst_port %u", ntohs(nl_attr_get_be16(a)));
            break;
        case OVS_TUNNEL_KEY_ATTR_DONT_FRAGMENT: /* tc has no word for it. */
            break;
        default:
            f->said = false;
        }
    }
    ds_put_cstr(f->ds, " nocsum pipe");
}

/* Sets all of a field. */
static void
put_set(struct filter *f, const struct nlattr *field)
{
    static const struct ovs_key_ethernet all = {
        .eth_src = ETH_ADDR_C(ff,ff,ff,ff,ff,ff),
        .eth_dst = ETH_ADDR_C(ff,ff,ff,ff,ff,ff),
    };

    switch (nl_attr_type(field)) {
    case OVS_KEY_ATTR_TUNNEL:
        set_tunnel(f, field);
        break;
    case OVS_KEY_ATTR_ETHERNET:
        set_eth(f, nl_attr_get(field), &all);
        break;
    default:
        f->said = false;
    }
}

/* The mask is behind the value. */
static void
put_set_masked(struct filter *f, const struct nlattr *field)
{
    const void *key = nl_attr_get(field);
    const void *mask = (const char *) key + nl_attr_get_size(field) / 2;

    switch (nl_attr_type(field)) {
    case OVS_KEY_ATTR_ETHERNET:
        set_eth(f, key, mask);
        break;
    case OVS_KEY_ATTR_IPV4: {
        const struct ovs_key_ipv4 *k = key, *m = mask;

        set_ip(f, "ip dsfield", k->ipv4_tos, m->ipv4_tos, "ip ttl",
               k->ipv4_ttl, m->ipv4_ttl);
        break;
    }
    case OVS_KEY_ATTR_IPV6: {
        const struct ovs_key_ipv6 *k = key, *m = mask;

        set_ip(f, "ip6 traffic_class", k->ipv6_tclass, m->ipv6_tclass,
               "ip6 hoplimit", k->ipv6_hlimit, m->ipv6_hlimit);
        break;
    }
    default:
        f->said = false;
    }
}

/* csum_update_flag(): one for all that was set before.  That of ICMP has
 * nothing of an IPv4 header. */
static void
put_checksum(struct filter *f)
{
    const struct flow *key = &f->megaflow->key;
    const char *header = key->dl_type == htons(ETH_TYPE_IP) ? "ip4h" : "";
    const char *transport = (key->nw_proto == IPPROTO_TCP ? "tcp"
                             : key->nw_proto == IPPROTO_UDP ? "udp"
                             : key->nw_proto == IPPROTO_ICMPV6 ? "icmp" : "");

    if (f->csum && (*header || *transport)) {
        ds_put_format(f->ds, " action csum %s%s%s pipe", header,
                      *header && *transport ? " and " : "", transport);
    }
    f->csum = false;
}

static void
put_police(struct filter *f, uint32_t meter)
{
    for (size_t i = 0; i < f->plan->meters.n; i++) {
        if (f->plan->meters.v[i].id == meter) {
            ds_put_format(f->ds, " action police index %"PRIuSIZE,
                          FIRST_POLICE + i);
            return;
        }
    }
    f->said = false;
}

static void
put_ct(struct filter *f, const struct nlattr *ct)
{
    const char *commit = "";
    const uint32_t *mark = NULL;
    const struct nlattr *a;
    uint16_t zone = 0;
    size_t left;

    NL_NESTED_FOR_EACH (a, left, ct) {
        switch (nl_attr_type(a)) {
        case OVS_CT_ATTR_COMMIT:
            commit = " commit";
            break;
        case OVS_CT_ATTR_ZONE:
            zone = nl_attr_get_u16(a);
            break;
        case OVS_CT_ATTR_MARK:
            mark = nl_attr_get(a);
            break;
        default:
            f->said = false;
        }
    }
    ds_put_format(f->ds, " action ct%s zone %u", commit, zone);
    if (mark) {
        ds_put_format(f->ds, " mark %#"PRIx32"/%#"PRIx32, mark[0], mark[1]);
    }
    ds_put_cstr(f->ds, " pipe");
}

static void
put_output(struct filter *f, const struct nlattr *a, bool last)
{
    const char *device = port_device(f->plan,
                                     odp_to_u32(nl_attr_get_odp_port(a)));

    ds_put_format(f->ds, " action mirred egress %s dev %s%s",
                  last ? "redirect" : "mirror", device, last ? "" : " pipe");
    f->said &= *device != '\0';
}

static void
put_action(struct filter *f, const struct nlattr *a, bool last)
{
    int type = nl_attr_type(a);
    bool encapsulates = (type == OVS_ACTION_ATTR_SET
                         && nl_attr_type(nl_attr_get(a))
                            == OVS_KEY_ATTR_TUNNEL);

    if (encapsulates || (type != OVS_ACTION_ATTR_SET
                         && type != OVS_ACTION_ATTR_SET_MASKED)) {
        put_checksum(f);
    }
    if (!f->decapsulated && (type == OVS_ACTION_ATTR_OUTPUT
                             || encapsulates)) {
        ds_put_cstr(f->ds, " action tunnel_key unset pipe");
        f->decapsulated = true;
    }
    switch (type) {
    case OVS_ACTION_ATTR_OUTPUT:
        put_output(f, a, last);
        break;
    case OVS_ACTION_ATTR_SET:
        put_set(f, nl_attr_get(a));
        break;
    case OVS_ACTION_ATTR_SET_MASKED:
        put_set_masked(f, nl_attr_get(a));
        break;
    case OVS_ACTION_ATTR_METER:
        put_police(f, nl_attr_get_u32(a));
        break;
    case OVS_ACTION_ATTR_CT:
        put_ct(f, a);
        break;
    case OVS_ACTION_ATTR_RECIRC:
        ds_put_format(f->ds, " action goto chain %"PRIu32,
                      nl_attr_get_u32(a));
        break;
    default:
        f->said = false;
    }
}

static void
put_filter(const struct plan *plan, const struct megaflow *megaflow,
           struct sset *written, struct ds *ds)
{
    struct ds line = DS_EMPTY_INITIALIZER;
    const struct flow *key = &megaflow->key;
    struct filter f = {
        .plan = plan, .megaflow = megaflow, .ds = &line,
        .decapsulated = !flow_tnl_dst_is_set(&key->tunnel),
    };
    const struct nlattr *a;
    size_t left;

    ds_put_format(&line, "filter add dev %s ingress chain %"PRIu32,
                  port_device(plan, ofp_to_u16(key->in_port.ofp_port)),
                  megaflow->chain);
    f.said = tc_put_match(megaflow, f.decapsulated ? 0
                          : walker_tunnel_port(plan), &line);
    NL_ATTR_FOR_EACH (a, left, megaflow->actions, megaflow->actions_len) {
        put_action(&f, a, left <= NLA_ALIGN(a->nla_len));
    }
    put_checksum(&f);
    if (!megaflow->actions_len) {
        ds_put_cstr(&line, " action drop");
    }
    if (sset_add(written, ds_cstr(&line))) {
        ds_put_format(ds, "%s%s\n", f.said ? "" : "# not all of it: ",
                      ds_cstr(&line));
    }
    ds_destroy(&line);
}

/* tc_policer_init(): a kbit of a burst is 1024 bits. */
static void
put_meters(const struct plan *plan, struct ds *ds)
{
    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *meter = &plan->meters.v[i];

        ds_put_format(ds, "# meter %s\n", plan_meter_title(plan, meter));
        ds_put_cstr(ds, "actions add action police ");
        if (meter->packets) {
            ds_put_format(ds, "pkts_rate %"PRIu64" pkts_burst %"PRIu32,
                          meter->rate, meter->burst);
        } else {
            ds_put_format(ds, "rate %"PRIu64"kbit burst %"PRIu64"b mtu 65535",
                          meter->rate, meter->burst * UINT64_C(128));
        }
        ds_put_format(ds, " conform-exceed drop/pipe index %"PRIu64"\n",
                      FIRST_POLICE + i);
    }
}

static void
put_rule(const struct offload_report *report, const struct offload_rule *r,
         struct sset *written, struct ds *ds)
{
    ds_put_format(ds, "# %s\n", r->name);
    for (size_t i = 0; i < r->paths.n && !r->over_budget; i++) {
        const struct offload_path *path = &r->paths.v[i];

        for (size_t j = 0; j < path->walk.megaflows.n && !path->walk.broken
             && !path->passes[j].refused; j++) {
            put_filter(report->plan, path->passes[j].megaflow, written, ds);
        }
    }
}

void
tc_batch_put(const struct offload_report *report, struct ds *ds)
{
    struct sset written = SSET_INITIALIZER(&written);

    ds_put_format(ds, "# What %s would hold of node %s once its packets have "
                  "come, for tc -batch.\n"
                  "# A prediction: Open vSwitch makes these filters itself; "
                  "load nothing beside it.\n",
                  report->profile->title, report->plan->node);
    if (report->n_meters) {
        put_meters(report->plan, ds);
    }
    for (size_t i = 0; i < report->rules.n; i++) {
        put_rule(report, &report->rules.v[i], &written, ds);
    }
    sset_destroy(&written);
}
