/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "util.h"

/* Parses "N-M", of at most 5 digits each. */
static bool
parse_port_range(const char *s, struct port_range *range)
{
    size_t n_first = strspn(s, "0123456789");
    size_t n_last = s[n_first] ? strspn(s + n_first + 1, "0123456789") : 0;
    unsigned int first, last;

    if (n_first > 5 || n_last > 5
        || s[n_first] != '-' || s[n_first + 1 + n_last]
        || !ovs_scan(s, "%u-%u", &first, &last)
        || first < 1 || first > last || last > UINT16_MAX) {
        return false;
    }
    *range = (struct port_range) { first, last };
    return true;
}

static void
decode_ports(struct decoder *d, const struct value *v,
             struct intent_service *service)
{
    if (!decode_list(d, v, "a list of ports")) {
        return;
    }
    for (size_t i = 0; i < v->n; i++) {
        const struct value *e = &v->elems[i];
        struct port_range range;

        if (e->type == VALUE_INTEGER) {
            range.first = range.last = decode_number(d, e, 1, UINT16_MAX);
        } else if (e->type != VALUE_STRING
                   || !parse_port_range(e->string, &range)) {
            decode_error(d, e, "this is not a port or a range of ports",
                         "write 443 without quotes, or \"8000-8100\" with "
                         "the lower first, from 1 to 65535");
            continue;
        }
        *vec_push(d->arena, &service->ports) = range;
    }
    if (!v->n) {
        decode_error(d, v, "a service without ports matches nothing",
                     "list its ports");
    }
}

/* Protocols that have a name here; all others have their number.  Only of TCP
 * and UDP does Open vSwitch 3.1's userspace conntrack know the ports. */
static const struct {
    const char *name;
    uint8_t number;
    bool has_ports;
} protocols[] = {
    { "tcp", IPPROTO_TCP, true },
    { "udp", IPPROTO_UDP, true },
    { "esp", IPPROTO_ESP, false },
    { "gre", IPPROTO_GRE, false },
    { "sctp", IPPROTO_SCTP, false },
};

/* Numbers that no service can have: what they mean another member says, no
 * tenant may send it, or it is a header of IPv6 that is looked past. */
static const struct {
    uint8_t number;
    const char *cause, *remedy;
} refused[] = {
    { IPPROTO_TCP, "TCP has a name", "write \"tcp\", and \"ports\"" },
    { IPPROTO_UDP, "UDP has a name", "write \"udp\", and \"ports\"" },
    { IPPROTO_ICMP, "ICMP is a built-in service",
      "use the service \"icmp\"" },
    { IPPROTO_ICMPV6, "ICMPv6 is a built-in service",
      "use the service \"icmp\"" },
    { IPPROTO_IGMP, "no tenant may send IGMP", "remove this service" },
    { IPPROTO_ROUTING, "this is a header of IPv6, not what it carries",
      "name the protocol behind it" },
    { IPPROTO_FRAGMENT, "this is a header of IPv6, not what it carries",
      "name the protocol behind it" },
    { IPPROTO_DSTOPTS, "this is a header of IPv6, not what it carries",
      "name the protocol behind it" },
    { IPPROTO_AH, "the switch looks past AH in IPv6, and not in IPv4",
      "use \"esp\", or the service \"ipsec\"" },
};

/* A number, which is 0 if no service can have it. */
static uint8_t
decode_protocol_number(struct decoder *d, const struct value *v)
{
    uint8_t number = (v->integer < 1 || v->integer > UINT8_MAX ? 0
                      : v->integer);

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        if (number == refused[i].number) {
            decode_error(d, v, refused[i].cause, refused[i].remedy);
            return 0;
        }
    }
    decode_number(d, v, 1, UINT8_MAX);
    return number;
}

static uint8_t
decode_protocol(struct decoder *d, const struct value *v)
{
    if (v->type == VALUE_INTEGER) {
        return decode_protocol_number(d, v);
    }
    for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
        if (v->type == VALUE_STRING && !strcmp(v->string, protocols[i].name)) {
            return protocols[i].number;
        }
    }
    decode_error(d, v, "this protocol is not known",
                 v->type == VALUE_STRING && !strncasecmp(v->string, "icmp", 4)
                 ? "use the service \"icmp\", which is built in"
                 : "write \"tcp\", \"udp\", \"esp\", \"gre\", \"sctp\", or a "
                 "number from 1 to 255 without quotes");
    return 0;
}

static bool
has_ports(const struct intent_service *service)
{
    for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
        if (protocols[i].number == service->protocol) {
            return protocols[i].has_ports;
        }
    }
    return false;
}

void
decode_service(struct decoder *d, const struct value *v,
               struct intent_service *service)
{
    static const struct member members[] = {
        { "protocol", true }, { "ports", false }, { NULL, false },
    };
    const struct value *protocol = value_member(v, "protocol");
    const struct value *ports = value_member(v, "ports");

    service->name = decode_key(v);
    if (!decode_object(d, v, "a service", members) || !protocol) {
        return;
    }
    service->protocol = decode_protocol(d, protocol);
    if (ports && (has_ports(service) || !service->protocol)) {
        decode_ports(d, ports, service);
    } else if (ports) {
        decode_error(d, ports, "only of TCP and UDP does the switch know the "
                     "ports of a connection", "remove them");
    } else if (has_ports(service)) {
        decode_error(d, v, "a service of TCP or UDP needs a member 'ports'",
                     "add \"ports\": [...]");
    }
}
