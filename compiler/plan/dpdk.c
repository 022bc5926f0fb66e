/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/dpdk.h"

#include <inttypes.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/nic.h"
#include "plan/plan.h"
#include "util.h"

/* All text of the intent in the script is in single quotes. */

static const char usage[] =
    "# Arguments: BRIDGE, of the endpoints, and UPLINK=BRIDGE for each uplink "
    "whose\n"
    "# port is on no bridge yet.\n"
    "usage() {\n"
    "    echo 'usage: sh dpdk.sh BRIDGE [UPLINK=BRIDGE]...' >&2\n"
    "    exit 2\n"
    "}\n";

static const char functions[] =
    "# cpu NUMBER PLACE: the node has it.\n"
    "cpu() {\n"
    "    dir=/sys/devices/system/cpu/cpu$1\n"
    "    online=$(cat \"$dir/online\" 2>/dev/null || echo 1)\n"
    "    { [ -d \"$dir\" ] && [ \"$online\" = 1 ]; } ||\n"
    "        fail \"$2\" \"the node has no CPU $1\"\n"
    "}\n"
    "# numa NUMBER PLACE: the node has it.\n"
    "numa() {\n"
    "    [ \"$1\" = 0 ] || [ -d \"/sys/devices/system/node/node$1\" ] ||\n"
    "        fail \"$2\" \"the node has no NUMA node $1\"\n"
    "}\n"
    "# near PLACE DEVICE CPU...: warns if all are of another NUMA node than "
    "it.\n"
    "near() {\n"
    "    place=$1 device=$2\n"
    "    shift 2\n"
    "    at=$(cat \"/sys/bus/pci/devices/$device/numa_node\" 2>/dev/null ||\n"
    "             echo -1)\n"
    "    [ \"$at\" != -1 ] || return 0\n"
    "    for cpu; do\n"
    "        [ ! -d \"/sys/devices/system/cpu/cpu$cpu/node$at\" ] || "
    "return 0\n"
    "    done\n"
    "    echo \"dpdk.sh: warning: $device is of NUMA node $at, and CPU $* is "
    "not;\" \\\n"
    "        \"asked for at $place\" >&2\n"
    "}\n"
    "# bridge NAME PLACE: it is there, and of the userspace datapath.\n"
    "bridge() {\n"
    "    type=$(ovs-vsctl --timeout=30 get Bridge \"$1\" datapath_type) ||\n"
    "        fail \"$2\" \"there is no bridge $1\"\n"
    "    [ \"$type\" = netdev ] ||\n"
    "        fail \"$2\" \"bridge $1 has datapath_type $type, not netdev\"\n"
    "}\n"
    "# find_bridge UPLINK INTERFACE PLACE: the uplink's, as $bridge.\n"
    "find_bridge() {\n"
    "    bridge=$(ovs-vsctl --timeout=30 iface-to-br \"$2\" 2>/dev/null || "
    ":)\n"
    "    for pair in $uplinks; do\n"
    "        case $pair in\n"
    "        \"$1=\"*) bridge=${pair#*=} ;;\n"
    "        esac\n"
    "    done\n"
    "    [ -n \"$bridge\" ] ||\n"
    "        fail \"$3\" \"port $2 is on no bridge; say on which: "
    "$1=BRIDGE\"\n"
    "    bridge \"$bridge\" \"$3\"\n"
    "}\n"
    "# port PLACE BRIDGE INTERFACE ARGUMENT...: there is one, with these.\n"
    "port() {\n"
    "    place=$1 to=$2 name=$3\n"
    "    shift 3\n"
    "    try \"$place\" ovs-vsctl --timeout=120 --may-exist add-port \"$to\" "
    "\"$name\" \\\n"
    "        -- set Interface \"$name\" \"$@\"\n"
    "    error=$(ovs-vsctl --timeout=30 get Interface \"$name\" error) ||\n"
    "        fail \"$place\" \"there is no port $name\"\n"
    "    [ \"$error\" = '[]' ] || fail \"$place\" \"port $name: $error\"\n"
    "}\n"
    "# started: what the switch reads when DPDK starts in it.\n"
    "started() {\n"
    "    ovs-vsctl --timeout=30 --if-exists get Open_vSwitch . \\\n"
    "        other_config:dpdk-lcore-mask other_config:dpdk-socket-mem ||\n"
    "        fail \"$node\" 'the database does not answer'\n"
    "}\n";

