/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/nic.h"

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/plan.h"

void
plan_put_quoted(struct ds *ds, const char *s)
{
    ds_put_char(ds, '\'');
    for (; *s; s++) {
        if (*s == '\'') {
            ds_put_cstr(ds, "'\\''");
        } else {
            ds_put_char(ds, *s);
        }
    }
    ds_put_char(ds, '\'');
}

/* Words are split at blanks, of which none has any, and nothing of them is
 * taken for a command.  A signal waits for the next step: then it is noted
 * what undoes the last. */
static void
put_undo(const char *script, struct ds *ds)
{
    ds_put_format(ds, "set -f\n"
                  "undo= stopped=\n"
                  "trap 'stopped=1' HUP INT TERM\n"
                  "# was COMMAND...: what undoes a step.\n"
                  "was() {\n"
                  "    undo=\"$*\n"
                  "$undo\"\n"
                  "}\n"
                  "take_back() {\n"
                  "    trap '' HUP INT TERM\n"
                  "    n=0\n"
                  "    while read -r line; do\n"
                  "        [ -n \"$line\" ] || continue\n"
                  "        if $line; then\n"
                  "            n=$((n + 1))\n"
                  "        else\n"
                  "            echo \"%s: not undone: $line\" >&2\n"
                  "        fi\n"
                  "    done <<end\n"
                  "$undo\n"
                  "end\n"
                  "    echo \"%s: undone: $n settings of this run\" >&2\n"
                  "}\n", script, script);
}

void
plan_put_script_head(const struct plan *plan, const char *script,
                     const char *about, bool undoes, struct ds *ds)
{
    ds_put_format(ds, "#!/bin/sh\n"
                  "# %s of node %s: sh %s\n"
                  "# Exit status 3: it was refused, by whom and at whose "
                  "wish is said; what %s\n"
                  "# %s, and the script can be run again.\n"
                  "set -eu\n", about, plan->node, script,
                  undoes ? "it" : "came", undoes ? "did is undone"
                  : "before stays");
    if (undoes) {
        put_undo(script, ds);
    }
    ds_put_format(ds, "fail() {\n"
                  "    echo \"%s: $2; asked for at $1\" >&2\n"
                  "%s"
                  "    exit 3\n"
                  "}\n"
                  "try() {\n"
                  "    asked=$1\n"
                  "    shift\n"
                  "%s"
                  "    \"$@\" || fail \"$asked\" \"refused: $*\"\n"
                  "}\n", script, undoes ? "    take_back\n" : "",
                  undoes ? "    [ -z \"$stopped\" ] || "
                  "fail \"$asked\" 'stopped by a signal'\n" : "");
}

void
plan_put_running(struct ds *ds)
{
    ds_put_cstr(ds, "# running PLACE: ovs-vswitchd is there, and answers.\n"
                "running() {\n"
                "    ovs-appctl --timeout=10 version >/dev/null ||\n"
                "        fail \"$1\" 'ovs-vswitchd does not run, or does not "
                "answer'\n"
                "}\n");
}

void
plan_put_ports(struct ds *ds)
{
    ds_put_cstr(ds, "# ports INTERFACE PLACE: $ports becomes it, or the "
                "members of a bond.\n"
                "ports() {\n"
                "    is=$(ip -d -o link show dev \"$1\") ||\n"
                "        fail \"$2\" \"there is no interface $1\"\n"
                "    ports=$1\n"
                "    case $is in *' bond mode '*) ;; *) return ;; esac\n"
                "    ports=$(ip -o link show master \"$1\" |\n"
                "        sed 's/^[0-9]*: *\\([^:@]*\\).*/\\1/')\n"
                "    [ -n \"$ports\" ] || fail \"$2\" \"$1 is a bond without "
                "members\"\n"
                "}\n");
}

static struct json *
rate_to_json(const struct plan_rate *rate)
{
    struct json *object = json_object_create();

    json_object_put_string(object, "tenant", rate->tenant);
    if (rate->endpoint) {
        json_object_put_string(object, "endpoint", rate->endpoint);
        json_object_put_string(object, "interface", rate->interface);
    }
    json_object_put(object, "share_mbps",
                    json_integer_create(rate->share_mbps));
    json_object_put(object, "max_mbps", rate->max_mbps
                    ? json_integer_create(rate->max_mbps)
                    : json_null_create());
    return object;
}

/* 'number' is that of the priority. */
static struct json *
priority_to_json(const struct plan_nic *nic, int number,
                 const struct plan_priority *priority)
{
    struct json *object = json_object_create();
    struct json *dscps = json_array_create_empty();

    for (int dscp = 0; dscp < NIC_DSCPS; dscp++) {
        if (number && nic->priority_of[dscp] == number) {
            json_array_add(dscps, json_integer_create(dscp));
        }
    }
    json_object_put(object, "priority", json_integer_create(number));
    json_object_put(object, "percent", json_integer_create(priority->percent));
    json_object_put(object, "lossless",
                    json_boolean_create(priority->lossless));
    json_object_put(object, "buffer_bytes", priority->buffer_bytes
                    ? json_integer_create(priority->buffer_bytes)
                    : json_null_create());
    json_object_put(object, "dscps", dscps);
    return object;
}

static struct json *
port_to_json(const struct plan_nic *nic, const struct plan_nic_port *port)
{
    struct json *object = json_object_create();
    struct json *rates = json_array_create_empty();
    struct json *priorities = json_array_create_empty();

    for (size_t i = 0; i < port->rates.n; i++) {
        json_array_add(rates, rate_to_json(&port->rates.v[i]));
    }
    for (int i = 0; i < NIC_PRIORITIES; i++) {
        if (port->priorities[i].percent) {
            json_array_add(priorities,
                           priority_to_json(nic, i, &port->priorities[i]));
        }
    }
    json_object_put_string(object, "uplink", port->name);
    json_object_put_string(object, "interface", port->interface);
    json_object_put(object, "rates", rates);
    json_object_put(object, "priorities", priorities);
    return object;
}

struct json *
plan_nic_to_json(const struct plan_nic *nic)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < nic->ports.n; i++) {
        json_array_add(array, port_to_json(nic, &nic->ports.v[i]));
    }
    return array;
}
