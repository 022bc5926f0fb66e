/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/contract-private.h"

#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "packets.h"
#include "util.h"

/* What opens a connection of a tenant with a limit of them must come back to
 * NOTED: a zone that is full notes nothing, and hands the packet on as if it
 * had.  One packet for each way by which a connection is noted shows it. */

enum { N_PROBE = 8 };

struct probe {
    enum contract_table table;
    enum field tenant;          /* Where the number of the tenant is. */
    uint32_t states;            /* Of conntrack. */
    enum noted_crossing crossing;
    bool tunnel, external;      /* Only where packets so come in. */
};

static const struct probe probes[] = {
    { TABLE_COMMIT, F_REG0, CS_NEW, CROSSING_NO, false, false },
    { TABLE_COMMIT, F_REG13, CS_NEW, CROSSING_NO, true, false },
    { TABLE_COMMIT, F_REG13, CS_NEW, CROSSING_EXTERNAL, false, true },
    { TABLE_PEER_STATE, F_REG0, CS_NEW, CROSSING_NEW, false, false },
    { TABLE_PEER_STATE, F_REG0, CS_ESTABLISHED, CROSSING_NEW, false, false },
    { TABLE_PEER_STATE, F_REG13, CS_NEW, CROSSING_NEW, false, false },
    { TABLE_PEER_STATE, F_REG13, CS_NEW, CROSSING_YES, false, false },
    { TABLE_NOTED, F_REG13, CS_NEW, CROSSING_NEW, false, false },
};

static bool
meets(const struct table_flow *flow, const struct condition packet[N_PROBE])
{
    for (size_t i = 0; i < flow->n_conditions; i++) {
        const struct condition *cond = &flow->conditions[i];
        u128 value = 0;

        for (size_t k = 0; k < N_PROBE; k++) {
            value = packet[k].field == cond->field ? packet[k].value : value;
        }
        if ((value ^ cond->value) & cond->mask) {
            return false;
        }
    }
    return true;
}

/* The flows of the tables of probes. */
static flow_vec
find_flows(const struct contract *c)
{
    const flow_vec *all = &c->task->tables->flows;
    flow_vec flows = VEC_INIT;

    for (size_t i = 0; i < all->n; i++) {
        if (all->v[i]->table == TABLE_COMMIT
            || all->v[i]->table == TABLE_PEER_STATE
            || all->v[i]->table == TABLE_NOTED) {
            *vec_push(c->arena, &flows) = all->v[i];
        }
    }
    return flows;
}

static const struct table_flow *
find_strongest(const flow_vec *flows, enum contract_table table,
               const struct condition packet[N_PROBE])
{
    const struct table_flow *best = NULL;

    for (size_t i = 0; i < flows->n; i++) {
        const struct table_flow *flow = flows->v[i];

        if (flow->table == table && (!best || flow->priority > best->priority)
            && meets(flow, packet)) {
            best = flow;
        }
    }
    return best;
}

static void
ask_probe(struct contract *c, const flow_vec *flows, const struct probe *p,
          const struct policy_tenant *tenant, uint32_t number, uint16_t type)
{
    const struct condition packet[N_PROBE] = {
        { .field = p->tenant, .value = number },
        { .field = F_REG7, .value = DIRECTION_FORWARD },
        { .field = F_REG10, .value = p->crossing },
        { .field = F_METADATA, .value = p->tunnel },
        { .field = F_ETH_TYPE, .value = type },
        { .field = F_CT_STATE, .value = CS_TRACKED | p->states },
        { .field = F_CT_MARK, .value = 1 },
        { .field = F_IN_PORT,
          .value = ofp_to_u16(p->tunnel ? c->tunnel : OFPP_NONE) },
    };

    c->flow = find_strongest(flows, p->table, packet);
    if (!c->flow) {
        return;
    }
    deed_read(c, c->flow->ofpacts, ofpact_end(c->flow->ofpacts,
                                              c->flow->ofpacts_len),
              &c->deed);
    if (deed_passes(&c->deed) && !deed_leads_to(&c->deed, TABLE_NOTED)) {
        contract_wrong(c, arena_printf(
            c->arena, "it does not ask whether a connection of %s was noted",
            tenant->name), "on to NOTED, since the tenant has a limit of "
            "connections", tenant->intent->name.at);
        contract_report(c, packet, p->tunnel ? N_PROBE : N_PROBE - 1);
    }
}

static bool
has_tunnels(const struct contract *c)
{
    const struct intent *intent = c->task->policy->intent;
    uint64_t number;

    for (size_t i = 0; i < intent->nodes.n; i++) {
        if (note_value(c, NOTE_NODE, &intent->nodes.v[i], &number)) {
            return true;
        }
    }
    return false;
}

static bool
has_externals(const struct contract *c)
{
    const struct policy *policy = c->task->policy;
    uint64_t number;

    for (size_t i = 0; i < policy->externals.n; i++) {
        if (note_value(c, NOTE_TENANT, policy->externals.v[i], &number)) {
            return true;
        }
    }
    return false;
}

void
ask_limits(struct contract *c)
{
    const struct policy *policy = c->task->policy;
    bool tunnels = has_tunnels(c), externals = has_externals(c);
    flow_vec flows = find_flows(c);

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        uint64_t zone, number;

        if (!tenant->intent->connections
            || !note_value(c, NOTE_ZONE, tenant, &zone)
            || !note_value(c, NOTE_TENANT, tenant, &number)) {
            continue;
        }
        for (size_t k = 0; k < ARRAY_SIZE(probes); k++) {
            if ((tunnels || !probes[k].tunnel)
                && (externals || !probes[k].external)) {
                ask_probe(c, &flows, &probes[k], tenant, number, ETH_TYPE_IP);
                ask_probe(c, &flows, &probes[k], tenant, number,
                          ETH_TYPE_IPV6);
            }
        }
    }
}
