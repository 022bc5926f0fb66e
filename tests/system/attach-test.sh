#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Endpoints that are bound by what interfaces say in the database: attach,
# detach, iface-id; and what cannot be is left out by itself.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent-lib.sh
. "$here/agent-lib.sh"
# shellcheck source-path=SCRIPTDIR source=attach-lib.sh
. "$here/attach-lib.sh"

# The bridge holds the intent in which all is bound.
is_whole() { bulkhead_on status br0 "$intent"; }

test_apply() {
    policy "$unbind"
    check 'what nobody binds is left out' \
        says 'unbound, so they match nothing: batch/job1 storage/' 0 bulkhead_on apply br0 "$folder"
    check 'attach without a bulkheadd says what to do' \
        says "written; no bulkheadd keeps bridge br0, so run 'bulkhead apply'" 0 \
        attach batch/job1 --interface pf0vf5
    check '...and status tells' exits 4 bulkhead_on status br0 "$folder"
    check '...and apply does it' exits 0 bulkhead_on apply br0 "$folder"
    check 'it is there' has_endpoint $job1
    check 'the same again changes nothing' exits 0 \
        attach batch/job1 --interface pf0vf5
    check 'nor does apply' says 'as intended' 0 \
        bulkhead_on apply br0 "$folder"
    attach batch/job1 --interface pf0vf5 --mac 02:00:00:00:00:99
    check 'what contradicts the intent stops apply, and says where' \
        says 'external_ids of interface pf0vf5 of bridge br0:1:' 1 \
        bulkhead_on apply br0 "$folder"
    check '...and what leaves it out' grep -F -- --partial "$switch_dir/said"
    check '...which does, and says so' \
        says 'left out: interface pf0vf5 as batch/job1: the intent binds' 0 \
        partial_apply "$folder"
    check '...so it is gone' has_no_endpoint $job1
    check '...and a wrong intent stays wrong' exits 1 \
        partial_apply "$(with 's/"class": "realtime"/"class": "realtme"/')"
    attach batch/job1 --interface pf0vf5
    check 'once that is right, it is taken' exits 0 \
        bulkhead_on apply br0 "$folder"
    check 'it is there again' has_endpoint $job1
    python3 "$here/nb_proxy.py" "$switch_dir/proxy.sock" \
        "$switch_dir/db.sock" refused &
    switch_pids+=($!)
    soon [ -S "$switch_dir/proxy.sock" ]
    check 'where nobody can be asked who is attached: 3' \
        says 'is ovsdb-server running there' 3 "$BULKHEAD" apply "$folder" \
        --node $node --bridge br0 --db "unix:$switch_dir/proxy.sock"
    check '...and all is as it was' has_endpoint $job1
    check '...until they can be' exits 0 "$BULKHEAD" apply "$folder" \
        --node $node --bridge br0 --db "unix:$switch_dir/proxy.sock"
    check 'detach' exits 0 detach batch/job1
    check 'apply takes it away' exits 0 bulkhead_on apply br0 "$folder"
    check 'it is gone' has_no_endpoint $job1
}

