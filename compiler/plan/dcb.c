/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "openvswitch/dynamic-string.h"
#include <inttypes.h>

#include "plan/nic.h"
#include "plan/plan.h"

/* What buffer 0 must have: a jumbo frame, in whole KiB. */
#define LEAST_BUFFER "10240"

static const char functions[] =
    "# keep INTERFACE PLACE: what it is set to.\n"
    "keep() {\n"
    "    { dcbx=$(dcb dcbx show dev \"$1\") &&\n"
    "        ets=$(dcb ets show dev \"$1\" willing tc-tsa tc-bw prio-tc) &&\n"
    "        pfc=$(dcb pfc show dev \"$1\" prio-pfc) &&\n"
    "        app=$(dcb -N app show dev \"$1\" dscp-prio); } ||\n"
    "        fail \"$2\" \"$1 does not say what it is set to\"\n"
    "}\n"
    "# firmware INTERFACE: dcb(8) sets no mode without 'host'.\n"
    "firmware() {\n"
    "    echo \"dcb.sh: DCBX of $1 was its firmware's, which dcb cannot set "
    "again;\" \\\n"
    "        \"mlnx_qos -i $1 --dcbx fw can\" >&2\n"
    "    return 1\n"
    "}\n"
    "# dcbx_was INTERFACE: as 'was'.\n"
    "dcbx_was() {\n"
    "    case \" $dcbx \" in\n"
    "    *' host '*) was dcb dcbx set dev \"$1\" $dcbx ;;\n"
    "    *) was firmware \"$1\" ;;\n"
    "    esac\n"
    "}\n"
    "# map INTERFACE PLACE DSCP:PRIORITY...: of all DSCPs.  'dcb app replace' "
    "ends with\n"
    "# 0 when it is refused, too, so what is there then is read back.\n"
    "map() {\n"
    "    port=$1 place=$2\n"
    "    shift 2\n"
    "    try \"$place\" dcb app replace dev \"$port\" dscp-prio \"$@\"\n"
    "    now=$(dcb -N app show dev \"$port\" dscp-prio) || now='not known'\n"
    "    if [ \"$now\" != \"$app\" ]; then\n"
    "        [ -z \"$app\" ] || was dcb app add dev \"$port\" $app\n"
    "        was dcb app flush dev \"$port\" dscp-prio\n"
    "    fi\n"
    "    now=$(echo $now)\n"
    "    [ \"$now\" = \"dscp-prio $*\" ] ||\n"
    "        fail \"$place\" \"refused: dcb app replace dev $port dscp-prio "
    "$*; it has '$now'\"\n"
    "}\n";

/* For ports of which buffers are set.  The driver mlx5 takes no size and no
 * priority of a buffer that is too small for the pause frames that are on, so
 * they are off while buffers change. */
