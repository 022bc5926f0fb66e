/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OFFLOAD_COMMON_H
#define OFFLOAD_COMMON_H 1

/* Packets that no rule speaks of, and that every node must deal with: what
 * lies about its sender, what asks for a neighbor, what asks for an
 * address. */

#include "offload/rule-packets.h"

enum common_packet {
    COMMON_SPOOF,               /* A source address that is not its own. */
    COMMON_NEIGHBOR,            /* ARP requests, neighbor solicitations. */
    COMMON_DHCP,                /* Requests to the network's server. */
    N_COMMON_PACKETS,
};
extern const char *const common_packet_names[N_COMMON_PACKETS];

/* Appends one packet for each endpoint here whose network has to do with it,
 * in the arena. */
void common_packets(const struct ir_prog *, enum common_packet,
                    const struct walker *, struct arena *, rule_packet_vec *);

#endif /* offload/common.h */
