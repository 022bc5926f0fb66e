#!/bin/sh
# DPDK of node host-1: sh dpdk.sh
# Exit status 3: it was refused, by whom and at whose wish is said; what came
# before stays, and the script can be run again.
set -eu
fail() {
    echo "dpdk.sh: $2; asked for at $1" >&2
    exit 3
}
try() {
    asked=$1
    shift
    "$@" || fail "$asked" "refused: $*"
}
# Arguments: BRIDGE, of the endpoints, and UPLINK=BRIDGE for each uplink whose
# port is on no bridge yet.
usage() {
    echo 'usage: sh dpdk.sh BRIDGE [UPLINK=BRIDGE]...' >&2
    exit 2
}
# cpu NUMBER PLACE: the node has it.
cpu() {
    dir=/sys/devices/system/cpu/cpu$1
    online=$(cat "$dir/online" 2>/dev/null || echo 1)
    { [ -d "$dir" ] && [ "$online" = 1 ]; } ||
        fail "$2" "the node has no CPU $1"
}
# numa NUMBER PLACE: the node has it.
numa() {
    [ "$1" = 0 ] || [ -d "/sys/devices/system/node/node$1" ] ||
        fail "$2" "the node has no NUMA node $1"
}
# near PLACE DEVICE CPU...: warns if all are of another NUMA node than it.
near() {
    place=$1 device=$2
    shift 2
    at=$(cat "/sys/bus/pci/devices/$device/numa_node" 2>/dev/null ||
             echo -1)
    [ "$at" != -1 ] || return 0
    for cpu; do
        [ ! -d "/sys/devices/system/cpu/cpu$cpu/node$at" ] || return 0
    done
    echo "dpdk.sh: warning: $device is of NUMA node $at, and CPU $* is not;" \
        "asked for at $place" >&2
}
# bridge NAME PLACE: it is there, and of the userspace datapath.
bridge() {
    type=$(ovs-vsctl --timeout=30 get Bridge "$1" datapath_type) ||
        fail "$2" "there is no bridge $1"
    [ "$type" = netdev ] ||
        fail "$2" "bridge $1 has datapath_type $type, not netdev"
}
# find_bridge UPLINK INTERFACE PLACE: the uplink's, as $bridge.
find_bridge() {
    bridge=$(ovs-vsctl --timeout=30 iface-to-br "$2" 2>/dev/null || :)
    for pair in $uplinks; do
        case $pair in
        "$1="*) bridge=${pair#*=} ;;
        esac
    done
    [ -n "$bridge" ] ||
        fail "$3" "port $2 is on no bridge; say on which: $1=BRIDGE"
    bridge "$bridge" "$3"
}
# port PLACE BRIDGE INTERFACE ARGUMENT...: there is one, with these.
port() {
    place=$1 to=$2 name=$3
    shift 3
    try "$place" ovs-vsctl --timeout=120 --may-exist add-port "$to" "$name" \
        -- set Interface "$name" "$@"
    error=$(ovs-vsctl --timeout=30 get Interface "$name" error) ||
        fail "$place" "there is no port $name"
    [ "$error" = '[]' ] || fail "$place" "port $name: $error"
}
# started: what the switch reads when DPDK starts in it.
started() {
    ovs-vsctl --timeout=30 --if-exists get Open_vSwitch . \
        other_config:dpdk-lcore-mask other_config:dpdk-socket-mem ||
        fail "$node" 'the database does not answer'
}
# running PLACE: ovs-vswitchd is there, and answers.
running() {
    ovs-appctl --timeout=10 version >/dev/null ||
        fail "$1" 'ovs-vswitchd does not run, or does not answer'
}
node='line 8, /fabric/nodes/host-1/dpdk'
set -f
[ $# -gt 0 ] || usage
integration=$1
shift
uplinks=$*
for pair in $uplinks; do
    case $pair in
    'rail0'=?*) ;;
    'rail1'=?*) ;;
    *) usage ;;
    esac
done
running "$node"
bridge "$integration" "$node"
cpu 0 'line 8, /fabric/nodes/host-1/dpdk'
cpu 66 'line 8, /fabric/nodes/host-1/dpdk'
cpu 2 'line 8, /fabric/nodes/host-1/dpdk'
cpu 3 'line 8, /fabric/nodes/host-1/dpdk'
cpu 4 'line 8, /fabric/nodes/host-1/dpdk'
numa 0 'line 8, /fabric/nodes/host-1/dpdk'
numa 2 'line 8, /fabric/nodes/host-1/dpdk'
near 'line 27, /fabric/nodes/host-1/uplinks/rail0/device' '0000:08:00.0' 3
near 'line 27, /fabric/nodes/host-1/uplinks/rail0/device' '0000:08:00.0' 4
near 'line 36, /fabric/nodes/host-1/uplinks/rail1/device' '10000:81:1f.7' 66 2
before=$(started)
running=$(ovs-vsctl --timeout=30 get Open_vSwitch . dpdk_initialized) ||
    fail "$node" 'the database does not answer'
try "$node" ovs-vsctl --timeout=120 \
    remove Open_vSwitch . other_config dpdk-lcore-mask dpdk-socket-mem \
    -- set Open_vSwitch . other_config:dpdk-init=try \
    other_config:pmd-cpu-mask=0x4000000000000001c \
    other_config:dpdk-lcore-mask=0x1 \
    'other_config:dpdk-socket-mem="2048,0,512"'
ovs-vsctl --timeout=10 wait-until Open_vSwitch . dpdk_initialized=true ||
    fail "$node" 'DPDK does not start, see the log of ovs-vswitchd'
[ "$running" = false ] || [ "$before" = "$(started)" ] ||
    echo 'dpdk.sh: restart ovs-vswitchd: it reads CPUs and memory of DPDK when' \
        'it starts, and they have changed' >&2
find_bridge 'rail0' 'p0' 'line 27, /fabric/nodes/host-1/uplinks/rail0/device'
port 'line 27, /fabric/nodes/host-1/uplinks/rail0/device' "$bridge" 'p0' type=dpdk \
    'options:dpdk-devargs="0000:08:00.0"' mtu_request=9000 options:n_rxq=3 \
    'other_config:pmd-rxq-affinity="0:3,1:4,2:3"' \
    -- remove Interface 'p0' options vhost-server-path
find_bridge 'rail1' 'p1' 'line 36, /fabric/nodes/host-1/uplinks/rail1/device'
port 'line 36, /fabric/nodes/host-1/uplinks/rail1/device' "$bridge" 'p1' type=dpdk \
    'options:dpdk-devargs="10000:81:1f.7"' mtu_request=1500 \
    -- remove Interface 'p1' options vhost-server-path n_rxq \
    -- remove Interface 'p1' other_config pmd-rxq-affinity
port 'line 71, /tenants/blue/endpoints/vf-3/port' "$integration" 'rep3' type=dpdk \
    'options:dpdk-devargs="0000:08:00.0,representor=[3]"' mtu_request=4000 \
    -- remove Interface 'rep3' options vhost-server-path n_rxq \
    -- remove Interface 'rep3' other_config pmd-rxq-affinity
port 'line 87, /bindings/blue~1vm-1/port' "$integration" 'vhost1' type=dpdkvhostuserclient \
    'options:vhost-server-path="/run/vms/blue/vm-1"' mtu_request=4000 \
    -- remove Interface 'vhost1' options dpdk-devargs n_rxq \
    -- remove Interface 'vhost1' other_config pmd-rxq-affinity
