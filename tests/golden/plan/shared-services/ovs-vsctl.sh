#!/bin/sh
# What a bridge of node hall-node-1 needs before its flows: sh ovs-vsctl.sh BRIDGE
set -eu
