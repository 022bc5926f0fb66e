#!/bin/sh
# What a bridge of node n2 needs before its flows: sh ovs-vsctl.sh BRIDGE
set -eu
