#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Two nodes: a switch each, whose underlay ports are one wire.  What apply
# wants of the tunnel port, and packets from node to node, byte by byte.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/rack.json
nodes=(rack-gpu-1 rack-gpu-2)
underlay=(192.0.2.11 192.0.2.12)
dirs=()

# on I COMMAND...: with the switch of node I (0 or 1).
on() {
    local OVS_RUNDIR=${dirs[$1]} OVS_LOGDIR=${dirs[$1]} \
        BULKHEAD_STATEDIR=${dirs[$1]}/state
    shift
    "$@"
}

clear_on() { on "$1" "$BULKHEAD" clear --bridge br0; }
bulkhead_on() {
    on "$2" "$BULKHEAD" "$1" "$intent" --node "${nodes[$2]}" --bridge br0 -t 10
}

# Open vSwitch asks the kernel's routing table whether "local_ip" is the
# machine's.  So each switch has a network of its own, where it is.
isolated=no
if unshare --map-root-user --net true 2>/dev/null; then
    isolated=yes
fi
ovs-vswitchd() {
    [ $isolated = yes ] || exec "$(type -P ovs-vswitchd)" "$@"
    # shellcheck disable=SC2016
    exec unshare --map-root-user --net sh -c \
        'ip address add "$0/32" dev lo && ip link set lo up && exec "$@"' \
        "${underlay[${#dirs[@]} - 1]}" "$(type -P ovs-vswitchd)" "$@"
}

# start_node I: its switch, in a directory of its own in the first one's.
start_node() {
    TMPDIR=${dirs[0]:-${TMPDIR:-/tmp}}
    switch_prepare
    dirs+=("$switch_dir")
    switch_start --enable-dummy --disable-system
    make_dummy_bridge br0 "$intent" "${nodes[$1]}"
    ovs-vsctl --timeout=10 set interface vf0 \
        options:tx_pcap="$switch_dir/vf0.pcap"
}

# The underlay: a bridge br-phy on each, with the node's address.
make_underlay() {
    local i peer kind=(pstream:punix stream:unix)
    for i in 0 1; do
        peer=$((1 - i))
        on $i ovs-vsctl --timeout=10 add-br br-phy \
            -- set bridge br-phy datapath_type=dummy \
            other_config:hwaddr=aa:00:00:00:00:0$i \
            -- add-port br-phy wire0 -- set interface wire0 type=dummy \
            options:"${kind[i]%:*}=\"${kind[i]#*:}:${dirs[0]}/wire\"" \
            options:tx_pcap="${dirs[i]}/wire0.pcap"
        on $i ovs-appctl netdev-dummy/ip4addr br-phy "${underlay[i]}/24"
        on $i ovs-appctl ovs/route/add "${underlay[peer]}/32" br-phy
        on $i ovs-appctl tnl/arp/set br-phy "${underlay[peer]}" \
            aa:00:00:00:00:0$peer
    done
}

