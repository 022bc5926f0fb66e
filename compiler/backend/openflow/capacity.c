/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"
#include "backend/openflow/openflow.h"

#include <stdarg.h>

#include "backend/refuse.h"
#include "base/diag.h"
#include "intent/exceed.h"
#include "util.h"

/* What a bridge cannot hold is refused here, where it is asked for, not by the
 * switch. */

/* Adds an error "more MANY than ..." at 'place'. */
static void
too_many(struct diags *diags, const struct ir_place *place, const char *many,
         size_t limit, const char *remedy)
{
    refuse(diags, place, NULL, remedy, "with this, the node has more %s than "
           "the target has room for, %"PRIuSIZE, many, limit);
}

static void
check_tenants(const struct ir_prog *prog, const struct backend_caps *caps,
              struct diags *diags)
{
    const char *remedy = "bind endpoints of fewer tenants to this node";
    size_t n_zones = 0, n_meters = (prog->caps.n
                                    + (prog->telemetry ? prog->tags.n : 0));

    for (size_t i = 0; i < prog->tenants.n; i++) {
        const struct ir_tenant *tenant = prog->tenants.v[i];

        if (!tenant->here) {
            continue;
        }
        n_meters += tenant->packet_rate > 0;
        if (n_zones++ >= caps->n_zones || !tenant->zone) {
            too_many(diags, &tenant->place, "connection tracking zones (one a "
                     "tenant)", n_zones - 1, remedy);
            return;
        }
    }
    for (size_t i = 0; i < prog->meters.n; i++) {
        n_meters += 1 + (prog->meters.v[i]->limit_number != 0);
        if (n_meters > caps->n_meters) {
            too_many(diags, &prog->meters.v[i]->place, "meters (those of "
                     "bandwidth, and one for a tenant's packets)",
                     caps->n_meters, remedy);
            return;
        }
    }
}

static void
check_ports(const struct ir_prog *prog, const struct backend_caps *caps,
            struct diags *diags)
{
    size_t n = (prog->encapsulation != NULL) + prog->externals.n;

    for (size_t i = 0; i < prog->endpoints.n; i++) {
        const struct ir_endpoint *e = prog->endpoints.v[i];

        if (!e->node && n++ >= caps->n_ports) {
            too_many(diags, &e->place, "ports (one an endpoint, one an "
                     "external, and one for tunnels)", caps->n_ports,
                     "bind fewer endpoints to this node");
            return;
        }
    }
}

/* No packet passes the meter of a tenant that is split. */
static void
check_bursts(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (((meter->endpoint && (meter->guarantee_kbps || meter->weight))
             || meter->class)
            && !meter->receive && ir_find_split(prog, meter)->microburst) {
            refuse(diags, &meter->place, NULL, "remove \"guarantee\", "
                   "\"weight\" and \"borrow\" of the tenant's endpoints, and "
                   "its \"classes\"; or its \"microburst\"", "the target "
                   "follows the bursts of a tenant with \"microburst\" in one "
                   "queue, and has none where its endpoints or classes share "
                   "what it sends");
        }
    }
}

/* What exceeds and is neither dropped nor marked would pass beside what others
 * are lent. */
static void
check_exceed(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->parent && meter->exceed != EXCEED_DROP
            && meter->exceed != EXCEED_ECN) {
            refuse(diags, &meter->tenant->place, "microburst/exceed",
                   "write \"exceed\": \"ecn\" or \"drop\" in its "
                   "\"microburst\"", "the target cannot let pass what exceeds "
                   "the bandwidth of a tenant that shares its uplink: others "
                   "would not get what they are owed");
        }
    }
}

/* Ports of the userspace datapath have one queue, whatever the class. */
static void
check_delays(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->classes.n; i++) {
        const struct ir_class *class = prog->classes.v[i];

        if (class->delay_bound_ns && ir_uses_class(prog, class)) {
            refuse(diags, &class->place, "delay_bound", "remove it; "
                   "\"burst\" bounds what may wait at once", "the target does "
                   "not keep the \"delay_bound\" of this class");
        }
    }
}

