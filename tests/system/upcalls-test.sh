#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Tenants with a limit of upcalls: who floods new flows has no more of them
# than that, and others' new connections pass; and the switch has the limits
# that the intent says, whatever becomes of it.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent-lib.sh
. "$here/agent-lib.sh"

node=n1
intent=

# write_intent RED BLUE: "RATE BURST [CONNECTIONS]" of their limits of upcalls,
# or "".
write_intent() {
    python3 - "$@" <<'END'
import json
import sys

tenants = {}
for i, (name, limit) in enumerate(zip(("red", "blue"), sys.argv[1:])):
    limit = limit.split()
    limits = {}
    if limit:
        limits["upcalls"] = {"rate": f"{limit[0]}pps",
                             "burst": f"{limit[1]}pkt"}
    if limit[2:]:
        limits["connections"] = int(limit[2])
    tenants[name] = {
        "limits": limits,
        "networks": {"net": {"vni": i + 1, "subnets": [f"10.{i}.0.0/16"]}},
        "endpoints": {
            f"e{j}": {"network": "net", "node": "n1",
                      "interface": f"{name}{j}",
                      "mac": f"02:00:00:00:0{i}:0{j}",
                      "addresses": [f"10.{i}.0.1{j}"]} for j in (0, 1)},
        "rules": [{"name": "r", "from": {}, "to": {}, "service": "s"}]}
uplinks = {"up": {"interface": "p0", "rate": "10Gbps", "burst": "64KiB"}}
json.dump({"version": 1, "fabric": {"nodes": {"n1": {"uplinks": uplinks}}},
           "services": {"s": {"protocol": "udp", "ports": ["2000-65000"]}},
           "tenants": tenants}, sys.stdout)
END
}

# apply RED BLUE
apply() {
    write_intent "$@" >"$folder/.new"
    mv "$folder/.new" "$folder/policy.json"
    "$BULKHEAD" apply "$folder" --node $node --bridge br0 -t 10
}

# Sets $group: what the switch calls that of a tenant.
declare -A group
find_groups() {
    local tenant number
    "$BULKHEAD" compile "$switch_dir/intent.json" --node $node \
        -o "$switch_dir/plan" >"$switch_dir/out"
    while read -r tenant number; do
        group[$tenant]=bulkhead/br0/$number
    done < <(python3 -c '
import json
import sys

for tenant in json.load(open(sys.argv[1]))["tenants"]:
    print(tenant["tenant"], tenant["number"])' "$switch_dir/plan/manifest.json")
}

groups() { ovs-appctl dpif-netdev/upcall-limit-show ovs-dummy; }

# has_limit TENANT "RATE BURST" [PORTS]: of the switch; "": none.
has_limit() {
    local got
    got=$(groups | sed -n "s|^group=${group[$1]},$(
        )rate=\([0-9]*\),burst=\([0-9]*\),.*ports=|\1 \2 |p")
    echo "limit of $1: $got"
    [ "$got" = "${2:+$2 ${3:-${1}0 ${1}1}}" ]
}

# counter TENANT admitted|dropped
counter() {
    groups | sed -n "s|^group=${group[$1]},.*,$2=\([0-9]*\).*|\1|p"
}

# receive TENANT ENDPOINT MAC PORT: a packet of UDP from the endpoint, to the
# other one of its tenant by this MAC.
receive() {
    local i
    i=$([ "$1" = red ] && echo 0 || echo 1)
    ovs-appctl netdev-dummy/receive "$1$2" "in_port(1),eth($(
        )src=02:00:00:00:0$i:0$2,dst=$3),eth_type(0x0800),ipv4($(
        )src=10.$i.0.1$2,dst=10.$i.0.1$((1 - $2)),proto=17,tos=0,ttl=64,$(
        )frag=no),udp(src=5000,dst=$4)"
}

# passes COUNT TENANT ENDPOINT PORT: of one packet, so many arrive.
passes() {
    local before n to=$2$((1 - $3)) i
    i=$([ "$2" = red ] && echo 0 || echo 1)
    before=$(n_sent "$to")
    receive "$2" "$3" "02:00:00:00:0$i:0$((1 - $3))" "$4"
    sleep 0.2
    n=$(($(n_sent "$to") - before))
    echo "$n arrived"
    [ "$n" = "$1" ]
}

# flood TENANT ENDPOINT N: packets to as many MACs that nobody has: each is a
# flow of its own.
flood() {
    local i
    for ((i = 0; i < $3; i++)); do
        receive "$1" "$2" "$(printf '06:00:00:00:%02x:%02x' $((i / 256)) \
                             $((i % 256)))" 2000
    done
}

# held TENANT N: it has made so many upcalls, and was kept from others.
held() {
    echo "$(counter "$1" admitted) admitted, $(counter "$1" dropped) dropped"
    [ "$(counter "$1" admitted)" = "$2" ] && [ "$(counter "$1" dropped)" -gt 0 ]
}

