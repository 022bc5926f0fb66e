#!/bin/sh
# What a bridge of node n1 needs before its flows: sh ovs-vsctl.sh BRIDGE
set -eu
