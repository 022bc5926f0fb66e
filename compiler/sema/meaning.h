/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_MEANING_H
#define SEMA_MEANING_H 1

/* The reference meaning: what a policy says about one packet.
 *
 * A pure function, made to be read rather than to be fast, and written from
 * docs/intents.md, not from any backend: backends are held against it.  It
 * asks these questions in this order; the first that has an answer decides.
 *
 *  1. Is the port an endpoint's or an external's on this node, and the frame
 *     untagged?  Else "unbound".  All that comes further counts against the
 *     limit of packets of the sender's tenant, if it has one.  From a tunnel:
 *     is it from a node that has an endpoint which may have to do with one
 *     here, for this node's own tunnel address, and for a network that has an
 *     endpoint here?  Else "unknown-peer".  From an external: what is IP for
 *     an endpoint that it could reach (see 7) counts as that one's.
 *  2. Is it DHCP of a network that names a server?  A client reaches that
 *     server only, and the server its clients; else "spoof" or "unreachable".
 *     Where the fabric is the server, it answers, and nothing is forwarded.
 *     None comes by tunnel.  Is it a router solicitation or advertisement, a
 *     redirect, IGMP, MLD, of protocol 0, or otherwise from a DHCP server's
 *     port?  "forbidden-reply".
 *  3. Is it ARP or neighbor discovery?  What is not a request that tells the
 *     truth about its sender is "spoof", and all that comes by tunnel.  The
 *     node answers for the gateways of the sender's network and for its
 *     endpoints, here or behind a tunnel; all other requests are
 *     "unanswered".  Nothing is forwarded.  An external's router, of which
 *     only the MAC is known, is answered for the attachment's gateways.
 *  4. Are its source MAC and IP address the endpoint's own, and is it IP at
 *     all?  Else "spoof".  From a tunnel: those of an endpoint on the node
 *     that it came from, or, routed by that node, the MAC of the gateway?
 *     From an external: the MAC of the router, and an address of that
 *     external; then, if nobody could get it (see 7), "unreachable".
 *     Is it for a multicast group that the sender's network carries?  Then,
 *     unless its MAC is not the group's ("unreachable") or it is a fragment
 *     ("fragment"), question 8 is asked for each other endpoint of the network
 *     here, and who is allowed gets a copy; "default" if nobody is, or
 *     nobody is here.
 *  5. Does it belong to a connection, or may it open one?  Packets to the port
 *     of a symmetric service need none, nor those that a stateless rule speaks
 *     of.  Else "ct-invalid".  One that another
 *     tenant opened while it had the zone does not count.
 *  6. If it is a fragment, is the whole packet from a DHCP server's port, or
 *     to that of a symmetric service?  "forbidden-reply" or "fragment".  Or is
 *     it an ICMP error?  "fragment".
 *  7. Whom does it reach?  An endpoint of the network by MAC and address
 *     together, or, by the gateway's MAC, one of the tenant's or a peer's.
 *     Else "unreachable", or "ttl" if its TTL ends at the gateway.  From a
 *     tunnel: an endpoint on this node only, and no gateway.  By the gateway's
 *     MAC too, if it is nobody's so: an address of an external that the
 *     sender's tenant uses and that is attached to this node.  From an
 *     external: an endpoint on this node, by its address and the attachment's
 *     MAC, of a tenant that uses it, in a network with a gateway; but no ICMP
 *     error about a connection to none of its addresses.
 *  8. Which rule speaks about sender, receiver, service and direction?  A
 *     guardrail; else a deny rule, of either tenant; else an allow rule or a
 *     peering; else the tenant's "default": "allow"; else "default".  Between
 *     an endpoint and an external rules that name it speak, and of nothing
 *     that is not tracked.  A packet of an endpoint that comes with the DSCP
 *     which its class lets in keeps it.
 *     A peering may say which of its tenants pays for both directions.
 *
 *  9. Is it allowed from one tenant to another, both here?  Each has a zone of
 *     its own, and the receiver's must agree about the direction: from the
 *     side that opened, the packet is new or known there too, from the other
 *     it is a reply or an ICMP error.  Else "ct-invalid".  A connection that
 *     passes is noted in the zones to which it is new, one that is denied in
 *     none.
 * 10. Is there room for it in the zones that it would be noted in?  Those of
 *     tenants with a limit of connections may be full: then "connections", and
 *     of two zones the sender's may have noted it all the same.
 *
 * What is judged is the packet that opened the connection: a reply, or an ICMP
 * error for the opener, with both ends swapped, and fragments with the ports
 * of the whole.  The rule that let it begin has no say of its own: the present
 * policy decides about each packet. */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/types.h"
#include "sema/policy.h"
#include "sema/reason.h"

struct flow;

