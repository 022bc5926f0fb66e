#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# What drops counts on a switch: packets that were sent, by the reasons, rules
# and meters that drop them, no more and no less.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1
job0=02:00:00:03:00:00
job1=02:00:00:03:00:01

drops() { "$BULKHEAD" drops "$@" --bridge br0 -t 10; }
named() { drops "$intent" --node "$node" "$@"; }

# send INTERFACE N LENGTH FRAME [L4]: N times the same frame.
send() {
    local i frames=()
    for ((i = 0; i < $2; i++)); do frames+=("$4" --len "$3"); done
    ovs-appctl netdev-dummy/receive "$1" "${frames[@]}"
}

# ip SRC-MAC DST-MAC SRC DST PROTOCOL L4
ip() {
    echo "in_port(1),eth(src=$1,dst=$2),eth_type(0x0800),ipv4(src=$3,dst=$4,\
proto=$5,tos=0,ttl=64,frag=no),$6"
}

# counts EXPECTED COMMAND...: what it prints, with blanks for tabs.
counts() {
    local expected=$1
    shift
    ovs-appctl revalidator/purge
    diff <(echo "$expected") <("$@")
}

no_words() { [ -z "$("$@")" ]; }

send_all() {
    local syn='tcp(src=1000,dst=22),tcp_flags(syn)'
    # Somebody else's address, a rule that denies, no rule, a VLAN.
    send pf0vf4 3 100 "$(ip $job0 $job1 10.3.0.99 10.3.0.11 17 \
        'udp(src=1,dst=2)')"
    send pf0vf4 2 80 "$(ip $job0 $job1 10.3.0.10 10.3.0.11 6 "$syn")"
    send pf0vf3 5 90 "$(ip 02:00:00:02:00:01 02:00:00:02:00:00 10.2.0.11 \
        10.2.0.10 6 "$syn")"
    send pf0vf4 1 64 "in_port(1),eth(src=$job0,dst=$job1),eth_type(0x8100),\
vlan(vid=5,pcp=0),encap(eth_type(0x88b5))"
}

# The clock stands still, so the meter passes its burst: 64 KiB are 525 kbit,
# and of 50 frames of 1500 bytes 43 are in it.
send_burst() {
    ovs-appctl time/stop
    send pf0vf4 50 1500 "$(ip $job0 $job1 10.3.0.10 10.3.0.11 6 \
        'tcp(src=1000,dst=80),tcp_flags(syn)')"
}

test_nothing() {
    check 'a bridge without policy has dropped nothing' \
        counts 'REASON           NAME      PACKETS            BYTES' drops
    check 'apply' "$BULKHEAD" apply "$intent" --node "$node" --bridge br0
    check 'nor has one where nothing was sent' \
        counts 'reason,name,packets,bytes' named -f csv
    check 'the same without headings' no_words named -f csv --no-headings
    check 'and as JSON' counts '[]' named -f json
    check '-v lists what has dropped nothing' says 'deny,batch/no-ssh,0,0' 0 \
        named -f csv -v
    check '-v lists meters' says 'meter,inference,0,0' 0 named -f csv -v
}

test_counts() {
    send_all
    send_burst
    check 'all that was dropped, by rule and tenant' counts \
'reason,name,packets,bytes
meter,batch,7,10500
default,,5,450
spoof,,3,300
deny,batch/no-ssh,2,160
unbound,,1,64' named -f csv
    check 'a table' counts \
'REASON           NAME              PACKETS            BYTES
meter            batch                   7            10500
default          -                       5              450
spoof            -                       3              300
deny             batch/no-ssh            2              160
unbound          -                       1               64' named
    check 'without the intent, the cookie of the rule' counts \
'deny,0xb17da5865e696c9a,2,160' deny_without_intent
    check 'JSON' counts \
'{"bytes":160,"cookie":"0xb17da5865e696c9a","name":"batch/no-ssh","packets":2,"reason":"deny"}
{"bytes":10500,"meter":true,"name":"batch","packets":7,"reason":"meter"}' json
    check 'a limit that was changed counts anew, for the same tenant' moved
}

deny_without_intent() { drops -f csv --no-headings | grep ^deny; }

json() {
    named -f json | python3 -c 'import json, sys
for row in sorted(json.load(sys.stdin), key=lambda row: row["reason"]):
    if row["reason"] in ("deny", "meter"):
        if "meter" in row:
            row["meter"] = 65536 <= row["meter"] < 196608
        print(json.dumps(row, sort_keys=True, separators=(",", ":")))'
}

# A meter that was changed has an id in the other half of the range.
moved() {
    sed 's/"limit": "10Gbps"/"limit": "11Gbps"/' "$intent" \
        >"$switch_dir/changed.json"
    "$BULKHEAD" apply "$switch_dir/changed.json" --node "$node" --bridge br0
    "$BULKHEAD" drops "$switch_dir/changed.json" --node "$node" \
        --bridge br0 -v -f csv | grep -x meter,batch,0,0
}

test_refusals() {
    check 'an intent without a node: 2' says 'together' 2 drops "$intent"
    check 'no bridge: 2' says '--bridge' 2 "$BULKHEAD" drops
    check 'no such bridge: 3' says 'did you mean br0?' 3 \
        "$BULKHEAD" drops --bridge br9
    check 'no such format: 2' says 'table, json or csv' 2 drops -f xml
    check 'csv is not for all commands: 2' says 'no csv' 2 \
        "$BULKHEAD" explain 0xb17d000000000007 -f csv
}

main() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    test_nothing
    test_counts
    test_refusals
    [ "$failures" = 0 ]
}

main
