/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/htb.h"

#include <inttypes.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/nic.h"
#include "plan/plan.h"

/* One transaction takes all rows of an earlier run away and makes the new
 * ones; they are known by what stands in their external_ids. */
#define MARK "external_ids:bulkhead-qos"

static const char functions[] =
    "# find_rows TABLE COLUMN CONDITION\n"
    "find_rows() {\n"
    "    ovs-vsctl --bare --no-headings --columns=\"$2\" find \"$1\" \"$3\" "
    "||\n"
    "        fail \"node $node\" 'the database does not answer'\n"
    "}\n"
    "# port NAME PLACE: it is there, and has no QoS of somebody else's.\n"
    "port() {\n"
    "    qos=$(ovs-vsctl get Port \"$1\" qos) ||\n"
    "        fail \"$2\" \"there is no port $1\"\n"
    "    case \" []\"$old_qos\" \" in\n"
    "    *\"$qos \"*) ;;\n"
    "    *) fail \"$2\" \"port $1 has a QoS of somebody else's, $qos\" ;;\n"
    "    esac\n"
    "}\n"
    "# taken NAME PLACE: the switch has made the queues of a port.\n"
    "taken() {\n"
    "    case $(ovs-appctl qos/show \"$1\") in\n"
    "    *linux-htb*) ;;\n"
    "    *) fail \"$2\" \"$1 has not got its queues, see the log of "
    "ovs-vswitchd\" ;;\n"
    "    esac\n"
    "}\n";

static const char sweep[] =
    "old_qos=\n"
    "rows=$(find_rows QoS _uuid \"$mark\")\n"
    "for row in $rows; do\n"
    "    old_qos=\"$old_qos $row\"\n"
    "done\n"
    "old_queues=$(find_rows Queue _uuid \"$mark\")\n";

static const char take_back[] =
    "set --\n"
    "for row in $old_qos; do\n"
    "    names=$(find_rows Port name \"qos=$row\")\n"
    "    for name in $names; do\n"
    "        set -- \"$@\" -- clear Port \"$name\" qos\n"
    "    done\n"
    "    set -- \"$@\" -- destroy QoS \"$row\"\n"
    "done\n"
    "for row in $old_queues; do\n"
    "    set -- \"$@\" -- destroy Queue \"$row\"\n"
    "done\n";

/* "FUNCTION INTERFACE PLACE". */
static void
put_call(const char *function, const struct plan_htb_port *port,
         struct ds *ds)
{
    ds_put_format(ds, "%s ", function);
    plan_put_quoted(ds, port->interface);
    ds_put_char(ds, ' ');
    plan_put_quoted(ds, port->place);
    ds_put_char(ds, '\n');
}

/* Rates are in bits a second there. */
static void
put_rate(const char *key, uint64_t kbps, struct ds *ds)
{
    ds_put_format(ds, " other_config:%s=%"PRIu64, key, kbps * 1000);
}

/* Appends what makes the rows of port 'i'. */
static void
put_port(const struct plan_htb_port *port, size_t i, struct ds *ds)
{
    for (size_t j = 0; j < port->queues.n; j++) {
        const struct plan_queue *queue = &port->queues.v[j];

        ds_put_format(ds, "set -- \"$@\" -- --id=@q%zu-%"PRIu32" create Queue "
                      "\"$mark\"", i, queue->number);
        put_rate("min-rate", queue->min_kbps, ds);
        put_rate("max-rate", queue->max_kbps, ds);
        ds_put_char(ds, '\n');
    }
    ds_put_format(ds, "set -- \"$@\" -- --id=@p%zu create QoS type=linux-htb "
                  "\"$mark\"", i);
    put_rate("max-rate", port->max_kbps, ds);
    for (size_t j = 0; j < port->queues.n; j++) {
        ds_put_format(ds, " queues:%"PRIu32"=@q%zu-%"PRIu32,
                      port->queues.v[j].number, i, port->queues.v[j].number);
    }
    ds_put_cstr(ds, "\nset -- \"$@\" -- set Port ");
    plan_put_quoted(ds, port->interface);
    ds_put_format(ds, " qos=@p%zu\n", i);
}

void
plan_format_qos(const struct plan *plan, struct ds *ds)
{
    const struct plan_htb *htb = plan->htb;

    plan_put_script_head(plan, "qos.sh", "Queues of the ports", false,
                         ds);
    ds_put_cstr(ds, "node=");
    plan_put_quoted(ds, plan->node);
    ds_put_cstr(ds, "\nmark="MARK"=$node\n");
    ds_put_cstr(ds, functions);
    plan_put_running(ds);
    ds_put_cstr(ds, "running \"node $node\"\n");
    ds_put_cstr(ds, sweep);
    for (size_t i = 0; i < htb->ports.n; i++) {
        put_call("port", &htb->ports.v[i], ds);
    }
    ds_put_cstr(ds, take_back);
    for (size_t i = 0; i < htb->ports.n; i++) {
        put_port(&htb->ports.v[i], i, ds);
    }
    ds_put_cstr(ds, "[ $# = 0 ] || ovs-vsctl \"$@\" >/dev/null ||\n"
                "    fail \"node $node\" 'the database has refused the "
                "rows'\n");
    for (size_t i = 0; i < htb->ports.n; i++) {
        put_call("taken", &htb->ports.v[i], ds);
    }
}

static struct json *
queue_to_json(const struct plan_queue *queue)
{
    struct json *object = json_object_create();

    json_object_put(object, "queue", json_integer_create(queue->number));
    if (queue->tenant) {
        json_object_put_string(object, "tenant", queue->tenant);
    }
    json_object_put(object, "min_kbps", json_integer_create(queue->min_kbps));
    json_object_put(object, "max_kbps", json_integer_create(queue->max_kbps));
    return object;
}

struct json *
plan_htb_to_json(const struct plan_htb *htb)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < htb->ports.n; i++) {
        const struct plan_htb_port *port = &htb->ports.v[i];
        struct json *object = json_object_create();
        struct json *queues = json_array_create_empty();

        for (size_t j = 0; j < port->queues.n; j++) {
            json_array_add(queues, queue_to_json(&port->queues.v[j]));
        }
        json_object_put_string(object, "interface", port->interface);
        json_object_put_string(object, port->uplink ? "uplink" : "endpoint",
                               port->uplink ? port->uplink : port->endpoint);
        json_object_put(object, "max_kbps",
                        json_integer_create(port->max_kbps));
        json_object_put(object, "queues", queues);
        json_array_add(array, object);
    }
    return array;
}
