/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_MEANING_DHCP_H
#define SEMA_MEANING_DHCP_H 1

/* The room behind meaning_judge() for DHCP (RFC 2131) and DHCPv6 (RFC 8415) in
 * networks that name a server, or where the fabric answers. */

#include "sema/meaning.h"

/* Is it a request in such a network, whoever sends it, or the truthful answer
 * of the endpoint that serves it? */
bool dhcp_speaks(const struct meaning_question *);

/* What becomes of it. */
struct meaning dhcp_judge(const struct meaning_question *);

#endif /* sema/meaning-dhcp.h */
