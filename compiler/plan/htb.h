/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_HTB_H
#define PLAN_HTB_H 1

/* The queues of a node's ports, for a target that leaves what is owed to the
 * kernel's scheduler: QoS and Queue rows of ovs-vswitchd.conf.db(5), of type
 * linux-htb.
 *
 * Rates are in kbps and count frames as they leave, with a tunnel's headers,
 * without FCS, preamble and gap. */

#include <stdint.h>

#include "base/vec.h"

struct ds;
struct json;
struct plan;

struct plan_queue {
    uint32_t number;            /* As set_queue says it. */
    const char *tenant;         /* Whose; NULL: of classes, or of the rest. */
    uint64_t min_kbps;          /* Kept whatever the others send. */
    uint64_t max_kbps;
};

struct plan_htb_port {
    const char *interface;
    const char *uplink;         /* Which it is, or... */
    const char *endpoint;       /* ...whose it is: "TENANT/ENDPOINT". */
    const char *place;          /* What asks for it, as plan_meter has it. */
    uint64_t max_kbps;          /* Of all queues together. */
    VEC(struct plan_queue) queues;      /* By number; the first is 0, which
                                         * has what no other is for. */
};

struct plan_htb {
    VEC(struct plan_htb_port) ports;
};

/* Appends qos.sh. */
void plan_format_qos(const struct plan *, struct ds *);

/* The ports, for manifest.json. */
struct json *plan_htb_to_json(const struct plan_htb *);

#endif /* plan/htb.h */
