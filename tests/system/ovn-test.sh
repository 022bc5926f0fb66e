#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# The target ovn, on a private OVN: its rows load and replace themselves, touch
# nobody else's, mean what the intent means by ovn-trace, and pass and drop
# packets on the ports of a chassis.
# Exit 77: skipped, with the reason.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
# SEED, OVN_INTENTS and OVN_PACKETS say what random packets are compared, and
# OVN_LEAST how many flows that must come to.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=ovn-lib.sh
. "$here/ovn-lib.sh"

intent=$here/ovn.json
ports=(a0 a2 a3 b0 c0 c1)

# compile DIR [INTENT]
compile() {
    "$BULKHEAD" compile "${2:-$intent}" --target=ovn -o "$switch_dir/$1"
}

load() { sh "$switch_dir/$1/ovn-nbctl.sh" --timeout=30; }

# What ovn-nb.json says, as one transaction.
transact() {
    ovsdb-client transact "$OVN_NB_DB" "$(cat "$switch_dir/$1/ovn-nb.json")" \
        >"$switch_dir/answer"
    cat "$switch_dir/answer"
    ! grep -q '"error":' "$switch_dir/answer"
}

# All rows of the database without their UUIDs, in order.
contents() {
    local table
    for table in Logical_Switch Logical_Switch_Port Logical_Router \
                 Logical_Router_Port Logical_Router_Static_Route Port_Group \
                 ACL QoS Copp Meter Meter_Band Address_Set \
                 DHCP_Options; do
        ovn-nbctl --timeout=10 -f csv --no-headings \
            --columns=external_ids list "$table"
    done | sort
}

same_bytes() {
    compile one && compile two &&
        diff -r "$switch_dir/one" "$switch_dir/two"
}

# replaces WAY: loading again leaves what is there as it is.
replaces() {
    local before
    before=$(contents)
    "$@" && diff <(echo "$before") <(contents)
}

# refuses WORDS WAY: with these words, and changes nothing.
refuses() {
    local before words=$1
    shift
    before=$(contents)
    says "$words" 1 "$@" && diff <(echo "$before") <(contents)
}

test_rows() {
    check 'the same intent gives the same bytes' same_bytes
    check 'ovn-nbctl.sh loads the rows' load one
    check 'and does again' replaces load one
    check 'what the database holds comes back' comes_back
    check 'ovn-nb.json gives the same rows' replaces transact one
}

test_others() {
    local theirs
    ovn-nbctl ls-add theirs -- lsp-add theirs theirs-port \
        -- pg-add their_group theirs-port \
        -- acl-add their_group from-lport 7 ip4 drop
    theirs=$(ovn-nbctl --bare --columns=_uuid find logical_switch \
        name=theirs)
    check 'rows of others stay' replaces load one
    ovn-nbctl lsp-add theirs t/e
    sed 's|name="a/e0"|name="t/e"|' "$switch_dir/one/ovn-nbctl.sh" \
        >"$switch_dir/taken.sh"
    check "ovn-nbctl.sh takes no one's port" refuses \
        "Logical_Switch_Port t/e is not Bulkhead's and has a name" \
        sh "$switch_dir/taken.sh" --timeout=30
    ovn-nbctl lsp-del t/e -- set logical_switch "$theirs" name=a/x
    check "ovn-nb.json takes no one's switch" refuses \
        '"error":"timed out"' transact one
    ovn-nbctl set logical_switch "$theirs" name=theirs
    ovn-nbctl ls-del theirs -- pg-del their_group
}

# guards WORDS COMMAND...: after the command of ovn-nbctl, ovn-nbctl.sh refuses
# with these words.
guards() {
    local words=$1
    shift
    ovn-nbctl --timeout=30 "$@" >"$switch_dir/answer"
    check "ovn-nbctl.sh refuses: $words" refuses_words "$words"
}

refuses_words() {
    local before
    before=$(ovsdb-client dump "$OVN_NB_DB" OVN_Northbound)
    says "$1" 1 load one &&
        grep -F 'nothing is changed' "$switch_dir/said" &&
        diff <(echo "$before") <(ovsdb-client dump "$OVN_NB_DB" OVN_Northbound)
}

