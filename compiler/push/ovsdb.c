/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/ovsdb.h"

#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "flow.h"
#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "plan/plan.h"
#include "socket-util.h"
#include "stream.h"
#include "timeval.h"
#include "util.h"

/* One "select" of 'columns' from 'table'. */
static struct json *
select_op(const char *table, const char *const columns[])
{
    struct json *op = json_object_create();
    struct json *names = json_array_create_empty();

    for (size_t i = 0; columns[i]; i++) {
        json_array_add(names, json_string_create(columns[i]));
    }
    json_object_put_string(op, "op", "select");
    json_object_put_string(op, "table", table);
    json_object_put(op, "where", json_array_create_empty());
    json_object_put(op, "columns", names);
    return op;
}

/* RFC 7047 section 4.1.3.  The tables are small: one row a port. */
static struct jsonrpc_msg *
make_request(void)
{
    static const char *const bridge_columns[] = {
        "name", "ports", "fail_mode", "datapath_type", "protocols",
        "controller", "other_config", "mirrors", NULL
    };
    static const char *const port_columns[] = {
        "_uuid", "name", "interfaces", NULL
    };
    static const char *const interface_columns[] = {
        "_uuid", "name", "ofport", "type", "options", NULL
    };
    static const char *const switch_columns[] = { "manager_options", NULL };
    static const char *const mirror_columns[] = {
        "_uuid", "name", "output_port", "output_vlan", NULL
    };
    struct json *params = json_array_create_empty();

    json_array_add(params, json_string_create("Open_vSwitch"));
    json_array_add(params, select_op("Bridge", bridge_columns));
    json_array_add(params, select_op("Port", port_columns));
    json_array_add(params, select_op("Interface", interface_columns));
    json_array_add(params, select_op("Open_vSwitch", switch_columns));
    json_array_add(params, select_op("Mirror", mirror_columns));
    return jsonrpc_create_request("transact", params, NULL);
}

/* Waits until 'rpc' has a reply to the request 'id', at most to 'deadline'. */
static int
wait_for_reply(struct jsonrpc *rpc, const struct json *id,
               long long int deadline, struct jsonrpc_msg **replyp)
{
    for (;;) {
        struct jsonrpc_msg *msg;
        int error;

        jsonrpc_run(rpc);
        error = jsonrpc_recv(rpc, &msg);
        if (!error) {
            if ((msg->type == JSONRPC_REPLY || msg->type == JSONRPC_ERROR)
                && json_equal(msg->id, id)) {
                *replyp = msg;
                return 0;
            }
            jsonrpc_msg_destroy(msg);
            continue;
        } else if (error != EAGAIN) {
            return error == EOF ? ECONNRESET : error;
        } else if (time_msec() >= deadline) {
            return ETIMEDOUT;
        }
        jsonrpc_wait(rpc);
        jsonrpc_recv_wait(rpc);
        poll_timer_wait_until(deadline);
        poll_block();
    }
}

static int
transact(const char *remote, long long int deadline,
         struct jsonrpc_msg **replyp)
{
    long long int timeout = MAX(1, deadline - time_msec());
    struct stream *stream;
    int error = stream_open_block(jsonrpc_stream_open(remote, &stream,
                                                      DSCP_DEFAULT),
                                  timeout, &stream);
    if (error) {
        return error;
    }

    struct jsonrpc *rpc = jsonrpc_open(stream);
    struct jsonrpc_msg *request = make_request();
    struct json *id = json_clone(request->id);

    error = jsonrpc_send(rpc, request);
    if (!error) {
        error = wait_for_reply(rpc, id, deadline, replyp);
    }
    json_destroy(id);
    jsonrpc_close(rpc);
    return error;
}

/* The rows of the 'i'th "select" of a reply, or NULL. */
static const struct json *
result_rows(const struct jsonrpc_msg *reply, size_t i)
{
    const struct json *result = reply->result;

    if (reply->type != JSONRPC_REPLY || !result
        || result->type != JSON_ARRAY || result->array.n <= i
        || result->array.elems[i]->type != JSON_OBJECT) {
        return NULL;
    }

    const struct json *rows = shash_find_data(result->array.elems[i]->object,
                                              "rows");
    return rows && rows->type == JSON_ARRAY ? rows : NULL;
}

static const struct json *
row_column(const struct json *row, const char *column)
{
    return row->type == JSON_OBJECT ? shash_find_data(row->object, column)
                                    : NULL;
}

/* The string of a column that may be an empty set; never NULL. */
static const char *
column_string(const struct json *row, const char *column)
{
    const struct json *value = row_column(row, column);

    return value && value->type == JSON_STRING ? json_string(value) : "";
}

/* The string of an ["uuid", "..."], or NULL. */
static const char *
uuid_string(const struct json *json)
{
    return (json && json->type == JSON_ARRAY && json->array.n == 2
            && json->array.elems[0]->type == JSON_STRING
            && !strcmp(json_string(json->array.elems[0]), "uuid")
            && json->array.elems[1]->type == JSON_STRING
            ? json_string(json->array.elems[1]) : NULL);
}