test_usage() {
    local what
    check 'attach needs an interface: 2' exits 2 attach batch/job1
    check '...and an endpoint: 2' exits 2 attach --interface pf0vf5
    check '...of a tenant: 2' exits 2 attach job1 --interface pf0vf5
    check 'an interface that is not there: 3' says 'did you mean pf0vf' 3 \
        attach batch/job1 --interface pf0vf
    check 'a bridge that is not there: 3' says 'there is no bridge br9' 3 \
        "$BULKHEAD" attach batch/job1 --interface pf0vf5 --bridge br9
    check 'nothing to detach: 3' says 'is attached as batch/job1' 3 \
        detach batch/job1
    for what in zz '"}' 01:00:5e:00:00:01 00:00:00:00:00:00; do
        check "no MAC, $what: 2" \
            says "--mac '$what': this is not the MAC address of a station; " \
            2 attach batch/job1 --interface pf0vf5 --mac "$what"
    done
    for what in 1.2.3 10.3.0.11,x '10.3.0.11 fd00:3::11/64' ::ffff:10.3.0.11
    do
        check "no address, $what: 2" \
            says "--addresses '$what': this is not an address: " \
            2 attach batch/job1 --interface pf0vf5 --addresses "$what"
    done
    for what in 'batch/jo b1' 'ba"tch/job1' batch/_ batch/job1/x batch/; do
        check "no endpoint, $what: 2" \
            says 'this is not the name of an endpoint; write TENANT/' \
            2 attach "$what" --interface pf0vf5
    done
    check "the bridge's own interface: 3" says "is the bridge's own" 3 \
        attach batch/job1 --interface br0
    ovs-vsctl add-port br0 gnv0 -- set interface gnv0 type=geneve \
        options:remote_ip=192.0.2.1
    check 'a tunnel: 3' says "is of type 'geneve', which is no endpoint" 3 \
        attach batch/job1 --interface gnv0
    ovs-vsctl del-port br0 gnv0
    check 'no interface: 2' says "--interface 'a b'" 2 \
        attach batch/job1 --interface 'a b'
    check 'all that wrote nothing' \
        [ "$(ovs-vsctl get interface pf0vf5 external_ids)" = '{}' ]
    for what in 'attach batch/job1 --interface pf0vf5' 'detach batch/job1' \
            "status $intent --node $node"; do
        # shellcheck disable=SC2086 # Words.
        check "${what%% *} without a database: 3" \
            says 'is ovsdb-server running there? see --db and OVS_RUNDIR' 3 \
            env OVS_RUNDIR=/nonexistent "$BULKHEAD" $what --bridge br0
    done
}

test_agent() {
    agent_start
    becomes_equal
    check 'attach returns when it is done' exits 0 \
        attach batch/job1 --interface pf0vf5
    check '...and not before' has_endpoint $job1
    check 'an interface has one endpoint: 3' \
        says 'is attached as batch/job1; detach' 3 \
        attach storage/target0 --interface pf0vf5
    check 'an endpoint has one interface: 3' \
        says 'is attached to interface pf0vf5; detach' 3 \
        attach batch/job1 --interface pf0vf6
    check 'MAC and addresses, too' exits 0 attach storage/target0 \
        --interface pf0vf6 --mac $target0 --addresses 10.4.0.10,fd00:4::10
    check 'now all are bound' is_whole
    check '...and a dry run says who keeps that' says 'is refused until that ends' 0 \
        "$BULKHEAD" apply "$intent" --node $node --bridge br0 --dry-run
    check '...and status agrees' is_equal
    agent_end KILL
    agent_start
    check 'after a kill, too' soon is_whole
    check 'detach' exits 0 detach storage/target0
    check '...is done when it returns' has_no_endpoint $target0
    check 'others stay' has_endpoint $job1
}

# What is wrong is left out, with the reason, and hurts nobody else.
test_wrong() {
    local before
    before=$(flows br0)
    check 'what is no endpoint at all' says 'attached takes TENANT/' 2 \
        agent attached job1
    check 'an endpoint that is not there: 3' \
        says 'storage/targte0: the intent has no such endpoint' 3 \
        attach storage/targte0 --interface pf0vf6
    check '...and nothing is written' \
        [ "$(ovs-vsctl get interface pf0vf6 external_ids)" = '{}' ]
    check '...nor left out' soon agent_omits 'left out: '
    check 'an address that is not of the network: 3' says 'in no subnet of network' 3 \
        attach storage/target0 --interface pf0vf6 --mac $target0 \
        --addresses 10.3.0.9
    check "another's MAC: 3" says 'MAC' 3 attach storage/target0 \
        --interface pf0vf6 --mac 02:00:00:04:00:01 --addresses 10.4.0.10
    check 'all that changed nothing' soon is_before "$before"
    check "one that is well attached, with another MAC: 3" \
        says 'says again what it said before' 3 attach batch/job1 \
        --interface pf0vf5 --mac 02:00:00:04:00:01
    check '...stays as it was' soon is_before "$before"
    ovs-vsctl set interface pf0vf6 external_ids:bulkhead-endpoint=batch/job1
    check 'two for one endpoint: neither' soon has_no_endpoint $job1
    check '...and status says so' \
        agent_says 'as batch/job1: interface pf0vf6 says so too'
    ovs-vsctl remove interface pf0vf6 external_ids bulkhead-endpoint
    check 'one again' soon has_endpoint $job1
    ovs-vsctl del-port br0 pf0vf5
    check 'an interface that goes takes its endpoint with it' \
        soon has_no_endpoint $job1
    ovs-vsctl add-port br0 pf0vf5 -- set interface pf0vf5 type=dummy
    sleep 0.2
    check '...and does not bring it back' has_no_endpoint $job1
    policy "$unbind; s/\"job1\": /\"job2\": /"
    ovs-vsctl set interface pf0vf5 external_ids:bulkhead-endpoint=batch/job1
    check 'an endpoint that the intent loses' soon agent_says \
        'as batch/job1: the intent has no such endpoint'
    policy "$unbind"
    check '...and gets again' soon has_endpoint $job1
    detach batch/job1
}