# ours TABLE CONDITION: the UUID.
ours() { ovn-nbctl --bare --columns=_uuid find "$@"; }

# ovn-nbctl.sh looks at each column of the schema that refers from or to a row
# of a table that a plan has rows in.
looks_everywhere() {
    python3 - "$ovn_schemas/ovn-nb.ovsschema" \
        "$switch_dir/one/ovn-nbctl.sh" <<'PYTHON'
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    tables = json.load(file)["tables"]
with open(sys.argv[2], encoding="utf-8") as file:
    script = file.read()
ours = {table for table in re.findall(r"--columns=_uuid find (\w+)", script)}
wanted = set()
for table, content in tables.items():
    for name, column in content["columns"].items():
        key = isinstance(column["type"], dict) and column["type"]["key"]
        to = isinstance(key, dict) and key.get("refTable")
        if to and table in ours:
            wanted.add(f"holds {table} {name}")
        if to in ours:
            wanted.add(f"refers {table} {name}")
found = set(re.findall(r"^((?:holds|refers) \w+ \w+) ", script, re.M))
print(sorted(wanted ^ found))
sys.exit(wanted != found or len(wanted) < 30)
PYTHON
}

# What others have in rows of ours, or named as those.
test_guard() {
    local first family
    check 'ovn-nbctl.sh looks at all that refers' looks_everywhere
    # northd, for which it waits, writes to a port: no change of the script's.
    guards 'Logical_Switch c/x has in its ports' --wait=sb lsp-add c/x foreign
    ovn-nbctl lsp-del foreign
    guards 'Logical_Switch c/x has in its acls' \
        acl-add c/x to-lport 32000 1 allow
    ovn-nbctl acl-del c/x
    guards 'Logical_Switch c/x has in its load_balancer' \
        lb-add lb 192.0.2.1:80 10.1.0.10:80 -- ls-lb-add c/x lb
    ovn-nbctl lb-del lb
    guards 'Logical_Router a has in its nat' \
        lr-nat-add a dnat_and_snat 192.0.2.4 10.1.0.10
    ovn-nbctl lr-nat-del a
    guards 'Logical_Router a has in its static_routes' \
        lr-route-add a 198.51.100.0/24 10.1.0.10
    ovn-nbctl lr-route-del a 198.51.100.0/24
    guards 'Port_Group bulkhead has in its acls' \
        acl-add bulkhead from-lport 9 ip4 allow
    ovn-nbctl acl-del bulkhead from-lport 9 ip4
    guards 'Logical_Router_Port a/x/router has in its gateway_chassis' \
        lrp-set-gateway-chassis a/x/router n1
    ovn-nbctl lrp-del-gateway-chassis a/x/router n1
    guards 'Logical_Router_Static_Route 10.3.0.10/32 has in its bfd' \
        --id=@b create bfd logical_port=x dst_ip=192.0.2.1 status=admin_down \
        -- set logical_router_static_route \
           "$(ours logical_router_static_route ip_prefix=10.3.0.10/32)" bfd=@b
    ovn-nbctl --all destroy bfd
    guards "Port_Group ?[1m, which is not Bulkhead's, has in its ports" \
        create port_group name='"\u001b[1m"' \
        ports="$(ours logical_switch_port name=a/e0)"
    check 'and which port' grep -F 'Logical_Switch_Port "a/e0", which is' \
        "$switch_dir/said"
    ovn-nbctl destroy port_group "$(ours port_group 'name="\u001b[1m"')"
    guards "Logical_Switch theirs, which is not Bulkhead's, has in its copp" \
        ls-add theirs -- set logical_switch theirs \
        copp="$(ours copp external_ids:bulkhead=b17d)"
    ovn-nbctl clear logical_switch theirs copp
    for family in 4 6; do
        guards "port, which is not Bulkhead's, has in its dhcpv${family}_opt" \
            --may-exist lsp-add theirs port -- set logical_switch_port port \
            "dhcpv${family}_options=$(ours dhcp_options 'cidr="fd00:1::/64"')"
        ovn-nbctl clear logical_switch_port port "dhcpv${family}_options"
    done
    guards "NAT 192.0.2.4, which is not Bulkhead's, has in its gateway_port" \
        lr-add their_router \
        -- --id=@nat create nat type=snat external_ip=192.0.2.4 \
           logical_ip=192.0.2.0/24 \
           gateway_port="$(ours logical_router_port name=a/x/router)" \
        -- add logical_router their_router nat @nat
    ovn-nbctl lr-del their_router -- ls-del theirs
    guards "Address_Set bulkhead.tenant.a_ip4 is not Bulkhead's" \
        create address_set name=bulkhead.tenant.a_ip4
    ovn-nbctl destroy address_set bulkhead.tenant.a_ip4
    # Two of one name: only one is ours.
    guards "Logical_Switch c/x is not Bulkhead's" \
        create logical_switch name=c/x external_ids:bulkhead=theirs
    first=$(ovn-nbctl --bare --columns=_uuid find logical_switch name=c/x \
        external_ids:bulkhead=theirs)
    ovn-nbctl ls-del "$first"
    check 'and then it loads' replaces load one
}

# large: the intent with so many endpoints that no command holds their rows.
large() {
    python3 - "$intent" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    intent = json.load(file)
for i in range(5000):
    intent["tenants"]["c"]["endpoints"][f"l{i}"] = {
        "network": "x", "node": "n2", "interface": f"l{i}",
        "mac": f"02:00:01:00:{i // 256:02x}:{i % 256:02x}",
        "addresses": [f"10.1.{16 + i // 256}.{i % 256}"]}
json.dump(intent, sys.stdout)
PYTHON
}

compiles_silently() {
    compile one >"$switch_dir/compiled" 2>&1 || return 1
    cat "$switch_dir/compiled"
    ! grep -F 'does nothing' "$switch_dir/compiled"
}

test_large() {
    large >"$switch_dir/large.json"
    check 'compile says that the script does nothing' \
        says "ovn-nbctl.sh does nothing; use 'bulkhead apply" 0 \
        compile large "$switch_dir/large.json"
    check 'and so does the script' \
        says 'use "bulkhead apply --target=ovn"' 1 load large
    check 'but not of what a command holds' compiles_silently
}

test_words() {
    check 'what OVN cannot keep is refused at its place' \
        says 'error: OVN counts bytes' 1 \
        compile refused "$srcdir/tests/golden/cli/ovn/refused.json"
    check 'and nothing is written' [ ! -e "$switch_dir/refused" ]
}

# comes_back: the database, imported and compiled again, has the same rows.
comes_back() {
    ovsdb-client -f json dump "$OVN_NB_DB" OVN_Northbound \
        >"$switch_dir/nb.json" &&
        "$BULKHEAD" import ovn "$switch_dir/nb.json" "$intent" \
            >"$switch_dir/imported.json" &&
        compile imported "$switch_dir/imported.json" &&
        replaces transact imported
}

# The examples that OVN can keep.
test_meaning() {
    local path examples=()
    for path in "$srcdir"/examples/*.json "$srcdir/examples/shared-cluster"; do
        ! compile example "$path" >"$switch_dir/out" 2>&1 ||
            examples+=("$path")
    done
    check "OVN keeps four examples" [ "${#examples[@]}" = 4 ]
    check 'ovn-trace agrees with bulkhead trace' \
        run_interruptible python3 "$here/ovn.py" "${SEED:-1}" \
        "${OVN_INTENTS:-8}" "${OVN_PACKETS:-105}" "${OVN_LEAST:-1000}" \
        "${examples[@]}" "$here/ovn-subnets.json"
    sed -n 's/^# \([0-9]* flows,.*\)/# \1/p' "$switch_dir/out"
}

# The chassis n1, with a port for each endpoint there.
start_chassis() {
    local name arguments=()
    compile one
    load one
    ovn_chassis n1
    for name in "${ports[@]}"; do
        arguments+=(-- add-port br-int "$name"
                    -- set interface "$name" type=dummy
                       options:tx_pcap="$switch_dir/$name.pcap"
                       external_ids:iface-id="$(endpoint "$name")")
    done
    ovs-vsctl --retry --timeout=10 "${arguments[@]:1}"
    ovn-nbctl --timeout=30 --wait=hv sync
    ovn-nbctl --timeout=30 wait-until logical_switch_port c/e1 up=true
    ovn-nbctl --timeout=30 --wait=hv sync
}

# endpoint INTERFACE: a0 is a/e0, b0 is b-c/e0.
endpoint() {
    case $1 in
    b*) echo "b-c/e${1#?}" ;;
    *) echo "${1%?}/e${1#?}" ;;
    esac
}

counts() {
    local name
    for name in "${ports[@]}"; do
        echo "$name $(ovs-ofctl dump-ports br-int "$name" |
            sed -n 's/.*tx pkts=\([0-9]*\),.*/\1/p')"
    done
}

# reaches PORT|nobody FROM PACKET: of one packet, PORT gets one and all others
# none.
reaches() {
    local to=$1 wanted tries
    wanted=$(counts | awk -v to="$to" '$1 == to { $2++ } 1')
    ovs-appctl netdev-dummy/receive "$2" "in_port(1),$3"
    for ((tries = 0; tries < 100; tries++)); do
        sleep 0.1
        is_alive || return
        [ "$(counts)" != "$wanted" ] || [ "$to$tries" = nobody0 ] || return 0
    done
    diff <(echo "$wanted") <(counts)
}

# eth SRC DST, ip SRC DST PROTO, l4 PROTO SRC DST
eth() { echo "eth(src=$1,dst=$2),eth_type(0x0800)"; }
ip() { echo "ipv4(src=$1,dst=$2,proto=$3,tos=0,ttl=64,frag=no)"; }
l4() { echo "$1(src=$2,dst=$3)"; }

# frame SRC-MAC DST-MAC SRC-IP DST-IP tcp|udp SPORT DPORT [FLAGS]
frame() {
    local proto=6
    [ "$5" = tcp ] || proto=17
    echo "$(eth "$1" "$2"),$(ip "$3" "$4" $proto),$(l4 "$5" "$6" "$7")${8:-}"
}

syn=',tcp_flags(syn)'
synack=',tcp_flags(syn|ack)'
mac=02:00:00:00:00:0
gateway=0a:b1:7d:00:00:0

# One meter a tenant and direction, however many networks it has: a sends by
# two.
one_meter_each() {
    ovs-ofctl -O OpenFlow15 dump-meters br-int
    [ "$(ovs-ofctl -O OpenFlow15 dump-meters br-int |
        grep -c 'rate=1000000 ')" = 2 ]
}

test_packets() {
    local e0=10.1.0.10 e2=10.12.0.12 e3=10.1.0.13 b0=10.3.0.10
    check 'one meter for both networks' one_meter_each
    check 'a rule allows' reaches a3 a0 \
        "$(frame ${mac}1 ${mac}4 $e0 $e3 tcp 1000 80 $syn)"
    check 'the answer passes' reaches a0 a3 \
        "$(frame ${mac}4 ${mac}1 $e3 $e0 tcp 80 1000 $synack)"
    check 'an answer to nobody does not' reaches nobody a3 \
        "$(frame ${mac}4 ${mac}1 $e3 $e0 tcp 80 1001 $synack)"
    check 'no rule, no packet' reaches nobody a0 \
        "$(frame ${mac}1 ${mac}4 $e0 $e3 tcp 1000 81 $syn)"
    check 'by the gateway, to a subnet without one' reaches a2 a0 \
        "$(frame ${mac}1 ${gateway}1 $e0 $e2 tcp 1000 80 $syn)"
    check 'a peering' reaches b0 a0 \
        "$(frame ${mac}1 ${gateway}1 $e0 $b0 tcp 1000 22 $syn)"
    check 'and its answer' reaches a0 b0 \
        "$(frame ${mac}1 ${gateway}3 $b0 $e0 tcp 22 1000 $synack)"
    check 'not the other way round' reaches nobody b0 \
        "$(frame ${mac}1 ${gateway}3 $b0 $e0 tcp 1000 22 $syn)"
    check 'RoCEv2, stateless' reaches a3 a0 \
        "$(frame ${mac}1 ${mac}4 $e0 $e3 udp 1000 4791)"
    check 'and back' reaches a0 a3 \
        "$(frame ${mac}4 ${mac}1 $e3 $e0 udp 2000 4791)"
    check 'the address of another' reaches nobody a0 \
        "$(frame ${mac}1 ${mac}4 10.1.0.11 $e3 tcp 1000 80 $syn)"
    check 'the MAC of another' reaches nobody a0 \
        "$(frame ${mac}2 ${mac}4 $e0 $e3 tcp 1000 80 $syn)"
    check 'a tenant of the same addresses' reaches c1 c0 \
        "$(frame ${mac}5 ${mac}6 $e0 10.1.0.11 tcp 1000 80 $syn)"
    check 'deny beats default allow' reaches nobody c0 \
        "$(frame ${mac}5 ${mac}6 $e0 10.1.0.11 tcp 1000 22 $syn)"
    check 'a guardrail too' reaches nobody c0 \
        "$(frame ${mac}5 ${mac}6 $e0 10.1.0.11 tcp 1000 4420 $syn)"
    check 'OVN answers ARP' reaches a0 a0 "$(arp 1 1 $e0 10.1.0.13)"
    check 'forged ARP goes nowhere' reaches nobody a0 "$(arp 2 1 $e3 $e0)"
}

test_dhcp() {
    check "OVN's DHCP server gives whom it asks its own address" \
        run_interruptible python3 "$here/ovn_dhcp.py"
    grep '^# ' "$switch_dir/out" | tail -n 1
    check 'and what it does not answer is in the log' logged unreachable
}

# n_logged NAME: of packets that an ACL of this name has dropped.
n_logged() {
    grep -c "acl_log.*name=\"$1\", verdict=drop" \
        "$switch_dir/ovn-controller.log" || true
}

logged() {
    local tries
    for ((tries = 0; tries < 50; tries++)); do
        [ "$(n_logged "$1")" = 0 ] || return 0
        sleep 0.1
    done
    return 1
}

# flood PORT PACKET [OPTION...]: of 100, which is all that a dummy port takes
# at once.
flood() {
    local i port=$1 packet=$2 packets=()
    shift 2
    for ((i = 0; i < 100; i++)); do packets+=("in_port(1),$packet" "$@"); done
    ovs-appctl netdev-dummy/receive "$port" "${packets[@]}"
}

n_sent() { counts | awk -v port="$1" '$1 == port { print $2 }'; }

# settled COUNT: what COUNT says once it says the same for a second.
settled() {
    local n=none
    until [ "$n" = "$($1)" ]; do
        n=$($1)
        sleep 1
    done
    echo "$n"
}

# limits RATE BURST COUNT COMMAND...: of 100 packets, 'COUNT' counts the burst,
# or a part of it that came at once, and what the rate lets through meanwhile.
limits() {
    local rate=$1 burst=$2 count=$3 before n start=$SECONDS
    before=$($count)
    shift 3
    "$@"
    n=$(($(settled "$count") - before))
    echo "$n of 100"
    [ "$n" -ge $((burst / 2)) ] &&
        [ "$n" -le $((burst + rate * (SECONDS - start + 1))) ]
}

count_ssh() { n_logged c/no-ssh; }
count_a0() { n_sent a0; }
count_a() {
    grep -c 'acl_log.*name="default".*nw_src=10\.1\.0\.10,' \
        "$switch_dir/ovn-controller.log" || true
}

# While another tenant's packets are dropped, each of 10 of a's is told.
tells_all() {
    local before n
    before=$(count_a)
    flood b0 "$1"
    ovs-appctl netdev-dummy/receive a0 "${packets[@]}"
    n=$(($(settled count_a) - before))
    echo "$n of 10"
    [ "$n" = 10 ]
}

# What ovn-controller takes of packets.
test_control() {
    local ttl ssh port packets=()
    ssh=$(frame ${mac}5 ${mac}6 10.1.0.10 10.1.0.11 tcp 1000 22 $syn)
    ttl=$(frame ${mac}1 ${gateway}1 10.1.0.10 10.12.0.12 tcp 2000 80 $syn)
    for port in {1001..1010}; do
        packets+=("in_port(1),$(frame ${mac}1 ${mac}4 10.1.0.10 10.1.0.13 \
            tcp "$port" 81 $syn)")
    done
    check 'what a rule denies is in the log' logged c/no-ssh
    check 'what a guardrail denies too' logged guardrail:g
    check 'and what no rule speaks of' logged default
    sleep 2
    check 'of a flood some is' limits 10 20 count_ssh flood c0 "$ssh"
    check "which hides nothing of another tenant's" tells_all \
        "$(frame ${mac}1 ${gateway}3 10.3.0.10 10.1.0.10 tcp 22 1000 $syn)"
    check 'a limit of upcalls is one of what OVN answers' \
        limits 10 32 count_a0 flood a0 "${ttl/ttl=64/ttl=1}"
}

count_a3() { n_sent a3; }

# The limit of a is 1Gbps with a burst of 64KiB, of which no stock meter is
# filled again.  In the same instant less than all of 200 packets pass; a
# hundred pass in each of the next two hundredths of a second.  The clock of the
# switch stands still from here on.
refills() {
    local i first n packet
    packet=$(frame ${mac}1 ${mac}4 10.1.0.10 10.1.0.13 udp 1000 4791)
    n=$(settled count_a3)
    ovs-appctl time/stop
    flood a0 "$packet" --len 1250
    flood a0 "$packet" --len 1250
    first=$(($(settled count_a3) - n))
    echo "$first of 200 at once"
    [ "$first" -ge 50 ] && [ "$first" -lt 200 ] || return 1
    for i in 1 2; do
        ovs-appctl time/warp 10
        n=$(settled count_a3)
        flood a0 "$packet" --len 1250
        n=$(($(settled count_a3) - n))
        echo "$n of 100 after $((10 * i)) ms"
        [ "$n" = 100 ] || return 1
    done
}

# arp OPERATION MAC-DIGIT SPA TPA
arp() {
    echo "eth(src=${mac}$2,dst=ff:ff:ff:ff:ff:ff),eth_type(0x0806),$(
        )arp(sip=$3,tip=$4,op=$1,sha=${mac}$2,tha=00:00:00:00:00:00)"
}

