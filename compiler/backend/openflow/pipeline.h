/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_OPENFLOW_PIPELINE_H
#define BACKEND_OPENFLOW_PIPELINE_H 1

/* The OpenFlow pipeline: its tables, registers and priorities.
 *
 * A packet enters at TABLE_ADMIT and goes forward only, but from TABLE_SHARE
 * and TABLE_NOTED: OpenFlow has one meter a table, and what ct() hands back
 * goes to a table.  TABLE_SHARE and TABLE_DELIVER have flows
 * only where packets pass two: an endpoint's own and its tenant's, or one of
 * each of the two trees of a tenant that is split.  A table without a
 * matching flow drops (that is OpenFlow's rule for a missing table-miss
 * entry; each table also has an explicit drop that counts under the cookie of
 * its reason, see sema/reasons.def).
 *
 * The verifier's contracts say tables and values once more, on purpose: see
 * verify/contract-tables.h. */

enum of_table {
    TABLE_ADMIT,        /* Port -> endpoint, tenant, network, zone; outer
                         * addresses of a tunnel -> node. */
    TABLE_TUNNEL,       /* From a tunnel: VNI -> receiver's network, zone;
                         * from outside: destination address -> zone. */
    TABLE_SPOOF,        /* The source addresses are the endpoint's own. */
    TABLE_NEIGHBOR,     /* ARP and ND are answered here, never forwarded. */
    TABLE_NEIGHBOR_ADVERT,  /* Finishes a neighbor advertisement. */
    TABLE_DHCP,         /* To the network's server, or to its clients. */
    TABLE_TRACK,        /* Into the tenant's conntrack zone, or stateless. */
    TABLE_OWNER,        /* A known connection is the zone's tenant's. */
    TABLE_STATE,        /* Connection state -> direction. */
    TABLE_GROUP,        /* Multicast: right MAC; what it is judged by. */
    TABLE_COPY,         /* Multicast: one for each of the network. */
    TABLE_ROUTE,        /* Destination MAC -> endpoint, or the gateway. */
    TABLE_GATEWAY,      /* Destination address -> endpoint; TTL. */
    TABLE_SELF,         /* The receiver is not the sender. */
    TABLE_SIDES,        /* Who opened it, to whom. */
    TABLE_POLICY,       /* Opener, opened, service -> class, or drop. */
    TABLE_COMMIT,       /* New connections enter conntrack. */
    TABLE_PEER,         /* Another tenant's packet: into its zone as well. */
    TABLE_PEER_OWNER,   /* A connection known there is that tenant's. */
    TABLE_PEER_STATE,   /* The state in that zone. */
    TABLE_CLASS,        /* DSCP and queue.  Nothing is rewritten after it. */
    TABLE_METER,        /* The sending tenant's meter, or the sender's. */
    TABLE_OUTPUT,       /* Destination endpoint -> port, or tunnel. */
    TABLE_SHARE,        /* After METER, for senders with two meters: the
                         * second, and back to OUTPUT. */
    TABLE_DELIVER,      /* After OUTPUT, for receivers with two: the second
                         * and the port; or the sender's queue, and the
                         * tunnel. */
    TABLE_NOTED,        /* After COMMIT and PEER_STATE, for tenants with a
                         * limit of connections: was it noted? */
    N_TABLES,
};

/* Registers, all zero when a packet comes in.
 *
 * A packet from a tunnel is in the receiver's network and zone until it is
 * delivered: who sent it is known only by what the tunnel and its source
 * addresses say together.  One from an external is in the receiver's zone. */
#define REG_PEER        "metadata"  /* Number of the node that sent it here by
                                     * tunnel; 0: it is from a port. */
#define REG_TENANT      "reg0"  /* Sender's tenant number; an external has
                                 * one too, and is not a tenant. */
#define REG_SOURCE      "reg1"  /* Sender's endpoint number, or external's. */
#define REG_NETWORK     "reg2"  /* VNI of the sender's network. */
#define REG_DEST        "reg3"  /* Receiver's endpoint number. */
#define REG_ND_FLAGS    "reg4"  /* Of a neighbor advertisement, which never
                                 * comes to POLICY. */
#define REG_PAYER       "reg4"  /* Number of the tenant that pays by what a
                                 * peering says; 0: it says nothing. */
