/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IR_IR_H
#define IR_IR_H 1

/* The policy program of one node: who is here, what they may send to each
 * other, and how fast.
 *
 * It says all that a backend needs and points to nothing outside: only
 * ir_build() sees the policy.  Endpoints that are not here are in it if a
 * tunnel reaches them and they may have to do with one that is: their tenants
 * are the same, or a peering joins them.  Everything lives in one arena; names
 * and other strings may be those of the intent, which must outlive the
 * program.
 *
 * The program of the whole fabric, for a target that is told everything once
 * and spreads it by itself, has the same records: nobody is here, and all that
 * are bound are in it with their nodes, interfaces and uplinks, whether a
 * tunnel reaches them or not.  Its externals are attachments, called
 * "EXTERNAL:NODE", without parts, and no rule speaks of them. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "ir/place.h"
#include "openvswitch/types.h"
#include "sema/reason.h"
#include "sema/rule-kind.h"

struct claims;
struct diags;
struct ds;
struct policy;

VEC_TYPEDEF(ir_addresses, struct in6_addr);     /* IPv4 is IPv4-mapped. */

/* The addresses that begin as 'ip' does; the other bits of that are zero. */
struct ir_prefix {
    struct in6_addr ip;
    int plen;                   /* Of all 128 bits, for IPv4 too. */
};

VEC_TYPEDEF(ir_prefixes, struct ir_prefix);

struct ir_class {
    const char *name;
    struct ir_place place;
    uint8_t dscp;
    uint16_t queue;
    bool lossless;
    uint64_t buffer_bytes;      /* Of each port; 0: the NIC's choice. */
    uint64_t delay_bound_ns;    /* Of one queue; 0: none. */
    uint8_t dscp_in;            /* What comes with it keeps it; 0: none. */
    uint16_t queue_in;          /* Of that, and how much of it may pass of */
    uint64_t in_kbps, in_burst_bytes;   /* each tenant; see struct ir_cap. */
    bool legacy;                /* A VF in 'vfs' sends or gets in it. */
};

VEC_TYPEDEF(ir_numbers, uint32_t);
VEC_TYPEDEF(ir_names, const char *);

/* What Open vSwitch takes of the node for DPDK. */
struct ir_dpdk {
    const char *name;           /* The node's. */
    struct ir_place place;
    ir_numbers lcores;          /* CPUs; empty: Open vSwitch's choice. */
    ir_numbers pmd_cpus;        /* Never empty. */
    ir_numbers memory;          /* MiB, by NUMA node; empty: as it is used. */
};

/* A port that DPDK makes for an uplink, taken by a network or not, or for an
 * endpoint that is here: of a device, of a VF of it, or of a socket. */
struct ir_dpdk_port {
    const char *name;           /* "TENANT/ENDPOINT", or, without a slash,
                                 * the uplink's. */
    struct ir_place place;
    const char *interface;
    uint16_t mtu;               /* Payload of a frame, in bytes. */
    const char *device;         /* PCI address, or "vdev:NAME"; or... */
    bool representor;           /* Of 'vf' of that. */
    uint16_t vf;
    const char *socket;         /* ...the path for vhost-user. */
    uint16_t queues;            /* Of what it receives; 0: not said. */
    ir_numbers pmd_cpus;        /* That poll it and nothing else. */
};

/* A VF of an uplink's NIC in legacy mode, which is on no bridge: the NIC's own
 * switch joins it to what is in its VLAN. */
struct ir_vf {
    const char *name;           /* "TENANT/ENDPOINT". */
    struct ir_place place;
    const char *uplink;
    const char *interface;      /* The uplink's: its PF. */
    uint16_t vf, vlan;
    struct eth_addr mac;
    const struct ir_class *class;       /* Of all that it sends; NULL:
                                         * best-effort. */
    uint8_t queues;             /* That it may send in, a bit each... */
    uint8_t passes;             /* ...and what it gets has, too. */
    ir_names rules;             /* That are about it, and are not kept... */
    ir_names cut;               /* ...or allow only what its VLAN cuts off. */
    uint64_t max_mbps, min_mbps;        /* Of what it sends; 0: none. */
    struct ir_place uplink_place, vlan_place;   /* Who asks: for a limit... */
    struct ir_place rate_place, owed_place;     /* ...and a guarantee. */
};

