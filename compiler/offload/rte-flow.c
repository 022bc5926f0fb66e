/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/rte-flow.h"

#include <inttypes.h>

#include "flow.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "offload/offload.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "plan/plan.h"
#include "sset.h"
#include "util.h"

/* What is being written. */
struct writer {
    const struct offload_report *report;
    struct sset written;        /* Rules, without their mark. */
    uint32_t n_marks;
    struct ds *ds;
};

/* The number that DPDK gives to a port, if all are added in their order. */
static bool
put_port_number(const struct plan *plan, uint32_t port, struct ds *ds)
{
    if (!port || port > plan->ports.n) {
        return false;
    }
    ds_put_format(ds, "%"PRIu32, port - 1);
    return true;
}

/* add_set_flow_action__(): all of a field, or nothing. */
static bool
put_set_eth(const struct ovs_key_ethernet *key,
            const struct ovs_key_ethernet *mask, struct ds *ds)
{
    if (!eth_addr_is_zero(mask->eth_src)) {
        ds_put_format(ds, "set_mac_src mac_addr "ETH_ADDR_FMT" / ",
                      ETH_ADDR_ARGS(key->eth_src));
    }
    if (!eth_addr_is_zero(mask->eth_dst)) {
        ds_put_format(ds, "set_mac_dst mac_addr "ETH_ADDR_FMT" / ",
                      ETH_ADDR_ARGS(key->eth_dst));
    }
    return ((eth_addr_is_zero(mask->eth_src)
             || eth_mask_is_exact(mask->eth_src))
            && (eth_addr_is_zero(mask->eth_dst)
                || eth_mask_is_exact(mask->eth_dst)));
}

static bool
put_set_ttl(uint8_t ttl, struct ds *ds)
{
    ds_put_format(ds, "set_ttl ttl_value %"PRIu8" / ", ttl);
    return true;
}

/* The mask is behind the value.  What is set of a header is all in one
 * action, of which 'need' has seen that it is the TTL alone. */
static bool
put_set_masked(const struct nlattr *field, struct ds *ds)
{
    const void *key = nl_attr_get(field);

    switch (nl_attr_type(field)) {
    case OVS_KEY_ATTR_ETHERNET: {
        const struct ovs_key_ethernet *k = key;

        return put_set_eth(k, k + 1, ds);
    }
    case OVS_KEY_ATTR_IPV4: {
        const struct ovs_key_ipv4 *k = key;

        return k[1].ipv4_ttl == UINT8_MAX && put_set_ttl(k->ipv4_ttl, ds);
    }
    case OVS_KEY_ATTR_IPV6: {
        const struct ovs_key_ipv6 *k = key;

        return (k[1].ipv6_hlimit == UINT8_MAX
                && put_set_ttl(k->ipv6_hlimit, ds));
    }
    default:
        return false;
    }
}

static bool
put_action(const struct plan *plan, const struct nlattr *a, struct ds *ds)
{
    static const struct ovs_key_ethernet all = {
        .eth_src = ETH_ADDR_C(ff,ff,ff,ff,ff,ff),
        .eth_dst = ETH_ADDR_C(ff,ff,ff,ff,ff,ff),
    };
    bool said;

    switch (nl_attr_type(a)) {
    case OVS_ACTION_ATTR_OUTPUT:
        ds_put_cstr(ds, "port_id original 0 id ");
        said = put_port_number(plan, odp_to_u32(nl_attr_get_odp_port(a)), ds);
        ds_put_cstr(ds, " / ");
        return said;
    case OVS_ACTION_ATTR_SET:
        a = nl_attr_get(a);
        return (nl_attr_type(a) == OVS_KEY_ATTR_ETHERNET
                && put_set_eth(nl_attr_get(a), &all, ds));
    case OVS_ACTION_ATTR_SET_MASKED:
        return put_set_masked(nl_attr_get(a), ds);
    default:
        return false;
    }
}

/* netdev_offload_dpdk_actions(). */
static bool
put_actions(const struct plan *plan, const struct megaflow *megaflow,
            struct ds *ds)
{
    const struct nlattr *a;
    bool said = true;
    size_t left;

    ds_put_cstr(ds, " actions count / ");
    NL_ATTR_FOR_EACH (a, left, megaflow->actions, megaflow->actions_len) {
        said &= put_action(plan, a, ds);
    }
    ds_put_format(ds, "%send", megaflow->actions_len ? "" : "drop / ");
    return said;
}

/* The rule of a pass that is in hardware, or else marked. */
static void
put_pass(struct writer *w, const struct offload_pass *pass)
{
    const struct plan *plan = w->report->plan;
    const struct megaflow *megaflow = pass->megaflow;
    struct ds line = DS_EMPTY_INITIALIZER;
    bool said;

    ds_put_cstr(&line, "flow create ");
    said = put_port_number(plan, ofp_to_u16(megaflow->key.in_port.ofp_port),
                           &line);
    ds_put_cstr(&line, pass->marked ? " ingress priority 0 group 0 "
                                    : " priority 0 group 0 transfer ");
    said &= rte_flow_put_pattern(megaflow, &line);
    said &= pass->marked || put_actions(plan, megaflow, &line);
    if (sset_add(&w->written, ds_cstr(&line))) {
        if (pass->marked) {
            ds_put_format(&line, " actions mark id %"PRIu32" / rss / end",
                          ++w->n_marks);
        }
        ds_put_format(w->ds, "%s%s\n", said ? "" : "# not all of it: ",
                      ds_cstr(&line));
    }
    ds_destroy(&line);
}

static void
put_rule(struct writer *w, const struct offload_rule *r)
{
    ds_put_format(w->ds, "# %s\n", r->name);
    for (size_t i = 0; i < r->paths.n && !r->over_budget; i++) {
        const struct offload_path *path = &r->paths.v[i];

        for (size_t j = 0; j < path->walk.megaflows.n && !path->walk.broken
             && (!path->passes[j].refused || path->passes[j].marked); j++) {
            put_pass(w, &path->passes[j]);
        }
    }
}

void
rte_flow_put(const struct offload_report *report, struct ds *ds)
{
    struct writer w = {
        .report = report, .written = SSET_INITIALIZER(&w.written), .ds = ds,
    };

    ds_put_format(ds, "# What %s would hold of node %s once its packets have "
                  "come, for dpdk-testpmd.\n"
                  "# A prediction: Open vSwitch makes these rules itself; "
                  "create nothing beside it.\n"
                  "# Those ports that are of the NIC have these numbers:"
                  "\n",
                  report->profile->title, report->plan->node);
    for (size_t i = 0; i < report->plan->ports.n; i++) {
        ds_put_format(ds, "# port %"PRIuSIZE": %s\n", i,
                      report->plan->ports.v[i].interface);
    }
    for (size_t i = 0; i < report->rules.n; i++) {
        put_rule(&w, &report->rules.v[i]);
    }
    sset_destroy(&w.written);
}
