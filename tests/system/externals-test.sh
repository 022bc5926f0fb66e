#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# What lies outside, on a dummy datapath with the conntrack of the userspace
# datapath: what comes from the routers of examples/internet-gateway.json and
# what leaves by them.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/internet-gateway.json
node=gw-node-1

# The same without a rule.
without() {
    python3 - "$intent" "$1" <<'END'
import json
import sys

intent = json.load(open(sys.argv[1], encoding="utf-8"))
rules = intent["tenants"]["web"]["rules"]
rules[:] = [rule for rule in rules if rule["name"] != sys.argv[2]]
json.dump(intent, sys.stdout)
END
}

main() {
    start_dummy_switch
    make_captured_bridge br0 "$intent" "$node"
    without visitors >"$switch_dir/changed.json"
    check compile "$BULKHEAD" compile "$intent" --node "$node" \
        -o "$switch_dir/plan"
    check apply bulkhead_on apply br0
    check status bulkhead_on status br0
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/externals.py" "$intent" "$node" \
        br0 "$switch_dir/plan/manifest.json" "$switch_dir/changed.json" ||
        failures=$((failures + 1))
    [ "$failures" = 0 ]
}

main