/* Adds the UUIDs in a column, one or a ["set", [...]], to 'uuids'. */
static void
add_uuids(const struct json *value, struct shash *uuids)
{
    const char *one = uuid_string(value);

    if (one) {
        shash_add_once(uuids, one, NULL);
    } else if (value && value->type == JSON_ARRAY && value->array.n == 2
               && value->array.elems[1]->type == JSON_ARRAY) {
        const struct json *set = value->array.elems[1];

        for (size_t i = 0; i < set->array.n; i++) {
            const char *uuid = uuid_string(set->array.elems[i]);

            if (uuid) {
                shash_add_once(uuids, uuid, NULL);
            }
        }
    }
}

/* Adds the pairs of a ["map", [[key, value], ...]] of strings to 'map'. */
static void
read_map(const struct json *json, struct smap *map)
{
    if (!json || json->type != JSON_ARRAY || json->array.n != 2
        || json->array.elems[1]->type != JSON_ARRAY) {
        return;
    }
    for (size_t i = 0; i < json->array.elems[1]->array.n; i++) {
        const struct json *pair = json->array.elems[1]->array.elems[i];

        if (pair->type == JSON_ARRAY && pair->array.n == 2
            && pair->array.elems[0]->type == JSON_STRING
            && pair->array.elems[1]->type == JSON_STRING) {
            smap_replace(map, json_string(pair->array.elems[0]),
                         json_string(pair->array.elems[1]));
        }
    }
}

/* Fills 'info' with the interfaces of the ports in 'ports'. */
static void
read_interfaces(const struct json *port_rows,
                const struct json *interface_rows, const struct shash *ports,
                struct bridge_info *info)
{
    struct shash interfaces = SHASH_INITIALIZER(&interfaces);

    for (size_t i = 0; i < port_rows->array.n; i++) {
        const struct json *row = port_rows->array.elems[i];
        const char *uuid = uuid_string(row_column(row, "_uuid"));

        if (uuid && shash_find(ports, uuid)) {
            add_uuids(row_column(row, "interfaces"), &interfaces);
        }
    }
    for (size_t i = 0; i < interface_rows->array.n; i++) {
        const struct json *row = interface_rows->array.elems[i];
        const char *uuid = uuid_string(row_column(row, "_uuid"));
        const struct json *ofport = row_column(row, "ofport");
        const char *name = column_string(row, "name");

        if (!uuid || !shash_find(&interfaces, uuid)) {
            continue;
        }
        smap_replace(&info->types, name, column_string(row, "type"));
        if (!strcmp(name, PLAN_TUNNEL)) {
            read_map(row_column(row, "options"), &info->tunnel_options);
        }
        /* An ofport of -1 is an interface that could not be opened. */
        if (ofport && ofport->type == JSON_INTEGER && ofport->integer > 0
            && ofport->integer < ofp_to_u16(OFPP_MAX)) {
            ofputil_port_map_put(&info->ports,
                                 u16_to_ofp(ofport->integer), name);
        }
    }
    shash_destroy(&interfaces);
}

/* Where a mirror copies to: "PORT", "VLAN N", or NULL for nowhere. */
static const char *
mirror_output(const struct json *mirror, const struct json *port_rows,
              struct arena *arena)
{
    const char *port = uuid_string(row_column(mirror, "output_port"));
    const struct json *vlan = row_column(mirror, "output_vlan");

    for (size_t i = 0; port && i < port_rows->array.n; i++) {
        const struct json *row = port_rows->array.elems[i];
        const char *uuid = uuid_string(row_column(row, "_uuid"));

        if (uuid && !strcmp(uuid, port)) {
            return column_string(row, "name");
        }
    }
    return (vlan && vlan->type == JSON_INTEGER
            ? arena_printf(arena, "VLAN %lld", vlan->integer) : NULL);
}

/* Fills 'info' with the mirrors in 'mirrors'. */
static void
read_mirrors(const struct json *rows, const struct json *port_rows,
             const struct shash *mirrors, struct arena *arena,
             struct bridge_info *info)
{
    for (size_t i = 0; i < rows->array.n; i++) {
        const struct json *row = rows->array.elems[i];
        const char *uuid = uuid_string(row_column(row, "_uuid"));
        const char *output = mirror_output(row, port_rows, arena);

        if (uuid && shash_find(mirrors, uuid) && output) {
            info->mirrors = arena_printf(
                arena, "%s%s%s to %s", info->mirrors ? info->mirrors : "",
                info->mirrors ? ", " : "", column_string(row, "name"),
                output);
        }
    }
}

/* Does a column, one string or a ["set", [...]], name OpenFlow 1.4?  An empty
 * set stands for Open vSwitch's default, which has it. */
