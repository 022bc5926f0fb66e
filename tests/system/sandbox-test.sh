#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# "make sandbox" without a terminal: exits 0 when every packet went right,
# needs no root, and exits non-zero when one went wrong.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

scratch=

# report NAME STATUS: one line of the result; STATUS 0 is good.
report() {
    if [ "$2" = 0 ]; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        sed 's/^/# /' "$scratch/out"
        failures=$((failures + 1))
    fi
}

# has REGEX: a row of the latest table.
has() { grep -Eq "$1" "$scratch/out"; }

# How many bursts have that tenant as their culprit, and nobody else.
culprits() {
    grep -Ec '^20[^ ]+Z +pf0vf[01] +24\.0us +73\.2KiB +73\.2KiB '\
'+llm-training 100% +-.?$' "$scratch/out"
}

test_table() {
    local status=0
    "$here/sandbox" </dev/null >"$scratch/out" 2>&1 || status=$?
    report 'the sandbox exits 0' "$status"
    status=0
    has '^ +frontend0 +model0 +tcp 443 +reached +inference/serve' || status=1
    report 'it shows an allowed pair' "$status"
    status=0
    has '^ +batch/\* +target0 +tcp 4420 via-gateway .*dropped' || status=1
    report 'it shows a dropped cross-tenant pair' "$status"
    status=0
    awk '/ packets: / { n = $1; sum = $3 + $5 + $7; seen = $3 && $5 && $7 }
         END { exit !(seen && n == sum) }' "$scratch/out" || status=1
    report 'its sum says how many were reached, answered and dropped' \
        "$status"
    status=0
    has '^10 every 100 us +300 +300 +0 +0$' || status=1
    report 'it sends all-reduce evenly: nothing is marked or listed' "$status"
    status=0
    # Of 100 frames of 1500 bytes, 65 fit below the intent's mark of 96 KiB.
    has '^100 at once +300 +300 +105 +3$' || status=1
    report 'it sends all-reduce at once: marked, and listed' "$status"
    status=0
    [ "$(grep -Ec '^ +burst: age_ns:[0-9]+ length_ns:20000 rise_ns:0 '\
'max_depth:150000 byte_count:150000 max_gap_ns:0 tag:1147258246$' \
        "$scratch/out")" = 6 ] || status=1
    report 'ovs-ofctl and ovs-appctl list the bursts' "$status"
    status=0
    [ "$(culprits)" = 6 ] || status=1
    report 'bulkhead bursts names the tenant whose they were' "$status"
    status=0
    [ -z "$(find "$scratch/tmp" -mindepth 1 -print -quit)" ] || status=1
    report 'it leaves nothing behind' "$status"
    status=0
    has '^No terminal on standard input' || status=1
    report 'it says why there is no shell' "$status"
}

