#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Real TCP between network namespaces: what one tenant leaves of an uplink
# another uses, and gives back; and what one endpoint leaves of its tenant.
#
# Exit 77: skipped, with the reason.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=apart.sh
. "$here/apart.sh"

inside() {
    start_apart
    export PYTHONDONTWRITEBYTECODE=1
    python3 "$here/borrow.py" tenants "$here/borrow.json" br0
    python3 "$here/borrow.py" parts "$here/borrow-parts.json" br1
}

case ${1:-} in
--inside) inside ;;
'') run_apart "$here/borrow-test.sh" --inside ;;
*) die "takes no arguments" ;;
esac
