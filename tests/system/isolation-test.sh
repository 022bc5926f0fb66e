#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Real packets between network namespaces through a private switch that
# Bulkhead holds: what is allowed passes, nothing else arrives anywhere.
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
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/isolation.py" \
        "$srcdir/examples" "$here/overlap.json"
}

case ${1:-} in
--inside) inside ;;
'') run_apart "$here/isolation-test.sh" --inside ;;
*) die "takes no arguments" ;;
esac
