#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# The verifier: every example is proved, what is wrong on a bridge is found,
# and the trace that it prints shows the same there.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1
faulty=${BUILDDIR:-$srcdir/_build}/tests/verify/faulty

# What the flow matches by which batch denies ssh.
deny_ssh=reg11=0x1d8fd71e,reg13=0x1d8fd71e,reg8=0x80060016/0xc0ffffff

verify() { "$BULKHEAD" verify "$intent" --node $node "$@"; }

# The nodes of an intent that is a file or a folder.
nodes() {
    python3 - "$1" <<'PY'
import json, os, sys
path = sys.argv[1]
if os.path.isdir(path):
    path += "/fabric.json"
print(*json.load(open(path))["fabric"]["nodes"])
PY
}

test_examples() {
    local example name
    for example in "$srcdir"/examples/*.json \
        "$srcdir/examples/shared-cluster"; do
        for name in $(nodes "$example"); do
            check "$(basename "$example"), $name: proved" says \
                'isolation    proved' 0 \
                "$BULKHEAD" verify "$example" --node "$name"
        done
    done
}

# trace_shows PATTERN: the switch says that of the first packet that the
# verifier shows.
trace_shows() {
    local wanted=$1 command
    verify --bridge br0 >"$switch_dir/verified" || true
    command=$(sed -n 's/^  trace   //p' "$switch_dir/verified" | head -n 1)
    [ -n "$command" ] || return 1
    bash -c "$command" >"$switch_dir/traced" || return 1
    grep -q "$wanted" "$switch_dir/traced"
}

# without MATCH: takes a flow off the bridge.
without() { ovs-ofctl -O OpenFlow14 --strict del-flows br0 "$1"; }

test_bridge() {
    check 'apply: 0' exits 0 bulkhead_on apply br0
    check 'the bridge is proved' says 'black-holes  proved' 0 \
        verify --bridge br0
    check 'and so is its dump' dump_is_proved
    check 'as JSON' says '"verdict":"proved"' 0 verify --bridge br0 -f json

    without "table=15,priority=300,$deny_ssh"
    check 'a deny rule was deleted: found' says 'leaks: from batch/' 1 \
        verify --bridge br0
    check '  --live is the same' says 'leaks: from batch/' 1 verify --live br0
    check '  and its rule' says 'examples/ai-cluster.json:' 1 \
        verify --bridge br0
    check '  and the switch passes that packet' trace_shows \
        'Datapath actions: .*meter([0-9]*),[0-9]*$'

    check 'apply mends it' exits 0 bulkhead_on apply br0
    without 'table=20,priority=200,ip,reg5=0x8000052e'
    check 'a class was deleted: found' says 'black-holes: from inference/' 1 \
        verify --bridge br0
    check '  and the switch drops that packet there' trace_shows \
        '^20\. priority 0'

    check 'apply mends it again' exits 0 bulkhead_on apply br0
    ovs-ofctl -O OpenFlow14 add-flow br0 \
        'table=2,priority=700,ip,nw_dst=10.2.0.11 actions=output:4'
    check "another's flow that leaks: found" says 'spoofing: from ' 1 \
        verify --bridge br0
    check '  and the switch passes that packet' trace_shows \
        'Datapath actions: .*4$'
    ovs-ofctl -O OpenFlow14 del-flows br0 table=2,ip,nw_dst=10.2.0.11
    check 'apply mends it once more' exits 0 bulkhead_on apply br0
    ovs-ofctl -O OpenFlow14 add-flow br0 'table=22,reg3=0x77 actions=output:4'
    check 'an error that another table hides: found' says \
        'contracts: table 22, OUTPUT:' 1 verify --bridge br0
    check '  and no packet shows it' says 'isolation    proved' 1 \
        verify --bridge br0
    check '  but in that table by itself' trace_shows 'Datapath actions: 4$'
    ovs-ofctl -O OpenFlow14 del-flows br0 table=22,reg3=0x77
    ovs-ofctl -O OpenFlow14 add-flow br0 'table=200 actions=learn(table=201)'
    check 'what is not reached stops nothing' says 'isolation    proved' 0 \
        verify --bridge br0
    ovs-ofctl -O OpenFlow14 add-flow br0 \
        'table=0,priority=1 actions=learn(table=201)'
    check 'an unknown action is no proof' says 'UNPROVED: br0:' 1 \
        verify --bridge br0
}

# Settings that let packets past all tables.
test_fit() {
    check 'apply: 0, once again' exits 0 bulkhead_on apply br0
    ovs-ofctl -O OpenFlow14 del-flows br0 table=200
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 table=0,priority=1
    check 'the bridge is proved again' exits 0 verify --bridge br0
    ovs-ofctl -O OpenFlow14 set-frags br0 nx-match
    check 'ports of later fragments: unproved' says \
        'UNPROVED: bridge br0 handles fragments' 1 verify --bridge br0
    ovs-ofctl -O OpenFlow14 set-frags br0 normal
    ovs-vsctl --no-wait set bridge br0 other_config:disable-in-band=false -- \
        set-manager tcp:127.0.0.1:1
    check 'in-band: unproved' says \
        'UNPROVED: bridge br0 has a manager' 1 verify --bridge br0
    ovs-vsctl --no-wait set-controller br0 tcp:127.0.0.1:1 -- del-manager \
        -- set bridge br0 other_config:disable-in-band=true
    check 'a controller: unproved' says \
        'UNPROVED: bridge br0 has a controller' 1 verify --bridge br0
    ovs-vsctl del-controller br0
    ovs-vsctl --no-wait set-fail-mode br0 standalone
    check 'not secure: unproved' says \
        'UNPROVED: bridge br0 forwards by itself' 1 verify --bridge br0
    ovs-vsctl set-fail-mode br0 secure
}

dump_is_proved() {
    ovs-ofctl -O OpenFlow14 --names dump-flows br0 >"$switch_dir/dump"
    verify --flows "$switch_dir/dump" >"$switch_dir/verified"
}

# Does the proof name intent and flows by what others can compute?
names_both() {
    local hash flows=$switch_dir/compiled/flows.txt
    verify --flows "$flows" -f json >"$switch_dir/verified" || return 1
    hash=$(grep -v '^#' "$flows" | LC_ALL=C sort | sha1sum)
    grep -c "\"flows_sha1\":\"${hash%% *}\"" "$switch_dir/verified" &&
        hash=$("$BULKHEAD" compile "$intent" --node $node --dump=intent |
            sha1sum) &&
        grep -c "\"intent_sha1\":\"${hash%% *}\"" "$switch_dir/verified"
}

# planted TEXT FLOW: is TEXT said of what compile writes and one flow more?
planted() {
    cp "$switch_dir/compiled/flows.txt" "$switch_dir/planted"
    printf '%b\n' "$2" >>"$switch_dir/planted"
    says "$1" 1 verify --flows "$switch_dir/planted"
}

# Two flows of the priority of the right one to an endpoint, that lead to another
# endpoint and differ in a meter: what goes with the first of the three by one
# way must not be lost where it meets the third.
disagreeing() {
    local flow tenant zone other
    flow=$(grep -m 1 'table=11,.*,ip,nw_dst=10.1.0.10 ' \
        "$switch_dir/compiled/flows.txt")
    tenant=$(grep -o '0x[0-9a-f]*->reg13' <<<"$flow")
    zone=$(grep -o '0x[0-9a-f]*->reg9' <<<"$flow")
    other=$(sed -n 's/.*in_port="pf0vf1",.*:\(0x[0-9a-f]*\)->reg1,.*/\1/p' \
        "$switch_dir/compiled/flows.txt")
    flow=${flow/actions=set_field:*->reg3,/actions=set_field:$other->reg3,}
    echo "${flow/,reg2=/,reg0=${tenant%->*},reg2=}"
    flow=${flow/,dl_dst=/,reg6=${zone%->*},dl_dst=}
    echo "${flow/actions=/actions=meter:70000,}"
}

