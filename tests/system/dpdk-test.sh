#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# What dpdk.sh makes of an Open vSwitch on DPDK, which has no NIC here but
# virtual devices: DPDK starts, each port is there, and polled by whom the
# intent says; run again and after a change; and what it refuses.  It needs two
# CPUs, a network namespace and 1 GiB of memory.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# compile_to DIR [SED-SCRIPT]: dpdk.sh of the intent for this machine, changed.
compile_to() {
    sed "s,/FOLDER,$switch_dir,; ${2:-}; s/1000/$a/g; s/1001/$b/g" \
        "$here/dpdk.json" >"$switch_dir/dpdk.json"
    "$BULKHEAD" compile "$switch_dir/dpdk.json" --node=n1 \
        -o "$switch_dir/$1" >"$switch_dir/compiled" 2>&1 || {
        cat "$switch_dir/compiled"
        return 1
    }
}

dpdk() {
    local dir=$1
    shift
    sh "$switch_dir/$dir/dpdk.sh" "$@"
}

start_daemon() {
    switch_spawn "${unshare[@]}" --net ovs-vswitchd "unix:$switch_dir/db.sock"
    switch_await "$switch_dir/ovs-vswitchd.pid" unshare
}

# In a network namespace, for its bridges are interfaces there.  Nothing is
# said of DPDK but what a machine without a NIC and hugepages needs.
start_switch() {
    local eal='--no-pci --no-huge --no-telemetry --legacy-mem -m 1024'
    export RUNTIME_DIRECTORY=$switch_dir
    switch_start_database
    ovs-vsctl --no-wait set Open_vSwitch . other_config:per-port-memory=true \
        other_config:dpdk-extra="\"$eal\""
    start_daemon
    ovs-vsctl --timeout=30 \
        add-br br0 -- set Bridge br0 datapath_type=netdev \
        -- add-br phy0 -- set Bridge phy0 datapath_type=netdev \
        -- add-br phy1 -- set Bridge phy1 datapath_type=netdev \
        -- add-br other
}

# refused TEXT DIR ARGUMENT...: says so, with the place that asks for it, and
# ends with 3.
refused() {
    local text=$1
    shift
    says "$text" 3 dpdk "$@" &&
        grep -c 'asked for at line [0-9]*, /' "$switch_dir/said"
}

# In seconds, not minutes.
test_no_switch() {
    local began=$SECONDS
    check 'no switch runs: 3' refused \
        'ovs-vswitchd does not run, or does not answer' all br0
    check 'and at once' test $((SECONDS - began)) -lt 5
}

test_before() {
    compile_to no-cpu 's/1000/1023/'
    check 'a CPU that is not there: 3' refused \
        'the node has no CPU 1023; asked for at line 6, /fabric/nodes/n1/dpdk' \
        no-cpu br0
    compile_to no-numa 's/"pmd_cpus": \[1000/"memory": {"31":"1GiB"}, &/'
    check 'a NUMA node that is not there: 3' refused \
        'the node has no NUMA node 31' no-numa br0
    check 'a bridge that is not there: 3' refused 'there is no bridge br9' \
        all br9
    check 'a bridge of the kernel: 3' refused \
        'bridge other has datapath_type "", not netdev' all other
    check 'no bridge: 2' says 'usage: sh dpdk.sh BRIDGE' 2 dpdk all
    check 'an unknown uplink: 2' says 'usage: ' 2 dpdk all br0 rail2=phy0
    check 'then nothing was said of DPDK' \
        exits 1 grep dpdk-init <(ovs-vsctl get Open_vSwitch . other_config)
}

# numa_says NODE TEXT: of CPUs of that NUMA node and a device of node 0, as a
# sysfs of its own has them.
numa_says() {
    local sys=$switch_dir/sys cpu
    compile_to pci 's/vdev:net_null0/0000:08:00.0/'
    mkdir -p "$sys/bus/pci/devices/0000:08:00.0"
    for cpu in "$a" "$b"; do
        mkdir -p "$sys/devices/system/cpu/cpu$cpu/node$1"
    done
    echo 0 >"$sys/bus/pci/devices/0000:08:00.0/numa_node"
    # shellcheck disable=SC2016 # Of the inner shell.
    says "$2" 2 "${unshare[@]}" --mount sh -c '
        mount --bind "$1" /sys
        sed "s/^before=.*/usage/" "$2" >"$2.near"
        sh "$2.near" br0' sh "$sys" "$switch_dir/pci/dpdk.sh" || return 1
    rm -r "$sys"
}

warns_not() {
    numa_says 0 usage && exits 1 grep warning "$switch_dir/said"
}

# Memory of NUMA nodes takes hugepages, which "--no-huge" does without.
test_no_dpdk() {
    compile_to huge 's/"pmd_cpus": \[1000/"memory": {"0":"64MiB"}, &/'
    check 'DPDK does not start: 3' refused 'DPDK does not start' huge br0
    check 'and the switch goes on' ovs-vsctl --timeout=10 add-br more
    kill "${switch_pids[-1]}"
    wait "${switch_pids[-1]}" || :
    unset 'switch_pids[-1]'
    rm -f "$switch_dir/ovs-vswitchd.pid"
    test_no_switch
    ovs-vsctl --no-wait remove Open_vSwitch . other_config dpdk-init \
        dpdk-socket-mem
    start_daemon
}

makes() {
    dpdk all br0 rail0=phy0 rail1=phy1
}

