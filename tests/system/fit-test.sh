#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# What makes a bridge unfit for any intent: settings and ports that let packets
# past the tables.  apply refuses it, status says why, and what both print
# mends it.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1

# Settings of the bridge that would let packets past the tables.
test_unfit() {
    ovs-vsctl set-fail-mode br0 standalone
    check 'not fail-secure: 3, nothing changed' \
        unchanged br0 says 'set-fail-mode br0 secure' 3 bulkhead_on apply br0
    check 'status then: 4' exits 4 bulkhead_on status br0
    ovs-vsctl set-fail-mode br0 secure -- \
        set bridge br0 protocols=OpenFlow13
    check 'no OpenFlow 1.4: 3' says 'protocols OpenFlow14' 3 \
        bulkhead_on apply br0
    ovs-vsctl set bridge br0 protocols=OpenFlow13,OpenFlow14 -- \
        set-manager tcp:127.0.0.1:1
    check 'a manager that may be in-band: 3' says 'disable-in-band=true' 3 \
        bulkhead_on apply br0
    ovs-vsctl set-fail-mode br0 standalone -- set bridge br0 protocols=[]
    check 'all that makes it unfit is listed: 4' lists_all
    ovs-vsctl set-fail-mode br0 secure
    ovs-vsctl del-manager -- set bridge br0 protocols=[]
    check 'apply after the refusals' exits 0 bulkhead_on apply br0
}

# A controller may change any flow, whoever connects to whom.
test_controllers() {
    local target
    ovs-vsctl set bridge br0 other_config:disable-in-band=true
    for target in tcp:127.0.0.1:1 ptcp:0:127.0.0.1; do
        ovs-vsctl set-controller br0 $target
        check "the controller $target: 3, nothing changed" unchanged br0 \
            says "of somebody else ($target)" 3 \
            bulkhead_on apply br0 "$(with 's/443/444/')"
        check 'status then: 4' says "($target)" 4 bulkhead_on status br0
        check 'what it says mends it: 0' mends apply br0
    done
    ovs-vsctl remove bridge br0 other_config disable-in-band
}

# Two settings and a port are wrong at once; apply refuses for each.
lists_all() {
    local changed
    changed=$(with 's/"pf0vf5"/"not-there"/')
    bulkhead_on apply br0 "$changed" 2>"$switch_dir/refusals" && return 1
    cat "$switch_dir/refusals"
    [ "$(grep -c '^bulkhead: bridge br0 ' "$switch_dir/refusals")" = 3 ] &&
        says 'secure, then apply' 4 bulkhead_on status br0 "$changed" &&
        says 'disable-in-band=true' 4 bulkhead_on status br0 "$changed" &&
        says 'not-there' 4 bulkhead_on status br0 "$changed" &&
        says 'to be ' 4 bulkhead_on status br0
}

# It is a setting of the switch, not of the database.
test_fragments() {
    local mode
    for mode in nx-match drop; do
        ovs-ofctl set-frags br0 $mode
        check "fragments as $mode: 3, nothing changed" unchanged br0 \
            says "fragments as '$mode'" 3 bulkhead_on apply br0
        check 'status then: 4' says 'set-frags br0 normal' 4 \
            bulkhead_on status br0
    done
    check 'what it says mends it: 0' mends status br0
}

# What comes by tunnel or from another bridge is nobody's in particular.
test_types() {
    local type
    for type in vxlan geneve gre; do
        ovs-vsctl --timeout=10 set interface pf0vf4 type=$type \
            options:remote_ip=192.0.2.9
        check "an endpoint's port of type $type: 3, nothing changed" \
            unchanged br0 says "pf0vf4 of bridge br0 is of type '$type'" 3 \
            bulkhead_on apply br0
        check 'status then: 4' says "is of type '$type'" 4 \
            bulkhead_on status br0
    done
    ovs-vsctl --timeout=10 set interface pf0vf4 type=patch \
        options='{peer=pf0vf9}'
    check 'a patch port: 3' says "is of type 'patch'" 3 bulkhead_on apply br0
    ovs-vsctl --timeout=10 set interface pf0vf4 type=dummy options='{}'
    check 'apply after that: 0' exits 0 bulkhead_on apply br0
}

# An operator mirrors on purpose: apply only warns.
test_mirrors() {
    ovs-vsctl --timeout=10 -- --id=@to get port pf0vf5 -- --id=@m \
        create mirror name=spy select-all=true output-port=@to \
        -- set bridge br0 mirrors=@m >/dev/null
    check 'a mirror: status says which, and 4' says 'spy to pf0vf5' 4 \
        bulkhead_on status br0
    check 'and that the rest is as intended' says 'but for mirrors' 4 \
        bulkhead_on status br0
    check 'apply warns, and changes nothing' unchanged br0 \
        says 'spy to pf0vf5' 0 bulkhead_on apply br0
    ovs-vsctl --timeout=10 clear mirror spy output_port
    check 'a mirror that copies nowhere: 0' exits 0 bulkhead_on status br0
    ovs-vsctl --timeout=10 set mirror spy output_vlan=7
    check 'a mirror to a VLAN: 4' says 'spy to VLAN 7' 4 \
        bulkhead_on status br0
    check 'what it says mends it: 0' mends status br0
}

# mends COMMAND BRIDGE: the command behind the last ";" makes it exit with 0.
mends() {
    local remedy
    remedy=$("$BULKHEAD" status "$intent" --node $node --bridge "$2" 2>&1 |
        sed -n 's/.*; \(ovs-.*\)/\1/p')
    echo "$remedy"
    bash -c "$remedy" && exits 0 bulkhead_on "$1" "$2"
}

main() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    check 'apply: 0' exits 0 bulkhead_on apply br0
    test_unfit
    test_controllers
    test_fragments
    test_types
    test_mirrors
    [ "$failures" = 0 ]
}

main
