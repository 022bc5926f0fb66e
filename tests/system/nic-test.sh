#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# The scripts that "compile --target=asap2" writes for the node's settings:
# what devlink.sh makes of a NIC (nic.py stands in for it), run once, again and
# after a change; what it does when something is missing or refused; what dcb.sh
# says; what vf.sh makes of VFs in legacy mode; and ovs-vsctl.sh in a real
# database.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

pf0=pci/0000:03:00.0
pf1=pci/0000:03:00.1

# reset_nic [MODE]: a NIC of two ports and six VFs, with a rate of somebody's.
reset_nic() {
    cat >"$NIC_STATE" <<END
{ "mode": "${1:-switchdev}", "dcb": {}, "bonds": {},
  "vfs": { "p0": [
     { "mac": "00:00:00:00:00:00", "spoofchk": "off", "state": "auto",
       "trust": "on" },
     { "mac": "02:00:00:00:00:02", "spoofchk": "on", "state": "disable",
       "trust": "off", "vlan": "7", "qos": "3", "max_tx_rate": "9" },
     { "mac": "02:00:00:00:00:33", "spoofchk": "on" },
     { "mac": "02:00:00:00:00:44", "spoofchk": "off" } ] },
  "ports": { "p0": "$pf0/65535", "p1": "$pf1/131071",
             "rep0": "$pf0/1", "rep1": "$pf0/2", "rep2": "$pf0/3",
             "rep3": "$pf0/4", "rep4": "$pf0/5", "rep5": "$pf1/65537" },
  "rates": { "$pf0/1": {}, "$pf0/2": {}, "$pf0/3": {}, "$pf0/4": {},
             "$pf0/5": {}, "$pf1/65537": {}, "$pf0/other": { "tx_max": 7 } } }
END
    : >"$NIC_STATE.log"
}

# Puts nic.py in the place of devlink and dcb.
install_nic() {
    local name

    export NIC_STATE=$switch_dir/nic
    mkdir "$switch_dir/bin"
    for name in devlink dcb ip; do
        printf '#!/bin/sh\nexec python3 "%s" %s "$@"\n' "$here/nic.py" "$name" \
            >"$switch_dir/bin/$name"
        chmod +x "$switch_dir/bin/$name"
    done
    PATH=$switch_dir/bin:$PATH
}

# compile_to DIR [SED-SCRIPT]: the scripts of the intent, changed.
compile_to() {
    sed "${2:-}" "$here/nic.json" >"$switch_dir/nic.json"
    "$BULKHEAD" compile "$switch_dir/nic.json" --node=n1 --target=asap2 \
        -o "$switch_dir/$1" >"$switch_dir/compiled" 2>&1 || {
        cat "$switch_dir/compiled"
        return 1
    }
}

# rates_are LINE...: all rates of the NIC, but for somebody else's.
rates_are() {
    devlink port function rate show | grep -v /other: >"$switch_dir/rates"
    diff -u <(printf '%s\n' "$@" | sort) <(sort "$switch_dir/rates") &&
        devlink port function rate show $pf0/other |
            grep -c '^pci/0000:03:00.0/other: type node tx_max 7Mbit$'
}

fixed=("$pf0/bulkhead:up0:fixed: type node tx_share 11Mbit tx_max 11Mbit"
       "$pf0/4: type leaf parent bulkhead:up0:fixed"
       "$pf1/bulkhead:up1:fixed: type node tx_share 11Mbit tx_max 11Mbit"
       "$pf1/65537: type leaf parent bulkhead:up1:fixed")
shared=("$pf0/bulkhead:up0:123: type node tx_share 30000Mbit tx_max 40000Mbit"
        "$pf0/1: type leaf tx_share 5000Mbit tx_max 30000Mbit parent bulkhead:up0:123"
        "$pf0/2: type leaf tx_share 4000Mbit tx_max 4000Mbit parent bulkhead:up0:123")

set_once() {
    sh "$switch_dir/all/devlink.sh" &&
        rates_are "${fixed[@]}" "${shared[@]}" \
            "$pf0/3: type leaf parent bulkhead:up0:123" \
            "$pf0/bulkhead:up0:free: type node" \
            "$pf0/5: type leaf parent bulkhead:up0:free"
}

