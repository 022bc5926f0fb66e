/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef WORLD_H
#define WORLD_H 1

/* Random intents, with all that the language has, and smaller ones of the
 * same kind.
 *
 * A world is an intent in parts that can be left out one by one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "ir/ir.h"
#include "plan/plan.h"
#include "random.h"
#include "sema/policy.h"

/* The node that is compiled for.  Some endpoints are on others. */
#define WORLD_NODE "n1"

/* Of endpoints' own bandwidth. */
enum { OWN_BURST_KIB = 100 };

/* What tenants without a limit have: the rates and bursts of uplinks "u0",
 * "u1", ... of each node. */
#define UPLINK_MBPS(I) (30000 + 1000 * (I))
#define UPLINK_BURST_KIB(I) (256 + (I))

/* Of network "nN"; less than 256. */
#define WORLD_VNI(N) (100 + (N))

/* Endpoint "eN" has interface "iN", whose OpenFlow port is N + 1. */
enum { TUNNEL_PORT = 30 };
enum {
    MAX_NODES = 3,
    MAX_TENANTS = 4, MAX_NETWORKS = 8, MAX_ENDPOINTS = 20, MAX_RULES = 24,
    MAX_UPLINKS = 3, N_GROUPS = 6, MAX_SERVICES = 4, MAX_CLASSES = 3,
    MAX_CHOICES = 2,
};

/* How many lines services.def has: rules name the services of lines, then
 * those of the world. */
enum {
    N_BUILTIN_LINES = 0
#define SERVICE(NAME, PROTOCOL, FIRST, LAST, SYMMETRIC) + 1
#include "sema/services.def"
#undef SERVICE
};

/* External "xN" has interface "iM", M following the last endpoint. */
enum { MAX_EXTERNALS = 2, N_RANGES = 4, N_CIDRS = 8 };

struct world_external {
    bool left_out, own_mac;
    unsigned int addresses, excepts;    /* 1-bits: ranges of N_RANGES. */
    unsigned int tenants;       /* 1-bits; that of EVERY_TENANT is "*". */
    unsigned int nodes;         /* 1-bits: attached to these. */
};

/* Beside a limit. */
struct world_share {
    int guarantee_mbps, weight; /* 0: not there. */
    bool no_borrow;
};

/* Of a class. */
struct world_part {
    int mbps;                   /* 0: it has none. */
    struct world_share share;
};

struct world_tenant {
    bool left_out, allow;
    bool limited, counted;      /* It has "bandwidth", "limits". */
    int mbps, burst_kib, kpps, burst_packets;
    int connections;            /* Of "limits" too; 0: no such limit. */
    int upcalls, upcalls_burst; /* The same, a second and at once. */
    bool both;                  /* "bandwidth" is in its short form, or: */
    int received_mbps, received_kib;    /* 0: no "receive". */
    struct world_share shares[2];       /* If the world is 'shared': of what
                                         * it sends, and receives. */
    struct world_part parts[2][MAX_CLASSES];    /* The same. */
    bool bursts;                /* It has "microburst", with... */
    uint8_t exceed;             /* ... "exceed"; see intent/exceed.h. */
    int mark_kib, depth_kib, limit_kib; /* Of "microburst", 0 if not there. */
    unsigned int peers;         /* 1-bits: tenants. */
    unsigned int outside;       /* 1-bits: externals among its peers. */
    bool peers_all;
};

struct world_network {
    bool left_out, gateway4, gateway6;
    int tenant;
    int uplink;
    int subnet;                 /* 10.SUBNET.0.0/16, fd00:SUBNET::/64. */
    int dhcp_server;            /* An endpoint, or -1. */
    unsigned int groups;        /* 1-bits: multicast groups it carries. */
};

struct world_endpoint {
    bool left_out, bound, ip4, ip6, second;
    int node, network, host, mac, role, tier;
    int sent_mbps, received_mbps;       /* Of its own; 0: none. */
    struct world_share shares[2];       /* As a tenant's. */
    unsigned int apart;         /* 1-bits: what of its binding does not stand
                                 * with it, of APART_*. */
};

enum {
    APART_NODE = 1, APART_INTERFACE = 2, APART_MAC = 4, APART_ADDRESSES = 8,
    APART_ALL = 15,
};

/* In place of a tenant: all of them. */
enum { EVERY_TENANT = MAX_TENANTS };

