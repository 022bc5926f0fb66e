/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_NIC_H
#define PLAN_NIC_H 1

/* What the NIC of a node must be set to, for a target that leaves traffic to
 * it: the rates of VFs (devlink-rate(8)), and what its ports do with
 * priorities (dcb(8)). */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "openvswitch/types.h"

struct arena;
struct ds;
struct json;
struct plan;

enum { NIC_PRIORITIES = 8, NIC_DSCPS = 64 };

/* What is sent: of a tenant by one uplink, which is a group of VFs, or of one
 * endpoint, which is a VF in the group of its tenant. */
struct plan_rate {
    const char *tenant;
    const char *endpoint;       /* "TENANT/ENDPOINT"; NULL: of the group. */
    const char *interface;      /* The endpoint's: the VF's representor. */
    uint64_t share_mbps;        /* Kept whatever others send; 0: nothing. */
    uint64_t max_mbps;          /* 0: no limit. */
    const char *place;          /* What asks for it, as plan_meter has it. */
};

/* A priority is a traffic class by itself, if it is used; else it is in the
 * one of priority 0. */
struct plan_priority {
    uint8_t percent;            /* Of the port, while all send; 0: not used. */
    bool lossless;              /* With pause frames. */
    uint64_t buffer_bytes;      /* Of its own buffer; 0: none is set. */
};

/* An uplink of the node, and the rates of those that take it: each group
 * before its VFs. */
struct plan_nic_port {
    const char *name, *interface;
    const char *place;
    /* What asks for each object of dcb(8); 'place', if nothing else does. */
    const char *ets_place, *buffer_place, *pfc_place, *app_place;
    struct plan_priority priorities[NIC_PRIORITIES];
    bool legacy;                /* Its VFs have no representors: vf.sh sets
                                 * their rates. */
    VEC(struct plan_rate) rates;
};

struct plan_nic {
    VEC(struct plan_nic_port) ports;
    uint8_t priority_of[NIC_DSCPS];     /* By DSCP; 0 for those of no class. */
};

/* Append devlink.sh and dcb.sh. */
void plan_format_devlink(const struct plan *, struct ds *);
void plan_format_dcb(const struct plan *, struct ds *);

/* A VF of a NIC in legacy mode: what ip-link(8) sets of it. */
struct plan_vf {
    const char *name;           /* "TENANT/ENDPOINT". */
    const char *uplink, *interface;     /* Of that. */
    /* What asks for it, as plan_meter has it, and for what of it is set. */
    const char *place, *mac_place, *vlan_place, *rate_place;
    uint16_t vf, vlan;
    uint8_t priority;           /* In its VLAN tag. */
    struct eth_addr mac;
    uint64_t max_mbps, min_mbps;        /* 0: none. */
    VEC(const char *) rules;    /* About it, which are not kept... */
    VEC(const char *) cut;      /* ...or allow only what its VLAN cuts off. */
};

struct plan_vfs {
    VEC(struct plan_vf) all;
};

/* Appends vf.sh; and all of it for manifest.json. */
void plan_format_vfs(const struct plan *, struct ds *);
struct json *plan_vfs_to_json(const struct plan_vfs *);

/* Appends what all scripts begin with: 'about' says what the script is for.
 * If it 'undoes', what the script does is undone when it fails or a signal
 * stops it: with each step, "was COMMAND..." notes what does that. */
void plan_put_script_head(const struct plan *, const char *script,
                          const char *about, bool undoes, struct ds *);

/* Appends "running PLACE", a function that ends a script at once if no
 * ovs-vswitchd answers: ovs-vsctl would wait for one. */
void plan_put_running(struct ds *);

/* Appends "ports INTERFACE PLACE", a function that sets $ports to it, or to
 * the members of the bond that it is. */
void plan_put_ports(struct ds *);

/* The ports, for manifest.json. */
struct json *plan_nic_to_json(const struct plan_nic *);

/* Appends 's' in single quotes, in which a shell takes all as it stands; one
 * of the text's own ends them, stands behind a backslash, and begins them
 * anew. */
void plan_put_quoted(struct ds *, const char *s);

#endif /* plan/nic.h */
