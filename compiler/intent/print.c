/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/intent.h"

#include <inttypes.h>

#include "intent/units.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "util.h"

/* The functions of this file mirror those of intent.c. */

/* A map of names from the elements of 'VEC', each made by 'FUNCTION'. */
#define NAMES_TO_JSON(VEC, FUNCTION)                                    \
    ({                                                                  \
        struct json *map__ = json_object_create();                      \
                                                                        \
        for (size_t i__ = 0; i__ < (VEC)->n; i__++) {                   \
            json_object_put(map__, (VEC)->v[i__].name.s,                \
                            FUNCTION(&(VEC)->v[i__]));                  \
        }                                                               \
        map__;                                                          \
    })

static void
put_text(struct json *object, const char *key, const struct text *text)
{
    if (text->s) {
        json_object_put_string(object, key, text->s);
    }
}

static void
put_quantity(struct json *object, const char *key,
             const struct quantity *quantity,
             void (*format)(uint64_t, struct ds *))
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    if (quantity->at) {
        format(quantity->n, &ds);
        json_object_put_string(object, key, ds_cstr(&ds));
    }
    ds_destroy(&ds);
}

static void
put_texts(struct json *object, const char *key, const text_vec *texts)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < texts->n; i++) {
        json_array_add(array, json_string_create(texts->v[i].s));
    }
    json_object_put(object, key, array);
}

static void
put_addresses(struct json *object, const char *key,
              const address_vec *addresses, bool prefixes)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < addresses->n; i++) {
        const struct address *a = &addresses->v[i];
        struct ds ds = DS_EMPTY_INITIALIZER;

        ipv6_format_mapped(&a->ip, &ds);
        if (prefixes) {
            ds_put_format(&ds, "/%d", (IN6_IS_ADDR_V4MAPPED(&a->ip)
                                       ? a->plen - 96 : a->plen));
        }
        json_array_add(array, json_string_create(ds_cstr(&ds)));
        ds_destroy(&ds);
    }
    json_object_put(object, key, array);
}

static void
put_labels(struct json *object, const text_vec *names, const text_vec *values)
{
    struct json *labels = json_object_create();

    for (size_t i = 0; i < names->n; i++) {
        json_object_put_string(labels, names->v[i].s, values->v[i].s);
    }
    json_object_put(object, "labels", labels);
}

static void
put_mtu(struct json *object, const struct mtu *mtu)
{
    if (mtu->at) {
        json_object_put(object, "mtu", json_integer_create(mtu->n));
    }
}

static struct json *
uplink_to_json(const struct intent_uplink *uplink)
{
    struct json *object = json_object_create();

    put_text(object, "interface", &uplink->interface);
    put_quantity(object, "rate", &uplink->rate, format_rate);
    put_quantity(object, "burst", &uplink->burst, format_bytes);
    put_mtu(object, &uplink->mtu);
    return object;
}

static struct json *
node_to_json(const struct intent_node *node)
{
    struct json *object = json_object_create();

    if (node->tunnel.at) {
        struct ds ds = DS_EMPTY_INITIALIZER;

        ipv6_format_mapped(&node->tunnel.ip, &ds);
        json_object_put_string(object, "tunnel_address", ds_cstr(&ds));
        ds_destroy(&ds);
    }
    json_object_put(object, "uplinks",
                    NAMES_TO_JSON(&node->uplinks, uplink_to_json));
    return object;
}

static struct json *
class_to_json(const struct intent_class *class)
{
    struct json *object = json_object_create();

    json_object_put(object, "dscp", json_integer_create(class->dscp));
    json_object_put(object, "queue", json_integer_create(class->queue));
    return object;
}

static struct json *
service_to_json(const struct intent_service *service)
{
    struct json *object = json_object_create();
    struct json *ports = json_array_create_empty();

    for (size_t i = 0; i < service->ports.n; i++) {
        const struct port_range *range = &service->ports.v[i];

        if (range->first == range->last) {
            json_array_add(ports, json_integer_create(range->first));
        } else {
            char *s = xasprintf("%"PRIu16"-%"PRIu16, range->first,
                                range->last);

            json_array_add(ports, json_string_create_nocopy(s));
        }
    }
    put_text(object, "protocol", &service->protocol);
    json_object_put(object, "ports", ports);
    return object;
}

static struct json *
network_to_json(const struct intent_network *network)
{
    struct json *object = json_object_create();

    json_object_put(object, "vni", json_integer_create(network->vni));
    put_addresses(object, "subnets", &network->subnets, true);
    put_addresses(object, "gateway", &network->gateways, false);
    put_mtu(object, &network->mtu);
    if (network->dhcp_server.s) {
        struct json *dhcp = json_object_create();

        put_text(dhcp, "server", &network->dhcp_server);
        json_object_put(object, "dhcp", dhcp);
    }
    put_addresses(object, "multicast", &network->groups, true);
    return object;
}

