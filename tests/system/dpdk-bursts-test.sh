#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Bursts through DPDK at random moments, in real time: all those that last
# longer than twice the gap between polls that the port exports are listed,
# each with its culprit and its victim, and none that nobody sent.  They are
# made longer until enough are above it, so a slow machine takes longer.  It
# needs two CPUs, a network namespace and 2.2 GiB of memory.
# Exit 77: skipped, with the reason.
# Environment: OVS_PREFIX, BUILDDIR, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

find_ovs
if [ "$(nproc)" -lt 2 ]; then
    echo "skipped: this needs two CPUs"
    exit 77
fi
unshare=(unshare)
[ "$(id -u)" = 0 ] || unshare=(unshare --user --map-root-user)
if ! "${unshare[@]}" --net true 2>/dev/null; then
    echo "skipped: this needs network namespaces"
    exit 77
fi
exec timeout -k 10 600 "$srcdir/tests/bench/bursts-dpdk" \
    --patched "$OVS_PREFIX" --above-gap 60 \
    "${BUILDDIR:-$srcdir/_build}/tests/bench/burst-sender"
