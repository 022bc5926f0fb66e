#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Trees of meters on a switch: installed parents first, read back, changed
# while the old ones stand, and deleted children first.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/tests/golden/plan/shared-uplink/intent.json
node=n1

# "CHILD-ID PARENT-ID" of each meter that borrows.
borrowers() {
    meters br0 | sed -n 's/.*meter=\([0-9]*\) .*parent=\([0-9]*\) .*/\1 \2/p'
}

# lends RATE: the parents of RATE kbps, and that they have children.
lends() {
    local id
    id=$(meters br0 | sed -n "s/.*meter=\([0-9]*\) .*rate=$1 .*/\1/p")
    borrowers | grep " $id\$"
}

# has RATE...: what borrowers() lists below each of those, and no others.
has() {
    local rate
    for rate; do
        lends "$rate" || return 1
    done >"$switch_dir/below"
    diff <(sort "$switch_dir/below") <(borrowers | sort)
}

plan() { "$BULKHEAD" plan "${1:-$intent}" --node $node --bridge br0; }

# The children stand under their parent.
shows() {
    plan "${2:-}" | grep bandwidth >"$switch_dir/shown"
    diff "$switch_dir/shown" - <<<"$1"
}

has_no_meters() { ! meters br0 | grep meter=; }

test_apply() {
    check 'plan prints the tree' shows "$(cat <<'END'
  + bandwidth blue: 5500Mbps, burst 16500B
  + bandwidth blue/b0: 1Gbps, burst 16500B
  + bandwidth uplink up0: lends 4343953kbps, burst 64KiB
  +   bandwidth green: borrows only, weight 1, exceed drop
  +   bandwidth red: guaranteed 4Gbps, limit 5Gbps, weight 3, burst 16KiB, mark 24KiB, cap 48KiB, exceed ecn
  + bandwidth uplink up0 (receive): lends 9843953kbps, burst 64KiB
  +   bandwidth blue (receive): borrows only, weight 1, exceed drop
  +   bandwidth green (receive): borrows only, limit 8Gbps, weight 1, cap 32KiB, exceed drop
  +   bandwidth red (receive): guaranteed 4Gbps, limit 5Gbps, weight 3, burst 16KiB, cap 16KiB, exceed drop
END
)"
    check 'apply: 0' exits 0 bulkhead_on apply br0
    check 'two parents and those below them' has 4343953 9843953
    check 'status reads it back: 0' exits 0 bulkhead_on status br0
    check 'a second apply changes nothing' \
        unchanged br0 says 'as intended' 0 bulkhead_on apply br0
}

# One child changes; all change with their parent.
test_update() {
    local changed
    without_ids >"$switch_dir/old"
    changed=$(with 's/"weight": 3/"weight": 5/')
    check 'a weight changes: two meters, and no flow of others' \
        says 'flows 0 added, 2 changed, 0 deleted, ' 0 \
        bulkhead_on apply br0 "$changed"
    check 'the tree is the new one' has 4343953 9843953
    check 'status: 0' exits 0 bulkhead_on status br0 "$changed"
    changed=$(with 's/"rate": "10Gbps"/"rate": "11Gbps"/')
    check 'plan says what the uplinks lend' shows "$(cat <<'END'
  ~ bandwidth uplink up0: lends 4343953kbps, burst 64KiB -> lends 5328348kbps, burst 64KiB
  ~   bandwidth red: guaranteed 4Gbps, limit 5Gbps, weight 5, burst 16KiB, mark 24KiB, cap 48KiB, exceed ecn -> guaranteed 4Gbps, limit 5Gbps, weight 3, burst 16KiB, mark 24KiB, cap 48KiB, exceed ecn
  ~ bandwidth uplink up0 (receive): lends 9843953kbps, burst 64KiB -> lends 10828348kbps, burst 64KiB
  ~   bandwidth red (receive): guaranteed 4Gbps, limit 5Gbps, weight 5, burst 16KiB, cap 16KiB, exceed drop -> guaranteed 4Gbps, limit 5Gbps, weight 3, burst 16KiB, cap 16KiB, exceed drop
END
)" "$changed"
    check 'the uplink changes, and all that borrow with it' exits 0 \
        bulkhead_on apply br0 "$changed"
    check 'no old parent is left' has 5328348 10828348
    check 'status: 0' exits 0 bulkhead_on status br0 "$changed"
    check 'back again' exits 0 bulkhead_on apply br0
    check 'all is as it was' is_as_before
}

# Meters have one of two ids, and those below them follow.
without_ids() { meters br0 | sed 's/meter=[0-9]*//; s/parent=[0-9]*//' | sort; }
is_as_before() {
    without_ids | diff "$switch_dir/old" - && has 4343953 9843953 &&
        exits 0 bulkhead_on status br0
}

