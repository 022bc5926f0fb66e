#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# A sample of the random questions as real packets between network namespaces,
# through a switch that holds the random intents: what the meaning says must
# happen.  Always the same ones, but for --seed=N.
#
# Exit 77: skipped, with the reason.
# Environment: BULKHEAD, BUILDDIR, OVS_PREFIX, srcdir; found by themselves if
# unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../system/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../system/apart.sh
. "$here/apart.sh"

differential=${BUILDDIR:-$srcdir/_build}/tests/differential/differential
worlds=8
packets=60
seed=1

inside() {
    start_apart
    "$differential" --sample="$worlds" --packets="$packets" --seed="$1" \
        >"$switch_dir/sample"
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here python3 \
        "$srcdir/tests/differential/packets.py" "$switch_dir/sample"
}

case ${1:-} in
--inside) inside "$2" ;;
'' | --seed=*)
    seed=${1:+${1#--seed=}}
    [ -x "$differential" ] || die "$differential is not there; build it"
    run_apart "$srcdir/tests/differential/packets-test.sh" --inside \
        "${seed:-1}"
    ;;
*) die "usage: packets-test.sh [--seed=N]" ;;
esac
