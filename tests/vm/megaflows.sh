#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# In the virtual machine: starts an Open vSwitch that offloads to tc, as
# ovs-vsctl.sh of a plan sets it, and runs megaflows.py on it.
#
# usage: megaflows.sh TITLE PACKETS PLAN PLAN
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../system/lib.sh"

# Open vSwitch takes no threads for upcalls in the first seconds of a kernel.
await_age() {
    while [ "$(cut -d. -f1 /proc/uptime)" -lt 12 ]; do
        sleep 0.2
    done
}

main() {
    local title=$1 packets=$2 plan=$3 other=$4

    find_ovs
    find_bulkhead
    trap_cleanup switch_stop
    switch_prepare
    modprobe -a openvswitch cls_flower act_police
    switch_start_database
    sh "$plan/ovs-vsctl.sh" br0
    await_age
    switch_start_daemon
    PYTHONDONTWRITEBYTECODE=1 \
        python3 "$srcdir/tests/vm/megaflows.py" "$title" "$packets" \
        "$plan" "$other" || {
        grep -v '|INFO|' "$switch_dir/ovs-vswitchd.log" | tail -n 30
        cat "$switch_dir"/*.out
        exit 1
    }
}

main "$@"
