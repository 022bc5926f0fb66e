#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# bulkheadd proves what it pushes: what is not proved does not come
# onto the bridge, which is kept as it was, and repaired, meanwhile.
# Environment: BUILDDIR, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent-lib.sh
. "$here/agent-lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1

# A compiler that leaves out the flow that matches what is in the file FORGET,
# and a verifier that waits while there is the file STALL.
BULKHEAD=${BUILDDIR:-$srcdir/_build}/tests/verify/faulty
deny_ssh=reg11=0x1d8fd71e,reg13=0x1d8fd71e,reg8=0x80060016/0xc0ffffff

# The same as the switch has it.
denied=reg8=0x80060016/0xc0ffffff,reg11=0x1d8fd71e,reg13=0x1d8fd71e

# Of another tenant than batch, whatever interfaces that has.
allow_https=reg12=0x48e829dd,reg14=0x4f8b989,reg8=0x800601bb/0xc0ffffff

job1=02:00:00:03:00:01

becomes_intended() { soon is_as_intended; }

fault() { printf %s "${1:-$deny_ssh}" >"$FORGET"; }
mend() { rm -f "$FORGET"; }

# The process that proves.
prover() { pgrep -P "$agent_pid"; }

# as_before: the bridge has the flows that it had at keep_in_mind.  Meters that
# are made anew may have other numbers.
unnumbered() { flows br0 | sed 's/meter:[0-9]*//g'; }
keep_in_mind() { unnumbered >"$switch_dir/mind"; }
as_before() { unnumbered | diff "$switch_dir/mind" -; }

test_proved() {
    check 'the policy is there' becomes_equal
    check '... and proved' agent_says 'proved: 1 times, last 4 of 4 tenants'
    agent save
    check "bulkhead's status says so" says ', verified' 0 \
        "$BULKHEAD" status --bridge br0
    limit 21
    check 'one tenant changes' soon has_rate 21000000
    check '... which alone is proved' \
        soon agent_says 'proved: 2 times, last 1 of 4 tenants'
    agent save
    agent_end KILL
    agent_start
    check 'started again, it knows of that' \
        soon agent_says 'proved: 1 times, last 0 of 4 tenants'
    check 'as JSON' says '"last_proved":0' 0 agent status json
}

test_refused() {
    keep_in_mind
    fault
    limit 22
    check 'a leak: refused' \
        soon agent_says 'gpu-node-1 on br0: what has changed is not proved'
    check '... and the bridge is as before' as_before
    check '... status shows the packet' agent_says 'leaks: from batch/'
    check '... and so does the log' \
        grep 'leaks: from batch/' "$switch_dir/bulkheadd.log"
    check '... as JSON' says '"refusal":"leaks: from batch/' 0 \
        agent status json
    check "... and bulkhead's status is 4" says 'leaks: from batch/' 4 \
        "$BULKHEAD" status --bridge br0
    check '... and save says no' says 'does not hold the intent yet' 2 \
        agent save
    ovs-ofctl -O OpenFlow14 del-flows br0 'table=15'
    check 'what others delete comes back all the same' soon as_before
    restart_switch
    check 'and so does all, when ovs-vswitchd was killed' soon as_before
    check 'it waits, and does not spin' idle
    limit 23
    check 'another change with that leak is refused, too' \
        soon agent_says 'what has changed is not proved'
    check '... and the bridge is as before' as_before
    policy
    check 'an intent that leaks as it was, too' \
        soon agent_says 'what has changed is not proved'
    mend
    agent reload
    check 'without the leak it is taken' becomes_equal
    check '... as intended' soon is_as_intended
    check '... and proved' agent_says 'proved: 2 times, last 1 of 4 tenants'
}

