/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_MEANING_ENDPOINT_H
#define SEMA_MEANING_ENDPOINT_H 1

/* The room behind meaning_judge() for the addresses that an endpoint has. */

#include <netinet/in.h>
#include <stdbool.h>

struct flow;
struct policy_endpoint;

/* Is 'ip', which 'packet' carries, an address of the endpoint's? */
bool endpoint_has_address(const struct policy_endpoint *,
                          const struct flow *packet,
                          const struct in6_addr *ip);

/* Has it an address of IPv6, or of IPv4? */
bool endpoint_has_family(const struct policy_endpoint *, bool ip6);

/* Is 'ip' the link-local address that follows from its MAC, as hosts have that
 * have IPv6 (RFC 4291 section 2.5.1)? */
bool endpoint_has_link_local(const struct policy_endpoint *,
                             const struct in6_addr *ip);

#endif /* sema/meaning-endpoint.h */
