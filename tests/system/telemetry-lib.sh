# shellcheck shell=bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Two tenants that send to one port of a dummy switch whose telemetry is on;
# sourced after lib.sh, never run.

# shellcheck disable=SC2154 # lib.sh sets it.
intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1
port=pf0vf6                     # That of storage/target0.

# offer TENANT N: N frames of 1500 bytes in no time.
offer() {
    local i frames=() sender=storage/meta0 interface=pf0vf7 frame
    [ "$1" = storage ] || { sender=llm-training/gpu0; interface=pf0vf0; }
    frame=$(syn --from "$sender" 'tcp,nw_dst=10.4.0.10,tp_dst=4420')
    for ((i = 0; i < $2; i++)); do frames+=("$frame" --len 1500); done
    ovs-appctl netdev-dummy/receive "$interface" "${frames[@]}"
}

# send TENANT N: the same, until all are sent.
send() {
    local i before
    before=$(n_sent "$port")
    offer "$@"
    for ((i = 0; i < 100; i++)); do
        [ "$(n_sent "$port")" != $((before + $2)) ] || return 0
        sleep 0.1
    done
    return 1
}

set_telemetry() {
    ovs-vsctl set Open_vSwitch . other_config:tenant-queue-telemetry="$1"
}

# The port's rate is 1500 bytes a us.  Storage, whose meter only drops, has a
# tag by the node's telemetry.
make_telemetry_bridge() {
    intent=$(with "s/\"gpu-node-1\": {/& \"telemetry\": true,/")
    make_dummy_bridge br0 "$intent" "$node"
    ovs-vsctl set Interface "$port" \
        other_config:tenant-queue-rate=12000000 \
        other_config:tenant-queue-threshold=20000
}
