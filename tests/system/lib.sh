# shellcheck shell=bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Shared by the tests that run a switch of their own; sourced, never run.
#
# Everything a private switch makes lies in one directory of mktemp's, and
# only processes started here are ever signalled.  The system's own switch,
# its database and its run directory are not touched.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
srcdir=${srcdir:-$here/../..}
srcdir=$(cd "$srcdir" && pwd)

switch_dir=
switch_pids=()

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Sets and exports OVS_PREFIX: the one given, else the build's.
find_ovs() {
    if [ -z "${OVS_PREFIX:-}" ]; then
        OVS_PREFIX=$("$srcdir/build-aux/ovs-build" --prefix 2>/dev/null) ||
            die "set OVS_PREFIX to the install prefix of Open vSwitch"
    fi
    [ -x "$OVS_PREFIX/sbin/ovs-vswitchd" ] ||
        die "$OVS_PREFIX holds no sbin/ovs-vswitchd; run 'make' first"
    export OVS_PREFIX PATH="$OVS_PREFIX/bin:$OVS_PREFIX/sbin:$PATH"
}

# Sets and exports BULKHEAD: the one given, else a build's, else PATH's.
find_bulkhead() {
    local try
    if [ -z "${BULKHEAD:-}" ]; then
        for try in "$srcdir"/_build/bulkhead \
                   "$srcdir"/_build/compiler/bulkhead \
                   "$(command -v bulkhead || true)"; do
            if [ -x "$try" ]; then
                BULKHEAD=$try
                break
            fi
        done
    fi
    [ -n "${BULKHEAD:-}" ] ||
        die "no bulkhead is built; run 'make' or set BULKHEAD"
    [ -x "$BULKHEAD" ] || die "$BULKHEAD cannot be executed"
    BULKHEAD=$(cd "$(dirname "$BULKHEAD")" && pwd)/$(basename "$BULKHEAD")
    export BULKHEAD
}

