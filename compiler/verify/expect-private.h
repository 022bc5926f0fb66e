/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_EXPECT_PRIVATE_H
#define VERIFY_EXPECT_PRIVATE_H 1

/* The rooms behind expect.h: expect.c has what the others share,
 * expect-port.c asks the questions 1 to 4, expect-route.c 5 to 7,
 * expect-rule.c 8 and 9; expect-base.c what is known of a packet but its
 * verdict; expect-external.c what an external is; expect-alike.c says what
 * need be asked once only, expect-stateless.c what goes past tracking,
 * expect-cut.c what rules say and what is meant whatever they say. */

#include "verify/expect.h"

/* From where the packets are that are judged. */
struct origin {
    struct meaning_question q;  /* 'node', 'from', 'tunnel', 'external'. */
    const struct policy_tenant *counted;
    const struct policy_network *network;       /* That they are in. */
    const struct policy_tenant *zone;   /* In whose zone they are tracked. */
};

/* How connection tracking sees them, and which of their fields say what opened
 * their connection. */
struct seen {
    enum track track;           /* TRACK_NONE: they are not tracked. */
    bool stateless;
    bool passed;                /* By rules that are not stateful. */
    enum field proto, port;     /* Of the opener; its destination port. */
    uint16_t asked;             /* As in struct expect; 0: it is not told. */
};

/* Of what a verdict on packets between two endpoints depends. */
struct verdict_key {
    const struct policy_tenant *tenant, *zone;
    uint32_t from, to;          /* See judge_alike(). */
    uint8_t track, stateless, proto, port;      /* Of struct seen. */
    uint32_t asked;             /* The same. */
};

/* Is something asked of packets of the set? */
bool judge_asks(const struct judge *, dd_t set);

/* A number of the endpoint: the same, if all rules treat them alike. */
uint32_t judge_alike(const struct judge *, const struct policy_endpoint *);

/* Stores the rules that join the endpoints, whichever of them is who opens, in
 * order, and returns how many; there is room for all that speak of endpoints
 * of the tenant of one. */
size_t judge_joining(const struct judge *, const struct policy_endpoint *,
                     const struct policy_endpoint *,
                     const struct policy_rule *[]);

/* The same for what they send: network, node and meters too. */
uint32_t judge_sending(const struct judge *, const struct policy_endpoint *);

/* One of whose packets for 'to' is expected what is of those of 'from'. */
const struct policy_endpoint *judge_sender(const struct judge *,
                                           const struct policy_endpoint *from,
                                           const struct policy_endpoint *to);

/* Another that sends as it does; NULL if there is none. */
const struct policy_endpoint *judge_other(const struct judge *,
                                          const struct policy_endpoint *);

/* One of the same tenant, for what all of its endpoints are told alike; NULL
 * for NULL. */
const struct policy_endpoint *judge_any_of(const struct policy_endpoint *);

/* The number of the tenant in the policy. */
size_t judge_tenant(const struct judge *, const struct policy_tenant *);

/* Does gateways_join()? */
bool judge_joins(const struct judge *, const struct meaning_question *,
                 const struct policy_tenant *,
                 const struct policy_endpoint *);

/* The endpoints that the sender's tenant reaches through gateways. */
const endpoint_vec *judge_reached(struct judge *, const struct origin *);

bool seen_is_backward(const struct seen *);

dd_t expect_leaf(struct judge *, const struct expect *);

/* 'parts[i]' for 'packets[i]'; nothing for others.  DD_NONE if a packet could
 * be of two of them, or if parts ask for what tells them apart. */
dd_t expect_each(struct judge *, const dd_t packets[], const dd_t parts[],
                 size_t n);

/* Notes who pays, once the rules that decide are known: all of them let the
 * same tenant pay. */
void expect_payer(const struct judge *, struct expect *);
dd_t expect_deny(struct judge *, const struct origin *, enum reason);

/* Denies what nobody may send; 'others' is to become of all else. */
dd_t expect_forbidden(struct judge *, const struct origin *, dd_t others);

/* Sets of packets. */
dd_t is_family(struct judge *, bool ip6);
dd_t is_ip(struct judge *);
dd_t is_mac(struct judge *, enum field, struct eth_addr);
dd_t is_fragment(struct judge *);

/* Whose source or destination is in the range, which has 'plen' bits as
 * struct address has. */
dd_t is_from_range(struct judge *, const struct in6_addr *, int plen);
dd_t is_to_range(struct judge *, const struct in6_addr *, int plen);
dd_t is_from(struct judge *, const struct policy_endpoint *);
dd_t is_to(struct judge *, const struct policy_endpoint *);

