/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "plan/nic.h"
#include "plan/plan.h"

/* What is as it should be is not set again, so a driver may lack what it does
 * not show: those do not trust VFs, and their link is the port's.  Only what
 * checks the sender's MAC must be shown. */
static const char functions[] =
    "# look PF VF PLACE: $mac, $vlan... become what the VF is set to.\n"
    "look() {\n"
    "    mac='' vlan=0 qos=0 proto=802.1Q spoof='' trust=off state=auto\n"
    "    most=0 least=0\n"
    "    shown=$(ip -d link show dev \"$1\") ||\n"
    "        fail \"$3\" \"there is no interface $1\"\n"
    "    case $shown in *' bond mode '*)\n"
    "        fail \"$3\" \"$1 is a bond, which has no VFs: an uplink of "
    "legacy VFs is their port\"\n"
    "    esac\n"
    "    found=''\n"
    "    while read -r what index words; do\n"
    "        if [ \"$what $index\" = \"vf $2\" ]; then\n"
    "            found=$words\n"
    "        fi\n"
    "    done <<end\n"
    "$shown\n"
    "end\n"
    "    [ -n \"$found\" ] || fail \"$3\" \"$1 has no VF $2: see "
    "/sys/class/net/$1/device/sriov_numvfs\"\n"
    "    key=''\n"
    "    IFS=', '\n"
    "    for word in $found; do\n"
    "        case $key:$word in\n"
    "        link/ether:*|MAC:*) mac=$word ;;\n"
    "        vlan:[0-9]*) vlan=$word ;;\n"
    "        qos:*) qos=$word ;;\n"
    "        protocol:*) proto=$word ;;\n"
    "        checking:*) spoof=$word ;;\n"
    "        trust:*) trust=$word ;;\n"
    "        link-state:*) state=$word ;;\n"
    "        max_tx_rate:*) most=${word%Mbps} ;;\n"
    "        min_tx_rate:*) least=${word%Mbps} ;;\n"
    "        esac\n"
    "        key=$word\n"
    "    done\n"
    "    unset IFS\n"
    "}\n"
    "# put IS WANTED WORD...: of the VF, unless it is so; 'was' undoes it.\n"
    "put() {\n"
    "    is=$1 wanted=$2\n"
    "    shift 2\n"
    "    [ \"$is\" != \"$wanted\" ] || return 0\n"
    "    try \"$place\" ip link set dev \"$pf\" vf \"$number\" \"$@\"\n"
    "    case $is in\n"
    "    *[!\\ ]*) was ip link set dev \"$pf\" vf \"$number\" $back ;;\n"
    "    esac\n"
    "}\n"
    "# vf PF VF PLACE MAC PLACE VLAN PRIORITY PLACE MAX-MBPS MIN-MBPS PLACE\n"
    "vf() {\n"
    "    pf=$1 number=$2 place=$3\n"
    "    eswitch \"$1\" \"$3\"\n"
    "    look \"$1\" \"$2\" \"$3\"\n"
    "    back=\"spoofchk $spoof\"\n"
    "    put \"$spoof\" on spoofchk on\n"
    "    back=\"trust $trust\"\n"
    "    put \"$trust\" off trust off\n"
    "    back=\"state $state\"\n"
    "    put \"$state\" auto state auto\n"
    "    back=\"mac $mac\" place=$5\n"
    "    put \"$mac\" \"$4\" mac \"$4\"\n"
    "    back=\"vlan $vlan qos $qos\" place=$8\n"
    "    [ \"$proto\" = 802.1Q ] || back=\"$back proto $proto\"\n"
    "    put \"$vlan $qos $proto\" \"$6 $7 802.1Q\" "
    "vlan \"$6\" qos \"$7\"\n"
    "    back=\"max_tx_rate $most min_tx_rate $least\" place=${11}\n"
    "    put \"$most $least\" \"$9 ${10}\" max_tx_rate \"$9\" "
    "min_tx_rate \"${10}\"\n"
    "}\n"
    "# eswitch PF PLACE: what its VFs send must not have to meet flows.\n"
    "eswitch() {\n"
    "    port=$(devlink port show \"$1\" 2>/dev/null) || return 0\n"
    "    port=${port%%: *}\n"
    "    case $(devlink dev eswitch show \"${port%/*}\" 2>/dev/null || :) in\n"
    "    *\" mode switchdev\"*)\n"
    "        fail \"$2\" \"$1 is in switchdev mode: its VFs have "
    "representors\"\n"
    "    esac\n"
    "}\n";

void
plan_format_vfs(const struct plan *plan, struct ds *ds)
{
    plan_put_script_head(plan, "vf.sh", "VFs of NICs in legacy mode", true,
                         ds);
    ds_put_cstr(ds, functions);
    for (size_t i = 0; i < plan->vfs->all.n; i++) {
        const struct plan_vf *vf = &plan->vfs->all.v[i];

        ds_put_cstr(ds, "vf ");
        plan_put_quoted(ds, vf->interface);
        ds_put_format(ds, " %"PRIu16" ", vf->vf);
        plan_put_quoted(ds, vf->place);
        ds_put_format(ds, " "ETH_ADDR_FMT" ", ETH_ADDR_ARGS(vf->mac));
        plan_put_quoted(ds, vf->mac_place);
        ds_put_format(ds, " %"PRIu16" %"PRIu8" ", vf->vlan, vf->priority);
        plan_put_quoted(ds, vf->vlan_place);
        ds_put_format(ds, " %"PRIu64" %"PRIu64" ", vf->max_mbps,
                      vf->min_mbps);
        plan_put_quoted(ds, vf->rate_place);
        ds_put_char(ds, '\n');
    }
}

static void
put_names(struct json *object, const char *name, const char *const names[],
          size_t n)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < n; i++) {
        json_array_add(array, json_string_create(names[i]));
    }
    json_object_put(object, name, array);
}

static struct json *
vf_to_json(const struct plan_vf *vf)
{
    struct json *object = json_object_create();

    json_object_put_string(object, "endpoint", vf->name);
    json_object_put_string(object, "uplink", vf->uplink);
    json_object_put_string(object, "interface", vf->interface);
    json_object_put(object, "vf", json_integer_create(vf->vf));
    json_object_put_format(object, "mac", ETH_ADDR_FMT,
                           ETH_ADDR_ARGS(vf->mac));
    json_object_put(object, "vlan", json_integer_create(vf->vlan));
    json_object_put(object, "priority", json_integer_create(vf->priority));
    json_object_put(object, "max_mbps", vf->max_mbps
                    ? json_integer_create(vf->max_mbps)
                    : json_null_create());
    json_object_put(object, "min_mbps", json_integer_create(vf->min_mbps));
    put_names(object, "rules", vf->rules.v, vf->rules.n);
    put_names(object, "cut_off", vf->cut.v, vf->cut.n);
    return object;
}

struct json *
plan_vfs_to_json(const struct plan_vfs *vfs)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < vfs->all.n; i++) {
        json_array_add(array, vf_to_json(&vfs->all.v[i]));
    }
    return array;
}