test_flood() {
    check 'one tenant has a limit' apply '1 100' ''
    check 'the switch knows' has_limit red '1 100'
    check 'of the other tenant there is none' has_limit blue ''
    ovs-appctl time/stop
    check 'a connection passes' passes 1 red 0 2001
    flood red 0 150
    check 'the flood is held' held red 100
    check '...as drops tells' says 'upcalls,red,' 0 \
        "$BULKHEAD" drops "$folder" --node $node --bridge br0 -f csv
    check '...and costs the tenant new flows' passes 0 red 1 33000
    check '...but not what is known' passes 1 red 0 2001
    check "...nor the other tenant's connections" passes 1 blue 0 2001
    check '...whichever' passes 1 blue 1 33000
    ovs-appctl time/warp 10000 1000 >"$switch_dir/out"
    check 'the tenant has new ones when its bucket has' passes 1 red 1 33000
    flood red 0 150
    check '...some' held red 110
    ovs-appctl time/start
    check 'without a limit' apply '' ''
    flood red 1 150
    check '...new flows pass again' passes 1 red 1 44000
}

test_changes() {
    apply '7 100' '9 64' >"$switch_dir/out"
    write_intent '8 100' '9 64' >"$switch_dir/more.json"
    check 'plan tells a change in words' \
        says 'limits red (upcalls): 7pps, burst 100pkt, 2 interfaces -> 8pps' \
        0 "$BULKHEAD" plan "$switch_dir/more.json" --node $node --bridge br0
    check 'a limit that grows' apply '8 100' '9 64'
    check '...does' has_limit red '8 100'
    ovs-appctl dpif-netdev/upcall-limit-set ovs-dummy "${group[red]}" 80 100 red1
    check 'one that somebody has changed is a difference' \
        says "+${group[red]} 8 100 red0 red1" 4 \
        "$BULKHEAD" status "$folder" --node $node --bridge br0 -v
    check '...which apply mends' apply '8 100' '9 64'
    check '...for good' has_limit red '8 100'
    check 'rollback' "$BULKHEAD" rollback --bridge br0 -t 10
    ovs-appctl dpif-netdev/upcall-limit-set ovs-dummy others 1 1 other0
    check 'one that is taken back' apply '' '9 64'
    check '...goes' has_limit red ''
    check '...and the other stays' has_limit blue '9 64'
    check "...as others' do" says group=others, 0 groups
    apply '3 100' '' >"$switch_dir/out"
    apply '4 100' '' >"$switch_dir/out"
    check 'rollback' "$BULKHEAD" rollback --bridge br0 -t 10
    check '...goes back' has_limit red '3 100'
}

test_failures() {
    apply '3 100' '' >"$switch_dir/out"
    ovs-vsctl --id=@t create Flow_Table flow_limit=1 overflow_policy=refuse \
        -- set bridge br0 flow_tables:25=@t >"$switch_dir/out"
    check 'flows that the switch refuses' exits 3 apply '4 100' '5 64 1'
    check '...leave the limit as it was' has_limit red '3 100'
    check '...and set no other' has_limit blue ''
    ovs-vsctl clear bridge br0 flow_tables
    mv "$switch_dir/ovs-vswitchd.pid" "$switch_dir/hidden"
    check 'limits that cannot be set' \
        says 'by its control socket' 3 apply '4 100' '5 64'
    mv "$switch_dir/hidden" "$switch_dir/ovs-vswitchd.pid"
    check '...change nothing' has_limit red '3 100'
}

test_agent() {
    apply '3 100' '' >"$switch_dir/out"
    agent_start
    check 'bulkheadd keeps it' becomes_equal
    ovs-appctl dpif-netdev/upcall-limit-del ovs-dummy "${group[red]}"
    check 'a limit that somebody deletes comes back' soon has_limit red '3 100'
    write_intent '6 100' '2 64' >"$folder/policy.json"
    check 'one that changes reaches the switch' soon has_limit red '6 100'
    check '...with a new one' has_limit blue '2 64'
    ovs-vsctl del-port red1
    check 'an interface that leaves is in no group' \
        soon has_limit red '6 100' red0
    ovs-vsctl add-port br0 red1 -- set interface red1 type=dummy
    check '...and is again when it comes' soon has_limit red '6 100'
    restart_switch
    check 'a switch that starts anew has them again' \
        soon has_limit red '6 100'
    check '...all' soon has_limit blue '2 64'
    agent_end TERM
    check 'clear' "$BULKHEAD" clear --bridge br0
    check '...leaves none' [ -z "$(groups)" ]
}

main() {
    start_dummy_switch
    folder=$switch_dir/policy
    mkdir "$folder"
    write_intent '1 100' '1 100' >"$switch_dir/intent.json"
    make_dummy_bridge br0 "$switch_dir/intent.json" $node
    find_groups
    test_flood
    test_changes
    test_failures
    test_agent
    [ "$failures" = 0 ]
}

main
