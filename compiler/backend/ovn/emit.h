/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_OVN_EMIT_H
#define BACKEND_OVN_EMIT_H 1

/* The rooms behind ovn_backend.
 *
 * OVN's ACLs know the port at hand and addresses, no endpoints.  So a rule is
 * said twice: where it enters, of the sender's port and the receiver's
 * address, and where it leaves, of the receiver's port and the sender's
 * address.  An address tells who is meant only among those whom a tenant
 * reaches: its own endpoints, and those of others that peerings join with its
 * own.  Tenants apart may have the same addresses, and no route leads from one
 * to the other. */

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "ir/ir.h"
#include "openvswitch/hmap.h"
#include "openvswitch/shash.h"
#include "plan/plan.h"
#include "plan/row.h"
#include "sema/northbound.h"

extern const struct lost_meters ovn_meters;

/* Formats into the arena of an emitter. */
#define FORMAT(E, ...) arena_printf((E)->plan->arena, __VA_ARGS__)

/* Endpoints that a Port_Group holds; OVN itself keeps the Address_Sets of
 * their addresses, $NAME_ip4 and $NAME_ip6. */
struct ovn_group {
    struct hmap_node node;      /* By what it is of, in the emitter's. */
    const void *of;             /* A tenant or a group of the program. */
    const struct ir_tenant *tenant;
    const char *name;           /* Of the Port_Group, ... */
    struct plan_row *row;       /* ... which is there once it is used. */
    ir_endpoint_vec endpoints;
    bool ip4, ip6;              /* Has one such an address? */
    size_t index;               /* Among the groups, in their order. */
};
VEC_TYPEDEF(ovn_groups, struct ovn_group *);

struct ovn_tenant {
    const struct ir_tenant *tenant;
    struct ovn_group *all;
    size_t first, n;            /* Its groups. */
    bool *joined;               /* By index: groups of others that a peering
                                 * joins with one of its own; NULL: none. */
};

struct emitter {
    const struct ir_prog *prog;
    struct plan *plan;
    struct hmap by_origin;      /* Of ovn_groups. */
    ovn_groups groups;          /* One a group, by tenant. */
    VEC(struct ovn_tenant) tenants;     /* As the program's. */
    struct shash switches;      /* By name of the network: plan_row. */
    struct shash routers;       /* By name of the tenant: plan_row. */
    struct shash address_sets;  /* By name: plan_row. */
    struct plan_row **ports;    /* By index of the endpoint. */
    struct plan_row *everybody; /* The Port_Group of all. */
    const char *symmetric;      /* "{1000, 4791}", or NULL. */
    bool logs;                  /* Is the meter of logs there? */
};

/* The order of decision (docs/intents.md, "Who decides").  Anti-spoofing is
 * port_security's.  What answers a connection, or is an error about it, passes
 * before all of these, as long as the packets of who opened it do. */
enum ovn_priority {
    PRIORITY_DHCP = NB_PRIORITY_DHCP,   /* That is all right. */
    PRIORITY_FORBIDDEN = NB_PRIORITY_FORBIDDEN,
    PRIORITY_DENY = 2000,       /* Guardrails' too: both drop. */
    PRIORITY_ALLOW = 1000,      /* Peerings' too; and twice the depth. */
    PRIORITY_DEFAULT = 900,
    PRIORITY_NEIGHBOR = 100,
    PRIORITY_UNTRACKED_DROP = 3,
    PRIORITY_UNTRACKED = NB_PRIORITY_UNTRACKED,
    PRIORITY_DROP = 1,
    PRIORITY_CLOSED = 0,        /* Nothing gets so far. */
};

/* reach.c */

/* Finds the groups and who is joined with whom. */
void ovn_find_groups(struct emitter *);

struct ovn_group *ovn_group_of(const struct emitter *,
                               const struct ir_endpoint *);

/* The tenant's place in 'e->tenants'. */
struct ovn_tenant *ovn_tenant(struct emitter *, const struct ir_tenant *);

/* Does the tenant reach the group? */
bool ovn_reaches(const struct ovn_tenant *, const struct ovn_group *);