static const char buffer_functions[] =
    "# pairs NAME: of the JSON $is the list of that name, as "
    "NUMBER:VALUE...\n"
    "pairs() {\n"
    "    n=0\n"
    "    for word in $(echo \"$is\" |\n"
    "        sed -n \"s/.*\\\"$1\\\": *\\[\\([0-9,]*\\)\\].*/\\1/p\" | "
    "tr , ' '); do\n"
    "        echo \"$n:$word\"\n"
    "        n=$((n + 1))\n"
    "    done\n"
    "}\n"
    "# read_buffers INTERFACE PLACE: $map becomes the buffers of priorities, "
    "$sizes\n"
    "# theirs, and $all that of all.  As text, dcb(8) would round sizes.\n"
    "read_buffers() {\n"
    "    is=$(dcb -j buffer show dev \"$1\") || is=\n"
    "    map=$(pairs prio_buffer) sizes=$(echo $(pairs buffer_size)) all=0\n"
    "    [ -n \"$map\" ] && [ -n \"$sizes\" ] ||\n"
    "        fail \"$2\" \"$1 does not say what buffers it has\"\n"
    "    for word in $sizes; do\n"
    "        all=$((all + ${word#*:}))\n"
    "    done\n"
    "}\n"
    "# has PRIORITY:SIZE...: are buffers so?  NICs round sizes down.\n"
    "has() {\n"
    "    for word in $map; do\n"
    "        case \" $* \" in\n"
    "        *\" ${word%%:*}:\"*) [ \"${word#*:}\" = \"${word%%:*}\" ] ;;\n"
    "        *) [ \"${word#*:}\" = 0 ] ;;\n"
    "        esac || return\n"
    "    done\n"
    "    for word in $sizes; do\n"
    "        lacks=-${word#*:}\n"
    "        for pair; do\n"
    "            [ \"${pair%%:*}\" != \"${word%%:*}\" ] ||\n"
    "                lacks=$((lacks + ${pair#*:}))\n"
    "        done\n"
    "        [ \"${word%%:*}\" = 0 ] ||\n"
    "            { [ \"$lacks\" -ge 0 ] && [ \"$lacks\" -lt 1024 ]; } || "
    "return\n"
    "    done\n"
    "}\n"
    "# set_back INTERFACE WORD...: where they differ.  No driver says "
    "whether sizes\n"
    "# were its firmware's, so others are left alone.\n"
    "set_back() {\n"
    "    is=$(dcb -j buffer show dev \"$1\") || is=\n"
    "    now=$(echo \"$1\" prio-buffer $(pairs prio_buffer) \\\n"
    "        buffer-size $(pairs buffer_size))\n"
    "    [ \"$now\" != \"$*\" ] || return 0\n"
    "    echo \"dcb.sh: buffers of $1 are as before, but set: mlx5 leaves "
    "them to its\" \\\n"
    "        'firmware when it is loaded anew' >&2\n"
    "    dcb buffer set dev \"$@\"\n"
    "}\n"
    "# buffers INTERFACE PLACE PRIORITY:SIZE...: each of these in the buffer "
    "of its\n"
    "# number, all others in buffer 0, with what is left of what all have "
    "now.\n"
    "buffers() {\n"
    "    port=$1 place=$2\n"
    "    shift 2\n"
    "    read_buffers \"$port\" \"$place\"\n"
    "    rest=$all to=all:0\n"
    "    for word; do\n"
    "        rest=$((rest - ${word#*:}))\n"
    "        to=\"$to ${word%%:*}:${word%%:*}\"\n"
    "    done\n"
    "    [ \"$rest\" -ge "LEAST_BUFFER" ] ||\n"
    "        fail \"$place\" \"the buffers of $port have $all bytes, and "
    "$((all - rest)) of them\\\n"
    " leave less than "LEAST_BUFFER" for what is not lossless\"\n"
    "    ! has \"$@\" || return 0\n"
    "    was dcb pfc set dev \"$port\" $pfc\n"
    "    try \"$place\" dcb pfc set dev \"$port\" prio-pfc all:off\n"
    "    pfc='prio-pfc all:off'\n"
    "    was set_back \"$port\" prio-buffer $map buffer-size $sizes\n"
    "    try \"$place\" dcb buffer set dev \"$port\" prio-buffer $to \\\n"
    "        buffer-size all:0 \"0:$rest\" \"$@\"\n"
    "    read_buffers \"$port\" \"$place\"\n"
    "    has \"$@\" ||\n"
    "        fail \"$place\" \"$port was given $*, and has $sizes\"\n"
    "}\n";

/* "was dcb OBJECT VERB dev PORT $VARIABLE", which keep() has set. */
static void
put_was(const char *what, const char *variable, struct ds *ds)
{
    ds_put_format(ds, "    was dcb %s dev \"$port\" $%s\n", what, variable);
}

/* "FUNCTION PORT PLACE". */
static void
put_call(const char *function, const char *place, struct ds *ds)
{
    ds_put_format(ds, "    %s \"$port\" ", function);
    plan_put_quoted(ds, place);
}

/* "try PLACE dcb OBJECT VERB dev PORT". */
static void
put_dcb(const char *place, const char *what, struct ds *ds)
{
    ds_put_cstr(ds, "    try ");
    plan_put_quoted(ds, place);
    ds_put_format(ds, " dcb %s dev \"$port\"", what);
}

