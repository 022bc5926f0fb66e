#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# What apply, status and the stock tools do to a switch: the order of meters
# and flows, others' flows, refusals that change nothing, exit statuses.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1

has_no_flows() { ! flows "$1" | grep actions; }

# has_meter BRIDGE ID-OR-RATE
has_meter() { meters "$1" | grep -E "meter=$2 |rate=$2 " >/dev/null; }

# same_as FILE FUNCTION BRIDGE: the function prints what the file holds.
same_as() { "$2" "$3" | diff "$1" -; }

test_apply() {
    check 'a bridge without policy has no flows' has_no_flows br0
    check 'status of such a bridge: 4' exits 4 bulkhead_on status br0
    check 'apply: 0' exits 0 bulkhead_on apply br0
    check 'status: 0' exits 0 bulkhead_on status br0
    check 'a second apply changes nothing' \
        unchanged br0 says 'as intended' 0 bulkhead_on apply br0
}

test_update() {
    local changed
    meters br0 >"$switch_dir/old-meters"
    flows br0 >"$switch_dir/old-flows"
    changed=$(with 's/"limit": "20Gbps"/"limit": "25Gbps"/')
    check 'one limit changed: two meters, the flow of one, two ports' \
        says 'flows 0 added, 3 changed, 0 deleted, ' 0 \
        bulkhead_on apply br0 "$changed"
    check 'the new meter is there' has_meter br0 25000000
    check 'the old one is gone' exits 1 has_meter br0 20000000
    check 'back again' exits 0 bulkhead_on apply br0
    check 'the meters are as they were' \
        same_as "$switch_dir/old-meters" meters br0
    check 'the flows are as they were' \
        same_as "$switch_dir/old-flows" flows br0
    changed=$(with "$without_no_ssh")
    check 'one rule removed: its flow' \
        says 'flows 0 added, 0 changed, 1 deleted, ' 0 \
        bulkhead_on apply br0 "$changed"
    check 'and back' exits 0 bulkhead_on apply br0
}

# The database is asked once for all, and for nothing that changes by itself.
test_database() {
    local log=$switch_dir/ovsdb-server.log asked=$switch_dir/asked
    ovs-appctl -t ovsdb-server vlog/set jsonrpc:file:dbg
    check 'another apply' exits 0 bulkhead_on apply br0
    ovs-appctl -t ovsdb-server vlog/set jsonrpc:file:info
    grep 'received request.*monitor_cond_since.*"Open_vSwitch"' "$log" >"$asked"
    check 'has read the database once' [ "$(wc -l <"$asked")" = 1 ]
    check 'has read which number a port has' grep -q '"ofport"' "$asked"
    check 'has read no counter' exits 1 grep -q '"statistics"' "$asked"
}

# A flood of requests for neighbors, which no meter of bits sees.
test_limits() {
    local changed
    changed=$(with 's/"2Mpps"/"1pps"/; s/"2kpkt"/"32pkt"/')
    check 'one limit of packets changed: two ports and one meter' \
        says 'flows 0 added, 2 changed, 0 deleted, ' 0 \
        bulkhead_on apply br0 "$changed"
    check 'status then: 0' exits 0 bulkhead_on status br0 "$changed"
    check 'of a flood little more than the burst is answered' \
        answers_of_flood pf0vf4 32 40
    check "back again" exits 0 bulkhead_on apply br0
    check 'within the limit all of it is answered' \
        answers_of_flood pf0vf4 100 100
}