static struct json *
endpoint_to_json(const struct intent_endpoint *endpoint)
{
    struct json *object = json_object_create();

    put_text(object, "network", &endpoint->network);
    put_text(object, "node", &endpoint->node);
    put_text(object, "interface", &endpoint->interface);
    if (endpoint->mac_text.s) {
        json_object_put_format(object, "mac", ETH_ADDR_FMT,
                               ETH_ADDR_ARGS(endpoint->mac));
    }
    put_labels(object, &endpoint->label_names, &endpoint->label_values);
    put_addresses(object, "addresses", &endpoint->addresses, false);
    return object;
}

static struct json *
selector_to_json(const selector_vec *alternatives)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < alternatives->n; i++) {
        const struct intent_selector *s = &alternatives->v[i];
        struct json *object = json_object_create();

        put_text(object, "tenant", &s->tenant);
        put_text(object, "network", &s->network);
        put_text(object, "endpoint", &s->endpoint);
        put_labels(object, &s->label_names, &s->label_values);
        json_array_add(array, object);
    }
    return array;
}

/* A peering has its name as key, and no action. */
static struct json *
peering_to_json(const struct intent_rule *peering)
{
    struct json *object = json_object_create();

    json_object_put(object, "from", selector_to_json(&peering->from));
    json_object_put(object, "to", selector_to_json(&peering->to));
    put_text(object, "service", &peering->service);
    put_text(object, "class", &peering->class);
    return object;
}

static struct json *
rule_to_json(const struct intent_rule *rule)
{
    struct json *object = peering_to_json(rule);

    put_text(object, "name", &rule->name);
    json_object_put_string(object, "action", rule->deny ? "deny" : "allow");
    return object;
}

static void
put_bandwidth(struct json *object, const struct intent_tenant *tenant)
{
    struct json *bandwidth = json_object_create();

    if (tenant->limit.at) {
        put_quantity(bandwidth, "limit", &tenant->limit, format_rate);
        put_quantity(bandwidth, "burst", &tenant->burst, format_bytes);
        json_object_put(object, "bandwidth", bandwidth);
    } else {
        json_destroy(bandwidth);
    }
}

static void
put_microburst(struct json *object, const struct intent_microburst *microburst)
{
    if (microburst->at) {
        struct json *json = json_object_create();

        if (microburst->depth.at) {
            put_quantity(json, "depth", &microburst->depth, format_bytes);
        }
        if (microburst->mark.at) {
            put_quantity(json, "mark", &microburst->mark, format_bytes);
        }
        if (microburst->limit.at) {
            put_quantity(json, "limit", &microburst->limit, format_bytes);
        }
        json_object_put_string(json, "exceed",
                               microburst->ecn ? "ecn" : "drop");
        json_object_put(object, "microburst", json);
    }
}

static void
put_limits(struct json *object, const struct intent_tenant *tenant)
{
    if (tenant->packet_rate.at) {
        struct json *limits = json_object_create();
        struct json *packets = json_object_create();

        put_quantity(packets, "rate", &tenant->packet_rate,
                     format_packet_rate);
        put_quantity(packets, "burst", &tenant->packet_burst, format_packets);
        json_object_put(limits, "packets", packets);
        json_object_put(object, "limits", limits);
    }
}

static struct json *
tenant_to_json(const struct intent_tenant *tenant)
{
    struct json *object = json_object_create();
    struct json *rules = json_array_create_empty();

    json_object_put_string(object, "default",
                           tenant->default_allow ? "allow" : "deny");
    put_texts(object, "peers", &tenant->peers);
    put_bandwidth(object, tenant);
    put_microburst(object, &tenant->microburst);
    put_limits(object, tenant);
    json_object_put(object, "networks",
                    NAMES_TO_JSON(&tenant->networks, network_to_json));
    json_object_put(object, "endpoints",
                    NAMES_TO_JSON(&tenant->endpoints, endpoint_to_json));
    for (size_t i = 0; i < tenant->rules.n; i++) {
        json_array_add(rules, rule_to_json(&tenant->rules.v[i]));
    }
    json_object_put(object, "rules", rules);
    return object;
}

void
intent_print(const struct intent *intent, struct ds *ds)
{
    struct json *object = json_object_create();
    struct json *fabric = json_object_create();

    json_object_put(object, "version", json_integer_create(1));
    put_text(fabric, "encapsulation", &intent->encapsulation);
    json_object_put(fabric, "nodes",
                    NAMES_TO_JSON(&intent->nodes, node_to_json));
    json_object_put(object, "fabric", fabric);
    json_object_put(object, "classes",
                    NAMES_TO_JSON(&intent->classes, class_to_json));
    json_object_put(object, "services",
                    NAMES_TO_JSON(&intent->services, service_to_json));
    json_object_put(object, "tenants",
                    NAMES_TO_JSON(&intent->tenants, tenant_to_json));
    json_object_put(object, "peerings",
                    NAMES_TO_JSON(&intent->peerings, peering_to_json));
    json_to_ds(object, JSSF_PRETTY | JSSF_SORT, ds);
    ds_put_char(ds, '\n');
    json_destroy(object);
}