# While the database is away, nothing can be done: ovs-vswitchd answers nobody.
test_database() {
    local remote=punix:$switch_dir/db.sock
    ovs-appctl -t ovsdb-server ovsdb-server/remove-remote "$remote"
    check 'that the database is away is told' soon agent_says \
        "trouble: database unix:$switch_dir/db.sock: "
    check '...in short' agent_says \
        ': as intended before; the database is away now'
    check '...and in JSON' tells_database '"database unix:*'
    ovs-appctl -t ovsdb-server ovsdb-server/add-remote "$remote"
    ovs-vsctl --retry --timeout=20 set interface pf0vf5 \
        external_ids:bulkhead-endpoint=batch/job1
    check 'once it is back, what it says is taken' soon soon \
        has_endpoint $job1
    check '...and nothing is wrong' agent_omits 'trouble: '
    check '...nor in JSON' tells_database null
    detach batch/job1
}

# shellcheck disable=SC2053 # A pattern.
tells_database() { [[ $(agent_json database) = $1 ]]; }

# names INTERFACE ENDPOINT: by iface-id, in words for ovs-vsctl.
names() {
    words+=(-- clear interface "$1" external_ids
            -- set interface "$1" external_ids:iface-id="$2")
    if [ "$2" = storage/target0 ]; then
        words+=(external_ids:attached-mac="\"$target0\""
                external_ids:bulkhead-addresses='"10.4.0.10 fd00:4::10"')
    fi
}

both_are_there() { has_endpoint $job1 && has_endpoint $target0; }

# Whichever of two tenants is looked at first, both have what they say.
test_moves() {
    local words=() from
    names pf0vf5 batch/job1
    ovs-vsctl "${words[@]}" -- clear interface pf0vf6 external_ids
    check 'one has the interface' soon has_endpoint $job1
    words=()
    names pf0vf5 storage/target0
    ovs-vsctl "${words[@]}"
    check 'then the other' soon has_endpoint $target0
    check '...and the one no more' soon has_no_endpoint $job1
    words=()
    names pf0vf5 batch/job1
    ovs-vsctl "${words[@]}"
    check 'and back' soon has_endpoint $job1
    check '...which takes it away' soon has_no_endpoint $target0
    for from in 'pf0vf6 pf0vf5' 'pf0vf5 pf0vf6'; do
        words=()
        names "${from% *}" batch/job1
        names "${from#* }" storage/target0
        ovs-vsctl "${words[@]}"
        check 'two are swapped at once' soon is_as_intended
        check '...and both are there' \
            soon both_are_there
        check '...and nothing is left out' \
            agent_omits 'left out: interface'
    done
}

# ids INTERFACE: the names of its external_ids.
ids() {
    ovs-vsctl get interface "$1" external_ids | tr ',' '\n' |
        sed 's/[{ ]*"\{0,1\}\([-a-z]*\).*/\1/' | sort | tr '\n' ' '
}