# compile_less DIR PYTHON: without some of the tenants, or of what is theirs.
compile_less() {
    python3 - "$here/nic.json" "$switch_dir/less.json" "$2" <<'END' &&
import json
import sys
with open(sys.argv[1]) as f:
    intent = json.load(f)
exec(sys.argv[3], {"tenants": intent["tenants"],
                   "uplinks": intent["fabric"]["nodes"]["n1"]["uplinks"]})
with open(sys.argv[2], "w") as f:
    json.dump(intent, f)
END
        "$BULKHEAD" compile "$switch_dir/less.json" --node=n1 --target=asap2 \
            -o "$switch_dir/$1" 2>&1
}

# "free" leaves, and "rest" loses its VF to nobody.
set_less() {
    compile_less less \
        'del tenants["free"], tenants["123"]["endpoints"]["rest"]' &&
        sh "$switch_dir/less/devlink.sh" &&
        rates_are "${fixed[@]}" "${shared[@]}" "$pf0/3: type leaf" \
            "$pf0/5: type leaf"
}

test_devlink() {
    reset_nic
    check 'groups of tenants, and the VFs in them' set_once
    check 'run again, it is the same' set_once
    check 'who has left loses its rate and its group' set_less
    check 'and comes back' set_once
}

# bond_nic: a NIC with a bond of both ports.
bond_nic() {
    reset_nic
    sed -i "s/\"bonds\": {/&\"bond0\": [\"p0\", \"p1\"], \"bond1\": []/
        s,\"ports\": {,&\"rep6\": \"$pf1/65538\"\,,
        s,\"rates\": {,&\"$pf1/65538\": {}\,," "$NIC_STATE"
}

# Of one tenant all VFs are of the second port, of one those of both.
bonded='del uplinks["up1"], tenants["fixed"]["networks"]["side"]
del tenants["fixed"]["endpoints"]["side0"]
uplinks["up0"]["interface"] = "bond0"
there = tenants["free"]["endpoints"]["x"]
tenants["fixed"]["endpoints"]["x"]["interface"] = "rep5"
there["interface"], here = "rep6", dict(there, interface="rep3")
tenants["free"]["endpoints"]["y"] = dict(
    here, mac="02:00:00:00:00:15", addresses=["10.4.0.2"])
tenants["free"]["endpoints"]["z"] = dict(
    there, interface="rep4", mac="02:00:00:00:00:16", addresses=["10.4.0.3"])'

set_bond() {
    sh "$switch_dir/bond/devlink.sh" &&
        rates_are "${shared[@]}" "$pf0/3: type leaf parent bulkhead:up0:123" \
            "$pf1/bulkhead:up0:fixed: type node tx_share 11Mbit tx_max 11Mbit" \
            "$pf1/65537: type leaf parent bulkhead:up0:fixed" \
            "$pf0/bulkhead:up0:free: type node" \
            "$pf0/4: type leaf parent bulkhead:up0:free" \
            "$pf0/5: type leaf parent bulkhead:up0:free" \
            "$pf1/bulkhead:up0:free: type node" \
            "$pf1/65538: type leaf parent bulkhead:up0:free"
}

bond_refused() {
    says "$1" 3 sh "$switch_dir/bond/${2:-devlink.sh}"
}

test_bond() {
    compile_less bond "$bonded" >/dev/null
    bond_nic
    check 'VFs of a bond have the rates of their device' set_bond
    check 'run again, it is the same' set_bond
    check 'each port of a bond has priorities' sh "$switch_dir/bond/dcb.sh"
    check 'the same' ports_are_alike
    check 'and what refuses is undone, of both' bond_dcb_refused
    compile_less bond "$bonded
tenants['123']['endpoints']['rest']['interface'] = 'rep5'
tenants['fixed']['endpoints']['x']['interface'] = 'rep2'" >/dev/null
    check 'a tenant that is owed a rate has VFs of both: 3' bond_refused \
        "rep5 is of $pf1, and its tenant has VFs of $pf0: neither keeps its tenant's rate alone; asked for at line 1, /tenants/123/endpoints/rest"
    sed -i "s,$pf1/65537\",pci/0000:05:00.0/1\"," "$NIC_STATE"
    check 'a VF of neither: 3' bond_refused \
        "rep5 is of pci/0000:05:00.0, and its uplink of $pf0 $pf1; asked for"
    compile_less bond "$bonded
uplinks['up0']['interface'] = 'bond1'" >/dev/null
    for script in devlink.sh dcb.sh; do
        check "$script: nobody is in the bond: 3" bond_refused \
            'bond1 is a bond without members; asked for at line 1, /fabric' \
            $script
    done
}

