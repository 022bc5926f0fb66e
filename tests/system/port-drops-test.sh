#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Whose packets a port drops, as telemetry tells it: on a veth whose MTU is
# too small for them or whose qdisc is full, on a tap that is down, on AF_XDP
# whose ring is full, and on DPDK's net_null for frames above its MTU and while
# it is down.
#
# Exit 77: skipped, with the reason.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=apart.sh
. "$here/apart.sh"

# send TAG N SIZE: N frames of SIZE bytes from the tenant of that tag.
send() {
    python3 - "w$1" "$2" "$3" <<'END'
import socket
import sys
interface, n, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
frame = bytes.fromhex("020000000001" "020000000002" "1234")
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
    out.bind((interface, 0))
    for _ in range(n):
        out.send(frame.ljust(size, b"x"))
END
}

# counted PORT TAG: packets/bytes sent, and of these dropped.
counted() {
    ovs-appctl dpif-netdev/tenant-queue-show | awk -v port="$1" -v tag="$2" '
        $1 == "port" { here = $2 == port }
        here && $1 == "tag:" tag { print $3, $4 }'
}

# counts PORT TAG EXPECTED: comes to be.
counts() {
    local i
    for ((i = 0; i < 50; i++)); do
        [ "$(counted "$1" "$2")" != "$3" ] || return 0
        sleep 0.1
    done
    diff <(echo "$3") <(counted "$1" "$2")
}

# A veth pair: the switch has the first, a tenant or the test the other.
make_pair() {
    ip link add "$1" mtu 3000 type veth peer name "$2" mtu 3000
    for name in "$1" "$2"; do
        echo 1 >"/proc/sys/net/ipv6/conf/$name/disable_ipv6"
        ip link set "$name" up
    done
}

# make_bridge ACTIONS: what comes from tenants 17 and 18 gets its tag.
make_bridge() {
    local tag
    ovs-vsctl --timeout=30 set Open_vSwitch . \
        other_config:tenant-queue-telemetry=true -- add-br br0 \
        -- set bridge br0 datapath_type=netdev fail-mode=secure
    for tag in 17 18; do
        make_pair "v$tag" "w$tag"
        ovs-vsctl --timeout=10 add-port br0 "v$tag"
        ovs-ofctl -O OpenFlow13 add-meter br0 "meter=$tag kbps burst stats \
bands=type=microburst rate=10000000 burst_bytes=65536000 tag=$tag"
        ovs-ofctl -O OpenFlow13 add-flow br0 \
            "in_port=v$tag actions=meter:$tag,$1"
    done
}

test_kernel() {
    start_apart
    make_bridge output:11,output:12
    make_pair out peer
    ovs-vsctl --timeout=10 add-port br0 out \
        -- set interface out ofport_request=11 \
        -- add-port br0 tap0 -- set interface tap0 type=tap ofport_request=12
    ip link set tap0 down
    send 17 20 1000
    send 18 10 500
    check 'a veth takes all' counts out 17 'sent:20/20000 dropped:0/0'
    check 'of both tenants' counts out 18 'sent:10/5000 dropped:0/0'
    check 'a tap that is down drops all' \
        counts tap0 17 'sent:20/20000 dropped:20/20000'
    check 'whoever sent it' counts tap0 18 'sent:10/5000 dropped:10/5000'

    ip link set out mtu 600
    send 17 20 1000
    send 18 10 500
    check 'frames above the MTU are dropped' \
        counts out 17 'sent:40/40000 dropped:20/20000'
    check 'and no others' counts out 18 'sent:20/10000 dropped:0/0'
    ip link set out mtu 3000
    if tc qdisc add dev out root tbf rate 8kbit burst 3000 limit 3000 \
            2>/dev/null; then
        send 17 20 1000
        check 'what a full qdisc refuses is dropped' full_qdisc
    else
        echo '# this kernel has no sch_tbf'
    fi
}

# All but those that it has sent or holds, with little else.
full_qdisc() {
    local dropped
    dropped=$(tc -s -j qdisc show dev out | python3 -c 'import json, sys
qdisc = json.load(sys.stdin)[0]
print(20 - (qdisc["bytes"] + qdisc["backlog"]) // 1000)')
    [ "$dropped" -gt 10 ] || return 1
    counts out 17 "sent:60/60000 dropped:$((20 + dropped))/$((20000 +
        dropped * 1000))"
}