# Corners where a proof could look away.
test_corners() {
    "$BULKHEAD" compile "$intent" --node $node -o "$switch_dir/compiled"
    check 'JSON says what of: the hashes of intent and flows' names_both
    local to='output:"pf0vf2"' port='in_port="pf0vf0",vlan_tci=0/0x1fff'
    check 'a leak from the local port' planted 'from port LOCAL:' \
        "table=0,priority=900,in_port=LOCAL actions=$to"
    check 'from a controller' planted 'from a controller:' \
        "table=0,priority=900,in_port=CONTROLLER actions=$to"
    check 'from another name' planted 'from port eth7:' \
        "table=0,priority=900,in_port=eth7 actions=$to"
    check 'from ports that no flow names' planted 'from any other port:' \
        "table=0,priority=1 actions=$to"
    check 'from other tunnels' planted 'from any other port:' \
        "table=0,priority=900,tun_id=7,tun_src=192.0.2.66 actions=$to"
    check 'to a port that OpenFlow reserves' planted \
        'it goes to port NORMAL' \
        "table=0,priority=900,$port,tcp,tp_dst=22 actions=NORMAL"
    check 'dropped, but tracked in the zone of another' planted \
        'it is dropped, but tracked in zone 5' \
        'table=6,priority=900,tcp,tp_dst=9 actions=ct(table=7,zone=5)'
    check 'dropped, but by a meter' planted \
        'it is dropped, but passes a meter' \
        'table=6,priority=900,tcp,tp_dst=9 actions=meter:70000'
    check 'a port by its number' planted 'it names port 999 by its number' \
        "table=0,priority=900,in_port=999 actions=$to"
    check 'a flow that goes away' planted 'it may go away' \
        'table=15,priority=999,idle_timeout=9,tcp actions=drop'
    check 'other types of packets' planted 'it matches packet_type' \
        "table=0,priority=900,packet_type=(1,0x800) actions=$to"
    check 'bytes that are 0' planted 'a byte that is 0' \
        "# \\0\ntable=0,priority=900 actions=$to"
    check 'ports of fragments' planted 'the ports of fragments' \
        "table=0,priority=900,tcp actions=$(
        )move:NXM_OF_TCP_DST[]->NXM_NX_REG15[0..15]"
    check 'what is tracked after a change' planted \
        'after a change of what is tracked' \
        "table=0,priority=900,tcp,tp_dst=9 actions=$(
        )set_field:10.0.0.1->ip_src,ct(table=7,zone=5)"
    check 'copies that are tracked' planted 'or one as a copy' \
        "table=0,priority=900,tcp,tp_dst=9 actions=$(
        )clone(ct(table=7,zone=5)),ct(table=7,zone=6)"
    check 'three of one priority that disagree' planted \
        'leaks: from llm-training/gpu1: flows of one priority' "$(disagreeing)"
    check 'in circles' planted 'packets go round in circles' \
        "table=0,priority=900,tcp,tp_dst=9 actions=resubmit(,0)"
    check 'as deep as a switch goes: proved, but for contracts' says \
        'meaning      proved' 1 verify_deep 63
    check 'deeper' says 'goes deeper than a switch does' 1 verify_deep 64
    check 'past the time' says 'UNPROVED: time is up' 1 verify_slowly
}

