#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# plan, apply, status, rollback and clear of the targets of the kernel's
# datapath, on a switch without our patches.  Its datapath is a dummy: what
# OpenFlow and the database say is the same.
# Exit 77: skipped, with the reason.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1
stock=/usr/lib/openvswitch-switch/ovs-vswitchd

# In place of ours; switch_spawn runs it as a job.
ovs-vswitchd() { exec "$stock" "$@"; }

# bulk COMMAND ARGUMENT...
bulk() {
    local command=$1
    shift
    "$BULKHEAD" "$command" --bridge=br0 --timeout=20 "$@"
}

# on TARGET COMMAND [ARGUMENT...]: of the intent.
on() {
    local target=$1 command=$2
    shift 2
    bulk "$command" "$intent" --node=$node --target="$target" "$@"
}

# The bridge holds what it gets from the files of compile by ovs-ofctl.
as_compiled() {
    local dir=$switch_dir/$1
    "$BULKHEAD" compile "$intent" --node=$node --target="$1" -o "$dir" &&
        unchanged br0 load "$dir"
}

load() {
    local meter
    ovs-ofctl -O OpenFlow13 del-meters br0
    while read -r meter; do
        ovs-ofctl -O OpenFlow13 add-meter br0 "$meter" || return 1
    done <"$1/meters.txt"
    ovs-ofctl -O OpenFlow14 --bundle replace-flows br0 "$1/flows.txt"
}

# test_target TARGET CHANGE: the plan says the change.
test_target() {
    check "$1: plan says what is to come" unchanged br0 \
        says "$2" 4 on "$1" plan --exit-code
    check '... and what its meters do not keep' \
        says '#   - ' 4 on "$1" plan --exit-code
    check "$1: apply, and what is left to do" \
        says "bulkhead compile --target=$1 -o DIR" 0 on "$1" apply
    check '... gives the bridge what compile says' as_compiled "$1"
    check '... and is as intended' says 'as intended' 0 on "$1" status
    check '... which needs no intent to say' says 'as intended' 0 bulk status
    check 'apply again changes nothing' unchanged br0 \
        says 'as intended' 0 on "$1" apply
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 'table=20,priority=0'
    check 'a flow that is gone is seen' \
        says '+cookie=0xb17d' 4 on "$1" status -v
    check '... and comes back' exits 0 on "$1" apply
    check '--verify is for the other datapath' unchanged br0 \
        says 'plans of the userspace datapath' 2 on "$1" apply --verify
    check '... and without it, apply says that nothing is proved' \
        says "nothing is proved of flows of the target $1" 0 on "$1" apply
}

# A packet of RoCEv2 from one worker to another, and one of a liar, come into
# a datapath that has no hardware.
send_packets() {
    local packet='in_port(1),eth(src=02:00:00:01:00:00,dst=02:00:00:01:00:01)'
    packet+=',eth_type(0x0800)'
    local rest='dst=10.1.0.11,proto=17,tos=0,ttl=64,frag=no)'
    rest+=',udp(src=49152,dst=4791)'

    ovs-appctl netdev-dummy/receive pf0vf0 \
        "$packet,ipv4(src=10.1.0.10,$rest"
    ovs-appctl netdev-dummy/receive pf0vf0 \
        "$packet,ipv4(src=10.1.0.99,$rest"
    ovs-appctl revalidator/wait
}

# The row of the tenant: hardware, software, lost, gained.
row_is() {
    local row
    row=$(exits 4 on "$2" status --profile="$1" | tr -s ' ' |
           grep "^llm-training ") &&
        [ "$row" = "llm-training $3" ]
}

# What a limit of packets would lose: a meter drops nothing by itself.
with_limits() {
    python3 - "$intent" "$switch_dir/limits.json" <<'END'
import json
import sys
with open(sys.argv[1]) as f:
    intent = json.load(f)
intent["tenants"]["llm-training"]["limits"] = {
    "packets": {"rate": "1kpps", "burst": "64pkt"}}
with open(sys.argv[2], "w") as f:
    json.dump(intent, f)
END
    says '! offload anti-spoofing: ' 0 bulk plan "$switch_dir/limits.json" \
        --node=$node --target=asap2 --profile=connectx-7 &&
        grep 'police, and nothing behind it' "$switch_dir/said"
}

loses_nothing() {
    on asap2 plan --profile=connectx-7 >"$switch_dir/said" &&
        exits 1 grep offload "$switch_dir/said"
}

# What meters do not keep, and how they differ in hardware, as in the manifest.
tells_of_meters() {
    "$BULKHEAD" compile "$intent" --node="$node" --target=asap2 \
        -o "$switch_dir/asap2" >/dev/null 2>&1 &&
        on asap2 plan -f json >"$switch_dir/plan.json" &&
        python3 - "$switch_dir/plan.json" "$switch_dir/asap2/manifest.json" \
            <<'END'
import json
import sys
plan, manifest = (json.load(open(path)) for path in sys.argv[1:])
for name in "meters_in_hardware", "differences":
    assert manifest[name] and plan[name] == manifest[name], plan.get(name)
END
}

test_offload() {
    check 'plan tells of meters in hardware as JSON, too' tells_of_meters
    check 'plan says what offload a change loses' with_limits
    check '... and not what stays' loses_nothing
    check 'status needs to know of whom' says 'with an intent only' 2 \
        bulk status --profile=connectx-7
    check 'and a profile of the target' says 'no such --profile' 2 \
        on userspace status --profile=kernel-tc
    check 'packets come' send_packets
    check 'what is in software is told from what was to be in hardware' \
        row_is connectx-7 asap2 '2/0 0/2 2 0'
    check 'with -v, each' says 'predicted hardware, is in software' 4 \
        on asap2 status --profile=connectx-7 -v
    check 'where nothing is, it says so' \
        grep 'nothing is offloaded: see that' "$switch_dir/said"
}

test_bridges() {
    check 'our own target needs our meters' unchanged br0 \
        says 'cannot keep bursts below a millisecond' 3 on userspace apply
    ovs-vsctl --timeout=10 add-br br1 \
        -- set bridge br1 datapath_type=netdev fail-mode=secure
    check 'a bridge of another datapath is refused' \
        says "is not of the kernel's datapath" 3 "$BULKHEAD" apply \
        "$intent" --bridge=br1 --node=$node --target=kernel --partial
    check 'what has no flows cannot be applied' unchanged br0 \
        says "'apply' takes --target=" 2 on text apply
}

comes_back() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        if on kernel status; then
            return 0
        fi
        sleep 0.1
    done
    return 1
}

test_back() {
    check 'rollback from one target to the other' \
        says 'generation' 0 bulk rollback
    check '... is as intended' says 'as intended' 0 on kernel status
    check 'with a way back' says 'comes back' 0 timeout 60 \
        "$BULKHEAD" apply "$intent" --bridge=br0 --node=$node \
        --target=asap2 --confirm=1s
    check '... by which it comes back' comes_back
    check 'clear' exits 0 bulk clear
    check '... leaves nothing' [ "$(state br0 | grep -c cookie=0xb17d)" = 0 ]
}

main() {
    [ -x "$stock" ] || {
        echo "apply-kernel-test.sh: skipped: needs openvswitch-switch:" \
             "./bootstrap --developer"
        exit 77
    }
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    test_target kernel '+ tenant llm-training'
    test_target asap2 '~ shared pipeline: flows 8 changed'
    test_offload
    test_back
    test_bridges
    [ "$failures" = 0 ]
}

main