# answers_of_flood PORT MIN MAX: of 100 requests of job0 for its gateway.
answers_of_flood() {
    local before i n
    before=$(n_sent "$1")
    for ((i = 0; i < 100; i++)); do
        ovs-appctl netdev-dummy/receive "$1" ffffffffffff0200000300000806$(
            )0001080006040001$(
            )0200000300000a03000a$(
            )0000000000000a030001 || return 1
    done
    sleep 0.2
    n=$(($(n_sent "$1") - before))
    echo "$n answers"
    [ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
}

test_drift() {
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 'table=20,priority=0'
    check 'a deleted flow: 4' exits 4 bulkhead_on status br0
    ovs-ofctl -O OpenFlow14 add-flow br0 'cookie=0xb17d000000000bad,table=8,
        priority=500,actions=goto_table:9'
    check 'a flow in our name: 4' says '1 deleted' 4 bulkhead_on status br0
    ovs-ofctl -O OpenFlow13 del-meters br0
    check 'deleted meters: 4' says 'meters 9 added' 4 bulkhead_on status br0
    check 'apply repairs' exits 0 bulkhead_on apply br0
    check 'status: 0 again' exits 0 bulkhead_on status br0
    # A leftover of an apply that was killed between its steps.
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        'meter=131073,kbps,burst,stats,bands=type=drop,rate=7,burst_size=7'
    check 'a leftover meter: 4' exits 4 bulkhead_on status br0
    check 'apply removes it' exits 0 bulkhead_on apply br0
    check 'the leftover is gone' exits 1 has_meter br0 131073
}

test_others() {
    local meter
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        'meter=1,kbps,bands=type=drop,rate=1000'
    ovs-ofctl -O OpenFlow13 add-flow br0 \
        'cookie=0x77,table=200,priority=7,actions=meter:1,output:1'
    check "others' flows beyond our tables are not touched" \
        unchanged br0 says 'as intended' 0 bulkhead_on apply br0
    ovs-ofctl -O OpenFlow13 add-flow br0 \
        'cookie=0x78,table=0,priority=65535,actions=NORMAL'
    check "others' flow in our tables: status 4, and which" \
        says 'table=0,priority=65535,cookie=0x78' 4 bulkhead_on status br0
    check 'apply tells, and does not touch it' \
        unchanged br0 says 'cookie=0x78' 0 bulkhead_on apply br0
    ovs-ofctl del-flows br0 cookie=0x78/-1
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 'table=20,priority=0'
    ovs-ofctl -O OpenFlow14 add-flow br0 \
        'cookie=0x78,table=20,priority=0,actions=drop'
    check "others' flow in our way: 3, nothing changed" \
        unchanged br0 says 'somebody else' 3 bulkhead_on apply br0
    ovs-vsctl set-manager ptcp:0:127.0.0.1
    check '... of a dry run, too, with all else' says 'somebody else' 3 \
        "$BULKHEAD" apply "$intent" --node $node --bridge br0 --dry-run
    check '... that makes the bridge unfit' \
        grep 'disable-in-band' "$switch_dir/said"
    ovs-vsctl del-manager
    check 'status then: 4' says 'somebody else' 4 bulkhead_on status br0
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 'table=20,priority=0'
    check 'apply again' exits 0 bulkhead_on apply br0
    for meter in $(meters br0 | sed -n 's/^meter=\([0-9]*\) .*/\1/p'); do
        [ "$meter" = 1 ] || ovs-ofctl -O OpenFlow13 add-flow br0 \
            "cookie=0x79,table=200,reg0=$meter,actions=meter:$meter"
    done
    check "others' flow on a meter that must go: 3, nothing changed" \
        unchanged br0 says 'calls meter' 3 bulkhead_on apply br0 \
        "$(with 's/"limit": "20Gbps"/"limit": "25Gbps"/')"
    ovs-ofctl del-flows br0 table=200
}

test_refusals() {
    local changed
    changed=$(with 's/"pf0vf5"/"not-there"/')
    check 'a missing interface: 3, nothing changed' unchanged br0 \
        says 'lacks interfaces that the intent binds: not-there (line 56, /tenants/batch/endpoints/job1/interface)' 3 \
        bulkhead_on apply br0 "$changed"
    check '...which is known before anything is proved' exits 1 \
        grep proved "$switch_dir/said"
    check '...and what leaves it out is said' \
        grep -F -- --partial "$switch_dir/said"
    check 'status then: 4' says 'not-there' 4 bulkhead_on status br0 "$changed"
    check 'where a file of bindings says so: that' \
        says "not-there ($switch_dir/bindings.json, line 1, /bindings/batch~1job1/interface)" 3 \
        bind_apart
    changed=$(with 's/"pf0vf5"/"br0"/')
    check 'the interface of the bridge itself: 3, nothing changed' \
        unchanged br0 says 'bridge br0 is itself' 3 \
        bulkhead_on apply br0 "$changed"
    changed=$(with 's/"class": "realtime"/"class": "realtme"/')
    check 'a wrong intent: 1, nothing changed' unchanged br0 \
        exits 1 bulkhead_on apply br0 "$changed"
    check 'no such bridge: 3' says 'did you mean br0?' 3 \
        bulkhead_on apply br9
    check 'and nothing is left of it' nothing_of br9
    check 'no such node: 2' says 'only: gpu-node-1' 2 \
        "$BULKHEAD" apply "$intent" --node nix --bridge br0
    changed=$(with 's/gpu-node-1/gpu-node-9/')
    check 'the plan of another node: 3, nothing changed' unchanged br0 \
        says "has the plan of node 'gpu-node-1', and this one is of node" 3 \
        "$BULKHEAD" apply "$changed" --node gpu-node-9 --bridge br0
    check 'its status: 4' \
        says "has the plan of node 'gpu-node-1', and this one is of node" 4 \
        "$BULKHEAD" status "$changed" --node gpu-node-9 --bridge br0
    check 'no database: 3' exits 3 env OVS_RUNDIR="$switch_dir/nix" \
        "$BULKHEAD" status "$intent" --node $node --bridge br0
    check 'no database for apply: 3' exits 3 env \
        OVS_RUNDIR="$switch_dir/nix" \
        "$BULKHEAD" apply "$intent" --node $node --bridge br0
    : >"$switch_dir/no-folder"
    check 'no folder to keep plans in: 0, and it says so' \
        says 'is not kept' 0 \
        env BULKHEAD_STATEDIR="$switch_dir/no-folder" "$BULKHEAD" apply \
        "$intent" --node $node --bridge br0
    check '...and nothing of what waits' exits 1 \
        grep confirmed "$switch_dir/said"
    check 'no such kind of database: 2' exits 2 "$BULKHEAD" status "$intent" \
        --node $node --bridge br0 --db=foo
}

# The endpoint batch/job1 is bound by a file of its own.
bind_apart() {
    echo '{ "version": 1, "bindings": { "batch/job1": {
        "node": "gpu-node-1", "interface": "not-there" } } }' | tr -d '\n' \
        >"$switch_dir/bindings.json"
    sed '/"node": "gpu-node-1",$/{N;/"pf0vf5"/d}' "$intent" \
        >"$switch_dir/unbound.json"
    "$BULKHEAD" apply "$switch_dir/unbound.json" "$switch_dir/bindings.json" \
        --node $node --bridge br0
}

