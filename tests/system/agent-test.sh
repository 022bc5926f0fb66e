#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# bulkheadd: what changes in the files reaches the switch, what others change
# on the switch is undone, and nothing that fails takes a policy away.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent-lib.sh
. "$here/agent-lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1

repaired() { agent status | sed -n 's/^repaired: \([0-9]*\) times.*/\1/p'; }

# detach ARGUMENT...: as an operator starts it.
detach() {
    "$BULKHEAD"d "$@" --pidfile --detach --log-file -vconsole:off \
        -vsyslog:off
}

test_wrong_start() {
    check 'a node that there is not: 1' says "the intent has no node 'nobody'" \
        1 detach "$folder" --node nobody --bridge br0
    check '...said once, on any terminal' [ "$("${BULKHEAD}d" "$folder" \
        --detach --node nobody --bridge br0 2>&1 | grep -c 'no node')" = 1 ]
    check 'an intent that cannot be read: 1' says 'No such file' 1 \
        detach "$folder/none.json" --node $node --bridge br0
    echo '{' >"$switch_dir/half.json"
    check 'one that is wrong: 1' says 'half.json:' 1 \
        detach "$switch_dir/half.json" --node $node --bridge br0
    check 'a bridge that there is not: 3' says 'there is no bridge br1' 3 \
        detach "$folder" --node $node --bridge br1
    check '...and nothing runs' [ ! -e "$switch_dir/bulkheadd.pid" ]
}

# Within the last minute, by both forms of status.
pushed_lately() {
    agent status json | python3 -c '
import datetime, json, sys
last = json.load(sys.stdin)["last_push"]
print(last)
then = datetime.datetime.fromisoformat(last[:26] + "+00:00")
age = datetime.datetime.now(datetime.timezone.utc) - then
sys.exit(not 0 <= age.total_seconds() < 60)' &&
        agent status | grep -E '^pushed: .*, last at 20[0-9-]{8}T[0-9:]{8}\.[0-9]{9}Z$'
}

test_start() {
    "$BULKHEAD"d "$folder" --node $node --bridge br0 --pidfile --detach \
        --log-file -vconsole:off >"$switch_dir/start" 2>&1
    check 'a policy is there soon after the start' becomes_equal
    check 'status says so' soon is_as_intended
    check 'and when the last push was acknowledged' pushed_lately
    check 'its version' says '0.1' 0 agent version
    check 'exit ends it' exits 0 agent exit
    check 'and the bridge stays as it is' is_equal
    agent_start
}

test_files() {
    policy 's/"limit": "20Gbps"/"guarantee": "5Gbps", &/'
    check 'meters that borrow' becomes_equal
    ovs-ofctl -O OpenFlow13 del-meters br0
    check '...are repaired, too' becomes_equal
    policy
    check '...and go again' becomes_equal
    policy 's/"limit": "20Gbps"/"limit": "25Gbps"/'
    check 'a file that is replaced reaches the switch' soon has_rate 25000000
    check 'the old meter goes' lacks_rate 20000000
    check 'all of it' becomes_equal
    sed "$without_no_ssh" "$intent" >"$folder/policy.json"
    check 'a file that is written over' becomes_equal
    policy 's/"realtime", "service"/"realtme", "service"/;
            s/"class": "realtime"/"class": "realtme"/'
    check 'a wrong file is reported' soon agent_says "did you mean 'realtime'?"
    check '...and changes nothing' agent_says 'as intended before'
    check "...and is a difference to bulkhead's status" \
        says 'the intent is wrong' 4 "$BULKHEAD" status --bridge br0
    head -c 1000 "$intent" >"$folder/policy.json"
    check 'half a file, too' soon agent_says 'the intent is wrong'
    check '...and the switch has its flows' \
        says '1 added, 0 changed, 0 deleted, ' 4 bulkhead_on status br0
    policy
    check 'once it is right, it is taken' becomes_equal
    check 'and nothing is wrong any more' soon is_as_intended
}