# The lines of pmd-rxq-show that say who polls what.
polled() {
    ovs-appctl dpif-netdev/pmd-rxq-show |
        sed -n 's/^pmd.*core_id \([0-9]*\):/\1/p
                s/^  isolated : \(true\|false\)/\1/p
                s/^  port: *\([^ ]*\) *queue-id: *\([0-9]*\).*/\1 \2/p'
}

polls() {
    polled >"$switch_dir/polled"
    diff -u - "$switch_dir/polled"
}

interface() { ovs-vsctl get Interface "$@"; }

is_made() {
    [ "$(ovs-vsctl get Open_vSwitch . other_config:pmd-cpu-mask)" = \
        "\"$(python3 -c "print('%#x' % (1 << $a | 1 << $b))")\"" ] &&
        [ "$(ovs-vsctl iface-to-br p0; ovs-vsctl iface-to-br p1
             ovs-vsctl iface-to-br vhost0)" = $'phy0\nphy1\nbr0' ] &&
        [ "$(interface p1 type mtu options)" = \
            $'dpdk\n1600\n{dpdk-devargs="vdev:net_null1"}' ] &&
        [ "$(interface vhost0 type options)" = \
            $'dpdkvhostuserclient\n'"{vhost-server-path=\"$switch_dir/vms/blue/vm\"}" ]
}

# A virtual machine waits there: Open vSwitch comes.
is_connected() {
    mkdir -p "$switch_dir/vms/blue"
    python3 - "$switch_dir/vms/blue/vm" <<'END'
import socket
import sys
with socket.socket(socket.AF_UNIX) as server:
    server.bind(sys.argv[1])
    server.listen()
    server.settimeout(20)
    server.accept()
END
}

# All rows that the script writes.
rows() {
    ovs-vsctl get Open_vSwitch . other_config
    ovs-vsctl --columns=name,type,options,other_config,mtu_request,ofport \
        list Interface | sort
}

same_again() {
    rows >"$switch_dir/before"
    dpdk all br0 2>&1 && rows | diff -u "$switch_dir/before" -
}

test_ports() {
    check 'the bridge of an uplink is not said: 3' refused \
        'port p0 is on no bridge; say on which: rail0=BRIDGE' all br0
    check 'DPDK starts, and ports are made' makes
    check 'as the intent says' is_made
    check 'polled by whom it says, the rest by the other CPU' polls <<END
$a
false
p1 0
vhost0 0
$b
true
p0 0
p0 1
END
    check 'it comes to the socket' is_connected
    compile_to all
    check 'the intent can be applied' applies
    check 'run again, it is the same, and silent' \
        exits 1 grep . <(same_again 2>&1)
}

# What comes after the script.
applies() {
    ovs-vsctl set Bridge br0 fail-mode=secure \
        other_config:disable-in-band=true &&
        "$BULKHEAD" apply "$switch_dir/dpdk.json" --node=n1 --bridge=br0 &&
        "$BULKHEAD" status "$switch_dir/dpdk.json" --node=n1 --bridge=br0
}

# No CPUs and queues of its own any more, but a CPU and memory for DPDK.
test_change() {
    local change='s/\[1000, 1001\]/[1001], "lcores": [1000], MEMORY/
        s/MEMORY/"memory": { "0": "64MiB" }/
        s/, "queues": 2,$//; /^ *"pmd_cpus": \[1001\]$/d'
    check 'it compiles' compile_to less "$change"
    check 'what takes a restart is said' says 'restart ovs-vswitchd' 0 \
        dpdk less br0
    check 'but once' exits 1 grep . <(dpdk less br0 2>&1)
    check 'the rest is done' polls <<END
$b
false
p0 0
p1 0
vhost0 0
END
    check 'with nothing left of before' \
        test "$(interface p0 options other_config)" = \
        $'{dpdk-devargs="vdev:net_null0"}\n{}'
    check 'and what is for a restart' \
        test "$(ovs-vsctl get Open_vSwitch . other_config:dpdk-lcore-mask \
            other_config:dpdk-socket-mem)" = \
        "\"$(python3 -c "print('%#x' % (1 << $a))")\""$'\n"64"'
    compile_to again
    check 'and back' says 'restart ovs-vswitchd' 0 dpdk again br0
    check 'to what was' diff -u "$switch_dir/before" <(rows)
    compile_to bad 's/net_null1/net_nil1/'
    check 'no such device: 3' refused \
        '; asked for at line 18, /fabric/nodes/n1/uplinks/rail1/device' \
        bad br0
}

main() {
    find_bulkhead
    find_ovs
    mapfile -t cpus < <(python3 -c '
import os
print(*sorted(os.sched_getaffinity(0)), sep="\n")')
    if [ ${#cpus[@]} -lt 2 ]; then
        echo "dpdk-test.sh: one CPU: skipped"
        exit 77
    fi
    a=${cpus[-2]} b=${cpus[-1]}
    unshare=(unshare)
    [ "$(id -u)" = 0 ] || unshare=(unshare --user --map-root-user)
    if ! "${unshare[@]}" --net true 2>/dev/null; then
        echo "dpdk-test.sh: no namespaces: skipped"
        exit 77
    fi
    trap_cleanup switch_stop
    switch_prepare
    check 'Open vSwitch runs' start_switch
    check 'it compiles' compile_to all
    test_before
    check 'CPUs of another NUMA node: a warning' numa_says 1 \
        "dpdk.sh: warning: 0000:08:00.0 is of NUMA node 0, and CPU $b is not; asked for at line 13, /fabric/nodes/n1/uplinks/rail0/device"
    check 'of the same: none' warns_not
    test_no_dpdk
    test_ports
    test_change
    [ "$failures" = 0 ]
}

main