clear() { "$BULKHEAD" clear --bridge "$1" -t 10; }

# Bulkhead goes, and what is of others stays.
test_clear() {
    local meter
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        'meter=2,kbps,bands=type=drop,rate=1000'
    ovs-ofctl -O OpenFlow13 add-flow br0 \
        'cookie=0x77,table=0,priority=7,dl_vlan=9,actions=meter:2,output:1'
    meter=$(meters br0 | sed -n 's/^meter=\([0-9]\{5,\}\) .*/\1/p' | head -n 1)
    ovs-ofctl -O OpenFlow13 add-flow br0 \
        "cookie=0x79,table=200,actions=meter:$meter"
    check "clear, and others' flow calls a meter of ours: 3, nothing changed" \
        unchanged br0 says "calls meter $meter" 3 clear br0
    ovs-ofctl del-flows br0 cookie=0x79/-1
    ovs-ofctl set-frags br0 drop
    ovs-vsctl set-manager tcp:127.0.0.1:1
    check 'clear of an unfit bridge: 0' \
        says ' flows deleted; 9 meters deleted' 0 clear br0
    ovs-vsctl del-manager
    ovs-ofctl set-frags br0 normal
    check "then there are others' flow and meter only" only_others
    check 'nothing of a tenant passes' drops_all
    check 'clear again: nothing to do' says '0 flows deleted; 0 meters' 0 \
        clear br0
    check 'clear takes no intent: 2' says 'takes no intent' 2 \
        "$BULKHEAD" clear "$intent" --bridge br0
    check 'clear of no such bridge: 3' says 'did you mean br0?' 3 clear br9
    ovs-ofctl -O OpenFlow13 del-flows br0
    ovs-ofctl -O OpenFlow13 del-meters br0
    check 'apply after clear' exits 0 bulkhead_on apply br0
}