/* Lists of numbers as Open vSwitch takes them. */

static void
put_mask(const plan_numbers *cpus, struct ds *ds)
{
    uint32_t max = 0;

    for (size_t i = 0; i < cpus->n; i++) {
        max = MAX(max, cpus->v[i]);
    }
    ds_put_cstr(ds, "0x");
    for (uint32_t digit = max / 4 + 1; digit-- > 0; ) {
        unsigned int bits = 0;

        for (size_t i = 0; i < cpus->n; i++) {
            bits |= cpus->v[i] / 4 == digit ? 1u << cpus->v[i] % 4 : 0;
        }
        ds_put_format(ds, "%x", bits);
    }
}

static void
put_list(const plan_numbers *numbers, struct ds *ds)
{
    for (size_t i = 0; i < numbers->n; i++) {
        ds_put_format(ds, "%s%"PRIu32, i ? "," : "", numbers->v[i]);
    }
}

/* Each queue and its CPU. */
static void
put_affinity(const struct plan_dpdk_port *port, struct ds *ds)
{
    for (int i = 0; i < MAX(1, port->queues); i++) {
        ds_put_format(ds, "%s%d:%"PRIu32, i ? "," : "", i,
                      port->pmd_cpus.v[i % port->pmd_cpus.n]);
    }
}

/* "FUNCTION NUMBER PLACE". */
static void
put_asks(const char *function, const plan_numbers *numbers, const char *place,
         bool indexes, struct ds *ds)
{
    for (size_t i = 0; i < numbers->n; i++) {
        if (!indexes || numbers->v[i]) {
            ds_put_format(ds, "%s %"PRIuSIZE" ", function,
                          indexes ? i : numbers->v[i]);
            plan_put_quoted(ds, place);
            ds_put_char(ds, '\n');
        }
    }
}

static void
put_arguments(const struct plan *plan, struct ds *ds)
{
    const struct plan_dpdk *dpdk = plan->dpdk;

    ds_put_cstr(ds, "node=");
    plan_put_quoted(ds, dpdk->place);
    ds_put_cstr(ds, "\nset -f\n"
                "[ $# -gt 0 ] || usage\n"
                "integration=$1\n"
                "shift\n"
                "uplinks=$*\n"
                "for pair in $uplinks; do\n"
                "    case $pair in\n");
    for (size_t i = 0; i < dpdk->ports.n; i++) {
        if (dpdk->ports.v[i].uplink) {
            ds_put_cstr(ds, "    ");
            plan_put_quoted(ds, dpdk->ports.v[i].name);
            ds_put_cstr(ds, "=?*) ;;\n");
        }
    }
    ds_put_cstr(ds, "    *) usage ;;\n"
                "    esac\n"
                "done\n"
                "running \"$node\"\n"
                "bridge \"$integration\" \"$node\"\n");
}

static bool
has_number(const plan_numbers *numbers, uint32_t n)
{
    for (size_t i = 0; i < numbers->n; i++) {
        if (numbers->v[i] == n) {
            return true;
        }
    }
    return false;
}

/* The CPUs that poll ports which have none of their own. */
static void
put_shared_cpus(const struct plan_dpdk *dpdk, struct ds *ds)
{
    for (size_t i = 0; i < dpdk->pmd_cpus.n; i++) {
        uint32_t cpu = dpdk->pmd_cpus.v[i];
        bool own = false;

        for (size_t j = 0; j < dpdk->ports.n; j++) {
            own |= has_number(&dpdk->ports.v[j].pmd_cpus, cpu);
        }
        if (!own) {
            ds_put_format(ds, " %"PRIu32, cpu);
        }
    }
}