/* An uplink of this node that networks take. */
struct ir_uplink {
    const char *name;
    struct ir_place place;
    const char *interface;
    uint64_t rate_kbps;         /* 0: not known, of a parsed program. */
};

/* A protocol and a range of destination ports; 0..0 is "any". */
struct ir_match {
    uint8_t protocol;           /* IPPROTO_*. */
    uint16_t first, last;
};
VEC_TYPEDEF(ir_matches, struct ir_match);

/* Symmetric services use one UDP port both ways, so their packets are
 * stateless, whichever service a rule names: each match is one port. */
struct ir_service {
    const char *name;
    struct ir_place place;
    bool symmetric;
    ir_matches matches;         /* Never empty. */
};

/* Numbers follow from names (sema/ident.h) and are unique on the node: where
 * the hashes of two names meet, the later one takes the next free number. */
struct ir_tenant {
    const char *name;
    struct ir_place place;
    uint32_t number;
    bool here;                  /* Has it endpoints on this node? */
    uint16_t zone;              /* Connection tracking; 0 if it is not here,
                                 * or if none was free: a backend refuses
                                 * that. */
    uint32_t packet_rate;       /* A second; 0: no limit. */
    uint32_t packet_burst;
    uint32_t upcall_rate;       /* A second; 0: no limit. */
    uint32_t upcall_burst;
    uint32_t connections;       /* That its zone holds, at most; 0: no
                                 * limit. */
    size_t n_endpoints;         /* In the program, at least 1. */
};

struct ir_network {
    const char *name;           /* "TENANT/NETWORK". */
    struct ir_place place;
    const struct ir_tenant *tenant;
    bool here;                  /* Has it endpoints on this node? */
    const char *uplink;         /* Of this node; NULL if it is not here. */
    uint32_t vni;
    uint16_t mtu;               /* Payload of a frame, in bytes. */
    bool fixed_mtu;             /* The intent says it, not the uplinks. */
    ir_prefixes subnets;        /* In a program of the fabric; else empty. */
    struct eth_addr gateway_mac;
    ir_addresses gateways;      /* Empty: nothing leaves or enters it. */
    bool dhcp;                  /* It names a DHCP server, here or not. */
    bool native_dhcp;           /* The fabric answers; not both. */
    ir_prefixes groups;         /* Multicast groups that it carries. */
};

/* What may pass of a tenant's traffic.  Each tenant that is here has one for
 * what it sends by each uplink that its networks here take, and perhaps one
 * for what its endpoints here in such networks get.  So has one that pays for
 * others, here or not, by each uplink that they take.  Endpoints here may have
 * their own before those.
 *
 * An uplink that tenants share (sema/tree.h) has one too, the parent of
 * theirs, which no packet passes: what it has is for who borrows.  Nor does
 * any pass that of a tenant that is split: those of its endpoints, or of its
 * classes, are below it, and one of all the others, the rest, each of which is
 * all that its packets pass; but not those that do not borrow, whose
 * guarantees are not the tenant's to share.  The limit of a tenant that is
 * below an uplink is kept by a tree of its own, in which all of these are a
 * second time. */
struct ir_meter {
    const char *name;           /* "TENANT/send:UPLINK", "TENANT/receive:",
                                 * "TENANT/ENDPOINT/send:", "send:UPLINK",
                                 * "TENANT/send:UPLINK/rest",
                                 * "TENANT/send:UPLINK/class/CLASS". */
    struct ir_place place;      /* Of the bandwidth, or of the tenant. */
    const struct ir_tenant *tenant;     /* NULL: the uplink's. */
    const struct ir_meter *parent;      /* The uplink's, or the tenant's, or
                                         * NULL. */
    const struct ir_node *node; /* In a program of the fabric, which has no
                                 * uplinks' and no parents; else NULL. */
    const char *uplink;
    const struct ir_endpoint *endpoint; /* NULL: all of the tenant... */
    const struct ir_class *class;       /* ...in this class, or in any. */
    bool receive;
    uint32_t number;            /* 0: the only one for what it sends. */
    uint32_t limit_number;      /* In the tree that keeps a tenant's limit;
                                 * 0: it is in none beside. */
    bool split;                 /* Among endpoints or classes? */
    uint64_t apart_kbps;        /* Of those that do not borrow. */
    uint64_t rate_kbps;         /* Frame bytes without FCS. */
    uint64_t burst_bytes;
    bool unlimited;             /* Rate and burst are the uplink's. */
    uint64_t guarantee_kbps;    /* 0: none. */
    uint16_t weight;            /* Of what it borrows; 0: not said. */
    bool no_borrow;
    bool microburst;            /* Has it a phantom queue?  If so: */
    uint32_t mark_bytes, depth_bytes, limit_bytes; /* 0: none. */
    uint8_t exceed;             /* What exceeds the rate; see
                                 * intent/exceed.h. */
};