only_others() {
    flows br0
    meters br0
    [ "$(flows br0 | grep -c actions)" = 1 ] && flows br0 | grep cookie=0x77 &&
        has_meter br0 2 && ! meters br0 | grep 'meter=[0-9]\{5,\} '
}

drops_all() {
    ovs-appctl ofproto/trace br0 in_port=pf0vf0,ip,dl_src=02:00:00:01:00:00 |
        tee "$switch_dir/trace"
    grep 'Datapath actions: drop' "$switch_dir/trace"
}

# What the switch refuses in the end takes nothing with it.
test_switch_refuses() {
    local id taken
    ovs-vsctl -- --id=@t create Flow_Table flow_limit=19 \
        overflow_policy=refuse -- set bridge br0 flow_tables:15=@t >/dev/null
    check 'a full table: 3, nothing changed' unchanged br0 \
        says 'TABLE_FULL' 3 bulkhead_on apply br0 \
        "$(with 's/"8000-8100"/"8000-8999"/; s/"limit": "20G/"limit": "25G/')"
    ovs-vsctl clear bridge br0 flow_tables
    check 'apply with room again' exits 0 bulkhead_on apply br0
    python3 -c 'import fcntl, sys, time
f = open(sys.argv[1], "a+"); fcntl.lockf(f, fcntl.LOCK_EX)
print("ready", flush=True); time.sleep(60)' "$switch_dir/.bulkhead-br0.~lock~" \
        >"$switch_dir/locked" &
    id=$!
    while ! grep -q ready "$switch_dir/locked"; do sleep 0.05; done
    check 'while another apply is at work: 3' says 'is held by process ' 3 \
        bulkhead_on apply br0
    kill "$id"
    wait "$id" 2>/dev/null || true
    # Many at once: none loses a meter of another.
    ovs-ofctl -O OpenFlow14 del-flows br0
    ovs-ofctl -O OpenFlow13 del-meters br0
    for id in 1 2 3 4 5 6; do
        bulkhead_on apply br0 >/dev/null 2>&1 &
        taken[id]=$!
    done
    for id in 1 2 3 4 5 6; do wait "${taken[id]}" || true; done
    check 'six applies at once leave all of it' exits 0 bulkhead_on status br0
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 'table=20,priority=0'
    ovs-ofctl -O OpenFlow14 add-flow br0 \
        'cookie=0xb17d000000000009,table=20,priority=0,hard_timeout=60
         actions=drop'
    check 'a flow of ours that will time out: 4' says '1 changed' 4 \
        bulkhead_on status br0
    check 'apply makes it stay' exits 0 bulkhead_on apply br0
    check 'it stays' exits 0 bulkhead_on status br0
}

