#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# The judges of differential.c, over the compiled tables and on a switch of
# the test's own, side by side.
#
# differential-test.sh [--long] [--seed=N]: 200,000 packets and 6,000 traces,
# always the same ones; --long: a million and ten thousand, of a random seed,
# which is printed.  What never occurs in so many is a failure.
# Environment: BUILDDIR, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../system/lib.sh"

differential=${BUILDDIR:-$srcdir/_build}/tests/differential/differential
n_ports=22
packets=200000
traces=8000
seed=1
while [ $# != 0 ]; do
    case $1 in
    --long) packets=1000000 traces=10000 seed=$RANDOM$RANDOM ;;
    --seed=*) seed=${1#--seed=} ;;
    *) die "usage: differential-test.sh [--long] [--seed=N]" ;;
    esac
    shift
done

# Interface iN has port N + 1, the tunnels have 30: 20 endpoints, 2 externals.  Without routes to the
# underlay native tunnelling would drop; the outer header is enough.
make_bridge() {
    local i arguments
    arguments=(add-br br0 -- set bridge br0 datapath_type=dummy
               fail-mode=secure)
    for ((i = 0; i < n_ports; i++)); do
        arguments+=(-- add-port br0 "i$i" -- set interface "i$i" type=dummy
                    ofport_request=$((i + 1)))
    done
    ovs-vsctl --timeout=10 "${arguments[@]}" \
        -- add-port br0 bulkhead-tun0 -- set interface bulkhead-tun0 \
        type=geneve options:remote_ip=flow ofport_request=30
    ovs-appctl dpif/set-dp-features br0 tnl_push_pop false
}

main() {
    local status=0 pid socket
    find_ovs
    [ -x "$differential" ] || die "$differential is not there; build it"
    trap_cleanup switch_stop
    switch_prepare
    switch_start --enable-dummy --disable-system
    make_bridge
    socket=$switch_dir/ovs-vswitchd.$(cat "$switch_dir/ovs-vswitchd.pid").ctl
    "$differential" --floor --seed="$seed" --traces="$traces" \
        --db="unix:$switch_dir/db.sock" --unixctl="$socket" \
        >"$switch_dir/traces" 2>&1 &
    pid=$!
    switch_pids+=("$pid")
    "$differential" --floor --seed="$seed" --packets="$packets" || status=1
    wait "$pid" || status=1
    unset 'switch_pids[-1]'
    cat "$switch_dir/traces"
    return "$status"
}

main
