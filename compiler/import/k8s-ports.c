/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <netinet/in.h>
#include <string.h>

#include "base/nearest.h"
#include "bitmap.h"
#include "util.h"

/* Destination ports. */

/* What both directions of a symmetric service go to (docs/intents.md). */
static const uint16_t symmetric[] = { 1000, 4791, 4793 };

static void
add_range(struct k8s *k, struct k8s_ports *ports, uint8_t protocol,
          uint16_t first, uint16_t last)
{
    ranges_add(k->arena, protocol == IPPROTO_TCP ? &ports->tcp : &ports->udp,
               first, last);
}

/* Stores the protocol, TCP by default.  False if it is not ours to say. */
static bool
read_protocol(struct k8s *k, const struct value *v, uint8_t *protocol)
{
    const char *name = k8s_string(k, v, "protocol");

    *protocol = IPPROTO_TCP;
    if (name && !strcmp(name, "UDP")) {
        *protocol = IPPROTO_UDP;
    } else if (name && !strcmp(name, "SCTP")) {
        k8s_warn(k, v, "it does not pass; a rule of a service of the protocol "
                 "\"sctp\" would let it, with all its ports",
                 "left out: the switch does not see ports of SCTP, so an "
                 "intent names none of them");
        return false;
    } else if (name && strcmp(name, "TCP")) {
        k8s_error(k, v, "write TCP, UDP or SCTP",
                  "protocol '%s' is not known", name);
        return false;
    }
    return true;
}

/* The number of a port, at least 'min'; 0 after adding an error. */
static uint16_t
read_number(struct k8s *k, const struct value *v, int64_t min)
{
    if (v->type != VALUE_INTEGER || v->integer < min
        || v->integer > UINT16_MAX) {
        k8s_error(k, v, "write a port as the API takes it",
                  "this must be a number from %d to 65535", (int) min);
        return 0;
    }
    return v->integer;
}

static void
read_port(struct k8s *k, const struct value *v, struct k8s_ports *ports)
{
    static const char *const members[] = { "protocol", "port", "endPort" };
    const struct value *port, *end;
    uint16_t first, last;
    uint8_t protocol;

    if (!k8s_has_only(k, v, members, ARRAY_SIZE(members))
        || !read_protocol(k, v, &protocol)) {
        return;
    }
    port = k8s_member(v, "port");
    end = k8s_member(v, "endPort");
    if (end && (!port || port->type != VALUE_INTEGER)) {
        k8s_error(k, end, "write the number of the first port",
                  "\"endPort\" needs a \"port\" that is a number");
    } else if (!port) {
        add_range(k, ports, protocol, 1, UINT16_MAX);
    } else if (port->type == VALUE_STRING) {
        *vec_push(k->arena, &ports->named) = (struct k8s_port) {
            port->string, protocol, 0,
        };
    } else {
        first = read_number(k, port, 1);
        last = first && end ? read_number(k, end, first) : first;
        if (first && last) {
            add_range(k, ports, protocol, first, last);
        }
    }
}

void
k8s_read_ports(struct k8s *k, const struct value *rule,
               struct k8s_ports *ports)
{
    const struct value *list = k8s_list(k, rule, "ports");

    ports->any = !list || !list->n;
    for (size_t i = 0; list && i < list->n; i++) {
        read_port(k, &list->elems[i], ports);
    }
}

/* Has one of the pods the port?  If not, finds the name that is nearest. */
static bool
find_name(struct k8s *k, const struct k8s_port *named,
          const unsigned long *pods, struct nearest *nearest)
{
    size_t i;

    BITMAP_FOR_EACH_1 (i, k->pods.n, pods) {
        const struct k8s_pod *pod = &k->pods.v[i];

        for (size_t j = 0; j < pod->ports.n; j++) {
            const struct k8s_port *p = &pod->ports.v[j];

            k->work++;
            if (p->protocol != named->protocol) {
                continue;
            } else if (!strcmp(p->name, named->name)) {
                return true;
            }
            nearest_try(nearest, p->name);
        }
    }
    return false;
}

void
k8s_check_names(struct k8s *k, const struct k8s_side *side, bool ingress)
{
    const unsigned long *pods
        = (side->ports.named.n
           ? k8s_members(k, ingress ? &side->subject : &side->peers) : NULL);

    k->object = side->title;
    for (size_t i = 0; i < side->ports.named.n; i++) {
        const struct k8s_port *named = &side->ports.named.v[i];
        struct nearest nearest = nearest_init(named->name);

        if (!bitmap_is_all_zeros(pods, k->pods.n)
            && !find_name(k, named, pods, &nearest)) {
            k8s_warn(k, side->at, nearest.best
                     ? arena_printf(k->arena, "did you mean '%s'?",
                                    nearest.best)
                     : "name a port of their containers, or import again "
                     "when there are such pods",
                     "left out: no pod that it lets get something has a %s "
                     "port called '%s'", named->protocol == IPPROTO_UDP
                     ? "UDP" : "TCP", named->name);
        }
    }
    k->object = NULL;
}

bool
k8s_same_ranges(const port_ranges *a, const port_ranges *b)
{
    return (a->n == b->n
            && (!a->n || !memcmp(a->v, b->v, a->n * sizeof *a->v)));
}

struct k8s_ports
k8s_resolve(struct k8s *k, const struct k8s_ports *ports,
            const struct k8s_pod *pod)
{
    struct k8s_ports out = {
        .any = ports->any,
        .tcp = ranges_join(k->arena, &ports->tcp),
        .udp = ranges_join(k->arena, &ports->udp),
    };

    for (size_t i = 0; pod && i < ports->named.n; i++) {
        const struct k8s_port *named = &ports->named.v[i];

        for (size_t j = 0; j < pod->ports.n; j++) {
            const struct k8s_port *p = &pod->ports.v[j];

            k->work++;
            if (p->protocol == named->protocol
                && !strcmp(p->name, named->name)) {
                add_range(k, &out, p->protocol, p->number, p->number);
                break;          /* Names are unique in a pod. */
            }
        }
    }
    out.tcp = ranges_join(k->arena, &out.tcp);
    out.udp = ranges_join(k->arena, &out.udp);
    return out;
}

struct k8s_ports
k8s_common_ports(struct k8s *k, const struct k8s_ports *a,
                 const struct k8s_ports *b)
{
    if (a->any || b->any) {
        return a->any ? *b : *a;
    }
    return (struct k8s_ports) {
        .tcp = ranges_common(k->arena, &a->tcp, &b->tcp, &k->work),
        .udp = ranges_common(k->arena, &a->udp, &b->udp, &k->work),
    };
}

bool
k8s_cut_symmetric(struct k8s *k, struct k8s_ports *ports)
{
    bool cut = false;

    for (size_t i = 0; i < ARRAY_SIZE(symmetric); i++) {
        uint16_t port = symmetric[i];
        port_ranges out = VEC_INIT;

        for (size_t j = 0; j < ports->udp.n; j++) {
            struct port_range r = ports->udp.v[j];

            if (port < r.first || port > r.last) {
                *vec_push(k->arena, &out) = r;
                continue;
            }
            cut = true;
            ranges_add(k->arena, &out, r.first, port - 1);
            ranges_add(k->arena, &out, port + 1, r.last);
        }
        ports->udp = out;
    }
    return cut;
}
