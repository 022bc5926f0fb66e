/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_CHECK_H
#define SEMA_CHECK_H 1

/* Conflicts: what a policy may not say although every name resolves.
 *
 * The caller is policy_resolve(); these are the rooms behind it. */

#include <stdbool.h>

#include "packets.h"
#include "sema/policy.h"

struct address;
struct arena;
struct diags;
struct in6_addr;
struct intent_node;
struct intent_selector;
struct intent_uplink;

void policy_check(const struct policy *, struct arena *, struct diags *);

/* Subnets, gateways, VNIs, addresses, MACs and interfaces. */
void check_addressing(const struct policy *, struct arena *, struct diags *);

/* That it is clear which uplink each network takes. */
void check_uplinks(const struct policy *, struct diags *);

/* Has the tenant an endpoint on 'node' whose network takes 'uplink' there? */
bool tenant_is_at(const struct policy_tenant *,
                  const struct intent_node *node,
                  const struct intent_uplink *uplink);

/* That, or does it pay there for others' endpoints? */
bool tenant_takes(const struct policy_tenant *, const struct intent_node *node,
                  const struct intent_uplink *uplink);

/* CPUs, devices and ports of DPDK. */
void check_dpdk(const struct policy *, struct diags *);

/* VFs of NICs in legacy mode: what the NIC cannot keep of the intent. */
void check_legacy(const struct policy *, struct diags *);
void doubt_legacy(const struct policy *, struct diags *);

/* The uplink that the legacy VF is of, or NULL: it is none, or nobody knows
 * yet. */
const struct intent_uplink *legacy_uplink(const struct policy_endpoint *);

/* What a legacy VF may send, of what it has by itself and of its part of what
 * its tenant has; 0: no limit, no guarantee. */
struct legacy_rates {
    uint64_t min_mbps;
    uint64_t bps, max_mbps;     /* The limit, and what the NIC makes of it. */
    const struct value *at, *owed_at;   /* What asks for the limit and for the
                                         * guarantee; NULL: nothing. */
};
struct legacy_rates legacy_rates(const struct policy_endpoint *);
void check_legacy_rates(const struct policy_endpoint *, struct diags *);
void doubt_legacy_rates(const struct policy_tenant *, struct diags *);

/* Does a side of a rule hold the endpoint, or, if 'network', anybody of its
 * network?  'every': the side holds all. */
bool legacy_holds(const endpoint_vec *side, bool every,
                  const struct policy_endpoint *, bool network);

/* What a rule is to a legacy VF: not about it, or kept by its VLAN; about what
 * it sends or gets there, which no flow sees; or it allows only what its VLAN
 * cuts off. */
enum legacy_fate { LEGACY_OTHERS, LEGACY_UNKEPT, LEGACY_CUT };
enum legacy_fate legacy_fate(const struct policy_rule *,
                             const struct policy_endpoint *);

/* The class of all that rules let a legacy VF send in its VLAN; NULL:
 * POLICY_BEST_EFFORT, or several that have not one queue. */
const struct policy_class *legacy_class(const struct policy *,
                                        const struct policy_endpoint *);

/* The queues that a legacy VF may send in, a bit each: those of its rules, and
 * 0, for what its tenant's default lets pass. */
uint8_t legacy_queues(const struct policy *, const struct policy_endpoint *);

/* Adds to 'classes' those that rules let a legacy VF send or get in, in its
 * VLAN, some more than once; NULL: POLICY_BEST_EFFORT. */
void legacy_find_classes(const struct policy *,
                         const struct policy_endpoint *, class_vec *classes,
                         struct arena *);

/* Classes that one priority of a VF can't do justice to. */
void check_legacy_class(const struct policy *,
                        const struct policy_endpoint *, struct diags *);
void doubt_legacy_classes(const struct policy *, const struct policy_tenant *,
                          struct diags *);

/* Warns of queues of a device that gain nothing. */
void doubt_dpdk(const struct policy *, struct diags *);

/* Warns of bursts of uplinks that are too short to share by. */
void doubt_shared(const struct policy *, struct diags *);

/* Rates, bursts, and what meters can hold. */
void check_bandwidth(const struct policy *, struct diags *);

/* What a tenant's bursts are marked and recorded by, and what drops. */
void check_microburst(const struct policy *, const struct intent_tenant *,
                      struct diags *);

/* Bytes that a burst or the depth of a queue may have: a full frame, and what
 * any buffer holds. */
enum {
    MIN_BURST = ETH_HEADER_LEN + VLAN_HEADER_LEN + ETH_PAYLOAD_MAX,
    MAX_BURST = 1024 * 1024 * 1024,
};

/* A rate and a burst that a meter can hold; absent is right. */
void check_rate(struct diags *, const struct quantity *rate);
void check_burst(struct diags *, const struct quantity *burst);

/* That bursts and depths hold the frames of networks with a large "mtu". */
void check_frames(const struct policy *, struct diags *);

/* Packets that may keep the DSCP they come with. */
void check_dscp_in(const struct policy *, struct diags *);

/* Warns of such that a limit never keeps, or that look like another class. */
void doubt_dscp_in(const struct policy *, struct diags *);

/* Warns of classes in "bandwidth", of "dscp_in" and of "exceed" that packets
 * never are of, or that they only look like. */
void doubt_unused(const struct policy *, struct diags *);

