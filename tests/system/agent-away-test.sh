#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# bulkheadd while a part of the switch is away, or in its way: what is proved
# meanwhile holds afterwards, and the rest is repaired and cut off as ever.
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

# batch/job0 loses its interface, and a rule allows less.
narrow='s/"8000-8100"/"8000-8000"/'
without_job0='s/"interface": "pf0vf4",//;'$narrow
n_proofs() { agent_json proofs times; }
is_proved_again() { [ "$(n_proofs)" -gt "$1" ]; }
sessions() { agent_json sessions; }

# What was proved, and not sent, is older than what is being proved.
test_switch() {
    local before rule
    flows br0 >"$switch_dir/before"
    policy "$unbind;$narrow"
    becomes_equal
    rule=$(flows br0 | LC_ALL=C comm -13 - "$switch_dir/before" |
        sed -n 's/.*\(table=15,.* actions=\).*/\1/p' | sed -n 1p)
    policy "$unbind"
    becomes_equal
    check 'an endpoint' holds "in_port=$(port_of pf0vf4),"
    check '... and a rule' holds "${rule:?}"
    before=$(n_proofs)
    kill_switch
    soon agent_says 'waits for the switch' >/dev/null
    policy "$unbind;$without_job0"
    check 'while the switch is away, both are proved to go' \
        soon is_proved_again "$before"
    touch "$STALL"
    policy "$unbind;$without_job0;"'s/2Mpps/77kpps/'
    begin_switch
    check 'the switch is back, before the next is proved' \
        soon agent_says 'proves what has changed'
    check '... and has its flows' soon soon holds \
        "in_port=$(port_of pf0vf0),"
    check '... but not what was proved to go' cut_off "$(port_of pf0vf4)"
    check '... nor the rule' lacks "$rule"
    rm "$STALL"
    check 'then all is there' soon soon is_equal
    policy "$unbind"
    check 'and as before' soon soon is_equal
}

# Limits are told, and set, by another socket than flows.
test_socket() {
    local limits='s/"limits": { "packets"/"limits": { "connections": 1000, "packets"/'
    policy "$unbind;$limits"
    check 'a tenant with a limit of connections' becomes_equal
    mv "$switch_dir/ovs-vswitchd.pid" "$switch_dir/moved"
    check 'the socket that tells it is not found: said' \
        soon soon agent_says 'asked for dpctl/ct-get-limits'
    goes_on 'no limits'
    policy "$unbind"
    mv "$switch_dir/moved" "$switch_dir/ovs-vswitchd.pid"
    check 'once it is there again, all is well' soon soon is_as_intended
    attach_job1
    mv "$switch_dir/ovs-vswitchd.pid" "$switch_dir/moved"
    policy "$unbind;$limits"
    check 'a limit that cannot be set: refused' \
        soon soon agent_says 'by its control socket'
    goes_on 'no new limit'
    mv "$switch_dir/moved" "$switch_dir/ovs-vswitchd.pid"
    check 'then it is set' soon soon is_as_intended
    policy "$unbind"
    attach_job1
}

attach_job1() {
    ovs-vsctl --no-wait set interface pf0vf5 \
        external_ids:bulkhead-endpoint=batch/job1
    soon soon holds "in_port=$(port_of pf0vf5),"
}

# Others' flows go, and what is detached, in the session that there is.
goes_on() {
    local before port
    before=$(sessions)
    port=$(port_of pf0vf5)
    ovs-ofctl -O OpenFlow14 add-flow br0 "cookie=0xb17d000000000bad,table=0
        priority=60000,in_port=pf0vf4,actions=output:pf0vf0"
    check "$1: what others add goes" soon soon lacks 0xb17d000000000bad
    ovs-vsctl --no-wait remove interface pf0vf5 external_ids bulkhead-endpoint
    check "$1: what is detached is cut off" soon soon cut_off "$port"
    check "$1: all else stays" holds "in_port=$(port_of pf0vf0),"
    check "$1: the session stays" [ "$(sessions)" = "$before" ]
}

# Both numbers that a meter may have are called, one by others, and Bulkhead's
# is not as it should be: it has no place.
test_meter() {
    local meter other
    becomes_equal
    meter=$(flows br0 | grep "in_port=$(port_of pf0vf5)," |
        sed -n 's/.*meter:\([0-9]*\).*/\1/p' | sed -n 1p)
    other=$((meter ^ (meter >= 0x10000000 ? 0x30000000
        : meter < 0x30000 ? 0x30000 : 0x70000)))
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        "meter=$other,kbps,burst,band=type=drop,rate=5,burst_size=7"
    ovs-ofctl -O OpenFlow13 add-flow br0 \
        "cookie=0x1,table=99,in_port=77,actions=meter:$other,output:1"
    sleep 0.6
    ovs-ofctl -O OpenFlow13 mod-meter br0 \
        "meter=$meter,pktps,burst,band=type=drop,rate=3,burst_size=9"
    check 'a meter that has no place is told' \
        soon soon agent_says 'has flows that call both meters of tenant'
    goes_on 'no meter'
    ovs-ofctl del-flows br0 table=99
    ovs-ofctl -O OpenFlow13 del-meter br0 "meter=$other"
    check 'then all is repaired' soon soon is_as_intended
}