/* What may pass of a tenant's packets, of all of its endpoints here together,
 * that keep the DSCP which their class lets in. */
struct ir_cap {
    const char *name;           /* "TENANT/dscp_in/CLASS". */
    struct ir_place place;      /* Of the class. */
    const struct ir_tenant *tenant;     /* Here. */
    const struct ir_class *class;       /* A rule of the tenant's has it. */
    uint32_t number;            /* As a meter's. */
};

/* What gives packets a tenant's tag that pass no meter of what anybody sends
 * here, in a program with 'telemetry'.  What endpoints get from outside is
 * among them, if a meter of what they get counts it. */
struct ir_tag {
    const char *name;           /* "TENANT/tag". */
    struct ir_place place;      /* Of the tenant. */
    const struct ir_tenant *tenant;
    uint32_t number;            /* As a meter's. */
    bool arrives;               /* What the tenant sends comes by tunnel... */
    bool pays;                  /* ...or what others send at its cost. */
};

/* Another node, behind a tunnel; in a program of the fabric, any node. */
struct ir_node {
    const char *name;
    struct ir_place place;
    uint32_t number;
    struct in6_addr address;    /* IPv4 is IPv4-mapped; zeros: none. */
    bool telemetry;             /* In a program of the fabric, as the
                                 * program's own in one of a node. */
};

/* Endpoints of a tenant that every rule of the node treats alike, so that
 * rules match groups and not each endpoint by itself: each endpoint by itself
 * until pass_group() merges them.  The number is that of the first endpoint by
 * name, or of its twin, and changes only with that one. */
struct ir_group {
    uint32_t number;
    const struct ir_endpoint *first;    /* By name. */
    size_t n_endpoints;
};

struct ir_endpoint {
    const char *name;           /* "TENANT/ENDPOINT". */
    struct ir_place place;
    size_t index;               /* In the program's endpoints. */
    uint32_t number;
    uint32_t twin;              /* The number of the first by name that all
                                 * rules of the policy treat as they do this
                                 * one, if that is not in the program: it may
                                 * be yet, and then has a group's name as
                                 * before; else 0. */
    const struct ir_group *group;
    const struct ir_tenant *tenant;
    const struct ir_network *network;
    const struct ir_node *node; /* NULL: it is here. */
    const char *interface;      /* NULL if it is not here... */
    const struct value *interface_at;   /* ...or, as in a parsed program, where
                                         * that is said is not known. */
    const char *said;           /* By the interface, and not by the intent, as
                                 * intent_endpoint has it; or NULL. */
    const char *uplink;         /* In a program of the fabric; else NULL. */
    struct eth_addr mac;
    ir_addresses addresses;     /* Never empty. */
    bool dhcp_server;           /* Its network's, which has 'dhcp'. */
};

VEC_TYPEDEF(ir_endpoint_vec, const struct ir_endpoint *);
VEC_TYPEDEF(ir_tenant_vec, const struct ir_tenant *);

/* What lies outside the fabric, behind a router at this node.  Addresses are
 * whose the longest prefix of all parts and holes says. */
struct ir_external {
    const char *name;
    struct ir_place place;      /* Of the attachment to this node. */
    uint32_t number;            /* As if it were a tenant. */
    uint32_t port;              /* As if it were an endpoint. */
    const char *interface;
    struct eth_addr mac, gateway_mac;   /* The router's, the node's. */
    ir_addresses gateways;      /* That the node answers for there. */
    ir_tenant_vec tenants;      /* That use it, and are here. */
    size_t n_parts;             /* In the program. */
};

