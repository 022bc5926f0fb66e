#!/bin/sh
# What a bridge of node host-1 needs before its flows: sh ovs-vsctl.sh BRIDGE
set -eu
ovs-vsctl --may-exist add-port "$1" bulkhead-tun0 -- set interface bulkhead-tun0 type=geneve 'options={key="flow", local_ip="192.0.2.1", remote_ip="flow", tos="inherit"}'
