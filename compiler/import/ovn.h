/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IMPORT_OVN_H
#define IMPORT_OVN_H 1

/* Between the steps of import_ovn():
 *
 *     ovn-table.c     texts -> rows and columns
 *     ovn-topology.c  switches, routers, ports -> tenants, networks, addresses
 *     ovn-nexthop.c   a static route -> the router that it leads to
 *     ovn-reach.c     routes -> which tenants reach whom
 *     ovn-set.c, ovn-service.c  sets of addresses, and of ports
 *     ovn-match.c, ovn-field.c  match -> boxes
 *     ovn-symbol.c    what OVN takes as a match
 *     ovn-acl.c       ACLs -> what each direction allows and denies
 *     ovn-families.c  ACLs of one family -> of both
 *     ovn-rules.c     both directions -> relations of endpoints
 *     ovn-emit.c      relations as rules, peerings and guardrails
 *     ovn-qos.c       classes and bandwidth
 *     ovn-write.c     the intent as JSON
 *
 * A packet passes in OVN if the ACLs of its sender's port let it out
 * ("from-lport") and those of its receiver's let it in ("to-lport"); of each
 * the first by priority decides, and where none speaks it passes.  All is
 * computed over the addresses of endpoints, as bitmaps. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "import/ranges.h"
#include "intent/intent.h"
#include "intent/value.h"
#include "openvswitch/compiler.h"
#include "openvswitch/shash.h"
#include "sema/northbound.h"

struct json;
struct sset;

enum { OVN_MAX_WORK = 2 * 1000 * 1000 * 1000 };  /* Words of bitmaps. */
#define OVN_MAX_MEMORY ((size_t) 2 << 30)       /* In bytes. */

struct ovn_table;

struct ovn_row {
    const struct ovn_table *table;
    const struct value *cells;
};

struct ovn_table {
    const char *name;
    const struct value *headings;
    VEC(struct ovn_row) rows;
    struct shash by_uuid, by_name;      /* To struct ovn_row. */
};

VEC_TYPEDEF(ovn_row_vec, const struct ovn_row *);
VEC_TYPEDEF(ovn_names, const char *);
typedef unsigned long *ovn_set;         /* A bitmap of addresses. */

/* What of IP: the parts OR.  Ranges are in order, and do not touch. */
struct ovn_service {
    bool any;                   /* All of it; then nothing else counts. */
    bool icmp;
    port_ranges tcp, udp;
    port_ranges others;         /* Numbers of other protocols. */
};

/* Packets from addresses to others, of a service: what an alternative of a
 * match says. */
struct ovn_box {
    ovn_set from, to;           /* NULL: every address. */
    struct ovn_service dst, src;        /* By destination and source port. */
    bool at_port;               /* Says at which port, inport or outport. */
    ovn_set at_router;          /* If not NULL: at ports to routers only, of
                                 * switches that have these addresses. */
    bool local;                 /* To-lport, by inport: from 'from' at the same
                                 * switch. */
    bool vague;                 /* It is narrower, which cannot be said. */
    bool forbidden;             /* No intent lets it pass. */
    bool fragment;              /* Later fragments, too. */
    bool established;           /* By ct.est, ... */
    bool forward, reply;        /* ... and by ct.rpl. */
    bool deny;                  /* Dropped, and nothing above allows it. */
    bool stateless;
    bool back;                  /* The other way, of a rule of ours. */
};
VEC_TYPEDEF(ovn_boxes, struct ovn_box);

/* What "@NAME" or "$NAME" is. */
struct ovn_named {
    ovn_set set;
    ovn_set routers;            /* Addresses at the switches of those that
                                 * are ports to routers; NULL: none. */
    ovn_set at;                 /* Addresses at the switches that have a port
                                 * of a group. */
    unsigned int width;         /* Bits of an address; 0 if there is none. */
    bool missing;               /* There is none, or nobody understands it. */
};

struct ovn_router {
    const struct ovn_row *row;
    const char *name;
    struct ovn_tenant *tenant;  /* NULL: no switch is at it. */
    ovn_row_vec ports;
};

struct ovn_tenant {
    const char *name;
    struct ovn_router *router;  /* NULL: none. */
    ovn_set own;                /* Its endpoints' addresses, ... */
    ovn_set reach;              /* ... those, and others' that it reaches. */
    struct sset *names;         /* Of its endpoints and networks. */
};

