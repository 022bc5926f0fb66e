/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_CONTRACT_PRIVATE_H
#define VERIFY_CONTRACT_PRIVATE_H 1

/* The rooms behind contract.h: contract-deed.c reads what flows do,
 * contract-note.c whom registers name; contract-ports.c, contract-track.c and
 * contract-route.c ask what flows must match and note, table by table,
 * contract-limit.c what is noted of tenants with a limit of connections, and
 * contract-policy.c what POLICY says as a whole. */

#include "verify/compare.h"
#include "verify/contract-tables.h"
#include "verify/contract.h"
#include "verify/proof.h"

enum act {
    ACT_METER = 1 << 0,
    ACT_ANSWER = 1 << 1,        /* By the port that the packet came by. */
    ACT_OUTPUT = 1 << 2,
    ACT_COPY = 1 << 3,
    ACT_TRACK = 1 << 4,         /* ct() that does not commit. */
    ACT_NOTE = 1 << 5,          /* ct(commit). */
    ACT_TTL = 1 << 6,
    ACT_OTHER = 1 << 7,         /* Nothing that a table may do. */
};

/* A field, or bits of it, that is set, or copied from another. */
struct write {
    enum field to, from;        /* 'from' is N_FIELDS if it is set. */
    u128 value, mask;           /* If it is set. */
    uint8_t ofs, from_ofs, n;   /* If it is copied. */
};

/* ct(). */
struct tracking {
    enum field zone;            /* Where the zone is; N_FIELDS: in no field. */
    enum field mark;            /* What is noted; N_FIELDS: nothing, or no
                                 * field. */
};

enum { MAX_WRITES = 12, MAX_TRACKINGS = 2, MAX_METERS = 2 };

/* What a flow does with a packet, or with one of its copies.  What is more
 * than there is room for is ACT_OTHER. */
struct deed {
    struct write writes[MAX_WRITES];
    struct tracking tracks[MAX_TRACKINGS];
    uint32_t meters[MAX_METERS];
    size_t n_writes, n_tracks, n_meters;
    VEC(struct deed) copies;
    uint32_t acts;              /* 1-bits: enum act. */
    uint32_t next;              /* 1-bits: the tables that it leads to. */
    ofp_port_t port;            /* That it leaves by, or OFPP_NONE. */
};

/* Whom a number in a register names. */
enum note {
    NOTE_TENANT,                /* policy_tenant or policy_external. */
    NOTE_ENDPOINT,              /* policy_endpoint or policy_attachment. */
    NOTE_ZONE,                  /* policy_tenant, or policy_external. */
    NOTE_GROUP,                 /* policy_endpoint: it is in the group. */
    NOTE_NODE,                  /* intent_node. */
    N_NOTES,
};

struct contract {
    struct proof *proof;
    const struct verify_task *task;
    struct arena *arena;        /* Lives as long as this. */
    const struct intent_node *node;
    ofp_port_t tunnel;
    struct hmap namings;        /* Contains "struct naming"s, by whom. */
    struct hmap by_value;       /* The same. */
    struct hmap addresses;      /* Of endpoints: "struct place"s. */
    struct hmap ports;          /* Of endpoints: "struct port"s. */
    bool learning;              /* Numbers are being counted. */
    const struct table_flow *flow;      /* That is asked about, ... */
    struct deed deed;           /* ...what it does, ... */
    const char *wrong, *meant;  /* ...and what is wrong with it. */
    const struct value *at;     /* The place of what is meant, or NULL. */
};

/* contract-deed.c */
void deed_read(struct contract *, const struct ofpact *,
               const struct ofpact *end, struct deed *);
/* Does a packet go on, or leave? */
bool deed_passes(const struct deed *);
bool deed_sets(const struct deed *, enum field, u128 *value);
bool deed_sets_only(const struct deed *, field_set);
bool deed_leads_to(const struct deed *, enum contract_table);
/* Is all that it does to copy 'from' to 'to', as far as the latter goes? */
bool deed_copies(const struct deed *, enum field to, enum field from);

