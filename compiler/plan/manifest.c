/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/manifest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "plan/differences.h"
#include "plan/dpdk.h"
#include "plan/htb.h"
#include "plan/nic.h"

struct json *
plan_names_to_json(const plan_names *names)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < names->n; i++) {
        json_array_add(array, json_string_create(names->v[i]));
    }
    return array;
}

struct json *
plan_interfaces_to_json(const struct plan *plan)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < plan->ports.n; i++) {
        json_array_add(array,
                       json_string_create(plan->ports.v[i].interface));
    }
    return array;
}

static struct json *
cookies_to_json(const struct plan *plan, bool implicit)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < plan->cookies.n; i++) {
        const struct plan_cookie *c = &plan->cookies.v[i];

        if (!strcmp(c->kind, "implicit") == implicit) {
            struct json *object = json_object_create();

            json_object_put_format(object, "cookie", "%#"PRIx64, c->cookie);
            if (implicit) {
                json_object_put_string(object, "reason", c->name);
                json_object_put_string(object, "text", c->text);
            } else {
                json_object_put_string(object, "kind", c->kind);
                json_object_put_string(object, "name", c->name);
                json_object_put_string(object, "place", c->text);
            }
            json_array_add(array, object);
        }
    }
    return array;
}

static void
put_flag(struct json *object, const char *name, bool flag)
{
    if (flag) {
        json_object_put(object, name, json_boolean_create(true));
    }
}

static void
put_borrowing(struct json *object, const struct plan_meter *m)
{
    if (m->parent) {
        json_object_put(object, "parent", json_integer_create(m->parent));
        json_object_put(object, "weight", json_integer_create(m->weight));
    }
    if (m->parent && m->peak) {
        json_object_put(object, "peak_kbps", json_integer_create(m->peak));
    }
}

static struct json *
meters_to_json(const struct plan *plan)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];
        struct json *object = json_object_create();

        json_object_put(object, "id", json_integer_create(m->id));
        json_object_put_string(object, m->lends ? "lends_for" : "tenant",
                               m->name);
        if (m->endpoint) {
            json_object_put_string(object, "endpoint", m->endpoint);
        }
        if (m->class) {
            json_object_put_string(object, "class", m->class);
        }
        put_flag(object, "dscp_in", m->dscp_in);
        put_flag(object, "tags", m->tags);
        put_flag(object, "receive", m->receive);
        put_flag(object, "split", m->split);
        put_flag(object, "rest", m->rest);
        put_flag(object, "limits", m->limits);
        if (m->uplink) {
            json_object_put_string(object, "uplink", m->uplink);
        }
        json_object_put(object, m->packets ? "rate_pps" : "rate_kbps",
                        json_integer_create(m->rate));
        json_object_put(object, m->packets ? "burst_packets"
                        : m->microburst ? "burst_bytes" : "burst_kbit",
                        json_integer_create(m->burst));
        if (m->tag) {
            json_object_put(object, "tag", json_integer_create(m->tag));
        }
        put_borrowing(object, m);
        json_array_add(array, object);
    }
    return array;
}

/* 'numbers' are 'n' tenants or endpoints, as 'what' says. */
static struct json *
numbers_to_json(const struct plan_number *numbers, size_t n, const char *what)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < n; i++) {
        struct json *object = json_object_create();

        json_object_put_string(object, what, numbers[i].name);
        json_object_put_format(object, "number", "%#"PRIx32,
                               numbers[i].number);
        if (numbers[i].zone) {
            json_object_put(object, "zone",
                            json_integer_create(numbers[i].zone));
        }
        json_array_add(array, object);
    }
    return array;
}

static struct json *
networks_to_json(const struct plan *plan)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < plan->networks.n; i++) {
        const struct plan_network *n = &plan->networks.v[i];
        struct json *object = json_object_create();

        json_object_put_string(object, "network", n->name);
        json_object_put(object, "vni", json_integer_create(n->vni));
        json_object_put(object, "mtu", json_integer_create(n->mtu));
        json_array_add(array, object);
    }
    return array;
}

static struct json *
externals_to_json(const struct plan *plan)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < plan->externals.n; i++) {
        const struct plan_external *x = &plan->externals.v[i];
        struct json *object = json_object_create();

        json_object_put_string(object, "external", x->name);
        json_object_put_string(object, "interface", x->interface);
        json_object_put_string(object, "mac", x->mac);
        json_object_put_string(object, "gateway_mac", x->gateway_mac);
        json_object_put_format(object, "number", "%#"PRIx32, x->number);
        json_array_add(array, object);
    }
    return array;
}