# A switch that takes the connection and never answers.
test_silent() {
    local silent=$switch_dir/silent pid
    mkdir "$silent"
    python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
print("ready", flush=True); time.sleep(60)' "$silent/db.sock" \
        >"$silent/ready" &
    pid=$!
    while ! grep -q ready "$silent/ready"; do sleep 0.05; done
    check 'a silent database: 3 within the timeout' says 'timed out' 3 \
        timeout 5 env OVS_RUNDIR="$silent" "$BULKHEAD" status "$intent" \
        --node $node --bridge br0 -t 1
    check 'what is wrong with an intent is said without it: 1' \
        says "did you mean 'rules'?" 1 \
        timeout 30 env OVS_RUNDIR="$silent" "$BULKHEAD" apply \
        "$(with 's/"rules": /"ruls": /')" \
        --node $node --bridge br0 -t 60
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    pid=$(cat "$switch_dir/ovs-vswitchd.pid")
    kill -STOP "$pid"
    check 'a stopped switch: 3 within the timeout' exits 3 \
        timeout 5 "$BULKHEAD" apply "$intent" --node $node --bridge br0 -t 1
    kill -CONT "$pid"
    check 'and it holds what it held' exits 0 bulkhead_on status br0
}

# liar NAME HOW CODE TEXT: status on a switch that behaves as liar.py's HOW.
liar() {
    local liar=$switch_dir/liar-$2 pid
    mkdir "$liar"
    ln -s "$switch_dir/db.sock" "$liar/db.sock"
    python3 "$here/liar.py" "$2" "$liar/br0.mgmt" >"$liar/ready" &
    pid=$!
    while ! grep -q ready "$liar/ready"; do sleep 0.05; done
    check "$1: $3" says "$4" "$3" \
        timeout 5 env OVS_RUNDIR="$liar" "$BULKHEAD" status "$intent" \
        --node $node --bridge br0 -t 1
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
}

test_liars() {
    liar 'a switch that answers something else' lie 3 'what its meters can do'
    liar 'a switch without our patches' stock 4 'bursts below a millisecond'
    liar 'a switch that greets and says no more' silence 3 'timed out'
    liar 'a switch that never stops talking' chatter 3 'timed out'
}

test_compile() {
    local plan=$switch_dir/plan
    "$BULKHEAD" compile "$intent" --node $node -o "$plan.1" >/dev/null
    "$BULKHEAD" compile "$intent" --node $node -o "$plan.2" >/dev/null
    check 'compile twice: the same bytes' diff -r "$plan.1" "$plan.2"
    check 'a folder that cannot be made: 1' says '/dev/full/plan' 1 \
        "$BULKHEAD" compile "$intent" --node $node -o /dev/full/plan
    check 'usage: 2' exits 2 "$BULKHEAD" compile "$intent"
}

# Debian's own ovs-ofctl, where there is one, loads what compile wrote, but
# for the microburst meters, which it does not know.
load_with() {
    local ofctl=$1 plan=$switch_dir/plan.1 meter
    ovs-ofctl -O OpenFlow14 del-flows br0
    ovs-ofctl -O OpenFlow13 del-meters br0
    while read -r meter; do
        case $meter in
        *type=microburst*) ovs-ofctl -O OpenFlow13 add-meter br0 "$meter" ;;
        *) "$ofctl" -O OpenFlow13 add-meter br0 "$meter" ;;
        esac || return 1
    done <"$plan/meters.txt"
    "$ofctl" -O OpenFlow14 --bundle replace-flows br0 "$plan/flows.txt"
}

test_stock() {
    local stock=/usr/bin/ovs-ofctl
    if [ ! -x $stock ]; then
        echo "# skipped: no $stock (Debian's openvswitch-common)"
        return
    fi
    check "$stock loads meters.txt and flows.txt" load_with "$stock"
    check 'the switch then holds the intent' exits 0 bulkhead_on status br0
}

