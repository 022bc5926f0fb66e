#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Tenants with a limit of connections: what opens one too many is dropped, and
# the switch has the limits that the flows count on, whatever becomes of it.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent-lib.sh
. "$here/agent-lib.sh"

node=n1
intent=

# write_intent RED BLUE: their limits of connections; 0: none.
write_intent() {
    python3 - "$@" <<'END'
import json
import sys

names = ["red", "blue"]
tenants = {}
for i, (name, limit) in enumerate(zip(names, map(int, sys.argv[1:]))):
    tenants[name] = {
        "limits": {"connections": limit} if limit else {},
        "peers": ["*"],
        "networks": {"net": {"vni": i + 1, "gateway": f"10.{i}.0.1",
                             "subnets": [f"10.{i}.0.0/16"]}},
        "endpoints": {
            f"e{j}": {"network": "net", "node": "n1",
                      "interface": f"{name}{j}",
                      "mac": f"02:00:00:00:0{i}:0{j}",
                      "addresses": [f"10.{i}.0.1{j}"]} for j in (0, 1)},
        "rules": [{"name": "r", "from": {"endpoint": "e0"},
                   "to": {"endpoint": "e1"}, "service": "s"}]}
uplinks = {"up": {"interface": "p0", "rate": "10Gbps", "burst": "64KiB"}}
json.dump({"version": 1, "fabric": {"nodes": {"n1": {"uplinks": uplinks}}},
           "services": {"s": {"protocol": "udp", "ports": [2000]}},
           "tenants": tenants,
           "peerings": {"p": {"from": {"tenant": "red"},
                              "to": {"tenant": "blue"}, "service": "s"}}},
          sys.stdout)
END
}

# apply RED BLUE
apply() {
    write_intent "$@" >"$folder/.new"
    mv "$folder/.new" "$folder/policy.json"
    "$BULKHEAD" apply "$folder" --node $node --bridge br0 -t 10
}

# zone TENANT: by its number in the flows that say whose a zone is.
zone() {
    "$BULKHEAD" compile "$folder" --node $node -o "$switch_dir/plan" \
        >"$switch_dir/compiled"
    python3 -c '
import json
import sys

for tenant in json.load(open(sys.argv[1]))["tenants"]:
    if tenant["tenant"] == sys.argv[2]:
        print(tenant["zone"])' "$switch_dir/plan/manifest.json" "$1"
}

# has_limit TENANT N: of the switch; 0: none.
has_limit() {
    local got
    got=$(ovs-appctl dpctl/ct-get-limits dummy@ovs-dummy |
          sed -n "s/^zone=$(zone "$1"),limit=\([0-9]*\),.*/\1/p")
    echo "limit of $1: $got"
    [ "${got:-0}" = "$2" ]
}

# passes COUNT FROM TO SOURCE-PORT PORT: of one packet of UDP, so many arrive.
# An end is a tenant's number, and its endpoint's.
passes() {
    local before n names=(red blue) mac
    mac=02:00:00:00:0${3%?}:0${3#?}
    [ "${2%?}" = "${3%?}" ] || mac=$(gateway "${2%?}")
    before=$(n_sent "${names[${3%?}]}${3#?}")
    ovs-appctl netdev-dummy/receive "${names[${2%?}]}${2#?}" "in_port(1),eth($(
        )src=02:00:00:00:0${2%?}:0${2#?},dst=$mac),eth_type(0x0800),ipv4($(
        )src=10.${2%?}.0.1${2#?},dst=10.${3%?}.0.1${3#?},proto=17,tos=0,$(
        )ttl=64,frag=no),udp(src=$4,dst=$5)"
    sleep 0.2
    n=$(($(n_sent "${names[${3%?}]}${3#?}") - before))
    echo "$n arrived"
    [ "$n" = "$1" ]
}

# gateway NETWORK: the MAC that a tenant's network has for it.
gateway() { printf '0a:b1:7d:00:00:%02x\n' $(($1 + 1)); }

counts_drops() {
    "$BULKHEAD" drops --bridge br0 -f csv | grep "^connections,,$1,"
}

