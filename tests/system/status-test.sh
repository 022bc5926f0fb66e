#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# What status -v and -f json tell of a bridge that differs.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1

status() { "$BULKHEAD" status "$intent" --node $node --bridge br0 "$@"; }

# lists EXPECTED: the lines of differences, and 4.
lists() {
    local status=0
    status -v >"$switch_dir/listed" || status=$?
    diff <(echo "$1") <(grep -E '^[-+]|^and ' "$switch_dir/listed") &&
        [ $status = 4 ]
}

# json EXPRESSION: holds for the object 's'.
json() {
    { status -f json || :; } | python3 -c 'import json, sys
s = json.load(sys.stdin)
print({key: s[key] for key in s if key != "differences"})
sys.exit(not eval("(" + sys.argv[1] + ")"))' "$1"
}

all_missing() {
    status -v >"$switch_dir/listed"
    [ "$(grep -c '^+cookie=\|^+meter=' "$switch_dir/listed")" = 100 ] &&
        grep -x 'and [0-9]* more' "$switch_dir/listed" &&
        ! grep '^-' "$switch_dir/listed"
}

test_empty() {
    check 'a bridge that is not there: 3' says 'there is no bridge br9' 3 \
        "$BULKHEAD" status --bridge br9
    check 'of an empty bridge a hundred lines, and how many more' all_missing
    check 'the same as JSON' json 'not s["as_intended"] and s["left_out"]
        == s["flows"]["added"] + s["meters"]["added"] - 100 > 0
        and len(s["differences"]) == 100'
    check 'apply: 0' exits 0 bulkhead_on apply br0
    check 'then none' exits 1 grep '^[-+]' <(status -v)
    check 'and JSON' json 's["as_intended"] and s["differences"] == []
        and len(s["tenants"]) == s["meters"]["kept"] == 9'
}

test_unfit() {
    ovs-ofctl set-frags br0 drop
    check 'an unfit bridge is compared still' json 'not s["as_intended"]
        and len(s["unfit"]) == 1 and s["compared"] and s["flows"]["kept"] > 99'
    ovs-ofctl set-frags br0 normal
    ovs-vsctl --timeout=10 del-port br0 pf0vf5
    check 'one without a port that flows name is not' json '"pf0vf5" in
        s["unfit"][0] and not s["compared"] and s["flows"]["kept"] == 0'
    ovs-vsctl --timeout=10 add-port br0 pf0vf5 -- \
        set interface pf0vf5 type=dummy
    check 'apply: 0' exits 0 bulkhead_on apply br0
}

differences='-meter=131073,kbps,burst,stats,bands=type=drop,rate=7,burst_size=7
-cookie=0xb17d000000000bad,table=8,priority=500 actions=goto_table:9
+cookie=0xb17d000000000007,table=20,priority=0 actions=drop # default
-cookie=0xb17d000000000008,table=21,priority=0 actions=goto_table:22 # no-meter
+cookie=0xb17d000000000008,table=21,priority=0 actions=drop # no-meter'

test_flows() {
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 'table=20,priority=0'
    ovs-ofctl -O OpenFlow14 add-flow br0 \
        'cookie=0xb17d000000000bad,table=8,priority=500,actions=goto_table:9'
    ovs-ofctl -O OpenFlow14 --strict mod-flows br0 \
        'table=21,priority=0 actions=goto_table:22'
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        'meter=131073,kbps,burst,stats,bands=type=drop,rate=7,burst_size=7'
    check 'what the bridge lacks, and has too much' lists "$differences"
    check 'and what it means' json 's["differences"][-1]["name"] == "no-meter"'
    check 'apply repairs' exits 0 bulkhead_on apply br0
}

# A changed meter has its second id, which is not that of meters.txt.
test_meters() {
    local changed
    changed=$(with 's/"limit": "20Gbps"/"limit": "25Gbps"/')
    check 'apply of another limit' exits 0 bulkhead_on apply br0 "$changed"
    check 'the meter that goes, and that which comes' meters_change
    intent=$changed
    check 'where a meter is, and where meters.txt has it' \
        says ' meter=180013 # inference, 114477 in meters.txt' 0 status -v
    check 'the others are where it has them' says ' meter=93458 # batch' 0 \
        status -v
    check 'two meters of a tenant have two names' \
        says ' # batch (packets)' 0 status -v
}

meters_change() {
    { status -v || :; } | grep '^[-+]meter' >"$switch_dir/listed"
    diff <(echo '-meter=180013,kbps,burst,stats,bands=type=drop,rate=25000000,burst_size=525 # inference
-meter=611619536,kbps,burst,stats,bands=type=drop,rate=25000000,burst_size=525 # inference (receive)
+meter=114477,kbps,burst,stats,bands=type=drop,rate=20000000,burst_size=525 # inference
+meter=343184080,kbps,burst,stats,bands=type=drop,rate=20000000,burst_size=525 # inference (receive)') "$switch_dir/listed"
}

main() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    test_empty
    test_unfit
    test_flows
    test_meters
    [ "$failures" = 0 ]
}

main
