#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Real packets between network namespaces through a private switch that
# Bulkhead holds: what is allowed passes, nothing else arrives anywhere.
#
# Runs in network, mount and process namespaces of its own, so nothing of it
# outlives it or is seen by the machine.  Exit 77: skipped, with the reason.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Dies with this script, and all within dies with it.
apart=(setpriv --pdeathsig KILL
       unshare --net --mount --pid --fork --kill-child --mount-proc)

skip() {
    echo "skipped: $*"
    exit 77
}

can_run() {
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
outside_stop() {
    local pid
    for pid in "${switch_pids[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    switch_pids=()
    switch_stop
}

outside() {
    can_run
    find_ovs
    find_bulkhead
    trap_cleanup outside_stop
    switch_prepare
    run_interruptible "${apart[@]}" "$here/isolation-test.sh" --inside
}

inside() {
    switch_dir=$OVS_RUNDIR
    mount -t tmpfs tmpfs /run
    ip link set lo up
    switch_start --disable-system
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/isolation.py" \
        "$srcdir/examples" "$here/overlap.json"
}

case ${1:-} in
--inside) inside ;;
'') outside ;;
*) die "takes no arguments" ;;
esac