# Rules between sets that have nothing to do with each other.
test_conjunctions() {
    local intent=$switch_dir/sets.json node=node
    sets >"$intent"
    make_dummy_bridge br1 "$intent" "$node"
    check 'a policy with conjunctions: 0' exits 0 bulkhead_on apply br1
    check 'the switch has them' has_conjunctions br1
    check 'a second apply of it changes nothing' \
        unchanged br1 says 'as intended' 0 bulkhead_on apply br1
    sets --change 0 >"$intent"
    check 'one rule less: 0' exits 0 bulkhead_on apply br1
    check 'status after that: 0' exits 0 bulkhead_on status br1
    ovs-vsctl --timeout=10 del-br br1
}

# What becomes of what exceeds a microburst meter, and what keeps its DSCP.
test_marks() {
    local intent=$switch_dir/marks.json node=n1 name
    for name in exceed dscp-in; do
        sed 's/"p0"/"p1"/' "$srcdir/tests/golden/plan/$name/intent.json" \
            >"$intent"
        make_dummy_bridge br1 "$intent" "$node"
        "$BULKHEAD" compile "$intent" --node "$node" -o "$switch_dir/$name" >/dev/null
        if [ -s "$switch_dir/$name/ovs-vsctl.sh" ]; then
            sh "$switch_dir/$name/ovs-vsctl.sh" br1
        fi
        check "the intent of plan/$name: 0" exits 0 bulkhead_on apply br1
        check 'a second apply of it changes nothing' \
            unchanged br1 says 'as intended' 0 bulkhead_on apply br1
        ovs-vsctl --timeout=10 del-br br1
    done
}

# As many receivers as the language takes: the switch copies to each.
test_receivers() {
    local intent=$switch_dir/crowd.json node=n1
    crowd >"$intent"
    make_dummy_bridge br2 "$intent" "$node"
    check 'a network of 128 endpoints: 0' exits 0 bulkhead_on apply br2
    check 'the switch copies to 127 of them' copies_to br2 127
    ovs-vsctl --timeout=10 del-br br2
}

# crowd: an intent of one network, which carries groups.
crowd() {
    python3 - <<'EOF'
import json
uplink = {"interface": "p2", "rate": "10Gbps", "burst": "64KiB"}
endpoints = {f"e{i}": {
    "network": "net", "node": "n1", "interface": f"c{i}",
    "mac": f"02:00:00:00:00:{i:02x}", "addresses": [f"10.1.0.{i + 1}"]}
    for i in range(128)}
print(json.dumps({
    "version": 1, "fabric": {"nodes": {"n1": {"uplinks": {"up": uplink}}}},
    "tenants": {"a": {
        "default": "allow", "endpoints": endpoints,
        "networks": {"net": {"vni": 1, "subnets": ["10.1.0.0/16"],
                             "multicast": ["239.1.0.0/16"]}}}}}))
EOF
}

# copies_to BRIDGE N: what the first endpoint sends to a group.
copies_to() {
    ovs-appctl ofproto/trace "$1" "in_port=c0,udp,dl_src=02:00:00:00:00:00,$(
        )dl_dst=01:00:5e:01:02:03,nw_src=10.1.0.1,nw_dst=239.1.2.3" |
        tee "$switch_dir/trace" | tail -n 5
    [ "$(grep -c '^ *output:' "$switch_dir/trace")" = "$2" ] &&
        ! grep 'resubmit actions\|Translation failed' "$switch_dir/trace"
}

# sets [OPTION...]: an intent; br0 has a port p0 already.
sets() {
    python3 "$here/../bench/make-intent.py" 2 12 20 --scatter "$@" |
        sed 's/"p0"/"p1"/'
}

has_conjunctions() { flows "$1" | grep 'conjunction(.*,3/3)' >/dev/null; }

nothing_of() {
    ! find "$switch_dir" -name "*$1*" | grep .
}

main() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    test_apply
    test_update
    test_database
    test_limits
    test_conjunctions
    test_marks
    test_receivers
    test_drift
    test_others
    test_refusals
    test_clear
    test_switch_refuses
    test_silent
    test_liars
    test_compile
    test_stock
    [ "$failures" = 0 ]
}

main