# As nobody, from a copy that nobody can read whatever the tree's rights.
test_without_root() {
    local status=0 copy=$scratch/copy
    if [ "$(id -u)" != 0 ]; then
        echo '# this run is without root itself'
        return
    fi
    mkdir -p "$copy/tests" "$copy/examples" "$scratch/nobody"
    cp -r "$here" "$copy/tests/"
    cp "$srcdir"/examples/*.json "$copy/examples/"
    cp "$BULKHEAD" "$copy/bulkhead"
    cp -rL "$OVS_PREFIX" "$copy/ovs"
    chmod -R a+rX "$scratch"
    chmod a+rwx "$scratch/nobody"
    env -i PATH="$PATH" TMPDIR="$scratch/nobody" HOME="$scratch/nobody" \
        BULKHEAD="$copy/bulkhead" OVS_PREFIX="$copy/ovs" srcdir="$copy" \
        ${ASAN_OPTIONS+"ASAN_OPTIONS=$ASAN_OPTIONS"} \
        setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$copy/tests/system/sandbox" </dev/null >"$scratch/out" 2>&1 ||
        status=$?
    report 'it needs no root' "$status"
}

# Where rules meet services that go round connection tracking.
test_corners() {
    local status=0
    "$here/sandbox" "$here/corners.json" </dev/null >"$scratch/out" 2>&1 ||
        status=$?
    report 'corners of the policy' "$status"
}

# A shell on a terminal, begun in another folder.
test_terminal() {
    local status=0
    # shellcheck disable=SC2016 # For the sandbox's shell.
    (cd / && printf '%s\n' 'echo "in $PWD"' 'bulkhead --version' burst \
        'bulkhead bursts --since=1h' exit |
        TERM=dumb script -qec "$here/sandbox" /dev/null) >"$scratch/out" 2>&1 ||
        status=$?
    has "^in $srcdir.?\$" && has '^bulkhead [0-9]' || status=1
    report 'on a terminal, a shell in the root of the tree' "$status"
    status=0
    [ "$(grep -Ec '^100 at once +300 +300 +105 +3.?$' "$scratch/out")" = 2 ] ||
        status=1
    report 'the command "burst" sends them again' "$status"
    status=0
    [ "$(culprits)" = 18 ] || status=1      # 6 before it, and 12 with it.
    report 'and bulkhead bursts names the tenant again' "$status"
}

# In the shell, bulkheadd keeps the bridge, and ends with it.
test_agent() {
    local status=0
    # shellcheck disable=SC2016 # For the sandbox's shell.
    printf '%s\n' \
        'bulkheadd $INTENT --node gpu-node-1 --bridge br-int --pidfile --detach' \
        'sleep 1; ovs-ofctl -O OpenFlow14 del-flows br-int table=20; sleep 1' \
        'bulkhead status --bridge br-int' 'echo "$(cat $OVS_RUNDIR/*d.pid)"' \
        exit | TERM=dumb script -qec "$here/sandbox" /dev/null \
        >"$scratch/out" 2>&1 || status=$?
    has '^gpu-node-1 on br-int: as intended' &&
        has '^kept by bulkheadd .*: as intended' || status=1
    has 'repaired: [1-9]' || status=1
    report 'bulkheadd repairs what is deleted' "$status"
    status=0
    ! pgrep -f "^bulkheadd $scratch" || status=1
    report 'and ends with the shell' "$status"
}

# A switch takes the packets that "trace" prints.
test_trace() {
    local status=0 packets
    packets='tcp,nw_dst=10.1.0.11,tcp_flags=+syn-ack icmp6,ipv6_dst=fd00:1::11
             udp,nw_dst=10.1.0.11,tp_dst=53 tcp6,ipv6_dst=fd00:1::11,tp_dst=1
             udp6,ipv6_dst=fd00:1::11,tp_dst=4791 icmp,nw_dst=10.1.0.11
             icmp6,icmp_type=135,nd_target=fd00:1::1 sctp,nw_dst=10.1.0.11
             sctp6,ipv6_dst=fd00:1::11,tp_dst=1 arp,arp_tpa=10.1.0.11
             ipv6,ipv6_dst=fd00:1::11,nw_proto=50 ip,nw_dst=10.1.0.11
             udp,nw_dst=10.1.0.11,nw_frag=first'

    # shellcheck disable=SC2016 # For the sandbox's shell.
    {
        echo "packets='$packets'"
        echo 'for p in $packets; do
            t=$(bulkhead trace $INTENT --from llm-training/gpu0 $p |
                sed -n "s/^packet *//p")
            ovs-appctl ofproto/trace br-int "in_port=pf0vf0,$t"
        done
        exit'
    } | TERM=dumb script -qec "$here/sandbox" /dev/null >"$scratch/out" 2>&1 ||
        status=$?
    [ "$(grep '^Flow: ' "$scratch/out" | grep -vc recirc)" = \
        "$(wc -w <<<"$packets")" ] || status=1
    report 'ofproto/trace takes each packet that trace prints' "$status"
}

# What the node does beyond forwarding.
test_services() {
    local status=0
    "$here/sandbox" "$here/services.json" </dev/null >"$scratch/out" 2>&1 ||
        status=$?
    report 'services of the node' "$status"
}

# One expectation turned round: the table must say so and fail.
test_wrong_packet() {
    local status=0
    sed 's/^\(frontend0 *| model0 *| tcp 443  *|\) reached .*/\1 dropped/' \
        "$here/ai-cluster.probes" >"$scratch/ai-cluster.probes"
    ! cmp -s "$here/ai-cluster.probes" "$scratch/ai-cluster.probes" ||
        die "the probe that this test turns round is gone"
    ! "$here/sandbox" "$srcdir/examples/ai-cluster.json" \
        "$scratch/ai-cluster.probes" </dev/null >"$scratch/out" 2>&1 ||
        status=1
    has '^! +frontend0 .*WRONG, expected: dropped' || status=1
    report 'it fails when a packet goes wrong' "$status"
}

main() {
    find_ovs
    find_bulkhead
    scratch=$(mktemp -d)
    # shellcheck disable=SC2064 # This directory, now.
    trap "rm -rf '$scratch'" EXIT
    mkdir "$scratch/tmp"
    export TMPDIR=$scratch/tmp
    test_table
    test_terminal
    test_agent
    test_trace
    test_without_root
    test_corners
    test_services
    test_wrong_packet
    [ "$failures" = 0 ]
}

main