ports_are_alike() {
    grep -c '^dcb app replace dev p0' "$NIC_STATE.log" &&
        diff -u <(grep '^dcb .* dev p0 ' "$NIC_STATE.log") \
            <(sed -n 's/^\(dcb .* dev \)p1 /\1p0 /p' "$NIC_STATE.log")
}

bond_dcb_refused() {
    bond_nic
    NIC_REFUSES='^pfc set .*p1.* 3:on' bond_refused 'dcb pfc set dev p1' dcb.sh &&
        dcb_is_as_before
}

# refused TEXT [SCRIPT]: says so, with the place that asks for it, and ends
# with 3.
refused() {
    says "$1" 3 sh "$switch_dir/all/${2:-devlink.sh}" &&
        grep -c 'asked for at line [0-9]*, /' "$switch_dir/said"
}

test_refusals() {
    reset_nic legacy
    check 'not in switchdev mode: 3' \
        refused "devlink.sh: $pf0 is not in switchdev mode; asked for at line 8, /fabric/nodes/n1/uplinks/up0/interface"
    check 'then no rate is touched' rates_are "$pf0/1: type leaf" \
        "$pf0/2: type leaf" "$pf0/3: type leaf" "$pf0/4: type leaf" \
        "$pf0/5: type leaf" "$pf1/65537: type leaf"
    reset_nic
    sed -i 's/"rep4": [^,]*,//' "$NIC_STATE"
    check 'a representor is missing: 3' \
        refused 'rep4 has no devlink port; asked for at line 142, /tenants/free/endpoints/x'
    reset_nic
    sed -i "s,\"rep3\": \"$pf0/4\",\"rep3\": \"$pf1/4\"," "$NIC_STATE"
    check 'a VF of another device: 3' \
        refused "rep3 is of $pf1, and its uplink of $pf0; asked for at line 127, /tenants/fixed/endpoints/x"
    reset_nic
    NIC_REFUSES='set .*tx_max 30000mbit' check 'devlink refuses: 3' \
        refused '; asked for at line 76, /tenants/123/endpoints/part/bandwidth/send/limit; line 75, /tenants/123/endpoints/part/bandwidth/send/guarantee'
    check 'what it did is undone' grep 'devlink.sh: undone: [1-9]' \
        "$switch_dir/said"
    check 'there is nothing left of it' rates_are "$pf0/1: type leaf" \
        "$pf0/2: type leaf" "$pf0/3: type leaf" "$pf0/4: type leaf" \
        "$pf0/5: type leaf" "$pf1/65537: type leaf"
    test_undo
    test_files
    reset_nic
    NIC_REFUSES='^pfc set .*p1.* 3:on' check 'dcb refuses: 3' \
        refused 'dcb pfc set dev p1 prio-pfc all:off 3:on; asked for at line 28, /classes/gold/lossless' dcb.sh
    check 'what dcb did is undone, of all ports' dcb_is_as_before
    NIC_REFUSES='^ets set .*p0' check 'it refuses traffic classes: 3' \
        refused '; asked for at line 24, /classes/bulk/queue; line 27, /classes/gold/queue; line 31, /classes/gold/dscp_in/queue; line 42, /tenants/123/bandwidth/send/guarantee' dcb.sh
    check 'what dcb did is undone then' dcb_is_as_before
    test_dscps
    test_firmware
    NIC_REFUSES='^ets show .*p1' check 'dcb does not tell: 3' \
        refused 'p1 does not say what it is set to; asked for at line 14' dcb.sh
    NIC_REFUSES='^(pfc set .*p1.* 3:on|ets set .*p0.* 1:60)' \
        check 'what cannot be undone is said' says \
        'dcb.sh: not undone: dcb ets set dev p0 willing on tc-tsa' 3 \
        sh "$switch_dir/all/dcb.sh"
}