/* Warns of rules and peerings whose sides have no addresses of one family. */
void doubt_families(const struct policy *, struct diags *);

/* Does the range of an external hold addresses of the family? */
bool range_has_family(const struct policy_range *, bool ip6);

/* Warns of tenants of which one lists the other in "peers" and not the other
 * way round, where a peering with every tenant leaves one out. */
void doubt_consent(const struct policy *, struct diags *);

/* What the tenants of each uplink may send together, against the uplink. */
void check_sums(const struct policy *, struct diags *);

/* A guarantee, limit and burst by themselves. */
void check_direction(const struct intent_bandwidth *, struct diags *);

/* What endpoints and classes have, against what their tenants have. */
void check_splits(const struct policy *, struct diags *);

/* As the intent says it, in the arena. */
const char *rate_text(uint64_t rate, struct arena *);

/* Rules and peerings that allow the same packet: finds the depth of each. */
void check_classes(const struct policy *, struct diags *);

/* Adds the error that both allow a packet with different classes, and neither
 * is the narrower one. */
void report_contradiction(const struct policy *, const struct policy_rule *a,
                          const struct policy_rule *b, struct diags *);

/* Where both allow, once depths are found: is the class that a packet gets the
 * same without 'rule' as with it? */
bool rule_allows_for(const struct policy_rule *other,
                     const struct policy_rule *rule);

/* That nobody owns what keeps it apart from others. */
void check_hosts(const struct policy *, struct diags *);

/* Sizes of buffers, which only lossless classes have. */
void check_buffers(const struct policy *, struct diags *);

/* Warns of lossless classes whose packets a limit drops. */
void check_lossless(const struct policy *, struct diags *);

/* Warns of bounds of delay, which nobody has computed. */
void check_delays(const struct policy *, struct diags *);

/* Have both something in common to match? */
bool services_intersect(const struct policy_service *,
                        const struct policy_service *);

/* Can both rules speak of a packet between the same two endpoints, in the same
 * direction?  Or, as symmetric services match both ways, each in its own? */
bool rules_join_same(const struct policy_rule *, const struct policy_rule *);
bool rules_join_opposite(const struct policy_rule *,
                         const struct policy_rule *);

/* Said where only the latter is so. */
#define BOTH_WAYS " (ports such as RoCEv2's match both ways, also in 'any " \
                  "service')"

/* Tunnels, and room for them in the uplinks' frames. */
void check_overlay(const struct policy *, struct diags *);

/* Consent, gateways and routes between tenants, once the addresses of each
 * are known to be right. */
void check_peerings(const struct policy *, struct arena *, struct diags *);

/* Finds the DHCP servers that the networks of a tenant name, once it has its
 * endpoints. */
void resolve_dhcp(const struct policy_tenant *, struct diags *);

/* Networks that copy packets to their endpoints, and their multicast
 * groups. */
void check_receivers(const struct policy *, struct diags *);

/* Adds what the selector selects of the external, unless that is NULL. */
void expand_external(const struct policy_external *,
                     const struct intent_selector *, struct arena *,
                     range_vec *);

/* Finds the users of the external, and what is inside. */
void find_users(const struct policy *, struct policy_external *,
                struct arena *);

/* What the intent says, or what follows from the names. */
struct eth_addr external_gateway_mac(const struct policy_attachment *);

/* Have they addresses in common? */
bool ranges_intersect(const range_vec *, const range_vec *);

/* Warns of endpoints that do not reach the externals that rules name. */
void doubt_externals(const struct policy *, struct diags *);

/* Externals, and the rules that name them. */
void check_externals(const struct policy *, struct arena *, struct diags *);

/* Adds the error that there is no tenant of that name. */
void report_no_tenant(const struct policy *, const struct text *name,
                      struct diags *);

/* The endpoint of the tenant that has the name, or NULL. */
const struct policy_endpoint *tenant_endpoint(const struct policy_tenant *,
                                              const char *name);

/* The value that the endpoint has for the label; NULL: it has none. */
const struct text *label_value(const struct intent_endpoint *,
                               const char *label);

/* Does the selector, whose names are known to be right, select 'e'? */
bool selector_matches(const struct intent_selector *,
                      const struct policy_endpoint *e);

/* Warns of what may be meant otherwise, in a policy that is right. */
void check_doubts(const struct policy *, struct diags *);

/* Where 'other' speaks of what the rule speaks of, has it the last word, or
 * the same?  A guardrail stays when tenants change their minds.  What goes
 * round connection tracking does so whatever others say. */
bool rule_may_settle(const struct policy_rule *other,
                     const struct policy_rule *rule);

/* Warns, in a policy that is right, of rules that change nothing. */
void check_redundant(const struct policy *, struct diags *);

/* The same of rules about externals, each held against one other. */
void check_redundant_externals(const struct policy *, struct diags *);

/* Is 'ip' an address that a station can have? */
bool is_station(const struct in6_addr *ip);

/* Is it one of IPv6, or a range of those? */
bool address_is_ip6(const struct address *);

/* Is one of 'addresses' of the family? */
bool holds_family(const address_vec *addresses, bool ip6);

/* Is 'ip' an address of 'subnet'? */
bool subnet_holds(const struct address *subnet, const struct in6_addr *ip);

#endif /* sema/check.h */
