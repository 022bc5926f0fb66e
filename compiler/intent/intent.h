/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef INTENT_INTENT_H
#define INTENT_INTENT_H 1

/* An intent as it is written: JSON text decoded into C, member by member,
 * every value with its place.  Names are not resolved here; see sema/.
 *
 * Everything lives in the arena given to intent_parse(). */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/source.h"
#include "base/vec.h"
#include "intent/value.h"
#include "openvswitch/types.h"

struct ds;
struct intent_file;

/* A name or other string and its place.  's' is NULL where it is absent. */
struct text {
    const char *s;
    const struct value *at;
};

/* A quantity in its base unit and its place; 'at' is NULL where absent. */
struct quantity {
    uint64_t n;                 /* bits per second, bytes, packets per
                                 * second, packets, or nanoseconds. */
    const struct value *at;
};

/* IPv4 addresses are IPv4-mapped, as in Open vSwitch's in6_addr helpers.
 * 'plen' counts from the start of the 128 bits: 128 for one address. */
struct address {
    struct in6_addr ip;
    int plen;
    const struct value *at;
};

/* Bytes of payload in a frame, and their place; 'at' is NULL where absent. */
struct mtu {
    uint16_t n;
    const struct value *at;
};

/* A whole number and its place; 'at' is NULL where absent. */
struct number {
    uint16_t n;
    const struct value *at;
};

VEC_TYPEDEF(text_vec, struct text);
VEC_TYPEDEF(number_vec, struct number);
VEC_TYPEDEF(address_vec, struct address);

/* The plane of uplinks that name none. */
#define INTENT_CONVERGED "converged"

/* What is in front of the name of a device that is no hardware. */
#define INTENT_VDEV "vdev:"

struct intent_uplink {
    struct text name, interface;
    struct text plane;          /* Absent: "converged". */
    struct quantity rate, burst;
    struct quantity buffer;     /* Of the port that it ends at. */
    struct mtu mtu;
    struct text device;         /* Of DPDK: PCI address or "vdev:NAME";
                                 * absent: a port of the system.  If so: */
    struct number queues;       /* Of what it receives. */
    number_vec pmd_cpus;        /* Which poll it and nothing else; empty:
                                 * Open vSwitch chooses. */
};

/* Its plane, INTENT_CONVERGED if it names none. */
static inline const char *
intent_plane(const struct intent_uplink *uplink)
{
    return uplink->plane.s ? uplink->plane.s : INTENT_CONVERGED;
}

/* Of one NUMA node. */
struct intent_memory {
    uint16_t numa;
    struct quantity size;
};

/* What Open vSwitch takes of a node for DPDK. */
struct intent_dpdk {
    const struct value *at;     /* NULL if it takes nothing. */
    number_vec lcores;          /* Of all that polls no ports. */
    number_vec pmd_cpus;        /* Not empty. */
    VEC(struct intent_memory) memory;
    struct text vhost_sockets;  /* A folder; absent: the usual one. */
};

struct intent_node {
    struct text name;
    bool dpu;                   /* Enforced by a DPU, not by the host? */
    struct address tunnel;      /* 'at' is NULL if it has no tunnels. */
    const struct value *telemetry;      /* NULL if it counts none. */
    struct intent_dpdk dpdk;
    VEC(struct intent_uplink) uplinks;
};

/* What packets of a class may keep that come with this DSCP. */
struct intent_dscp_in {
    const struct value *at;     /* NULL if there is nothing. */
    uint8_t dscp;               /* 1..63; not the class's. */
    uint16_t queue;
    struct quantity limit, burst;       /* Of a tenant on a node. */
};

struct intent_class {
    struct text name;
    uint8_t dscp;               /* 0..63. */
    uint16_t queue;
    struct intent_dscp_in dscp_in;
    const struct value *lossless;       /* NULL if it is not. */
    struct quantity buffer;     /* Of each port, for what it receives. */
    struct quantity delay_bound;
};

struct port_range {
    uint16_t first, last;       /* Inclusive, 1..65535. */
};

struct intent_service {
    struct text name;
    uint8_t protocol;           /* Of IP. */
    VEC(struct port_range) ports;       /* Of TCP and UDP, one at least. */
};

/* The one of those, which are sorted, that is 's', or NULL; is there one? */
const struct text *texts_find(const text_vec *sorted, const char *s);
bool texts_hold(const text_vec *sorted, const char *s);

/* A label, and the values of which one is wanted, sorted. */
struct intent_label {
    struct text name;
    text_vec values;
};

struct intent_selector;
VEC_TYPEDEF(selector_vec, struct intent_selector);  /* Alternatives OR. */

/* One alternative of a selector: its members AND.  Those that are lists name
 * one thing or several, of which any will do, sorted; empty: any. */
struct intent_selector {
    const struct value *at;
    struct text tenant;
    text_vec networks, endpoints;
    VEC(struct intent_label) labels;
    struct text external;       /* If present no endpoint is meant, but its
                                 * addresses in 'cidrs'. */
    address_vec cidrs;
    selector_vec except;
};

struct intent_rule {
    struct text name;
    bool deny;
    selector_vec from, to;
    struct text service, class; /* Absent: any service; best-effort. */
    struct text reply_class;    /* Absent: that of what is replied to. */
    struct text require;        /* "psp" or "ipsec": instead of a service. */
    bool imposed;               /* A peering that needs no consent. */
    struct text charge;         /* "from" or "to": the side of a peering that
                                 * pays; absent: who sends. */
    const struct value *stateless;      /* NULL: it is tracked. */
};