static bool
has_openflow14(const struct json *protocols)
{
    if (!protocols || protocols->type == JSON_STRING) {
        return protocols && !strcmp(json_string(protocols), "OpenFlow14");
    }
    if (protocols->type != JSON_ARRAY || protocols->array.n != 2
        || protocols->array.elems[1]->type != JSON_ARRAY) {
        return false;
    }

    const struct json *set = protocols->array.elems[1];
    for (size_t i = 0; i < set->array.n; i++) {
        const struct json *e = set->array.elems[i];

        if (e->type == JSON_STRING && !strcmp(json_string(e), "OpenFlow14")) {
            return true;
        }
    }
    return !set->array.n;
}

/* Is a column, one UUID or a ["set", [...]], not the empty set? */
static bool
has_uuids(const struct json *value)
{
    struct shash uuids = SHASH_INITIALIZER(&uuids);

    add_uuids(value, &uuids);

    bool any = !shash_is_empty(&uuids);
    shash_destroy(&uuids);
    return any;
}

/* Does a map say that 'key' is "true"? */
static bool
map_says_true(const struct json *json, const char *key)
{
    struct smap map = SMAP_INITIALIZER(&map);

    read_map(json, &map);

    bool says = smap_get_bool(&map, key, false);
    smap_destroy(&map);
    return says;
}

/* The row of 'bridge' in 'rows', or NULL with a hint in '*nearest'. */
static const struct json *
find_bridge(const struct json *rows, const char *bridge,
            struct nearest *nearest)
{
    for (size_t i = 0; i < rows->array.n; i++) {
        const char *name = column_string(rows->array.elems[i], "name");

        if (!strcmp(name, bridge)) {
            return rows->array.elems[i];
        }
        nearest_try(nearest, name);
    }
    return NULL;
}

static const char *
read_reply(const struct jsonrpc_msg *reply, const char *bridge,
           struct arena *arena, struct bridge_info *info)
{
    const struct json *bridges = result_rows(reply, 0);
    const struct json *ports = result_rows(reply, 1);
    const struct json *interfaces = result_rows(reply, 2);
    const struct json *switches = result_rows(reply, 3);
    const struct json *mirrors = result_rows(reply, 4);
    struct shash port_uuids = SHASH_INITIALIZER(&port_uuids);
    struct shash mirror_uuids = SHASH_INITIALIZER(&mirror_uuids);

    if (!bridges || !ports || !interfaces || !switches || !mirrors
        || switches->array.n != 1) {
        return "the database's answer is not what its schema promises";
    }

    struct nearest nearest = nearest_init(bridge);
    const struct json *row = find_bridge(bridges, bridge, &nearest);
    if (!row) {
        return arena_printf(arena, "there is no bridge %s; %s%s%s", bridge,
                            nearest.best ? "did you mean " : "ovs-vsctl "
                            "list-br lists them",
                            nearest.best ? nearest.best : "",
                            nearest.best ? "?" : "");
    }
    info->datapath_type = arena_strdup(arena, column_string(row,
                                                            "datapath_type"));
    info->fail_mode = arena_strdup(arena, column_string(row, "fail_mode"));
    info->may_be_in_band
        = ((has_uuids(row_column(row, "controller"))
            || has_uuids(row_column(switches->array.elems[0],
                                    "manager_options")))
           && !map_says_true(row_column(row, "other_config"),
                             "disable-in-band"));
    info->has_openflow14 = has_openflow14(row_column(row, "protocols"));
    add_uuids(row_column(row, "ports"), &port_uuids);
    read_interfaces(ports, interfaces, &port_uuids, info);
    add_uuids(row_column(row, "mirrors"), &mirror_uuids);
    read_mirrors(mirrors, ports, &mirror_uuids, arena, info);
    shash_destroy(&port_uuids);
    shash_destroy(&mirror_uuids);
    return NULL;
}

const char *
bridge_info_read(const char *remote, const char *bridge,
                 long long int deadline, struct arena *arena,
                 struct bridge_info *info)
{
    struct jsonrpc_msg *reply = NULL;
    const char *reason;
    int error;

    info->datapath_type = info->fail_mode = "";
    info->mirrors = NULL;
    ofputil_port_map_init(&info->ports);
    smap_init(&info->types);
    smap_init(&info->tunnel_options);

    error = transact(remote, deadline, &reply);
    if (error) {
        return arena_printf(arena, "database %s: %s; is ovsdb-server running "
                            "there? see --db and OVS_RUNDIR", remote,
                            ovs_retval_to_string(error));
    }
    reason = read_reply(reply, bridge, arena, info);
    jsonrpc_msg_destroy(reply);
    return reason ? arena_printf(arena, "database %s: %s", remote, reason)
                  : NULL;
}

void
bridge_info_destroy(struct bridge_info *info)
{
    ofputil_port_map_destroy(&info->ports);
    smap_destroy(&info->types);
    smap_destroy(&info->tunnel_options);
}