/* Addresses of an external that every rule of the node treats alike. */
struct ir_part {
    const char *name;           /* "EXTERNAL/ADDRESS/PLEN", of the first. */
    size_t index;               /* In the program's parts. */
    const struct ir_external *external;
    uint32_t number;            /* As if it were a group. */
    ir_prefixes prefixes;       /* Never empty. */
};

/* One side of a rule: whole tenants and groups that do not overlap.  An
 * endpoint is on the side if its tenant or its group is. */
struct ir_side {
    ir_endpoint_vec endpoints;          /* Sorted by name. */
    VEC(const struct ir_part *) parts;  /* Sorted by index.  One of the two
                                         * is never empty. */
    VEC(const struct ir_tenant *) tenants;  /* All of each is on the side,
                                             * and is more than one. */
    VEC(const struct ir_group *) groups;    /* Of no such tenant. */
};

struct ir_rule {
    const char *name;           /* As that of a policy_rule. */
    struct ir_place place;
    uint64_t id;                /* 48 bits; see sema/ident.h. */
    enum rule_kind kind;
    uint32_t depth;             /* Of those that allow a packet the deepest
                                 * decides; see struct policy_rule. */
    struct ir_side from, to;
    bool from_every, to_every;  /* Of a guardrail: every endpoint of the
                                 * program, as of any other node's. */
    const struct ir_service *service;   /* NULL: any. */
    const struct ir_class *class;       /* NULL: best-effort. */
    bool replies;               /* Have tracked replies another class? */
    const struct ir_class *reply_class; /* If so. */
    bool stateless;             /* Both ways, round connection tracking. */
    bool charge_from, charge_to;        /* Of a peering: the tenants of the
                                         * side pay, both ways; not both. */
};


/* The node of a program of the fabric; no node's name. */
#define IR_FABRIC "(fabric)"

struct ir_prog {
    const char *node;
    struct ir_place place;      /* Of the node. */
    const char *encapsulation;  /* "geneve", "vxlan", or NULL: no tunnels. */
    struct in6_addr tunnel_address;     /* This node's. */
    bool telemetry;             /* Does what tenants send carry their tag? */
    bool several_files;         /* Is the intent in more than one? */
    VEC(struct ir_node *) peers;        /* As endpoints first use them. */
    VEC(struct ir_dpdk *) dpdk;             /* None, or one. */
    VEC(struct ir_uplink *) uplinks;        /* In the intent's order. */
    VEC(struct ir_class *) classes;         /* Used here or not. */
    VEC(struct ir_service *) services;      /* Used here or not. */
    VEC(struct ir_tenant *) tenants;        /* Sorted by name. */
    VEC(struct ir_external *) externals;    /* Sorted by name. */
    VEC(struct ir_part *) parts;            /* By external. */
    ir_prefixes holes;          /* Addresses that no part has although one
                                 * holds them. */
    VEC(struct ir_network *) networks;      /* As endpoints first use them. */
    VEC(struct ir_endpoint *) endpoints;    /* Sorted by tenant and name. */
    VEC(struct ir_meter *) meters;          /* The uplinks', then in the
                                             * tenants' order. */
    VEC(struct ir_cap *) caps;              /* By class. */
    VEC(struct ir_tag *) tags;              /* In the tenants' order. */
    VEC(struct ir_rule *) rules;            /* Sorted by name. */
    VEC(struct ir_dpdk_port *) dpdk_ports;  /* Uplinks', then endpoints'. */
    VEC(struct ir_vf *) vfs;    /* Of this node, by tenant and name. */
    ir_names unbound;           /* Endpoints whose binding is incomplete. */
    ir_names elsewhere;         /* Endpoints that would be in it if a tunnel
                                 * reached them. */
    ir_names cut_off;           /* "EXTERNAL:TENANT/ENDPOINT": here, and its
                                 * tenant uses an external that is not. */
    struct claims *claims;      /* What it takes; NULL if it was parsed. */
};

/* Is it the program of the whole fabric? */
bool ir_is_fabric(const struct ir_prog *);

/* Builds the program of the node called 'node', in the arena; NULL if the
 * policy does not know it.  If 'node' is NULL, that of the whole fabric. */
