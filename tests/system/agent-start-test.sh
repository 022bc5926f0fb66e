#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# bulkheadd as it starts, with what the node keeps and no good intent; and one
# that does not answer.
# Environment: BUILDDIR, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent-lib.sh
. "$here/agent-lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1


wrong() { policy "$unbind;"'s/"rules": /"ruls": /'; }
names() {
    ovs-vsctl set interface "$1" "external_ids:bulkhead-endpoint=$2"
}
as_kept() { flows br0 | diff "$switch_dir/kept" -; }

# It is killed, and the intent is wrong when it starts again.
test_wrong() {
    "$BULKHEAD" attach batch/job1 --interface pf0vf5 --bridge br0
    becomes_equal
    agent save
    agent_end KILL
    flows br0 >"$switch_dir/kept"
    wrong
    agent_start
    check 'an intent that is wrong at the start: said' \
        soon agent_says 'has no good intent yet'
    check '... and the bridge is as it was' soon as_kept
    ovs-ofctl -O OpenFlow14 del-flows br0
    check 'flows that somebody deletes come back' soon as_kept
    restart_switch
    check 'and so does all in a switch that begins anew' \
        soon holds "in_port=$(port_of pf0vf0),"
    check '... with what is attached' holds "in_port=$(port_of pf0vf5),"
    check 'nothing is kept of it' says 'does not hold the intent yet' 2 \
        agent save
}

# is_trusted: status believes what the node keeps; shows what it says.
is_trusted() {
    local said
    said=$("$BULKHEAD" status --bridge br0 2>&1 || :)
    echo "$said"
    [[ $said == *'generation '* && $said != *'not trusted'* &&
       $said != *'that can be trusted'* ]]
}

is_distrusted() {
    ! is_trusted >"$switch_dir/said" && grep trusted "$switch_dir/said"
}

# What is kept is what the intent says, though nothing is sent; when it says
# another thing, that is none that may come back.
test_unfit() {
    policy "$unbind"
    soon soon is_as_intended >/dev/null
    agent save
    agent_end TERM
    ovs-ofctl -O OpenFlow14 set-frags br0 drop
    agent_start
    check 'a bridge that is unfit at the start: said' \
        soon agent_says 'set-frags br0 normal'
    sleep 1
    check '... and what is kept is trusted' is_trusted
    policy "$unbind;"'s/"20Gbps"/"19Gbps"/; s/"dscp": 46/"dscp": 40/'
    sleep 1
    check '... until the intent changes' is_distrusted
    agent_end TERM
    check '... and when it has ended' is_distrusted
    ovs-ofctl -O OpenFlow14 set-frags br0 normal
    agent_start
    becomes_equal
    check '... and what is sent then is kept' exits 0 agent save
    check '... and trusted' is_trusted
}

fails() { ! "$@"; }

# An interface is withdrawn while the switch is away, so nothing is sent; by the
# bulkheadd that was there, or by another one.
test_withdrawn() {
    local number what
    for what in same other; do
        policy "$unbind;s/\"limit\": \"20Gbps\"/\"limit\": \"21Gbps\"/"
        soon soon is_as_intended >/dev/null
        agent save
        number=$(port_of pf0vf0)
        check "an interface is let in by the $what" holds "in_port=$number,"
        kill_switch
        [ $what = same ] || agent_end KILL
        policy "$unbind;"'/"interface": "pf0vf0",/d'
        [ $what = same ] || agent_start
        sleep 1
        agent_end KILL
        begin_switch
        wrong
        agent_start
        soon agent_says 'has no good intent yet' >/dev/null
        sleep 0.5
        check 'once it is withdrawn it does not come back' cut_off "$number"
    done
    policy "$unbind"
    soon soon is_as_intended >/dev/null
}

# The intent bound an interface, and by now that says it itself: it is what it
# was by its own word, which may be taken back.
test_own_word() {
    local number
    cp "$intent" "$folder/policy.json"
    soon soon is_as_intended >/dev/null
    agent save
    number=$(port_of pf0vf5)
    kill_switch
    agent_end KILL
    ovs-vsctl --no-wait set interface pf0vf5 \
        external_ids:bulkhead-endpoint=batch/job1
    policy "$unbind"
    agent_start
    sleep 1
    agent_end KILL
    ovs-vsctl --no-wait clear interface pf0vf5 external_ids
    begin_switch
    wrong
    agent_start
    soon agent_says 'has no good intent yet' >/dev/null
    sleep 0.5
    check 'what is attached by now and detached then does not come back' \
        cut_off "$number"
    names pf0vf5 batch/job1
    policy "$unbind"
    soon soon is_as_intended >/dev/null
}