# What an apply that was cut off left: children and parents without flows.
test_leftovers() {
    local changed
    ovs-ofctl -O OpenFlow13 add-meter br0 'meter=268435456,kbps,burst,stats,bands=type=microburst rate=1000 burst_bytes=2000'
    ovs-ofctl -O OpenFlow13 add-meter br0 'meter=268435457,kbps,burst,stats,bands=type=microburst rate=10 burst_bytes=2000 parent=268435456 weight=2'
    check 'status sees leftovers: 4' exits 4 bulkhead_on status br0
    check 'apply deletes them' exits 0 bulkhead_on apply br0
    check 'all is as it was' is_as_before
    # No flow calls the tree: the new parent may have the id of the old one.
    changed=$(with 's/"rate": "10Gbps"/"rate": "11Gbps"/')
    ovs-ofctl -O OpenFlow14 del-flows br0
    check 'another uplink over meters that nothing uses' exits 0 \
        bulkhead_on apply br0 "$changed"
    check 'no old parent is left' has 5328348 10828348
    check 'status: 0' exits 0 bulkhead_on status br0 "$changed"
    check 'back again' exits 0 bulkhead_on apply br0
    check 'all is as it was' is_as_before
}

# No tree, and a tree of another shape.
test_shape() {
    local changed
    changed=$(with 's/"guarantee": "[0-9.]*Gbps", //; s/, "weight": 3//; s/, "borrow": false//')
    check 'without guarantees: no tree' exits 0 bulkhead_on apply br0 "$changed"
    check 'nobody borrows' has
    check 'back again' exits 0 bulkhead_on apply br0
    check 'all is as it was' is_as_before
}

# A meter of somebody else borrows from an uplink's: that one stays meanwhile.
test_foreign() {
    local changed parent
    changed=$(with 's/"rate": "10Gbps"/"rate": "11Gbps"/')
    parent=$(lends 4343953 | sed -n '1s/.* //p')
    ovs-ofctl -O OpenFlow13 add-meter br0 "meter=1,kbps,burst,stats,bands=type=microburst rate=10 burst_bytes=2000 parent=$parent weight=2"
    check 'others may borrow: status 0' exits 0 bulkhead_on status br0
    check 'the uplink changes all the same' exits 0 \
        bulkhead_on apply br0 "$changed"
    check 'and status sees the old one: 4' exits 4 \
        bulkhead_on status br0 "$changed"
    ovs-ofctl -O OpenFlow13 del-meter br0 meter=1
    check 'then apply deletes it' exits 0 bulkhead_on apply br0 "$changed"
    check 'no old parent is left' has 5328348 10828348
    check 'rollback: 0' exits 0 "$BULKHEAD" rollback --bridge br0
    check 'all is as it was' is_as_before
}