# refused TEXT [SETTING...]: with other settings of the port, apply says TEXT
# and the command that mends it; then that command does.
refused() {
    local text=$1 remedy
    shift
    [ $# = 0 ] || on 0 ovs-vsctl --timeout=10 "$@" || return 1
    says "$text" 3 bulkhead_on apply 0 || return 1
    remedy=$(sed -n 's/.*; \(ovs-vsctl .*\)/\1/p' "$switch_dir/said")
    echo "$remedy"
    on 0 bash -c "$remedy" && exits 0 bulkhead_on apply 0
}

test_port() {
    local set=(set interface bulkhead-tun0)
    check 'without the tunnel port: refused' refused 'it is not there'
    check 'status then: 0' exits 0 bulkhead_on status 0
    check 'another type: refused' refused "its type is 'vxlan'" \
        "${set[@]}" type=vxlan
    check 'another address: refused' refused 'its "local_ip" is 192.0.2.99' \
        "${set[@]}" options:local_ip=192.0.2.99
    check 'one other end only: refused' refused 'its "remote_ip" is 192.0.2.9' \
        "${set[@]}" options:remote_ip=192.0.2.9
    check 'a VNI for all packets: refused' refused 'Bulkhead does not know' \
        "${set[@]}" options:in_key=5011
    check 'outer DSCP not the class: refused' refused '"tos" is not set' \
        remove interface bulkhead-tun0 options tos
    check 'what is the operator'\''s is left alone' \
        on 0 ovs-vsctl --timeout=10 "${set[@]}" options:df_default=false
    check 'and apply does not mind' exits 0 bulkhead_on apply 0
    check 'a port that cannot be opened: 3' \
        says 'ovs-vswitchd could not open it' 3 lose_port
    on 0 ovs-vsctl --timeout=10 del-br br9
    check 'and when it can: 0' exits 0 bulkhead_on apply 0
    check 'compile writes the command' compile_and_apply 1
}

# Another port has its place already.
lose_port() {
    local options="{key=flow, local_ip=\"192.0.2.11\", remote_ip=flow}"
    on 0 ovs-vsctl --timeout=10 del-port bulkhead-tun0
    on 0 ovs-vsctl --timeout=10 add-br br9 -- set bridge br9 datapath_type=dummy \
        -- add-port br9 tun9 -- set interface tun9 type=geneve \
        options="$options"
    on 0 ovs-vsctl --timeout=10 --no-wait add-port br0 bulkhead-tun0 \
        -- set interface bulkhead-tun0 type=geneve \
        options="${options%\}}, tos=inherit}"
    on 0 ovs-vsctl --timeout=10 wait-until interface bulkhead-tun0 ofport=-1
    bulkhead_on apply 0
}

compile_and_apply() {
    "$BULKHEAD" compile "$intent" --node "${nodes[$1]}" \
        -o "${dirs[$1]}/plan" && on "$1" sh "${dirs[$1]}/plan/ovs-vsctl.sh" \
        br0 && bulkhead_on apply "$1"
}

# send I FLOW [INTERFACE]: to vf0 of node I, in the syntax of datapath flows.
send() { on "$1" ovs-appctl netdev-dummy/receive "${3:-vf0}" "$2"; }

# holds FILE HEX [N]: the capture has these bytes, N times.
holds() {
    local n
    sleep 0.2
    n=$(od -An -v -tx1 "$1" | tr -d ' \n' | grep -o "$2" | wc -l)
    [ "$n" = "${3:-1}" ] || {
        echo "$n times $2 in:"
        od -An -v -tx1 "$1" | tr -d ' \n'
        return 1
    }
}

gpu0=02:00:00:01:00:00 gpu1=02:00:00:01:00:01
gpu0_hex=020000010000 gpu1_hex=020000010001

# ip4 FROM PROTOCOL: between gpu0 and gpu1.
ip4() {
    local macs=("$gpu0" "$gpu1") ips=(10.11.0.10 10.11.0.11)
    printf 'in_port(1),eth(src=%s,dst=%s),eth_type(0x0800),' \
        "${macs[$1]}" "${macs[1 - $1]}"
    printf 'ipv4(src=%s,dst=%s,proto=%s,tos=0,ttl=64,frag=no),' \
        "${ips[$1]}" "${ips[1 - $1]}" "$2"
}

test_packets() {
    # MACs and IPv4 with DSCP 26; port 6081, Geneve without options, VNI 5011.
    local inner=$gpu1_hex${gpu0_hex}08004568
    local outer=17c1....00000000655800139300
    check 'ARP for an endpoint of the other node is answered' \
        arp_is_answered
    send 0 "$(ip4 0 17)udp(src=5000,dst=4791)"
    check 'RoCEv2 arrives, with the DSCP of its class' \
        holds "${dirs[1]}/vf0.pcap" "$inner"
    check 'in Geneve with its VNI and without options' \
        holds "${dirs[0]}/wire0.pcap" "$outer$inner"
    check 'and the outer header has the DSCP too' \
        holds "${dirs[0]}/wire0.pcap" "08004568........4000"
    check 'the same frame once more arrives once more' \
        receives 2 "$inner" replay 's/^//'
    check 'with another VNI it does not' \
        receives 2 "$inner" replay 's/001393/001394/'
    check 'nor in the name of another endpoint' \
        receives 0 "${gpu1_hex}020000010009" replay "s/$gpu0_hex/020000010009/"
    test_connections
}

# SSH both ways; ports 5000 and 22, then what is neither.
test_connections() {
    send 0 "$(ip4 0 6)tcp(src=5000,dst=22),tcp_flags(syn)"
    check 'a connection opens' holds "${dirs[1]}/vf0.pcap" 13880016
    send 1 "$(ip4 1 6)tcp(src=22,dst=5000),tcp_flags(syn|ack)"
    check 'its reply comes back' holds "${dirs[0]}/vf0.pcap" 00161388
    send 1 "$(ip4 1 6)tcp(src=22,dst=5001),tcp_flags(syn|ack)"
    check 'a reply to nothing does not' \
        holds "${dirs[0]}/vf0.pcap" 00161389 0
    send 0 "$(ip4 0 6)tcp(src=5000,dst=23),tcp_flags(syn)"
    check 'what no rule allows does not go' \
        holds "${dirs[1]}/vf0.pcap" 13880017 0
}

# receives N HEX COMMAND...: after the command, node 1's endpoint has it N
# times.
receives() {
    local n=$1 hex=$2
    shift 2
    "$@" && holds "${dirs[1]}/vf0.pcap" "$hex" "$n"
}

# replay SED-SCRIPT: the last frame that node 0 sent comes to node 1 again, its
# hex changed.
replay() {
    local frame
    frame=$(od -An -v -tx1 "${dirs[0]}/wire0.pcap" | tr -d ' \n' |
        sed "s/.*\(aa0000000001aa0000000000\)/\1/; $1")
    on 1 ovs-appctl netdev-dummy/receive wire0 "$frame"
}

arp_is_answered() {
    send 0 "in_port(1),eth(src=$gpu0,dst=ff:ff:ff:ff:ff:ff),"`
        `"eth_type(0x0806),arp(sip=10.11.0.10,tip=10.11.0.11,op=1,sha=$gpu0,"`
        `"tha=00:00:00:00:00:00)" &&
        holds "${dirs[0]}/vf0.pcap" 00020200000100010a0b000b0200000100000a0b000a
}

# What comes by tunnel counts as its sender's where it is got.
test_telemetry() {
    intent=$(with "s/\"${nodes[1]}\": {/& \"telemetry\": true,/")
    check 'counting by tenant is switched on' telemetry true
    check 'and applied' exits 0 bulkhead_on apply 1
    send 0 "$(ip4 0 17)udp(src=5000,dst=4791)"
    check 'what arrives is of its tenant' counted 'pretraining 1'
    send 0 "$(ip4 0 17)udp(src=5000,dst=4791)"
    send 0 "$(ip4 0 6)tcp(src=5003,dst=22),tcp_flags(syn)"
    check 'each time' counted 'pretraining 3'
}

# Whatever the switches have under way may come a little later.
soon() {
    local i
    for ((i = 0; i < 50; i++)); do
        ! "$@" || return 0
        sleep 0.2
    done
    return 1
}

# counted LINES: of tenants that have sent by vf0 of node 1, and how much.
counted() { soon same_counts "$1"; }

same_counts() { count && diff <(echo "$1") "$switch_dir/counted"; }

count() {
    on 1 "$BULKHEAD" metrics --once |
        python3 -c 'import re, sys
sums = {}
for port, tenant, n in re.findall(
        r"""sent_packets_total{port="(.*?)",tenant="(.*?)".*} (\d+)""",
        sys.stdin.read()):
    if port == "vf0":
        sums[tenant] = sums.get(tenant, 0) + int(n)
for tenant in sorted(sums):
    print(tenant, sums[tenant])' >"$switch_dir/counted"
}

# Of tenants, a third of whom has what the others and one outside send to.
test_payers() {
    local to_store=nw_dst=10.3.0.2 blue red
    intent=$here/tunnels.json
    nodes=(n1 n2)
    on 0 ovs-vsctl --timeout=10 add-port br0 vf1 \
        -- set interface vf1 type=dummy
    on 1 ovs-vsctl --timeout=10 add-port br0 ext0 \
        -- set interface ext0 type=dummy \
        -- set interface vf0 other_config:tenant-queue-rate=12000000 \
        other_config:tenant-queue-threshold=20000
    check 'the plan of another node is refused' \
        says "has the plan of node 'rack-gpu-1'" 3 bulkhead_on apply 0
    check 'another intent' eval 'clear_on 0 && clear_on 1 &&
        bulkhead_on apply 0 && bulkhead_on apply 1'
    check 'what was counted is gone' eval 'telemetry false && telemetry true'
    blue=$(syn --node n1 --from blue/a "tcp,$to_store,tp_dst=22")
    red=$(syn --node n1 --from red/b "tcp,$to_store,tp_dst=22")
    send 0 "$(syn --node n1 --from red/b "tcp,$to_store,tp_dst=4420")" vf1
    check 'what another pays for is of that one' counted 'store 1'
    send 1 "$(syn --node n2 --from external:outside \
        "tcp,nw_src=198.51.100.7,$to_store,tp_dst=443")" ext0
    check 'what comes from outside is of who gets it' counted 'store 2'
    check 'what the switch answers itself is of nobody' own_answer
    on 1 ovs-appctl time/stop
    check 'two send at once' send_burst "$blue" "$red"
    on 1 ovs-appctl time/warp-ns 100000 >/dev/null
    check 'the burst has its culprit and its victim' soon names_burst
}

# To one who asks by ARP for its gateway.
own_answer() {
    local mac=02:00:00:00:00:03
    send 1 "in_port(1),eth(src=$mac,dst=ff:ff:ff:ff:ff:ff),"`
        `"eth_type(0x0806),arp(sip=10.3.0.2,tip=10.3.0.1,op=1,sha=$mac,"`
        `"tha=00:00:00:00:00:00)" && counted $'(none) 1\nstore 2'
}

telemetry() {
    on 1 ovs-vsctl --timeout=10 set open . \
        other_config:tenant-queue-telemetry="$1"
}

# send_burst BLUE RED: 24 frames of 1000 bytes, and 8.
send_burst() {
    local i blue=() red=()
    for ((i = 0; i < 8; i++)); do
        red+=("$2" --len 1000)
        blue+=("$1" --len 1000 "$1" --len 1000 "$1" --len 1000)
    done
    on 0 ovs-appctl netdev-dummy/receive vf0 "${blue[@]}"
    on 0 ovs-appctl netdev-dummy/receive vf1 "${red[@]}"
    counted $'(none) 1\nblue 24\nred 8\nstore 2'
}

names_burst() {
    on 1 "$BULKHEAD" bursts -f csv --no-headings | cut -d, -f6,8,9 \
        >"$switch_dir/burst"
    diff - "$switch_dir/burst" <<'END'
blue,24000,culprit
red,8000,victim
END
}

main() {
    find_ovs
    find_bulkhead
    trap_cleanup switch_stop
    start_node 0
    start_node 1
    switch_dir=${dirs[0]}
    make_underlay
    test_port
    if [ $isolated = yes ]; then
        test_packets
        test_telemetry
        test_payers
    else
        echo "# no packets: network namespaces are not to be had"
    fi
}

main
[ "$failures" = 0 ]
