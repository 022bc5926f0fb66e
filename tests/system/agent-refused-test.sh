#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# bulkheadd while the switch does not take what it is to hold: what it had
# taken before is repaired all the same, and what is to be cut off is.
# Environment: BUILDDIR, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent-lib.sh
. "$here/agent-lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1

# A verifier that waits while there is the file STALL.
BULKHEAD=${BUILDDIR:-$srcdir/_build}/tests/verify/faulty

narrow='s/"8000-8100"/"8000-8999"/'

attach_job1() {
    "$BULKHEAD" attach batch/job1 --interface pf0vf5 --bridge br0
}
detach_job1() {
    ovs-vsctl --no-wait remove interface pf0vf5 external_ids bulkhead-endpoint
}
intrude() {
    ovs-ofctl -O OpenFlow14 add-flow br0 "cookie=0xb17d000000000bad,table=0
        priority=60000,in_port=pf0vf4,actions=output:pf0vf0"
}
no_intruder() { lacks 0xb17d000000000bad; }
n_flows() { flows br0 | grep -c "table=$1,"; }

# Each way in which the switch takes nothing new: with a detached endpoint and a
# flow that somebody adds.
test_goes_on() {
    local port
    port=$(port_of pf0vf5)
    intrude
    check "$1: what others add goes" soon no_intruder
    ovs-ofctl -O OpenFlow14 del-flows br0 table=21
    check "$1: what others delete comes back" soon holds table=21,
    detach_job1
    check "$1: what is detached is cut off" soon cut_off "$port"
    check "$1: all else stays" holds "in_port=$(port_of pf0vf0),"
    check "$1: the new is not there" lacks "$2"
    check "$1: bulkheadd has not lost its session" agent_says 'in 1 sessions'
    check "$1: it does not spin" idle
}

# A table that has no room for more.
test_full() {
    attach_job1
    ovs-vsctl -- --id=@t create Flow_Table flow_limit="$(n_flows 15)" \
        overflow_policy=refuse -- set bridge br0 flow_tables:15=@t \
        >"$switch_dir/table"
    policy "$unbind;$narrow"
    check 'a change for which there is no room: refused' \
        soon agent_says 'refused the flows: OFPFMFC_TABLE_FULL'
    test_goes_on 'a full table' reg8=0x80062320
    ovs-vsctl clear bridge br0 flow_tables
    check 'the change comes when there is room' soon soon holds reg8=0x80062320
    check '... and all is as intended' soon is_as_intended
}

# One of rules alone, and one of a whole: both are taken back.
test_change() {
    local port
    policy "$unbind"
    soon lacks reg8=0x80062320 >/dev/null
    attach_job1
    becomes_equal
    port=$(port_of pf0vf5)
    flows br0 | sed 's/meter:[0-9]*//g' >"$switch_dir/before"
    ovs-vsctl -- --id=@t create Flow_Table flow_limit="$(n_flows 15)" \
        overflow_policy=refuse -- set bridge br0 flow_tables:15=@t \
        >"$switch_dir/table"
    policy "$unbind;$narrow;s/\"limit\": \"20Gbps\"/\"limit\": \"27Gbps\"/"
    soon agent_says 'OFPFMFC_TABLE_FULL' >/dev/null
    check 'a refused change with another meter' lacks_rate 27000000
    check '... leaves flows as they were' same_as_before
    restart_switch
    check 'the switch begins anew: what it had taken is there' \
        soon same_as_before
    check '... with the port that is attached' holds "in_port=$port,"
    intrude
    ovs-ofctl -O OpenFlow14 del-flows br0 table=15
    ovs-vsctl set Flow_Table "$(cat "$switch_dir/table")" flow_limit=2
    detach_job1
    check 'a table for less than it had: cut off is cut off' \
        soon cut_off "$port"
    check '... and what others add goes' soon no_intruder
    ovs-vsctl clear bridge br0 flow_tables
    attach_job1
    policy "$unbind"
    check 'the change is taken back: as intended' soon is_as_intended
}
same_as_before() {
    flows br0 | sed 's/meter:[0-9]*//g' | diff "$switch_dir/before" -
}

# A bridge that lets packets past its tables.
test_unfit() {
    ovs-vsctl clear bridge br0 flow_tables
    agent_end TERM
    agent_start
    becomes_equal
    ovs-vsctl set-manager ptcp:0:127.0.0.1
    check 'a manager: said' soon agent_says 'a manager that may be in-band'
    policy "$unbind;$narrow"
    test_goes_on 'an unfit bridge' reg8=0x80062320
    test_others
    ovs-vsctl del-manager
    check 'without the manager the change comes' soon holds reg8=0x80062320
    policy "$unbind"
    becomes_equal
}