# Cleans up however the script ends.
trap_cleanup() {
    cleanup_function=$1
    trap '"$cleanup_function"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# Runs a command as a job, because bash would hold a signal's trap back until
# a foreground command ends.
run_interruptible() {
    local pid status=0
    "$@" &
    pid=$!
    switch_pids+=("$pid")
    wait "$pid" || status=$?
    unset 'switch_pids[-1]'
    return "$status"
}

# Makes the directory of the private switch, before anything runs in it.
switch_prepare() {
    switch_dir=$(mktemp -d "${TMPDIR:-/tmp}/bulkhead.XXXXXX")
    export OVS_RUNDIR=$switch_dir OVS_LOGDIR=$switch_dir \
           OVS_DBDIR=$switch_dir OVS_SYSCONFDIR=$switch_dir \
           BULKHEAD_STATEDIR=$switch_dir/state \
           OVS_PKGDATADIR=$OVS_PREFIX/share/openvswitch
}

# switch_start [VSWITCHD-ARGUMENT...]: the daemons are jobs of this shell, so
# their numbers are known even if they die before they write a pidfile.
switch_start() {
    switch_start_database
    switch_start_daemon "$@"
}

switch_start_database() {
    ovsdb-tool create "$switch_dir/conf.db" \
        "$OVS_PKGDATADIR/vswitch.ovsschema"
    switch_spawn ovsdb-server "$switch_dir/conf.db" \
        --remote="punix:$switch_dir/db.sock"
    switch_await "$switch_dir/db.sock" ovsdb-server
    # The socket is there before the server listens on it.
    ovs-vsctl --retry --timeout=10 --no-wait init
}

switch_start_daemon() {
    switch_spawn ovs-vswitchd "unix:$switch_dir/db.sock" "$@"
    switch_await "$switch_dir/ovs-vswitchd.pid" ovs-vswitchd
}

switch_spawn() {
    local daemon=$1
    shift
    "$daemon" "$@" --no-chdir --pidfile --log-file -vconsole:off \
        -vsyslog:off </dev/null >"$switch_dir/$daemon.out" 2>&1 &
    switch_pids+=("$!")
}

# switch_await FILE DAEMON: the daemon started last makes FILE when it serves.
switch_await() {
    local tries=0 pid=${switch_pids[-1]}
    until [ -e "$1" ]; do
        kill -0 "$pid" 2>/dev/null ||
            die "$2 ended at once: $(tail -n 3 "$switch_dir/$2.out" \
                                          "$switch_dir/$2.log" 2>/dev/null)"
        tries=$((tries + 1))
        [ "$tries" -lt 1000 ] || die "$2 does not answer"
        sleep 0.01
    done
}

# Ends what was started here, newest first, and removes the directory.
switch_stop() {
    local i pid tries
    for ((i = ${#switch_pids[@]} - 1; i >= 0; i--)); do
        pid=${switch_pids[i]}
        kill "$pid" 2>/dev/null || continue
        # Five seconds to end in order, then not asked any more.
        for ((tries = 0; tries < 500; tries++)); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.01
        done
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    switch_pids=()
    [ -z "$switch_dir" ] || rm -rf "$switch_dir"
    switch_dir=
}

failures=0

# check NAME COMMAND...: one line of the result.
check() {
    local name=$1
    shift
    if "$@" >"$switch_dir/out" 2>&1; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        sed 's/^/# /' "$switch_dir/out"
        failures=$((failures + 1))
    fi
}

# exits STATUS COMMAND...
exits() {
    local wanted=$1 status=0
    shift
    "$@" || status=$?
    [ "$status" = "$wanted" ] || {
        echo "exit status $status, not $wanted: $*"
        return 1
    }
}

# says TEXT STATUS COMMAND...: TEXT must be in the output.
says() {
    local text=$1
    shift
    if ! exits "$@" >"$switch_dir/said" 2>&1 ||
       ! grep -qF -- "$text" "$switch_dir/said"; then
        cat "$switch_dir/said"
        return 1
    fi
}

# A private switch of dummy datapaths, which ends with this shell.
start_dummy_switch() {
    find_ovs
    find_bulkhead
    trap_cleanup switch_stop
    switch_prepare
    switch_start --enable-dummy --disable-system
}

# n_sent PORT: packets that br0 has sent there.
n_sent() {
    ovs-ofctl -O OpenFlow14 dump-ports br0 "$1" |
        sed -n 's/.*tx pkts=\([0-9]*\),.*/\1/p'
}

# make_dummy_bridge BRIDGE INTENT NODE: fit for the intent, with ports that
# "ovs-appctl netdev-dummy/receive" feeds, of type $port_type if that is set.
# ovs-vsctl takes the square of the ports of one command.
make_dummy_bridge() {
    local name arguments
    arguments=(add-br "$1" -- set bridge "$1" datapath_type=dummy
               fail-mode=secure)
    while read -r name; do
        arguments+=(-- add-port "$1" "$name"
                    -- set interface "$name" type="${port_type:-dummy}")
        if [ ${#arguments[@]} -gt 2000 ]; then
            ovs-vsctl --timeout=60 "${arguments[@]}"
            arguments=()
        fi
    done < <(python3 "$here/intent.py" "$2" "$3")
    ovs-vsctl --timeout=60 "${arguments[@]}"
}

# make_captured_bridge BRIDGE INTENT NODE: ports named as the intent's
# interfaces, each writing what leaves it to a capture, and a bridge of its own
# for the sentinel packets.
make_captured_bridge() {
    local name arguments
    arguments=(add-br "$1"
               -- set bridge "$1" datapath_type=dummy fail-mode=secure
               -- set interface "$1"
                  options:tx_pcap="$switch_dir/$1.pcap")
    while read -r name; do
        arguments+=(-- add-port "$1" "$name"
                    -- set interface "$name" type=dummy
                       options:tx_pcap="$switch_dir/$name.pcap")
    done < <(python3 "$here/intent.py" "$2" "$3")
    ovs-vsctl --timeout=10 "${arguments[@]}" \
        -- add-br sentinel -- set bridge sentinel datapath_type=dummy \
        -- add-port sentinel sentinel0 -- set interface sentinel0 type=dummy \
        -- add-port sentinel sentinel1 -- set interface sentinel1 type=dummy \
           options:tx_pcap="$switch_dir/sentinel1.pcap"
    ovs-ofctl add-flow sentinel \
        "priority=65535,in_port=sentinel0 actions=output:sentinel1"
}

# What follows is about $intent on $node.

bulkhead_on() {
    local command=$1 bridge=$2
    shift 2
    # shellcheck disable=SC2154 # The test sets it.
    "$BULKHEAD" "$command" "${1:-$intent}" --node "$node" --bridge "$bridge" \
        -t 10
}

flows() { ovs-ofctl -O OpenFlow14 --no-stats --no-names dump-flows "$1" |
          LC_ALL=C sort; }
meters() {
    ovs-ofctl -O OpenFlow13 dump-meters "$1" | tail -n +2 |
        awk -v RS= '{ $1 = $1; print }' | sort
}

# syn ARGUMENT...: the SYN that bulkhead trace tells of, in the syntax of
# datapath flows.
syn() {
    "$BULKHEAD" trace "$intent" "$@" -f json |
        python3 -c 'import json, sys
p = dict(x.split("=") for x in json.load(sys.stdin)["packet"].split(",")[1:])
print("in_port(1),eth(src=%s,dst=%s),eth_type(0x0800),ipv4(src=%s,dst=%s,"
      "proto=6,tos=0,ttl=64,frag=no),tcp(src=1000,dst=%s),tcp_flags(syn)"
      % tuple(p[k] for k in ("dl_src", "dl_dst", "nw_src", "nw_dst",
                             "tp_dst")))'
}

# state BRIDGE: everything that a policy is.
state() { flows "$1"; meters "$1"; }

# unchanged BRIDGE COMMAND...: whatever it says, the bridge is as before.
unchanged() {
    local bridge=$1
    shift
    state "$bridge" >"$switch_dir/before"
    "$@" || return 1
    state "$bridge" | diff "$switch_dir/before" -
}

# For sed: the examples' rule batch/no-ssh goes.
without_no_ssh='/^        {$/{N;/"no-ssh"/{N;N;N;N;N;d}}'

# That of the watchdog of "apply --confirm" on br0.
pidfile() { echo "$switch_dir/bulkhead-confirm-br0.pid"; }

# Waits until there is no watchdog any more, 20 seconds at most.
watchdog_ends() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        [ -e "$(pidfile)" ] || return 0
        sleep 0.1
    done
    echo 'the watchdog is there still'
    return 1
}

# with SED-SCRIPT: the example, changed.
with() {
    sed "$1" "$intent" >"$switch_dir/changed.json"
    ! cmp -s "$intent" "$switch_dir/changed.json" || die "'$1' changes nothing"
    echo "$switch_dir/changed.json"
}
