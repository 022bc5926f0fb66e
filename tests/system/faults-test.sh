#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Apply is killed, cut off, or refused at random points; see faults.py.
# FAULTS: how many times (default: 36).  SEED: of the lots that are drawn.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# policies: writes two intents that differ in rules, limits and bindings.
policies() {
    python3 "$here/../bench/make-intent.py" 3 4 8 >"$switch_dir/old.json"
    python3 - "$switch_dir" <<'EOP'
import json
import sys

intent = json.load(open(f"{sys.argv[1]}/old.json"))
one, two, three = [intent["tenants"][name]
                   for name in sorted(intent["tenants"])]
one["bandwidth"] = {"guarantee": "1Gbps", "limit": "3Gbps",
                    "burst": "64KiB"}
one["rules"] = one["rules"][:4]
two["default"] = "allow"
three["bandwidth"] = {"limit": "4Gbps", "burst": "128KiB"}
endpoint = sorted(three["endpoints"])[0]
del three["endpoints"][endpoint]["interface"]
json.dump(intent, open(f"{sys.argv[1]}/new.json", "w"))
EOP
}

main() {
    start_dummy_switch
    policies
    make_dummy_bridge br0 "$switch_dir/old.json" node
    python3 "$here/faults.py" node "$switch_dir/old.json" \
        "$switch_dir/new.json" "${FAULTS:-36}" "${SEED:-$RANDOM}"
}

main