/* The switch cannot write an answer. */
static void
check_dhcp(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->networks.n; i++) {
        const struct ir_network *network = prog->networks.v[i];

        if (network->native_dhcp) {
            refuse(diags, &network->place, "dhcp", "name an endpoint that "
                   "serves it, as in \"dhcp\": { \"server\": \"dhcp0\" }, or "
                   "choose --target=ovn", "the target cannot answer DHCP "
                   "itself");
        }
    }
}

static void
check_members(const struct ir_prog *prog, const struct backend_caps *caps,
              struct diags *diags)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *parent = prog->meters.v[i];
        size_t n = 0;

        for (size_t j = i; (!parent->tenant || parent->split)
             && j < prog->meters.n; j++) {
            if (prog->meters.v[j]->parent == parent
                && ++n > caps->n_members) {
                too_many(diags, &prog->meters.v[j]->place,
                         parent->tenant ? "endpoints that share what their "
                         "tenant has" : "tenants that share an uplink",
                         caps->n_members, "bind fewer to this node, or remove "
                         "all \"guarantee\"s and \"weight\"s");
                return;
            }
        }
    }
}

bool
openflow_check(const struct ir_prog *prog, const struct backend_caps *caps,
               struct diags *diags)
{
    size_t n_errors = diags->n_errors;

    if (caps->n_tables < N_TABLES) {
        too_many(diags, &prog->place, "flow tables", caps->n_tables,
                 "choose another target");
    }
    check_ports(prog, caps, diags);
    check_tenants(prog, caps, diags);
    check_bursts(prog, diags);
    check_exceed(prog, diags);
    check_members(prog, caps, diags);
    check_delays(prog, diags);
    check_dhcp(prog, diags);
    return diags->n_errors == n_errors;
}

bool
has_room_for_flows(struct emitter *e, const struct ir_rule *rule, size_t n)
{
    if (e->n_policy_flows + n <= e->caps->n_flows) {
        e->n_policy_flows += n;
        return true;
    } else if (!e->full) {
        too_many(e->diags, &rule->place, "flows in a table", e->caps->n_flows,
                 "select by labels or whole tenants, name fewer ranges of "
                 "ports, or bind endpoints of fewer tenants to this node");
        e->full = true;
    }
    return false;
}

bool
has_room_for_conjunction(struct emitter *e, const struct ir_rule *rule)
{
    if (e->n_conjunctions++ < e->caps->n_conjunctions) {
        return true;
    } else if (!e->full) {
        too_many(e->diags, &rule->place, "conjunctions",
                 e->caps->n_conjunctions, "write fewer rules of many "
                 "endpoints, or bind endpoints of fewer tenants to this node");
        e->full = true;
    }
    return false;
}

void
check_routes(struct emitter *e, const struct ir_rule *peering)
{
    for (; e->n_checked < e->plan->flows.n; e->n_checked++) {
        e->n_routes += (e->plan->flows.v[e->n_checked].table
                        == TABLE_GATEWAY);
    }
    if (e->n_routes > e->caps->n_flows) {
        too_many(e->diags, &peering->place, "flows in a table",
                 e->caps->n_flows, "let fewer endpoints peer, or bind "
                 "endpoints of fewer tenants to this node");
        e->full = true;
    }
}

void
check_tables(struct emitter *e)
{
    size_t n[N_TABLES] = { 0 };

    for (size_t i = 0; i < e->plan->flows.n; i++) {
        n[e->plan->flows.v[i].table]++;
    }
    for (int table = 0; table < N_TABLES && !e->full; table++) {
        if (n[table] > e->caps->n_flows) {
            too_many(e->diags, &e->prog->place, "flows in a table",
                     e->caps->n_flows, "bind fewer endpoints to this node");
            e->full = true;
        }
    }
}