# What takes less than a process does needs none.
at_once() {
    grep -c 'prove|DBG|proved at once' "$switch_dir/bulkheadd.log" || true
}
prepared() { grep -c 'proofs are prepared' "$switch_dir/bulkheadd.log"; }
is_prepared_anew() { [ "$(prepared)" -gt "$1" ]; }
test_at_once() {
    local before prepared
    python3 "$here/split.py" "$intent" "$folder"
    check 'a folder of files' becomes_equal
    agent vlog/set prove:file:dbg gate:file:dbg
    before=$(at_once)
    prepared=$(prepared || true)
    sed -i 's/"limit":"20Gbps"/"limit":"33Gbps"/' \
        "$folder/tenants/inference.json"
    check 'another bandwidth' soon has_rate 33000000
    check '... is proved at once' [ "$(at_once)" = $((before + 1)) ]
    check '... and that is said' agent_says ', last 1 of 4 tenants, in '
    check 'while nothing changes, proofs are prepared' \
        soon soon is_prepared_anew "$prepared"
    sed -i 's/"service":"icmp"/"service":"icmp","action":"deny"/' \
        "$folder/tenants/inference.json"
    check 'another rule' becomes_equal
    check '... is proved by what is decided' \
        grep 'proved at once by what is decided' "$switch_dir/bulkheadd.log"
    agent vlog/set prove:file:info gate:file:info
    rm "$folder"/tenants/*.json "$folder"/bindings/*.json
    policy
    check 'all in one file' becomes_equal
}

# What goes from the bridge waits for no proof, and what comes does.
test_interfaces() {
    local port
    port=$(port_of pf0vf5)
    check 'there is an endpoint' eval "! cut_off $port"
    touch "$STALL"
    ovs-vsctl del-port br0 pf0vf5
    check 'an interface that goes is cut off before all is proved' \
        soon cut_off "$port"
    check '... while that is being proved' agent_says 'proves what has changed'
    ovs-vsctl add-port br0 pf0vf5 -- set interface pf0vf5 type=dummy
    sleep 0.2
    check 'one that comes is not let in before' \
        cut_off "$(port_of pf0vf5)"
    rm "$STALL"
    check '... but then' becomes_equal
    fault
    limit 22
    check 'after a refusal' soon agent_says 'what has changed is not proved'
    port=$(port_of pf0vf5)
    ovs-vsctl del-port br0 pf0vf5
    check 'it is cut off, too' soon cut_off "$port"
    restart_switch
    check '... and the others are there when ovs-vswitchd was killed' \
        soon holds 'table=22'
    check '... and it is not' cut_off "$port"
    ovs-vsctl add-port br0 pf0vf5 -- set interface pf0vf5 type=dummy
    mend
    policy
    check 'all is there again once it is right' becomes_equal
}

test_stalled() {
    local pid port
    keep_in_mind
    touch "$STALL"
    limit 24
    check 'while a proof lasts' soon prover
    check '... status says so' agent_says 'proves what has changed'
    check '... and the bridge is as before' as_before
    ovs-ofctl -O OpenFlow14 del-flows br0 'table=15'
    check '... and repaired' soon as_before
    pid=$(prover)
    limit 25
    check 'a newer change takes its place' soon eval "[ \$(prover) != $pid ]"
    check '... which ends' eval "! kill -0 $pid"
    sleep 2
    pid=$(prover)
    limit 26
    sleep 0.3
    check 'but not for ever' [ "$(prover)" = "$pid" ]
    rm "$STALL"
    check 'then each is taken, one after the other' becomes_equal
    check '... the last, too' has_rate 26000000
    touch "$STALL"
    limit 27
    check 'a proof that' soon prover
    kill -SEGV "$(prover)"
    check '... is killed is none' \
        soon agent_says 'UNPROVED: the process of the proof: killed'
    check '... and the bridge is as before' lacks_rate 27000000
    rm "$STALL"
    agent reload
    check '... until another is made' becomes_equal
    touch "$STALL"
    limit 28
    soon prover >/dev/null
    pid=$(prover)
    agent_end KILL
    check 'it ends with bulkheadd' soon has_ended "$pid"
    rm "$STALL"
}

# One tenant's change, which is put as the difference that it makes, and an
# interface that goes and comes while that is proved.
test_closed() {
    local port
    python3 "$here/split.py" "$intent" "$folder"
    check 'a folder of files' becomes_equal
    port=$(port_of pf0vf5)
    touch "$STALL"
    sed -i 's/"limit":"20Gbps"/"limit":"30Gbps"/' \
        "$folder/tenants/inference.json"
    soon prover >/dev/null
    sleep 2.5
    ovs-vsctl del-port br0 pf0vf5
    check 'an interface that goes late is cut off, too' soon cut_off "$port"
    ovs-vsctl add-port br0 pf0vf5 -- set interface pf0vf5 type=dummy \
        ofport_request="$port"
    rm "$STALL"
    check '... and let in again' becomes_equal
    rm "$folder"/tenants/*.json "$folder"/bindings/*.json
    policy
    check 'all in one file' becomes_equal
}

# An endpoint that is bound by what its interface says.
test_detached() {
    local port
    port=$(port_of pf0vf5)
    policy "$unbind"
    check 'an endpoint that nothing binds' soon has_no_endpoint $job1
    "$BULKHEAD" attach batch/job1 --interface pf0vf5 --bridge br0
    check '... is attached' soon has_endpoint $job1
    check '... and proved' becomes_intended
    touch "$STALL"
    policy "$unbind;s/\"limit\": \"20Gbps\"/\"limit\": \"31Gbps\"/"
    soon prover >/dev/null
    sleep 2.5
    ovs-vsctl remove interface pf0vf5 external_ids bulkhead-endpoint
    check 'detached late in a proof, it is cut off' soon cut_off "$port"
    check '... before that ends' agent_says 'proves what has changed'
    fault "$allow_https"
    policy "$unbind;s/\"limit\": \"20Gbps\"/\"limit\": \"32Gbps\"/"
    rm "$STALL"
    check 'what is proved comes' soon has_rate 31000000
    check '... and what comes next is refused' \
        soon agent_says 'what has changed is not proved'
    check '... and it is still cut off' cut_off "$port"
    mend
    policy
    agent reload
    check 'bound by the file again' becomes_equal
}

# A change that is wrong comes while another one is proved.
test_wrong_meanwhile() {
    python3 "$here/split.py" "$intent" "$folder"
    check 'a folder of files' becomes_equal
    touch "$STALL"
    sed -i 's/"limit":"20Gbps"/"limit":"38Gbps"/' \
        "$folder/tenants/inference.json"
    soon prover >/dev/null
    sed -i 's/"limit":"40Gbps"/"limit":"40Gbps","guarantee":"41Gbps"/' \
        "$folder/tenants/storage.json"
    check 'what is wrong' soon agent_says 'the intent is wrong'
    rm "$STALL"
    check '... does not keep back what is proved' soon has_rate 38000000
    rm "$folder"/tenants/*.json "$folder"/bindings/*.json
    policy
    check 'all in one file' becomes_equal
}

attach_job1() {
    "$BULKHEAD" attach batch/job1 --interface pf0vf5 --bridge br0 >/dev/null
    becomes_intended
}
detach_job1() {
    ovs-vsctl remove interface pf0vf5 external_ids bulkhead-endpoint
}

# What is proved does not let in an endpoint that is detached meanwhile, and
# whose own change is not proved yet.
test_detached_just_then() {
    local pid port
    port=$(port_of pf0vf5)
    policy '/"node": "gpu-node-1",$/{N;/"pf0vf5"/d}'
    soon has_no_endpoint $job1 >/dev/null
    attach_job1
    cp "$folder/policy.json" "$switch_dir/unbound.json"
    python3 "$here/split.py" "$switch_dir/unbound.json" "$folder"
    becomes_intended
    touch "$STALL"
    sed -i 's/"limit":"20Gbps"/"limit":"34Gbps"/' \
        "$folder/tenants/inference.json"
    soon prover >/dev/null
    pid=$(prover)
    # In one round it learns that the proof has ended, and of the interface.
    kill -STOP "$agent_pid"
    rm "$STALL"
    soon has_ended "$pid" >/dev/null
    touch "$STALL"
    detach_job1
    kill -CONT "$agent_pid"
    check 'detached just when another change is proved' \
        soon has_rate 34000000
    check '... it is cut off' cut_off "$port"
    check '... before that is proved' agent_says 'proves what has changed'
    rm "$STALL"
    check '... and after that' becomes_intended
    check '... too' cut_off "$port"
}

# detaches N WHAT: lets job1 be attached, and detached in N pushes.
detaches() {
    local port before
    port=$(port_of pf0vf5)
    attach_job1
    soon has_endpoint "$job1" >/dev/null
    before=$(pushes)
    detach_job1
    check "detached, $2" soon cut_off "$port"
    check '... all of it' becomes_intended
    check "... in $1" [ "$(pushes)" = $((before + $1)) ]
}

# What takes flows away only is not cut off before it is put.  What changes one
# is, as with multicast that which copies: a switch may refuse that.
test_detached_at_once() {
    detaches 2 'which changes a flow'
    sed -i 's/,"multicast":\[[^]]*\]//' "$folder/tenants/batch.json"
    becomes_intended
    detaches 1 'which takes flows only'
}

# The same, where the switch was away when that was proved.
test_detached_while_away() {
    local port
    port=$(port_of pf0vf5)
    attach_job1
    touch "$STALL"
    detach_job1
    soon cut_off "$port"
    kill_switch
    rm "$STALL"
    soon eval '! prover' >/dev/null
    touch "$STALL"
    sed -i 's/"limit":"34Gbps"/"limit":"35Gbps"/' \
        "$folder/tenants/inference.json"
    soon prover >/dev/null
    begin_switch
    check 'detached before the switch was away' soon holds 'table=22'
    check '... it is cut off when that is there again' cut_off "$port"
    rm "$STALL"
    check '... and a change has been proved' soon has_rate 35000000
    check '... after that' becomes_intended
    check '... too' cut_off "$port"
    rm "$folder"/tenants/*.json "$folder"/bindings/*.json
    policy
    check 'bound by the file again, in one file' becomes_equal
}

# Before the first proof the bridge is kept as it was before the start.
test_restarted() {
    local port
    becomes_intended
    keep_in_mind
    port=$(port_of pf0vf5)
    agent save
    agent_end KILL
    fault "$allow_https"
    ovs-ofctl -O OpenFlow14 del-flows br0 'table=15'
    agent_start
    check 'refused after a restart' \
        soon agent_says 'what has changed is not proved'
    check '... the bridge is repaired' soon as_before
    ovs-vsctl del-port br0 pf0vf5
    ovs-vsctl add-port br0 other -- set interface other type=dummy \
        ofport_request="$port"
    check '... and an interface that goes is cut off' soon cut_off "$port"
    check '... whose number another has' [ "$(port_of other)" = "$port" ]
    agent_end KILL
    ovs-vsctl del-port br0 other -- add-port br0 pf0vf5 -- \
        set interface pf0vf5 type=dummy
    mend
    agent_start
    check 'all is there again once it is right' becomes_equal
}

# What changes while no bulkheadd runs.
test_away() {
    local port
    becomes_intended
    agent save
    agent_end KILL
    fault "$allow_https"
    port=$(port_of pf0vf4)
    policy 's/"pf0vf4"/"pf0vf9"/;s/"pf0vf5"/"pf0vf4"/;s/"pf0vf9"/"pf0vf5"/'
    agent_start
    check 'interfaces that changed their endpoints' soon cut_off "$port"
    check '... are so until that is proved' \
        soon agent_says 'what has changed is not proved'
    check '... and others are there' holds "in_port=$(port_of pf0vf2),"
    agent_end KILL
    mend
    policy
    agent_start
    check 'but not where all is as it was' becomes_equal
}

test_late() {
    local tries
    agent_options=(--verify-timeout 1)
    agent_start
    check 'with a limit of time' becomes_equal
    touch "$STALL"
    limit 29
    soon prover >/dev/null
    sleep 1.2
    rm "$STALL"
    check 'what is not proved by then is refused' \
        soon agent_says 'UNPROVED: time is up'
    check '... and the bridge is as before' lacks_rate 29000000
    for ((tries = 0; tries < 15; tries++)); do
        soon has_rate 29000000 >/dev/null && break
    done
    check '... until that is tried again' becomes_equal
    touch "$STALL"
    limit 30
    for ((tries = 0; tries < 10; tries++)); do
        soon agent_says 'UNPROVED: time is up' >/dev/null && break
    done
    check 'nor is what does not end by itself' \
        agent_says 'UNPROVED: time is up'
    check '... taken' lacks_rate 30000000
    rm "$STALL"
    for ((tries = 0; tries < 15; tries++)); do
        soon has_rate 30000000 >/dev/null && break
    done
    check '... which is tried again, too' becomes_equal
    agent_end TERM
    check 'none at all: 2' says '--verify-timeout takes seconds' 2 \
        "${BULKHEAD}d" "$folder" --node $node --bridge br0 --verify-timeout 0
}

test_unproved() {
    agent_options=(--no-verify)
    fault
    agent_start
    check 'with --no-verify' becomes_equal
    check '... status says so' agent_says 'proved: nothing, by --no-verify'
    check '... pushes a leak' lacks "$denied"
    agent save
    check "... and bulkhead's status says so" says ', not verified' 0 \
        "$BULKHEAD" status --bridge br0
    agent_end TERM
    agent_options=()
    agent_start
    check 'without it, that is not proved' \
        soon agent_says 'what has changed is not proved'
    mend
    agent reload
    check '... and mended' becomes_equal
    check '... by a flow that is there again' holds "$denied"
}

main() {
    begin_node
    export FORGET=$switch_dir/forget STALL=$switch_dir/stall
    policy
    agent_start
    test_proved
    test_refused
    test_at_once
    test_interfaces
    test_closed
    test_wrong_meanwhile
    test_detached
    test_detached_just_then
    test_detached_at_once
    test_detached_while_away
    test_restarted
    test_away
    test_stalled
    test_late
    test_unproved
    [ "$failures" = 0 ]
}

main