# of_tenant TENANT LINE: the proof of one tenant, with a flow planted.
of_tenant() {
    { cat "$switch_dir/compiled/flows.txt"; echo "$2"; } >"$switch_dir/one"
    verify --flows "$switch_dir/one" --tenant "$1"
}

# The same, if packets of batch are tracked in the zone of inference.
with_zone_of_another() {
    local zone
    zone=$(sed -n 's/^.*in_port="pf0vf2".*set_field:\(0x[0-9a-f]*\)->reg6.*/\1/p' \
        "$switch_dir/compiled/flows.txt")
    sed "/in_port=\"pf0vf4\"/s/set_field:0x[0-9a-f]*->reg6/$(
        )set_field:$zone->reg6/" "$switch_dir/compiled/flows.txt" \
        >"$switch_dir/one"
    verify --flows "$switch_dir/one" --tenant "$1"
}

test_tenants() {
    local leak='table=2,priority=700,in_port="pf0vf4",ip actions=output:'
    check 'one tenant is proved' says '1 tenants only, 2 endpoints' 0 \
        verify --tenant inference
    check 'two, and those that they have to do with' says \
        '3 tenants only, 6 endpoints' 0 verify --tenant batch,storage
    check 'as JSON' says '"whole":false' 0 verify --tenant batch -f json
    check 'a leak from it: found' says 'isolation: from batch/job0' 1 \
        of_tenant batch "$leak\"pf0vf2\""
    check 'the same to it: found' says 'isolation: from batch/job0' 1 \
        of_tenant inference "$leak\"pf0vf2\""
    check 'between others: its packets are proved all the same' says \
        'isolation    proved' 1 of_tenant storage "$leak\"pf0vf2\""
    check "another's zone: all are proved" says 'from batch/job0' 1 \
        with_zone_of_another inference
    check 'an action that may lead anywhere: all are proved' says \
        'it has the action learn' 1 of_tenant inference \
        'table=0,priority=900,in_port="pf0vf4" actions=learn(table=201)'
    check 'no such tenant: 2' says "did you mean 'batch'" 2 \
        verify --tenant bach
}

