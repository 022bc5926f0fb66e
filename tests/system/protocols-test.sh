#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Services of protocols without ports, on a switch that tracks connections: the
# other side may answer, and open nothing.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/tests/golden/plan/protocols/intent.json
node=n1

# passes COUNT FROM TO PROTOCOL [L4]: of one packet, so many arrive.
passes() {
    local before n
    before=$(n_sent "p$3")
    ovs-appctl netdev-dummy/receive "p$2" "in_port(1),eth($(
        )src=02:00:00:01:00:0$2,dst=02:00:00:01:00:0$3),eth_type(0x0800),$(
        )ipv4(src=10.1.0.1$2,dst=10.1.0.1$3,proto=$4,tos=0,ttl=64,frag=no)$(
        )${5:+,$5}"
    sleep 0.3
    n=$(($(n_sent "p$3") - before))
    echo "$n arrived"
    [ "$n" = "$1" ]
}

main() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    check 'apply' bulkhead_on apply br0
    check 'nobody answers what nobody opened' \
        passes 0 1 0 132 'sctp(src=3868,dst=1000)'
    check 'SCTP passes' passes 1 0 1 132 'sctp(src=1000,dst=3868)'
    check '...and is answered' passes 1 1 0 132 'sctp(src=3868,dst=1000)'
    check '...from any port' passes 1 1 0 132 'sctp(src=5,dst=6)'
    check 'GRE is opened from one side' passes 0 1 0 47
    check '...and passes' passes 1 0 1 47
    check '...and is answered' passes 1 1 0 47
    check 'what is not tracked passes from the other side' passes 1 1 0 4
    check '...and from the one' passes 1 0 1 4
    check 'ESP is denied by its number' passes 0 0 1 50
    check 'what no rule names' passes 0 0 1 89
    [ "$failures" = 0 ]
}

main