/* Appends " NUMBER:WORD" for each priority that is used. */
static void
put_priorities(const struct plan_nic_port *port, const char *word,
               struct ds *ds)
{
    for (int i = 0; i < NIC_PRIORITIES; i++) {
        if (port->priorities[i].percent) {
            ds_put_format(ds, " %d:%s", i, word);
        }
    }
}

static void
put_ets(const struct plan_nic_port *port, struct ds *ds)
{
    put_dcb(port->ets_place, "ets set", ds);
    ds_put_cstr(ds, " willing off prio-tc all:0");
    for (int i = 1; i < NIC_PRIORITIES; i++) {
        if (port->priorities[i].percent) {
            ds_put_format(ds, " %d:%d", i, i);
        }
    }
    ds_put_cstr(ds, " tc-tsa all:strict");
    put_priorities(port, "ets", ds);
    ds_put_cstr(ds, " tc-bw all:0");
    for (int i = 0; i < NIC_PRIORITIES; i++) {
        if (port->priorities[i].percent) {
            ds_put_format(ds, " %d:%d", i, port->priorities[i].percent);
        }
    }
    ds_put_char(ds, '\n');
    put_was("ets set", "ets", ds);
}

static bool
sets_buffers(const struct plan_nic_port *port)
{
    bool sets = false;

    for (int i = 0; i < NIC_PRIORITIES; i++) {
        sets |= port->priorities[i].buffer_bytes > 0;
    }
    return sets;
}

static void
put_buffers(const struct plan_nic_port *port, struct ds *ds)
{
    put_call("buffers", port->buffer_place, ds);
    for (int i = 0; i < NIC_PRIORITIES; i++) {
        if (port->priorities[i].buffer_bytes) {
            ds_put_format(ds, " %d:%"PRIu64, i,
                          port->priorities[i].buffer_bytes);
        }
    }
    ds_put_char(ds, '\n');
}

static void
put_pfc(const struct plan_nic_port *port, struct ds *ds)
{
    put_dcb(port->pfc_place, "pfc set", ds);
    ds_put_cstr(ds, " prio-pfc all:off");
    for (int i = 0; i < NIC_PRIORITIES; i++) {
        if (port->priorities[i].lossless) {
            ds_put_format(ds, " %d:on", i);
        }
    }
    ds_put_char(ds, '\n');
    put_was("pfc set", "pfc", ds);
}

/* Every DSCP, so that none keeps what it was before. */
static void
put_app(const struct plan_nic *nic, const struct plan_nic_port *port,
        struct ds *ds)
{
    put_call("map", port->app_place, ds);
    for (int dscp = 0; dscp < NIC_DSCPS; dscp++) {
        ds_put_format(ds, " %d:%d", dscp, nic->priority_of[dscp]);
    }
    ds_put_char(ds, '\n');
}

static void
put_port(const struct plan_nic *nic, const struct plan_nic_port *port,
         struct ds *ds)
{
    ds_put_cstr(ds, "ports ");
    plan_put_quoted(ds, port->interface);
    ds_put_char(ds, ' ');
    plan_put_quoted(ds, port->place);
    ds_put_cstr(ds, "\nfor port in $ports; do\n");
    put_call("keep", port->place, ds);
    ds_put_char(ds, '\n');
    put_dcb(port->place, "dcbx set", ds);
    ds_put_cstr(ds, " host ieee\n"
                "    dcbx_was \"$port\"\n");
    put_ets(port, ds);
    if (sets_buffers(port)) {
        put_buffers(port, ds);
    }
    put_pfc(port, ds);
    put_app(nic, port, ds);
    ds_put_cstr(ds, "done\n");
}

void
plan_format_dcb(const struct plan *plan, struct ds *ds)
{
    const struct plan_nic *nic = plan->nic;
    bool buffers = false;

    plan_put_script_head(plan, "dcb.sh", "Priorities of the uplinks", true,
                         ds);
    plan_put_ports(ds);
    ds_put_cstr(ds, functions);
    for (size_t i = 0; i < nic->ports.n; i++) {
        buffers |= sets_buffers(&nic->ports.v[i]);
    }
    if (buffers) {
        ds_put_cstr(ds, buffer_functions);
    }
    for (size_t i = 0; i < nic->ports.n; i++) {
        put_port(nic, &nic->ports.v[i], ds);
    }
}
