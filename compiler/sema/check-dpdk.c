/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <inttypes.h>
#include <string.h>
#include <sys/un.h>

#include "sema/policy.h"
#include "util.h"

/* Where tools that make virtual machines commonly put them. */
#define VHOST_SOCKETS "/var/lib/vhost_sockets"

const char *
endpoint_socket(const struct policy_endpoint *e, struct arena *arena)
{
    const char *folder = e->node->dpdk.vhost_sockets.s;

    return arena_printf(arena, "%s/%s", folder ? folder : VHOST_SOCKETS,
                        e->name);
}

static const struct number *
find_cpu(const number_vec *cpus, uint16_t cpu)
{
    for (size_t i = 0; i < cpus->n; i++) {
        if (cpus->v[i].n == cpu) {
            return &cpus->v[i];
        }
    }
    return NULL;
}

/* How many of the node's CPUs poll what has none of its own. */
static size_t
n_shared_cpus(const struct intent_node *node)
{
    size_t n = 0;

    for (size_t i = 0; i < node->dpdk.pmd_cpus.n; i++) {
        bool own = false;

        for (size_t j = 0; j < node->uplinks.n; j++) {
            own |= find_cpu(&node->uplinks.v[j].pmd_cpus,
                            node->dpdk.pmd_cpus.v[i].n) != NULL;
        }
        n += !own;
    }
    return n;
}

static void
report_no_dpdk(const struct intent_node *node, const struct value *at,
               struct diags *diags)
{
    struct diag *d = value_error(diags, at, "node '%s' has no \"dpdk\", so "
                                 "nothing would poll this port",
                                 node->name.s);

    diag_remedy(diags, d, "give it \"dpdk\": { \"pmd_cpus\": [...] }");
    diag_see(diags, d, node->name.at->key_span, "the node");
}

/* A port without CPUs of its own. */
static void
check_polled(const struct intent_node *node, const struct value *at,
             struct diags *diags)
{
    if (!node->dpdk.at) {
        report_no_dpdk(node, at, diags);
    } else if (node->dpdk.pmd_cpus.n && !n_shared_cpus(node)) {
        struct diag *d = value_error(diags, at, "nothing would poll this "
                                     "port: all CPUs of node '%s' poll an "
                                     "uplink and nothing else",
                                     node->name.s);

        diag_remedy(diags, d, "add one to the node's \"pmd_cpus\", or take "
                    "one from an uplink's");
        diag_see(diags, d, node->dpdk.pmd_cpus.v[0].at->parent->span,
                 "the node's");
    }
}

static void
report_cpu(const struct number *cpu, const struct value *other,
           const char *why, const char *remedy, struct diags *diags)
{
    struct diag *d = value_error(diags, cpu->at, "CPU %"PRIu16" %s", cpu->n,
                                 why);

    diag_remedy(diags, d, "%s", remedy);
    if (other) {
        diag_see(diags, d, other->span, "the other use");
    }
}

/* CPU 'cpu' of uplink 'i': the node's, and no other uplink's. */
static void
check_own_cpu(const struct intent_node *node, size_t i,
              const struct number *cpu, struct diags *diags)
{
    if (!find_cpu(&node->dpdk.pmd_cpus, cpu->n)) {
        report_cpu(cpu, NULL, "is none of the \"pmd_cpus\" of the node's "
                   "\"dpdk\"", "add it there, or name one of those", diags);
    }
    for (size_t j = 0; j < i; j++) {
        const struct number *other = find_cpu(&node->uplinks.v[j].pmd_cpus,
                                              cpu->n);

        if (other) {
            report_cpu(cpu, other->at, "polls another uplink, and nothing "
                       "else", "give each its own, or leave the choice to "
                       "Open vSwitch", diags);
        }
    }
}

static void
check_uplink(const struct intent_node *node, size_t i, struct diags *diags)
{
    const struct intent_uplink *uplink = &node->uplinks.v[i];
    size_t n_queues = uplink->queues.at ? uplink->queues.n : 1;

    for (size_t j = 0; j < i; j++) {
        const struct text *other = &node->uplinks.v[j].device;

        if (other->s && !strcmp(other->s, uplink->device.s)) {
            struct diag *d = value_error(diags, uplink->device.at,
                                         "device %s is used twice",
                                         uplink->device.s);

            diag_remedy(diags, d, "give each uplink a device of its own");
            diag_see(diags, d, other->at->span, "first used here");
        }
    }
    if (!uplink->pmd_cpus.n) {
        check_polled(node, uplink->device.at, diags);
    } else if (!node->dpdk.at) {
        report_no_dpdk(node, uplink->device.at, diags);
        return;
    } else if (uplink->pmd_cpus.n > n_queues) {
        report_cpu(&uplink->pmd_cpus.v[n_queues], NULL, "would have no queue "
                   "of the uplink to poll", "say more \"queues\", or fewer "
                   "CPUs", diags);
    }
    for (size_t j = 0; j < uplink->pmd_cpus.n; j++) {
        check_own_cpu(node, i, &uplink->pmd_cpus.v[j], diags);
    }
}