# Of what is not put, whom it lets in no more is cut off, and nobody else.
test_others() {
    local port gone
    port=$(port_of pf0vf4)
    policy "$unbind;$narrow;"'s/"rate": "[0-9.]*[kM]*pps"/"rate": "77kpps"/'
    sleep 1
    check 'other limits: nobody is cut off' holds "in_port=$port,"
    policy "$unbind;$narrow;"'/"interface": "pf0vf4"/s/"interface": "pf0vf4",//'
    check 'an endpoint that is bound no more is cut off' soon cut_off "$port"
    policy "$unbind;$narrow"
    gone=$(port_of pf0vf3)
    ovs-vsctl del-port pf0vf3
    check 'so is an interface that goes' soon cut_off "$gone"
    intrude
    check '... and repairs go on' soon no_intruder
    check '... in the same session' agent_says 'in 1 sessions'
    ovs-vsctl add-port br0 pf0vf3 -- set interface pf0vf3 type=dummy
}

# Open vSwitch forgets all flows when the fail mode changes.
test_fail_mode() {
    ovs-vsctl set-fail-mode br0 standalone
    check 'an unfit bridge that lost all: what it had is put again' \
        soon holds "in_port=$(port_of pf0vf0),"
    check '... and what makes it unfit said' agent_says 'forwards by itself'
    ovs-vsctl set-fail-mode br0 secure
    becomes_equal
}

# A wrong intent and a detached endpoint at once, where all files are read.
test_at_once() {
    local port
    mkdir "$switch_dir/versions"
    sed "$unbind" "$intent" >"$switch_dir/versions/good.json"
    sed "$unbind;"'s/"rules": /"ruls": /' "$intent" \
        >"$switch_dir/versions/bad.json"
    swap good
    becomes_equal
    attach_job1
    port=$(port_of pf0vf5)
    soon holds "in_port=$port," >/dev/null
    kill -STOP "$agent_pid"
    swap bad
    detach_job1
    kill -CONT "$agent_pid"
    check 'detached as the intent gets wrong: cut off' soon cut_off "$port"
    check '... and the intent is wrong' soon agent_says 'the intent is wrong'
    swap good
    becomes_equal
}
swap() {
    ln -s "$switch_dir/versions/$1.json" "$switch_dir/next"
    mv -T "$switch_dir/next" "$folder/policy.json"
}

# A database that is not there; a flow that comes again and again; a switch that
# takes connections and says nothing.
test_waits() {
    local pid flapping
    agent_end TERM
    agent_options=(--db "unix:$switch_dir/nothing")
    agent_start
    check 'no database: it does not spin' idle
    agent_end TERM
    agent_options=(--timeout 6)
    agent_start
    agent_options=()
    becomes_equal
    while sleep 0.02; do intrude; done &
    flapping=$!
    sleep 5
    check 'a flow that flaps: it does not spin' idle
    kill "$flapping"
    wait "$flapping" 2>/dev/null || true
    check '... which goes at last' soon soon no_intruder
    pid=$(cat "$switch_dir/ovs-vswitchd.pid")
    kill -STOP "$pid"
    soon soon agent_says 'waits for the switch' >/dev/null
    check 'a switch that hangs: bulkheadd answers' answers
    kill -TERM "$agent_pid"
    check '... and ends' soon has_ended "$agent_pid"
    kill -CONT "$pid"
}
answers() {
    for _ in {1..4}; do
        timeout 3 ovs-appctl -t bulkheadd status || return
        sleep 0.7
    done
}

# A plan that is not put leaves no part of itself behind: here meters without
# the flows that call them no more.
edit() {
    python3 - "$intent" "$1" >"$folder/.new" <<'EOF'
import json, sys
with open(sys.argv[1]) as f:
    tenants = json.load(f)
exec(sys.argv[2], {"tenants": tenants["tenants"]})
json.dump(tenants, sys.stdout)
EOF
    mv "$folder/.new" "$folder/policy.json"
}
test_parts() {
    local narrower='del tenants["store"]["bandwidth"]'
    intent=$srcdir/tests/system/tunnels.json node=n2
    "$BULKHEAD" clear --bridge br0 >/dev/null
    ovs-vsctl del-br br0
    make_dummy_bridge br0 "$intent" $node
    tunnels flow
    export STALL=$switch_dir/stall
    edit ''
    agent_start
    check 'a node with tunnels' soon soon is_as_intended
    tunnels 192.0.2.9
    edit "$narrower"
    check 'a plan that is proved, and a tunnel that is wrong' \
        soon agent_says 'no such tunnel port'
    touch "$STALL"
    edit "$narrower; tenants['red']['bandwidth'] = {'receive': {
        'limit': '9Gbps', 'burst': '256KiB'}}"
    soon agent_says 'proves what has changed' >/dev/null
    tunnels flow
    check 'it is right again: what was put stays whole' \
        soon fits
    restart_switch
    check '... also in a switch that begins anew' soon soon fits
    rm "$STALL"
    check '... and then comes what is proved' soon soon is_as_intended
}
fits() {
    agent_omits 'trouble:' && holds 'in_port=' && holds meter:
}

main() {
    begin_node
    policy "$unbind"
    agent_start
    becomes_equal
    test_full
    test_change
    test_unfit
    test_fail_mode
    test_at_once
    test_waits
    test_parts
    [ "$failures" = 0 ]
}

main
