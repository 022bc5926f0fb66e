/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_NORTHBOUND_H
#define SEMA_NORTHBOUND_H 1

/* What Bulkhead writes into its rows in OVN's northbound database, for who
 * writes them and for who reads them: first keys of "external_ids". */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct arena;
struct ds;

#define NB_MARK_KEY "bulkhead"
#define NB_MARK "b17d"                  /* As COOKIE_MARK. */
#define NB_ID_KEY "bulkhead-id"         /* Unique in the table. */

#define NB_RULE_KEY "bulkhead-rule"     /* Of an ACL: the rule's name... */
#define NB_COOKIE_KEY "bulkhead-cookie" /* ...and its cookie. */
#define NB_SUBNETS_KEY "bulkhead-subnets"       /* Of a switch. */
#define NB_MTU_KEY "bulkhead-mtu"       /* The same, if the intent says it. */
#define NB_BURST_KEY "bulkhead-burst"   /* Of nb_burst_string(). */
#define NB_UPLINK_LIMIT_KEY "bulkhead-uplink-limit"     /* Of QoS: the tenant
                                 * has none of its own; the row's rate, a
                                 * slash, and its burst. */
#define NB_INTERFACE_KEY "bulkhead-interface"   /* Of a port... */
#define NB_UPLINK_KEY "bulkhead-uplink" /* ...and the uplink that it takes. */

/* What a Copp of ours limits by one Meter: all kinds of ovn-nb(5) but for
 * "bfd", which is no tenant's. */
enum { NB_N_CONTROL_KINDS = 16 };
extern const char *const nb_control_kinds[NB_N_CONTROL_KINDS];

/* Before a tenant's name in the id of its Copp, and of the Meter of that. */
#define NB_CONTROL_ID "control "

/* Before a network's name, and a space, in the ids of what is for its DHCP. */
#define NB_DHCP_ID "dhcp "

/* The kinds of its Port_Group and its Address_Set, in nb_mangle(). */
#define NB_DHCP_GROUP "dhcp"
#define NB_LEASES "lease"

/* What "bulkhead apply" adds: the generation in which it last wrote the row;
 * in the Port_Group of all endpoints, that of the database. */
#define NB_VERSION_KEY "bulkhead-version"
#define NB_EVERYBODY "bulkhead"         /* The Port_Group's id. */

/* Priorities of ACLs; the others are of backend/ovn alone. */
enum {
    NB_PRIORITY_DHCP = 3001,
    NB_PRIORITY_FORBIDDEN = 3000,
    NB_PRIORITY_UNTRACKED = 2,
};

/* A name that OVN's expressions take, and no other thing gets, of letters,
 * digits and ". - _ / :"; of the arena. */
const char *nb_mangle(struct arena *, const char *prefix, const char *name);

/* A network whose DHCP is native. */
struct nb_dhcp {
    const char *network;        /* "TENANT/NETWORK". */
    const char *renewals;       /* Of nb_add_renewal(); NULL: nobody has an
                                 * IPv4 address. */
    const char *server_mac;
    bool ip6;                   /* Has anybody an IPv6 address? */
};

/* Adds a subnet in which somebody has an address, in the network's order. */
void nb_add_renewal(struct ds *, const char *cidr, const char *gateway);

/* The burst that was asked for, where the row's is another, in units of its
 * own: the least that a meter can have, or rounded.  Of the arena. */
const char *nb_burst_string(struct arena *, uint64_t asked, uint64_t row);

/* Reads that back.  False if 's' says none, as NULL does, or none from 'least'
 * to 'most', or speaks of another burst than the row's, which somebody has
 * changed since. */
bool nb_burst_parse(const char *s, uint64_t row, uint64_t least, uint64_t most,
                    uint64_t *asked);

struct nb_acl {
    const char *name;
    const char *match;          /* What follows the ports. */
    const char *action;
    int priority;
    bool to_lport;
};
VEC_TYPEDEF(nb_acls, struct nb_acl);

/* Those at the ports of the network's Port_Group; of the arena. */
nb_acls nb_dhcp_acls(struct arena *, const struct nb_dhcp *);

#endif /* sema/northbound.h */