#define REG_CLASS       "reg5"  /* CLASS_VALUE(); 0 is best-effort. */
#define REG_ZONE        "reg6"  /* Sender's conntrack zone. */
#define REG_DIRECTION   "reg7"  /* enum of_direction. */
#define REG_SERVICE     "reg8"  /* SERVICE_*; 0 is unknown. */
#define REG_DEST_ZONE   "reg9"  /* Receiver's conntrack zone. */
#define REG_CROSSING    "reg10" /* enum of_crossing. */
/* The two sides of what a packet belongs to: "from" opened the connection.
 * Until TABLE_SIDES "from" is the sender and "to" the receiver. */
#define REG_FROM_TENANT "reg11" /* Tenant number. */
#define REG_FROM        "reg12" /* Group number. */
#define REG_TO_TENANT   "reg13"
#define REG_TO          "reg14"
#define REG_SCRATCH     "reg15"

/* REG_SERVICE: what the packet is judged by.  For a tracked one this is the
 * tuple of the packet that opened the connection, so that replies, fragments
 * and ICMP errors are judged as it was. */
#define SERVICE_TRACKED     UINT32_C(0x80000000)
#define SERVICE_STATELESS   UINT32_C(0x40000000)
#define SERVICE_REPLY       UINT32_C(0x20000000)    /* To who opened it. */
/* A rule that is not stateful speaks of it: it is judged by its headers. */
#define SERVICE_UNTRACKED   UINT32_C(0x10000000)
#define SERVICE_IPV6        UINT32_C(0x01000000)    /* Of tracked ones. */
#define SERVICE_PROTOCOL(P) ((uint32_t) (P) << 16)
#define SERVICE_PORT_BITS   UINT32_C(0x0000ffff)    /* Destination port. */
#define SERVICE_PROTOCOL_BITS (SERVICE_PROTOCOL(0xff))
#define SERVICE_KIND_BITS   (SERVICE_TRACKED | SERVICE_STATELESS)

/* Fields of ct(zone=...).  Each connection has in ct_mark the number of the
 * tenant whose zone it was noted in: zones go from one tenant to another, and
 * connections outlive that. */
#define ZONE_FIELD      "NXM_NX_REG6[0..15]"
#define DEST_ZONE_FIELD "NXM_NX_REG9[0..15]"

enum of_direction {
    DIRECTION_FORWARD = 1,      /* From the side that opened it. */
    DIRECTION_REPLY = 2,
    DIRECTION_STATELESS = 3,
};

/* Is the receiver another tenant's? */
enum of_crossing {
    CROSSING_NO = 0,
    CROSSING_YES = 1,
    CROSSING_NEW = 2,           /* And the connection is new in the sender's
                                 * zone, but not there yet. */
    CROSSING_EXTERNAL = 3,      /* It comes from an external, and is in the
                                 * receiver's zone. */
};

#define CLASS_VALUE(DSCP, QUEUE) (1u << 31 | (QUEUE) << 8 | (DSCP))

/* Priorities: the stronger kind of rule wins, whatever the file order. */
enum of_priority {
    PRIORITY_MISS = 0,
    PRIORITY_PREFIX = 1,        /* And the length of the prefix, to 128. */
    PRIORITY_DEFAULT = 100,
    PRIORITY_UNTRACKED = 150,   /* In TRACK, what stateless rules speak of; in
                                 * POLICY, as what comes back. */
    PRIORITY_ALLOW = 200,       /* In POLICY, these two and the depth of the
                                 * rule, to MAX_DEPTH. */
    PRIORITY_OWN = 250,         /* An endpoint's own, before its tenant's. */
    PRIORITY_PAYER = 260,       /* Of who pays for others; and ... */
    PRIORITY_PAYER_CLASS = 270, /* ... of a class of theirs. */
    PRIORITY_DENY = 300,
    PRIORITY_ARRIVED_PAYER = 310,   /* In METER: of who pays for what came by
                                     * tunnel. */
    PRIORITY_FORBIDDEN = 400,   /* Never, whoever sends it. */
    PRIORITY_EVERYBODY = 450,   /* A guardrail from or to everybody. */
    PRIORITY_NEIGHBOR = 500,    /* ND that is all right. */
    PRIORITY_DHCP = 600,        /* DHCP that is all right. */
};

#endif /* backend/openflow/pipeline.h */