struct ir_prog *ir_build(const struct policy *, const char *node,
                         struct arena *);

/* Appends the program as text, a record a line, "OP NAME KEYWORD VALUE..." as
 * ops.def lists them. */
void ir_print(const struct ir_prog *, struct ds *);

/* Parses what ir_print() prints; lines that begin with '#' are comments.
 * Returns NULL after adding an error to 'diags' if it is not the text of a
 * valid program. */
struct ir_prog *ir_parse(const struct source *, struct arena *,
                         struct diags *);

/* Is this a program that backends can rely on: every value in its range,
 * every reference to a record of the program, everything once that must be,
 * and in order?  If not, adds errors to 'diags' about the first record that
 * is wrong. */
bool ir_validate(const struct ir_prog *, struct diags *);

/* Who pays for packets, by which uplink of the node. */
struct ir_account {
    const struct ir_tenant *tenant;
    const char *uplink;
};

/* The tenant of the network, which is here, by the uplink of that. */
struct ir_account ir_account_of(const struct ir_network *);

/* The meter of what is sent or received so, but for endpoints and classes that
 * have their own; NULL if there is none.  ir_validate() sees to it that each
 * network here has one to send, and each tenant that pays for it. */
const struct ir_meter *ir_find_meter(const struct ir_prog *,
                                     struct ir_account, bool receive);

/* The uplink of this name, or NULL: a program that was parsed may lack it. */
const struct ir_uplink *ir_find_uplink(const struct ir_prog *,
                                       const char *name);

/* The class of this name, or NULL. */
struct ir_class *ir_find_class(const struct ir_prog *, const char *name);

/* Has a rule the class? */
bool ir_uses_class(const struct ir_prog *, const struct ir_class *);

/* Has the uplink of this name VFs in legacy mode? */
bool ir_has_vfs(const struct ir_prog *, const char *uplink);

/* Has the endpoint an address of IPv6? */
bool ir_has_ip6(const struct ir_endpoint *);

/* The meter of all of the tenant of 'meter', in its direction and by its
 * uplink, that is split; NULL if none is. */
const struct ir_meter *ir_find_split(const struct ir_prog *,
                                     const struct ir_meter *meter);

/* Of all of a tenant that is split, is it what no other of its meters has? */
bool ir_meter_is_rest(const struct ir_meter *);

/* Is it all that its packets pass in its direction? */
bool ir_meter_is_alone(const struct ir_meter *);

/* Is it of what is sent or received so? */
bool ir_meter_is_of(const struct ir_meter *, struct ir_account, bool receive);

/* That of what it sends or receives in a class, if that has its own; else
 * NULL. */
const struct ir_meter *ir_class_meter(const struct ir_prog *,
                                      struct ir_account,
                                      const struct ir_class *, bool receive);

/* The meter of what the endpoint itself sends or receives, or NULL. */
const struct ir_meter *ir_own_meter(const struct ir_prog *,
                                    const struct ir_endpoint *, bool receive);

/* The sides of a rule of which one pays for what goes to and from the other;
 * 'payers' is NULL if nobody pays for others. */
struct ir_charge {
    const ir_endpoint_vec *payers, *others;
};
struct ir_charge ir_charge_of(const struct ir_rule *);

/* The room behind ir_build() that says which endpoints may have to do with
 * 'node': an element an endpoint, by its index in the policy. */
bool *ir_concerned(const struct policy *, const char *node, struct arena *);

/* Endpoints of one tenant that stand together on a side. */
struct ir_run {
    const struct ir_endpoint *const *v;
    size_t n;
};

/* The run of 'endpoints' that begins at 'i'. */
struct ir_run ir_run_at(const ir_endpoint_vec *endpoints, size_t i);

/* Is the run all of a tenant?  One endpoint is a group like any other. */
bool ir_run_is_whole(const struct ir_run *);

/* Is it a rule of the tenant, as its name says? */
bool ir_rule_is_of(const struct ir_rule *, const struct ir_tenant *);

/* Gives the sides of rules their tenants and groups, which follow from their
 * endpoints' groups. */
void ir_name_sides(struct ir_prog *, struct arena *);

#endif /* ir/ir.h */