/* What the flow matches; of a field, NULL if nothing. */
const struct condition *flow_condition(const struct table_flow *, enum field);
bool flow_matches(const struct table_flow *, enum field, u128 *value);
bool flow_has(const struct table_flow *, enum field, u128 value);
bool flow_has_bits(const struct table_flow *, enum field, u128 value,
                   u128 mask);

/* An address in a flow: of IPv4 or IPv6, as a whole or a prefix. */
struct flow_address {
    bool ip6;
    u128 value, mask;
};
bool flow_source(const struct table_flow *, struct flow_address *);
bool flow_destination(const struct table_flow *, struct flow_address *);
bool address_is(const struct flow_address *, const struct in6_addr *);
bool address_is_in(const struct flow_address *, const struct address *);
bool endpoint_has(const struct policy_endpoint *, const struct flow_address *);
u128 mac_value(struct eth_addr);

/* contract-note.c */
void notes_init(struct contract *);
void notes_destroy(struct contract *);
/* While learning, counts it; else, is it what most flows say? */
bool note_says(struct contract *, enum note, const void *who, u128 value);
/* Who has the number; NULL if nobody. */
const void *note_who(const struct contract *, enum note, u128 value);
bool note_value(const struct contract *, enum note, const void *who,
                uint64_t *value);
/* Does the deed set the field to the number of 'who'? */
bool note_is_set(struct contract *, const struct deed *, enum field,
                 enum note, const void *who);
bool notes_receiver(struct contract *, const struct deed *,
                    const struct policy_endpoint *);

/* Those who have the address, one after the other. */
struct place {
    struct hmap_node node;
    const struct policy_endpoint *endpoint;
    struct flow_address address;
};
const struct place *place_first(const struct contract *,
                                const struct flow_address *);
const struct place *place_next(const struct place *,
                               const struct flow_address *);
const struct policy_endpoint *endpoint_of_port(const struct contract *,
                                               ofp_port_t);
bool endpoint_is_at(const struct contract *, const struct policy_endpoint *);
const struct policy_tenant *note_tenant(const struct contract *, u128 value,
                                        const struct policy_external **);
const struct policy_endpoint *note_endpoint(
    const struct contract *, u128 value, const struct policy_attachment **);

const struct policy_network *network_of(const struct contract *, u128 vni);

/* May packets of the tenant, if an endpoint of it is here, be for 'e', or the
 * other way round? */
bool contract_joins(const struct contract *, const struct policy_tenant *,
                    const struct policy_endpoint *e);

/* The prefix that the address is, as the intent has them. */
struct address address_prefix(const struct flow_address *);

/* Is what the flow matches one of the addresses; all of it the external's? */
bool addresses_hold(const address_vec *, const struct flow_address *);
bool external_holds(const struct contract *, const struct policy_external *,
                    const struct flow_address *);

/* Says what is wrong with the flow, once. */
void contract_wrong(struct contract *, const char *wrong, const char *meant,
                    const struct value *at);

/* Contracts of flows that pass something, table by table. */
void ask_admit(struct contract *);
void ask_tunnel(struct contract *);
void ask_spoof(struct contract *);
void ask_neighbor(struct contract *);
void ask_dhcp(struct contract *);
void ask_track(struct contract *);
void ask_owner(struct contract *);
void ask_state(struct contract *);
void ask_copy(struct contract *);
void ask_route(struct contract *);
void ask_gateway(struct contract *);
void ask_self(struct contract *);
void ask_sides(struct contract *);
void ask_peer(struct contract *);
void ask_noting(struct contract *);
void ask_class(struct contract *);
void ask_meter(struct contract *);
void ask_output(struct contract *);

/* Are the meters that the flow calls those of who pays? */
void ask_payer(struct contract *);

/* That of tables that note connections of tenants with a limit. */
void ask_limits(struct contract *);

/* That of POLICY as a whole. */
void ask_policy(struct contract *);

/* Adds what is wrong with the flow, as a packet of these values shows.  NULL
 * if there is no room for more. */
struct verify_difference *contract_report(struct contract *,
                                          const struct condition *packet,
                                          size_t n);

#endif /* verify/contract-private.h */
