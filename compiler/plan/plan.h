/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H 1

/* What one node must hold: OpenFlow flows and meters.
 *
 * A backend fills a plan; compile writes it to files and apply sends it.
 * Flows are kept as text in ovs-ofctl's syntax, so that what an operator
 * reads is what the switch gets.  Everything lives in the plan's arena. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "intent/exceed.h"
#include "sema/interface.h"

struct ds;

struct plan_flow {
    uint8_t table;
    uint16_t priority;
    uint64_t cookie;
    const char *match;          /* "ip,nw_dst=10.1.0.10", or "". */
    const char *actions;        /* "drop"; empty is not allowed. */
};

/* A meter with one band, of bits or of packets: a drop band, or a microburst
 * band (docs/meters.md).  Bits are those of the frame without FCS.  A meter
 * may borrow from another, its parent, which is an uplink's or that of a
 * tenant that is split, and stands before it. */
struct plan_meter {
    uint32_t id;                /* See PLAN_METER_ID(). */
    const char *name;           /* The tenant, or... */
    bool lends;                 /* ...if it is an uplink's, that. */
    bool split;                 /* Is it a parent, the tenant's? */
    bool rest;                  /* Below that, for all who have none. */
    bool limits;                /* Of the tree that keeps a tenant's limit,
                                 * where that is not the uplink's. */
    const char *endpoint;       /* Its own; NULL: all of the tenant's... */
    const char *class;          /* ...in this class; NULL: in any. */
    bool dscp_in;               /* Of that only what keeps its DSCP. */
    bool tags;                  /* Lets all pass, for its tag: what the
                                 * tenant has not sent here. */
    const char *uplink;         /* If the tenant takes several, else NULL. */
    bool receive;               /* Of what its endpoints get, not send. */
    bool packets;
    uint64_t rate;              /* In kbps, or packets a second. */
    uint32_t burst;             /* In kbit, or packets; in bytes if... */
    bool microburst;            /* ...this; then also: */
    uint8_t exceed;             /* See intent/exceed.h. */
    uint64_t peak;              /* In kbps, 0: no phantom queue. */
    uint32_t mark, depth, limit;        /* In bytes, 0: none. */
    uint32_t tag;               /* The tenant's number. */
    uint32_t parent;            /* Its id, 0: none; if there is one, also: */
    uint16_t weight;
    const char *place;          /* What asks for it, "line 1, /tenants/...";
                                 * NULL: not known. */
};

/* Is it one that others borrow from and that borrows from none, or one that
 * 'tags'?  So it is known on a bridge, too: all other microburst bands have a
 * queue or a parent. */
static inline bool
plan_meter_lends(const struct plan_meter *m)
{
    return (m->microburst && !m->peak && !m->parent
            && m->exceed != EXCEED_PASS);
}
static inline bool
plan_meter_tags(const struct plan_meter *m)
{
    return (m->microburst && !m->peak && !m->parent
            && m->exceed == EXCEED_PASS);
}

/* Meter ids that are Bulkhead's on a bridge; all others are somebody else's.
 * Meters carry no cookie, so the id says whose they are.
 *
 * A tenant has a meter of what it sends, in bits, and perhaps one of packets,
 * whose low 16 bits are the tenant's.  The low 28 bits of all others are a
 * hash of what they are for; if a tenant takes several uplinks, those of what
 * it sends are among them.  Each has a second id, which is the push engine's:
 * it gives that to a meter that changes, so that old and new can stand side by
 * side.
 *
 *     bits     0x0001.... and 0x0002....
 *     packets  0x0003.... and 0x0004....
 *     others   0x1....... and 0x2.......
 */
#define PLAN_METER_ID(PACKETS, N) (((PACKETS) ? 0x30000u : 0x10000u) + (N))
#define PLAN_METER_NUMBER(N) (0x10000000u + (N))
static inline bool
plan_meter_is_ours(uint32_t id)
{
    return ((id >= 0x10000u && id <= 0x4ffffu)
            || (id >= 0x10000000u && id <= 0x2fffffffu));
}
static inline bool
plan_meter_counts_packets(uint32_t id)
{
    return id >= 0x30000u && id <= 0x4ffffu;
}
static inline uint32_t
plan_meter_other(uint32_t id)
{
    return id ^ (id >= 0x10000000u ? 0x30000000u
                 : id < 0x30000u ? 0x30000u : 0x70000u);
}

VEC_TYPEDEF(plan_names, const char *);

/* What a cookie means, for manifest.json. */
struct plan_cookie {
    uint64_t cookie;
    const char *kind;           /* "allow", "deny", ..., or "implicit". */
    const char *name;           /* Of the rule, or of the reason. */
    const char *text;           /* Place in the intent, or an explanation. */
};

/* The number of a tenant or an endpoint, as registers of flows hold it, for
 * manifest.json. */
struct plan_number {
    const char *name;           /* "TENANT" or "TENANT/ENDPOINT". */
    uint32_t number;
    uint16_t zone;              /* A tenant's for connection tracking; 0 if it
                                 * is not on the node. */
};

