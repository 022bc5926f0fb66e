#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# What was put before comes back without interfaces that are not what they were:
# rollback, and the watchdog of --confirm; and what is kept of attachments.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent-lib.sh
. "$here/agent-lib.sh"
# shellcheck source-path=SCRIPTDIR source=attach-lib.sh
. "$here/attach-lib.sh"

named_flows() { ovs-ofctl -O OpenFlow14 --names dump-flows "$1"; }
lets_in() { named_flows br0 | grep -w "$1" >/dev/null; }
bars() { absent named_flows -w "$1"; }
rollback() { "$BULKHEAD" rollback --bridge br0 "$@"; }

# Who goes back to what was there goes back to no interface that is detached
# since, or somebody else's.
test_going_back() {
    local generation
    attach batch/job1 --interface pf0vf5
    attach storage/target0 --interface pf0vf6 --mac $target0 \
        --addresses 10.4.0.10,fd00:4::10
    check 'with both' says 'generation ' 0 bulkhead_on apply br0 "$folder"
    generation=$(sed -n 's/^generation \([0-9]*\) .*/\1/p' "$switch_dir/said")
    check 'rollback to the same leaves none out' \
        exits 0 rollback --to "$generation"
    check '... so both are there' eval "lets_in pf0vf5 && lets_in pf0vf6"
    "$BULKHEAD" plan "$folder" --node $node --bridge br0 \
        -o "$switch_dir/saved" >/dev/null
    detach batch/job1
    check 'a plan that was saved says that is why it is refused' \
        says 'attached or detached since' 1 "$BULKHEAD" apply \
        "$switch_dir/saved"
    attach storage/target0 --interface pf0vf6 --mac 02:00:00:04:00:77 \
        --addresses 10.4.0.10,fd00:4::10
    bulkhead_on apply br0 "$folder" >/dev/null
    check 'rollback leaves out what is detached' says \
        'left out: interface pf0vf5 as batch/job1: it is attached no more' 0 \
        rollback
    check '... and what has another MAC' grep \
        'pf0vf6 as storage/target0: it has another MAC' "$switch_dir/said"
    check '... so neither is there' eval "bars pf0vf5 && bars pf0vf6"
    check '... which status says' says ', not verified, partial' 0 \
        "$BULKHEAD" status --bridge br0
    detach storage/target0
    attach storage/target0 --interface pf0vf5 --mac $target0 \
        --addresses 10.4.0.10,fd00:4::10
    check "... and what is another tenant's by now" says \
        'pf0vf5 as batch/job1: it is attached as storage/target0 by now' 0 \
        rollback --to "$generation"
    check '... which is not let in as it was' bars pf0vf5
    detach storage/target0
    attach batch/job1 --interface pf0vf5
    attach storage/target0 --interface pf0vf6 --mac $target0 \
        --addresses 10.4.0.10,fd00:4::10
    check 'attached again, they are let in' exits 0 \
        rollback --to "$generation"
    check '... both' eval "lets_in pf0vf5 && lets_in pf0vf6"
}

# The same without a person: nor may an interface that is gone stop it.
test_unconfirmed() {
    local number
    number=$(port_of pf0vf6)
    policy "$unbind;s/\"limit\": \"20Gbps\"/\"limit\": \"21Gbps\"/"
    check 'a change to be confirmed' says 'comes back' 0 "$BULKHEAD" apply \
        "$folder" --node $node --bridge br0 --confirm=3s
    detach batch/job1
    ovs-vsctl del-port br0 pf0vf6
    watchdog_ends
    check 'nobody confirms: the one before comes back' \
        says ', partial' 0 "$BULKHEAD" status --bridge br0
    check '... without what is detached, or gone' \
        eval "bars pf0vf5 && cut_off $number"
    ovs-vsctl add-port br0 pf0vf6 -- set interface pf0vf6 type=dummy
    policy "$unbind"
}

# The intent bound it then, and another interface says that it is it by now.
test_elsewhere() {
    cp "$intent" "$folder/policy.json"
    bulkhead_on apply br0 "$folder" >/dev/null
    policy "$unbind"
    bulkhead_on apply br0 "$folder" >/dev/null
    attach batch/job1 --interface pf0vf6
    check 'of an endpoint that is elsewhere by now, the old place is left out' \
        says 'pf0vf5 as batch/job1: interface pf0vf6 says so' 0 rollback
    check '... so it is not let in' bars pf0vf5
    detach batch/job1
}