# Networks with groups are proved in another layout than those without: what is
# known of the one says nothing of the other.
test_layouts() {
    local intent=$srcdir/tests/verify/two-layouts.json
    "$BULKHEAD" compile "$intent" --node n -o "$switch_dir/layouts" >/dev/null
    check 'networks with groups and without' says 'meaning      proved' 0 \
        "$BULKHEAD" verify "$intent" --node n \
        --flows "$switch_dir/layouts/flows.txt"
    echo "table=15,priority=299,ct_state=+trk+new,reg1=0x1771f6d8,$(
        )reg3=0xb4fb4d39,reg8=0x80060050/0xc0ffffff actions=goto_table:16" \
        >>"$switch_dir/layouts/flows.txt"
    check 'a leak from the one with groups' says 'leaks: from t/e2:' 1 \
        "$BULKHEAD" verify "$intent" --node n \
        --flows "$switch_dir/layouts/flows.txt"
}

# verify_deep N: what compile writes, by N resubmits to tables that are not
# behind.
verify_deep() {
    sed '0,/table=0,.*in_port="pf0vf0"/s/\(in_port="pf0vf0".*\)goto_table:2/'$(
        )'\1resubmit(,200)/' "$switch_dir/compiled/flows.txt"\
        >"$switch_dir/deep"
    for ((i = 1; i < $1; i++)); do
        echo "table=200,priority=1,reg15=$((i - 1)) actions=$(
            )set_field:$i->reg15,resubmit(,200)"
    done >>"$switch_dir/deep"
    echo "table=200,priority=1,reg15=$(($1 - 1)) actions=$(
        )set_field:0->reg15,resubmit(,2)" >>"$switch_dir/deep"
    verify --flows "$switch_dir/deep"
}

# on_one COMMAND...: on one processor.
on_one() { taskset -c "$(taskset -cp $$ | sed 's/.*[^0-9]//')" "$@"; }

# A proof that takes several seconds there.
verify_slowly() {
    python3 "$srcdir/tests/bench/make-intent.py" 600 20 40 \
        >"$switch_dir/slow.json"
    on_one "$BULKHEAD" verify "$switch_dir/slow.json" --timeout 1 --node node
}

