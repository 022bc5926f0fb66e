#!/bin/sh
# Ports and settings of a bridge of node n1: sh ovs-vsctl.sh
# Exit status 3: it was refused, by whom and at whose wish is said; what came
# before stays, and the script can be run again.
set -eu
fail() {
    echo "ovs-vsctl.sh: $2; asked for at $1" >&2
    exit 3
}
try() {
    asked=$1
    shift
    "$@" || fail "$asked" "refused: $*"
}
[ $# = 1 ] || {
    echo 'usage: sh ovs-vsctl.sh BRIDGE' >&2
    exit 2
}
export OVS_CTL_TIMEOUT=30
node='node n1'
# running PLACE: ovs-vswitchd is there, and answers.
running() {
    ovs-appctl --timeout=10 version >/dev/null ||
        fail "$1" 'ovs-vswitchd does not run, or does not answer'
}
running "$node"
try "$node" ovs-vsctl --may-exist add-port "$1" bulkhead-tun0 -- set interface bulkhead-tun0 type=geneve 'options={key="flow", local_ip="192.0.2.1", remote_ip="flow", tos="inherit"}'
try "$node" ovs-vsctl set Open_vSwitch . other_config:tenant-queue-telemetry=true