# The intent binds it, which has the last word, whatever interfaces say; so does
# the one that is gone back to.  One that is bound no more may be another's.
test_contradicted() {
    local generation
    ovs-vsctl set interface pf0vf5 external_ids:iface-id=batch/none
    ovs-vsctl set interface pf0vf6 \
        external_ids:bulkhead-endpoint=batch/job1
    cp "$intent" "$folder/policy.json"
    check 'what interfaces say against the intent is left out' says \
        'left out: interface pf0vf6 as batch/job1: the intent binds' 0 \
        partial_apply "$folder"
    check '... and it is as the intent says' lets_in pf0vf5
    generation=$(last)
    policy "s/\"limit\": \"20Gbps\"/\"limit\": \"21Gbps\"/"
    partial_apply "$folder" >/dev/null 2>&1
    check 'rollback leaves none out for that' without 'left out: ' \
        rollback --to "$generation"
    check '... so it is let in' lets_in pf0vf5
    generation=$(last)
    ovs-vsctl remove interface pf0vf5 external_ids iface-id
    policy "$unbind"
    bulkhead_on apply br0 "$folder" >/dev/null
    check 'once another one is that endpoint' lets_in pf0vf6
    check '... the one before is left out' says \
        'pf0vf5 as batch/job1: interface pf0vf6 says so' 0 \
        rollback --to "$generation"
    check '... so it is not let in' bars pf0vf5
    ovs-vsctl clear interface pf0vf6 external_ids
    bulkhead_on apply br0 "$folder" >/dev/null
}

# The same of what is outside.
test_external() {
    local gateway=$switch_dir/gateway.json
    sed 's/"p0"/"p9"/' "$srcdir/examples/internet-gateway.json" >"$gateway"
    make_dummy_bridge br1 "$gateway" gw-node-1
    ovs-vsctl set interface ext0 external_ids:iface-id=net/uplink0
    check 'an external that says something else' exits 0 \
        "$BULKHEAD" apply "$gateway" --bridge br1 --node gw-node-1
    check '... is let in by rollback, too' without 'left out: ' \
        "$BULKHEAD" rollback --bridge br1 --to 1
}

last() {
    "$BULKHEAD" status --bridge br0 |
        sed -n 's/^generation \([0-9]*\) .*/\1/p'
}

# without TEXT COMMAND...: it succeeds, and does not say so.
without() {
    "${@:2}" >"$switch_dir/said" 2>&1 && ! grep -F -- "$1" "$switch_dir/said"
}

# limited RATE: the intent with another limit is on the bridge.
limited() {
    policy "$unbind;s/\"limit\": \"20Gbps\"/\"limit\": \"$1Gbps\"/"
    soon has_rate "${1}000000"
}

# A generation that only a journal has is one more than are kept.
test_oldest() {
    local oldest
    ovs-vsctl clear interface pf0vf5 external_ids \
        -- clear interface pf0vf6 external_ids
    attach batch/job1 --interface pf0vf5
    agent save
    oldest=$(last)
    check 'two more' eval 'limited 21 && agent save && limited 22 && agent save'
    attach storage/target0 --interface pf0vf6 --mac $target0 \
        --addresses 10.4.0.10,fd00:4::10
    agent_end KILL
    check 'and one that the journal has' says ' and its journal, ' 0 \
        "$BULKHEAD" status --bridge br0
    detach batch/job1
    detach storage/target0
    check 'the oldest comes back without what is detached' says \
        'left out: interface pf0vf5 as batch/job1: it is attached no more' 0 \
        rollback --to "$oldest"
    attach batch/job1 --interface pf0vf5
    check '... and is kept, so that all of it can' \
        exits 0 rollback --to "$oldest"
    check '... with that' lets_in pf0vf5
    detach batch/job1
    policy "$unbind"
    agent_start
    soon soon is_as_intended >/dev/null
}

# What changes nothing is no generation: it would take the place of one that
# was.
test_nothing() {
    local generation
    agent save
    generation=$(last)
    attach storage/targte0 --interface pf0vf6 >/dev/null 2>&1 || true
    check 'what is refused is known' soon agent_omits 'left out: '
    agent save
    check '... and makes no generation' [ "$(last)" = "$generation" ]
    attach batch/job1 --interface pf0vf5
    agent save
    check '... as what is not does' [ "$(last)" -gt "$generation" ]
    detach batch/job1
}

main() {
    begin_node
    policy "$unbind"
    test_going_back
    test_unconfirmed
    test_elsewhere
    test_contradicted
    test_external
    agent_start
    becomes_equal
    test_nothing
    test_oldest
    [ "$failures" = 0 ]
}

main