static struct json *
limits_to_json(const struct plan *plan)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < plan->limits.n; i++) {
        const struct plan_limit *limit = &plan->limits.v[i];
        struct json *object = json_object_create();

        json_object_put_string(object, "tenant", limit->name);
        json_object_put(object, "zone", json_integer_create(limit->zone));
        json_object_put(object, "limit",
                        json_integer_create(limit->connections));
        json_array_add(array, object);
    }
    return array;
}

static struct json *
upcalls_to_json(const struct plan *plan)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < plan->upcalls.n; i++) {
        const struct plan_upcalls *limit = &plan->upcalls.v[i];
        struct json *object = json_object_create();

        json_object_put_string(object, "tenant", limit->name);
        json_object_put(object, "rate", json_integer_create(limit->rate));
        json_object_put(object, "burst", json_integer_create(limit->burst));
        json_array_add(array, object);
    }
    return array;
}

static struct json *
tunnel_to_json(const struct plan *plan)
{
    struct json *object = json_object_create();

    json_object_put_string(object, "interface", PLAN_TUNNEL);
    json_object_put_string(object, "type", plan->tunnel.type);
    json_object_put_string(object, "local_ip", plan->tunnel.local_ip);
    return object;
}

void
plan_format_manifest(const struct plan *plan, struct ds *ds)
{
    struct json *manifest = json_object_create();
    struct json *files = plan_files_to_json(plan);
    char *s;

    json_object_put_string(manifest, "generator", PACKAGE_STRING);
    json_object_put_string(manifest, "node", plan->node);
    json_object_put_string(manifest, "target", plan->target);
    json_object_put_string(manifest, "rates_count",
                           "Ethernet frame bytes without FCS, preamble and "
                           "gap");
    if (shash_is_empty(json_object(files))) {
        json_destroy(files);
    } else {
        json_object_put(manifest, "files", files);
    }
    json_object_put(manifest, "flows", json_integer_create(plan->flows.n));
    json_object_put(manifest, "interfaces",
                    plan_interfaces_to_json(plan));
    json_object_put(manifest, "unbound", plan_names_to_json(&plan->unbound));
    json_object_put(manifest, "elsewhere",
                    plan_names_to_json(&plan->elsewhere));
    json_object_put(manifest, "by_tunnel",
                    plan_names_to_json(&plan->by_tunnel));
    json_object_put(manifest, "tenants",
                    numbers_to_json(plan->tenants.v, plan->tenants.n,
                                    "tenant"));
    json_object_put(manifest, "endpoints",
                    numbers_to_json(plan->endpoints.v, plan->endpoints.n,
                                    "endpoint"));
    json_object_put(manifest, "networks", networks_to_json(plan));
    if (plan->externals.n) {
        json_object_put(manifest, "externals", externals_to_json(plan));
    }
    if (plan->vfs) {
        json_object_put(manifest, "vfs", plan_vfs_to_json(plan->vfs));
    }
    if (plan->nic) {
        json_object_put(manifest, "nic", plan_nic_to_json(plan->nic));
    }
    if (plan->htb) {
        json_object_put(manifest, "htb", plan_htb_to_json(plan->htb));
    }
    if (plan->dpdk) {
        json_object_put(manifest, "dpdk", plan_dpdk_to_json(plan->dpdk));
    }
    if (plan->cut_off.n) {
        json_object_put(manifest, "cut_off",
                        plan_names_to_json(&plan->cut_off));
    }
    if (plan->limits.n) {
        json_object_put(manifest, "connections", limits_to_json(plan));
    }
    if (plan->telemetry) {
        json_object_put(manifest, "telemetry", json_boolean_create(true));
    }
    if (plan->differences.n) {
        json_object_put(manifest, "differences",
                        plan_differences_to_json(plan));
    }
    if (plan->in_hardware.n) {
        json_object_put(manifest, "meters_in_hardware",
                        plan_names_to_json(&plan->in_hardware));
    }
    if (plan->upcalls.n) {
        json_object_put(manifest, "upcalls", upcalls_to_json(plan));
    }
    json_object_put(manifest, "tunnel", (plan->tunnel.type
                                         ? tunnel_to_json(plan)
                                         : json_null_create()));
    json_object_put(manifest, "meters", meters_to_json(plan));
    json_object_put(manifest, "rules", cookies_to_json(plan, false));
    json_object_put(manifest, "implicit", cookies_to_json(plan, true));

    s = json_to_string(manifest, JSSF_PRETTY | JSSF_SORT);
    ds_put_format(ds, "%s\n", s);
    free(s);
    json_destroy(manifest);
}