/* A network that has endpoints on the node, for manifest.json. */
struct plan_network {
    const char *name;           /* "TENANT/NETWORK". */
    uint32_t vni;
    uint16_t mtu;               /* Payload of a frame, in bytes. */
};

/* What lies outside, behind a router at the node, for manifest.json. */
struct plan_external {
    const char *name, *interface, *mac, *gateway_mac;
    uint32_t number;            /* As a tenant's. */
};

/* An interface that must be on the bridge. */
struct plan_port {
    const char *interface;
    const char *endpoint;       /* "TENANT/ENDPOINT"; NULL: an external's, or
                                 * not known, as in records of before. */
    const char *said;           /* What the interface said of that, if it is
                                 * not the intent that binds it, as
                                 * attached_said() has it (push/attached.h);
                                 * else NULL. */
    const char *place;          /* What asks for it, as plan_meter has it; not
                                 * in a record. */
};

/* How many connections the zone of a tenant may hold, for ct-limits.txt and
 * manifest.json.  Push finds it in the flows: one that matches all of ct_zone
 * and of ct_mark says by a note what the zone may hold. */
struct plan_limit {
    const char *name;           /* The tenant. */
    uint16_t zone;
    uint32_t connections;
};

/* How many upcalls the interfaces of a tenant may make together, for
 * upcall-limits.txt and manifest.json.  Push finds it in the flows: one of
 * ADMIT that matches all of in_port says by a note what it is of. */
struct plan_upcalls {
    const char *name;           /* The tenant. */
    uint32_t number;
    uint32_t rate, burst;       /* A second; at once. */
    const char *interfaces;     /* With spaces between. */
};

/* What the intent asks of a tenant's meter and the target does not keep, for
 * manifest.json. */
struct plan_difference {
    const char *tenant, *uplink;
    const char *place;          /* "line 1, /tenants/..."; NULL: not known. */
    const char *asked, *held;   /* Bands, in ovs-ofctl's syntax. */
    plan_names lost;            /* In words, with numbers. */
};

/* The port for all tunnels that the bridge must have, a flow-based one
 * ("options:remote_ip=flow" in ovs-vswitchd.conf.db(5)). */
#define PLAN_TUNNEL INTERFACE_TUNNEL
struct plan_tunnel {
    const char *type;           /* "geneve" or "vxlan"; NULL: no such port. */
    const char *local_ip;
};

/* In other_config of the Open_vSwitch table: whether the switch counts what
 * tenants' queues send.  The command sets it. */
#define PLAN_TELEMETRY "tenant-queue-telemetry"
#define PLAN_TELEMETRY_COMMAND \
    "ovs-vsctl set Open_vSwitch . other_config:" PLAN_TELEMETRY "=true"

VEC_TYPEDEF(plan_rows, struct plan_row *);      /* See plan/row.h. */

struct plan {
    struct arena *arena;        /* Not owned. */
    const char *node;
    const char *target;         /* The backend's name. */
    const char *policy;         /* policy.txt, if that is all; or NULL. */
    bool northbound;            /* Only rows, for OVN, and what is unbound. */
    plan_rows rows;
    VEC(struct plan_flow) flows;        /* Sorted by plan_finish(). */
    VEC(struct plan_meter) meters;
    VEC(struct plan_cookie) cookies;
    VEC(struct plan_port) ports;
    struct plan_tunnel tunnel;
    bool kernel;                /* For a bridge of the kernel's datapath. */
    bool telemetry;             /* Of tenants' queues: see
                                 * PLAN_TELEMETRY. */
    struct plan_nic *nic;       /* See plan/nic.h; NULL: none is set. */
    struct plan_vfs *vfs;       /* See plan/nic.h; NULL: none is in legacy
                                 * mode. */
    struct plan_htb *htb;       /* See plan/htb.h; NULL: no queues are. */
    struct plan_dpdk *dpdk;     /* See plan/dpdk.h; NULL: there is none. */
    VEC(struct plan_number) tenants, endpoints;
    VEC(struct plan_network) networks;
    VEC(struct plan_external) externals;
    /* Of a plan that a backend filled. */
    VEC(struct plan_limit) limits;
    VEC(struct plan_upcalls) upcalls;
    VEC(struct plan_difference) differences;
    plan_names in_hardware;     /* How meters differ there, in words. */
    plan_names by_tunnel;       /* Endpoints on other nodes, ... */
    plan_names elsewhere;       /* ... and those that no tunnel reaches. */
    plan_names cut_off;         /* "EXTERNAL:TENANT/ENDPOINT": here, where
                                 * the external is not. */
    plan_names unbound;         /* Endpoints that match nothing. */
    const char *conflict;       /* See plan_finish(); NULL if there is none. */
    /* What rules took of the target's room in its own terms: flows, repeated
     * ones too, and conjunctions. */
    size_t n_rule_flows, n_conjunctions;
};

/* The strings must live as long as the plan. */
void plan_init(struct plan *, struct arena *, const char *node,
               const char *target);