# numbers INTERFACE: as whom it is let in.
numbers() {
    flows br0 | grep "in_port=$(port_of "$1")[, ]" | grep -o 'set_field:[^,]*reg[01]'
}

has_last() { holds 'table=22, priority=0 '; }

# A bridge that is unfit, and lacks some of what is kept.
test_swapped() {
    local job1
    agent_end TERM
    job1=$(numbers pf0vf5)
    ovs-ofctl -O OpenFlow14 set-frags br0 drop
    check 'an unfit bridge' has_last
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 table=22,priority=0
    agent_start
    check '... that lacks a flow' soon agent_says 'set-frags br0 normal'
    sleep 0.5
    check '... gets none' fails has_last
    policy "$unbind;"'s/"pf0vf0"/"pf0vf9"/; s/"pf0vf4"/"pf0vf0"/;
                      s/"pf0vf9"/"pf0vf4"/'
    check '... but who becomes another endpoint is cut off' \
        soon cut_off "$(port_of pf0vf0)"
    check '... both' soon cut_off "$(port_of pf0vf4)"
    check '... and no others' [ "$(numbers pf0vf5)" = "$job1" ]
    ovs-vsctl --no-wait clear interface pf0vf5 external_ids
    check '... until they are detached' soon cut_off "$(port_of pf0vf5)"
    names pf0vf5 batch/job1
    ovs-ofctl -O OpenFlow14 set-frags br0 normal
    agent reload
    policy "$unbind"
    check 'once it is fit it has all' soon soon becomes_equal
}

