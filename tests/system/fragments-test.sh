#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Fragments of UDP, IPv4 and IPv6, on a dummy datapath with the conntrack of
# the userspace datapath: all of a datagram are judged by its ports, which only
# the first one has.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# e0 of "closed" may send UDP 2000 to e1, and no more; e0 of "open" all but
# that.
write_intent() {
    python3 - <<'END'
import json
import sys

def tenant(name, vni, default, action):
    rule = {"name": "r", "from": {"endpoint": "e0"}, "to": {"endpoint": "e1"},
            "service": "s", **action}
    return {
        "default": default, "rules": [rule],
        "networks": {"net": {"vni": vni,
                             "subnets": ["10.1.0.0/16", "fd01::/64"]}},
        "endpoints": {f"e{i}": {
            "network": "net", "node": "n1", "interface": f"{name}-{i}",
            "mac": f"02:00:00:00:00:0{i}",
            "addresses": [f"10.1.0.1{i}", f"fd01::1{i}"]} for i in (0, 1)}}

uplinks = {"up": {"interface": "p0", "rate": "10Gbps", "burst": "64KiB"}}
json.dump({"version": 1, "fabric": {"nodes": {"n1": {"uplinks": uplinks}}},
           "classes": {"gold": {"dscp": 46}},
           "services": {"s": {"protocol": "udp", "ports": [2000]}},
           "tenants": {
               "closed": tenant("closed", 1, "deny", {"class": "gold"}),
               "open": tenant("open", 2, "allow", {"action": "deny"})}},
          sys.stdout)
END
}

# frames FAMILY PORT: the two fragments of a datagram from e0 to e1, in hex.
frames() {
    python3 - "$@" <<'END'
import ipaddress
import struct
import sys

family, port = int(sys.argv[1]), int(sys.argv[2])
net = "10.1.0.1" if family == 4 else "fd01::1"
ends = b"".join(ipaddress.ip_address(f"{net}{i}").packed for i in (0, 1))

def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total >> 16) + (total & 0xffff)
    return ~total & 0xffff

def udp(check):
    return struct.pack(">HHHH", 1000, port, 1472, check) + bytes(1464)

def ip(start, end, more):
    if family == 4:
        fields = ("BBHHHBBH", 0x45, 0, 20 + end - start, port,
                  more << 13 | start // 8, 64, 17)
        check = checksum(struct.pack(">" + fields[0], *fields[1:], 0) + ends)
        return struct.pack(">" + fields[0], *fields[1:], check) + ends
    return (struct.pack(">IHBB", 6 << 28, 8 + end - start, 44, 64) + ends
            + struct.pack(">BBHI", 17, 0, start | more, port))

whole = udp(checksum(ends + struct.pack(">II", 1472, 17) + udp(0)))
for start, end, more in (0, 1280, True), (1280, 1472, False):
    print((bytes.fromhex("020000000001020000000000"
                         + ("0800" if family == 4 else "86dd"))
           + ip(start, end, more) + whole[start:end]).hex())
END
}

# passes COUNT TENANT FAMILY PORT: of both fragments so many arrive.
passes() {
    local before n frame
    before=$(n_sent "$2-1")
    for frame in $(frames "$3" "$4"); do
        ovs-appctl netdev-dummy/receive "$2-0" "$frame"
    done
    sleep 0.3
    n=$(($(n_sent "$2-1") - before))
    echo "$n arrived"
    [ "$n" = "$1" ]
}

# Both fragments bear the class of the rule: of the flows in the datapath, those
# of later fragments write its DSCP, 46 << 2.
marked() {
    ovs-appctl dpctl/dump-flows | grep 'frag=later' |
        grep -E 'set\(ipv[46]\(t(os|class)=0xb8'
}

nothing_waits() {
    ovs-appctl dpctl/ipf-get-status | grep 'num frag: 0$'
}

main() {
    local family
    start_dummy_switch
    write_intent >"$switch_dir/intent.json"
    make_dummy_bridge br0 "$switch_dir/intent.json" n1
    check apply "$BULKHEAD" apply "$switch_dir/intent.json" --node n1 \
        --bridge br0 -t 10
    for family in 4 6; do
        check "IPv$family, allowed by port" passes 2 closed $family 2000
        check "IPv$family, another port" passes 0 closed $family 2001
        check "IPv$family, denied by port" passes 0 open $family 2000
        check "IPv$family, but for that port" passes 2 open $family 2001
    done
    check 'later fragments bear the class' marked
    check 'no fragment is left behind' nothing_waits
    [ "$failures" = 0 ]
}

main
