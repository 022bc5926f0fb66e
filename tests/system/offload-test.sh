#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# The megaflows that "offload" predicts are those that a switch makes: the
# flows of the target asap2 on a dummy datapath, and ofproto/trace of each
# packet that opens a connection, or is not tracked.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# compare EXAMPLE NODE
compare() {
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/offload.py" \
        "$srcdir/examples/$1.json" "$2" "$switch_dir/plan" ||
        failures=$((failures + 1))
}

# Who borrows is kept to its limit, who does not to its guarantee.
meter_rates() {
    "$BULKHEAD" compile "$srcdir/tests/golden/plan/shared-uplink/intent.json" \
        --node=n1 --target=asap2 --dump=plan 2>/dev/null |
        sed -n 's/^meter=.*,rate=\([0-9]*\).*/\1/p' | sort -nu | xargs
}

main() {
    start_dummy_switch
    check 'meters drop above the limit, or the guarantee' test \
        "$(meter_rates)" = '1000000 5000000 5500000 8000000 10000000'
    compare ai-cluster gpu-node-1
    compare internet-gateway gw-node-1
    compare shared-services hall-node-1
    [ "$failures" = 0 ]
}

main