/* Each CPU that polls the port, or all that may. */
static void
put_near(const struct plan_dpdk *dpdk, const struct plan_dpdk_port *port,
         struct ds *ds)
{
    const plan_numbers *own = &port->pmd_cpus;

    for (size_t i = 0; i < MAX(1, own->n); i++) {
        ds_put_cstr(ds, "near ");
        plan_put_quoted(ds, port->place);
        ds_put_char(ds, ' ');
        plan_put_quoted(ds, port->device);
        if (own->n) {
            ds_put_format(ds, " %"PRIu32, own->v[i]);
        } else {
            put_shared_cpus(dpdk, ds);
        }
        ds_put_char(ds, '\n');
    }
}

/* What is not said is taken away, so that the intent decides all of it.  Where
 * DPDK does not start, dpdk-init=true would end the switch, and all that it
 * does without DPDK. */
static void
put_settings(const struct plan_dpdk *dpdk, struct ds *ds)
{
    ds_put_cstr(ds, "before=$(started)\n"
                "running=$(ovs-vsctl --timeout=30 get Open_vSwitch . "
                "dpdk_initialized) ||\n"
                "    fail \"$node\" 'the database does not answer'\n"
                "try \"$node\" ovs-vsctl --timeout=120 \\\n"
                "    remove Open_vSwitch . other_config dpdk-lcore-mask "
                "dpdk-socket-mem \\\n"
                "    -- set Open_vSwitch . other_config:dpdk-init=try \\\n"
                "    other_config:pmd-cpu-mask=");
    put_mask(&dpdk->pmd_cpus, ds);
    if (dpdk->lcores.n) {
        ds_put_cstr(ds, " \\\n    other_config:dpdk-lcore-mask=");
        put_mask(&dpdk->lcores, ds);
    }
    if (dpdk->memory.n) {
        ds_put_cstr(ds, " \\\n    'other_config:dpdk-socket-mem=\"");
        put_list(&dpdk->memory, ds);
        ds_put_cstr(ds, "\"'");
    }
    ds_put_cstr(ds, "\n"
                "ovs-vsctl --timeout=10 wait-until Open_vSwitch . "
                "dpdk_initialized=true ||\n"
                "    fail \"$node\" 'DPDK does not start, see the log of "
                "ovs-vswitchd'\n"
                "[ \"$running\" = false ] || [ \"$before\" = \"$(started)\" ] "
                "||\n"
                "    echo 'dpdk.sh: restart ovs-vswitchd: it reads CPUs and "
                "memory of DPDK when' \\\n"
                "        'it starts, and they have changed' >&2\n");
}

static void
put_devargs(const struct plan_dpdk_port *port, struct ds *ds)
{
    ds_put_format(ds, " type=dpdk \\\n    'options:dpdk-devargs=\"%s",
                  port->device);
    if (port->representor) {
        ds_put_format(ds, ",representor=[%"PRIu16"]", port->vf);
    }
    ds_put_cstr(ds, "\"'");
}