# The bridge is unfit when bulkheadd begins: what it keeps is what it sent.
test_restart() {
    attach_job1
    soon soon is_as_intended >/dev/null
    agent save
    agent_end TERM
    ovs-vsctl set-manager ptcp:0:127.0.0.1
    agent_start
    check 'a bridge that is unfit from the start' \
        soon soon agent_says 'has a manager that may be in-band'
    goes_on 'unfit from the start'
    ovs-ofctl -O OpenFlow14 del-flows br0 table=21
    check 'what others delete is repaired, too' soon soon holds table=21,
    agent_end TERM
    rm -r "$BULKHEAD_STATEDIR/br0"
    ovs-ofctl -O OpenFlow14 add-flow br0 "cookie=0xb17d000000000bad,table=0
        priority=60000,in_port=pf0vf4,actions=output:pf0vf0"
    agent_start
    check 'nothing is known of what was sent: nobody else is let in' \
        soon soon lacks 0xb17d000000000bad
    check '... and all others are' holds "in_port=$(port_of pf0vf0),"
    ovs-vsctl del-manager
    check 'once it is fit, all is as intended' soon soon is_as_intended
    ovs-vsctl set bridge br0 protocols=OpenFlow10,OpenFlow13
    check 'a bridge that does not speak OpenFlow 1.4: the cause' \
        soon soon agent_says 'ovs-vsctl add bridge br0 protocols OpenFlow14'
    ovs-vsctl clear bridge br0 protocols
    check '... which ends' soon soon is_as_intended
    agent_end TERM
}

# A bridge that takes no plan, and one that is not there.
test_bridge() {
    agent_start
    attach_job1
    ovs-vsctl set-controller br0 tcp:127.0.0.1:1
    soon agent_says 'has a controller of somebody else' >/dev/null
    check 'detach from a bridge that takes no plan: 0' exits 0 timeout 5 \
        "$BULKHEAD" detach batch/job1 --bridge br0
    check '... and it is cut off' cut_off "$(port_of pf0vf5)"
    ovs-vsctl del-controller br0
    check 'then all is as intended' soon soon is_as_intended
    ovs-vsctl del-br br0
    check 'a bridge that has gone: said' \
        soon soon agent_says 'trouble: database unix:'
    sleep 1.5
    check '... and stays so' agent_says ': there is no bridge br0; '
    agent_end TERM
    "$BULKHEAD" clear --bridge br0 >/dev/null 2>&1 || true
    rm -rf "$BULKHEAD_STATEDIR/br0"
    agent_start
    check 'from the start, too' soon soon agent_says \
        ': there is no bridge br0; '
    check '... in short' agent_says 'br0: waits for the bridge'
    make_dummy_bridge br0 "$intent" $node
    check 'until it is there' soon soon is_as_intended
    agent_end TERM
}

# A monitor begins it again, also while the intent is wrong.
test_monitor() {
    local monitor
    "${BULKHEAD}d" "$folder" --node $node --bridge br0 --pidfile --detach \
        --monitor --log-file -vconsole:off >"$switch_dir/start" 2>&1
    agent_pid=$(cat "$switch_dir/bulkheadd.pid")
    monitor=$(ps -o ppid= -p "$agent_pid" | tr -d ' ')
    switch_pids+=("$monitor" "$agent_pid")
    soon is_as_intended >/dev/null
    sed 's/"rules": /"ruls": /' "$intent" >"$folder/policy.json"
    check 'while a monitor watches it, the intent is wrong' \
        soon agent_says 'the intent is wrong'
    kill -SEGV "$agent_pid"
    check 'it crashes, and begins again' soon soon is_another "$agent_pid"
    agent_pid=$(cat "$switch_dir/bulkheadd.pid")
    check '... with the wrong intent' soon soon agent_says 'the intent is wrong'
    check '... and rests' idle
    check 'exit ends both' exits 0 agent exit
    check '... the monitor, too' soon soon has_ended "$monitor"
    policy "$unbind"
}
is_another() {
    local pid
    pid=$(cat "$switch_dir/bulkheadd.pid") && [ "$pid" != "$1" ] && agent version
}

# The control socket is somewhere else.
test_unixctl() {
    agent_options=(--unixctl="$switch_dir/other.ctl")
    "${BULKHEAD}d" "$folder" --node $node --bridge br0 "${agent_options[@]}" \
        -vconsole:off </dev/null >"$switch_dir/start" 2>&1 &
    agent_pid=$!
    switch_pids+=("$agent_pid")
    soon ovs-appctl -t "$switch_dir/other.ctl" version >/dev/null
    check 'attach does not say that there is no bulkheadd: 3' \
        says 'whether it is done cannot be told' 3 \
        "$BULKHEAD" attach batch/job1 --interface pf0vf5 --bridge br0
    check 'nor apply that it is another apply: 3' \
        says 'a bulkheadd whose --unixctl is not the default' 3 \
        bulkhead_on apply br0
    agent_end TERM
}

main() {
    begin_node
    policy "$unbind"
    export STALL=$switch_dir/stall
    agent_start
    becomes_equal
    attach_job1
    test_switch
    test_socket
    test_meter
    test_restart
    test_bridge
    test_monitor
    test_unixctl
    [ "$failures" = 0 ]
}

main
