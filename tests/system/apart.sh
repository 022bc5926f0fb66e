# shellcheck shell=bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# For tests with real packets: a private switch in network, mount and process
# namespaces of its own, so nothing of a test outlives it or is seen by the
# machine.  Sourced after lib.sh.

# Dies with this script, and all within dies with it.
apart=(setpriv --pdeathsig KILL
       unshare --net --mount --pid --fork --kill-child --mount-proc)

# Exit 77 with the reason.
skip() {
    echo "skipped: $*"
    exit 77
}

can_run_apart() {
    [ "$(id -u)" = 0 ] || skip "needs root, for namespaces and raw sockets"
    command -v ip >/dev/null || skip "needs ip (iproute2)"
    "${apart[@]}" true 2>/dev/null || skip "no namespaces can be made here"
    "${apart[@]}" ip link add name one type veth peer name two 2>/dev/null ||
        skip "no veth devices can be made here"
    "${apart[@]}" mount -t tmpfs tmpfs /run 2>/dev/null ||
        skip "no tmpfs can be mounted here"
    [ -c /dev/net/tun ] || skip "no /dev/net/tun, for the bridge's own port"
    [ -d /proc/sys/net/ipv6 ] || skip "no IPv6 here"
}

# unshare ignores SIGTERM while it waits; its death takes all within along.
stop_apart() {
    local pid
    for pid in "${switch_pids[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    switch_pids=()
    switch_stop
}

# run_apart SCRIPT [ARGUMENT...]: runs it in there, where it calls
# start_apart.
run_apart() {
    can_run_apart
    find_ovs
    find_bulkhead
    trap_cleanup stop_apart
    switch_prepare
    run_interruptible "${apart[@]}" "$@"
}

start_apart() {
    switch_dir=$OVS_RUNDIR
    mount -t tmpfs tmpfs /run
    ip link set lo up
    switch_start --disable-system
}