/* Names and paths are of plain words, without quotes. */
static void
put_port(const struct plan_dpdk_port *port, struct ds *ds)
{
    if (port->uplink) {
        ds_put_cstr(ds, "find_bridge ");
        plan_put_quoted(ds, port->name);
        ds_put_char(ds, ' ');
        plan_put_quoted(ds, port->interface);
        ds_put_char(ds, ' ');
        plan_put_quoted(ds, port->place);
        ds_put_char(ds, '\n');
    }
    ds_put_cstr(ds, "port ");
    plan_put_quoted(ds, port->place);
    ds_put_format(ds, " \"$%s\" ", port->uplink ? "bridge" : "integration");
    plan_put_quoted(ds, port->interface);
    if (port->device) {
        put_devargs(port, ds);
    } else {
        ds_put_format(ds, " type=dpdkvhostuserclient \\\n"
                      "    'options:vhost-server-path=\"%s\"'", port->socket);
    }
    ds_put_format(ds, " mtu_request=%"PRIu16, port->mtu);
    if (port->queues) {
        ds_put_format(ds, " options:n_rxq=%"PRIu16, port->queues);
    }
    if (port->pmd_cpus.n) {
        ds_put_cstr(ds, " \\\n    'other_config:pmd-rxq-affinity=\"");
        put_affinity(port, ds);
        ds_put_cstr(ds, "\"'");
    }
    ds_put_cstr(ds, " \\\n    -- remove Interface ");
    plan_put_quoted(ds, port->interface);
    ds_put_format(ds, " options %s%s",
                  port->device ? "vhost-server-path" : "dpdk-devargs",
                  port->queues ? "" : " n_rxq");
    if (!port->pmd_cpus.n) {
        ds_put_cstr(ds, " \\\n    -- remove Interface ");
        plan_put_quoted(ds, port->interface);
        ds_put_cstr(ds, " other_config pmd-rxq-affinity");
    }
    ds_put_char(ds, '\n');
}

void
plan_format_dpdk(const struct plan *plan, struct ds *ds)
{
    const struct plan_dpdk *dpdk = plan->dpdk;

    plan_put_script_head(plan, "dpdk.sh", "DPDK", false, ds);
    ds_put_cstr(ds, usage);
    ds_put_cstr(ds, functions);
    plan_put_running(ds);
    put_arguments(plan, ds);
    put_asks("cpu", &dpdk->lcores, dpdk->place, false, ds);
    put_asks("cpu", &dpdk->pmd_cpus, dpdk->place, false, ds);
    put_asks("numa", &dpdk->memory, dpdk->place, true, ds);
    for (size_t i = 0; i < dpdk->ports.n; i++) {
        if (dpdk->ports.v[i].uplink) {
            put_near(dpdk, &dpdk->ports.v[i], ds);
        }
    }
    put_settings(dpdk, ds);
    for (size_t i = 0; i < dpdk->ports.n; i++) {
        put_port(&dpdk->ports.v[i], ds);
    }
}

static struct json *
numbers_to_json(const plan_numbers *numbers)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < numbers->n; i++) {
        json_array_add(array, json_integer_create(numbers->v[i]));
    }
    return array;
}

static struct json *
port_to_json(const struct plan_dpdk_port *port)
{
    struct json *object = json_object_create();

    json_object_put_string(object, "interface", port->interface);
    json_object_put_string(object, port->uplink ? "uplink" : "endpoint",
                           port->name);
    json_object_put(object, "mtu", json_integer_create(port->mtu));
    if (port->device) {
        json_object_put_string(object, "device", port->device);
    } else {
        json_object_put_string(object, "socket", port->socket);
    }
    if (port->representor) {
        json_object_put(object, "vf", json_integer_create(port->vf));
    }
    if (port->uplink) {
        json_object_put(object, "queues",
                        json_integer_create(MAX(1, port->queues)));
    }
    if (port->pmd_cpus.n) {
        json_object_put(object, "pmd_cpus", numbers_to_json(&port->pmd_cpus));
    }
    return object;
}

struct json *
plan_dpdk_to_json(const struct plan_dpdk *dpdk)
{
    struct json *object = json_object_create();
    struct json *ports = json_array_create_empty();
    struct json *restart = json_array_create_empty();

    for (size_t i = 0; i < dpdk->ports.n; i++) {
        json_array_add(ports, port_to_json(&dpdk->ports.v[i]));
    }
    json_array_add(restart, json_string_create("dpdk-lcore-mask"));
    json_array_add(restart, json_string_create("dpdk-socket-mem"));
    json_object_put(object, "lcores", numbers_to_json(&dpdk->lcores));
    json_object_put(object, "pmd_cpus", numbers_to_json(&dpdk->pmd_cpus));
    json_object_put(object, "memory_mib", numbers_to_json(&dpdk->memory));
    json_object_put(object, "restart_after", restart);
    json_object_put(object, "ports", ports);
    return object;
}
