#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# tc(8) takes the filters that "offload -o" predicts, as far as its own parser
# goes: whatever the kernel then says of them is no matter of this test, for
# many kernels have no flower.  Needs namespaces of users (exit 77 without).
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# refused_by_tc FILE: what tc itself does not take, with the numbers of lines.
# In a namespace where all devices of the file are there.
refused_by_tc() {
    # shellcheck disable=SC2016 # In the other shell.
    unshare -Urn bash -ec '
        for device in $(grep -o "dev [^ ]*" "$1" | sort -u | cut -d" " -f2); do
            ip link add name "$device" type veth
            tc qdisc add dev "$device" clsact
        done
        tc -force -batch "$1" 2>&1 >/dev/null || :' - "$1" |
        grep -vE "^(RTNETLINK answers: |Error: (TC classifier|Failed to load TC|Parent Qdisc|Specified class|Chain|TC action|Filter)|We have an error talking to the kernel$)" |
        awk '/^Command failed/ { if (said) print said, $0; said = ""; next }
             { said = said $0 " / " }
             END { if (said) print said }'
}

# predict EXAMPLE NODE PROFILE MIN: there are so many filters, and nothing of a
# megaflow is left unsaid.
predict() {
    "$BULKHEAD" offload "$srcdir/examples/$1.json" --node="$2" \
        --profile="$3" -o "$switch_dir/$1.batch" >/dev/null 2>&1 &&
        [ "$(grep -c '^filter add' "$switch_dir/$1.batch")" -ge "$4" ] &&
        ! grep '^# not all' "$switch_dir/$1.batch"
}

parses() {
    refused_by_tc "$switch_dir/$1.batch" | tee "$switch_dir/refused"
    [ ! -s "$switch_dir/refused" ]
}

# A line that is wrong is found among the others.
finds() {
    sed "0,/^filter.*$1/s/$1/$2/" "$switch_dir/rack.batch" \
        >"$switch_dir/wrong.batch"
    [ -n "$(refused_by_tc "$switch_dir/wrong.batch")" ]
}

try() {
    check "$1 on $3: all is said" predict "$@"
    check "$1 on $3: tc takes it" parses "$1"
}

main() {
    find_bulkhead
    if ! unshare -Urn true 2>/dev/null || ! command -v tc >/dev/null; then
        echo "tc-test.sh: no namespaces of users, or no tc: skipped"
        exit 77
    fi
    trap_cleanup switch_stop
    switch_dir=$(mktemp -d "${TMPDIR:-/tmp}/bulkhead.XXXXXX")
    try ai-cluster gpu-node-1 connectx-7 40
    try rack rack-gpu-1 connectx-6-dx 10
    try internet-gateway gw-node-1 connectx-7 10
    try shared-services hall-node-1 kernel-tc 4
    check 'a wrong match is found' finds ct_zone ct_zonk
    check 'a wrong action is found' finds 'tunnel_key set' 'tunnel_key sat'
    check 'a wrong value is found' finds 'retain 0x' 'retain fx'
    [ "$failures" = 0 ]
}

main
