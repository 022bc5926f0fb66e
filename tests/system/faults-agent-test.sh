#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# What may happen to a node that bulkheadd keeps, under real traffic between
# namespaces; see faults-agent.py.
# EVENTS: how many (default: 50).  SEED: of the lots that are drawn.
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
    disown -a                   # Their death is no news.
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/faults-agent.py" \
        "$srcdir/examples/ai-cluster.json" gpu-node-1 "${EVENTS:-50}" \
        "${SEED:-$RANDOM}"
}

case ${1:-} in
--inside) inside ;;
'') run_apart "$here/faults-agent-test.sh" --inside ;;
*) die "takes no arguments" ;;
esac