# A veth that is down takes no frames from its ring.
test_afxdp() {
    local error
    start_apart
    make_bridge output:11
    make_pair out peer
    ovs-vsctl --timeout=10 add-port br0 out \
        -- set interface out type=afxdp options:xdp-mode=generic \
        ofport_request=11
    error=$(ovs-vsctl get interface out error)
    if [ "$error" != '[]' ]; then
        echo "# no AF_XDP here: $error"
        return
    fi
    send 17 20 1000
    send 18 10 500
    check 'AF_XDP takes all' counts out 17 'sent:20/20000 dropped:0/0'
    check 'of both tenants, as well' counts out 18 'sent:10/5000 dropped:0/0'
    ip link set out down
    check 'until its ring is full' drops 17 1000
    check 'then of both' drops 18 500
    check 'the port says so, too' cmp <(port_dropped) <(dropped)
    ip link set out up
    send 17 1 1000
    check 'all others arrive' others_arrive
}

# drops TAG SIZE: what the tenant sends of that size comes to be dropped.
drops() {
    local i
    for ((i = 0; i < 200; i++)); do
        case $(counted out "$1") in
        *dropped:0/0) send "$1" 100 "$2" ;;
        *) return 0 ;;
        esac
    done
    return 1
}

# What the port has dropped, by its own statistics and by its tenants'.
port_dropped() {
    ovs-appctl dpctl/show -s netdev@ovs-netdev | awk '
        $1 == "port" { here = $3 == "out" }
        here && $1 == "TX" && sub(".*dropped:", "") { print $1 }'
}

dropped() {
    { counted out 17; counted out 18; } | tr ':/' '  ' |
        awk '{ n += $5 } END { print n }'
}

# Frames and bytes that come out of the port are those that it did not drop.
others_arrive() {
    local i
    for ((i = 0; i < 50; i++)); do
        ! cmp -s <(passed) <(arrived) || return 0
        sleep 0.1
    done
    diff <(passed) <(arrived)
}

passed() {
    { counted out 17; counted out 18; } | tr ':/' '  ' |
        awk '{ n += $2 - $5; bytes += $3 - $6 } END { print n, bytes }'
}

arrived() {
    ip -s -j link show peer | python3 -c 'import json, sys
rx = json.load(sys.stdin)[0]["stats64"]["rx"]
print(rx["packets"], rx["bytes"])'
}

test_dpdk() {
    local eal='--no-pci --no-huge --no-telemetry --legacy-mem -m 512'
    switch_dir=$OVS_RUNDIR
    export RUNTIME_DIRECTORY=$switch_dir
    mount -t tmpfs tmpfs /run
    switch_start_database
    ovs-vsctl --no-wait set Open_vSwitch . other_config:dpdk-init=true \
        other_config:dpdk-extra="\"$eal\""
    switch_start_daemon --disable-system
    make_bridge output:11
    ovs-vsctl --timeout=30 add-port br0 null0 \
        -- set interface null0 type=dpdk ofport_request=11 \
        options:dpdk-devargs=net_null0,no-rx=1
    send 17 20 1000
    send 18 10 500
    check 'net_null takes all' counts null0 17 'sent:20/20000 dropped:0/0'
    check 'of both tenants, too' counts null0 18 'sent:10/5000 dropped:0/0'
    send 17 6 2000
    check 'frames above its MTU are dropped' \
        counts null0 17 'sent:26/32000 dropped:6/12000'
    ovs-appctl netdev-dpdk/set-admin-state null0 down >/dev/null
    send 18 5 500
    check 'all are while it is down' \
        counts null0 18 'sent:15/7500 dropped:5/2500'
}

has_memory() {
    [ "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)" -ge 1048576 ]
}

case ${1:-} in
--inside)
    "test_$2"
    [ "$failures" = 0 ] ;;
'')
    run_apart "$here/port-drops-test.sh" --inside kernel
    stop_apart
    run_apart "$here/port-drops-test.sh" --inside afxdp
    stop_apart
    has_memory || skip 'needs 1 GiB of memory for DPDK'
    run_apart "$here/port-drops-test.sh" --inside dpdk ;;
*) die "takes no arguments" ;;
esac