# apply_limited RATE OPTION...: with the inference tenant at that.
apply_limited() {
    local rate=$1
    shift
    sed "s/\"limit\": \"20Gbps\"/\"limit\": \"$rate\"/" "$intent" \
        >"$switch_dir/limited.json"
    "$BULKHEAD" apply "$switch_dir/limited.json" --node $node --bridge br0 "$@"
}

status_on() { "$BULKHEAD" status --bridge "$@"; }

# rewrite SED-SCRIPT: changes what the node keeps, with its hash.
rewrite() {
    local file
    file=$(printf '%s\n' "$switch_dir"/state/br0/*.plan | sort -V | tail -n 1)
    sed -n '2,$p' "$file" | sed "$1" >"$switch_dir/body"
    echo "bulkhead-plan 1 $(sha1sum <"$switch_dir/body" | cut -d' ' -f1)" |
        cat - "$switch_dir/body" >"$file"
}

# As many as there are processors that this may use, of four tenants at least.
test_processes() {
    local n intent=$switch_dir/many.json
    n=$(nproc)
    n=$((n < 4 ? n : 4))
    "$srcdir/tests/bench/make-intent.py" 16 5 10 >"$intent"
    check '16 tenants in several processes' says "\"processes\":$n," 0 \
        "$BULKHEAD" verify "$intent" --node node -f json
    check '  in one, where there is one processor' says '"processes":1,' 0 \
        on_one "$BULKHEAD" verify "$intent" --node node -f json
    "$BULKHEAD" compile "$intent" --node node -o "$switch_dir/many" \
        >/dev/null 2>&1
    grep -v 'table=0,.*t00011e001' "$switch_dir/many/flows.txt" \
        >"$switch_dir/fewer"
    check '  a flow that is missing' says 'tenant00011/e001' 1 \
        "$BULKHEAD" verify "$intent" --node node \
        --flows "$switch_dir/fewer"
}

# What apply proves before it changes the bridge.
test_apply() {
    "$BULKHEAD" clear --bridge br0 >/dev/null
    check 'apply --no-verify: not verified' says ', not verified' 0 \
        apply_limited 20Gbps --no-verify
    check 'apply: proves all' says 'proved 4 of 4 tenants' 0 \
        apply_limited 20Gbps
    check 'and status says so' says ', verified' 0 status_on br0
    check 'as JSON' says '"verified":true' 0 status_on br0 -f json
    check 'the same again is not proved again' says 'proved 0 of 4 tenants' 0 \
        apply_limited 20Gbps
    check 'and the same without proof stays verified' says ', verified' 0 \
        apply_limited 20Gbps --no-verify
    check 'one tenant changes: it is proved' says 'proved 1 of 4 tenants' 0 \
        apply_limited 21Gbps --verify=60s
    check 'another --no-verify: not verified' says ', not verified' 0 \
        apply_limited 22Gbps --no-verify
    check 'others are still proved after that' says 'proved 1 of 4 tenants' 0 \
        apply_limited 23Gbps
    check 'a dry run proves too' says 'proved 1 of 4 tenants' 0 \
        apply_limited 24Gbps --dry-run
    check 'rollback to what was not: not verified' says ', not verified' 0 \
        "$BULKHEAD" rollback --bridge br0
    check 'and to what was: verified' says ', verified' 0 \
        "$BULKHEAD" rollback --bridge br0
    # Of a bridge with none of its interfaces only a dry run is proved.
    check 'no time to prove it: refused' unchanged br0 \
        says 'UNPROVED: time is up' 1 on_one "$BULKHEAD" apply --dry-run \
        "$switch_dir/slow.json" --node node --bridge br0 --verify=1s
    check '... with the remedy' \
        says '--verify=TIME gives it more' 1 on_one "$BULKHEAD" apply \
        --dry-run "$switch_dir/slow.json" --node node --bridge br0 --verify=1s
    check 'for OVN: 2' says 'takes no --verify' 2 "$BULKHEAD" apply \
        "$intent" --target=ovn --verify
}

# Whose proofs the node keeps.
test_known() {
    exits 0 apply_limited 25Gbps >/dev/null
    rewrite 's/x/x/'
    check 'what is known is known' says 'proved 0 of 4 tenants' 0 \
        apply_limited 25Gbps
    rewrite 's/"proved":\[\["[0-9a-f]*"\]/"proved":[["0"]/'
    check 'proofs of another verifier are none' says 'proved 4 of 4 tenants' \
        0 apply_limited 25Gbps
    rewrite 's/"proved":[^{]*"plan"/"proved":[],"plan"/'
    check 'where nothing is known, all is proved' \
        says 'proved 4 of 4 tenants' 0 apply_limited 26Gbps
    rewrite 's/"proved":[^{]*"plan"/"proved":[7],"plan"/'
    check 'what cannot be read is not trusted' says 'proved 4 of 4 tenants' \
        0 apply_limited 27Gbps
    truncate -s -7 "$switch_dir"/state/br0/*.plan
    check 'nor what is cut short' says 'proved 4 of 4 tenants' 0 \
        apply_limited 27Gbps
    BULKHEAD_STATEDIR='' check 'nor is it needed' \
        says 'proved 4 of 4 tenants' 0 apply_limited 27Gbps
}

# apply, by a compiler that forgets the flow that denies ssh to batch.
test_fault() {
    local BULKHEAD=$faulty plan=$switch_dir/leaking
    export FORGET=$deny_ssh
    "$BULKHEAD" clear --bridge br0 >/dev/null
    check 'a leak: refused, with status 1' unchanged br0 \
        says 'leaks: from batch/' 1 apply_limited 20Gbps
    check '... says what to do' says 'remedy: ' 1 apply_limited 20Gbps
    check '... as JSON' says '"verdict":"different"' 1 \
        apply_limited 20Gbps -f json
    "$BULKHEAD" plan "$intent" --node $node --bridge br0 -o "$plan" >/dev/null
    check '... in a saved plan' unchanged br0 \
        says 'leaks: from batch/' 1 "$BULKHEAD" apply "$plan"
    check '... --no-verify applies it' says ', not verified' 0 \
        "$BULKHEAD" apply "$plan" --no-verify
    check '... and it leaks' says 'leaks: from batch/' 1 verify --bridge br0
    export FORGET=
    check 'and without the fault: applied' says ', verified' 0 apply_limited 20Gbps
    export FORGET=$deny_ssh
    check 'a leak that comes later: refused' unchanged br0 \
        says 'leaks: from batch/' 1 apply_limited 20Gbps
    unset FORGET
}

test_usage() {
    echo 'table=0,ip actions=fly' >"$switch_dir/bad"
    check 'a bad flow: its line' says "$switch_dir/bad:1: unknown action" 1 \
        verify --flows "$switch_dir/bad"
    check 'no such file: 2' exits 2 verify --flows "$switch_dir/none"
    check 'no regular file: 2' says 'Not a regular file' 2 \
        verify --flows /dev/zero
    mkfifo "$switch_dir/fifo"
    check 'nor a FIFO: 2' exits 2 verify --flows "$switch_dir/fifo"
    check 'a file and a bridge: 2' says 'exclude each other' 2 \
        verify --flows "$switch_dir/bad" --bridge br0
    check 'no such bridge: 3' exits 3 verify --bridge none
    check 'no such node: 2' exits 2 "$BULKHEAD" verify "$intent" --node x
}

main() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    test_examples
    test_bridge
    test_fit
    test_corners
    test_tenants
    test_layouts
    test_processes
    test_apply
    test_known
    test_fault
    test_usage
    [ "$failures" = 0 ]
}

main
