#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# The packet table of the sandbox, ai-cluster.probes, through a private OVN:
# each packet of it, on the ports of a chassis, arrives where the table says
# and nowhere else.
# Exit 77: skipped, with the reason.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=ovn-lib.sh
. "$here/ovn-lib.sh"

node=gpu-node-1
table=$here/ai-cluster.probes

# Interfaces of the intent on the node, and the endpoints that they are.
bindings() {
    python3 -c 'import sys
sys.path.insert(0, sys.argv[1])
import intent
for e in intent.load(sys.argv[2], sys.argv[3]).endpoints:
    print(e.interface, e.full_name)' "$here" "$switch_dir/intent.json" "$node"
}

start_chassis() {
    local interface name arguments=()
    make_captured_bridge br-int "$switch_dir/intent.json" "$node"
    while read -r interface name; do
        arguments+=(-- set interface "$interface"
                       external_ids:iface-id="$name")
    done < <(bindings)
    ovs-vsctl --timeout=10 "${arguments[@]:1}"
    ovn_chassis "$node"
    while read -r interface name; do
        ovn-nbctl --timeout=30 wait-until logical_switch_port "$name" up=true
    done < <(bindings)
    ovn-nbctl --timeout=30 --wait=hv sync
}

main() {
    find_ovs
    find_bulkhead
    have_ovn || {
        echo "ovn-probes-test.sh: skipped: needs ovn-central and ovn-host:" \
             "./bootstrap --developer"
        exit 77
    }
    trap_cleanup switch_stop
    switch_prepare
    export PYTHONDONTWRITEBYTECODE=1
    python3 "$here/ovn_probes.py" --intent \
        "$srcdir/examples/ai-cluster.json" >"$switch_dir/intent.json"
    ovn_start
    "$BULKHEAD" apply "$switch_dir/intent.json" --target=ovn \
        >"$switch_dir/applied" 2>&1 || die "$(cat "$switch_dir/applied")"
    switch_start --enable-dummy --disable-system
    start_chassis
    check 'each packet goes where the table says' \
        run_interruptible python3 "$here/ovn_probes.py" "$table" \
        "$here/ovn.probes" "$switch_dir/intent.json" "$node" br-int
    tail -n 1 "$switch_dir/out" | sed 's/^/# /'
    [ "$failures" = 0 ]
}

main
