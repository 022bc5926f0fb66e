#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# A conntrack zone that goes from one tenant to another: the newcomer gets
# nothing by the other's connections, and they do not stand in its way.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The hashes of these two meet: the first by name gets the zone, and the other
# the next one, or this one while it is alone.
newcomer=t252
resident=t271
zone=45745
mac0=02:00:00:00:00:00
mac1=02:00:00:00:00:01

# write_intent TENANT...: e0 of each may open UDP 2000 to e1, and no more.
write_intent() {
    python3 - "$@" <<'END'
import json
import sys

def endpoint(tenant, i):
    return {"network": "net", "node": "n1", "interface": f"{tenant}-{i}",
            "mac": f"02:00:00:00:00:0{i}", "addresses": [f"10.1.0.1{i}"]}

tenants = {
    name: {
        "networks": {"net": {"vni": vni, "subnets": ["10.1.0.0/16"]}},
        "endpoints": {f"e{i}": endpoint(name, i) for i in (0, 1)},
        "rules": [{"name": "r", "from": {"endpoint": "e0"},
                   "to": {"endpoint": "e1"}, "service": "s"}]
    } for vni, name in enumerate(sys.argv[1:], 1)}
uplinks = {"up": {"interface": "p0", "rate": "10Gbps", "burst": "64KiB"}}
json.dump({"version": 1, "fabric": {"nodes": {"n1": {"uplinks": uplinks}}},
           "services": {"s": {"protocol": "udp", "ports": [2000]}},
           "tenants": tenants}, sys.stdout)
END
}

apply() {
    "$BULKHEAD" apply "$switch_dir/$1.json" --node n1 --bridge br0 -t 10
}

# number TENANT: its number, from the flows of its intent alone.
number() {
    "$BULKHEAD" compile "$switch_dir/$1.json" --node n1 \
        -o "$switch_dir/plan" >"$switch_dir/compiled"
    sed -n "s/.*ct_zone=$zone,ct_mark=\(0x[0-9a-f]*\) .*/\1/p" \
        "$switch_dir/plan/flows.txt" | head -n 1
}

# passes COUNT TENANT FROM TO: of one packet between UDP 1100 at its e0 and
# 2000 at its e1, so many arrive.
passes() {
    local before n macs=("$mac0" "$mac1") ports=(1100 2000)
    before=$(n_sent "$2-$4")
    ovs-appctl netdev-dummy/receive "$2-$3" "in_port(1),eth(src=${macs[$3]},$(
        )dst=${macs[$4]}),eth_type(0x0800),ipv4(src=10.1.0.1$3,$(
        )dst=10.1.0.1$4,proto=17,tos=0,ttl=64,frag=no),$(
        )udp(src=${ports[$3]},dst=${ports[$4]})"
    sleep 0.3
    n=$(($(n_sent "$2-$4") - before))
    echo "$n arrived"
    [ "$n" = "$1" ]
}

# note NUMBER: as if a packet of the tenant of that number had opened the
# connection from e0 to e1 on its way past the flush.
note() {
    ovs-ofctl -O OpenFlow14 packet-out br0 "in_port=LOCAL, packet=$(
        )0200000000010200000000000800$(
        )4500001c00000000401166bb0a01000a0a01000b044c07d000080000, $(
        )actions=ct(commit,zone=$zone,exec(set_field:$1->ct_mark))"
    ovs-appctl dpctl/dump-conntrack zone=$zone | grep 'sport=1100,dport=2000'
}

knows_nothing() { ! ovs-appctl dpctl/dump-conntrack "zone=$zone" | grep .; }

test_resident() {
    check 'the resident alone' apply "$resident"
    check 'it answers nobody' passes 0 "$resident" 1 0
    check 'it opens a connection' passes 1 "$resident" 0 1
    check 'that is answered' passes 1 "$resident" 1 0
}

test_newcomer() {
    check 'the newcomer gets the zone' apply both
    check 'which knows nothing any longer' knows_nothing
    check 'a late connection of the resident' note "$(number "$resident")"
    check 'answers nothing of the newcomer' passes 0 "$newcomer" 1 0
    check 'nor is the newcomer taken for its opener' passes 0 "$newcomer" 0 1
    check 'a connection of nobody' note 0
    check 'answers nothing either' passes 0 "$newcomer" 1 0
    ovs-appctl dpctl/flush-conntrack "zone=$zone"
    check 'its own connection' note "$(number "$newcomer")"
    check 'is answered' passes 1 "$newcomer" 1 0
    check 'the resident opens anew' passes 1 "$resident" 0 1
    check 'and is answered' passes 1 "$resident" 1 0
}

test_leaving() {
    check 'the newcomer leaves' apply "$resident"
    check 'and leaves nothing' knows_nothing
}

main() {
    start_dummy_switch
    write_intent "$newcomer" >"$switch_dir/$newcomer.json"
    write_intent "$resident" >"$switch_dir/$resident.json"
    write_intent "$newcomer" "$resident" >"$switch_dir/both.json"
    make_dummy_bridge br0 "$switch_dir/both.json" n1
    check 'the hashes of both names meet' \
        [ "$(number "$newcomer")" -a "$(number "$resident")" ]
    test_resident
    test_newcomer
    test_leaving
    [ "$failures" = 0 ]
}

main