# The tenant of a file of its own is read by itself.
test_tenant() {
    local before
    split
    check 'a folder of files' becomes_equal
    before=$(n_readings)
    sed -i 's/"limit":"20Gbps"/"limit":"30Gbps"/' \
        "$folder/tenants/inference.json"
    check "a tenant's file reaches the switch" soon has_rate 30000000
    check 'all of it' becomes_equal
    check '...and no other file was read' [ "$(n_readings)" = "$before" ]
    agent save
    check '...and the intent is kept as the files have it' is_kept
    rewrite "$folder/tenants/inference.json"
    sleep 0.2
    check 'one that is taken away and written anew is not missed' \
        [ "$(n_readings)" = "$before" ]
    echo '{' >"$folder/tenants/inference.json"
    check 'half of it is reported' soon agent_says 'inference.json'
    check '...and keeps the last good one' has_rate 30000000
    split
    check 'and mended' becomes_equal
}

# Is what is kept of the intent that is in the files?
is_kept() {
    "$BULKHEAD" status "$folder" --node $node --bridge br0 | grep 'is this one'
}

# How often all files were read.
n_readings() { grep -c '|INFO|read [0-9]* files' "$switch_dir/bulkheadd.log"; }

# As "rm FILE; cp OLD FILE" do, whatever else runs.
rewrite() {
    python3 -c 'import os, sys
old = open(sys.argv[1]).read()
os.remove(sys.argv[1])
open(sys.argv[1], "w").write(old)' "$1"
}

# Makes a file of each tenant.
split() { python3 "$here/split.py" "$intent" "$folder"; }

test_drift() {
    local before
    before=$(repaired)
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 'table=20,priority=0'
    check 'a flow that was deleted is there again' becomes_equal
    ovs-ofctl -O OpenFlow14 add-flow br0 'cookie=0xb17d000000000bad,table=8,
        priority=500,actions=goto_table:9'
    check 'a flow in our name goes' becomes_equal
    ovs-ofctl -O OpenFlow14 mod-flows br0 'table=20,actions=drop'
    check 'flows that were changed' becomes_equal
    ovs-ofctl -O OpenFlow13 del-meters br0
    check 'meters, and the flows that called them' becomes_equal
    ovs-ofctl -O OpenFlow13 mod-meter br0 \
        "meter=$(first_meter),kbps,burst,stats,bands=type=drop,rate=7,burst_size=7"
    check 'a meter that was changed' becomes_equal
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        'meter=131073,kbps,burst,stats,bands=type=drop,rate=7,burst_size=7'
    check 'a meter of ours that nobody wants' becomes_equal
    ovs-ofctl -O OpenFlow14 del-flows br0
    check 'all flows at once' becomes_equal
    check 'each is counted' [ "$(repaired)" -ge $((before + 7)) ]
    check "bulkhead's status tells" says 'repaired: ' 0 \
        "$BULKHEAD" status --bridge br0
    ovs-ofctl add-flow br0 'cookie=0x77,table=200,priority=7,actions=drop'
    sleep 0.2
    check "others' flows stay" flow_of_others
    ovs-ofctl del-flows br0 cookie=0x77/-1
    ovs-ofctl add-flow br0 'cookie=0x77,table=1,priority=7,actions=drop'
    check '...and are told where they may pass by the policy' \
        soon agent_says "flows of others in Bulkhead's tables: 1"
    ovs-ofctl del-flows br0 cookie=0x77/-1
}

# Others' flows where Bulkhead's must be, and others' use of its meters, stop
# nothing.
test_foreign() {
    local meter key
    key=$(flows br0 | sed -n 's/.*\(table=15,.*\) actions=.*/\1/p' |
        sed -n 1p)
    ovs-ofctl -O OpenFlow14 add-flow br0 "cookie=0x77,$key actions=drop"
    check 'a flow of others in the place of one is replaced' becomes_equal
    check '...and the log says which' \
        grep -F '(cookie 0x77) is replaced' "$switch_dir/bulkheadd.log"
    policy 's/"limit": "20Gbps"/"limit": "21Gbps"/'
    check 'and changes reach the switch' soon has_rate 21000000
    meter=$(meters br0 | sed -n 's/^meter=\([0-9]*\) .*rate=21000000 .*/\1/p' |
        sed -n 1p)
    ovs-ofctl -O OpenFlow14 add-flow br0 \
        "cookie=0x77,table=200,actions=meter:$meter"
    policy
    check 'a meter that others call stops no change' soon has_rate 20000000
    check '...and stays, with their flow' flow_of_others
    check '...until that goes' has_rate 21000000
    ovs-ofctl del-flows br0 cookie=0x77/-1
    check '...and then it goes' soon lacks_rate 21000000
    check 'all is as it was' becomes_equal
}

