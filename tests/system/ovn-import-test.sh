#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Routers that ovn-nbctl joins in many ways, on a private northd: what is
# imported reaches whom ovn-trace reaches, and where it does not, says so.
# Exit 77: skipped, with the reason.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=ovn-lib.sh
. "$here/ovn-lib.sh"

main() {
    find_ovs
    find_bulkhead
    have_ovn || {
        echo "ovn-import-test.sh: skipped: needs ovn-central and ovn-host:" \
             "./bootstrap --developer"
        exit 77
    }
    trap_cleanup switch_stop
    switch_prepare
    export PYTHONDONTWRITEBYTECODE=1
    ovn_start
    check 'routes lead where ovn-trace says' \
        run_interruptible python3 "$here/ovn_routes.py" "$switch_dir"
    grep '^# ' "$switch_dir/out" || true
    [ "$failures" = 0 ]
}

main
