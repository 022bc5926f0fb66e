/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/northbound.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

#define REQUEST4 "udp.src == 68 && udp.dst == 67"
#define REQUEST6 "udp.src == 546 && udp.dst == 547"

/* All_DHCP_Relay_Agents_and_Servers, RFC 8415 section 7.1. */
static const char answered6[] = REQUEST6" && ip6.dst == ff02::1:2"
    " && eth.dst == 33:33:00:01:00:02";

static const char requests[]
    = "((ip4 && "REQUEST4") || (ip6 && "REQUEST6"))";

const char *const nb_control_kinds[NB_N_CONTROL_KINDS] = {
    "arp", "arp-resolve", "dhcpv4-opts", "dhcpv6-opts", "dns", "event-elb",
    "icmp4-error", "icmp6-error", "igmp", "nd-na", "nd-ns", "nd-ns-resolve",
    "nd-ra-opts", "tcp-reset", "reject", "svc-monitor",
};

/* OVN takes letters, digits and the first two of the marks. */
const char *
nb_mangle(struct arena *arena, const char *prefix, const char *name)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *mangled;

    ds_put_format(&ds, "bulkhead.%s.", prefix);
    for (const char *p = name; *p; p++) {
        switch (*p) {
        case '_': ds_put_cstr(&ds, "__"); break;
        case '-': ds_put_cstr(&ds, "_m"); break;
        case '/': ds_put_cstr(&ds, "_s"); break;
        case ':': ds_put_cstr(&ds, "_c"); break;
        default: ds_put_char(&ds, *p); break;
        }
    }
    mangled = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return mangled;
}

const char *
nb_burst_string(struct arena *arena, uint64_t asked, uint64_t row)
{
    return arena_printf(arena, "%"PRIu64"/%"PRIu64, asked, row);
}

bool
nb_burst_parse(const char *s, uint64_t row, uint64_t least, uint64_t most,
               uint64_t *asked)
{
    unsigned long long value[2];

    for (size_t i = 0; i < ARRAY_SIZE(value); i++) {
        const char *end = s ? strchrnul(s, i ? '\0' : '/') : NULL;
        char *rest;

        if (!s || *s < '0' || *s > '9') {
            return false;
        }
        errno = 0;
        value[i] = strtoull(s, &rest, 10);
        if (errno || rest != end) {
            return false;
        }
        s = *end ? end + 1 : NULL;
    }
    *asked = value[0];
    return value[1] == row && *asked >= least && *asked <= most;
}

void
nb_add_renewal(struct ds *renewals, const char *cidr, const char *gateway)
{
    ds_put_format(renewals, "%s(ip4.src == %s && ip4.dst == %s)",
                  renewals->length ? " || " : "", cidr, gateway);
}

/* Requests of IPv4 that OVN answers: those without an address yet, or for the
 * gateway of the subnet that the address given is in. */
static const char *
answered4(struct arena *arena, const struct nb_dhcp *dhcp)
{
    const char *leases = nb_mangle(arena, NB_LEASES, dhcp->network);

    return arena_printf(arena, REQUEST4" && ((eth.bcast && ip4.dst == "
                        "255.255.255.255 && (ip4.src == 0.0.0.0 || "
                        "ip4.src == $%s)) || (eth.dst == %s && ip4.src == $%s "
                        "&& (%s)))", leases, dhcp->server_mac, leases,
                        dhcp->renewals);
}

nb_acls
nb_dhcp_acls(struct arena *arena, const struct nb_dhcp *dhcp)
{
    nb_acls acls = VEC_INIT;

    if (dhcp->renewals) {
        *vec_push(arena, &acls) = (struct nb_acl) {
            "dhcp", answered4(arena, dhcp), "allow-stateless",
            NB_PRIORITY_DHCP, false,
        };
    }
    if (dhcp->ip6) {
        *vec_push(arena, &acls) = (struct nb_acl) {
            "dhcpv6", answered6, "allow-stateless", NB_PRIORITY_DHCP, false,
        };
    }
    for (int to_lport = 0; to_lport < 2; to_lport++) {
        *vec_push(arena, &acls) = (struct nb_acl) {
            "unreachable", requests, "drop", NB_PRIORITY_FORBIDDEN, to_lport,
        };
        *vec_push(arena, &acls) = (struct nb_acl) {
            "untracked", requests, "allow-stateless", NB_PRIORITY_UNTRACKED,
            to_lport,
        };
    }
    return acls;
}