# dcb(8) ends with 0 when 'app replace' is refused.
test_dscps() {
    local places='line 24, /classes/bulk/dscp; line 26, /classes/gold/dscp; line 30, /classes/gold/dscp_in/dscp'
    NIC_REFUSES='^app replace .*p1' check 'it refuses the DSCPs: 3' \
        refused "it has 'dscp-prio 0:0 8:1'; asked for at $places" dcb.sh
    check 'all is undone then, too' dcb_is_as_before
    check 'in how many steps' grep 'dcb.sh: undone: 8 ' "$switch_dir/said"
    NIC_REFUSES='^(app replace .*p1|app flush .*p0)' \
        check 'what cannot be undone of them is said' says \
        'dcb.sh: not undone: dcb app flush dev p0 dscp-prio' 3 \
        sh "$switch_dir/all/dcb.sh"
    reset_nic
}

# The firmware's DCBX is the mode that has no flag 'host', and dcb(8) cannot
# set it.
test_firmware() {
    sed -i 's/"dcb": {/&"p0": { "dcbx": "cee ieee", "ets": "willing on tc-tsa 0:ets tc-bw 0:100", "pfc": "prio-pfc 0:off", "app": "" }/' \
        "$NIC_STATE"
    NIC_REFUSES='^pfc set .*p1.* 3:on' check 'firmware had DCBX: said' says \
        'dcb.sh: DCBX of p0 was its firmware' 3 sh "$switch_dir/all/dcb.sh"
    check 'as what is not undone' grep 'dcb.sh: not undone: firmware p0' \
        "$switch_dir/said"
    check 'all but this is undone' \
        grep 'dcb.sh: undone: 5 ' "$switch_dir/said"
    reset_nic
}

# A tenant in a file of its own.
test_files() {
    compile_less one ''
    python3 - "$switch_dir/less.json" "$switch_dir" <<'END'
import json
import sys
with open(sys.argv[1]) as f:
    intent = json.load(f)
free = {"version": 1, "tenants": {"free": intent["tenants"].pop("free")}}
for name, what in ("fabric", intent), ("free", free):
    with open(f"{sys.argv[2]}/{name}.json", "w") as f:
        json.dump(what, f)
END
    "$BULKHEAD" compile "$switch_dir/fabric.json" "$switch_dir/free.json" \
        --node=n1 --target=asap2 -o "$switch_dir/files" >/dev/null 2>&1
    reset_nic
    sed -i 's/"rep4": [^,]*,//' "$NIC_STATE"
    check 'of several files, which one asks for it' says \
        "asked for at $switch_dir/free.json, line 1, /tenants/free/endpoints/x" \
        3 sh "$switch_dir/files/devlink.sh"
}

# The second plan takes rates and groups of the first away; if that fails, or
# anything before, they come back.
test_undo() {
    reset_nic
    sh "$switch_dir/all/devlink.sh"
    devlink port function rate show >"$switch_dir/before"
    NIC_REFUSES='del .*free$' check 'a group cannot be taken away: 3' \
        says "refused: devlink port function rate del $pf0/bulkhead:up0:free; asked for at what an earlier run has set" \
        3 sh "$switch_dir/less/devlink.sh"
    check 'what was before is back' \
        diff -u "$switch_dir/before" <(devlink port function rate show)
    check 'without two tenants' compile_less least \
        'del tenants["free"], tenants["fixed"]'
    NIC_REFUSES='del .*up1:fixed$' check 'after others were taken away: 3' \
        exits 3 sh "$switch_dir/least/devlink.sh"
    check 'they are back, too' \
        diff -u "$switch_dir/before" <(devlink port function rate show)
}

dcb_is_as_before() {
    local port
    for port in p0 p1; do
        diff -u - <(dcb dcbx show dev $port; dcb ets show dev $port | xargs
            dcb pfc show dev $port; dcb -N app show dev $port) <<'END' || return
host cee ieee
willing on tc-tsa 0:strict 1:ets tc-bw 0:40 1:60 prio-tc 0:0 1:1
prio-pfc 0:off 1:on
dscp-prio 0:0 8:1 
END
    done
}

