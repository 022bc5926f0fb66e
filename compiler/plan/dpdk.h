/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_DPDK_H
#define PLAN_DPDK_H 1

/* What DPDK must do for the switch of a node: the CPUs and the memory that it
 * takes, and the ports that it makes (ovs-vswitchd.conf.db(5), other_config of
 * Open_vSwitch, type, options and other_config of Interface). */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct ds;
struct json;
struct plan;

VEC_TYPEDEF(plan_numbers, uint32_t);

struct plan_dpdk_port {
    const char *name;           /* The uplink, or "TENANT/ENDPOINT". */
    bool uplink;
    const char *interface;
    const char *place;          /* What asks for it, as plan_meter has it. */
    uint16_t mtu;               /* Payload of a frame, in bytes. */
    const char *device;         /* PCI address, or "vdev:NAME"; or... */
    bool representor;           /* Of 'vf' of that. */
    uint16_t vf;
    const char *socket;         /* ...the path for vhost-user. */
    uint16_t queues;            /* Of what it receives; 0: not said. */
    plan_numbers pmd_cpus;      /* That poll them and nothing else, in turn;
                                 * empty: Open vSwitch chooses. */
};

struct plan_dpdk {
    const char *place;
    plan_numbers lcores;        /* Empty: Open vSwitch chooses. */
    plan_numbers pmd_cpus;
    plan_numbers memory;        /* MiB, by NUMA node; empty: none ahead. */
    VEC(struct plan_dpdk_port) ports;
};

/* Appends dpdk.sh. */
void plan_format_dpdk(const struct plan *, struct ds *);

/* All of it, for manifest.json. */
struct json *plan_dpdk_to_json(const struct plan_dpdk *);

#endif /* plan/dpdk.h */