struct ovn_switch {
    const struct ovn_row *row;
    const char *name;           /* Of the network. */
    bool ours;                  /* Bulkhead wrote it. */
    struct ovn_tenant *tenant;
    struct ovn_router *router;
    ovn_row_vec gateways;       /* Logical_Router_Ports. */
    size_t n_endpoints;
    ovn_set own;                /* Its endpoints' addresses. */
    bool native_dhcp;           /* Has an endpoint options of ours? */
    nb_acls dhcp_acls;          /* Those that Bulkhead writes then. */
};

struct ovn_endpoint {
    const struct ovn_row *row;
    const char *name;
    struct ovn_switch *at;
    const char *mac;
    size_t first, n;            /* Its addresses, in the model's. */
};

struct ovn_address {
    struct in6_addr ip;
    size_t endpoint;
};

enum ovn_action { OVN_DROP, OVN_ALLOW, OVN_STATELESS };

struct ovn_acl {
    const struct ovn_row *row;
    const char *rule;           /* Of a row of ours: "TENANT/RULE"; NULL. */
    const char *name;
    bool to_lport;
    int64_t priority;
    enum ovn_action action;
    VEC(const struct ovn_switch *) switches;    /* That it is for. */
    ovn_set at;                 /* Addresses there. */
    ovn_boxes boxes;
};

/* Endpoints of both sides, as bitmaps. */
struct ovn_pair {
    unsigned long *from, *to;
};
VEC_TYPEDEF(ovn_pairs, struct ovn_pair);

/* What rules of the intent come from. */
struct ovn_origin {
    const char *rule;           /* As that of an ACL. */
    const char *name;
    const struct ovn_row *row;
    bool deny;
    ovn_boxes boxes;
};

struct ovn {
    struct arena *arena;
    struct diags *diags;
    struct shash tables;        /* To struct ovn_table. */
    const struct value *fabric; /* That the operator gave, or NULL. */
    struct shash routers;       /* By UUID. */
    VEC(struct ovn_tenant *) tenants;
    struct shash by_name;       /* Tenants. */
    VEC(struct ovn_switch *) switches;
    VEC(struct ovn_endpoint) endpoints;
    VEC(struct ovn_address) addresses;
    size_t n;                   /* Of addresses. */
    ovn_set ip4, ip6;           /* Of each family. */
    struct shash ports;         /* OVN's name -> index + 1 of an endpoint, */
    struct shash at;            /* -> struct ovn_switch. */
    struct shash sets;          /* "$NAME" or "@NAME" -> ovn_named. */
    VEC(struct ovn_acl *) acls; /* By priority, the highest first. */
    ovn_set open[2];            /* Without ACL, what of whom passes:
                                 * from-lport, to-lport. */
    bool default_drop;          /* NB_Global says so. */
    struct shash marks;         /* By rule: struct ovn_marks. */
    VEC(struct ovn_limit *) limits;
    struct json *services, *classes, *peerings, *guardrails;
    struct shash rules;         /* By tenant: JSON lists. */
    struct sset *defaults;      /* Tenants that say "allow". */
    struct sset *names;         /* "SCOPE NAME" of all rules. */
    struct sset *gaps;          /* UUIDs of rows that leave families out. */
    size_t work;
};

/* ovn-table.c.  All text is hostile. */
bool ovn_read_tables(struct ovn *, const struct source *);
bool ovn_check_tables(struct ovn *);
const struct ovn_table *ovn_table(const struct ovn *, const char *name);
void ovn_error(struct ovn *, const struct ovn_row *, const char *remedy,
               const char *cause, ...) OVS_PRINTF_FORMAT(4, 5);
void ovn_warn(struct ovn *, const struct ovn_row *, const char *remedy,
              const char *cause, ...) OVS_PRINTF_FORMAT(4, 5);

/* The atoms of a column, of which an absent one has none; a string, the empty
 * one if it has none; and what a map has for a key, or NULL. */
value_vec ovn_atoms(struct ovn *, const struct ovn_row *, const char *column);
const char *ovn_string(struct ovn *, const struct ovn_row *,
                       const char *column);
const char *ovn_key(struct ovn *, const struct ovn_row *, const char *column,
                    const char *key);
int64_t ovn_number(struct ovn *, const struct ovn_row *, const char *column,
                   const char *key, int64_t otherwise);

/* The rows that a column refers to, and those that are called 'name'. */
ovn_row_vec ovn_refs(struct ovn *, const struct ovn_row *,
                     const char *column, const char *table);