/* In the range with 'field4' or 'field6', whichever is of its family. */
dd_t is_in_range(struct judge *, enum field field4, enum field field6,
                 const struct in6_addr *, int plen);

/* Of ICMP, of this type and not a fragment. */
dd_t is_icmp_type(struct judge *, bool ip6, uint8_t type);
dd_t is_forbidden(struct judge *);
dd_t is_icmp(struct judge *);

/* Of UDP, from a DHCP server's port or to a client's, by the fields that say
 * protocol and ports, of which that of the source is before the other's. */
dd_t is_dhcp_answer(struct judge *, enum field proto, enum field source,
                    enum field destination);
dd_t is_neighbor_message(struct judge *);

/* To the port of a symmetric service, by the fields that say protocol and
 * port. */
dd_t is_for_symmetric(struct judge *, enum field proto, enum field port);
dd_t is_of_service(struct judge *, const struct policy_service *,
                   enum field proto, enum field port);

/* Requests that tell the truth about their sender, which 'macs' says; any
 * address will do if 'e' is NULL. */
dd_t is_true_neighbor_request(struct judge *, dd_t macs,
                              const struct policy_endpoint *e);

/* ARP or neighbor discovery of who has that MAC. */
dd_t has_macs(struct judge *, struct eth_addr);

/* Requests for 'target' are answered by 'mac'. */
dd_t expect_answer(struct judge *, const struct origin *, struct eth_addr mac,
                   bool router, const struct in6_addr *target);

bool is_here(const struct judge *, const struct policy_endpoint *);

/* Questions 5 to 9. */
dd_t expect_connection(struct judge *, const struct origin *);

/* A side of a packet: an endpoint, or an address of an external in the fields
 * of one of the families. */
struct end {
    const struct policy_endpoint *endpoint;
    const struct policy_external *external;
    enum field field4, field6;
};

/* Questions 8 and 9, of packets for 'to', or if that is NULL, for what is
 * outside by 'out'. */
dd_t expect_rule(struct judge *, const struct origin *, const struct seen *,
                 const struct policy_endpoint *to,
                 const struct policy_attachment *out, bool routed);

/* All that is known of packets from there to there but who decides; the number
 * by which their diagrams are bound, however they are tracked; and a diagram
 * of verdicts with what a base says. */
struct expect expect_base(const struct judge *, const struct origin *,
                          const struct seen *,
                          const struct policy_endpoint *to,
                          const struct policy_attachment *out, bool routed);
uint32_t expect_base_number(struct judge *, const struct expect *);
dd_t expect_base_each(struct judge *, dd_t verdict, uint32_t number);

/* What of packets goes past connection tracking by rules that are not
 * stateful, and question 8 of that. */
dd_t is_passed_by_rules(struct judge *, const struct origin *);
dd_t find_untracked(struct judge *, const struct policy_tenant *zone,
                    const struct end *sender, const struct end *receiver);

/* The packets that the rule could be about by its sides. */
dd_t rule_joins(struct judge *, const struct policy_rule *,
                const struct end *from, const struct end *to);

/* What 'rule' decides, or if that is NULL, none, of what 'sender' sends;
 * 'after' others of its kind.  The same by another class. */
dd_t verdict_by(struct judge *, const struct policy_rule *,
                const struct seen *, const struct policy_tenant *zone,
                const struct end *sender, bool after);
dd_t verdict_of_class(struct judge *, const struct policy_rule *,
                      const struct policy_class *, const struct seen *,
                      const struct policy_tenant *zone,
                      const struct end *sender, bool after);

/* Question 8, remembered by who is alike; and if rules may say anything. */
dd_t find_verdict(struct judge *, const struct seen *,
                  const struct policy_tenant *zone, const struct end *sender,
                  const struct end *receiver);
dd_t find_any_verdict(struct judge *, const struct seen *,
                      const struct policy_tenant *zone,
                      const struct end *sender, const struct end *receiver);

/* Question 8 of packets from base->from to base->to, which are endpoints. */
dd_t expect_between(struct judge *, const struct seen *,
                    const struct expect *base);

/* The copies of a packet for many, of which each passes question 8. */
dd_t expect_multicast(struct judge *, const struct origin *);
dd_t expect_add_copy(void *judge, dd_t many, dd_t one);
uint32_t expect_add_copies(struct judge *, const struct expect_copy *,
                           size_t n);

/* The packets of which the fields are an address of the external. */
dd_t is_external(struct judge *, const struct policy_external *,
                 enum field field4, enum field field6);

#endif /* verify/expect-private.h */