/* One of a rule's sides as groups, in their order. */
struct ovn_side {
    const struct ir_rule *rule;
    const char *name;           /* "from" or "to". */
    ovn_groups groups;
};
struct ovn_side ovn_from(struct emitter *, const struct ir_rule *);
struct ovn_side ovn_to(struct emitter *, const struct ir_rule *);

/* Pairs of the groups of two sides that reach each other: 'near' with each of
 * 'far'.  A switch knows the Port_Groups of its own ports only, so an
 * expression for it names one. */
struct ovn_product {
    struct ovn_group *near;
    ovn_groups far;
    const struct ovn_side *side;        /* That 'far' is of. */
};
VEC_TYPEDEF(ovn_products, struct ovn_product);
ovn_products ovn_pair(struct emitter *, const struct ovn_side *near,
                      const struct ovn_side *far);

/* match.c: expressions of OVN, see ovn-sb(5). */

enum ovn_direction {
    OVN_FROM,                   /* As the packet enters; near are senders. */
    OVN_TO,                     /* As it leaves; near are receivers. */
};
const char *ovn_direction_name(enum ovn_direction);

/* Packets of the product in this direction that match 'service'.  Its groups
 * get their Port_Groups, or many of them one Address_Set. */
const char *ovn_match(struct emitter *, const struct ovn_product *,
                      enum ovn_direction, const char *service);

/* What a service matches of what is tracked, or of replies to it; NULL if it
 * is symmetric. */
const char *ovn_match_tracked(struct emitter *, const struct ir_service *,
                              bool reply);

/* The ports of symmetric services that 'service' has, or NULL. */
const char *ovn_match_stateless(struct emitter *, const struct ir_service *);

/* Of all symmetric services, as a set; NULL if there are none. */
const char *ovn_symmetric_ports(struct emitter *);

/* Gives the group its Port_Group, if it has none. */
struct plan_row *ovn_port_group(struct emitter *, struct ovn_group *);

/* acl.c: at the ports of a group, of which 'match' says the rest. */
struct plan_row *ovn_add_group_acl(struct emitter *, const char *id,
                                   const char *name, struct ovn_group *,
                                   enum ovn_direction, int priority,
                                   const char *match, const char *action);

/* Writes into the row which rule it is of. */
void ovn_name_rule(struct emitter *, struct plan_row *,
                   const struct ir_rule *);

/* A name that OVN's expressions take, and no other thing gets. */
const char *ovn_mangle(struct emitter *, const char *prefix,
                       const char *name);

/* Refers from each switch that has ports of these endpoints to the row. */
void ovn_add_to_switches(struct emitter *, const ir_endpoint_vec *,
                         const char *column, const struct plan_row *);

/* topology.c: "10.1.0.10". */
const char *ovn_address_string(struct emitter *, const struct in6_addr *);
const char *ovn_mac_string(struct emitter *, struct eth_addr);
bool ovn_subnet_holds(const struct ir_prefix *, const struct in6_addr *);

/* The router sends what is for 'ip' to 'nexthop', by its port. */
void ovn_add_route(struct emitter *, struct plan_row *router,
                   const char *port, const struct in6_addr *ip,
                   const char *nexthop);

/* gateway.c: the routers, with a port for each network that has gateways. */
void ovn_add_routers(struct emitter *);

/* The first gateway in the subnet, or NULL. */
const struct in6_addr *ovn_find_gateway(const struct ir_network *,
                                        const struct ir_prefix *subnet);

/* control.c */

/* Has ovn-controller log what the ACL drops. */
void ovn_log(struct emitter *, struct plan_row *acl, const char *severity);

/* dhcp.c: can OVN answer where it is to? */
void ovn_check_dhcp(const struct ir_prog *, struct diags *);

/* check.c */
bool ovn_check(const struct ir_prog *, const struct backend_caps *,
               struct diags *);

/* One file each. */
void emit_topology(struct emitter *);
void emit_acls(struct emitter *);
void emit_dhcp_options(struct emitter *);
void emit_qos_rows(struct emitter *);
void emit_control(struct emitter *);

#endif /* backend/ovn/emit.h */