# Three levels, and the trees that keep the limits of tenants.
test_split() {
    local intent=$srcdir/tests/golden/plan/split-tenants/intent.json changed
    ovs-vsctl --timeout=10 del-br br0
    make_dummy_bridge br0 "$intent" "$node"
    check 'plan prints three levels' shows "$(cat <<'END'
  + bandwidth green: 1Gbps, burst 16500B
  + bandwidth green (receive): lends 1Gbps, burst 16KiB
  +   bandwidth green (receive, rest): borrows only, weight 1, exceed drop
  +   bandwidth green/g0 (receive): guaranteed 500Mbps, limit 1Gbps, weight 1, burst 16KiB, cap 16KiB, exceed drop
  + bandwidth red (limit): lends 4500Mbps, burst 16KiB
  +   bandwidth red (rest, limit): borrows only, weight 1, exceed drop
  +   bandwidth red/r1 (limit): guaranteed 1Gbps, limit 2Gbps, weight 1, burst 16KiB, cap 16KiB, exceed drop
  + bandwidth red (receive, limit): lends 4500Mbps, burst 16KiB
  +   bandwidth red (receive, rest, limit): borrows only, weight 1, exceed drop
  +   bandwidth red/r1 (receive, limit): guaranteed 1Gbps, limit 2Gbps, weight 1, burst 16KiB, cap 16KiB, exceed drop
  + bandwidth red/r2: 500Mbps, burst 16500B
  + bandwidth red/r2 (receive): 500Mbps, burst 16500B
  + bandwidth tools: lends 800Mbps, burst 64KiB
  +   bandwidth tools (rest): borrows only, weight 1, exceed drop
  +   bandwidth tools/t0: borrows only, limit 500Mbps, weight 2, cap 16KiB, exceed drop
  + bandwidth tools (receive): lends 1Gbps, burst 64KiB
  +   bandwidth tools (receive, rest): borrows only, weight 1, exceed drop
  +   bandwidth tools/t0 (receive): borrows only, limit 500Mbps, weight 2, cap 16KiB, exceed drop
  + bandwidth uplink up0: lends 8243953kbps, burst 64KiB
  +   bandwidth blue: borrows only, weight 1, exceed drop
  +     bandwidth blue (rest): borrows only, weight 1, exceed drop
  +     bandwidth blue/b0: borrows only, limit 2Gbps, weight 4, cap 16KiB, exceed drop
  +   bandwidth red: guaranteed 3500Mbps, weight 3, burst 16KiB, exceed drop
  +     bandwidth red (rest): borrows only, weight 1, exceed drop
  +     bandwidth red/r1: guaranteed 1Gbps, weight 1, burst 16KiB, exceed drop
  +   bandwidth white: guaranteed 500Mbps, weight 1, burst 16KiB, exceed drop
  +     bandwidth white (class gold): guaranteed 200Mbps, weight 1, burst 16KiB, exceed drop
  +     bandwidth white (rest): borrows only, weight 1, exceed drop
  + bandwidth uplink up0 (receive): lends 8343953kbps, burst 64KiB
  +   bandwidth blue (receive): borrows only, weight 1, exceed drop
  +   bandwidth red (receive): guaranteed 3500Mbps, weight 3, burst 16KiB, exceed drop
  +     bandwidth red (receive, rest): borrows only, weight 1, exceed drop
  +     bandwidth red/r1 (receive): guaranteed 1Gbps, weight 1, burst 16KiB, exceed drop
  +   bandwidth white (receive): borrows only, weight 1, exceed drop
  +     bandwidth white (receive, class gold): borrows only, weight 5, exceed drop
  +     bandwidth white (receive, rest): borrows only, weight 1, exceed drop
  + bandwidth white (class silver): 100Mbps, burst 16500B
  + bandwidth white (limit): lends 1900Mbps, burst 16KiB
  +   bandwidth white (class gold, limit): guaranteed 200Mbps, limit 1Gbps, weight 1, burst 16KiB, cap 16KiB, exceed drop
  +   bandwidth white (rest, limit): borrows only, weight 1, exceed drop
  + bandwidth white (receive, limit): lends 2Gbps, burst 16KiB
  +   bandwidth white (receive, class gold, limit): borrows only, limit 1Gbps, weight 5, cap 16KiB, exceed drop
  +   bandwidth white (receive, rest, limit): borrows only, weight 1, exceed drop
END
)" "$intent"
    check 'apply of three levels: 0' exits 0 bulkhead_on apply br0
    check 'status reads it back: 0' exits 0 bulkhead_on status br0
    meters br0 >"$switch_dir/split"
    changed=$(with 's/"burst": "16KiB", "weight": 4/"burst": "16KiB", "weight": 5/')
    check 'a weight of an endpoint changes: one meter, and its flow' \
        says 'flows 0 added, 1 changed, 0 deleted, ' 0 \
        bulkhead_on apply br0 "$changed"
    check 'status: 0' exits 0 bulkhead_on status br0 "$changed"
    changed=$(with 's/"rate": "10Gbps"/"rate": "11Gbps"/')
    check 'the uplink changes, and all below it' exits 0 \
        bulkhead_on apply br0 "$changed"
    check 'status: 0' exits 0 bulkhead_on status br0 "$changed"
    changed=$(with 's/"guarantee": "1Gbps", "limit": "2Gbps", "burst": "16KiB" } },/"limit": "2Gbps", "burst": "16KiB" } },/; s/"guarantee": "500Mbps", //g; s/, "borrow": false } }/ } }/; s/, "weight": [24]//')
    check 'without parts of endpoints: two levels' exits 0 \
        bulkhead_on apply br0 "$changed"
    check 'status: 0' exits 0 bulkhead_on status br0 "$changed"
    check 'back again' exits 0 bulkhead_on apply br0
    check 'as many meters as before' \
        [ "$(meters br0 | wc -l)" = "$(wc -l <"$switch_dir/split")" ]
    check 'clear: 0' exits 0 "$BULKHEAD" clear --bridge br0
    check 'no meter is left' has_no_meters
}

test_clear() {
    check 'clear: 0' exits 0 "$BULKHEAD" clear --bridge br0
    check 'no meter is left' has_no_meters
}

main() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    test_apply
    test_update
    test_leftovers
    test_shape
    test_foreign
    test_clear
    test_split
    [ "$failures" = 0 ]
}

main
