#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# On a private northd, against ovn-trace: routers that ovn-nbctl joins in many
# ways, imported, reach whom OVN reaches, and where they do not, it is said;
# and what random ACLs let pass, imported, passes in OVN.
# Exit 77: skipped, with the reason.
# Environment: SEED, OVN_WORLDS; BULKHEAD, OVS_PREFIX, srcdir; found by
# themselves if unset.
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
    check 'random ACLs let pass what ovn-trace says' \
        run_interruptible python3 "$here/ovn_import.py" "${SEED:-1}" \
            "${OVN_WORLDS:-30}"
    grep '^# ' "$switch_dir/out" || true
    [ "$failures" = 0 ]
}

main