# All that was said to dcb about p0.
said_to_dcb() {
    : >"$NIC_STATE.log"
    sh "$switch_dir/all/dcb.sh" &&
        diff -u - <(grep -E '^dcb [a-z]+ (set|replace) dev p0 ' "$NIC_STATE.log" |
                    sed 's/ [0-9]*:0\b//g') <<'END'
dcb dcbx set dev p0 host ieee
dcb ets set dev p0 willing off prio-tc all:0 1:1 3:3 6:6 tc-tsa all:strict 0:ets 1:ets 3:ets 6:ets tc-bw all:0 0:1 1:49 3:49 6:1
dcb pfc set dev p0 prio-pfc all:off 3:on
dcb app replace dev p0 dscp-prio 10:1 26:3 48:6
END
}

buffers_are() {
    diff -u <(printf '%s\n' "$1") <(dcb -j buffer show dev "${2:-p0}")
}

firmware='{"prio_buffer":[0,1,0,0,0,0,0,0],"buffer_size":[131072,130944,0,0,0,0,0,0],"total_size":262016}'
own='{"prio_buffer":[0,0,0,3,0,0,0,0],"buffer_size":[162688,0,0,99328,0,0,0,0],"total_size":262016}'

# Jobs ignore SIGINT, and under nohup(1) SIGHUP; a shell then always does.
buffers_refused() {
    says "$1" 3 env --default-signal=HUP,INT sh "$switch_dir/buffers/dcb.sh" &&
        grep -c 'asked for at line 28, /classes/gold/' "$switch_dir/said"
}

test_buffers() {
    compile_to buffers 's/"lossless": true,/& "buffer": "97KiB",/'
    reset_nic
    sh "$switch_dir/all/dcb.sh"
    check 'a class that has pause frames gets a buffer' sh "$switch_dir/buffers/dcb.sh"
    check 'and the others what is left' buffers_are "$own"
    check 'of each port' buffers_are "$own" p1
    : >"$NIC_STATE.log"
    check 'run again' sh "$switch_dir/buffers/dcb.sh"
    check 'no buffer is set, and pause frames are not stopped' exits 1 \
        grep -E 'buffer set|pfc set .*all:off$' "$NIC_STATE.log"
    reset_nic
    NIC_REFUSES='^pfc set .*p1.* 3:on' check 'then dcb refuses: 3' \
        buffers_refused 'prio-pfc all:off 3:on; asked for at line 28, /classes/gold/lossless; line 28, /classes/gold/buffer'
    check 'all is undone' dcb_is_as_before
    check 'the buffers, too' buffers_are "$firmware"
    check 'but not who sets them' grep -c \
        'dcb.sh: buffers of p[01] are as before, but set' "$switch_dir/said"
    check 'nothing is left to do' exits 1 grep 'not undone' "$switch_dir/said"
    NIC_REFUSES='^buffer set .*p0' check 'dcb refuses buffers: 3' \
        buffers_refused ' buffer-size all:0 0:162688 3:99328; asked for'
    check 'all is undone then' dcb_is_as_before
    NIC_REFUSES='^-j buffer show .*p0' check 'dcb does not tell them: 3' \
        buffers_refused 'p0 does not say what buffers it has'
    compile_to buffers 's/"lossless": true,/& "buffer": "32KiB",/'
    check 'too little for pause frames: 3' buffers_refused '3:on; asked'
    compile_to buffers 's/"lossless": true,/& "buffer": "250KiB",/'
    check 'too much: 3' buffers_refused 'the buffers of p0 have 262016 bytes, and 256000 of them leave less than 10240'
    check 'all is undone at last' buffers_are "$firmware"
    test_signals
}

# stopped_by SIGNAL [COMMAND]: dcb.sh gets it once pause frames are off, when
# it sets buffers; COMMAND is what dcb does then.
stopped_by() {
    local status=0
    cat >"$switch_dir/bin/dcb" <<END
#!/bin/sh
case "\$1 \$2" in 'buffer set')
    if mkdir "$switch_dir/stopped" 2>/dev/null; then
        kill -$1 \$PPID
        ${2:-}
    fi