static void
check_node(const struct intent_node *node, struct diags *diags)
{
    for (size_t i = 0; i < node->dpdk.lcores.n; i++) {
        const struct number *cpu = &node->dpdk.lcores.v[i];
        const struct number *other = find_cpu(&node->dpdk.pmd_cpus, cpu->n);

        if (other) {
            report_cpu(cpu, other->at, "polls ports without a pause, which "
                       "leaves nothing for the rest of ovs-vswitchd",
                       "name another CPU in one of the two", diags);
        }
    }
    for (size_t i = 0; i < node->uplinks.n; i++) {
        if (node->uplinks.v[i].device.s) {
            check_uplink(node, i, diags);
        }
    }
}

static void
check_representor(const struct policy_endpoint *e, struct diags *diags)
{
    const struct intent_uplink *uplink = network_uplink(e->network, e->node);
    struct diag *d = NULL;

    if (uplink && !uplink->device.s) {
        d = value_error(diags, e->intent->port.at, "uplink '%s', which its "
                        "network takes, has no \"device\" that a VF could be "
                        "of", uplink->name.s);
        diag_remedy(diags, d, "give it the PCI address of the NIC");
    } else if (uplink && !strncmp(uplink->device.s, INTENT_VDEV,
                                  strlen(INTENT_VDEV))) {
        d = value_error(diags, e->intent->port.at, "uplink '%s', which its "
                        "network takes, is a virtual device, and has no VFs",
                        uplink->name.s);
        diag_remedy(diags, d, "take the PCI address of a NIC as its "
                    "\"device\"");
    }
    if (d) {
        diag_see(diags, d, uplink->name.at->key_span, "the uplink");
    }
}

static void
check_socket(const struct policy_endpoint *e, struct diags *diags)
{
    const size_t max = sizeof ((struct sockaddr_un *) NULL)->sun_path - 1;
    const char *path = endpoint_socket(e, diags->arena);

    if (strlen(path) > max) {
        struct diag *d = value_error(diags, e->intent->port.at, "the path of "
                                     "its socket, %s, has more than "
                                     "%"PRIuSIZE" bytes", path, max);

        diag_remedy(diags, d, "give the node's \"dpdk\" a shorter "
                    "\"vhost_sockets\", or the endpoint a shorter name");
    }
}

static void
check_port(const struct policy_endpoint *e, struct diags *diags)
{
    const struct intent_endpoint *intent = e->intent;
    const struct text *port = &intent->port;
    bool representor = port->s && !strcmp(port->s, INTENT_REPRESENTOR);
    struct diag *d;

    if (intent->vf.at && !representor && !e->legacy) {
        d = value_error(diags, intent->vf.at, "a \"vf\" goes with "
                        "\"port\": \""INTENT_REPRESENTOR"\" or "
                        "\""INTENT_LEGACY"\"");
        diag_remedy(diags, d, "say that too, or take this away");
    } else if ((representor || e->legacy) && !intent->vf.at) {
        d = value_error(diags, port->at, "it does not say which VF%s this is",
                        e->legacy ? "" : "'s representor");
        diag_remedy(diags, d, "add \"vf\", its number, from 0");
    }
    if (!port->s || !strcmp(port->s, INTENT_SYSTEM) || e->legacy
        || !e->node) {
        return;
    }
    check_polled(e->node, port->at, diags);
    if (representor) {
        check_representor(e, diags);
    } else {
        check_socket(e, diags);
    }
}

void
check_dpdk(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        check_node(&policy->intent->nodes.v[i], diags);
    }
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            check_port(tenant->endpoints.v[j], diags);
        }
    }
}

void
doubt_dpdk(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct intent_node *node = &policy->intent->nodes.v[i];

        for (size_t j = 0; j < node->uplinks.n; j++) {
            const struct intent_uplink *uplink = &node->uplinks.v[j];
            size_t n = uplink->pmd_cpus.n ? uplink->pmd_cpus.n
                       : n_shared_cpus(node);

            if (uplink->queues.at && uplink->queues.n > n) {
                struct diag *d = value_warning(
                    diags, uplink->queues.at, "%"PRIuSIZE" CPU%s poll%s these "
                    "%"PRIu16" queues: more queues than CPUs gain nothing", n,
                    n == 1 ? "" : "s", n == 1 ? "s" : "", uplink->queues.n);

                diag_remedy(diags, d, "say as many \"queues\" as there are "
                            "CPUs to poll them");
            }
        }
    }
}