test_inside() {
    check 'two connections and no more' apply 2 0
    check 'the switch knows' has_limit red 2
    check 'of the other tenant there is none' has_limit blue 0
    check 'the first passes' passes 1 00 01 1 2000
    check 'the second too' passes 1 00 01 2 2000
    check 'the third does not' passes 0 00 01 3 2000
    check '...which is counted' soon counts_drops 1
    check 'nor does its next packet' passes 0 00 01 3 2000
    check 'what is known goes on' passes 1 00 01 1 2000
    check '...and is answered' passes 1 01 00 2000 1
    check 'the other tenant has no limit' passes 1 10 11 3 2000
}

test_between() {
    check 'two of the sender, one of the receiver' apply 2 1
    ovs-appctl dpctl/flush-conntrack
    check 'the first passes' passes 1 00 10 1 2000
    check '...and is answered' passes 1 10 00 2000 1
    check 'the receiver is full' passes 0 00 10 2 2000
    check 'two of the receiver' apply 2 2
    ovs-appctl dpctl/flush-conntrack
    check 'one within the sender' passes 1 00 01 1 2000
    check 'one from it' passes 1 00 10 1 2000
    check '...and it is full' passes 0 00 10 2 2000
    check '...which cost the receiver nothing' passes 1 10 11 1 2000
    check 'only the receiver has a limit' apply 0 1
    ovs-appctl dpctl/flush-conntrack
    check 'its one passes' passes 1 00 10 1 2000
    check '...and is answered' passes 1 10 00 2000 1
    check '...but no other' passes 0 00 10 2 2000
}

test_changes() {
    write_intent 3 1 >"$switch_dir/more.json"
    apply 2 1 >"$switch_dir/out"
    check 'plan tells a change in words' \
        says 'limits red (connections): 2 connections -> 3 connections' 0 \
        "$BULKHEAD" plan "$switch_dir/more.json" --node $node --bridge br0
    check 'a limit that grows' apply 3 1
    check '...does' has_limit red 3
    ovs-appctl dpctl/ct-set-limits dummy@ovs-dummy "zone=$(zone red),limit=9"
    check 'one that somebody has changed is a difference' \
        says "+zone=$(zone red),limit=3" 4 \
        "$BULKHEAD" status "$folder" --node $node --bridge br0 -v
    check '...which apply mends' apply 3 1
    check '...for good' has_limit red 3
    ovs-appctl dpctl/ct-set-limits dummy@ovs-dummy zone=7,limit=5
    check 'one that is taken back' apply 0 1
    check '...goes' has_limit red 0
    check "...and others' stay" says zone=7,limit=5 0 \
        ovs-appctl dpctl/ct-get-limits dummy@ovs-dummy
}

test_failures() {
    apply 3 0 >"$switch_dir/out"
    ovs-vsctl --id=@t create Flow_Table flow_limit=1 overflow_policy=refuse \
        -- set bridge br0 flow_tables:25=@t \
        >"$switch_dir/out"
    check 'flows that the switch refuses' exits 3 apply 5 4
    check '...leave the limit as it was' has_limit red 3
    check '...and set no other' has_limit blue 0
    ovs-vsctl clear bridge br0 flow_tables
    mv "$switch_dir/ovs-vswitchd.pid" "$switch_dir/hidden"
    check 'limits that cannot be set' \
        says 'by its control socket' 3 apply 5 4
    mv "$switch_dir/hidden" "$switch_dir/ovs-vswitchd.pid"
    check '...change nothing' has_limit red 3
}

test_agent() {
    apply 3 0 >"$switch_dir/out"
    agent_start
    check 'bulkheadd keeps it' becomes_equal
    ovs-appctl dpctl/ct-del-limits dummy@ovs-dummy "zone=$(zone red)"
    check 'a limit that somebody deletes comes back' soon has_limit red 3
    write_intent 6 2 >"$folder/policy.json"
    check 'one that changes reaches the switch' soon has_limit red 6
    check '...with a new one' has_limit blue 2
    restart_switch
    check 'a switch that starts anew has them again' soon has_limit red 6
    check '...all' soon has_limit blue 2
    agent_end TERM
    check 'clear' "$BULKHEAD" clear --bridge br0
    check '...leaves none' has_limit red 0
}

main() {
    start_dummy_switch
    folder=$switch_dir/policy
    mkdir "$folder"
    write_intent 1 1 >"$switch_dir/intent.json"
    make_dummy_bridge br0 "$switch_dir/intent.json" $node
    test_inside
    test_between
    test_changes
    test_failures
    test_agent
    [ "$failures" = 0 ]
}

main
