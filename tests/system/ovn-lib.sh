# shellcheck shell=bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# A private OVN beside the private switch of lib.sh; sourced after it, never
# run.  northd, controller and tools are Debian's, switch and databases ours.

# The directory that lib.sh has made.
switch_dir=${switch_dir:-}

# have_ovn: are they installed?
have_ovn() {
    local tool
    for tool in ovn-nbctl ovn-sbctl ovn-northd ovn-controller ovn-trace; do
        command -v "$tool" >/dev/null || return 1
    done
    ovn_schemas=/usr/share/ovn
    [ -e "$ovn_schemas/ovn-nb.ovsschema" ]
}

# ovn_database NAME [SCHEMA]: nb or sb, or of another schema, at
# $switch_dir/NAME.sock.
ovn_database() {
    ovsdb-tool create "$switch_dir/$1.db" \
        "${2:-$ovn_schemas/ovn-$1.ovsschema}"
    ovn_serve "$1"
}

# ovn_serve NAME [OPTION...]: the server of a database that is there.
ovn_serve() {
    local name=$1
    shift
    ovsdb-server "$switch_dir/$name.db" \
        --remote="punix:$switch_dir/$name.sock" \
        --unixctl="$switch_dir/$name.ctl" --pidfile="$switch_dir/$name.pid" \
        --no-chdir --log-file="$switch_dir/$name.log" -vconsole:off \
        -vsyslog:off "$@" </dev/null >"$switch_dir/$name.out" 2>&1 &
    switch_pids+=("$!")
    switch_await "$switch_dir/$name.sock" "$name"
}

# ovn_start: databases and northd, and ovn-trace as a daemon.
ovn_start() {
    export OVN_RUNDIR=$switch_dir OVN_LOGDIR=$switch_dir \
           OVN_NB_DB=unix:$switch_dir/nb.sock OVN_SB_DB=unix:$switch_dir/sb.sock
    ovn_database nb
    ovn_database sb
    ovn-nbctl --timeout=10 init
    switch_spawn ovn-northd --ovnnb-db="$OVN_NB_DB" --ovnsb-db="$OVN_SB_DB"
    switch_await "$switch_dir/ovn-northd.pid" ovn-northd
}

# ovn_chassis NAME: the private switch is the chassis of that name.
ovn_chassis() {
    ovs-vsctl --timeout=10 set open_vswitch . \
        external_ids:ovn-remote="$OVN_SB_DB" \
        external_ids:ovn-encap-type=geneve \
        external_ids:ovn-encap-ip=127.0.0.1 \
        external_ids:system-id="$1" \
        external_ids:ovn-bridge-datapath-type=dummy
    switch_spawn ovn-controller "unix:$switch_dir/db.sock"
    switch_await "$switch_dir/ovn-controller.pid" ovn-controller
    # It makes the bridge once it is connected.
    ovs-vsctl --timeout=30 wait-until bridge br-int
}
