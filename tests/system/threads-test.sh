#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# PMD threads come and go while tenants send: what each has sent stays counted,
# and what comes next is added to it.  Two CPUs.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=telemetry-lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/telemetry-lib.sh"

# The CPUs with a PMD thread that polls ports of the bridge.
cpus() {
    ovs-appctl dpif-netdev/pmd-rxq-show |
        sed -n 's/^pmd thread .* core_id \([0-9]*\):$/\1/p' | sort -n |
        tr '\n' ' '
}

# sent TENANT KIND: by all counters of the port.
sent() {
    local line="bulkhead_tenant_sent_$2_total{port=\"$port\",tenant=\"$1\""
    "$BULKHEAD" metrics --once |
        awk -v line="$line" 'index($0, line) == 1 { n += $NF }
                             END { print n + 0 }'
}

# has_sent TENANT N: so many frames of 1500 bytes.
has_sent() {
    local packets bytes
    packets=$(sent "$1" packets)
    bytes=$(sent "$1" bytes)
    echo "$packets packets, $bytes bytes"
    [ "$packets" = "$2" ] && [ "$bytes" = $((1500 * $2)) ]
}

# use MASK CPU...: PMD threads on these CPUs, and no others.
use() {
    local mask=$1 i
    shift
    ovs-vsctl set Open_vSwitch . other_config:pmd-cpu-mask="$mask"
    for ((i = 0; i < 100; i++)); do
        [ "$(cpus)" != "$* " ] || return 0
        sleep 0.1
    done
    cpus
    return 1
}

main() {
    local n=0 step
    if [ "$(nproc)" = 1 ]; then
        echo "skipped: needs two CPUs"
        exit 77
    fi
    # shellcheck disable=SC2034 # Of make_dummy_bridge().
    port_type=dummy-pmd
    start_dummy_switch
    make_telemetry_bridge
    set_telemetry true
    bulkhead_on apply br0 >/dev/null 2>&1
    for step in '1 0' '2 1' '3 0 1' '2 1' '1 0'; do
        # shellcheck disable=SC2086 # The mask, and CPUs.
        check "PMD threads on CPUs ${step#* }" use $step
        check 'what was sent before stays counted' has_sent storage $((4 * n))
        send llm-training 10 && send storage 4
        n=$((n + 1))
        check "training's counter goes on" has_sent llm-training $((10 * n))
        check "and storage's" has_sent storage $((4 * n))
    done
    [ "$failures" = 0 ]
}

main