esac
exec python3 "$here/nic.py" dcb "\$@"
END
    buffers_refused "${3:-stopped by a signal}" || status=$?
    rmdir "$switch_dir/stopped"
    return $status
}

test_signals() {
    local signal
    compile_to buffers 's/"lossless": true,/& "buffer": "97KiB",/'
    for signal in HUP INT TERM; do
        reset_nic
        check "SIG$signal, while buffers are set: 3" stopped_by $signal
        check 'pause frames and all else are as before' dcb_is_as_before
        check 'buffers, too' buffers_are "$firmware"
    done
    check 'a signal that ends dcb, too: 3' stopped_by INT "kill -INT \$\$" \
        'refused: dcb buffer set dev p0'
    check 'all is as before then' dcb_is_as_before
    check '...and no buffer was set' exits 1 grep 'are as before, but set' \
        "$switch_dir/said"
    check 'one that ends it when it has set buffers: 3' stopped_by INT \
        "python3 '$here/nic.py' dcb \"\$@\"; kill -INT \$\$" \
        'refused: dcb buffer set dev p0'
    check 'they are as before, too' buffers_are "$firmware"
}

every_dscp() {
    [ "$(grep 'app replace dev p1' "$NIC_STATE.log" | grep -o ' [0-9]*:[0-7]' |
         wc -l)" = 64 ]
}

# vfs_are LINE...: all VFs of p0, but for their broadcast address.
vfs_are() {
    ip -d link show dev p0 | sed -n 's/^ *vf //; T; s/  *link.ether//
        s/ brd [f:]*//p' | diff -u <(printf '%s\n' "$@") -
}

before=('0 00:00:00:00:00:00, spoof checking off, link-state auto, trust on'
        '1 02:00:00:00:00:02, vlan 7, qos 3, max_tx_rate 9Mbps, spoof checking on, link-state disable, trust off'
        '2 02:00:00:00:00:33, spoof checking on'
        '3 02:00:00:00:00:44, spoof checking off')
set=('0 02:00:00:00:00:01, vlan 101, max_tx_rate 3500Mbps, min_tx_rate 500Mbps, spoof checking on, link-state auto, trust off'
     '1 02:00:00:00:00:02, vlan 101, max_tx_rate 500Mbps, min_tx_rate 500Mbps, spoof checking on, link-state auto, trust off'
     '2 02:00:00:00:00:03, vlan 102, spoof checking on'
     "${before[3]}")

vf_refused() {
    says "vf.sh: $1" 3 sh "$switch_dir/legacy/vf.sh" &&
        grep -c 'asked for at line [0-9]*, /' "$switch_dir/said"
}

test_vfs() {
    local vf='ip link set dev p0 vf'
    "$BULKHEAD" compile "$here/legacy.json" --node=n1 --target=asap2 \
        -o "$switch_dir/legacy" >"$switch_dir/compiled" 2>&1
    check 'a tenant on legacy VFs is told what is not kept' grep \
        'of what a legacy VF sends the NIC looks at the source MAC' \
        "$switch_dir/compiled"
    reset_nic legacy
    check 'VFs get what the intent says' sh "$switch_dir/legacy/vf.sh"
    check 'and no others' vfs_are "${set[@]}"
    : >"$NIC_STATE.log"
    check 'run again' sh "$switch_dir/legacy/vf.sh"
    check 'nothing is set' exits 1 grep '^ip .* set ' "$NIC_STATE.log"
    check 'a port with legacy VFs only has no groups' exits 1 \
        grep "^uplink 'p0'" "$switch_dir/legacy/devlink.sh"
    reset_nic legacy
    sed -i 's/"vlan": "7"/"proto": "802.1ad", &/' "$NIC_STATE"
    NIC_REFUSES='vf 1 max_tx_rate 500' check 'a rate is refused: 3' \
        vf_refused "refused: $vf 1 max_tx_rate 500 min_tx_rate 500; asked for at line 80, /tenants/red/endpoints/b/bandwidth/send/limit"
    check 'all is undone' vfs_are "${before[@]/qos 3/qos 3, vlan protocol 802.1ad}"
    reset_nic legacy
    sed -i '/00:33/s/"spoofchk": "on"/"x": ""/' "$NIC_STATE"
    check 'no check of the sender: 3' vf_refused "refused: $vf 2 spoofchk on"
    reset_nic legacy
    sed -i 's/ "p0": \[/ "p1": [], "p9": [/' "$NIC_STATE"
    check 'no such interface: 3' vf_refused 'there is no interface p0'
    sed -i 's/ "p9": \[/ "p0": [], "p8": [/' "$NIC_STATE"
    check 'no such VF: 3' vf_refused \
        'p0 has no VF 2: see /sys/class/net/p0/device/sriov_numvfs'
    sed -i 's/"bonds": {}/"bonds": {"p0": ["p1"]}/' "$NIC_STATE"
    check 'a bond: 3' vf_refused 'p0 is a bond, which has no VFs'
    reset_nic
    check 'in switchdev mode: 3' vf_refused \
        'p0 is in switchdev mode: its VFs have representors'
}

