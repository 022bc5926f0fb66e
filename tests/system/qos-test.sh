#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# qos.sh, which "compile --target=kernel" writes: what it makes of a database,
# run once, again and after a change; what it leaves alone and refuses; and, as
# root, what tc says then, and whether a kernel keeps what a tenant is owed.
# A dummy switch has no queues to make, so there the script ends with 3.
#
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=apart.sh
. "$here/apart.sh"

# compile_to DIR [PYTHON]: the scripts of the intent, changed.
compile_to() {
    python3 - "$here/qos.json" "$switch_dir/$1.json" "${2:-}" <<'END'
import json
import sys
with open(sys.argv[1]) as f:
    intent = json.load(f)
exec(sys.argv[3], {"tenants": intent["tenants"]})
with open(sys.argv[2], "w") as f:
    json.dump(intent, f, indent=2)
END
    "$BULKHEAD" compile "$switch_dir/$1.json" --node=n1 --target=kernel \
        -o "$switch_dir/$1"
}

# What ports have: PORT, then QUEUE, min-rate and max-rate of each.
ports_have() {
    python3 - <<'END'
import json
import subprocess
import sys

def rows(table, columns):
    out = subprocess.check_output(["ovs-vsctl", "-f", "json", "--columns",
                                   columns, "list", table])
    return json.loads(out)["data"]

def plain(value):
    if isinstance(value, list) and value[0] == "map":
        return {key: plain(v) for key, v in value[1]}
    if isinstance(value, list):
        return value[1] or ""           # A UUID, or an empty set.
    return value

queues = {plain(uuid): plain(config)
          for uuid, config in rows("Queue", "_uuid,other_config")}
qos = {plain(uuid): (kind, plain(config), plain(numbers)) for
       uuid, kind, config, numbers
       in rows("QoS", "_uuid,type,other_config,queues")}
used = 0
for name, uuid in sorted(rows("Port", "name,qos"), key=str):
    if plain(uuid) in qos:
        kind, config, numbers = qos[plain(uuid)]
        print(name, kind, *(f"{k}={v}" for k, v in sorted(config.items())))
        for number, queue in sorted(numbers.items()):
            used += 1
            print(" ", number, *(f"{k}={v}" for k, v
                                 in sorted(queues[queue].items())))
print("rows beside:", len(queues) - used)
END
}

have() {
    ports_have >"$switch_dir/have"
    diff -u - "$switch_dir/have"
}

p0='p0 linux-htb max-rate=19697000
  0 max-rate=19697000 min-rate=196000
  8 max-rate=2067000 min-rate=2067000
  9 max-rate=18595000 min-rate=12397000
  10 max-rate=19697000 min-rate=0'
others='other linux-hfsc max-rate=7
  1 max-rate=5'

queues_of() {
    printf '%s linux-htb max-rate=%s\n' "$1" "$2"
    printf "  %s max-rate=$2 min-rate=$(($2 / 4))\n" 0 3 5 6
}

all_there() {
    { queues_of e0 10000000; queues_of e3 4000000; printf '%s\n' "$others" \
        "$p0" 'rows beside: 0'; } | have
}

less_there() {
    printf '%s\n' "$others" 'p0 linux-htb max-rate=19697000' \
        '  0 max-rate=19697000 min-rate=196000' \
        '  8 max-rate=2067000 min-rate=2067000' \
        '  9 max-rate=19697000 min-rate=0' 'rows beside: 0' | have
}

# set_queues DIR: a dummy switch has none.
set_queues() {
    says 'qos.sh: p0 has not got its queues, see the log of ovs-vswitchd; asked for at line 10, /fabric/nodes/n1/uplinks/up0/interface' \
        3 sh "$switch_dir/$1/qos.sh"
}

refused() {
    says "$1; asked for at line " 3 sh "$switch_dir/all/qos.sh"
}

in_database() {
    start_dummy_switch
    make_dummy_bridge br0 "$here/qos.json" n1
    ovs-vsctl add-port br0 other -- set interface other type=dummy \
        -- --id=@q create Queue other_config:max-rate=5 \
        -- --id=@qos create QoS type=linux-hfsc other_config:max-rate=7 \
           queues:1=@q -- set Port other qos=@qos >"$switch_dir/uuids"
    check 'it compiles' compile_to all
    check 'and without a tenant' compile_to less 'del tenants["gold"]'
    check 'queues of tenants at the uplink, and of classes elsewhere' \
        set_queues all
    check 'they are there, and what is of others' all_there
    check 'run again' set_queues all
    check 'it is the same' all_there
    check 'a tenant leaves' set_queues less
    check 'its rows go, and the ports of its endpoints have none' less_there
    ovs-vsctl del-port p0
    check 'a port is missing' refused 'there is no port p0'
    ovs-vsctl add-port br0 p0 -- set interface p0 type=dummy \
        -- set Port p0 qos="$(ovs-vsctl get Port other qos)"
    check 'a port has a QoS of somebody else' \
        refused "port p0 has a QoS of somebody else's, $(ovs-vsctl get Port other qos)"
    switch_stop
}

inside() {
    start_apart
    "$here/qos.py" "$switch_dir/all/qos.sh"
}

with_kernel() {
    can_run_apart
    "${apart[@]}" sh -c 'ip link add name one type veth peer name two &&
        tc qdisc add dev one root handle 1: htb' 2>/dev/null ||
        skip "this kernel has no linux-htb (sch_htb)"
    switch_prepare
    compile_to all
    run_interruptible "${apart[@]}" "$here/qos-test.sh" --inside
}

case ${1:-} in
--inside) inside ;;
'') in_database
    [ "$failures" = 0 ]
    with_kernel ;;
*) die "takes no arguments" ;;
esac