first_meter() { meters br0 | sed -n '1s/^meter=\([0-9]*\) .*/\1/p'; }
flow_of_others() { flows br0 | grep 'cookie=0x77' >/dev/null; }

test_others() {
    check 'a second bulkheadd: 3' says 'is kept by bulkheadd (process ' 3 \
        "${BULKHEAD}d" "$folder" --node $node --bridge br0 -vconsole:off
    check 'apply beside it: 3, nothing changed' \
        unchanged br0 says 'is kept by bulkheadd (process ' 3 \
        bulkhead_on apply br0 "$(with "$without_no_ssh")"
    check '...and nothing is proved for it' exits 1 \
        grep proved "$switch_dir/said"
    check 'clear, too' unchanged br0 says 'is kept by bulkheadd' 3 \
        "$BULKHEAD" clear --bridge br0
    check 'a usage that is wrong: 2' exits 2 "${BULKHEAD}d" "$folder" \
        --bridge br0
    ovs-vsctl set-fail-mode br0 standalone
    check 'a bridge that is not fit is reported' soon agent_says \
        'set-fail-mode br0 secure'
    ovs-vsctl set-fail-mode br0 secure
    check '...and taken back once it is' becomes_equal
}

test_interfaces() {
    ovs-vsctl del-port br0 pf0vf5
    check 'an interface that has gone is waited for' \
        soon agent_says 'waits for: batch/job1 (pf0vf5)'
    check '...and its flows go' soon has_no_endpoint 02:00:00:03:00:01
    check '...which is no difference' bulkhead_on status br0 "$folder"
    check '...nor wrong' bulkhead_on verify br0 "$folder"
    ovs-vsctl add-port br0 pf0vf5 -- set interface pf0vf5 type=dummy
    check 'it comes again, under another number' becomes_equal
}

test_kills() {
    agent_end KILL
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 'table=20,priority=0'
    echo half >"$switch_dir/state/br0/99999.plan"
    echo nonsense >"$switch_dir/state/br0/unconfirmed"
    agent_start
    check 'killed, and a plan half written: repaired at the start' \
        becomes_equal
    check 'what nobody watched is not waited for any more' \
        test ! -e "$switch_dir/state/br0/unconfirmed"
    rm "$switch_dir/state/br0/99999.plan"
    restart_switch
    check 'ovs-vswitchd killed: all is there again' becomes_equal
    check 'in a new session' soon agent_says 'in 2 sessions'
}

# A switch that answers nothing, and hangs up on nobody.
test_silence() {
    local pid
    pid=$(cat "$switch_dir/ovs-vswitchd.pid")
    agent_end TERM
    agent_options=(--timeout 1)
    agent_start
    agent_options=()
    becomes_equal
    kill -STOP "$pid"
    sleep 2
    check 'a switch that falls silent is noticed' \
        soon agent_says 'trouble: bridge br0: looking for changes'
    kill -CONT "$pid"
    check 'and all is well when it speaks again' becomes_equal
}