# vf.sh on VFs that have classes: set, refused and undone.
test_vf_classes() {
    compile_classes legacy
    reset_nic legacy
    check 'all of a VF has the priority of its class' \
        sh "$switch_dir/legacy/vf.sh"
    check 'or 0, if it has several' vf_tags_are 'vlan 101, qos 3' \
        'vlan 101, qos 3' 'vlan 102' 'vlan 102, qos 2'
    : >"$NIC_STATE.log"
    check 'run again' sh "$switch_dir/legacy/vf.sh"
    check 'no priority is set' exits 1 grep '^ip .* set ' "$NIC_STATE.log"
    reset_nic legacy
    NIC_REFUSES='vf 3 vlan 102 qos 2' check 'a priority is refused: 3' \
        vf_refused 'refused: ip link set dev p0 vf 3 vlan 102 qos 2; asked for at line 26, /tenants/blue/networks/net/vlan; line 20, /classes/idle/queue'
    check 'priorities are as before' vfs_are "${before[@]}"
    check 'the uplink of VFs that have one has priorities' \
        sh "$switch_dir/legacy/dcb.sh"
    check 'with pause frames' grep \
        '^dcb pfc set dev p0 prio-pfc all:off 3:on$' "$NIC_STATE.log"
    check 'and no groups' exits 1 grep "^uplink 'p0'" \
        "$switch_dir/legacy/devlink.sh"
}

# compile_nodes DIR NODE [SED-SCRIPT]: VFs of two nodes, of two classes in one
# queue; what it says is in "compiled".
compile_nodes() {
    sed "${3:-}" "$here/legacy-nodes.json" >"$switch_dir/nodes.json"
    "$BULKHEAD" compile "$switch_dir/nodes.json" --node="$2" --target=asap2 \
        -o "$switch_dir/$1" >"$switch_dir/compiled" 2>&1
}

# compile_refused SED-SCRIPT WORDS
compile_refused() {
    exits 1 compile_nodes refused n2 "$1" &&
        grep -F -c -e "error: $2" "$switch_dir/compiled"
}

# dcb_gets WORDS: what dcb.sh of n2 sets.
dcb_gets() {
    grep -F -e "$1" "$NIC_STATE.log"
}

