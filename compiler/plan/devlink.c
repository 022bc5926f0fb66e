/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>

#include "openvswitch/dynamic-string.h"
#include "plan/nic.h"
#include "plan/plan.h"

/* The script finds the devlink port of an interface itself: its number is the
 * driver's, and another one on the next machine.  Groups are called
 * "bulkhead:UPLINK:TENANT", so what is Bulkhead's is known, and no name is
 * digits only, which the kernel would not take. */
#define GROUP_MARK "bulkhead:"
#define RATE "devlink port function rate"
#define NO_RATE "tx_share 0mbit tx_max 0mbit"

static const char functions[] =
    "# look_up INTERFACE PLACE: $port becomes its devlink port.\n"
    "look_up() {\n"
    "    port=$(devlink port show \"$1\") ||\n"
    "        fail \"$2\" \"$1 has no devlink port\"\n"
    "    port=${port%%: *}\n"
    "}\n"
    "# uplink INTERFACE PLACE: what follows is of its device, or of those of "
    "a bond.\n"
    "uplink() {\n"
    "    ports \"$1\" \"$2\"\n"
    "    devices=\n"
    "    for member in $ports; do\n"
    "        look_up \"$member\" \"$2\"\n"
    "        device=${port%/*}\n"
    "        case $(devlink dev eswitch show \"$device\" || :) in\n"
    "        *\" mode switchdev\"*) ;;\n"
    "        *) fail \"$2\" \"$device is not in switchdev mode\" ;;\n"
    "        esac\n"
    "        devices=\"$devices $device\"\n"
    "    done\n"
    "}\n"
    "# rate_was NAME PLACE: as 'was', of a rate that is there.\n"
    "rate_was() {\n"
    "    name=$1 share=0 most=0 above=noparent\n"
    "    is=$("RATE" show \"$1\") || fail \"$2\" \"$1 has no rate\"\n"
    "    for word in $is; do\n"
    "        case $key in\n"
    "        tx_share) share=$word ;;\n"
    "        tx_max) most=$word ;;\n"
    "        parent) above=\"parent $word\" ;;\n"
    "        esac\n"
    "        key=$word\n"
    "    done\n"
    "    was "RATE" set \"$name\" tx_share $share tx_max $most $above\n"
    "}\n"
    "# group NAME PLACE RATE...: of the VFs that follow.\n"
    "group() {\n"
    "    group=$1 group_place=$2 home=\n"
    "    shift 2\n"
    "    rate=$*\n"
    "}\n"
    "# join INTERFACE PLACE: makes the group on $device.\n"
    "join() {\n"
    "    [ \"$home\" != \"$device\" ] || return 0\n"
    "    [ -z \"$home\" ] || [ \"$rate\" = '"NO_RATE"' ] ||\n"
    "        fail \"$2\" \"$1 is of $device, and its tenant has VFs of $home: "
    "neither\\\n"
    " keeps its tenant's rate alone\"\n"
    "    home=$device\n"
    "    if "RATE" show \"$device/$group\" >/dev/null 2>&1; then\n"
    "        rate_was \"$device/$group\" \"$group_place\"\n"
    "    else\n"
    "        try \"$group_place\" "RATE" add \"$device/$group\"\n"
    "        was "RATE" del \"$device/$group\"\n"
    "    fi\n"
    "    try \"$group_place\" "RATE" set \"$device/$group\" $rate\n"
    "    kept=\"$kept $device/$group\"\n"
    "}\n"
    "# member INTERFACE PLACE RATE...: it is of the last group.\n"
    "member() {\n"
    "    look_up \"$1\" \"$2\"\n"
    "    device=${port%/*}\n"
    "    case \"$devices \" in\n"
    "    *\" $device \"*) join \"$1\" \"$2\" ;;\n"
    "    *) fail \"$2\" \"$1 is of $device, and its uplink of$devices\" ;;\n"
    "    esac\n"
    "    place=$2\n"
    "    shift 2\n"
    "    rate_was \"$port\" \"$place\"\n"
    "    try \"$place\" "RATE" set \"$port\" \"$@\" parent \"$group\"\n"
    "    kept=\"$kept $port\"\n"
    "}\n"
    "stale() {\n"
    "    case \" $kept \" in *\" $1 \"*) return 1 ;; esac\n"
    "}\n"
    "# sweep PLACE: takes back what an earlier run has set and this one has "
    "not.\n"
    "sweep() {\n"
    "    rates=$("RATE" show) || fail \"$1\" 'no rates are listed'\n"
    "    while read -r what is; do\n"
    "        case $is in *\" parent "GROUP_MARK"\"*)\n"
    "            if stale \"${what%:}\"; then\n"
    "                rate_was \"${what%:}\" \"$1\"\n"
    "                try \"$1\" "RATE" set \"${what%:}\" tx_share 0 "
    "tx_max 0 noparent\n"
    "            fi\n"
    "        esac\n"
    "    done <<end\n"
    "$rates\n"
    "end\n"
    "    while read -r what is; do\n"
    "        case $what in */"GROUP_MARK"*)\n"
    "            if stale \"${what%:}\"; then\n"
    "                rate_was \"${what%:}\" \"$1\"\n"
    "                try \"$1\" "RATE" del \"${what%:}\"\n"
    "                was "RATE" add \"${what%:}\"\n"
    "            fi\n"
    "        esac\n"
    "    done <<end\n"
    "$rates\n"
    "end\n"
    "}\n"
    "kept=\n"
    "key=\n";

static void
put_rate(const struct plan_nic_port *port, const struct plan_rate *rate,
         struct ds *ds)
{
    if (rate->endpoint) {
        ds_put_cstr(ds, "member ");
        plan_put_quoted(ds, rate->interface);
    } else {
        struct ds group = DS_EMPTY_INITIALIZER;

        ds_put_format(&group, GROUP_MARK"%s:%s", port->name, rate->tenant);
        ds_put_cstr(ds, "group ");
        plan_put_quoted(ds, ds_cstr(&group));
        ds_destroy(&group);
    }
    ds_put_char(ds, ' ');
    plan_put_quoted(ds, rate->place);
    ds_put_format(ds, " tx_share %"PRIu64"mbit tx_max %"PRIu64"mbit\n",
                  rate->share_mbps, rate->max_mbps);
}

void
plan_format_devlink(const struct plan *plan, struct ds *ds)
{
    const struct plan_nic *nic = plan->nic;

    plan_put_script_head(plan, "devlink.sh", "Rates of the VFs", true,
                         ds);
    plan_put_ports(ds);
    ds_put_cstr(ds, functions);
    for (size_t i = 0; i < nic->ports.n; i++) {
        const struct plan_nic_port *port = &nic->ports.v[i];

        if (port->legacy) {
            continue;
        }
        ds_put_cstr(ds, "uplink ");
        plan_put_quoted(ds, port->interface);
        ds_put_char(ds, ' ');
        plan_put_quoted(ds, port->place);
        ds_put_char(ds, '\n');
        for (size_t j = 0; j < port->rates.n; j++) {
            put_rate(port, &port->rates.v[j], ds);
        }
    }
    ds_put_cstr(ds, "sweep 'what an earlier run has set'\n");
}
