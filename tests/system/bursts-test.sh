#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# A burst of the training tenant, as all-reduce makes them, on a switch that
# bulkhead configured: it is marked, capped and listed, packet by packet.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1
sent=0

bulkhead() {
    local verb=$1
    shift
    "$BULKHEAD" "$verb" "$intent" --node "$node" --bridge br0 "$@"
}

# Lines of the statistics of the only microburst meter.
statistics() { ovs-ofctl -O OpenFlow14 microburst-stats br0 | grep -E "$1"; }

# burst N: N frames of 1500 bytes, RoCEv2 and ECN-capable, in no time.
burst() {
    local i frames=()
    local frame="in_port(1),eth(src=02:00:00:01:00:00,dst=02:00:00:01:00:01),\
eth_type(0x0800),ipv4(src=10.1.0.10,dst=10.1.0.11,proto=17,tos=2,ttl=64,\
frag=no),udp(src=50000,dst=4791)"

    for ((i = 0; i < $1; i++)); do frames+=("$frame" --len 1500); done
    ovs-appctl netdev-dummy/receive pf0vf0 "${frames[@]}"
    sent=$((sent + $1))
    for ((i = 0; i < 100; i++)); do
        [ "$(meter_in)" != "$sent" ] || return 0
        sleep 0.1
    done
    return 1
}

# What came to the meter of what is sent; that of what is received gets less.
meter_in() {
    ovs-ofctl -O OpenFlow14 meter-stats br0 | tr ' ' '\n' |
        sed -n 's/^packet_in_count:\([1-9][0-9]*\)$/\1/p' | sort -n |
        tail -n 1
}

# counts EXPECTED COMMAND...
counts() {
    local expected=$1
    shift
    diff <(echo "$expected") <("$@")
}

# The meter's queue drains 7.5 bytes in a ns.  96 KiB are 65 frames and a bit,
# and so on: see the intent.
test_bursts() {
    local i

    check 'apply' bulkhead apply
    check 'the switch holds the meter as it is meant' bulkhead status
    ovs-appctl time/stop
    check 'a burst of 40 frames' burst 40
    ovs-appctl time/warp-ns 8000 >/dev/null
    check 'passes unmarked, and is none to be recorded' counts \
'  marked: packet_count:0 byte_count:0
  bursts: count:0 byte_count:0 depth:0 max_depth:60000 max_gap_ns:0' \
        statistics 'marked|bursts'

    check 'a burst of 100 frames' burst 100
    ovs-appctl time/warp-ns 20000 >/dev/null
    check 'is marked above 96 KiB and listed' counts \
"  marked: packet_count:35 byte_count:52500
  bursts: count:1 byte_count:150000 depth:0 max_depth:150000 max_gap_ns:0
    burst: age_ns:20000 length_ns:20000 rise_ns:0 max_depth:150000\
 byte_count:150000 max_gap_ns:0 tag:1147258246" \
        statistics 'marked|bursts|burst:'

    for ((i = 0; i < 4; i++)); do
        check 'a burst of 400 frames, by parts' burst 100
    done
    check 'is capped at 512 KiB, and marked where it exceeds the burst' \
        counts \
'  dropped: packet_count:0 byte_count:0
  exceeded: packet_count:175 byte_count:262500
  capped: packet_count:51 byte_count:76500
  marked: packet_count:319 byte_count:478500' \
        statistics 'dropped|exceeded|capped|marked'
    # Of 349 that are left, 174 fit the burst of what is received.
    check 'drops counts what was dropped, not what was marked' counts \
        'meter,llm-training (receive),175,262500
meter,llm-training,51,76500' bulkhead drops -f csv --no-headings
    ovs-appctl time/warp-ns 1000000 >/dev/null
    check 'burst-show lists both' counts 2 \
        eval "ovs-appctl dpif-netdev/burst-show | grep -c burst:.*tag:1147258246"
}

main() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    test_bursts
    [ "$failures" = 0 ]
}

main