/* What connection tracking knows about a packet. */
enum connection {
    CONNECTION_NONE,            /* Nothing: it was not tracked. */
    CONNECTION_NEW,             /* It would open a connection. */
    CONNECTION_FORWARD,         /* From the side that opened one. */
    CONNECTION_REPLY,           /* From the other side. */
    CONNECTION_RELATED,         /* An ICMP error for the side that opened
                                 * one. */
    CONNECTION_FOREIGN,         /* It is of one of another tenant, which had
                                 * the zone before. */
    CONNECTION_INVALID,         /* Or an ICMP error for the other side. */
    N_CONNECTIONS,
};

/* "none", "new", ... */
const char *connection_name(enum connection);

/* What opened the connection of a packet, or would.  Its family is the
 * packet's. */
struct meaning_opener {
    uint8_t protocol;
    ovs_be16 source, destination;       /* Ports, or ICMP type and code. */
    struct in6_addr outside;    /* Of a connection with an external: its
                                 * address there. */
};

struct meaning_question {
    const char *node;           /* NULL: the one that 'from' is bound to. */
    const struct policy_endpoint *from;     /* NULL: of a port that is no
                                             * endpoint's. */
    bool tunnel;                /* It came to 'node' by tunnel, with the outer
                                 * header that 'packet' says; 'from' is
                                 * NULL. */
    const struct policy_attachment *external;   /* It came from behind this
                                                 * one; 'from' is NULL. */
    const struct flow *packet;  /* As it leaves the sender. */
    enum connection connection; /* In the zone of the sender's tenant; by
                                 * tunnel or from an external, of the
                                 * receiver's. */
    const enum connection *beyond;  /* In that of the receiver's, if it is
                                     * another's and here; NULL: the same. */
    bool full;                  /* The zones of all tenants with a limit of
                                 * connections have as many as they may. */
    const struct meaning_opener *opener;    /* NULL: as the packet tells.  A
                                             * fragment and an ICMP error
                                             * cannot tell. */
};

/* A receiver of a packet for many. */
struct meaning_copy {
    const struct policy_endpoint *to;
    const struct policy_rule *rule;     /* That allows it, or NULL. */
    const struct policy_class *kept;    /* As in struct meaning. */
    uint8_t dscp;               /* Written into it; ECN is kept. */
    uint16_t queue;
};

struct meaning {
    bool allow;
    bool untracked;             /* It goes round connection tracking. */
    const struct policy_tenant *counted;    /* Whose limit of packets counts
                                             * it, whatever the verdict; NULL
                                             * if nobody's. */
    const struct policy_rule *rule;     /* That decides, or NULL. */
    enum reason reason;         /* Of a denial without rule. */

    /* Known from question 7 on, whatever the verdict. */
    const struct policy_endpoint *from, *to;
    const struct policy_attachment *external;   /* Instead of 'from' or 'to',
                                                 * which is NULL: it is from
                                                 * an external, or for one. */
    const struct intent_node *node;     /* 'to' is there, and it leaves by
                                         * tunnel with the VNI of its network;
                                         * NULL: 'to' is here. */
    bool routed;                /* By the gateway: it arrives with the TTL one
                                 * less, from the gateway's MAC of the
                                 * receiver's network. */

    /* If it is allowed and not answered by the node. */
    const struct policy_class *class;   /* NULL: best-effort. */
    const struct policy_class *kept;    /* The class, if by its "dscp_in" the
                                         * packet keeps its DSCP; else NULL. */
    uint8_t dscp;               /* Written into it; ECN is kept. */
    uint16_t queue;
    const struct policy_tenant *payer;      /* Who pays, by the peering that
                                             * allows it, for what is sent and
                                             * for what is received; NULL: who
                                             * sends, and who gets it. */
    const struct policy_tenant *charged;    /* Whose meter of what is sent
                                             * pays: the payer's, else the
                                             * sender's, or from an
                                             * external the receiver's if that
                                             * has none of what it gets; NULL:
                                             * nobody's here. */
    const struct intent_uplink *uplink;     /* The meter is for this one. */

    /* A packet for many: those who get it, sorted by name.  It is allowed if
     * somebody does.  'to' is NULL then, and 'rule'. */
    bool many;
    size_t n_copies;
    struct meaning_copy copies[MAX_RECEIVERS];

    /* ARP, neighbor discovery, and DHCP that is native. */
    bool answered;              /* By the node, in the name of ... */
    struct eth_addr answer;     /* ... who has this MAC, ... */
    bool answer_router;         /* ... a gateway. */
};

struct meaning meaning_judge(const struct policy *,
                             const struct meaning_question *);

/* Does 'rule' speak about this packet, which reaches 'to', or an external if
 * that is NULL?  Where several rules as strong as one another do,
 * meaning_judge() names the first by name; they do not differ in verdict or
 * class. */
bool meaning_rule_speaks(const struct policy *, const struct policy_rule *,
                         const struct meaning_question *,
                         const struct policy_endpoint *to);

#endif /* sema/meaning.h */