const struct ovn_row *ovn_find(struct ovn *, const char *table,
                               const char *name);
const char *ovn_uuid(struct ovn *, const struct ovn_row *);

/* Did Bulkhead write the row? */
bool ovn_is_ours(struct ovn *, const struct ovn_row *);

/* ovn-topology.c */
void ovn_read_topology(struct ovn *);
const char *ovn_clean_name(struct ovn *, const char *);
const char *ovn_unique_name(struct ovn *, struct sset *, const char *);

/* "ADDRESS[/LENGTH]", as it stands, or without the bits after the prefix. */
bool ovn_parse_cidr(const char *, struct address *);
bool ovn_parse_prefix(const char *, struct address *);

/* ovn-reach.c */
void ovn_read_routes(struct ovn *);

/* ovn-nexthop.c: to which other a static route of a router leads, to the range
 * 'to'; NULL, perhaps after a warning: elsewhere. */
const struct ovn_router *ovn_next_router(struct ovn *,
                                         const struct ovn_router *,
                                         const struct ovn_row *route,
                                         const struct address *to);

/* Is it more work, or memory, than an import may take?  In the end that is an
 * error. */
static inline bool
ovn_is_too_much(const struct ovn *m)
{
    return (m->work > OVN_MAX_WORK
            || arena_size(m->arena) > OVN_MAX_MEMORY);
}

/* ovn-set.c: NULL is every address; results are new. */
ovn_set ovn_empty(struct ovn *);
ovn_set ovn_and(struct ovn *, const unsigned long *, const unsigned long *);
ovn_set ovn_without(struct ovn *, const unsigned long *,
                    const unsigned long *);
void ovn_add(struct ovn *, ovn_set, const unsigned long *);
bool ovn_is_empty(struct ovn *, const unsigned long *);
bool ovn_has(struct ovn *, const unsigned long *, const unsigned long *part);
bool ovn_meet(struct ovn *, const unsigned long *, const unsigned long *);
ovn_set ovn_within(struct ovn *, const struct address *range);

/* ovn-service.c */
extern const struct ovn_service ovn_any;
struct ovn_service ovn_ports(struct ovn *, uint8_t protocol, int first,
                             int last);
struct ovn_service ovn_of_ranges(struct ovn *, uint8_t protocol,
                                 const port_ranges *);
struct ovn_service ovn_common(struct ovn *, const struct ovn_service *,
                              const struct ovn_service *);
struct ovn_service ovn_union(struct ovn *, const struct ovn_service *,
                             const struct ovn_service *);
bool ovn_service_is_empty(const struct ovn_service *);
bool ovn_service_has(struct ovn *, const struct ovn_service *,
                     const struct ovn_service *part);
bool ovn_service_equals(struct ovn *, const struct ovn_service *,
                        const struct ovn_service *);

/* Have they a protocol in common? */
bool ovn_service_meets(const struct ovn_service *, const struct ovn_service *);

/* What has no direction of a service, and the rest. */
struct ovn_service ovn_both_ways(struct ovn *, const struct ovn_service *);
struct ovn_service ovn_one_way(struct ovn *, const struct ovn_service *);

/* Names of services of the intent that are 'service' together, which this
 * defines; an empty name is every service. */
ovn_names ovn_service_names(struct ovn *, const struct ovn_service *);

/* ovn-set.c: of an Address_Set or a Port_Group; a port by itself. */
const struct ovn_named *ovn_find_set(struct ovn *, const char *name);
struct ovn_named ovn_find_port(struct ovn *, const char *name);

/* ovn-field.c: "FIELD OP VALUE...", with any of the values. */
enum ovn_relation { OVN_EQ, OVN_NE, OVN_LT, OVN_LE, OVN_GT, OVN_GE };
void ovn_field(struct ovn *, const char *field, enum ovn_relation,
               const ovn_names *values, bool to_lport, ovn_boxes *);
void ovn_predicate(struct ovn *, const char *name, bool negated, ovn_boxes *);

/* Both, if any packet is of both. */
void ovn_conjoin(struct ovn *, const struct ovn_box *, const struct ovn_box *,
                 ovn_boxes *);
struct ovn_box *ovn_add_box(struct ovn *, ovn_boxes *);

/* Joins boxes of the same sides, so that each has all of its services. */
void ovn_join(struct ovn *, ovn_boxes *);