/* Sets are 1-bits; an empty one is any. */
struct world_choice {
    int tenant;                 /* -1: whose rule it is. */
    unsigned int networks, endpoints, roles, tiers;
    bool cidr, cidr6;           /* Hosts of this block of 'subnet', in */
    int subnet, block;          /* IPv6 or IPv4. */
};

struct world_selector {
    int n;
    struct {
        struct world_choice in, except;
        bool has_except;
        int external, range;    /* Instead: an external, and which of
                                 * N_CIDRS; -1: none, all. */
    } choices[MAX_CHOICES];
};

enum { PEERING = -1, GUARDRAIL = -2 };

struct world_rule {
    bool left_out, deny, imposed;
    bool misjudged;             /* Left out, and the world sees no reason. */
    int tenant;                 /* Or PEERING, or GUARDRAIL. */
    int service, class;         /* -1: none. */
    int reply_class;            /* -2: none; -1: best-effort. */
    bool stateless;
    enum charge charge;         /* Of a peering. */
    struct world_selector from, to;
};

struct world_class {
    int dscp, queue;
    int in, in_queue;           /* "dscp_in"; 0: none. */
    int in_mbps, in_kib;
};

struct world {
    uint64_t seed;
    const char *encapsulation;  /* NULL: no tunnels. */
    bool underlay6;             /* Tunnel addresses are IPv6. */
    unsigned int tunnels;       /* 1-bits: nodes that have tunnels... */
    unsigned int telemetry;     /* ...and that count by tenant. */
    int n_uplinks;              /* Of each node. */
    bool shared;                /* Tenants say guarantees and weights. */
    int n_tenants, n_networks, n_endpoints, n_rules;
    struct world_tenant tenants[MAX_TENANTS];
    struct world_network networks[MAX_NETWORKS];
    struct world_endpoint endpoints[MAX_ENDPOINTS];
    struct world_rule rules[MAX_RULES];
    int n_externals;
    struct world_external externals[MAX_EXTERNALS];
    struct {
        bool udp;
        int protocol;           /* Other than TCP and UDP, without ports; or
                                 * 0. */
        int first[2], last[2];
    } services[MAX_SERVICES];
    struct world_class classes[MAX_CLASSES];
};

/* A compilation, as far as it got: 'policy' is NULL if the world contradicts
 * itself. */
struct compiled {
    struct arena *arena;
    const char *text;           /* The intent. */
    struct diags *diags;        /* About it. */
    const struct policy *policy;
    struct ir_prog *prog;
    struct plan plan;
};

/* Makes the world of this seed, whose intent is right. */
void world_init(struct world *, uint64_t seed);

/* The intent, in the arena. */
const char *world_text(const struct world *, struct arena *);

/* The same with other tenants, as members of "tenants"; NULL: left out. */
const char *world_text_of(const struct world *,
                          const char *const tenants[], struct arena *);
const char *world_tenant_text(const struct world *, int tenant,
                              struct arena *);

/* The names of a rule's 'service' and of an endpoint's 'node'. */
const char *world_service_name(int service);
const char *world_node_name(int node);

void world_compile(const struct world *, struct compiled *);

/* Fills 'prog' and 'plan' of what has a policy, for 'node'. */
void compiled_lower(struct compiled *, const char *node);

/* Returns NULL, or what the policy or the plan for WORLD_NODE say otherwise
 * than the world: endpoints, sets of rules, consent, classes, services,
 * meters.  Of the built-in services only the names are compared. */
const char *world_check(const struct world *, const struct compiled *);

/* Prints the intent and the program, parses the texts and lowers them.
 * Returns NULL, or what is no longer the same. */
const char *compiled_reprint(struct compiled *);
void compiled_destroy(struct compiled *);

/* The parts that can be left out are numbered from 0 to world_n_parts() - 1.
 * world_part() is where to note that one is. */
int world_n_parts(const struct world *);
bool *world_part(struct world *, int part);

/* By name; NULL if it is not there. */
const struct policy_endpoint *compiled_endpoint(const struct compiled *,
                                                const char *name);

int endpoint_port(const struct policy_endpoint *);
int external_port(const struct policy_external *);

/* The attachment of the external to the compilation's node; NULL if there is
 * none. */
const struct policy_attachment *compiled_attachment(const struct compiled *,
                                                    const char *external);

#endif /* world.h */