test_iface_id() {
    local words=()
    names pf0vf6 storage/target0
    ovs-vsctl "${words[@]}"
    check 'iface-id and attached-mac do it, too' soon has_endpoint $target0
    ovs-vsctl set interface pf0vf5 external_ids:iface-id=batch/job1
    check 'all are bound' soon is_whole
    check 'iface-id says whose an interface is: 3' \
        says 'pf0vf5 is attached as batch/job1; its iface-id says so' 3 \
        attach inference/model0 --interface pf0vf5
    check "...and which is an endpoint's: 3" \
        says 'storage/target0 is attached to interface pf0vf6; its iface-id' 3 \
        attach storage/target0 --interface pf0vf7
    check "...and is another's to remove: 3" \
        says 'ovs-vsctl remove interface pf0vf6 external_ids iface-id' 3 \
        detach storage/target0
    check 'all are still bound' is_whole
    check 'attach may say the same' exits 0 \
        attach storage/target0 --interface pf0vf6
    check '...which changes nothing' is_whole
    ovs-vsctl remove interface pf0vf6 external_ids bulkhead-endpoint
    check '...but no other MAC: 3' says 'says again what it said before' 3 \
        attach storage/target0 --interface pf0vf6 --mac 02:00:00:04:00:01
    check '...and then it does so' [ "$(ids pf0vf6)" = \
        'attached-mac bulkhead-addresses iface-id ' ]
    check '...and is bound' soon is_whole
    ovs-vsctl set interface pf0vf5 external_ids:iface-id=batch/job0
    check '...and what it cannot be names whose it is to remove' soon \
        agent_says 'ovs-vsctl remove interface pf0vf5 external_ids iface-id'
    ovs-vsctl set interface pf0vf5 \
        external_ids:iface-id=6ba7b810-9dad-11d1-80b4-00c04fd430c8
    check "others' names are no endpoints" soon has_no_endpoint $job1
    check '...and nothing is said of them' is_as_intended
}

# What is left out for want of another tenant's is tried again when the file of
# that tenant changes.
test_files() {
    local words=() file=$folder/tenants/llm-training.json
    agent_end KILL
    rm "$folder/policy.json"
    sed "$unbind"'
        /^ *"labels": { "role": "metadata" },$/{N;N;N;N;s/,\n.*//}
        s/"limit": "60Gbps",/& "guarantee": "60Gbps",/
        s/"limit": "20Gbps",/& "guarantee": "20Gbps",/
        s/"limit": "40Gbps",/& "guarantee": "40Gbps",/' \
        "$intent" >"$switch_dir/guarantees.json"
    python3 "$here/split.py" "$switch_dir/guarantees.json" "$folder"
    ovs-vsctl clear interface pf0vf5 external_ids \
        -- clear interface pf0vf6 external_ids
    agent_start
    check 'tenants that have guarantees' becomes_equal
    names pf0vf6 storage/target0
    ovs-vsctl "${words[@]}"
    check 'one for which the uplink is too small' soon agent_says \
        'left out: interface pf0vf6 as storage/target0: '
    check '...is not there' has_no_endpoint $target0
    attach batch/job1 --interface pf0vf5
    agent save
    agent_end TERM
    agent_start
    check 'begun again, it lets in whom nothing is wrong with' \
        soon soon has_endpoint $job1
    check '...and that one not' soon agent_says \
        'left out: interface pf0vf6 as storage/target0: '
    check '...nor after a reload' exits 0 agent reload
    check '...which leaves the other alone' soon is_without_target0
    agent_end TERM
    check 'as does apply --partial' says \
        'left out: interface pf0vf6 as storage/target0: ' 0 \
        partial_apply "$folder"
    check '...which lets in the other, too' has_endpoint $job1
    agent_start
    soon soon is_as_intended >/dev/null
    sed -i 's/"guarantee":"60Gbps"/"guarantee":"30Gbps"/' "$file"
    check '...until another needs less of it' soon has_endpoint $target0
    check '...and all is well' soon is_as_intended
}

is_before() { [ "$(flows br0)" = "$1" ]; }

is_without_target0() {
    has_endpoint $job1 && agent_says 'as storage/target0: '
}

main() {
    begin_node
    test_apply
    test_usage
    test_agent
    test_wrong
    test_database
    test_iface_id
    test_moves
    test_files
    [ "$failures" = 0 ]
}

main