/* Appends a flow; the strings must live as long as the plan. */
void plan_add_flow(struct plan *, uint8_t table, uint16_t priority,
                   uint64_t cookie, const char *match, const char *actions);

/* The action that notes such a limit, in the arena, and the bytes that it
 * notes: the number, in network byte order. */
enum { PLAN_NOTE_BYTES = 6 };
const char *plan_limit_note(struct arena *, uint32_t connections);

/* The same for a limit of upcalls: number, rate and burst, 4 bytes each, after
 * two of 0. */
enum { PLAN_UPCALLS_NOTE_BYTES = 14 };
const char *plan_upcalls_note(struct arena *, const struct plan_upcalls *);

/* Sorts flows and drops repeated ones, keeping the first that was added: two
 * rules may allow the same packets.  If two flows of the same table, priority
 * and match have different actions, describes them in 'plan->conflict': the
 * plan must not be used. */
void plan_finish(struct plan *);

/* Adds copies of all of 'from' but its flows and meters, and what a NIC,
 * queues and DPDK are set to, for which all must be known.  Once that of all
 * parts of a plan is there, plan_finish_notes() drops repeated cookies. */
void plan_copy_notes(struct plan *, const struct plan *from);
void plan_finish_notes(struct plan *);

/* The text of a flow or meter, without newline, in 'plan->arena'. */
const char *plan_flow_string(const struct plan *, const struct plan_flow *);

/* Appends the text of a flow, without newline. */
void plan_put_flow(const struct plan_flow *, struct ds *);
const char *plan_meter_string(const struct plan *, const struct plan_meter *);

/* What the cookie of a flow says: a rule or a reason.  NULL if it is none of
 * the plan's. */
const char *plan_cookie_name(const struct plan *, uint64_t cookie);

/* What asks for the interface, or NULL: it is not known. */
const char *plan_port_place(const struct plan *, const char *interface);

/* What a meter is for, as people read it: "TENANT", "TENANT (receive,
 * UPLINK)", "TENANT/ENDPOINT (receive)", "TENANT (rest, limit)",
 * "TENANT (class CLASS)", "uplink UPLINK". */
const char *plan_meter_title(const struct plan *, const struct plan_meter *);

/* The title of a meter, by either of its ids, or NULL. */
const char *plan_meter_name(const struct plan *, uint32_t id);

/* Do both let the same pass, if their parents do? */
bool plan_meter_same(const struct plan_meter *, const struct plan_meter *);

/* The order of the meters of a plan that changes: parents first, then by their
 * ids. */
int plan_compare_meters(const struct plan_meter *, const struct plan_meter *);

/* How large a plan is.  Masks are the sets of bits that the flows of a table
 * match, counted in each table: the switch looks in each for itself. */
struct plan_counts {
    size_t flows, masks, meters, conjunctions;
    size_t borrowers;           /* Meters below another. */
};
struct plan_counts plan_count(const struct plan *);

/* What turns 'old' into 'new', both finished.  The flows are theirs, the
 * arrays are in the arena of 'new'.  A meter that changes is deleted and
 * added.  Takes time proportional to the flows and the square of the meters.
 */
VEC_TYPEDEF(plan_flows, const struct plan_flow *);
VEC_TYPEDEF(plan_meters, const struct plan_meter *);
struct plan_diff {
    plan_flows added, changed;  /* Of 'new'. */
    plan_flows deleted;         /* Of 'old'. */
    size_t meters_added, meters_deleted;
};
struct plan_diff plan_compare(const struct plan *old, const struct plan *new);

/* Would both do the same to a switch, or to a northbound database? */
bool plan_same(const struct plan *, const struct plan *);

/* The order of finished flows: negative, zero or positive as strcmp().  Zero:
 * the same table, priority and match. */
int plan_compare_flows(const struct plan_flow *, const struct plan_flow *);

/* The command that gives 'bridge' the tunnel port as the plan wants it, and
 * its options, in 'plan->arena'.  'bridge' must be fit for a shell as it
 * stands. */
const char *plan_tunnel_command(const struct plan *, const char *bridge);
struct plan_option {
    const char *key, *value;
};
enum { N_TUNNEL_OPTIONS = 4 };
void plan_tunnel_options(const struct plan *,
                         struct plan_option options[N_TUNNEL_OPTIONS]);

/* Appends the text of the files that plan_write() writes, each behind a line
 * "# NAME". */
void plan_print(const struct plan *, struct ds *);

/* Writes flows.txt, meters.txt, ovs-vsctl.sh and manifest.json, and devlink.sh
 * and dcb.sh if a NIC is to be set, qos.sh if queues are, dpdk.sh if DPDK is;
 * or policy.txt, or
 * ovn-nbctl.sh and ovn-nb.json, to the folder 'dir', which is made if it is
 * not there.  All of them are written before the first is replaced, and
 * manifest.json is replaced last: while there is none, the others may be of
 * two plans.  Returns NULL, or a reason in 'plan->arena'. */
const char *plan_write(const struct plan *, const char *dir);

#endif /* plan/plan.h */