# One of which nothing is kept that can be trusted.
test_untrusted() {
    local job1 own='{ "receive": { "limit": "9Gbps", "burst": "256KiB" } }'
    soon soon is_as_intended >/dev/null
    agent save
    agent_end TERM
    job1=$(numbers pf0vf5)
    rm "$switch_dir"/state/br0/*.journal
    ovs-ofctl -O OpenFlow14 set-frags br0 drop
    policy "$unbind;"'s/"pf0vf0"/"pf0vf9"/; s/"pf0vf4"/"pf0vf0"/;
                      s/"pf0vf9"/"pf0vf4"/; s/"20Gbps"/"19Gbps"/
                      s/"mac": "02:00:00:02:00:00",/& "bandwidth": '"$own,/"
    agent_start
    check 'nothing is trusted, and two are each other: one is cut off' \
        soon cut_off "$(port_of pf0vf0)"
    check '... both' soon cut_off "$(port_of pf0vf4)"
    check '... and no others' [ "$(numbers pf0vf5)" = "$job1" ]
    check '... nor those that get other meters' \
        holds "in_port=$(port_of pf0vf3),"
    check '... which stay' holds "output:$(port_of pf0vf3)"
    check '... nor those that get a second one' \
        holds "output:$(port_of pf0vf2)"
    ovs-ofctl -O OpenFlow14 set-frags br0 normal
    agent reload
    policy "$unbind"
    check 'once it is fit it has all' soon soon becomes_equal
}

# A bridge that is unfit gets nothing, of what is kept either; one that has all
# of that keeps it.
test_foreign() {
    local what
    agent save
    flows br0 >"$switch_dir/kept"
    for what in policy wrong; do
        agent_end TERM
        ovs-ofctl -O OpenFlow14 set-frags br0 drop
        $what "$unbind"
        agent_start
        check "$what, an unfit bridge: said" \
            soon agent_says 'set-frags br0 normal'
        check '... and all is as it was' as_kept
        ovs-ofctl -O OpenFlow14 --strict del-flows br0 table=22,priority=0
        check '... and is repaired' soon as_kept
        agent_end TERM
        ovs-ofctl -O OpenFlow14 set-frags br0 normal
        ovs-vsctl set-controller br0 tcp:127.0.0.1:9
        agent_start
        check '... a foreign controller, which takes all away: said' \
            soon agent_says 'a controller of somebody else'
        sleep 0.5
        check '... and nothing comes' [ -z "$(flows br0)" ]
        ovs-vsctl del-controller br0
        check '... until that is gone' soon soon as_kept
    done
    policy "$unbind"
    soon soon is_as_intended >/dev/null
}

# Interfaces change meanwhile.
test_gone() {
    local number
    number=$(port_of pf0vf3)
    ovs-vsctl del-port pf0vf3 -- add-port br0 stranger \
        -- set interface stranger type=dummy ofport_request="$number"
    check 'another gets the number of an interface that goes' \
        [ "$(port_of stranger)" = "$number" ]
    check '... and nothing of what that had' soon cut_off "$number"
    number=$(port_of pf0vf5)
    names pf0vf5 batch/job0
    check 'what becomes another endpoint is cut off' soon cut_off "$number"
    names pf0vf5 batch/job1
    check '... and is there when it is itself again' \
        soon holds "in_port=$number,"
    ovs-vsctl --no-wait remove interface pf0vf5 external_ids bulkhead-endpoint
    check 'what is detached is cut off' soon cut_off "$number"
    names pf0vf5 batch/job1
    soon holds "in_port=$number," >/dev/null
    ovs-vsctl del-port pf0vf1
    ovs-vsctl add-port br0 pf0vf1 -- set interface pf0vf1 type=dummy
    check 'an interface that goes and comes is let in' \
        soon holds "in_port=$(port_of pf0vf1),"
    agent_end TERM
    names pf0vf0 batch/job0
    ovs-vsctl remove interface pf0vf5 external_ids bulkhead-endpoint
    agent_start
    check 'what became another one while bulkheadd was away is cut off' \
        soon cut_off "$(port_of pf0vf0)"
    check '... and what was detached' soon cut_off "$(port_of pf0vf5)"
    names pf0vf5 batch/job1
    check '... and all else stays' soon holds "in_port=$(port_of pf0vf1),"
    ovs-vsctl remove interface pf0vf0 external_ids bulkhead-endpoint \
        -- del-port stranger -- add-port br0 pf0vf3 \
        -- set interface pf0vf3 type=dummy
    policy "$unbind"
    check 'the intent is right again: all is as intended' \
        soon soon is_as_intended
    check '... on the bridge, too' becomes_equal
}

# What would be let in as nobody is no success.
test_incomplete() {
    "$BULKHEAD" detach batch/job1 --bridge br0
    policy "$unbind;"'/"02:00:00:03:00:01"/d'
    soon soon is_as_intended >/dev/null
    check 'an attachment without a MAC: 3' says 'it has no MAC' 3 \
        "$BULKHEAD" attach batch/job1 --interface pf0vf5 --bridge br0
    check '... and nothing is left of it' agent_omits 'left out: '
    ovs-vsctl set interface pf0vf5 external_ids:bulkhead-endpoint=batch/job1
    check '... which others may write, and status says' soon agent_says \
        'left out: interface pf0vf5 as batch/job1: it has no MAC'
    "$BULKHEAD" detach batch/job1 --bridge br0
    ovs-vsctl set interface pf0vf0 external_ids:bulkhead-endpoint=batch/job1
    check '... nor at the interface of another' \
        soon agent_says 'left out: interface pf0vf0 as batch/job1: '
    policy "$unbind;"'/"02:00:00:03:00:01"/d;s/"limit": "20Gbps"/"limit": "28Gbps"/'
    check '... and other changes come' soon has_rate 28000000
    ovs-vsctl remove interface pf0vf0 external_ids bulkhead-endpoint
    policy "$unbind;"'/"02:00:00:03:00:01"/d'
    names pf0vf5 batch/job1
    soon soon agent_says 'left out: interface pf0vf5 as batch/job1' >/dev/null
    check '... and apply' says 'left out: interface pf0vf5 as batch/job1' 3 \
        bulkhead_on apply br0 "$folder"
    check 'with a MAC it is there' exits 0 "$BULKHEAD" attach batch/job1 \
        --interface pf0vf5 --mac 02:00:00:03:00:01 --bridge br0
}

# One that hangs.
test_hung() {
    soon soon agent save >/dev/null
    kill -STOP "$agent_pid"
    check 'a bulkheadd that hangs: status says so, and what it knows' \
        says 'bulkheadd does not answer on' 4 \
        timeout 60 "$BULKHEAD" status --bridge br0
    check '... all of it' grep 'as intended' "$switch_dir/said"
    check '... within -t' exits 4 timeout 5 "$BULKHEAD" status --bridge br0 \
        -t 1
    check '... and attach: 3' says 'written; whether it is done cannot' 3 \
        timeout 60 "$BULKHEAD" attach batch/job1 --interface pf0vf5 \
        --mac 02:00:00:03:00:01 --bridge br0 -t 1
    kill -CONT "$agent_pid"
}

# The plan of another node is there.
test_other_node() {
    soon soon is_as_intended >/dev/null
    agent save
    agent_end TERM
    sed 's/gpu-node-1/gpu-node-2/g' "$intent" >"$switch_dir/other.json"
    flows br0 >"$switch_dir/kept"
    check 'the plan of another node is there: 3' \
        says "bridge br0 has the plan of node 'gpu-node-1'" 3 \
        timeout 60 "${BULKHEAD}d" "$switch_dir/other.json" --node gpu-node-2 \
        --bridge br0
    check '... and stays' as_kept
    rm "$switch_dir"/state/br0/*.journal
    check '... though what is kept of it is not trusted: 3' \
        says "bridge br0 has the plan of node 'gpu-node-1'" 3 \
        timeout 60 "${BULKHEAD}d" "$switch_dir/other.json" --node gpu-node-2 \
        --bridge br0
    check '... nor does apply go past it: 3' \
        says "bridge br0 has the plan of node 'gpu-node-1'" 3 \
        "$BULKHEAD" apply "$switch_dir/other.json" --node gpu-node-2 \
        --bridge br0
    check '... and it stays' as_kept
    "$BULKHEAD" clear --bridge br0 >/dev/null 2>&1
    node=gpu-node-2
    cp "$switch_dir/other.json" "$folder/policy.json"
    agent_start
    check 'once it is cleared, it begins' becomes_equal
}

# The port of tunnels is not there, or is not right, when it starts.
test_tunnels() {
    local gone
    intent=$srcdir/tests/system/tunnels.json node=n2
    agent_end TERM
    "$BULKHEAD" clear --bridge br0 >/dev/null
    ovs-vsctl del-br br0
    make_dummy_bridge br0 "$intent" $node
    for gone in trusted untrusted wrong; do
        tunnels flow
        policy
        agent_start
        check "a node with tunnels, $gone" soon soon is_as_intended
        agent save
        agent_end TERM
        case $gone in
        trusted)
            ovs-vsctl del-port bulkhead-tun0
            policy '/"interface": "vf0",/d' ;;
        untrusted)
            rm "$switch_dir"/state/br0/*.journal
            tunnels 192.0.2.9
            policy '/"interface": "vf0",/d' ;;
        wrong)
            ovs-vsctl del-port bulkhead-tun0
            names vf0 nobody/x
            policy 's/"tenants"/"tenantz"/' ;;
        esac
        agent_start
        check '... which lacks its port: what goes is cut off' \
            soon cut_off "$(port_of vf0)"
        check '... and all else stays' holds "in_port=$(port_of ext0),"
        check '... both ways' holds "output:$(port_of ext0)"
        ovs-vsctl --if-exists clear interface vf0 external_ids
        tunnels flow
        policy
        check 'once it is there, it has all' soon soon is_as_intended
        agent_end TERM
    done
}

# Two nodes have each other's addresses by now.
test_peers() {
    local intent=$switch_dir/three.json what
    python3 - "$srcdir/tests/system/tunnels.json" >"$intent" <<'EOF'
import json, sys
with open(sys.argv[1]) as f:
    three = json.load(f)
nodes, b = three["fabric"]["nodes"], three["tenants"]["red"]["endpoints"]["b"]
nodes["n3"] = dict(nodes["n1"], tunnel_address="192.0.2.13")
b["node"], b["interface"] = "n3", "vf0"
json.dump(three, sys.stdout, indent=1)
EOF
    for what in accepted untrusted; do
        policy
        agent_start
        soon soon is_as_intended >/dev/null
        agent save
        check "tunnels to two nodes, $what" holds tun_src=192.0.2.11
        [ $what = accepted ] || agent_end TERM
        [ $what = accepted ] || rm "$switch_dir"/state/br0/*.journal
        ovs-ofctl -O OpenFlow14 set-frags br0 drop
        ovs-vsctl set-manager ptcp:0:127.0.0.1
        policy 's/192.0.2.11/X/; s/192.0.2.13/192.0.2.11/; s/X/192.0.2.13/'
        [ $what = accepted ] || agent_start
        check '... that are each other: neither is taken for the other' \
            soon lacks tun_src=192.0.2.11
        check '... both' soon lacks tun_src=192.0.2.13
        [ $what = accepted ] || check '... nor gets what is for the other' \
            soon lacks '192.0.2.13->tun_dst'
        check '... and all else stays' holds "in_port=$(port_of ext0),"
        ovs-vsctl del-manager
        ovs-ofctl -O OpenFlow14 set-frags br0 normal
        agent reload
        check '... until the bridge is fit' soon soon is_as_intended
        agent_end TERM
    done
}

main() {
    begin_node
    policy "$unbind"
    agent_start
    becomes_equal
    test_wrong
    test_gone
    test_incomplete
    test_hung
    test_unfit
    test_withdrawn
    test_own_word
    test_swapped
    test_untrusted
    test_foreign
    test_other_node
    test_tunnels
    test_peers
    [ "$failures" = 0 ]
}

main