struct intent_network {
    struct text name;
    uint32_t vni;
    const struct value *vni_at;
    address_vec subnets, gateways;
    struct mtu mtu;
    struct number vlan;         /* Of its legacy VFs. */
    struct text plane, uplink;  /* Not both; absent: a node's only one. */
    struct text dhcp_server;    /* The name of an endpoint. */
    const struct value *native_dhcp;    /* The fabric itself answers; NULL: it
                                         * does not. */
    address_vec groups;         /* Multicast groups that it carries. */
};

/* What may pass in one direction. */
struct intent_bandwidth {
    struct quantity limit, burst;       /* Both, or neither. */
    struct quantity guarantee;
    uint16_t weight;            /* Of what it borrows; 1..1000. */
    const struct value *weight_at;      /* NULL: 1. */
    const struct value *no_borrow;      /* NULL: it borrows. */
    VEC(struct intent_part) parts;      /* Of a tenant's: by class. */
};

/* What may pass of a class. */
struct intent_part {
    struct text class;
    struct intent_bandwidth bandwidth;
};

/* What makes the interface of an endpoint: somebody else; DPDK, for a VF; or
 * DPDK, for a virtual machine's vhost-user; or it is a VF of a NIC in legacy
 * mode, without an interface on the bridge. */
#define INTENT_SYSTEM "system"
#define INTENT_REPRESENTOR "representor"
#define INTENT_VHOST "vhost-user"
#define INTENT_LEGACY "legacy-vf"

struct intent_endpoint {
    struct text name, network, node, interface, mac_text;
    struct text port;           /* INTENT_SYSTEM or another; absent: that. */
    struct number vf;           /* Of a representor, or in legacy mode. */
    struct eth_addr mac;
    text_vec label_names, label_values;
    address_vec addresses;
    struct intent_bandwidth send, receive;
    const char *said;           /* What it has from its interface and not from
                                 * the intent, as attached_said() (see
                                 * push/attached.h) has it; NULL: nothing. */
};

/* What becomes of bursts; see "microburst" in docs/intents.md. */
struct intent_microburst {
    struct quantity depth, mark, limit;
    uint8_t exceed;             /* What exceeds the bandwidth; see
                                 * intent/exceed.h. */
    const struct value *at;     /* NULL if there is none. */
};

/* Where a node reaches an external: a router behind an interface. */
struct intent_attachment {
    struct text node, interface;
    struct text mac_text, gateway_mac_text;     /* The latter may be absent. */
    struct eth_addr mac, gateway_mac;           /* Router's, node's. */
    address_vec gateways;       /* That the node answers for. */
};

/* What lies outside the fabric. */
struct intent_external {
    struct text name;
    address_vec addresses, excepts;     /* Ranges. */
    text_vec tenants;           /* That may use it; "*": all. */
    VEC(struct intent_attachment) attachments;
};

struct intent_tenant {
    struct text name;
    const struct value *bare_metal;     /* It owns its hosts; NULL if not. */
    bool default_allow;
    text_vec peers;
    struct intent_bandwidth send, receive;
    struct intent_microburst microburst;
    struct quantity packet_rate, packet_burst;
    struct quantity upcall_rate, upcall_burst;
    uint32_t connections;       /* That are tracked, at most; 0: no limit. */
    VEC(struct intent_network) networks;
    VEC(struct intent_endpoint) endpoints;
    VEC(struct intent_rule) rules;
};

struct intent {
    VEC(const struct value *) roots;    /* The whole of each file. */
    struct text encapsulation;  /* "geneve" or "vxlan"; absent: none. */
    VEC(struct intent_node) nodes;
    VEC(struct intent_class) classes;
    VEC(struct intent_service) services;
    VEC(struct intent_tenant) tenants;
    VEC(struct intent_rule) peerings;
    VEC(struct intent_rule) guardrails;
    VEC(struct intent_external) externals;
    VEC(struct intent_endpoint) bindings;   /* Called "TENANT/ENDPOINT"; each
                                             * is joined to its endpoint. */
    const struct intent_endpoint **bindings_by_name;    /* Sorted; of the
                                                         * whole only. */
};

/* Decodes the 'n' files of an intent.  Returns NULL after adding at least one
 * error to 'diags' if one of them is wrong, or all are no intent together. */
const struct intent *intent_parse_files(const struct intent_file *, size_t n,
                                        struct arena *, struct diags *);

/* The same for one file, which may define everything. */
const struct intent *intent_parse(const struct source *, struct arena *,
                                  struct diags *);

/* Decodes one file of an intent, whatever there is in others. */
const struct intent *intent_parse_part(const struct source *, struct arena *,
                                       struct diags *);

/* Decodes a file of tenants that take the place of those in 'rest', whose
 * bindings they have; that must outlive them.  Nothing is checked against
 * 'rest', and what the file defines beside is left alone. */
const struct intent *intent_parse_tenants(const struct intent_file *,
                                          const struct intent *rest,
                                          struct arena *, struct diags *);

/* The bindings of a whole intent that are called "TENANT/...", stored as '*n'
 * in the order of their names.  They are the intent's. */
const struct intent_endpoint *const *intent_bindings_of(
    const struct intent *, const char *tenant, size_t *n);

/* Appends 'intent' as JSON, all of its files as one, in one layout: members in
 * the order of the language, and names in that of the alphabet.  Numbers,
 * lists, comments and strings are as they were written. */
void intent_print(const struct intent *, struct ds *);

/* The same in parts: calls 'visit' for the text of each tenant, with its name;
 * of each binding, with "TENANT/ENDPOINT"; and of all else, with NULL. */
typedef void intent_visit_part(void *aux, const char *name, const char *text,
                               size_t n);
void intent_print_parts(const struct intent *, intent_visit_part *,
                        void *aux);

#endif /* intent/intent.h */
