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