/* ovn-symbol.c: does OVN take the relation, which is what is left of it when
 * enclosing '!' are taken into account, to a value or to a list; and a field
 * that stands alone?  False also if nobody here knows. */
bool ovn_takes(struct ovn *, const char *field, enum ovn_relation,
               const ovn_names *values, bool list);
bool ovn_takes_test(const char *field, bool negated);

/* ovn-match.c: what a match says. */
struct ovn_match {
    ovn_boxes boxes;            /* Its alternatives. */
    bool is_void;               /* OVN does not take it, ... */
    ovn_set at;                 /* ... but at switches with a port of each
                                 * group in it: their addresses.  NULL:
                                 * everywhere. */
};

/* "from-lport" has no outport.  Returns false if it is not an expression. */
bool ovn_parse_match(struct ovn *, const char *, bool to_lport,
                     struct ovn_match *);

/* ovn-dhcp.c: what of it is ours; and is an ACL of ours at the switch just
 * what Bulkhead wrote for that? */
void ovn_read_dhcp(struct ovn *);
bool ovn_is_of_dhcp(struct ovn *, const struct ovn_row *acl,
                    const struct ovn_switch *);

/* ovn-acl.c: reads them, and finds what each direction allows by itself. */
void ovn_read_acls(struct ovn *);

/* Are source ports left open, and all else that a rule cannot say? */
bool ovn_is_exact(struct ovn *, const struct ovn_box *);

/* ovn-families.c: joins ACLs that allow the same of IPv4 and of IPv6. */
void ovn_join_families(struct ovn *);

/* ovn-rules.c: both directions together. */
void ovn_write_rules(struct ovn *);

/* ovn-relation.c: which endpoints may send to which, a row each. */
struct ovn_relation_rows {
    unsigned long **rows;       /* By endpoint; NULL: to nobody. */
};
typedef struct ovn_relation_rows ovn_rows;
void ovn_rows_init(struct ovn *, ovn_rows *);
void ovn_rows_destroy(struct ovn *, ovn_rows *);

/* Adds what boxes say that have all of 'part', of all addresses that two
 * endpoints have of one family, or, if 'any', of some.  Returns an example of
 * two that it leaves out, or NULL. */
const char *ovn_rows_add(struct ovn *, ovn_rows *, const ovn_boxes *,
                         const struct ovn_service *part, bool stateless,
                         bool any);

/* Adds another's; leaves what is there both ways; what is not in 'other', nor,
 * if 'back', the other way round; what is in it.  Is all of 'part' there? */
void ovn_rows_join(struct ovn *, ovn_rows *, const ovn_rows *other);
void ovn_rows_close(struct ovn *, ovn_rows *);
void ovn_rows_cut(struct ovn *, ovn_rows *, const ovn_rows *other, bool back);
void ovn_rows_keep(struct ovn *, ovn_rows *, const ovn_rows *other);
bool ovn_rows_has(struct ovn *, const ovn_rows *, const ovn_rows *part);
bool ovn_rows_has_tenant(struct ovn *, const ovn_rows *,
                         const struct ovn_tenant *);
void ovn_rows_cut_tenant(struct ovn *, ovn_rows *, const struct ovn_tenant *);
void ovn_rows_cut_between(struct ovn *, ovn_rows *);

/* The same as products; if 'once', those one way only that are there both
 * ways. */
ovn_pairs ovn_rows_pairs(struct ovn *, const ovn_rows *, bool once);

/* The same as one product, if all that this has more cannot be reached. */
bool ovn_rows_product(struct ovn *, const ovn_rows *, ovn_pairs *);

/* ovn-emit.c */
void ovn_emit(struct ovn *, const struct ovn_origin *,
              const struct ovn_service *, const ovn_pairs *);

/* ovn-qos.c: of a rule, the DSCP of what passes, or of its replies; and the
 * bandwidth of addresses, which are an endpoint's or a tenant's. */
void ovn_read_qos(struct ovn *);
int ovn_dscp(struct ovn *, const char *rule, const struct ovn_pair *,
             const struct ovn_service *, bool reply);
struct json *ovn_bandwidth(struct ovn *, const unsigned long *addresses,
                           bool tenant);
void ovn_report_limits(struct ovn *);

/* The limit of upcalls of a tenant of ours; NULL: none. */
struct json *ovn_upcalls(struct ovn *, const struct ovn_tenant *);

/* ovn-write.c */
const char *ovn_write(struct ovn *);

#endif /* import/ovn.h */
