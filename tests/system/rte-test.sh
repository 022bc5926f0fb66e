#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# The rules that "offload --target=userspace -o" predicts: dpdk-testpmd takes
# them, as far as its parser goes, for its ports have no NIC (net_null); and
# Open vSwitch on DPDK asks for just these when the packets of the prediction
# come by ports that replay them (net_pcap).  The second needs a network
# namespace and 1 GiB of memory.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# testpmd FILE: what it says of each line.
testpmd() {
    local vdevs=() i n
    n=$(grep -c '^# port ' "$1")
    for ((i = 0; i < n; i++)); do
        vdevs+=(--vdev "net_null$i")
    done
    RUNTIME_DIRECTORY=$switch_dir dpdk-testpmd --no-pci --no-huge -m 512 \
        --no-telemetry --file-prefix="bulkhead$$" "${vdevs[@]}" -- \
        -i --total-num-mbufs=4096 <"$1" 2>&1
}

# taken FILE: lines that its parser takes get as far as the driver, which has
# no rte_flow.  Prints how many.
taken() {
    testpmd "$1" >"$switch_dir/testpmd"
    grep -c 'PMD error.*Function not implemented' "$switch_dir/testpmd" || :
}

# predict EXAMPLE NODE MIN: there are so many rules, and nothing of a megaflow
# is left unsaid.
predict() {
    "$BULKHEAD" offload "$srcdir/examples/$1.json" --node="$2" \
        --profile=connectx-7 --target=userspace -o "$switch_dir/$1.rte" \
        -f json >"$switch_dir/$1.report" 2>/dev/null &&
        [ "$(grep -c '^flow create' "$switch_dir/$1.rte")" -ge "$3" ] &&
        ! grep '^# not all' "$switch_dir/$1.rte"
}

parses() {
    local all=$switch_dir/$1.rte
    [ "$(taken "$all")" = "$(grep -c '^flow create' "$all")" ] ||
        { cat "$switch_dir/testpmd"; return 1; }
}

# Actions that no tables of the target make yet, as unit tests have them.
parses_forwards() {
    cat >"$switch_dir/forwards" <<RULES
# port 0: a
# port 1: b
flow create 0 priority 0 group 0 transfer pattern eth type is 0x0800 \
has_vlan is 0 / ipv4 tos spec 0x68 tos mask 0xfc ttl is 0x40 / end \
actions count / set_mac_src mac_addr 02:00:00:00:00:01 / \
set_mac_dst mac_addr 02:00:00:00:00:02 / set_ttl ttl_value 63 / \
port_id original 0 id 1 / end
RULES
    [ "$(taken "$switch_dir/forwards")" = 1 ]
}

# A line that is wrong is found among the others.
finds() {
    local n
    n=$(grep -c '^flow create' "$switch_dir/ai-cluster.rte")
    sed "0,/^flow.*$1/s/$1/$2/" "$switch_dir/ai-cluster.rte" \
        >"$switch_dir/wrong.rte"
    [ "$(taken "$switch_dir/wrong.rte")" = $((n - 1)) ] &&
        grep -q 'Bad arguments' "$switch_dir/testpmd"
}

try() {
    check "$1 on $2: all is said" predict "$@"
    check "$1 on $2: testpmd takes it" parses "$1"
}

compare() {
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/rte.py" "$BULKHEAD" \
        "$srcdir/examples/$1.json" "$2" "$switch_dir/$1.report" \
        "$switch_dir/$1.rte" "$switch_dir"
}

# As switch_start, but in a network namespace.
start_dpdk_switch() {
    local unshare=(unshare --net)
    local eal='--no-pci --no-huge --no-telemetry --legacy-mem -m 1024'
    [ "$(id -u)" = 0 ] || unshare=(unshare --user --map-root-user --net)
    export RUNTIME_DIRECTORY=$switch_dir
    ovsdb-tool create "$switch_dir/conf.db" \
        "$OVS_PKGDATADIR/vswitch.ovsschema"
    switch_spawn ovsdb-server "$switch_dir/conf.db" \
        --remote="punix:$switch_dir/db.sock"
    switch_await "$switch_dir/db.sock" ovsdb-server
    ovs-vsctl --retry --timeout=10 --no-wait init -- set Open_vSwitch . \
        other_config:dpdk-init=true other_config:hw-offload=true \
        other_config:per-port-memory=true \
        other_config:dpdk-extra="\"$eal\""
    switch_spawn "${unshare[@]}" ovs-vswitchd "unix:$switch_dir/db.sock"
    switch_await "$switch_dir/ovs-vswitchd.pid" unshare
    ovs-vsctl --timeout=30 wait-until Open_vSwitch . dpdk_initialized=true
}

main() {
    find_bulkhead
    find_ovs
    if ! command -v dpdk-testpmd >/dev/null; then
        echo "rte-test.sh: no dpdk-testpmd: skipped"
        exit 77
    fi
    trap_cleanup switch_stop
    switch_prepare
    try ai-cluster gpu-node-1 25
    try rack rack-gpu-1 2
    try internet-gateway gw-node-1 30
    try shared-services hall-node-1 20
    check 'what would be forwarded: testpmd takes it' parses_forwards
    check 'a wrong item is found' finds 'ipv4 src' 'ipv4 scr'
    check 'a wrong action is found' finds 'actions mark id' 'actions mark it'
    check 'a wrong value is found' finds 'proto is 0x6' 'proto is 0xg'
    if unshare -Urn true 2>/dev/null || [ "$(id -u)" = 0 ]; then
        check 'Open vSwitch on DPDK runs' start_dpdk_switch
        check 'ai-cluster: it asks for these rules' compare ai-cluster \
            gpu-node-1
        check 'internet-gateway: it asks for these rules' compare \
            internet-gateway gw-node-1
    else
        echo "rte-test.sh: no namespaces: what Open vSwitch does is left out"
    fi
    [ "$failures" = 0 ]
}

main