test_meters() { check "a stock switch's meters are filled again" refills; }

is_alive() { kill -0 "$(cat "$switch_dir/ovs-vswitchd.pid")" 2>/dev/null; }

# What Open vSwitch 3.1.0 has said once, on a machine with much else to do: it
# took a connection for one without NAT that is of its NAT.
known_abort='conn_type == CT_CONN_TYPE_DEFAULT failed in conn_update_state'

# Without a switch each check would wait for its time, and say nothing of why.
# After the abort that is known all is tried once more; after any other, not.
check_alive() {
    local log=$switch_dir/ovs-vswitchd.log
    is_alive && return
    if [ -z "${TRIED:-}" ] && grep -q "$known_abort" "$log"; then
        echo "# once more: ovs-vswitchd has aborted, $(tail -n 1 "$log")"
        switch_stop
        TRIED=1 exec bash "$here/ovn-test.sh"
    fi
    die "ovs-vswitchd has ended: $(tail -n 20 "$log" \
        "$switch_dir/ovs-vswitchd.out")"
}

main() {
    local part
    # The switch of a chassis is Debian's: nothing of ours need be there.
    OVS_PREFIX=/usr
    find_ovs
    find_bulkhead
    have_ovn || {
        echo "ovn-test.sh: skipped: needs ovn-central and ovn-host:" \
             "./bootstrap --developer"
        exit 77
    }
    trap_cleanup switch_stop
    switch_prepare
    ovn_start
    test_rows
    test_others
    test_guard
    test_large
    test_words
    test_meaning
    switch_start --enable-dummy --disable-system
    start_chassis
    for part in test_packets test_dhcp test_control test_meters; do
        "$part"
        check_alive
    done
    [ "$failures" = 0 ]
}

main