# A node that gets what is lossless, and sends nothing of it.
test_vf_nodes() {
    local c='/"c": {/,/}/'
    check 'VFs of two nodes' compile_nodes n2 n2
    reset_nic legacy
    check 'the uplink of a VF that only gets' sh "$switch_dir/n2/dcb.sh"
    check 'pauses what is lossless' dcb_gets \
        'dcb pfc set dev p0 prio-pfc all:off 3:on'
    check 'and not where no VFs are' dcb_gets \
        'dcb pfc set dev p1 prio-pfc all:off'
    check 'no meter drops it' exits 1 grep 'lossless class drop' \
        "$switch_dir/compiled"
    check 'shares out by what VFs are owed' dcb_gets \
        'prio-tc all:0 3:3 tc-tsa all:strict 0:ets 3:ets tc-bw all:0 0:99 3:1'
    check 'knows both classes of a queue' dcb_gets ' 26:3 27:3 28:0 '
    check 'the classes go' compile_nodes none n2 \
        's/"class": "[a-z]*"/"class": "best-effort"/'
    : >"$NIC_STATE.log"
    check 'and their settings' sh "$switch_dir/none/dcb.sh"
    check 'nothing pauses' grep -x 'dcb pfc set dev p0 prio-pfc all:off' \
        "$NIC_STATE.log"
    check 'two queues of one DSCP' compile_refused \
        's/, "lossless": true//; s/27, "queue": 3/26, "queue": 4/' \
        "the NIC knows a class by its DSCP: 'rose' and 'gold' both have DSCP 26, and queues 4 and 3"
    check 'a buffer for one class only' compile_refused \
        's/"queue": 3, "lossless": true }$/"queue": 3, "lossless": true, "buffer": "64KiB" }/' \
        'the NIC leaves all buffers to its firmware, or none'
    check 'a guarantee above a part of the limit' compile_refused \
        '/"vf": 1/s/$/ "bandwidth": { "send": { "guarantee": "8Gbps", "limit": "9Gbps", "burst": "64KiB" } },/; /"guarantee": "1Gbps"/s/9Gbps/2Gbps/' \
        "this VF's part of the limit of tenant 'blue' is 2000 Mbps, which is less"
    check 'a port of the bridge beside them' compile_nodes both n2 \
        "$c {s/\"port\": \"legacy-vf\"/\"interface\": \"rep0\"/; s/\"vf\": 1/\"addresses\": \"10.2.0.1\"/}"
    check 'has no guarantee' grep -F \
        "warning: uplink 'up0' has VFs in legacy mode, and a NIC in that mode has no rates of tenants" \
        "$switch_dir/compiled"
    check 'and no rate' exits 1 grep "^uplink 'p0'" \
        "$switch_dir/both/devlink.sh"
}

compile_classes() {
    "$BULKHEAD" compile "$here/legacy-classes.json" --node=n1 --target=asap2 \
        -o "$switch_dir/$1" >"$switch_dir/compiled" 2>&1
}

# vf_tags_are TAG...: VLAN and priority of the VFs of p0, in their order.
vf_tags_are() {
    diff -u <(printf '%s\n' "$@") <(ip -d link show dev p0 |
        sed -n 's/^ *vf .*ff, \(vlan [0-9]*\(, qos [0-9]\)\?\).*/\1/p')
}

has_offload() {
    says 'restart ovs-vswitchd: it reads hw-offload' 0 \
        sh "$switch_dir/all/ovs-vsctl.sh" br0 &&
        [ "$(ovs-vsctl get Open_vSwitch . other_config)" = \
            '{hw-offload="true", tc-policy=none}' ]
}

test_settings() {
    check 'Open vSwitch is to offload, and to start again' has_offload
    sh "$switch_dir/all/ovs-vsctl.sh" br0 >"$switch_dir/again" 2>&1
    check 'but once' [ ! -s "$switch_dir/again" ]
    check 'no bridge is said: 2' says 'usage: sh ovs-vsctl.sh BRIDGE' 2 \
        sh "$switch_dir/all/ovs-vsctl.sh"
    OVS_RUNDIR=$switch_dir/none check 'no database: 3' says \
        'ovs-vsctl.sh: the database does not answer; asked for at node n1' 3 \
        sh "$switch_dir/all/ovs-vsctl.sh" br0
    "$BULKHEAD" compile "$here/../../examples/multi-rail.json" \
        --node=rail-node-1 -o "$switch_dir/tunnel" >"$switch_dir/compiled"
    check 'no such bridge for tunnels: 3' says \
        'asked for at node rail-node-1' 3 \
        sh "$switch_dir/tunnel/ovs-vsctl.sh" not-there
    OVS_RUNDIR=$switch_dir/none check 'no switch: 3' says \
        'ovs-vswitchd does not run, or does not answer; asked for at node' 3 \
        sh "$switch_dir/tunnel/ovs-vsctl.sh" br0
}

main() {
    start_dummy_switch
    install_nic
    check 'it compiles' compile_to all
    test_devlink
    test_refusals
    reset_nic
    check 'classes are priorities of both ports' said_to_dcb
    check 'every DSCP has one' every_dscp
    test_buffers
    test_bond
    test_settings
    test_vfs
    test_vf_classes
    test_vf_nodes
    [ "$failures" = 0 ]
}

main