# What is applied is kept two seconds later, for which nothing waits.  No other
# process is started for a change if nothing is proved.
test_saving() {
    local child save
    agent_end TERM
    agent_options=(--no-verify)
    agent_start
    becomes_equal >/dev/null
    policy 's/"limit": "20Gbps"/"limit": "31Gbps"/'
    rm -f "$folder"/tenants/*.json "$folder"/bindings/*.json
    check 'another policy, of one file' soon has_rate 31000000
    child=$(catch_child)
    check 'a process of its own keeps what is applied' [ -n "$child" ]
    policy 's/"limit": "20Gbps"/"limit": "32Gbps"/'
    check '...which no change waits for' soon has_rate 32000000
    check '...but ends, as what it keeps is old' soon has_ended "$child"
    check '...and status says nothing of it' is_as_intended
    child=$(catch_child)
    check '...it begins again' [ -n "$child" ]
    agent status >"$switch_dir/saving"
    check '...which status does not wait for' grep -F ' on br0: as intended' \
        "$switch_dir/saving"
    agent save >"$switch_dir/save" 2>&1 &
    save=$!
    sleep 0.2
    policy 's/"limit": "20Gbps"/"limit": "33Gbps"/'
    soon has_rate 33000000 >/dev/null
    policy 's/"limit": "20Gbps"/"limit": "32Gbps"/'
    soon has_rate 32000000 >/dev/null
    check '...which does not end if save waits for it' kill -0 "$child"
    kill -CONT "$child"
    check '...and save gets its answer' wait "$save"
    check '...so that all is kept' grep -q 32000000 \
        "$BULKHEAD_STATEDIR"/br0/*.plan
}

# A disk that does not answer: the process of test_saving() never ends.
test_hung_disk() {
    local child save
    policy 's/"limit": "20Gbps"/"limit": "33Gbps"/'
    soon has_rate 33000000 >/dev/null
    child=$(catch_child)
    agent save >"$switch_dir/save" 2>&1 &
    save=$!
    sleep 0.2
    ovs-ofctl -O OpenFlow14 del-flows br0
    check 'while save waits for a disk, flows are repaired' \
        soon has_endpoint 02:00:00:01:00:01
    check '...and save ends when it is told' \
        says 'still being kept' 2 agent save 1
    check "...so that bulkhead's status does" says 'still being kept' 0 \
        "$BULKHEAD" status --bridge br0
    check '...by what bulkheadd says' grep ': as intended' "$switch_dir/said"
    check '...and the first still waits' kill -0 "$save"
    kill -CONT "$child"
    check '...until it is kept' wait "$save"
    policy 's/"limit": "20Gbps"/"limit": "34Gbps"/'
    soon has_rate 34000000 >/dev/null
    child=$(catch_child)
    agent exit
    check 'a disk that does not answer does not keep it from its end' \
        ended_within 7 "$agent_pid"
    check '...nor does the process stay' soon has_ended "$child"
    agent_start
    becomes_equal >/dev/null
}

# A signal does not end it before what the switch has is kept.
test_signals() {
    local child signal mbps=40000
    change_to $mbps
    child=$(catch_child)
    kill -TERM "$agent_pid" "$child"
    sleep 0.2
    check 'SIGTERM: what is being kept is waited for' kill -0 "$agent_pid"
    kill -CONT "$child"
    check '...then it ends, with 0' ends_with 0
    check '...and what the switch has is kept' newest_has ${mbps}000
    check '...and nothing else stays' nothing_stays
    for signal in TERM INT HUP; do
        agent_start
        mbps=$((mbps + 1000))
        change_to $mbps
        kill "-$signal" "$agent_pid"
        check "SIG$signal, before it is being kept: 0" ends_with 0
        check '...and it is kept' newest_has ${mbps}000
    done
    agent_start
    change_to 44000
    child=$(catch_child)
    kill -TERM "$agent_pid"
    sleep 0.2
    kill -TERM "$agent_pid"
    check 'a second signal ends it at once' ends_with 143
    kill -CONT "$child" 2>/dev/null || true
    check '...and its process' soon has_ended "$child"
    check '...and its files go' nothing_stays -name 'bulkheadd*'
    echo half >"$BULKHEAD_STATEDIR/br0/99999.plan.new"
    agent_start
    check 'what an end at once left half written goes at the start' \
        nothing_stays -path '*/state/*'
}

# change_to MBPS
change_to() {
    policy 's/"limit": "20Gbps"/"limit": "'"$1"'Mbps"/'
    soon has_rate "${1}000" >/dev/null
    soon is_as_intended >/dev/null
}

# ends_with STATUS: does the daemon, within a second?
ends_with() {
    local status=0
    ended_within 1 "$agent_pid" || return
    wait "$agent_pid" || status=$?
    [ "$status" = "$1" ] || { echo "exit status $status"; return 1; }
}

# newest_has TEXT: of the generations that are kept.
newest_has() {
    local newest
    newest=$(find "$BULKHEAD_STATEDIR/br0" -name '*.plan' -printf '%f\n' |
        sort -n | tail -n 1)
    grep -q "$1" "$BULKHEAD_STATEDIR/br0/$newest"
}

# nothing_stays [TEST...]: of what goes when it ends.
nothing_stays() {
    local left
    left=$(find "$switch_dir" \( -path '*/state/*.new' -o \
        -name bulkheadd.pid -o -name "bulkheadd.$agent_pid.ctl" \) "$@")
    [ -z "$left" ] || { echo "$left"; return 1; }
}

# One that is not told to end is killed after a minute.
test_late_process() {
    local child
    policy 's/"limit": "20Gbps"/"limit": "36Gbps"/'
    soon has_rate 36000000 >/dev/null
    child=$(catch_child)
    sleep 61
    check 'a disk that takes more than a minute is said' \
        soon agent_says 'not kept: took more than 60 s'
    check '...in the log, too' grep 'not kept: took more than 60 s' \
        "$switch_dir/bulkheadd.log"
    check '...and its process ended' soon has_ended "$child"
    check '...and another keeps it when it is asked to' exits 0 agent save
    check '...and that is no more said' [ "$(agent status |
        grep -c 'not kept')" = 0 ]
}

has_ended() { ! grep '^State:.[^XZ]' "/proc/$1/status" 2>/dev/null; }

# ended_within SECS PID
ended_within() {
    timeout "$1" tail --pid="$2" -s 0.1 -f /dev/null
}

# What cannot be kept is said, and changes nothing else.
test_full_disk() {
    agent_end TERM
    mkdir "$switch_dir/full"
    if ! mount -t tmpfs -o size=64k tmpfs "$switch_dir/full" 2>/dev/null; then
        echo '# skipped: a full disk (no right to mount)'
        agent_start
        return
    fi
    head -c 1M /dev/zero >"$switch_dir/full/filler" 2>/dev/null || true
    BULKHEAD_STATEDIR=$switch_dir/full/state agent_start
    policy 's/"limit": "20Gbps"/"limit": "35Gbps"/'
    check 'a full disk: the policy is there' soon has_rate 35000000
    check '...and save fails' says 'No space left on device' 2 agent save
    check '...and status says what is missing' soon agent_says 'not kept: '
    check '...which is a difference' exits 4 "$BULKHEAD" status --bridge br0
    agent_end TERM
    BULKHEAD_STATEDIR='' agent_start
    becomes_equal >/dev/null
    check 'where nothing is to be kept, save says so' \
        says 'BULKHEAD_STATEDIR is empty' 2 agent save
    check '...and status what bulkheadd says: 0' \
        says 'so this is what bulkheadd says' 0 \
        env BULKHEAD_STATEDIR= "$BULKHEAD" status --bridge br0
    agent_end TERM
    umount "$switch_dir/full"
}

# The interface of an external's router is one that may come and go, too.
test_externals() {
    local internet=02:00:00:00:ee:01 campus=02:00:00:00:ee:02
    intent=$srcdir/examples/internet-gateway.json
    "$BULKHEAD" clear --bridge br0 >/dev/null 2>&1
    node=gw-node-1
    ovs-vsctl del-br br0
    make_dummy_bridge br0 "$intent" $node
    ovs-vsctl del-port br0 ext1
    policy
    agent_start
    check 'an external that is not there is waited for' \
        soon agent_says 'waits for: external campus (ext1)'
    check '...and nothing else' soon has_endpoint $internet
    check '...is missing' has_no_endpoint $campus
    ovs-vsctl add-port br0 ext1 -- set interface ext1 type=dummy
    check 'until it comes' becomes_equal
    head -c 1000 "$intent" >"$folder/policy.json"
    check 'while the files are wrong' soon agent_says 'the intent is wrong'
    ovs-vsctl del-port br0 ext0
    check 'one that goes is noticed' soon has_no_endpoint $internet
    check '...and waited for' agent_says 'waits for: external internet (ext0)'
    check '...and the files are still wrong' agent_says 'the intent is wrong'
    ovs-vsctl del-port br0 web0
    check 'an endpoint, too' soon has_no_endpoint 02:00:00:07:00:00
    ovs-vsctl add-port br0 ext0 -- set interface ext0 type=dummy \
        -- add-port br0 web0 -- set interface web0 type=dummy
    policy
    check 'and all is there again' becomes_equal
    agent_end TERM
}

main() {
    begin_node
    policy
    test_wrong_start
    test_start
    test_files
    test_drift
    test_foreign
    test_others
    test_interfaces
    test_tenant
    test_kills
    test_silence
    test_saving
    test_hung_disk
    test_signals
    test_late_process
    test_full_disk
    test_externals
    [ "$failures" = 0 ]
}

main
